//! The router and the swarm, end to end. Only a request with `mode_profile` starts them.
//!
//! S-003 S-005 S-018 S-023 S-029 S-034 S-043 S-044 S-045 S-055

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Step, Value, call, json, text, tree};

fn asks(case: &Case, mode: &str) -> Value {
    json!({
        "content": case.said("Look into it", ""),
        "mode_profile": mode,
        "browser_context": { "activeTabUrl": "https://example.com/x", "activeTabTitle": "A page", "tabCount": 7 },
    })
}

fn planned(case: &Case, steps: &[&str]) -> Step {
    let step =
        |id: &&str| json!({"id": id, "title": format!("Step {id}"), "instructions": case.said(id, id)});
    let steps: Vec<Value> = steps.iter().map(step).collect();
    call("finish_subtask", json!({"reasoning": "Because.", "steps": steps}))
}

fn routed(complexity: &str) -> Step {
    routed_to("primary", complexity)
}

fn routed_to(role: &str, complexity: &str) -> Step {
    call("finish_subtask", json!({"role": role, "complexity": complexity, "reason": "It is so."}))
}

fn swarm_events(events: &[Event]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event.kind.as_str());
    kinds.filter(|kind| kind.starts_with("swarm") || kind.starts_with("plan_")).collect()
}

// S-005 S-018 S-023 S-029 S-034
#[tokio::test]
async fn a_swarm_from_plan_to_synthesis() {
    let case = Case::new().await;
    // The planner gets the message itself; the root comes after its plan.
    case.script("", [planned(&case, &["a", "b"]), text("Both are done.")]).await;
    case.script("a", [call("calculate", json!({"expression": "6*7"})), text("a done")]).await;
    case.script("b", [text("b done")]).await;
    let events = case.chat_with(&asks(&case, "swarm")).await;
    assert_eq!(
        swarm_events(&events),
        [
            "swarmPlanReady",
            "swarmStepStarted",
            "swarmToolExecuted",
            "swarmStepCompleted",
            "swarmStepStarted",
            "swarmStepCompleted",
            "swarmComplete"
        ]
    );
    assert_eq!(first(&events, "swarmPlanReady").data["steps"], json!(["Step a", "Step b"]));
    let used = &first(&events, "swarmToolExecuted").data;
    assert_eq!(
        (&used["stepIndex"], &used["tool"], &used["briefResult"]),
        (&json!(0), &json!("calculate"), &json!("42"))
    );
    assert_eq!(first(&events, "swarmComplete").text("result"), "Both are done.");
    let stored = case.stored(&events).await;
    assert_eq!(stored["content"], "Both are done.");
    let requests = case.all_requests().await.requests;
    assert_eq!(requests.len(), 5, "a plan, three calls of steps, a synthesis");
    assert!(requests[0].body.to_string().contains("https://example.com/x"));
    let b = case.requests("b").await.requests[0].body.to_string();
    assert!(b.contains("a done"), "a step knows the results of earlier steps");
}

// S-003 S-010 S-044 S-045: one call decides, and its reason is stored.
#[tokio::test]
async fn a_router_decides_once() {
    let case = Case::new().await;
    case.script("", [routed("simple"), text("Four.")]).await;
    let events = case.chat_with(&asks(&case, "auto_route")).await;
    assert_eq!(swarm_events(&events), Vec::<&str>::new());
    assert_eq!(case.all_requests().await.requests.len(), 2);
    let decided: Value =
        serde_json::from_str(tree::ends(&events, "route_request")[0].text("result")).expect("JSON");
    assert_eq!((&decided["complexity"], &decided["reason"]), (&json!("simple"), &json!("It is so.")));
    assert_eq!(case.stored(&events).await["content"], "Four.");

    let case = Case::new().await;
    // The planner gets the same message as the router. A reply without a plan goes back to it.
    case.script("", [routed("complex"), planned(&case, &["a"]), text("It is done.")]).await;
    case.script("a", [text("a done")]).await;
    let events = case.chat_with(&asks(&case, "auto_route")).await;
    assert_eq!(swarm_events(&events).first(), Some(&"swarmPlanReady"));
    assert_eq!(first(&events, "swarmComplete").text("result"), "It is done.");
}

// S-006 S-008: the root asks the models of the role that the router names, unless the request names a model.
#[tokio::test]
async fn the_routers_role_picks_the_models() {
    for (named, models) in [(None, ["fake-1", "fake-2"]), (Some("primary"), ["fake-1", "fake-1"])] {
        let case = Case::new().await;
        case.script("", [routed_to("secondary", "simple"), text("Four.")]).await;
        let mut body = asks(&case, "auto_route");
        body["model"] = json!(named);
        let events = case.chat_with(&body).await;
        let requests = case.all_requests().await.requests;
        let asked: Vec<&str> = requests.iter().filter_map(|request| request.body["model"].as_str()).collect();
        assert_eq!(asked, models, "{named:?}");
        let usage = &first(&events, "done").data["usage"];
        assert_eq!(usage["by_model"], first(&events, "cost_summary").data["by_model"], "B-026");
        assert_eq!(usage["llm_calls"], 2);
    }
}

// A request without a mode makes no further model call.
#[tokio::test]
async fn a_turn_that_does_not_ask_makes_no_call_beside_its_own() {
    for context in ["thread", "general", "project"] {
        let case = Case::new().await;
        case.script("", [text("Hello.")]).await;
        let mut body = case.says("Look into it, in several steps, page after page");
        body["chat_context"] = json!({ "context_type": context });
        let events = case.chat_with(&body).await;
        assert_eq!(case.all_requests().await.requests.len(), 1, "{context}");
        assert_eq!(first(&events, "cost_summary").data["llm_calls"], 1);
        assert_eq!(swarm_events(&events), Vec::<&str>::new());
    }
    let refused = json!({"content": "x", "mode_profile": "always"});
    let client = Case::new().await.client;
    client.post("/api/chat", &refused).await.expect(400).await;
}

// S-043 S-055 S-056: the answer to a cancel, and no step stays open.
#[tokio::test]
async fn a_swarm_is_cancelled() {
    let case = Case::new().await;
    case.script("", [planned(&case, &["a", "b"]), text("Never.")]).await;
    case.script("a", [text("a is at it").hanging()]).await;
    let mut stream = case.client.chat(&asks(&case, "swarm")).await;
    stream.until(|event| event.kind == "swarmStepStarted").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let cancelled =
        case.client.post(&format!("/api/threads/{thread}/cancel"), &json!({})).await.expect(200).await;
    assert_eq!(cancelled.json().await["status"], "ok");
    let events = case.turn(stream).await;
    assert_eq!(swarm_events(&events), ["swarmPlanReady", "swarmStepStarted", "swarmStepCompleted"]);
    assert_eq!(first(&events, "swarmStepCompleted").text("status"), "skipped");
    assert_eq!(first(&events, "done").text("finish_reason"), "cancelled");
    assert_eq!(case.requests("b").await.requests.len(), 0);
}
