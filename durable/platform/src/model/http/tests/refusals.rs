//! Refusals of a provider: their meaning, the wait before the next request, and the text that is kept of them.

use super::*;

#[test]
fn refusals_are_classified_by_the_part_of_their_body_that_comes() {
    let case = Case::new();
    let refused = |status: u16, body: Option<&str>| {
        let mut events = case.call();
        assert!(pending(&mut events));
        let sender = case.server.answer(status);
        match body {
            Some(text) => {
                say(&sender, text);
                drop(sender);
                error(&mut events)
            }
            // A body that never comes.
            None => {
                assert!(pending(&mut events));
                case.clock.pass(REFUSAL_MS);
                error(&mut events)
            }
        }
    };
    assert_eq!(
        refused(400, Some("{\"error\":{\"code\":\"context_length_exceeded\"}}")),
        ModelErrorKind::ContextTooLong
    );
    assert_eq!(refused(401, Some("")), ModelErrorKind::Auth);
    assert_eq!(refused(429, None), ModelErrorKind::RateLimited);
    assert_eq!(refused(503, Some(&"x".repeat(2 * REFUSAL_BYTES))), ModelErrorKind::Overloaded);
    assert_eq!(refused(302, Some("")), ModelErrorKind::BadRequest);
}

#[test]
fn requests_that_may_be_repeated_and_when() {
    let case = Case::new();
    let refused = |status: u16, retry_after: Option<&str>| {
        let refusal = refusal(&case, |server| {
            let headers = retry_after.map(|value| ("retry-after".to_owned(), value.to_owned()));
            let headers = headers.into_iter().collect::<Vec<_>>().into();
            let response = HttpReply { status, headers, body: futures::stream::empty().boxed_local() };
            assert!(server.requests.borrow_mut().remove(0).send(Ok(response)).is_ok());
        });
        refusal.again
    };
    for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
        assert_eq!(refused(status, None), Again::After(None), "{status}");
        assert_eq!(refused(status, Some("3")), Again::After(Some(3_000)), "{status}");
    }
    for status in [301, 400, 401, 402, 403, 404, 413, 422] {
        assert_eq!(refused(status, Some("3")), Again::No, "{status}");
    }
    // The connection failed before the headers, or before the first byte.
    let unreachable = refusal(&case, |server| server.requests.borrow_mut().clear());
    assert_eq!((unreachable.error.kind, unreachable.again), (ModelErrorKind::Network, Again::After(None)));
    let empty = refusal(&case, |server| drop(server.answer(200)));
    assert_eq!((empty.error.kind, empty.again), (ModelErrorKind::Network, Again::After(None)));
    let broken = refusal(&case, |server| server.answer(200).unbounded_send(Err(Unreachable)).unwrap());
    assert_eq!((broken.error.kind, broken.again), (ModelErrorKind::Network, Again::After(None)));
    // The service does not ask a provider again that was silent for so long.
    let late = refusal(&case, |_| case.clock.pass(FIRST_BYTE_MS));
    assert_eq!((late.error.kind, late.again), (ModelErrorKind::Network, Again::No));
}

#[test]
fn the_operator_gets_a_providers_text_without_keys_and_prompts() {
    let case = Case::new();
    let mut asked = case.endpoint.ask(&request("The code of my safe is 4711, keep it."));
    let mut poll = || asked.poll_unpin(&mut Context::from_waker(noop_waker_ref()));
    assert!(poll().is_pending());
    let body = case.server.answer(400);
    say(&body, "{\"error\":{\"message\":\"bad token-1 in: The code of my safe is 4711, keep it. Sorry!\"}}");
    drop(body);
    let Poll::Ready(Err(refusal)) = poll() else { panic!("no refusal") };
    assert_eq!(refusal.error.kind, ModelErrorKind::BadRequest);
    assert!(!refusal.error.message.contains("safe"), "{refusal:?}");
    assert!(refusal.said.contains("bad [redacted] in") && refusal.said.contains("Sorry!"), "{refusal:?}");
    assert!(!refusal.said.contains("safe") && !refusal.said.contains("4711"), "{refusal:?}");
}
