//! AgentMemory through the loop.

use serde_json::json;

use super::support::*;

fn reads(key: &str) -> (&'static str, serde_json::Value) {
    ("memory_read", json!({ "key": key }))
}

fn writes(key: &str, value: &str) -> (&'static str, serde_json::Value) {
    ("memory_write", json!({ "key": key, "value": value }))
}

// N-063 N-152 N-153 N-154
#[test]
fn siblings_are_blind_and_later_rounds_see() {
    let wrote = vec![Reply::Calls(vec![writes("k", "from a")]), Reply::Text("a is done")];
    // b looks five times while a writes beside it.
    let mut looks = vec![Reply::Calls(vec![reads("k")]); 5];
    looks.push(Reply::Text("b is done"));
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![subtask("a"), subtask("b"), reads("k")]),
                Reply::Calls(vec![subtask("c"), reads("k")]),
                Reply::Text("Done."),
            ],
        ),
        ("a", wrote),
        ("b", looks),
        ("c", vec![Reply::Calls(vec![reads("k")]), Reply::Text("c is done")]),
    ]))
    .run();
    let reads: Vec<String> =
        case.lines().into_iter().filter(|line| line.contains("memory_read End")).collect();
    assert_eq!(reads.len(), 8);
    for line in &reads {
        let later = line.starts_with("tool 1.");
        assert_eq!(line.contains("from a"), later, "{line}");
    }
}

// N-063
#[test]
fn the_later_call_of_a_round_wins_whoever_was_faster() {
    let slow = vec![
        Reply::Calls(vec![("echo", json!({}))]),
        Reply::Calls(vec![writes("k", "first in order")]),
        Reply::Text("slow"),
    ];
    let fast = vec![Reply::Calls(vec![writes("k", "second in order")]), Reply::Text("fast")];
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![subtask("slow"), subtask("fast")]),
                Reply::Calls(vec![reads("k")]),
                Reply::Text("Done."),
            ],
        ),
        ("slow", slow),
        ("fast", fast),
    ]))
    .run();
    assert!(case.lines().contains(&"tool 1.0 memory_read End \"second in order\"".to_owned()));
}
