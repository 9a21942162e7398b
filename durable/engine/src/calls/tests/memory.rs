//! AgentMemory through the loop.

use serde_json::json;

use crate::testing::*;

fn reads(key: &str) -> (&'static str, serde_json::Value) {
    ("memory_read", json!({ "key": key }))
}

fn writes(key: &str, value: &str) -> (&'static str, serde_json::Value) {
    ("memory_write", json!({ "key": key, "value": value }))
}

// N-063 N-152 N-153 N-154
#[test]
fn siblings_do_not_see_each_others_writes_and_later_rounds_do() {
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

// N-058: a write that memory has no room for returns an error; it is never dropped in silence.
#[test]
fn a_write_to_a_full_memory_is_refused() {
    // One value of 49 000 bytes is 49 013 as JSON: twenty fit into 1 000 000.
    let value = "v".repeat(49_000);
    let write = |n: usize| ("memory_write", json!({ "key": format!("k{n:02}"), "value": value }));
    let child = vec![
        Reply::Calls((0..8).map(write).collect()),
        Reply::Calls((8..16).map(write).collect()),
        Reply::Calls((16..23).map(write).collect()),
        Reply::Text("stored"),
    ];
    let long = "r".repeat(40_000);
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![subtask("a")]),
                Reply::Calls(vec![subtask("b"), ("memory_list", json!({}))]),
                Reply::Calls(vec![("memory_list", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("a", child),
        ("b", vec![Reply::Text(long.leak())]),
    ]))
    .run();
    let lines = case.lines();
    let told = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(told("memory_write End \"stored"), 20);
    assert_eq!(told("memory_write End error \"the memory is full: a turn may write 1000000 bytes in all"), 3);
    assert_eq!(told("[The memory of this turn is full: this result is not kept there]"), 1);
    let lists: Vec<&String> = lines.iter().filter(|line| line.contains("memory_list End")).collect();
    for list in lists {
        assert_eq!(list.matches("bytes)").count(), 21, "twenty values and the result of a: {list}");
    }
    let largest = case.disk.entries.borrow().iter().map(|e| serde_json::to_string(e).unwrap().len()).max();
    assert!(largest.unwrap() < 1_100_000, "a subtask's row fits into SQLite");
}

// N-063
#[test]
fn the_later_call_of_a_round_wins_at_any_speed() {
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
