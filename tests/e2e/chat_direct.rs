//! A root turn without subtasks: answers, tool calls, history, tokens.
//!
//! N-001 N-008 N-012 N-017 N-029 N-030 N-033 N-035 N-036 N-040 N-041 N-043 N-044 N-045 N-050 N-051 N-052 N-122 N-150
//! N-155 N-174 N-188 N-189 N-190 N-191 N-201 N-219 N-221

use espalier_test_support::case::first;
use espalier_test_support::{Case, call, calls, canary, cost_line, deltas, json, stored, story, text, tree};

/// The toolbelt of the thread context.
const TOOLS: [&str; 13] = [
    "calculate",
    "current_time",
    "delete_file",
    "edit_file",
    "fetch_page",
    "list_files",
    "memory_list",
    "memory_read",
    "memory_write",
    "read_file",
    "run_subtask",
    "web_search",
    "write_file",
];

// N-001 N-008 N-021 N-035 N-041 N-188 N-201 N-221
#[tokio::test]
async fn a_trivial_question_is_one_model_call_and_one_text() {
    let case = Case::new().await;
    case.script("", [text("4")]).await;
    let events = case.chat("What is 2+2?").await;
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            r#"part:1 "4""#,
            "model:1 end stop in=10 cached=0 out=5",
            &cost_line(1, 0, 0),
            "done message:2 stop",
        ]
    );
    let requests = case.all_requests().await.requests;
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].roles(), ["system", "user"]);
    assert_eq!(requests[0].contents()[1], case.said("What is 2+2?", ""));
    assert_eq!(requests[0].headers["authorization"], format!("Bearer {}", canary::LLM_API_KEY));
    assert_eq!(requests[0].body["model"], "fake-1");
    assert_eq!(case.stored(&events).await["content"], "4");
}

// N-030 N-155: the offered tools are the context's, and the prompt has the rule about siblings.
#[tokio::test]
async fn the_model_gets_the_toolbelt_and_the_rules() {
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    case.chat("Hello").await;
    let requests = case.all_requests().await.requests;
    let mut tools = requests[0].tools();
    tools.sort_unstable();
    assert_eq!(tools, TOOLS);
    assert!(requests[0].contents()[0].contains("cannot read each other"), "{}", requests[0].contents()[0]);
}

// N-040
#[tokio::test]
async fn each_delta_is_a_chunk_and_reasoning_is_a_part_of_its_own() {
    let case = Case::new().await;
    case.script("", [deltas(["Grüß ", "dich", " 👋🏽"]).thinking("A greeting.").using(100, 40, 9)]).await;
    let events = case.chat("Hallo").await;
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            r#"part:1 reasoning "A greeting.""#,
            r#"part:2 "Grüß ""#,
            r#"part:2 "dich""#,
            r#"part:2 " 👋🏽""#,
            "model:1 end stop in=100 cached=40 out=9",
            "cost_summary llm=1 tools=0 subtasks=0 in=100 cached=40 out=9 usd=null; \
             fake-1: llm=1 in=100 cached=40 out=9 usd=null",
            "done message:2 stop",
        ]
    );
    // Reasoning is not part of the answer.
    assert_eq!(case.stored(&events).await["content"], "Grüß dich 👋🏽");
}

// N-174 N-189
#[tokio::test]
async fn one_tool_call_runs_and_its_result_leads_to_the_answer() {
    let case = Case::new().await;
    let step = call("calculate", json!({ "expression": "6*7" })).saying("Let me see.").using(20, 0, 7);
    case.script("", [step, text("It is 42.")]).await;
    let events = case.chat("What is 6 times 7?").await;
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            r#"part:1 "Let me see.""#,
            "model:1 end tool_calls in=20 cached=0 out=7",
            "agent_state thread thinking executing_tool:calculate",
            r#"call:1 start calculate {"expression":"6*7"}"#,
            r#"call:1 end calculate "42""#,
            "agent_state thread thinking",
            "model:2 start fake-1",
            r#"part:2 "It is 42.""#,
            "model:2 end stop in=10 cached=0 out=5",
            "cost_summary llm=2 tools=1 subtasks=0 in=30 cached=0 out=12 usd=null; \
             fake-1: llm=2 in=30 cached=0 out=12 usd=null",
            "done message:2 stop",
        ]
    );
    let requests = case.all_requests().await.requests;
    assert_eq!(requests[1].roles(), ["system", "user", "assistant", "tool"]);
    assert_eq!(requests[1].contents()[2..], ["Let me see.", "42"]);
    let stored = case.stored(&events).await;
    assert!(stored["content"].as_str().unwrap_or_default().ends_with("It is 42."), "{stored:#}");
}

// N-044 N-045 N-050 N-051 N-052 N-190 N-191: eleven calls, four kinds of failure among them, each with one result.
#[tokio::test]
async fn every_call_of_a_round_has_its_result_in_the_models_order() {
    let case = Case::new().await;
    let sum = |n: u32| ("calculate", json!({ "expression": format!("{n}+{n}") }));
    let round = calls([
        sum(1),
        ("calculate", json!({ "expression": "1+" })),
        sum(3),
        ("calculate", json!({ "formula": "1" })),
        ("calculate", json!("{\"expression\":")),
        ("launch_rockets", json!({ "n": 1 })),
        sum(7),
        sum(8),
        sum(9),
        ("memory_read", json!({ "key": "nothing" })),
        sum(11),
    ]);
    case.script("", [round, text("Done.")]).await;
    let events = case.chat("Many things").await;

    let results = case.all_requests().await.requests[1].results();
    let expected = ["2", "", "6", "", "", "", "14", "16", "18", "", "22"];
    assert_eq!(results.len(), expected.len());
    for (index, (result, expected)) in results.iter().zip(expected).enumerate() {
        // A failure tells the model its reason in our words.
        assert!(!result.is_empty() && (expected.is_empty() || result == expected), "{index}: {result}");
    }
    // N-017
    assert!(results[5].contains("launch_rockets"), "{}", results[5]);
    let starts: Vec<_> = events.iter().filter(|event| event.text("status") == "start").collect();
    let failed: Vec<bool> = starts
        .iter()
        .filter(|event| event.kind == "tool_call_update")
        .map(|start| tree::result(&events, start.text("tool_call_id")).data["is_error"] == true)
        .collect();
    let f = false;
    assert_eq!(failed, [f, true, f, true, true, true, f, f, f, true, f]);
    // Arguments that are no object are shown in their original form.
    let raw = starts.iter().find(|start| !start.data["args"]["_raw"].is_null());
    assert_eq!(raw.expect("a raw call").data["args"], json!({ "_raw": "{\"expression\":" }));
}

// Some servers send no arguments at all for a tool without parameters; the history must not return nothing to them.
#[tokio::test]
async fn a_model_may_send_empty_arguments_for_a_tool_without_parameters() {
    let case = Case::new().await;
    case.script("", [call("memory_list", json!("")), text("Empty.")]).await;
    let events = case.chat("What do you know?").await;
    assert!(story(&events).iter().any(|line| line == "call:1 start memory_list {}"), "{:#?}", story(&events));
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
}

// N-029 N-033 N-150: the second turn knows the conversation, and its memory is empty.
#[tokio::test]
async fn the_next_turn_knows_the_conversation_but_not_the_memory() {
    let case = Case::new().await;
    case.script("", [call("memory_write", json!({ "key": "note", "value": "secret" })), text("Noted.")])
        .await;
    let turn = case.chat("Remember this").await;
    let thread = first(&turn, "session").text("thread_id").to_owned();

    let rounds =
        [call("memory_list", json!({})), call("memory_read", json!({ "key": "note" })), text("Forgotten.")];
    case.script("next", rounds).await;
    let next =
        case.chat_with(&json!({ "thread_id": thread, "content": case.said("And now?", "next") })).await;
    assert_eq!(first(&next, "session").text("thread_id"), thread);

    let requests = case.requests("next").await.requests;
    assert_eq!(requests.len(), 3);
    let said = requests[0].contents();
    assert_eq!(said[1], case.said("Remember this", ""));
    assert_eq!(said[said.len() - 2..], ["Noted.".to_owned(), case.said("And now?", "next")]);
    assert!(!requests[1].results()[0].contains("note"), "{:?}", requests[1].results());
    assert!(!requests[2].results()[0].contains("secret"), "{:?}", requests[2].results());

    let messages = case.client.messages(&thread).await;
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap_or_default()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    // N-122: the members of assistant messages only.
    for member in ["finish_reason", "usage", "execution_tree", "stop"] {
        assert!(messages[0][member].is_null(), "{:#}", messages[0]);
    }
}

#[tokio::test]
async fn a_message_may_come_in_parts() {
    let case = Case::new().await;
    case.script("", [text("Both.")]).await;
    let parts =
        json!([{ "type": "text", "text": "One." }, { "type": "text", "text": case.said("Two.", "") }]);
    let events = case.chat_with(&json!({ "content": parts })).await;
    let said = &case.all_requests().await.requests[0].contents()[1];
    assert!(said.contains("One.") && said.contains("Two."), "{said}");
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
}

#[tokio::test]
async fn an_answer_that_was_cut_short_says_why() {
    for reason in ["length", "content_filter"] {
        let case = Case::new().await;
        case.script("", [text("It is").finishing(reason)]).await;
        let events = case.chat("Tell me").await;
        assert_eq!(first(&events, "done").text("finish_reason"), reason);
        assert_eq!(first(&events, "model_call_update").text("model"), "fake-1");
        assert_eq!(case.stored(&events).await["content"], "It is");
    }
}

// N-036 N-122: the row in D1, past the service.
#[tokio::test]
async fn the_turn_is_in_the_database_when_it_has_ended() {
    let case = Case::new().await;
    case.script("", [call("calculate", json!({ "expression": "1+1" })), text("2")]).await;
    let events = case.chat("1+1?").await;
    let id = first(&events, "done").text("message_id").to_owned();
    let row = stored::eventually("the assistant message is in D1", || async {
        stored::d1("SELECT * FROM messages WHERE id = ?", &[&id]).await.pop()
    });
    let row = row.await;
    let tree =
        serde_json::from_str(row["execution_tree"].as_str().unwrap_or_default()).expect("a tree as JSON");
    tree::assert_matches(&events, &tree);
}
