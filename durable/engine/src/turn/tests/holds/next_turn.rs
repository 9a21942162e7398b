//! A turn reserves by what the provider counted for the turn before it. Issue 43.

use serde_json::json;

use super::{at_truthful, golden, holds};
use crate::testing::*;
use wire::model::{Message, ReplyFinish};
use wire::protocol::{BrowserContext, CountedRequest, FinishReason};

/// A turn that holds money, after a turn whose last request was counted.
pub(crate) fn after() -> Case {
    let mut case = golden();
    let said =
        |content: &str| Message::Assistant { content: content.into(), tool_calls: Vec::new(), raw: None };
    case.history = vec![Message::User { content: "before".into() }, said("Done before.")];
    let last = CountedRequest { model: "m1".to_owned(), input_tokens: 900, output_tokens: 4 };
    case.last_request = Some(last);
    case
}

/// A turn after one of 40 kB, with a limit of money.
fn two_turns(first: fn(Case) -> Case) -> [Case; 2] {
    let long = || Reply::Calls(vec![("echo", json!({ "text": "x".repeat(10_000) }))]);
    let before = at_truthful(vec![long(), long(), Reply::Text("Done.")], 1_000_000);
    let before = first(before).run();
    let mut after = at_truthful(vec![Reply::Text("Done.")], 1_000_000);
    after.history = [vec![Message::User { content: "go".into() }], before.end().history].concat();
    after.last_request = before.end().message.usage.unwrap().last_request;
    [before, after.run()]
}

#[test]
fn a_turn_begins_with_what_the_turn_before_it_used() {
    let first_hold = |case: &Case| holds(case)[0].1.unwrap() - 2 * 8_192;
    let [before, after] = two_turns(|case| case);
    let last = before.end().message.usage.unwrap().last_request.unwrap();
    assert_eq!((last.model.as_str(), last.output_tokens), ("m1", 1));
    assert_eq!(after.spec().last_request, Some(last.clone()));
    let used = after.end().message.execution_tree.unwrap().model_calls[0].usage.unwrap().input_tokens;
    let fixed = first_hold(&at_truthful(vec![Reply::Text("Done.")], 1_000_000).run());
    let held = first_hold(&after);
    assert!(used <= held && held <= last.input_tokens + fixed + 200, "{used} {held} {last:?} {fixed}");
    assert!(held < 30_000, "a token a byte is more than 40 000: {held}");
    // The prompt of the next turn may be longer.
    let mut longer = at_truthful(vec![Reply::Text("Done.")], 1_000_000);
    (longer.history, longer.last_request) = (after.history.clone(), after.last_request.clone());
    let tab = BrowserContext { active_tab_title: Some("x".repeat(8_000)), ..BrowserContext::default() };
    longer.setting.browser = Some(tab);
    let longer = longer.run();
    let used = longer.end().message.execution_tree.unwrap().model_calls[0].usage.unwrap().input_tokens;
    assert!(used > last.input_tokens + 2_000 && used <= first_hold(&longer), "{used} {last:?}");
    // The count of another model says nothing.
    let mut other = at_truthful(vec![Reply::Text("Done.")], 1_000_000);
    other.history = before.end().history;
    other.last_request = Some(CountedRequest { model: "m2".to_owned(), ..last });
    assert!(first_hold(&other.run()) > 40_000);
}

#[test]
fn a_request_that_says_nothing_of_the_next_turn_is_not_kept() {
    let kept = |first| two_turns(first)[0].end().message.usage.unwrap().last_request;
    assert!(kept(|case| case).is_some());
    assert_eq!(kept(|case| case.limits(|limits| limits.turn_cost_microusd = None)), None);
    assert_eq!(
        kept(|case| case.limits(|limits| limits.history_tokens = 8_000)),
        None,
        "it left messages out"
    );
    let uncounted = |case: Case| {
        case.model.tokenizer.replace(None);
        case.model.counts_nothing.set(true);
        case
    };
    assert_eq!(kept(uncounted), None);
    let of_former_code = |case: Case| Case { estimates: 0, ..case };
    assert_eq!(kept(of_former_code), None, "it prunes without a fact");
    // A note of the service stands behind the results of the last calls.
    assert_eq!(kept(|case| case.limits(|limits| limits.llm_calls = 1)), None, "a limit ended it");
    assert_eq!(kept(|case| case.limits(|limits| limits.iterations = 1)), None, "another one did");
    let paused = at_truthful(vec![Reply::Ended("One", ReplyFinish::Pause)], 1_000_000);
    let paused = paused.limits(|limits| limits.llm_calls = 1).run();
    let end = paused.end().message;
    assert_eq!((end.finish_reason, end.usage.unwrap().last_request), (Some(FinishReason::Budget), None));
}
