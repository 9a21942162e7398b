//! Issue 46, L2

use std::fs;
use std::path::Path;

use engine::hooks::from_variable;
use engine::journal::{Fact, Guards};
use engine::testing::{Case, Reply, script};
use espalier_replay::{Record, Replayed, replay};
use serde_json::json;
use wire::protocol::{Hook, HookPoint};

use super::super::format::{Header, end_line};
use super::super::record;
use super::{Redactor, redacted};

/// The record of a turn of before guards, with two hooks that ask models and one with a rule.
fn former() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/records/hooked.jsonl");
    fs::read_to_string(file).unwrap()
}

/// The record of a turn with a hook of the operator that leaves notes, and one of the thread. The operator's models think.
fn guarded() -> String {
    let verdict = |note: &'static str| {
        Reply::Calls(vec![("finish_subtask", json!({"decision": "allow", "text": "", "note": note}))])
    };
    let words = r#"[{"name": "guard", "on": "action", "match": ["echo"], "instructions": "guard \"secrets\"\nwell"}]"#;
    let own = Hook {
        name: "own".to_owned(),
        on: HookPoint::Result,
        instructions: Some("read".to_owned()),
        put_at: Some(7),
        ..from_variable(words).unwrap().remove(0)
    };
    let echo = |n: u32| Reply::Calls(vec![("echo", json!({"n": n}))]);
    let levels = [
        ("go", vec![echo(1), echo(2), Reply::Text("Done.")]),
        (
            "guard \"secrets\"\nwell echo {\"n\":1}",
            vec![Reply::Text("My words are about secrets."), verdict("one")],
        ),
        ("guard \"secrets\"\nwell echo {\"n\":2}", vec![verdict("two")]),
        ("read ", vec![verdict("three")]),
    ];
    let mut case = Case::new(script(&levels));
    case.setting.hooks = from_variable(words).unwrap().into_iter().chain([own]).collect();
    case.setting.guards = Some(Guards { hooks: 1, models: None });
    let case = case.run();
    let entries = case.disk.entries.borrow();
    let Fact::Started(spec) = &entries[0].fact else { panic!("no entry 0") };
    let lines = entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n");
    let journal = lines.collect::<String>() + &end_line(&case.end()).unwrap();
    record(Header::of("thread", "turn", Some(spec.limits)), "", &journal)
}

fn replayed(record: &str) -> Replayed {
    replay(&Record::read(record).unwrap()).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn a_record_without_the_operators_words_is_replayed_as_the_whole_one() {
    for (whole, hidden, shown, verdicts) in [
        (former(), &["No sums.", "Say what is missing."][..], "no sums here", 2),
        (guarded(), &["secrets"], r#""instructions":"read""#, 2),
    ] {
        let told = String::from_utf8(redacted(whole.as_bytes())).unwrap();
        for words in hidden {
            assert!(whole.contains(words) && !told.contains(words), "{words}: {told}");
        }
        assert!(told.contains(shown), "{told}");
        let (before, after) = (replayed(&whole), replayed(&told));
        assert_eq!((&before.difference, &after.difference), (&None, &None));
        assert_eq!((before.given_verdicts, after.given_verdicts), (0, verdicts));
        assert_eq!((before.model_calls, before.tool_calls), (after.model_calls, after.tool_calls));
        // A second time changes nothing more.
        assert_eq!(redacted(told.as_bytes()), told.as_bytes());
    }
}

#[test]
fn a_replay_still_finds_another_verdict() {
    let told = String::from_utf8(redacted(guarded().as_bytes())).unwrap();
    let changed = told.replace(r#"\"note\":\"two\""#, r#"\"note\":\"four\""#);
    assert_ne!(changed, told);
    let difference = replayed(&changed).difference.unwrap();
    assert!(difference.at.starts_with("hook_said:"), "{difference}");
}

#[test]
fn a_record_may_arrive_in_any_pieces() {
    let whole = guarded();
    let told = redacted(whole.as_bytes());
    for size in [1, 7, 4_096] {
        let mut redactor = Redactor::default();
        let mut pieces: Vec<u8> =
            whole.as_bytes().chunks(size).flat_map(|piece| redactor.push(piece)).collect();
        pieces.extend(redactor.finish());
        assert_eq!(pieces, told, "{size}");
    }
    let cut = whole.trim_end().as_bytes();
    assert_eq!(redacted(cut), told.trim_ascii_end());
}

#[test]
fn all_else_stays_byte_by_byte() {
    let record = concat!(
        r#"{"record":1,"thread_id":"t","turn_id":"u","limits":null}"#,
        "\n",
        r#"{"history":[{"user":{"content":"\"fact\":{\"started\": Be kind."}}],"row":1,"turn_id":"a"}"#,
        "\n",
        r#"{"at":"0","elapsed_ms":1,"fact":{"answer_passed":null,"more":1}}"#,
        "\n",
        r#"{"new":"line"}"#,
        "\n",
    );
    assert_eq!(redacted(record.as_bytes()), record.as_bytes());
    // An entry 0 of a later version may have the words of anybody.
    let unreadable = r#"{"at":"","elapsed_ms":0,"fact":{"started":{"limits":7}}}"#;
    assert_eq!(redacted(unreadable.as_bytes()), b"");
}

// Formatting refuses a width beyond 65,535: a panic here would end an isolate that many threads share.
#[test]
fn a_long_text_is_redacted() {
    let long = "x".repeat(70_000);
    assert_eq!(super::redacted_text(&long).len(), long.len());
}
