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

/// The refusal of an answer of status 200 with this body.
fn begun(retry_after: Option<&str>, body: Vec<Read>) -> Refusal {
    refusal(&Case::new(), |server| {
        let headers = retry_after.map(|value| ("retry-after".to_owned(), value.to_owned()));
        let headers = headers.into_iter().collect::<Vec<_>>().into();
        let response = HttpReply { status: 200, headers, body: futures::stream::iter(body).boxed_local() };
        assert!(server.requests.borrow_mut().remove(0).send(Ok(response)).is_ok());
    })
}

const ROLE: &str =
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}}]}\n\n";

// Issue 43: until the first word a failure is a refusal, whatever came before it. It may have cost something.
#[test]
fn a_failure_before_the_first_word_is_a_refusal() {
    use ModelErrorKind::*;
    let event = |error: &str| format!("data: {{\"error\":{error}}}\n\n");
    let busy = event(r#"{"message":"Provider returned error","code":502}"#);
    let limited = r#"{"code":429,"details":[{"retryDelay":"3s"}]}"#;
    let told = r#"{"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 1.5s."}"#;
    for (retry_after, body, kind, again) in [
        (None, busy.clone(), Overloaded, Again::After(None)),
        (None, [": PROCESSING\n\n", &busy, "data: [DONE]\n\n"].concat(), Overloaded, Again::After(None)),
        (Some("2"), [ROLE, &busy].concat(), Overloaded, Again::After(Some(2_000))),
        (None, [ROLE, &event(limited)].concat(), RateLimited, Again::After(Some(3_000))),
        (None, event(told), RateLimited, Again::After(Some(1_500))),
        (None, "data: : PROCESSING\n\n".to_owned() + &busy, Overloaded, Again::After(None)),
        // The error is the whole body, and no event.
        (None, format!("{{\"error\":{limited}}}"), RateLimited, Again::After(Some(3_000))),
        (None, "[{\n \"error\": {\n  \"code\": 503\n }\n}]\n".to_owned(), Overloaded, Again::After(None)),
        (None, r#"{"code":"401","message":"no"}"#.to_owned(), Auth, Again::No),
        // Without a member `error`, and with an end of the stream that makes an empty reply of it.
        (None, format!("data: {{\"object\":\"error\",\"code\":400}}\n\n{DONE}"), BadRequest, Again::No),
        (None, "<html><body>Bad gateway</body></html>".to_owned(), Protocol, Again::After(None)),
        (None, ROLE.to_owned(), Protocol, Again::After(None)),
        (None, event(r#"{"code":400}"#), BadRequest, Again::No),
        (None, event(r#"{"code":401}"#), Auth, Again::No),
    ] {
        let refusal = begun(retry_after, vec![Ok(body.clone().into_bytes())]);
        assert_eq!((refusal.error.kind, refusal.again), (kind, again), "{body}");
        assert!(refusal.error.accepted && refusal.error.used().is_none(), "{body}");
    }
    let said = begun(None, vec![Ok(busy.into_bytes())]).said;
    assert!(said.contains("Provider returned error"), "{said}");
    let broken = begun(None, vec![Ok(ROLE.into()), Err(Unreachable)]);
    assert_eq!((broken.error.kind, broken.again), (Network, Again::After(None)));
}

#[test]
fn a_silence_before_the_first_word_is_not_repeated() {
    let case = Case::new();
    let mut asked = case.endpoint.ask(&request("hello"));
    let mut poll = || asked.poll_unpin(&mut Context::from_waker(noop_waker_ref()));
    assert!(poll().is_pending());
    let body = case.server.answer(200);
    say(&body, ROLE);
    assert!(poll().is_pending());
    case.clock.pass(IDLE_MS);
    let Poll::Ready(Err(late)) = poll() else { panic!("no refusal") };
    assert_eq!((late.error.kind, late.again), (ModelErrorKind::Network, Again::No));
}

#[test]
fn a_reply_without_words_is_no_refusal() {
    for end in [STOP, ": done\n\n"] {
        let (mut events, body) = Case::new().answered();
        say(&body, &[ROLE, end, DONE].concat());
        let Some(Ok(last)) = next(&mut events) else { panic!("a refusal") };
        assert!(matches!(&last[..], [ModelEvent::Finished(reply)] if reply.is_empty()), "{last:?}");
        assert_eq!(next(&mut events), None);
    }
}

#[test]
fn a_call_is_a_first_word() {
    let call =
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"echo"}}]}}]}"#;
    let (mut events, body) = Case::new().answered();
    say(&body, &format!("{call}\n\n"));
    assert_eq!(next(&mut events), text(&[]));
    say(&body, "data: {\"error\":{\"code\":503}}\n\n");
    assert_eq!(error(&mut events), ModelErrorKind::Overloaded);
}
