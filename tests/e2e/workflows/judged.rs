//! Steps whose work a model judges and a person reviews, and steps that a plan carries out.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Event, EventStream, Step, Value, call, json, new_id, text};

use super::{NOTES, step, workflow};

/// Notes that lead the verifier to the script of this path.
fn complete(case: &Case, judge: &str) -> Step {
    call("complete_step", json!({ "notesMarkdown": case.said(NOTES, judge) }))
}

fn verdict(assessment: &str, instruction: &str) -> Step {
    let verdict =
        json!({ "assessment": assessment, "reasoning": "So it is.", "retry_instruction": instruction });
    call("finish_subtask", verdict)
}

fn with(mut step: Value, member: &str, value: Value) -> Value {
    step[member] = value;
    step
}

fn judged(case: &Case) -> Value {
    with(step(case, "a"), "verifier", json!({ "threshold": "high" }))
}

/// Begins a session of one step.
async fn begin(case: &Case, step: Value) -> EventStream {
    begin_by(case, step, "primary").await
}

/// The same, by a request that names these models.
async fn begin_by(case: &Case, step: Value, model: &str) -> EventStream {
    case.endless_script("", [text("All done.")]).await;
    let workflow = workflow(case, &[step]).await;
    let body = json!({
        "thread_id": new_id(), "content": case.said("Go", ""), "workflow_target": "workflow", "workflow_id": workflow,
        "model": model,
    });
    case.client.chat(&body).await
}

fn updates(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| {
        let reason = event.data["reason"].as_str().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{}{reason}", event.text("status"))
    };
    events.iter().filter(|event| event.kind == "workflow_update").map(line).collect()
}

/// Answers the question about a step once the turn waits.
async fn decide(case: &Case, stream: &mut EventStream, decision: &str) -> Event {
    let request = stream.until(|event| event.kind == "approval_request").await;
    assert_eq!(request.text("name"), "review_step");
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}/approvals/{}", request.text("approval_id"));
    // A person decides on each review: no answer holds for the whole thread.
    let for_good = case.client.post(&path, &json!({ "decision": "approve_for_thread" })).await;
    assert_problem(for_good, 400, "invalid_request", Some("decision")).await;
    case.client.post(&path, &json!({ "decision": decision })).await.expect(200).await;
    request
}

// W-040 W-041 W-043 W-044 W-045 W-046 W-048 W-091 W-103: the verifier reads the notes, a retry is told in place of the next
// step, and the step is completed again.
#[tokio::test]
async fn a_verifier_sends_work_back() {
    let case = Case::new().await;
    case.script("a", [complete(&case, "early"), complete(&case, "late")]).await;
    case.script("early", [verdict("retry", "Look once more.")]).await;
    case.script("late", [verdict("pass", "")]).await;
    let events = begin(&case, judged(&case)).await.rest().await;
    assert_eq!(updates(&events), ["running", "running retry", "complete"]);
    assert_eq!(
        first(&events, "done").data["usage"]["llm_calls"],
        5,
        "two rounds, two verdicts, the last words"
    );
    let asked = case.all_requests().await.requests;
    let is_told = |text: &str| asked.iter().any(|record| record.body.to_string().contains(text));
    assert!(is_told("does not pass yet. Look once more."));
    let judge = asked.iter().find(|record| record.body.to_string().contains("<verified_step>"));
    let question = judge.map(|record| record.body.to_string()).unwrap_or_default();
    assert!(question.contains(NOTES) && question.contains("Do a."), "{question}");
}

// Issue 42, M3: whichever models a request names, those of the deployment judge: here the primary ones, because there are none
// of the role `quality`.
#[tokio::test]
async fn no_request_chooses_who_judges() {
    let case = Case::new().await;
    case.script("a", [complete(&case, "judge")]).await;
    case.script("judge", [verdict("pass", "")]).await;
    let events = begin_by(&case, judged(&case), "secondary").await.rest().await;
    assert_eq!(updates(&events), ["running", "complete"]);
    let asked = case.all_requests().await.requests;
    let (judges, works): (Vec<_>, Vec<_>) =
        asked.iter().partition(|record| record.body.to_string().contains("<verified_step>"));
    assert_eq!(
        judges.iter().map(|record| record.body["model"].clone()).collect::<Vec<_>>(),
        [json!("fake-1")]
    );
    assert!(!works.is_empty() && works.iter().all(|record| record.body["model"] == "fake-2"));
}

// W-042 W-047: a person decides where the verifier does not; denied means once more, allowed means pass.
#[tokio::test]
async fn a_person_reviews_what_a_verifier_escalates() {
    let case = Case::new().await;
    case.endless_script("a", [complete(&case, "judge")]).await;
    case.endless_script("judge", [verdict("escalate", "")]).await;
    let mut stream = begin(&case, judged(&case)).await;
    let request = decide(&case, &mut stream, "deny").await;
    assert_eq!(request.data["args"]["step"], "a");
    decide(&case, &mut stream, "approve").await;
    let events = stream.rest().await;
    assert_eq!(
        updates(&events),
        [
            "running",
            "needs_human_review escalated",
            "running denied",
            "needs_human_review escalated",
            "complete"
        ]
    );
    let thread = first(&events, "session").text("thread_id").to_owned();
    let session = case.client.thread(&thread).await["workflow_session"].clone();
    assert_eq!((&session["status"], &session["step"]), (&json!("complete"), &json!(1)));
    let standing = case.client.read(&format!("/api/threads/{thread}/approvals")).await;
    assert_eq!(standing, json!({ "approvals": [] }));
}

// W-031 W-032 W-033 W-034 W-035 W-036 W-037 W-105: a person sees the plan, then it runs without a model in between.
#[tokio::test]
async fn a_person_sees_a_plan_before_it_runs() {
    let case = Case::new().await;
    let told = case.said("a number", "notes");
    let plan = json!({ "plan": [
        { "action": "calculate", "args": { "expression": "6*7" }, "expected_outcome": told },
        { "action": "complete_step", "args": {}, "expected_outcome": "done" },
    ]});
    case.script("a", [call("finish_subtask", plan)]).await;
    case.script("notes", [call("finish_subtask", json!({ "notesMarkdown": NOTES }))]).await;
    let planned = with(with(step(&case, "a"), "type", json!("planned")), "review", json!(true));
    let mut stream = begin(&case, planned).await;
    let request = decide(&case, &mut stream, "approve").await;
    assert_eq!(request.data["args"]["plan"][0]["args"]["expression"], "6*7");
    let events = stream.rest().await;
    assert_eq!(updates(&events), ["running", "complete"]);
    assert_eq!(first(&events, "done").data["usage"]["llm_calls"], 3, "the plan, the notes, the last words");
    let result =
        events.iter().find(|event| event.is("tool_call_update", &[("name", "calculate"), ("status", "end")]));
    assert_eq!(result.map(|event| event.text("result")), Some("42"));
}
