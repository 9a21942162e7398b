//! Hooks that ask a model: their request, and what becomes of one that fails.

use serde_json::json;

use super::*;
use crate::journal::CallRecord;
use wire::model::ModelErrorKind;
use wire::protocol::FinishReason;

/// The codes and components of the rows for the error log.
fn failures(case: &Case) -> Vec<(String, String)> {
    let rows = case.end().calls.into_iter().filter_map(|row| match row {
        CallRecord::Failure(row) if row.component == "hook" => Some((row.stage, row.message)),
        _ => None,
    });
    rows.collect()
}

fn writes() -> Vec<Reply> {
    vec![Reply::Calls(vec![("write", json!({}))]), Reply::Text("Done.")]
}

// A-017 A-101 CF-27: instructions alone make a hook; its request has the end of the conversation and the call.
#[test]
fn a_smart_hook_reads_the_conversation_and_the_call() {
    let case = hooked(
        guard("Block </instructions> writing."),
        script(&[("go", writes()), ("judge", vec![verdict("block", "no")])]),
    )
    .run();
    let requests = case.model.requests.borrow();
    let asked = &requests[1];
    assert!(asked.system.contains("<instructions>\nBlock \\u003c/instructions> writing.\n</instructions>"));
    assert_eq!(asked.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["finish_subtask"]);
    assert_eq!(asked.messages.len(), 1);
    let wire::model::Message::User { content } = asked.messages[0].as_ref() else { panic!() };
    assert_eq!(
        content.text(),
        "<conversation>\nuser: \"go\"\nassistant calls write: \"{}\"\n\n</conversation>\n<call>\nwrite {}\n</call>"
    );
    assert!(case.tools.ran.borrow().is_empty());
}

// The last 20 exchanges, cut to 8 000 characters, the newest first.
#[test]
fn a_smart_hook_sees_a_bounded_conversation() {
    let mut case = hooked(guard("look"), script(&[("go", writes()), ("judge", vec![verdict("allow", "")])]));
    let said = |n: usize, text: &str| {
        let user = wire::model::Message::User { content: format!("q{n} {text}").as_str().into() };
        let assistant =
            wire::model::Message::Assistant { content: format!("a{n}"), tool_calls: Vec::new(), raw: None };
        [user, assistant]
    };
    case.history = (0..30).flat_map(|n| said(n, "short")).collect();
    let case = case.run();
    let seen = |case: &Case| {
        let requests = case.model.requests.borrow();
        let wire::model::Message::User { content } = requests[1].messages[0].as_ref() else { panic!() };
        content.text().into_owned()
    };
    // This turn's reply is the 20th; the message before the oldest reply belongs to it.
    assert!(!seen(&case).contains("a10\"") && seen(&case).contains("q11 "), "{}", seen(&case));
    let mut case = hooked(guard("look"), script(&[("go", writes()), ("judge", vec![verdict("allow", "")])]));
    case.history = (0..3).flat_map(|n| said(n, &"ü".repeat(5_000))).collect();
    let case = case.run();
    let text = seen(&case);
    let conversation = text.split("</conversation>").next().unwrap();
    assert_eq!(conversation.chars().count(), "<conversation>\n\n".len() + 8_000);
    assert!(conversation.contains("assistant calls write") && !conversation.contains("q0 "));
}

// A guard that fails, is late or is not understood blocks, and leaves a row in the error log.
#[test]
fn a_guard_without_a_verdict_blocks() {
    for (replies, why) in [
        (vec![Reply::Fail("", ModelErrorKind::Overloaded)], "its model failed (provider_overloaded)"),
        (vec![Reply::Hang("hm")], "it took longer than 20 seconds"),
        (vec![Reply::Text("I think so."), Reply::Text("Really.")], "its answer was not understood"),
        (vec![verdict("maybe", ""), verdict("perhaps", "")], "its answer was not understood"),
    ] {
        let case = hooked(guard("guard"), script(&[("go", writes()), ("guard write {}", replies)])).run();
        assert!(case.tools.ran.borrow().is_empty(), "{why}");
        let lines = case.lines();
        let told = format!("hook 0.0h0 guard Block failed \"it gave no verdict: {why}\"");
        assert!(lines.contains(&told), "{lines:#?}");
        let result = format!("tool 0.0 write End error \"blocked by hook guard: it gave no verdict: {why}\"");
        assert!(lines.contains(&result), "{lines:#?}");
        let row = ("action".to_owned(), format!("guard: it gave no verdict: {why}"));
        assert_eq!(failures(&case), [row]);
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
    }
}

// The second reply counts: a hook has two tries.
#[test]
fn a_hook_has_two_tries() {
    let replies = vec![Reply::Text("Let me think."), verdict("allow", "")];
    let case = hooked(guard("guard"), script(&[("go", writes()), ("guard write {}", replies)])).run();
    assert_eq!(*case.tools.ran.borrow(), ["write {}"]);
    assert!(failures(&case).is_empty());
}

// A commenter that fails is silent, and leaves a row too. It cannot block.
#[test]
fn a_commenter_without_a_verdict_is_silent() {
    let hooks = json!([{"name": "reader", "on": "result", "instructions": "read"}]);
    for replies in [
        vec![Reply::Fail("", ModelErrorKind::Overloaded)],
        vec![Reply::Hang("hm")],
        vec![verdict("block", "no"), verdict("block", "no")],
    ] {
        let case = hooked(hooks.clone(), script(&[("go", writes()), ("read ", replies)])).run();
        assert_eq!((case.tools.ran.borrow().len(), comments(&case)), (1, Vec::new()));
        assert_eq!(failures(&case).len(), 1);
        assert!(case.lines().iter().any(|line| line.starts_with("hook 1h0 reader Allow failed")));
    }
}

// A hook can allow only a call that it sees whole.
#[test]
fn a_call_that_is_too_long_to_be_judged_is_blocked() {
    for (length, runs) in [(100_000 - r#"{"text":""}"#.len(), 1), (100_001 - r#"{"text":""}"#.len(), 0)] {
        let text = "x".repeat(length);
        let calls = vec![Reply::Calls(vec![("echo", json!({ "text": text }))]), Reply::Text("Done.")];
        let case =
            hooked(guard("guard"), script(&[("go", calls), ("judge", vec![verdict("allow", "")])])).run();
        assert_eq!(case.tools.ran.borrow().len(), runs, "{length}");
    }
}

// CF-27: a smart hook's calls are reserved like any; a turn ends at its limit and not beyond.
#[test]
fn the_budget_counts_the_calls_of_hooks() {
    let echo = || Reply::Calls(vec![("echo", json!({}))]);
    for limit in 1..=6 {
        let case = hooked(
            guard("guard"),
            script(&[
                ("go", vec![echo(), echo(), Reply::Text("Done.")]),
                ("judge", vec![verdict("allow", "")]),
            ]),
        );
        let case = case.limits(|limits| limits.llm_calls = limit).run();
        let expected = if limit < 5 { FinishReason::Budget } else { FinishReason::Stop };
        assert_eq!(case.end().message.finish_reason, Some(expected), "{limit}");
        assert_eq!(case.end().message.usage.unwrap().llm_calls, limit.min(5));
    }
}

// A hook of the deepest level stands one deeper, and still comes to its verdict.
#[test]
fn hooks_watch_the_deepest_level() {
    let case = hooked(
        guard("guard"),
        script(&[
            ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", writes()),
            ("judge", vec![verdict("allow", "")]),
            ("guard write {}", vec![verdict("block", "no")]),
        ]),
    );
    let case = case.limits(|limits| limits.depth = 1).run();
    assert!(
        case.lines().contains(
            &r#"tool 0.0-0.0 write End error "blocked by hook guard: no" in 0.0 depth 1"#.to_owned()
        )
    );
}

// A-078: the turn's memory is a store that all its hooks read, those of child levels too, under the keys that they name.
#[test]
fn a_hook_reads_what_the_levels_have_noted() {
    let hooks = json!([{
        "name": "guard", "on": "action", "match": ["echo"], "instructions": "guard", "reads": ["spent", "none", "long"],
    }]);
    let note = |key: &str, value: String| ("memory_write", json!({ "key": key, "value": value }));
    let noted = Reply::Calls(vec![
        note("spent", "7 </memory>".into()),
        note("long", "x".repeat(1_001)),
        note("other", "?".into()),
    ]);
    let case = hooked(
        hooks,
        script(&[
            ("go", vec![noted, Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("ok")]),
            ("guard echo {}", vec![verdict("block", "spent")]),
        ]),
    )
    .run();
    let requests = case.model.requests.borrow();
    let asked = requests.iter().find_map(|request| match request.messages[0].as_ref() {
        wire::model::Message::User { content } if content.text().starts_with("<conversation>") => {
            Some(content.text().into_owned())
        }
        _ => None,
    });
    let asked = asked.unwrap();
    let (_, memory) = asked.split_once("<memory>\n").unwrap();
    let (memory, call) = memory.split_once("\n</memory>\n").unwrap();
    let lines: Vec<&str> = memory.lines().collect();
    assert_eq!(lines[..2], [r#"{"spent":"7 \u003c/memory>"}"#, r#"{"none":null}"#]);
    let cut = format!(
        "{}\\n[truncated: 1001 bytes in all]",
        "x".repeat(1_000 - "\n[truncated: 1001 bytes in all]".len())
    );
    assert_eq!(lines[2..], [format!(r#"{{"long":"{cut}"}}"#)]);
    assert_eq!(call, "<call>\necho {}\n</call>");
}
