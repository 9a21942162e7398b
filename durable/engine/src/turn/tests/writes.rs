//! How many writes a turn takes: the commits of one poll are one.

use serde_json::json;

use crate::testing::*;

fn writes(levels: &[(&str, Vec<Reply>)]) -> usize {
    let case = Case::new(script(levels));
    case.run().disk.commits.get()
}

#[test]
fn a_round_is_one_write_or_two() {
    let after = |calls: Vec<(&'static str, serde_json::Value)>| {
        writes(&[("go", vec![Reply::Calls(calls), Reply::Text("Done.")])])
    };
    let direct = writes(&[("go", vec![Reply::Text("Done.")])]);
    assert_eq!(direct, 2, "the start with the model call, its outcome with the end");
    let own = vec![("memory_list", json!({})); 3];
    assert_eq!(after(own), direct + 1, "calls that are done at once, with the next model call");
    assert_eq!(after(vec![("echo", json!({})); 8]), direct + 2, "the starts of the calls, and their ends");
    assert_eq!(after(vec![("write", json!({}))]), direct + 2);
}

#[test]
fn subtasks_that_start_together_share_their_writes() {
    let both = vec![subtask("a"), subtask("a")];
    let many = vec![subtask("a"); 8];
    let with = |calls| {
        let levels =
            [("go", vec![Reply::Calls(calls), Reply::Text("Done.")]), ("a", vec![Reply::Text("ok")])];
        writes(&levels)
    };
    assert_eq!(with(many), with(both));
}
