mod refusals;

use std::cell::{Cell, RefCell};
use std::task::{Context, Poll};

use futures::channel::{mpsc, oneshot};
use futures::stream::LocalBoxStream;
use futures::task::noop_waker_ref;
use futures::{FutureExt, TryFutureExt};

use super::*;
use crate::model::demo::DemoModel;
use engine::testing::FakeClock;
use providers::MAX_REPLY_BYTES;
use providers::openai_chat::OpenAiChat;
use wire::http::HttpReply;
use wire::model::{ModelChoice, ModelErrorKind, ModelReply};

const FIRST_BYTE_MS: u64 = 9_000;
const IDLE_MS: u64 = 7_000;

type Read = Result<Vec<u8>, Unreachable>;

/// A provider to which the test pushes the bytes of its answers.
#[derive(Default)]
struct TestServer {
    requests: RefCell<Vec<oneshot::Sender<Result<HttpReply, Unreachable>>>>,
}

impl Http for TestServer {
    fn send(&self, _: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let (sender, answer) = oneshot::channel();
        self.requests.borrow_mut().push(sender);
        answer.map(|answer| answer.unwrap_or(Err(Unreachable))).boxed_local()
    }
}

impl TestServer {
    /// Answers the oldest waiting request; the pieces that the test pushes into the result are its body.
    fn answer(&self, status: u16) -> mpsc::UnboundedSender<Read> {
        let (body, read) = mpsc::unbounded();
        let response = HttpReply { status, headers: Vec::new().into(), body: read.boxed_local() };
        let sent = self.requests.borrow_mut().remove(0).send(Ok(response));
        assert!(sent.is_ok(), "no request waits for the answer");
        body
    }
}

/// A model with its server and its clock.
struct Case {
    server: Rc<TestServer>,
    clock: Rc<FakeClock>,
    endpoint: HttpEndpoint,
    warned: Rc<RefCell<Vec<String>>>,
}

type Events = LocalBoxStream<'static, Item>;

impl Case {
    fn new() -> Self {
        let (server, clock) = (Rc::<TestServer>::default(), Rc::<FakeClock>::default());
        let codec = Rc::new(OpenAiChat::new("https://x.test", None));
        let warned = Rc::<RefCell<Vec<String>>>::default();
        let lines = Rc::clone(&warned);
        let endpoint = HttpEndpoint {
            codec,
            headers: vec![("x-gateway", Secret::new("Bearer token-1"))],
            patience: Patience { first_byte_ms: FIRST_BYTE_MS, idle_ms: IDLE_MS },
            http: Rc::clone(&server) as _,
            clock: clock.clone(),
            permits: Permits::new(2),
            warn: Rc::new(move |line| lines.borrow_mut().push(line.to_owned())),
        };
        Case { server, clock, endpoint, warned }
    }

    /// The whole of a call, without the routing in front of it.
    fn call(&self) -> Events {
        let asked = self.endpoint.ask(&request("hello"));
        asked.map_err(|refusal| refusal.error).try_flatten_stream().boxed_local()
    }

    /// A call that is sent and answered.
    fn answered(&self) -> (Events, mpsc::UnboundedSender<Read>) {
        let mut events = self.call();
        assert!(pending(&mut events));
        (events, self.server.answer(200))
    }
}

fn request(content: &str) -> ModelRequest {
    let mut request = ModelRequest::new(Rc::new(ModelChoice::new("openai", "m")), "".into());
    request.messages = vec![Rc::new(wire::model::Message::User { content: content.into() })];
    request
}

fn poll(events: &mut Events) -> Poll<Option<Item>> {
    events.poll_next_unpin(&mut Context::from_waker(noop_waker_ref()))
}

fn pending(events: &mut Events) -> bool {
    poll(events).is_pending()
}

fn next(events: &mut Events) -> Option<Item> {
    match poll(events) {
        Poll::Ready(item) => item,
        Poll::Pending => panic!("nothing comes"),
    }
}

fn error(events: &mut Events) -> ModelErrorKind {
    let kind = next(events).unwrap().unwrap_err().kind;
    assert_eq!(next(events), None);
    kind
}

fn say(body: &mpsc::UnboundedSender<Read>, text: &str) {
    body.unbounded_send(Ok(text.as_bytes().to_vec())).unwrap();
}

fn text(pieces: &[&str]) -> Option<Item> {
    Some(Ok(pieces.iter().map(|piece| ModelEvent::Text((*piece).into())).collect()))
}

/// The refusal, where all bytes of it are there.
fn refusal(case: &Case, answer: impl FnOnce(&TestServer)) -> Refusal {
    let mut asked = case.endpoint.ask(&request("hello"));
    let mut poll = || asked.poll_unpin(&mut Context::from_waker(noop_waker_ref()));
    assert!(poll().is_pending());
    answer(&case.server);
    match poll() {
        Poll::Ready(Err(refusal)) => refusal,
        _ => panic!("no refusal"),
    }
}

const A: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const B: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[test]
fn one_item_for_each_read_that_says_something() {
    let (mut events, body) = Case::new().answered();
    say(&body, &[A, B].concat());
    assert_eq!(next(&mut events), text(&["a", "b"]));
    say(&body, ": comment\n\n");
    let (begins, ends) = A.split_at(20);
    say(&body, begins);
    assert!(pending(&mut events));
    say(&body, ends);
    assert_eq!(next(&mut events), text(&["a"]));
    say(&body, &[B, STOP, DONE].concat());
    let Some(Ok(last)) = next(&mut events) else { panic!("no end") };
    let [ModelEvent::Text(b), ModelEvent::Finished(reply)] = &last[..] else { panic!("{last:?}") };
    let ModelReply { text, .. } = &**reply;
    assert_eq!((&**b, &**text), ("b", "abab"));
    assert_eq!(next(&mut events), None, "over, although the connection still stands");
}

// Issue 43
#[test]
fn an_unknown_member_of_a_usage_is_logged_once() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"novel_tokens\":2}}\n\n";
    let case = Case::new();
    for _ in 0..2 {
        let (mut events, body) = case.answered();
        say(&body, &[A, STOP, usage, DONE].concat());
        let Some(Ok(last)) = next(&mut events) else { panic!("no end") };
        let [.., ModelEvent::Finished(reply)] = &last[..] else { panic!("{last:?}") };
        assert_eq!(reply.usage.unwrap().unknown_members, 1);
    }
    let warned = ["a provider's usage has a member that no price knows: chat: novel_tokens"];
    assert_eq!(*case.warned.borrow(), warned);
}

#[test]
fn a_connection_that_is_cut_is_no_answer() {
    let (mut events, body) = Case::new().answered();
    say(&body, A);
    drop(body);
    assert_eq!(next(&mut events), text(&["a"]));
    assert_eq!(error(&mut events), ModelErrorKind::Protocol);

    let (mut events, body) = Case::new().answered();
    say(&body, A);
    body.unbounded_send(Err(Unreachable)).unwrap();
    assert_eq!(next(&mut events), text(&["a"]));
    assert_eq!(error(&mut events), ModelErrorKind::Network);

    let (mut events, body) = Case::new().answered();
    say(&body, STOP);
    drop(body);
    assert!(matches!(next(&mut events), Some(Ok(_))), "a finish_reason is enough");
}

#[test]
fn events_before_an_error_go_out_before_it() {
    let (mut events, body) = Case::new().answered();
    say(&body, &[A, "data: {\"error\":{\"code\":503}}\n\n", B].concat());
    assert_eq!(next(&mut events), text(&["a"]));
    assert_eq!(error(&mut events), ModelErrorKind::Overloaded);
}

#[test]
fn a_provider_that_cannot_be_reached() {
    let case = Case::new();
    let mut events = case.call();
    assert!(pending(&mut events));
    case.server.requests.borrow_mut().clear();
    assert_eq!(error(&mut events), ModelErrorKind::Network);
}

#[test]
fn silence_is_not_waited_out_for_ever() {
    let case = Case::new();
    let mut events = case.call();
    assert!(pending(&mut events));
    case.clock.pass(FIRST_BYTE_MS - 1);
    assert!(pending(&mut events));
    case.clock.pass(1);
    assert_eq!(error(&mut events), ModelErrorKind::Network);
    assert!(case.server.requests.borrow()[0].is_canceled(), "the request is dropped");
    case.server.requests.borrow_mut().clear();

    // Headers alone are no answer.
    let mut events = case.call();
    assert!(pending(&mut events));
    case.clock.pass(FIRST_BYTE_MS - 1);
    let body = case.server.answer(200);
    body.unbounded_send(Ok(Vec::new())).unwrap();
    assert!(pending(&mut events));
    case.clock.pass(1);
    assert_eq!(error(&mut events), ModelErrorKind::Network);
    assert!(body.is_closed());

    // Each read begins a new silence.
    let (mut events, body) = case.answered();
    for _ in 0..3 {
        case.clock.pass(IDLE_MS - 1);
        say(&body, A);
        assert_eq!(next(&mut events), text(&["a"]));
        assert!(pending(&mut events));
    }
    case.clock.pass(IDLE_MS);
    assert_eq!(error(&mut events), ModelErrorKind::Network);
    assert!(body.is_closed());
}

/// A body that never ends, read as fast as it comes; and how many bytes of it were read.
fn endless(piece: &str) -> (HttpBody, Rc<Cell<usize>>) {
    let (piece, read) = (piece.as_bytes().to_vec(), Rc::<Cell<usize>>::default());
    let count = Rc::clone(&read);
    let more = futures::stream::repeat_with(move || {
        count.set(count.get() + piece.len());
        Ok(piece.clone())
    });
    (more.boxed_local(), read)
}

#[test]
fn a_provider_that_sends_gigabytes_is_cut_off() {
    const PIECE: usize = 64 << 10;
    let x = "x".repeat(PIECE);
    let delta = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{x}\"}}}}]}}\n\n");
    let arguments = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"a\",\"function\":{{\"name\":\"f\",\"arguments\":\"{x}\"}}}}]}}}}]}}\n\n"
    );
    use ModelErrorKind::{Protocol, ReplyTooLarge};
    for (what, piece, most, kind) in [
        ("text", delta, MAX_REPLY_BYTES, ReplyTooLarge),
        ("the arguments of a call", arguments, MAX_REPLY_BYTES, ReplyTooLarge),
        ("a line that never ends", x.clone(), 4 * MAX_REPLY_BYTES, Protocol),
        ("an event that never ends", format!("data: {x}\n"), 4 * MAX_REPLY_BYTES, Protocol),
        ("comments", format!(": {x}\n\n"), ANSWER_BYTES, Protocol),
        ("events that say nothing", format!("data: {{\"x\":\"{x}\"}}\n\n"), ANSWER_BYTES, Protocol),
    ] {
        let case = Case::new();
        let mut events = case.call();
        assert!(pending(&mut events));
        let (body, read) = endless(&piece);
        let response = HttpReply { status: 200, headers: Vec::new().into(), body };
        assert!(case.server.requests.borrow_mut().remove(0).send(Ok(response)).is_ok());
        let error = loop {
            match next(&mut events) {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("{what} is taken for an answer"),
            }
        };
        assert_eq!(error.kind, kind, "{what}");
        assert!(read.get() <= most + 2 * piece.len(), "{what}: {} bytes were read", read.get());
        assert_eq!(next(&mut events), None);
        assert_eq!(Rc::strong_count(&read), 1, "{what}: the request goes on");
    }
    // The same for a refusal.
    let case = Case::new();
    let (body, read) = endless(&x);
    let refusal = refusal(&case, |server| {
        let response = HttpReply { status: 500, headers: Vec::new().into(), body };
        assert!(server.requests.borrow_mut().remove(0).send(Ok(response)).is_ok());
    });
    assert_eq!(refusal.error.kind, ModelErrorKind::Overloaded);
    assert!(read.get() <= REFUSAL_BYTES + PIECE && Rc::strong_count(&read) == 1, "{}", read.get());
}

// Bytes without an event break the silence, so the caller's own clock has to end this; the port keeps little of them.
#[test]
fn a_dripping_provider_is_read_until_the_caller_stops() {
    for drip in [": \n\n", "x", "data: x\n"] {
        let (mut events, body) = Case::new().answered();
        say(&body, A);
        assert_eq!(next(&mut events), text(&["a"]));
        for _ in 0..10_000 {
            say(&body, drip);
            assert!(pending(&mut events));
        }
        drop(events);
        assert!(body.is_closed());
    }
}

#[test]
fn dropping_the_stream_drops_the_request() {
    let case = Case::new();
    let mut events = case.call();
    assert!(pending(&mut events));
    drop(events);
    assert!(case.server.requests.borrow()[0].is_canceled());
    case.server.requests.borrow_mut().clear();

    let (mut events, body) = case.answered();
    assert!(pending(&mut events));
    drop(events);
    assert!(body.is_closed());
}

#[test]
fn permits_are_held_until_the_headers_come() {
    let case = Case::new();
    let mut calls: Vec<Events> = (0..4).map(|_| case.call()).collect();
    let poll_all = |calls: &mut Vec<Events>| calls.iter_mut().for_each(|events| assert!(pending(events)));
    let waiting = || case.server.requests.borrow().len();
    poll_all(&mut calls);
    assert_eq!(waiting(), 2);
    let body = case.server.answer(200);
    poll_all(&mut calls);
    assert_eq!(waiting(), 2, "one has its headers, and the third is on its way");
    drop(calls.remove(1));
    poll_all(&mut calls);
    assert_eq!(waiting(), 3, "one was dropped, and the fourth is on its way");
    assert!(!body.is_closed());
}

#[test]
fn the_demo_model_speaks_at_the_pace_of_the_clock() {
    let clock = Rc::<FakeClock>::default();
    let asked = DemoModel::new(clock.clone(), 0, Rc::new(|| 1)).ask(&request("count to 2"));
    let mut events = asked.map_err(|refusal| refusal.error).try_flatten_stream().boxed_local();
    assert!(pending(&mut events));
    clock.pass(249);
    assert!(pending(&mut events));
    clock.pass(1);
    assert_eq!(next(&mut events), text(&["1, "]));
    assert!(pending(&mut events));
    clock.pass(250);
    assert_eq!(next(&mut events), text(&["2."]));
    assert!(pending(&mut events));
    clock.pass(12);
    assert!(
        matches!(next(&mut events).as_ref(), Some(Ok(last)) if matches!(&last[..], [ModelEvent::Finished(_)]))
    );
    assert_eq!(next(&mut events), None);
}
