//! The memory that the levels of one turn share, and which writes each level sees when.
//!
//! N-033 N-058 N-063 N-152 N-153 N-154 N-198

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Script, call, calls, json, text, tree};

fn read(key: &str) -> espalier_test_support::Step {
    call("memory_read", json!({ "key": key }))
}

fn write(key: &str, value: &str) -> espalier_test_support::Step {
    call("memory_write", json!({ "key": key, "value": value }))
}

// N-058 N-063 N-152 N-153 N-154: A has written and ended, and its sibling B does not see it yet. In the next round the
// parent and a new child see all of it, with A's result.
#[tokio::test]
async fn siblings_do_not_see_each_other_and_the_next_round_sees_both() {
    let case = Case::new().await;
    let gate = case.barrier("a-has-ended");
    let siblings = calls([case.subtask("A", "a"), case.subtask("B", "b")]);
    case.script("", [siblings.clone()]).await;
    case.script("a", [write("shared", "from A"), read("shared"), text("result of A")]).await;
    let blind = calls([("memory_read", json!({ "key": "shared" })), ("memory_list", json!({}))]);
    case.script("b", [blind.waiting(&gate, 0), text("result of B")]).await;

    let mut stream = case.client.chat(&case.says("Both, please")).await;
    let start = stream.until(|event| event.is("tool_call_update", &[("status", "start")])).await;
    let a = start.text("tool_call_id").to_owned();
    let ended = |event: &Event| event.is("tool_call_update", &[("status", "end"), ("tool_call_id", &a)]);
    stream.until(ended).await;
    // Only now the test knows the key of A's result, which only the model could know before: so it scripts the other
    // steps here.
    let task = format!("task:{a}");
    let look = calls([
        ("memory_read", json!({ "key": "shared" })),
        ("memory_read", json!({ "key": task })),
        case.subtask("C", "c"),
    ]);
    let script = Script { steps: vec![siblings, look, text("Done.")], repeat: false };
    case.llm.script(&case.marker(""), script).await;
    case.script(
        "c",
        [
            calls([("memory_read", json!({ "key": "shared" })), ("memory_read", json!({ "key": task }))]),
            text("seen"),
        ],
    )
    .await;
    case.llm.release(&gate).await;
    let events = case.turn(stream).await;

    // A sees its own write from its next round on.
    assert_eq!(case.requests("a").await.requests[2].results(), ["from A"]);
    let b = case.requests("b").await.requests[1].results();
    assert!(b.iter().all(|result| !result.contains("from A") && !result.contains(&task)), "{b:?}");
    let root = case.requests("").await.requests[2].results();
    assert_eq!(root, ["from A", "result of A", "seen"]);
    assert_eq!(case.requests("c").await.requests[1].results(), ["from A", "result of A"]);
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
}

// N-153: within one round a read does not see a write, whatever their order.
#[tokio::test]
async fn a_round_does_not_see_its_own_writes() {
    let case = Case::new().await;
    let round = calls([
        ("memory_write", json!({ "key": "k", "value": "first" })),
        ("memory_read", json!({ "key": "k" })),
        ("memory_write", json!({ "key": "k", "value": "second" })),
    ]);
    case.script("", [round, read("k"), text("ok")]).await;
    let events = case.chat("Write and read").await;
    let reads = tree::ends(&events, "memory_read");
    assert_eq!(reads[0].data["is_error"], true, "{:#}", reads[0].data);
    // Of two writes the one that the model emitted later wins, not the one that happened to end later.
    assert_eq!(reads[1].text("result"), "second");
}

// N-152: the root sees the note of a grandchild.
#[tokio::test]
async fn the_writes_of_a_grandchild_reach_the_root() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("Child", "a")]), read("deep"), text("ok")]).await;
    case.script("a", [calls([case.subtask("Grandchild", "a/b")]), text("child")]).await;
    case.script("a/b", [write("deep", "from below"), text("grandchild")]).await;
    case.chat("Dig").await;
    assert_eq!(case.requests("").await.requests[2].results(), ["from below"]);
}
