//! Replies whose provider reports no usage: they cost what the service estimates. Issue 43.

use super::first_word::{charged, held, reserved};
use super::models::{chained, row, rows};
use crate::testing::*;
use serde_json::json;

pub(crate) fn uncounted(replies: Vec<Reply>) -> Case {
    let case = chained(script(&[("go", replies)]));
    case.model.counts_nothing.set(true);
    case
}

#[test]
fn a_reply_without_usage_costs_its_prompt_and_the_bytes_that_came() {
    // 12 bytes of reasoning and 12 of text are 6 tokens.
    let case = uncounted(vec![Reply::Think("think of it ", "It is four. ")]).run();
    let tokens = reserved(&case).0 + 6;
    assert_eq!(charged(&case).0, tokens);
    assert_eq!(rows(&case), [row("m1", 0, "ok", Some(tokens as i64))]);
    let end = case.end();
    let usage = end.message.usage.unwrap();
    assert_eq!((usage.input_tokens + usage.output_tokens, usage.estimated), (tokens, true));
    assert!(usage.by_model["m1"].estimated);
    assert!(end.message.execution_tree.unwrap().model_calls[0].usage.unwrap().estimated);

    // 4 bytes of a name and 28 of arguments are 8 tokens.
    let call = Reply::Calls(vec![("echo", json!({"text": "twenty-eight bytes"}))]);
    let case = uncounted(vec![call, Reply::Text("")]).limits(|limits| limits.llm_calls = 1).run();
    assert_eq!(charged(&case).0, reserved(&case).0 + 8);
}

// The whole reservation of one call left no room for the next.
#[test]
fn calls_without_usage_leave_room_for_others() {
    let call = || Reply::Calls(vec![("echo", json!({}))]);
    let play = |more| {
        let case = uncounted(vec![call(), call(), Reply::Text("Done.")]);
        let once = uncounted(vec![Reply::Text("")]).limits(|limits| limits.turn_tokens = Some(100_000));
        let limit = held(&once.run()) + more;
        case.limits(|limits| limits.turn_tokens = Some(limit)).run()
    };
    assert_eq!(play(8_000).lines().last().unwrap(), "done Stop");
    assert_eq!(play(10).lines().last().unwrap(), "done Budget");
}

// An estimate is at most the reservation.
#[test]
fn a_reply_longer_than_its_reservation_costs_the_reservation() {
    let case = uncounted(vec![Reply::Text(
        "a reply of more than eight tokens, as a provider without counts may send it",
    )]);
    let case = case.limits(|limits| (limits.output_tokens, limits.turn_tokens) = (8, Some(100_000))).run();
    assert_eq!((reserved(&case).1, charged(&case).0), (8, held(&case)));
}
