//! Subtasks: nesting, isolation, fan-out, the depth limit, and their part of the stored turn.
//!
//! N-001 N-011 N-013 N-037 N-042 N-045 N-048 N-049 N-050 N-052 N-054 N-055 N-056 N-057 N-059 N-064 N-065 N-066 N-067
//! N-074 N-112 N-113 N-114 N-120 N-125 N-126 N-127 N-138 N-140 N-150 N-151 N-191 N-192 N-193 N-198 N-202 N-222 N-223

use espalier_test_support::case::first;
use espalier_test_support::{
    Case, Event, Outcome, call, calls, cost_line, json, level, parts, status, stored, story, text, tree,
};

/// The ids of the subtasks that a turn started, in their order.
fn subtasks(events: &[Event]) -> Vec<&str> {
    tree::starts(events, "run_subtask").iter().map(|start| start.text("tool_call_id")).collect()
}

// N-001 N-042 N-054 N-055 N-057 N-065 N-074 N-192: all events of one subtask.
#[tokio::test]
async fn a_subtask_runs_inside_its_parents_call() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("Add up", "a")]), text("The sum is 4.")]).await;
    let work = call("calculate", json!({ "expression": "2+2" })).saying("Adding.");
    case.script("a", [work, text("4")]).await;
    let events = case.chat("Please add up").await;
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            "model:1 end tool_calls in=10 cached=0 out=5",
            "agent_state thread thinking executing_tool:run_subtask",
            r#"call:1 start run_subtask {"instructions":"Add up [[fake:M/a]]","title":"Add up"}"#,
            "1/call:1 model:2 start fake-1",
            r#"1/call:1 part:1 "Adding.""#,
            "1/call:1 model:2 end tool_calls in=10 cached=0 out=5",
            r#"1/call:1 call:2 start calculate {"expression":"2+2"}"#,
            r#"1/call:1 call:2 end calculate "4""#,
            "1/call:1 model:3 start fake-1",
            r#"1/call:1 part:2 "4""#,
            "1/call:1 model:3 end stop in=10 cached=0 out=5",
            r#"call:1 end run_subtask "4""#,
            "agent_state thread thinking",
            "model:4 start fake-1",
            r#"part:3 "The sum is 4.""#,
            "model:4 end stop in=10 cached=0 out=5",
            &cost_line(4, 2, 1),
            "done message:2 stop",
        ]
    );
    // The child knows its instructions alone; only its last text came back.
    let child = &case.requests("a").await.requests[0];
    assert_eq!(child.roles(), ["system", "user"]);
    assert_eq!(child.contents()[1], case.said("Add up", "a"));
    assert!(!child.body.to_string().contains("Please add up"));
    assert_eq!(case.requests("").await.requests[1].results(), ["4"]);
    // N-150: a subtask's text is no message of the thread.
    assert_eq!(case.client.messages(first(&events, "session").text("thread_id")).await.len(), 2);
}

// N-013 N-052 N-202 N-222: both are under way at once, the second one ends first, the results keep their order.
#[tokio::test]
async fn parallel_subtasks_overlap_and_report_in_the_models_order() {
    let case = Case::new().await;
    let (both, last) = (case.barrier("both"), case.barrier("last"));
    case.script("", [calls([case.subtask("First", "a"), case.subtask("Second", "b")]), text("Both done.")])
        .await;
    case.script("a", [text("one").meeting(&both, 2).waiting(&last, 0)]).await;
    case.script("b", [text("two").meeting(&both, 2)]).await;

    let mut stream = case.client.chat(&case.says("Do both")).await;
    // The second subtask has ended, and the first has not: only now may the first one answer.
    let ended = |event: &Event| event.is("tool_call_update", &[("status", "end"), ("name", "run_subtask")]);
    assert_eq!(stream.until(ended).await.text("result"), "two");
    case.llm.release(&last).await;
    let events = case.turn(stream).await;

    let child = |said: &str| {
        [
            "model:1 start fake-1".to_owned(),
            format!("part:1 {said:?}"),
            "model:1 end stop in=10 cached=0 out=5".to_owned(),
        ]
    };
    let ids = subtasks(&events);
    assert_eq!(level(&events, Some(ids[0])), child("one"));
    assert_eq!(level(&events, Some(ids[1])), child("two"));
    assert_eq!(
        level(&events, None),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            "model:1 end tool_calls in=10 cached=0 out=5",
            "agent_state thread thinking executing_tool:run_subtask",
            r#"call:1 start run_subtask {"instructions":"First [[fake:M/a]]","title":"First"}"#,
            r#"call:2 start run_subtask {"instructions":"Second [[fake:M/b]]","title":"Second"}"#,
            r#"call:2 end run_subtask "two""#,
            r#"call:1 end run_subtask "one""#,
            "agent_state thread thinking",
            "model:2 start fake-1",
            r#"part:1 "Both done.""#,
            "model:2 end stop in=10 cached=0 out=5",
            &cost_line(4, 2, 2),
            "done message:2 stop",
        ]
    );
    assert_eq!(case.requests("").await.requests[1].results(), ["one", "two"]);
}

// N-011 N-059 N-112 N-113 N-120 N-138 N-193 N-223: depths 0 to 3 run, the spawn from depth 3 is refused.
#[tokio::test]
async fn subtasks_nest_three_deep_and_no_deeper() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("One", "a")]), text("root")]).await;
    case.script("a", [calls([case.subtask("Two", "a/b")]), text("one")]).await;
    case.script("a/b", [calls([case.subtask("Three", "a/b/c")]), text("two")]).await;
    case.script("a/b/c", [calls([case.subtask("Four", "a/b/c/d")]), text("three")]).await;
    case.script("a/b/c/d", [text("four")]).await;
    let events = case.chat("Go down").await;

    let deep: Vec<String> = story(&events).into_iter().filter(|line| line.contains("run_subtask")).collect();
    assert_eq!(
        deep,
        [
            "agent_state thread thinking executing_tool:run_subtask",
            r#"call:1 start run_subtask {"instructions":"One [[fake:M/a]]","title":"One"}"#,
            r#"1/call:1 call:2 start run_subtask {"instructions":"Two [[fake:M/a/b]]","title":"Two"}"#,
            r#"2/call:2 call:3 start run_subtask {"instructions":"Three [[fake:M/a/b/c]]","title":"Three"}"#,
            r#"3/call:3 call:4 start run_subtask {"instructions":"Four [[fake:M/a/b/c/d]]","title":"Four"}"#,
            "3/call:3 call:4 end run_subtask failed",
            r#"2/call:2 call:3 end run_subtask "three""#,
            r#"1/call:1 call:2 end run_subtask "two""#,
            r#"call:1 end run_subtask "one""#,
        ]
    );
    let refused = tree::ends(&events, "run_subtask")[0];
    assert!(refused.text("result").contains("depth"), "{}", refused.text("result"));
    assert!(case.requests("a/b/c/d").await.requests.is_empty());
    // This limit is no budget. A tool that would only be refused is not offered.
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    assert!(case.requests("a/b").await.requests[0].tools().contains(&"run_subtask"));
    assert!(!case.requests("a/b/c").await.requests[0].tools().contains(&"run_subtask"));
}

// N-048 N-049 N-050 N-140: of twelve, eight at once, then the other four one at a time.
#[tokio::test]
async fn eight_subtasks_run_at_once_and_the_surplus_one_by_one() {
    let case = Case::new().await;
    let names: Vec<String> = (1..=12).map(|number| format!("child-{number}")).collect();
    let gate = case.barrier("gate");
    case.script("", [calls(names.iter().map(|name| case.subtask(name, name))), text("All done.")]).await;
    for (index, name) in names.iter().enumerate() {
        let reply = text(name);
        // Eight subtasks that wait for each other end only if all eight run at once.
        case.script(name, [if index < 8 { reply.meeting(&gate, 8) } else { reply }]).await;
    }
    let events = case.chat("Do twelve things").await;

    let children = case.llm.requests(&case.marker("child-")).await;
    assert_eq!(children.requests.len(), 12);
    assert_eq!(children.peak, 8);
    let (first, surplus) = children.requests.split_at(8);
    let mut free = first.iter().filter_map(|record| record.ended).max().expect("eight have ended");
    for (record, name) in surplus.iter().zip(&names[8..]) {
        assert_eq!(record.marker, case.marker(name));
        assert!(record.arrived > free, "{name} began before the one before it had ended");
        free = record.ended.expect("it has ended");
    }
    assert_eq!(case.requests("").await.requests[1].results(), names);
    assert_eq!(story(&events)[story(&events).len() - 2], cost_line(14, 12, 12));
}

// N-045 N-191: a subtask whose provider fails is a failed call, not a failed turn.
#[tokio::test]
async fn a_subtask_that_fails_leaves_its_sibling_and_its_parent_alone() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("Bad", "a"), case.subtask("Good", "b")]), text("Half done.")]).await;
    case.script("a", [status(400)]).await;
    case.script("b", [text("good")]).await;
    let events = case.chat("Try both").await;
    let ids = subtasks(&events);
    assert_eq!(tree::result(&events, ids[0]).data["is_error"], true);
    assert!(tree::result(&events, ids[0]).text("result").contains("provider_bad_request"));
    assert_eq!(tree::result(&events, ids[1]).text("result"), "good");
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
}

// N-056 N-066 N-067 N-198: `tools` narrows the child's tools, and adds none.
#[tokio::test]
async fn a_subtask_has_a_subset_of_its_parents_tools() {
    let case = Case::new().await;
    let narrow = |path: &str, tools: &[&str]| {
        let (name, mut arguments) = case.subtask("Narrow", path);
        arguments["tools"] = json!(tools);
        (name, arguments)
    };
    case.script("", [calls([narrow("a", &["memory_read", "run_subtask", "write_secret"])]), text("ok")])
        .await;
    let round =
        calls([("calculate", json!({ "expression": "1+1" })), narrow("a/b", &["calculate", "memory_read"])]);
    case.script("a", [round, text("tried")]).await;
    case.script("a/b", [text("narrower")]).await;
    let events = case.chat("Be careful").await;

    let child = case.requests("a").await.requests;
    let mut tools = child[0].tools();
    tools.sort_unstable();
    assert_eq!(tools, ["memory_read", "run_subtask"]);
    assert!(child[1].results()[0].contains("calculate"), "{:?}", child[1].results());
    // The grandchild cannot get a tool that its parent lacks.
    assert_eq!(case.requests("a/b").await.requests[0].tools(), ["memory_read"]);
    let calculated = tree::ends(&events, "calculate");
    assert_eq!(calculated[0].data["is_error"], true);
    // The model learns of an unknown tool that it named.
    let report = case.requests("").await.requests[1].results();
    assert!(report[0].starts_with("tried") && report[0].contains("write_secret"), "{report:?}");
}

// N-151: no part of the conversation reaches a subtask.
#[tokio::test]
async fn a_subtask_does_not_see_the_conversation() {
    let case = Case::new().await;
    case.script("", [text("Understood.")]).await;
    let turn = case.chat("The password is swordfish.").await;
    case.script("next", [calls([case.subtask("Look", "next/a")]), text("ok")]).await;
    case.script("next/a", [text("nothing")]).await;
    let thread = first(&turn, "session").text("thread_id");
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("And?", "next") })).await;
    assert!(case.requests("next").await.requests[0].body.to_string().contains("swordfish"));
    assert!(!case.requests("next/a").await.requests[0].body.to_string().contains("swordfish"));
}

// N-125 N-126 N-127: previews are short, with whole characters. The texts of a subtask are parts of the message.
#[tokio::test]
async fn the_tree_is_kept_without_the_texts_of_subtasks_and_these_as_parts() {
    let case = Case::new().await;
    let long = "ä€😀".repeat(1000);
    case.script("", [calls([case.subtask("Write", "a")]), text("Written.")]).await;
    let write = call("memory_write", json!({ "key": "long", "value": long })).saying("only on the way");
    case.script("a", [write, call("memory_read", json!({ "key": "long" })), text(&long)]).await;
    let events = case.chat("Write a lot").await;
    assert_eq!(tree::ends(&events, "run_subtask")[0].text("result"), long);

    let id = first(&events, "done").text("message_id").to_owned();
    let row = stored::eventually("the assistant message is in D1", || async {
        stored::d1("SELECT * FROM messages WHERE id = ?", &[&id]).await.pop()
    });
    let row = row.await;
    let column = |name: &str| json_of(&row[name]);
    assert!(!row["execution_tree"].to_string().contains("only on the way"), "{row:#}");
    tree::assert_matches(&events, &column("execution_tree"));
    let thread = first(&events, "session").text("thread_id");
    let messages = case.client.messages(thread).await;
    let answer = messages.last().expect("an answer");
    assert!(answer["parts"].to_string().contains("only on the way"), "{answer:#}");
    parts::assert_matches(&events, &answer["parts"], &row["content"]);
    // A deletion takes all of it.
    case.client.delete(thread).await;
    stored::eventually("the message is gone from D1", || async {
        stored::d1("SELECT id FROM messages WHERE id = ?", &[&id]).await.is_empty().then_some(())
    })
    .await;
    let outcome = case.llm.wait_for(&case.marker("a"), 3, Outcome::Finished).await;
    assert_eq!(outcome.requests.len(), 3);
}

fn json_of(column: &espalier_test_support::Value) -> espalier_test_support::Value {
    serde_json::from_str(column.as_str().unwrap_or_default()).unwrap_or_default()
}
