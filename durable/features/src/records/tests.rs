//! Issue 20, 1. A-099

use std::collections::BTreeMap;

use engine::journal::{Entry, Fact, History, HookSaid, ModelOutcome, Past, PastId, ToolEnd};
use espalier_replay::Record;
use serde_json::json;
use serde_json::value::RawValue;
use wire::model::{Message, ModelReply, RawMessage, RawValueEq, ReplyFinish, ToolCall};
use wire::protocol::{HookDecision, HookPoint, Place};

use super::format::{FORMAT, Header, history_lines};
use super::shorten::record_within;
use super::{MAX_WAITING_BYTES, is_withheld, kept, key, too_many};

fn line(at: &str, fact: Fact) -> String {
    serde_json::to_string(&Entry { at: at.to_owned(), elapsed_ms: 1, fact }).unwrap() + "\n"
}

fn result(at: &str, content: &str) -> String {
    line(at, Fact::ToolEnded(ToolEnd { content: content.to_owned(), ..ToolEnd::default() }))
}

fn reply_with(text: &str, raw: Option<&str>) -> ModelReply {
    let raw = raw.map(|raw| RawMessage {
        provider: "p".to_owned(),
        wire: "w".to_owned(),
        model: "m".to_owned(),
        json: RawValueEq(RawValue::from_string(json!(raw).to_string()).unwrap()),
        is_cut_off: false,
    });
    let (text, finish) = (text.to_owned(), ReplyFinish::Stop);
    ModelReply { text, tool_calls: Vec::new(), finish, usage: None, raw }
}

fn ended(at: &str, outcome: ModelOutcome) -> String {
    let (place, digest) = (Place::default(), "d".to_owned());
    line(at, Fact::ModelEnded { digest, outcome, duration_ms: 1, place, asked: 0, first_byte_ms: None })
}

fn reply(at: &str, raw: &str) -> String {
    ended(at, ModelOutcome::Replied(Box::new(reply_with("Yes.", Some(raw)))))
}

fn header() -> Header {
    Header::of("thread", "turn", None)
}

/// The conversation before the turn: a turn for each of these questions.
fn earlier(questions: &[&str]) -> History {
    let turn = |(row, question): (i64, &&str)| {
        let question = Message::User { content: (*question).into() };
        let answer = Message::Assistant { content: "Yes.".to_owned(), tool_calls: Vec::new(), raw: None };
        Past { id: PastId { row, turn_id: format!("turn-{row}") }, messages: vec![question, answer] }
    };
    History { turns: (7..).zip(questions).map(turn).collect(), before_gap: 0 }
}

fn lines(history: &History) -> String {
    history_lines(history).unwrap()
}

/// The contents of the results by their keys.
fn results(record: &Record) -> BTreeMap<String, String> {
    let found = record.entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ToolEnded(end) => Some((entry.at.clone(), end.content.clone())),
        _ => None,
    });
    found.collect()
}

#[test]
fn a_record_has_all_lines_as_they_were_written() {
    let history = History { before_gap: 1, ..earlier(&["Hi", "Who am I?"]) };
    let journal = result("0.0", "42") + "{\"end\":{\"content\":\"Yes.\"}}\n";
    let header = Header { before_gap: history.before_gap, ..header() };
    let text = record_within(10_000, header, &lines(&history), &journal);
    assert_eq!(text.lines().count(), 1 + 2 + 2);
    assert!(text.ends_with(&journal));
    let record = Record::read(&text).unwrap();
    assert_eq!((record.header.turn_id.as_str(), record.header.thread_id.as_str()), ("turn", "thread"));
    assert_eq!(record.header.record, FORMAT);
    assert!(record.header.is_whole());
    assert_eq!(record.history, history, "turns, their names, and the gap between them");
    assert_eq!(record.entries.len(), 1);
    assert_eq!(record.end.unwrap().content, "Yes.");
}

#[test]
fn a_record_is_read_leniently() {
    let text = "{\"record\":1,\"of_tomorrow\":[1]}\n\n{\"history\":[]}\n{\"dream\":true}\n{\"at\":\"7\",\"fact\":{\"dreamt\":{}}}\n";
    let record = Record::read(text).unwrap();
    assert_eq!((record.header.record, record.header.turn_id.as_str()), (1, ""));
    assert!(matches!(record.entries[0].fact, Fact::Unknown(_)), "the replay refuses it");
    assert_eq!(record.history.turns, [Past { id: PastId::default(), messages: Vec::new() }]);
    assert_eq!(record.end, None);
    for (wrong, told) in [
        ("", "empty"),
        ("{}", "line 1"),
        ("{\"record\":1}\nhalf of", "line 2 is not JSON"),
        (&format!("{{\"record\":{}}}", FORMAT + 1), "format 2"),
    ] {
        let error = Record::read(wrong).unwrap_err();
        assert!(error.contains(told), "{wrong:?}: {error}");
    }
}

#[test]
fn a_record_at_the_limit_stays_whole_and_a_longer_one_has_shortened_results() {
    let history = lines(&earlier(&["Hi"]));
    let journal = result("0.0", &"ü".repeat(20_000)) + &result("0.1", "short") + &reply("0", "raw");
    let whole = record_within(usize::MAX, header(), &history, &journal);
    assert_eq!(record_within(whole.len(), header(), &history, &journal), whole);

    let shorter = record_within(whole.len() - 1, header(), &history, &journal);
    let record = Record::read(&shorter).unwrap();
    assert_eq!(record.header.shortened, ["0.0"]);
    assert!(!record.header.is_whole() && !record.header.without_raw && !record.header.cut);
    let results = results(&record);
    assert_eq!(results["0.0"], format!("{}\n[shortened: 40000 bytes in all]", "ü".repeat(8_000)));
    assert_eq!(results["0.1"], "short");
    assert_eq!(record.history.turns.len(), 1);
}

#[test]
fn what_is_still_too_long_loses_more_and_says_so() {
    let history = lines(&earlier(&["h".repeat(3_000).as_str()]));
    let journal: String = (0..10).map(|n| result(&format!("0.{n}"), &"x".repeat(20_000))).collect();
    let journal = journal + &reply("0", &"r".repeat(3_000));
    let read = |bytes| {
        let text = record_within(bytes, header(), &history, &journal);
        assert!(text.len() <= bytes, "{} of {bytes}", text.len());
        Record::read(&text).unwrap()
    };
    let longest = |record: &Record| results(record).values().map(String::len).max().unwrap_or(0);
    for (bytes, chars) in [(90_000, 8_000), (20_000, 1_000), (10_000, 100)] {
        let record = read(bytes);
        let header = &record.header;
        assert_eq!((header.shortened.len(), header.without_raw, header.cut), (10, false, false), "{bytes}");
        assert!((chars..chars + 50).contains(&longest(&record)), "{bytes}: {}", longest(&record));
    }
    let without_raw = read(7_000);
    assert!(without_raw.header.without_raw && !without_raw.header.without_history);
    let without_history = read(3_900);
    assert!(without_history.header.without_history && !without_history.header.cut);
    assert_eq!((without_history.entries.len(), without_history.history.turns.len()), (11, 0));
    let cut = read(1_000);
    assert!(cut.header.cut && !cut.entries.is_empty() && cut.entries.len() < 11);
    // Not even the header fits.
    assert_eq!(record_within(10, header(), &history, &journal), "");
}

#[test]
fn the_newest_turn_comes_first_in_the_order_of_the_keys() {
    let id = "0190a0a0-0000-7000-8000-000000000001";
    let (older, newer) = (key::name(3, id, false), key::name(1 << 40, id, false));
    assert!(newer < older);
    assert_eq!(key::turn_id(&older), Some(id));
    let withheld = key::name(3, id, true);
    assert_eq!(key::turn_id(&withheld), Some(id));
    assert!(key::is_withheld(&withheld) && !key::is_withheld(&older));
    assert!([&older, &newer, &withheld].into_iter().all(|name| key::is_name(name)));
    for wrong in [
        "",
        "x",
        "../../else",
        older.trim_start_matches('f'),
        &older.replace(".jsonl", ".jsonx"),
        &older.replace("f", "/"),
    ] {
        assert!(!key::is_name(wrong), "{wrong}");
    }
}

// Issue 45, 15: only the operator reads a record with a text that hooks have not let pass.
#[test]
fn a_record_with_an_unjudged_text_is_withheld() {
    let drafted = |at: &str, reply: ModelReply| ended(at, ModelOutcome::Drafted(Box::new(reply)));
    let draft = |at: &str| drafted(at, reply_with("You fool.", None));
    let call = ToolCall { call_id: "c".to_owned(), name: "echo".to_owned(), arguments: "{}".to_owned() };
    let passed = |at: &str| line(at, Fact::AnswerPassed);
    let verdict = |at: &str, point, decision| {
        line(
            at,
            Fact::HookSaid(Box::new(HookSaid { point, decision: Some(decision), ..HookSaid::default() })),
        )
    };
    let (block, allow) = (HookDecision::Block, HookDecision::Allow);
    let unknown = r#"{"at":"1","fact":{"dreamt":{"outcome":{"drafted":{}}}}}"#.to_owned();
    for (journal, is_kept_back) in [
        (reply("0", "raw"), false),
        (result("0.0", r#""outcome":{"drafted":"#), false),
        (draft("0") + &passed("0"), false),
        (draft("0") + &draft("1") + &passed("1"), false),
        (draft("0") + &draft("0.0-0") + &passed("0.0-0"), true),
        (draft("0"), true),
        (draft("0") + &verdict("0h0", HookPoint::Answer, block) + &draft("1") + &passed("1"), true),
        (draft("0") + &verdict("0.0h0", HookPoint::Action, block) + &passed("0"), false),
        (draft("0") + &verdict("0h0", HookPoint::Answer, allow) + &passed("0"), false),
        (drafted("0", ModelReply { tool_calls: vec![call.clone()], ..reply_with("", None) }), false),
        (drafted("0", ModelReply { tool_calls: vec![call], ..reply_with("You fool.", None) }), true),
        (drafted("0", reply_with("", Some("a thought"))) + &passed("0"), true),
        (unknown, true),
    ] {
        assert_eq!(is_withheld(&journal), is_kept_back, "{journal}");
    }
}

#[test]
fn the_oldest_journals_go_when_all_of_them_have_no_room() {
    const MOST: u64 = MAX_WAITING_BYTES;
    assert_eq!(MOST, 25_165_824);
    for (waiting, dropped) in [
        (&[][..], 0),
        (&[MOST], 0),
        (&[MOST + 1], 1),
        (&[1, MOST], 1),
        (&[1, 1, MOST - 1], 1),
        (&[1, 1, MOST - 2], 0),
        (&[MOST, MOST, 1], 2),
        (&[1, MOST, MOST], 2),
    ] {
        assert_eq!(too_many(waiting), dropped, "{waiting:?}");
    }
}

#[test]
fn the_operator_chooses_how_many_records_a_thread_keeps() {
    let read = |text: &'static str| kept(move |_| Some(text.to_owned()));
    assert_eq!((kept(|_| None), read(" ")), (Ok(50), Ok(50)));
    assert_eq!((read("0"), read("500")), (Ok(0), Ok(500)));
    for wrong in ["501", "-1", "all"] {
        assert!(read(wrong).unwrap_err().contains("RECORD_TURNS"), "{wrong}");
    }
}
