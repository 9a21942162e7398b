use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::protocol::{Event, Numbered};
use crate::tagged::Tagged;

const PROTOCOL: &str = include_str!("../../../../../../docs/wire-protocol.md");

/// The examples of events that stand in the protocol.
fn examples() -> impl Iterator<Item = Value> {
    let lines = PROTOCOL.lines().filter_map(|line| line.strip_prefix("  `{")?.strip_suffix("}`"));
    lines.map(|members| serde_json::from_str(&format!("{{{members}}}")).unwrap())
}

// Issue 47, 3. B-096: the protocol has each event, with an example. `tests/support` compares their members.
#[test]
fn the_protocol_has_an_example_of_each_event() {
    let heads = PROTOCOL.lines().filter_map(|line| line.strip_prefix("- `")?.split_once("`: "));
    let heads: BTreeSet<&str> = heads.map(|(name, _)| name).collect();
    let names: BTreeSet<&str> = Event::NAMES.iter().copied().collect();
    assert_eq!(heads, names);
    let shown: BTreeSet<String> =
        examples().filter_map(|it| it["type"].as_str().map(str::to_owned)).collect();
    assert_eq!(shown.iter().map(String::as_str).collect::<BTreeSet<_>>(), names);
}

// N-111 N-113 N-114 N-115 N-116 N-118
#[test]
fn an_event_is_read_as_it_was_written() {
    for event in examples() {
        let read: Event =
            serde_json::from_str(&event.to_string()).unwrap_or_else(|error| panic!("{event}: {error}"));
        assert_eq!(event["type"], read.kind());
        assert_eq!(serde_json::to_value(&read).unwrap(), event);
        let mut numbered = event.clone();
        numbered["seq"] = json!(7);
        numbered["turn_id"] = json!("t");
        let read: Numbered = serde_json::from_str(&numbered.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), numbered);
    }
}
