use std::cell::RefCell;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::ready;
use futures::stream;
use futures::task::noop_waker_ref;

use super::*;
use engine::testing::FakeClock;
use wire::model::{ModelChoice, ModelReply, ReplyFinish};

use ModelErrorKind::*;

/// A provider's answer to one request.
#[derive(Clone, Copy)]
enum Act {
    Answer,
    /// Ends without a word.
    Empty,
    /// Begins to answer, then fails.
    Break(ModelErrorKind),
    Refuse(ModelErrorKind, Again),
    Hang,
}

const AGAIN: Again = Again::After(None);

/// Plays its acts, the last one for ever, and writes down when it was asked for which model.
struct Scripted {
    acts: RefCell<Vec<Act>>,
    asked: Rc<RefCell<Vec<(String, u64)>>>,
    clock: Rc<FakeClock>,
}

impl Endpoint for Scripted {
    fn ask(&self, request: &ModelRequest) -> LocalBoxFuture<'static, Result<Answer, Refusal>> {
        assert_eq!(request.cache_key.as_deref(), Some("k"), "each request has the conversation's");
        self.asked.borrow_mut().push((request.model.id(), self.clock.now_ms()));
        let mut acts = self.acts.borrow_mut();
        let act = if acts.len() > 1 { acts.remove(0) } else { acts[0] };
        let error = |kind| ModelError::new(kind, "no");
        let said = || Ok(vec![ModelEvent::Text("hi".to_owned())]);
        match act {
            Act::Answer => ready(Ok(stream::iter([said()]).boxed_local())).boxed_local(),
            Act::Empty => {
                let reply = ModelReply {
                    text: String::new(),
                    tool_calls: Vec::new(),
                    finish: ReplyFinish::Stop,
                    usage: None,
                    raw: None,
                };
                let ended = Ok(vec![ModelEvent::Finished(Box::new(reply))]);
                ready(Ok(stream::iter([ended]).boxed_local())).boxed_local()
            }
            Act::Break(kind) => {
                ready(Ok(stream::iter([said(), Err(error(kind))]).boxed_local())).boxed_local()
            }
            Act::Refuse(kind, again) => {
                let refusal = Refusal { error: error(kind), again, said: "their words".to_owned() };
                ready(Err(refusal)).boxed_local()
            }
            Act::Hang => futures::future::pending().boxed_local(),
        }
    }
}

/// Providers `a`, `b`, `c` with one model `m` each, in one chain.
struct Case {
    model: RoutedModel,
    chain: Chain,
    clock: Rc<FakeClock>,
    asked: Rc<RefCell<Vec<(String, u64)>>>,
    warned: Rc<RefCell<Vec<String>>>,
}

const UNTIL_MS: u64 = 180_000;

impl Case {
    fn new(providers: &[&[Act]]) -> Self {
        let (clock, asked, warned) =
            (Rc::new(FakeClock::eager()), Rc::default(), Rc::<RefCell<Vec<String>>>::default());
        let names = || ["a", "b", "c"].into_iter().take(providers.len());
        let endpoint = |acts: &[Act]| -> Rc<dyn Endpoint> {
            let acts = RefCell::new(acts.to_vec());
            Rc::new(Scripted { acts, asked: Rc::clone(&asked), clock: Rc::clone(&clock) })
        };
        let endpoints =
            names().zip(providers).map(|(name, acts)| (name.to_owned(), endpoint(acts))).collect();
        let lines = Rc::clone(&warned);
        let ports = RoutePorts {
            clock: Rc::clone(&clock) as Rc<dyn Clock>,
            random: Rc::new(|| 1.0),
            warn: Rc::new(move |line| lines.borrow_mut().push(line.to_owned())),
            breaker: Breaker::default(),
        };
        let mut offers = names().map(|name| providers::catalogue::offer(ModelChoice::new(name, "m"), 0));
        let chain = Chain { first: offers.next().unwrap(), then: offers.collect() };
        Case { model: RoutedModel::new(endpoints, ports, "k".into()), chain, clock, asked, warned }
    }

    fn begin(&self, until_ms: u64) -> LocalBoxStream<'static, Result<Heard, ModelError>> {
        let request = ModelRequest::new(Rc::clone(&self.chain.first.choice), "".into());
        self.model.call(&request, &self.chain, until_ms)
    }

    /// A whole call, as short words.
    fn call(&self) -> Vec<String> {
        self.call_until(self.clock.now_ms() + UNTIL_MS)
    }

    fn call_until(&self, until_ms: u64) -> Vec<String> {
        let word = |item| match item {
            Ok(Heard::Asking { place, after: None }) => format!("ask {place}"),
            Ok(Heard::Asking { place, after: Some(error) }) => format!("{:?}, ask {place}", error.kind),
            Ok(Heard::Empty(_)) => "empty".to_owned(),
            Ok(Heard::Answering) => "answering".to_owned(),
            Ok(Heard::Events(events)) if matches!(events[..], [ModelEvent::Finished(_)]) => {
                "nothing".to_owned()
            }
            Ok(Heard::Events(_)) => "hi".to_owned(),
            Err(ModelError { kind, .. }) => format!("{kind:?}"),
        };
        let all = self.begin(until_ms).map(word).collect::<Vec<_>>().now_or_never();
        all.expect("the call hangs")
    }

    /// The models that were asked, and when.
    fn asked(&self) -> Vec<(String, u64)> {
        self.asked.take()
    }
}

fn asked(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(model, at)| ((*model).to_owned(), *at)).collect()
}

#[test]
fn a_model_is_asked_again_after_growing_waits_and_not_for_ever() {
    for kind in [Overloaded, RateLimited, Network] {
        let case = Case::new(&[&[Act::Refuse(kind, AGAIN)]]);
        let again = format!("{kind:?}, ask 0");
        assert_eq!(case.call(), ["ask 0", &again, &again, &again, &format!("{kind:?}")]);
        assert_eq!(case.asked(), asked(&[("a:m", 0), ("a:m", 500), ("a:m", 1_500), ("a:m", 3_500)]));
    }
    let case = Case::new(&[&[Act::Refuse(Overloaded, AGAIN), Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "Overloaded, ask 0", "answering", "hi"]);
    assert_eq!(case.warned.take(), ["a:m: provider_overloaded no It said: their words"]);
}

#[test]
fn a_request_that_would_fail_again_is_not_repeated() {
    for kind in [Auth, Quota, BadRequest, ContextTooLong, Protocol, Network] {
        let case = Case::new(&[&[Act::Refuse(kind, Again::No)]]);
        assert_eq!(case.call(), ["ask 0", &format!("{kind:?}")]);
    }
}

#[test]
fn nothing_is_repeated_after_the_first_word() {
    let case = Case::new(&[&[Act::Break(Overloaded)], &[Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "answering", "hi", "Overloaded"]);
    assert_eq!(case.asked().len(), 1);
}

// Issue 43
#[test]
fn an_empty_reply_is_repeated_once_and_then_it_is_the_answer() {
    let case = Case::new(&[&[Act::Empty, Act::Answer], &[Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "empty", "answering", "hi"]);
    assert_eq!(case.asked(), asked(&[("a:m", 0), ("a:m", 500)]));
    assert_eq!(case.warned.take(), ["a:m: provider_protocol The model sent an empty reply."]);
    let case = Case::new(&[&[Act::Empty], &[Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "empty", "answering", "nothing"]);
    assert_eq!(case.call_until(1), ["ask 0", "answering", "nothing"], "there is no time for another request");
    // It is no failure of its model.
    let fails = Act::Refuse(Overloaded, AGAIN);
    let case = Case::new(&[&[fails, Act::Empty, fails], &[Act::Empty]]);
    let expected = ["ask 0", "Overloaded, ask 0", "empty", "Overloaded, ask 1", "answering", "nothing"];
    assert_eq!(case.call(), expected);
}

#[test]
fn a_provider_is_not_asked_before_its_retry_after() {
    let refuse = |ms| Act::Refuse(RateLimited, Again::After(Some(ms)));
    let case = Case::new(&[&[refuse(7_000), Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "RateLimited, ask 0", "answering", "hi"]);
    assert_eq!(case.asked(), asked(&[("a:m", 0), ("a:m", 7_250)]));
    let far = Case::new(&[&[refuse(60_001), Act::Answer]]);
    assert_eq!(far.call(), ["ask 0", "RateLimited"], "no call waits that long");
}

#[test]
fn no_wait_goes_beyond_the_turns_end() {
    let play = |until_ms| {
        let case = Case::new(&[&[Act::Refuse(RateLimited, Again::After(Some(7_000))), Act::Answer]]);
        case.call_until(until_ms)
    };
    assert_eq!(play(7_251), ["ask 0", "RateLimited, ask 0", "answering", "hi"]);
    assert_eq!(play(7_250), ["ask 0", "RateLimited"]);
    // Where the call need not wait, there is still time.
    let case = Case::new(&[&[Act::Refuse(RateLimited, Again::After(Some(7_000)))], &[Act::Answer]]);
    assert_eq!(case.call_until(1), ["ask 0", "RateLimited, ask 1", "answering", "hi"]);
    assert_eq!(case.call_until(0), ["ask 1", "answering", "hi"], "the one that rests is not asked first");
}

#[test]
fn the_next_of_the_chain_is_asked_where_another_model_may_help() {
    for (kind, again, requests) in [
        (Overloaded, AGAIN, 2),
        (RateLimited, AGAIN, 2),
        (RateLimited, Again::After(Some(2_001)), 1),
        (Network, AGAIN, 2),
        (Network, Again::No, 1),
        (Protocol, AGAIN, 2),
        (Auth, Again::No, 1),
        (Quota, Again::No, 1),
    ] {
        let case = Case::new(&[&[Act::Refuse(kind, again)], &[Act::Refuse(kind, Again::No)], &[Act::Answer]]);
        let mut expected = vec!["ask 0".to_owned()];
        expected.extend(vec![format!("{kind:?}, ask 0"); requests - 1]);
        expected.extend([1, 2].map(|place| format!("{kind:?}, ask {place}")));
        expected.extend(["answering", "hi"].map(str::to_owned));
        assert_eq!(case.call(), expected, "{again:?}");
        let models: Vec<String> = case.asked().into_iter().map(|(model, _)| model).collect();
        assert_eq!(models[requests - 1..], ["a:m", "b:m", "c:m"]);
    }
    for kind in [BadRequest, ContextTooLong] {
        let case = Case::new(&[&[Act::Refuse(kind, Again::No)], &[Act::Answer]]);
        assert_eq!(case.call(), ["ask 0", &format!("{kind:?}")], "it is about the question");
    }
}

#[test]
fn a_chain_that_fails_returns_its_last_error() {
    let case = Case::new(&[&[Act::Refuse(Auth, Again::No)], &[Act::Refuse(Quota, Again::No)]]);
    assert_eq!(case.call(), ["ask 0", "Auth, ask 1", "Quota"]);
    assert_eq!(case.call(), ["ask 0", "Auth, ask 1", "Quota"], "all that rest are asked all the same");
}

#[test]
fn a_failed_model_is_remembered_for_a_while() {
    let refuse = Act::Refuse(Auth, Again::No);
    let case = Case::new(&[&[refuse, refuse, Act::Answer], &[Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "Auth, ask 1", "answering", "hi"]);
    assert_eq!(case.call(), ["ask 1", "answering", "hi"]);
    case.clock.set(29_999);
    assert_eq!(case.call(), ["ask 1", "answering", "hi"]);
    case.clock.set(30_000);
    assert_eq!(case.call(), ["ask 0", "Auth, ask 1", "answering", "hi"], "one tries it out");
    case.clock.set(89_999);
    assert_eq!(case.call(), ["ask 1", "answering", "hi"], "and it rests twice as long");
    case.clock.set(90_000);
    assert_eq!(case.call(), ["ask 0", "answering", "hi"]);
    assert_eq!(case.call(), ["ask 0", "answering", "hi"]);
}

#[test]
fn only_one_call_tries_a_model_out() {
    let refuse = Act::Refuse(Overloaded, Again::No);
    let case = Case::new(&[&[refuse, Act::Hang, Act::Answer], &[Act::Answer]]);
    assert_eq!(case.call(), ["ask 0", "Overloaded, ask 1", "answering", "hi"]);
    case.clock.set(30_000);
    let mut probe = case.begin(UNTIL_MS);
    let mut poll = || probe.poll_next_unpin(&mut Context::from_waker(noop_waker_ref()));
    assert!(matches!(poll(), Poll::Ready(Some(Ok(Heard::Asking { place: 0, .. })))));
    assert!(poll().is_pending());
    assert_eq!(case.call(), ["ask 1", "answering", "hi"]);
    drop(probe);
    assert_eq!(case.call(), ["ask 0", "answering", "hi"], "the one that was given up says nothing");
}

#[test]
fn a_provider_that_is_gone_is_passed_over() {
    let mut case = Case::new(&[&[Act::Answer]]);
    let gone = ModelChoice { provider: "gone".into(), ..ModelChoice::clone(&case.chain.first.choice) };
    case.chain = Chain { first: providers::catalogue::offer(gone, 0), then: vec![case.chain.first.clone()] };
    assert_eq!(case.call(), ["ask 0", "Auth, ask 1", "answering", "hi"]);
}

#[test]
fn no_request_is_made_before_its_announcement_was_heard() {
    let case = Case::new(&[&[Act::Refuse(Overloaded, AGAIN)]]);
    let mut call = case.begin(UNTIL_MS);
    let mut poll = || call.poll_next_unpin(&mut Context::from_waker(noop_waker_ref()));
    assert!(matches!(poll(), Poll::Ready(Some(Ok(Heard::Asking { .. })))));
    assert_eq!(case.asked().len(), 0);
    assert!(matches!(poll(), Poll::Ready(Some(Ok(Heard::Asking { after: Some(_), .. })))));
    assert_eq!(case.asked().len(), 1);
}
