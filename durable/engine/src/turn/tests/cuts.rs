//! Cuts (issue 43): near the limit of a request, a level leaves messages out once and then only adds to the rest.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use serde_json::json;

use super::faults::killed_at_every_commit;
use crate::journal::{Cut, ESTIMATES, Fact};
use crate::profiles::{Price, Rates, Tier};
use crate::testing::*;
use crate::turn::request_tokens;
use wire::model::{Message, ModelErrorKind, ModelRequest};

/// A turn of so many rounds.
fn of_rounds(rounds: usize) -> Case {
    let round = || Reply::Calls(vec![("echo", json!({"text": "x".repeat(4_000)}))]);
    let replies = (0..rounds).map(|_| round()).chain([Reply::Text("Done.")]).collect();
    let case = Case::new(script(&[("go", replies)]));
    case.model.thinks.set(true);
    case.limits(|limits| limits.iterations = rounds as u32 + 1)
}

/// The estimated tokens of the first request, and those that each round adds.
fn sizes() -> (u64, u64) {
    let case = of_rounds(1).run();
    let tokens: Vec<u64> = case.model.requests.borrow().iter().map(request_tokens).collect();
    (tokens[0], tokens[1] - tokens[0])
}

/// The same, where a request has room for ten rounds and a half.
fn at_limit(rounds: usize) -> Case {
    let (first, round) = sizes();
    of_rounds(rounds).limits(|limits| limits.history_tokens = first + 10 * round + round / 2)
}

pub fn golden() -> Case {
    let mut case = at_limit(12);
    case.model.thinks.set(false);
    case.history = vec![
        Message::User { content: "before".into() },
        Message::Assistant { content: "yes".to_owned(), tool_calls: Vec::new(), raw: None },
    ];
    case
}

/// The places of messages from one to another.
fn places(start: usize, end: usize) -> Vec<Range<usize>> {
    Vec::from([Range { start, end }])
}

/// The number of messages in each request of a turn.
fn lengths(case: &Case) -> Vec<usize> {
    case.model.requests.borrow().iter().map(|request| request.messages.len()).collect()
}

// Issue 43
#[test]
fn a_level_cuts_once_and_then_only_adds() {
    let case = at_limit(20).run();
    // Ten rounds fit. A cut leaves six tenths of that.
    let grows = |from: usize, to: usize| (from..=to).map(|rounds| 1 + 2 * rounds);
    assert_eq!(lengths(&case), grows(0, 10).chain(grows(6, 10)).chain(grows(6, 10)).collect::<Vec<_>>());
    let cut = |messages, from, to| Cut { messages, left_out: places(from, to) };
    let expected = [("11".to_owned(), cut(23, 1, 11)), ("16".to_owned(), cut(33, 1, 21))];
    assert_eq!(cuts(&case), BTreeMap::from(expected));
    let requests = case.model.requests.borrow();
    let reasons = |request: usize| -> Vec<bool> {
        requests[request]
            .messages
            .iter()
            .filter_map(|message| raw_of(message))
            .map(|raw| !raw.is_cut_off)
            .collect()
    };
    assert_eq!(reasons(10), [true; 10]);
    assert_eq!(reasons(11), [false; 6]);
    assert_eq!(reasons(13), [false, false, false, false, false, false, true, true]);
    assert!(requests.iter().all(|request| request_tokens(request) <= case.limits.history_tokens));
}

// Issue 43: turns that former code began go on as they began.
#[test]
fn a_turn_of_former_code_prunes_each_request_anew() {
    let mut case = at_limit(14);
    case.estimates = 0;
    let case = case.run();
    let expected: Vec<usize> = (0..=14_usize).map(|rounds| 1 + 2 * rounds.min(10)).collect();
    assert_eq!((lengths(&case), cuts(&case)), (expected, BTreeMap::new()));
    let requests = case.model.requests.borrow();
    assert!(requests.iter().all(|request| request.turn_from.is_none()));
    assert!(
        requests
            .iter()
            .flat_map(|request| &request.messages)
            .filter_map(|message| raw_of(message))
            .all(|raw| !raw.is_cut_off)
    );
}

// Issue 43
#[test]
fn a_cut_outlives_each_death() {
    killed_at_every_commit(|| at_limit(13));
    let whole = at_limit(13).run();
    let last = |case: &Case| case.model.requests.borrow().last().cloned().unwrap();
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = at_limit(13);
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(
            (cuts(&case), last(&case)),
            (cuts(&whole), last(&whole)),
            "killed after {dies_after} commits"
        );
    }
}

// Issue 43: the journal decides, not an estimate of the code that takes the turn up.
#[test]
fn a_run_that_takes_the_turn_up_makes_the_cuts_of_the_journal_alone() {
    let whole = at_limit(13).run();
    let lost = |change: fn(&mut Option<Cut>)| {
        let mut case = at_limit(13);
        // The cut is written with the start of its call, which has no outcome yet.
        let mut entries = whole.disk.entries.borrow().clone();
        let started = entries.iter().position(|entry| entry.key() == "model_started:11:0").unwrap();
        entries.truncate(started + 1);
        let Fact::ModelStarted { cut, .. } = &mut entries[started].fact else { panic!() };
        change(cut);
        case.disk.found(entries);
        case.resume(None);
        lengths(&case)
    };
    assert_eq!(lost(|_| {}), [13, 15, 17]);
    assert_eq!(
        lost(|cut| cut.as_mut().unwrap().left_out = places(1, 3)),
        [21, 13, 15],
        "a smaller cut, and the next one"
    );
    assert_eq!(lost(|cut| cut.as_mut().unwrap().left_out = places(1, 21)), [3, 5, 7], "a larger cut");
    let other_history = |cut: &mut Option<Cut>| *cut = Some(Cut { messages: 5, left_out: places(1, 3) });
    assert_eq!(lost(other_history), [13, 15, 17], "places among other messages mean nothing");
}

// Issue 43: Claude Haiku 5.5 costs five times as much from 100 000 tokens on.
#[test]
fn a_cut_aims_below_a_threshold_of_the_price() {
    let after_cut = |rounds_below: u64, dearer: f64| {
        let mut case = at_limit(13);
        let above_tokens = case.limits.history_tokens - rounds_below * sizes().1;
        let rates = |input| Rates { input, cached: 0.01, output: 0.5, ..Rates::default() };
        let tier = Tier { above_tokens, rates: rates(dearer) };
        case.price = Some(Price { rates: rates(0.1), tiers: vec![tier], ..Price::default() });
        (lengths(&case.run())[11] - 1) / 2
    };
    assert_eq!(after_cut(0, 0.5), 6, "the limit is no longer than the cheap prompts");
    assert_eq!(after_cut(2, 0.5), 5, "six tenths of eight rounds and a half");
    assert_eq!(after_cut(5, 0.5), 3);
    assert_eq!(after_cut(6, 0.5), 6, "less than half of the limit is too little to go on with");
    assert_eq!(after_cut(2, 0.1), 6, "long prompts cost the same");
}

// Issue 43
#[test]
fn a_refused_request_is_cut_to_half_and_may_be_refused_again() {
    let mut replies: Vec<Reply> =
        (0..8).map(|_| Reply::Calls(vec![("echo", json!({"text": "x".repeat(4_000)}))])).collect();
    replies.push(Reply::TooLongThen(vec![("echo", json!({}))]));
    replies.push(Reply::Text("Done."));
    let mut case = Case::new(script(&[("go", replies)]));
    case.history = vec![Message::User { content: "before".into() }];
    let case = case.run();
    assert_eq!(lengths(&case)[8..], [18, 9, 11]);
    assert_eq!(cuts(&case).keys().collect::<Vec<_>>(), ["9"]);

    // A provider that always refuses it gets less as long as something can be left out.
    let mut replies: Vec<Reply> =
        (0..8).map(|_| Reply::Calls(vec![("echo", json!({"text": "x".repeat(4_000)}))])).collect();
    replies.push(Reply::Fail("", ModelErrorKind::ContextTooLong));
    let refused = Case::new(script(&[("go", replies)])).run();
    assert_eq!(lengths(&refused)[8..], [17, 7, 3]);
    assert_eq!(refused.lines().last().unwrap(), "done Error");

    let always = Case::new(script(&[("go", vec![Reply::Fail("", ModelErrorKind::ContextTooLong)])])).run();
    assert_eq!(lengths(&always), [1], "nothing can be left out");
}

// Issue 43: several turns of a long thread begin alike.
#[test]
fn turns_of_a_thread_beyond_the_limit_leave_out_the_same_messages() {
    let first = |turns: usize| {
        let mut case = at_limit(0);
        let turn = |number: usize| {
            let content = format!("{number:04}").repeat(1_000);
            [
                Message::User { content: content.as_str().into() },
                Message::Assistant { content, tool_calls: Vec::new(), raw: None },
            ]
        };
        case.history = (0..turns).flat_map(turn).collect();
        let case = case.run();
        let requests = case.model.requests.borrow();
        let Message::User { content } = &*requests[0].messages[0] else { panic!() };
        (
            content.text().chars().take(4).collect::<String>().parse::<usize>().unwrap_or(9_999),
            lengths(&case)[0],
        )
    };
    let begin: Vec<usize> = (8..16).map(|turns| first(turns).0).collect();
    assert_eq!(begin, [0, 0, 0, 5, 5, 5, 5, 9], "not each turn leaves out other messages");
}

/// The tokens of a turn's requests that the provider has not read in the request before: it writes them to its cache.
fn written_to_cache(case: &Case) -> u64 {
    let requests = case.model.requests.borrow();
    let mut written = 0;
    for (index, request) in requests.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &requests[before]);
        let same = before.map_or(0, |before| {
            request.messages.iter().zip(&before.messages).take_while(|(one, other)| one == other).count()
        });
        let known =
            before.map(|_| ModelRequest { messages: request.messages[..same].to_vec(), ..request.clone() });
        written += request_tokens(request) - known.as_ref().map_or(0, request_tokens);
    }
    written
}

// Issue 43: `cargo test -p engine --lib twenty_rounds_at_the_limit -- --nocapture` prints the numbers of docs/operations.md.
#[test]
fn twenty_rounds_at_the_limit_write_less_to_the_cache() {
    let written = |estimates, rounds| {
        let mut case = at_limit(rounds);
        case.estimates = estimates;
        written_to_cache(&case.run())
    };
    // The first ten rounds reach the limit.
    let over_twenty = |estimates| written(estimates, 30) - written(estimates, 10);
    let (before, now) = (over_twenty(0), over_twenty(ESTIMATES));
    println!("tokens written to the cache over 20 rounds at the limit: {before} before, {now} now");
    assert!(now * 2 < before, "{before} before, {now} now");
}

// Issue 43: what the service says within a turn stands behind what was sent, and begins no turn.
#[test]
fn remarks_within_a_turn_leave_its_beginning_where_it_is() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let asked = json!({"title": "s", "instructions": "a", "output_schema": schema, "tools": ["echo"]});
    let finish = |payload| Reply::Calls(vec![("finish_subtask", payload)]);
    let a =
        vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Let me see."), finish(json!({"n": 1}))];
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![("run_subtask", asked)]), Reply::Text("Done.")]),
        ("a", a),
    ]));
    case.model.thinks.set(true);
    let case = case.run();
    let requests = case.model.requests.borrow();
    let reminded = requests.iter().rfind(|request| request.messages.len() > 4).unwrap();
    let is_users = |message: &Rc<Message>| matches!(**message, Message::User { .. });
    assert!(is_users(reminded.messages.last().unwrap()), "the reminder");
    assert_eq!((reminded.turn_from, cuts(&case)), (Some(0), BTreeMap::new()));
}
