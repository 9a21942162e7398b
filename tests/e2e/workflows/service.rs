//! Sessions on which the turns of a thread work.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Event, Step, Value, call, calls, env, json, new_id, stored, text};

use super::{NOTES, step, workflow, workflow_with};

fn complete(notes: &str) -> Step {
    call("complete_step", json!({ "notesMarkdown": notes }))
}

fn done() -> Step {
    complete(NOTES)
}

/// The request that starts a session, or goes on with it.
fn asks(case: &Case, thread: &str, workflow: &str) -> Value {
    json!({
        "thread_id": thread, "content": case.said("Go", ""), "workflow_target": "workflow", "workflow_id": workflow,
    })
}

/// `status index/of step`, with the reason where there is one.
fn updates(events: &[Event]) -> Vec<String> {
    let updates = events.iter().filter(|event| event.kind == "workflow_update");
    let line = |event: &Event| {
        let reason = event.data["reason"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{} {}/{}{reason}", event.text("status"), event.data["index"], event.data["of"])
    };
    updates.map(line).collect()
}

async fn session(case: &Case, thread: &str) -> Value {
    case.client.thread(thread).await["workflow_session"].clone()
}

fn without_tokens(case: &[&str]) {
    for text in case {
        assert!(!text.contains("ct1."), "{text}");
    }
}

/// A case whose model does each of these steps in one call, and then says that it is done.
async fn obedient(steps: &[&str]) -> (Case, String, String) {
    let case = Case::new().await;
    for id in steps {
        case.script(id, [done(), text("All done.")]).await;
    }
    case.endless_script("", [text("All done.")]).await;
    let steps: Vec<Value> = steps.iter().map(|id| step(&case, id)).collect();
    let workflow = workflow(&case, &steps).await;
    (case, new_id(), workflow)
}

// N-019 W-004 W-008 W-012 W-016 W-017 W-018 W-020 W-070 W-080 W-081 W-083: three steps cost their rounds and one more model
// call; the next step's prompt follows the results; no token is in a request, an event, a message or a row.
#[tokio::test]
async fn a_session_of_three_steps_costs_its_rounds_and_one_call() {
    let (case, thread, workflow) = obedient(&["a", "b", "c"]).await;
    case.script("b", [call("calculate", json!({ "expression": "6*7" })), done()]).await;
    let body = json!({
        "thread_id": thread, "content": case.said("Go", ""), "workflow_target": "workflow", "workflow_id": workflow,
        "chat_context": { "kind": "editor" },
    });
    let events = case.chat_with(&body).await;
    let asked = case.all_requests().await.requests;
    assert_eq!(asked.len(), 4 + 1, "four rounds, and the last words");
    assert_eq!(first(&events, "done").data["usage"]["llm_calls"], 5);
    assert_eq!(first(&events, "agent_state").text("context_type"), "workflow");
    let told = updates(&events);
    assert!(told.last().is_some_and(|last| last == "complete 3/3"), "{told:?}");
    let tools = asked[0].tools();
    assert!(tools.contains(&"complete_step") && !tools.contains(&"continue_workflow"), "{tools:?}");
    let last = asked[2].messages().last().cloned().unwrap_or_default();
    assert_eq!((last["role"].as_str(), asked[2].step), (Some("tool"), 1), "{last}");
    let begins = asked[1].messages().last().cloned().unwrap_or_default();
    assert_eq!(begins["role"], "user");
    assert!(begins["content"].as_str().is_some_and(|text| text.contains("Do b.")), "{begins}");

    let detail = session(&case, &thread).await;
    assert_eq!(
        (&detail["status"], &detail["step"], &detail["mode"]),
        (&json!("complete"), &json!(3), &json!("service"))
    );
    assert_eq!(detail["notes"].as_array().map(Vec::len), Some(3));
    let shown: Vec<String> = events.iter().map(|event| event.data.to_string()).collect();
    let requests: Vec<String> = asked.iter().map(|record| record.body.to_string()).collect();
    let rows = stored::rows(&events, "tool_usage", "*").await;
    let texts: Vec<&str> = shown.iter().chain(&requests).map(String::as_str).collect();
    without_tokens(&texts);
    without_tokens(&[&json!(rows).to_string(), &detail.to_string()]);
    without_tokens(&[&json!(case.client.messages(&thread).await).to_string()]);
}

// W-009: the calls of a batch after `complete_step` see the next step.
#[tokio::test]
async fn a_batch_is_carried_out_in_its_order() {
    let (case, thread, workflow) = obedient(&["a", "b"]).await;
    let notes = json!({ "notesMarkdown": NOTES });
    case.script("a", [calls([("complete_step", notes), ("calculate", json!({ "expression": "1+1" }))])])
        .await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    let order: Vec<String> = events
        .iter()
        .filter(|event| event.kind == "tool_call_update")
        .map(|event| format!("{} {}", event.text("name"), event.text("status")))
        .collect();
    assert_eq!(
        order[..4],
        ["complete_step start", "complete_step end", "calculate start", "calculate end"].map(str::to_owned)
    );
    assert_eq!(session(&case, &thread).await["status"], "complete");
}

// W-068 W-074 W-077: notes that are too short do not end the step, and the model learns why.
#[tokio::test]
async fn short_notes_end_no_step() {
    let (case, thread, workflow) = obedient(&["a"]).await;
    case.script("a", [complete(&"x".repeat(49)), done(), text("All done.")]).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    let ends = events
        .iter()
        .filter(|event| event.is("tool_call_update", &[("name", "complete_step"), ("status", "end")]));
    let errors: Vec<bool> = ends.map(|event| event.data["is_error"] == true).collect();
    assert_eq!(errors, [true, false]);
    assert_eq!(session(&case, &thread).await["status"], "complete");
}

// W-021: text without an advance is never success: one reminder, then the session is stuck, and the next message goes on.
#[tokio::test]
async fn a_step_without_an_advance_is_stuck_and_goes_on_later() {
    let (case, thread, workflow) = obedient(&["a", "b"]).await;
    case.script("a", [text("Done, I think."), text("Really."), done()]).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    let told = updates(&events);
    assert!(told.iter().any(|line| line == "stuck 0/2 no_advance"), "{told:?}");
    let detail = session(&case, &thread).await;
    assert_eq!((&detail["status"], &detail["reason"]), (&json!("stuck"), &json!("no_advance")));

    // A plain message goes on with it.
    case.script("a", [done()]).await;
    let events = case.chat_with(&json!({ "thread_id": thread, "content": case.said("Go on", "") })).await;
    assert!(updates(&events).last().is_some_and(|last| last == "complete 2/2"), "{:?}", updates(&events));
    assert_eq!(session(&case, &thread).await["status"], "complete");
}

// A turn that a limit ends in step 2 leaves the session there; the next message goes on.
#[tokio::test]
async fn a_session_outlives_a_turn_that_ran_out_of_budget() {
    let (case, thread, workflow) = obedient(&["a", "b"]).await;
    // A turn makes 200 calls: one in step 1, and 199 in step 2.
    let round = || calls((0..25).map(|_| ("current_time", json!({}))));
    case.script("b", (0..8).map(|_| round())).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "budget");
    assert!(updates(&events).last().is_some_and(|last| last == "waiting 1/2"), "{:?}", updates(&events));
    let detail = session(&case, &thread).await;
    assert_eq!((&detail["status"], &detail["step"]), (&json!("waiting"), &json!(1)));
    case.script("b", [done(), text("All done.")]).await;
    let body = asks(&case, &thread, &workflow);
    let events = case.chat_with(&body).await;
    assert!(updates(&events).last().is_some_and(|last| last == "complete 2/2"), "{:?}", updates(&events));
    let asked = case.requests("a").await.requests;
    assert_eq!(asked.len(), 1, "step 1 is not done again");
}

// N-019: while a session is open, no message is replaced, and no other workflow begins.
#[tokio::test]
async fn an_open_session_holds_its_thread() {
    let (case, thread, workflow) = obedient(&["a"]).await;
    case.script("a", [text("Hm."), text("Hm.")]).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    let message = first(&events, "session").text("user_message_id").to_owned();
    let post = async |body: Value| case.client.post("/api/chat", &body).await;
    for extra in [
        json!({ "replaces_message_id": message }),
        json!({ "workflow_target": "workflow", "workflow_id": "code-review" }),
        json!({ "mode_profile": "swarm" }),
        json!({ "agent": "critic" }),
    ] {
        let mut body = json!({ "thread_id": thread, "content": "Hello" });
        for (name, value) in extra.as_object().cloned().unwrap_or_default() {
            body[name] = value;
        }
        assert_problem(post(body).await, 409, "workflow_running", None).await;
    }
    let missing = json!({ "content": "Hello", "workflow_target": "workflow", "workflow_id": "none" });
    assert_problem(post(missing).await, 404, "workflow_not_found", None).await;
    let unnamed = json!({ "content": "Hello", "workflow_target": "workflow" });
    assert_problem(post(unnamed).await, 400, "invalid_request", Some("workflow_id")).await;
    // Its user ends it, and the thread is an ordinary one again.
    case.client
        .send("DELETE", &format!("/api/threads/{thread}/workflow-session"), "")
        .await
        .expect(204)
        .await;
    case.script("instead", [text("Hello.")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Hello", "instead"), "replaces_message_id": message });
    let events = case.chat_with(&body).await;
    assert!(updates(&events).is_empty());
    case.client.delete(&thread).await;
}

// A queued message keeps its workflow.
#[tokio::test]
async fn a_queued_message_starts_its_session() {
    let (case, thread, workflow) = obedient(&["a"]).await;
    let barrier = case.barrier("first");
    case.script("first", [text("Hello.").waiting(&barrier, 0)]).await;
    let mut open =
        case.client.chat(&json!({ "thread_id": thread, "content": case.said("Wait", "first") })).await;
    open.until(|event| event.kind == "model_call_update").await;
    let mut body = asks(&case, &thread, &workflow);
    body["if_running"] = json!("queue");
    case.client.post("/api/chat", &body).await.expect(202).await;
    case.llm.release(&barrier).await;
    open.rest().await;
    stored::eventually("the session is complete", || async {
        (session(&case, &thread).await["status"] == "complete").then_some(())
    })
    .await;
}

// A message that waits would be taken for the user's word on a step that is stuck: a person looks first.
#[tokio::test]
async fn a_session_that_is_stuck_holds_the_queue() {
    let (case, thread, workflow) = obedient(&["a"]).await;
    let barrier = case.barrier("a");
    case.script("a", [text("Done, I think.").waiting(&barrier, 0), text("Really.")]).await;
    let mut open = case.client.chat(&asks(&case, &thread, &workflow)).await;
    open.until(|event| event.kind == "model_call_update").await;
    let waits = json!({ "thread_id": thread, "content": case.said("And then?", ""), "if_running": "queue" });
    case.client.post("/api/chat", &waits).await.expect(202).await;
    case.llm.release(&barrier).await;
    let events = open.rest().await;
    assert!(
        updates(&events).last().is_some_and(|last| last == "stuck 0/1 no_advance"),
        "{:?}",
        updates(&events)
    );
    let path = format!("/api/threads/{thread}/queue");
    let queue = case.client.read(&path).await;
    assert_eq!(
        (&queue["held"], queue["messages"].as_array().map(Vec::len)),
        (&json!(true), Some(1)),
        "{queue}"
    );
    assert_eq!(session(&case, &thread).await["status"], "stuck");
    // Its user lets it go on: the message is their word on the step.
    case.script("a", [done()]).await;
    let client = case.client.with("content-type", "application/json");
    client.send("PATCH", &path, json!({ "held": false }).to_string()).await.expect(200).await;
    stored::eventually("the session is complete", || async {
        (session(&case, &thread).await["status"] == "complete").then_some(())
    })
    .await;
}

// W-014 W-094: a tool that fails is an error for the model, and the step goes on.
#[tokio::test]
async fn a_tool_that_fails_ends_no_step() {
    let (case, thread, workflow) = obedient(&["a"]).await;
    let wrong = call("calculate", json!({ "expression": "1/" }));
    case.script("a", [wrong, call("no_such_tool", json!({})), done(), text("All done.")]).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    let failed = events.iter().filter(|event| event.data["is_error"] == true).count();
    assert_eq!(failed, 2);
    assert_eq!(session(&case, &thread).await["status"], "complete");
}

// W-007 W-010 W-052 W-069 W-072: the same procedure with a model that calls, and with one that writes one object.
#[tokio::test]
async fn one_procedure_works_in_both_forms() {
    let case = Case::new().await;
    case.endless_script("", [text("All done.")]).await;
    let forms = [("plain", json!({})), ("structured", json!({ "output_mode": "structured_output" }))];
    for (name, members) in forms {
        let steps = match name {
            "structured" => vec![
                call(
                    "__step_output__",
                    json!({ "notesMarkdown": NOTES, "isComplete": true, "toolCalls": [] }),
                ),
                text("All done."),
            ],
            _ => vec![done(), text("All done.")],
        };
        case.endless_script(name, steps).await;
        let mut form = step(&case, name);
        for (member, value) in members.as_object().cloned().unwrap_or_default() {
            form[member] = value;
        }
        let workflow = workflow_with(&case, json!({ "name": name, "steps": [form] })).await;
        let thread = new_id();
        let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
        assert!(
            updates(&events).last().is_some_and(|last| last == "complete 1/1"),
            "{name}: {:?}",
            updates(&events)
        );
        case.client.delete(&thread).await;
    }
}

// The demo model plays one of the workflows that come with the service, without a key.
#[tokio::test]
async fn the_demo_model_plays_a_procedure() {
    let case = Case::of(Client::anonymous_at(&env("ESPALIER_DEMO_URL")).await);
    let thread = new_id();
    let body = json!({
        "thread_id": thread, "content": "Review the parser", "workflow_target": "workflow", "workflow_id": "code-review",
    });
    let events = case.chat_with(&body).await;
    assert!(updates(&events).last().is_some_and(|last| last == "complete 5/5"), "{:?}", updates(&events));
    let detail = session(&case, &thread).await;
    assert_eq!((&detail["goal"], &detail["name"]), (&json!("Review the parser"), &json!("Code review")));
}

// W-097: the third identical call in a row is told once in the session, over its turns.
#[tokio::test]
async fn a_repeated_call_is_told_once_in_a_session() {
    let (case, thread, workflow) = obedient(&["a", "b"]).await;
    let sum = || call("calculate", json!({ "expression": "1+1" }));
    case.script("a", [sum(), sum(), sum(), sum(), text("Hm."), text("Hm.")]).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    let expected = ["running 0/2", "running 0/2 repeated_call", "stuck 0/2 no_advance"];
    assert_eq!(updates(&events), expected);
    let third = events.iter().position(|event| event.data["reason"] == "repeated_call").expect("the event");
    let ends = |event: &&Event| event.is("tool_call_update", &[("name", "calculate"), ("status", "end")]);
    assert_eq!(events[..third].iter().filter(ends).count(), 3);

    case.script("a", [sum(), sum(), sum(), sum(), done()]).await;
    let events = case.chat_with(&json!({ "thread_id": thread, "content": case.said("Go on", "") })).await;
    assert_eq!(updates(&events), ["running 0/2", "running 1/2", "complete 2/2"]);

    // A session that begins later tells of its own.
    case.script("a", [sum(), sum(), sum(), done()]).await;
    let events = case.chat_with(&asks(&case, &thread, &workflow)).await;
    assert_eq!(updates(&events).iter().filter(|line| line.ends_with("repeated_call")).count(), 1);
}
