//! Contexts, plans and projects, end to end: each execution mode, the user's word, a project from the first message on.
//!
//! B-003 B-005 B-006 B-013 B-022 B-044 B-045 B-046 B-047 B-048 B-049 B-055 B-056 B-062 B-064 B-098 B-101 B-115

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Step, Value, call, calls, json, new_id, stored, text, tree};

fn kinds(events: &[Event]) -> Vec<&str> {
    let flow = ["plan_", "step_", "executor_"];
    events
        .iter()
        .map(|event| event.kind.as_str())
        .filter(|kind| flow.iter().any(|of| kind.starts_with(of)))
        .collect()
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.kind == kind).count()
}

fn makes_plan(case: &Case, mode: &str) -> (&'static str, Value) {
    ("agent_create_plan", json!({"objective": case.said("Do it", "plan"), "execution_mode": mode}))
}

/// A planner's reply: steps whose instructions lead to the script of their own name.
fn planned(case: &Case, steps: &[(&str, Option<&str>, &[&str])]) -> Step {
    let step = |(id, tool, needs): &(&str, Option<&str>, &[&str])| {
        let mut step = json!({"id": id, "title": id, "instructions": case.said(id, id), "depends_on": needs});
        if let Some(tool) = tool {
            step["tool"] = json!(tool);
        }
        step
    };
    let steps: Vec<Value> = steps.iter().map(step).collect();
    call("finish_subtask", json!({"reasoning": case.said("Because.", "review"), "steps": steps}))
}

fn says(case: &Case, context: &str, content: &str, path: &str) -> Value {
    json!({ "content": case.said(content, path), "chat_context": { "context_type": context } })
}

// B-003 B-044 B-059: a plan made and run in one turn, in waves.
#[tokio::test]
async fn a_plan_runs_at_once() {
    let case = Case::new().await;
    case.script("", [calls([makes_plan(&case, "auto_execute")]), text("All done.")]).await;
    let steps: &[(&str, Option<&str>, &[&str])] =
        &[("a", None, &[]), ("b", None, &[]), ("c", Some("list_projects"), &["a", "b"])];
    case.script("plan", [planned(&case, steps)]).await;
    case.script("a", [text("one")]).await;
    case.script("b", [text("two")]).await;
    case.script("c", [call("list_projects", json!({})), text("three")]).await;
    let events = case.chat_with(&says(&case, "general", "Please", "")).await;
    assert_eq!(kinds(&events)[..2], ["plan_created", "executor_start"]);
    assert_eq!((count(&events, "step_start"), count(&events, "step_complete")), (3, 3));
    let states: Vec<&str> =
        events.iter().filter(|event| event.kind == "agent_state").map(|event| event.text("state")).collect();
    assert_eq!(states, ["thinking", "thinking", "executing_plan", "thinking"]);
    let c = &case.requests("c").await.requests[0].body.to_string();
    assert!(c.contains("one") && c.contains("two"), "the last step knows the results of the others");
    let end = tree::ends(&events, "agent_create_plan");
    let told: Value = serde_json::from_str(end[0].text("result")).expect("a plan's result is JSON");
    assert_eq!((&told["status"], &told["steps"][2]["result"]), (&json!("completed"), &json!("three")));
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
}

// B-045 B-101 B-102 B-114: a draft waits. The user's next messages change it and then run it.
#[tokio::test]
async fn a_draft_waits_for_the_users_word() {
    let case = Case::new().await;
    case.script("", [calls([makes_plan(&case, "draft_only")]), text("Shall I?")]).await;
    // The second request to the planner is about the change. It is a new level, so it plays the same script.
    case.script("plan", [planned(&case, &[("a", None, &[])])]).await;
    case.script("a", [text("one")]).await;
    let events = case.chat_with(&says(&case, "project", "Plan it", "")).await;
    assert_eq!(kinds(&events), ["plan_created", "plan_ready_for_review"]);
    let last = events.iter().rfind(|event| event.kind == "agent_state").expect("a state");
    assert_eq!(last.text("state"), "waiting_on_user");
    let plan = first(&events, "plan_ready_for_review").data["plan"].clone();
    let thread = first(&events, "session").text("thread_id").to_owned();
    let say = |content: &str, path: &str| {
        let mut body = says(&case, "project", content, path);
        body["thread_id"] = json!(thread);
        body
    };
    let act = |action: &str| {
        call(
            "agent_update_plan",
            json!({"plan_id": plan["id"], "action": action, "changes": "a milestone first"}),
        )
    };

    case.script("change", [act("change"), text("Like this?")]).await;
    let events = case.chat_with(&say("Add a milestone first", "change")).await;
    assert_eq!(kinds(&events), ["plan_ready_for_review"]);
    let asked = case.requests("change").await.requests[0].body.to_string();
    assert!(asked.contains("stored_plan") && asked.contains(plan["id"].as_str().unwrap_or_default()));
    assert_eq!(first(&events, "plan_ready_for_review").data["plan"]["revision"], 2);

    case.script("run", [act("run"), text("Done.")]).await;
    let events = case.chat_with(&say("Yes, run it", "run")).await;
    assert_eq!(kinds(&events), ["executor_start", "step_start", "step_complete", "executor_complete"]);

    // The draft no longer waits: the next turn has no tool for it.
    case.script("after", [text("Fine.")]).await;
    case.chat_with(&say("Thanks", "after")).await;
    let after = &case.requests("after").await.requests[0].body;
    assert!(!after["tools"].to_string().contains("agent_update_plan"), "{after}");
    assert!(!after.to_string().contains("stored_plan"), "{after}");
}

// B-046 B-047 B-048 B-049
#[tokio::test]
async fn a_reviewer_decides() {
    for (verdict, runs) in [("approved", true), ("needs_changes", false)] {
        let case = Case::new().await;
        case.script("", [calls([makes_plan(&case, "agent_review")]), text("So.")]).await;
        case.script("plan", [planned(&case, &[("a", None, &[])])]).await;
        case.script("review", [call("finish_subtask", json!({"verdict": verdict, "notes": "for a reason"}))])
            .await;
        case.script("a", [text("one")]).await;
        let events = case.chat_with(&says(&case, "project", "Plan it", "")).await;
        let review = first(&events, "plan_review");
        assert_eq!((review.text("verdict"), review.text("notes")), (verdict, "for a reason"));
        assert_eq!(count(&events, "step_start"), usize::from(runs));
    }
}

// B-013 B-080 B-115: from the first message to a finished project, read over HTTP.
#[tokio::test]
async fn a_project_is_created() {
    let case = Case::new().await;
    case.script("", [calls([makes_plan(&case, "auto_execute")]), text("Your project is there.")]).await;
    let steps: &[(&str, Option<&str>, &[&str])] = &[
        ("look", Some("list_templates"), &[]),
        ("make", Some("create_project"), &[]),
        ("publish", Some("publish_context_document"), &[]),
    ];
    case.script("plan", [planned(&case, steps)]).await;
    case.script("look", [call("list_templates", json!({})), text("Software fits.")]).await;
    let new = json!({"name": "Garden", "description": "A garden", "template_id": "template_software"});
    // The project's id is unknown before the project exists, so the script's next step cannot name it.
    case.script("make", [call("create_project", new), text("Made.")]).await;
    case.script("publish", [call("list_projects", json!({})), text("Published.")]).await;
    let events = case.chat_with(&says(&case, "project_create", "Make a project", "")).await;
    assert_eq!(count(&events, "step_complete"), 3);
    let last = events.iter().rfind(|event| event.kind == "agent_state").expect("a state");
    assert_eq!(last.text("state"), "thinking", "the turn reached its goal");
    let projects = case.client.read("/api/projects").await;
    let project = &projects["projects"][0];
    assert_eq!((&project["name"], &project["template_id"]), (&json!("Garden"), &json!("template_software")));
    let id = project["id"].as_str().expect("an id").to_owned();
    let detail = case.client.read(&format!("/api/projects/{id}")).await;
    assert_eq!(detail["tasks"].as_array().map(Vec::len), Some(5));

    // The next turn publishes the document, and a task is done.
    let task = detail["tasks"][0]["id"].clone();
    let publish = json!({"project_id": id, "title": "Brief", "content": "Roses."});
    let update = json!({"task_id": task, "status": "done"});
    case.script("go on", [call("publish_context_document", publish), text("There.")]).await;
    let mut body = says(&case, "project_create", "Go on", "go on");
    let events = case.chat_with(&body).await;
    let last = events.iter().rfind(|event| event.kind == "agent_state").expect("a state");
    assert_eq!(last.text("state"), "waiting_on_user", "this turn made no project");
    case.script("done", [call("update_task", update), text("Done.")]).await;
    body = says(&case, "task", "The first one is done", "done");
    case.chat_with(&body).await;
    let detail = case.client.read(&format!("/api/projects/{id}")).await;
    assert_eq!(
        (&detail["tasks"][0]["status"], &detail["documents"][0]["title"]),
        (&json!("done"), &json!("Brief"))
    );
    let document = detail["documents"][0]["id"].as_str().expect("an id");
    let document = case.client.read(&format!("/api/projects/{id}/documents/{document}")).await;
    assert_eq!(document["content"], "Roses.");

    // Another user sees none of it.
    let other = Case::new().await;
    assert_eq!(other.client.read("/api/projects").await, json!({"projects": []}));
    other.client.get(&format!("/api/projects/{id}")).await.expect(404).await;
    let templates = other.client.read("/api/templates").await;
    assert_eq!(templates["templates"][0]["id"], "template_blank");
}

// B-062 B-064 B-065, and the usage by operation and context.
#[tokio::test]
async fn a_blank_message_and_the_usage() {
    let case = Case::new().await;
    let events =
        case.chat_with(&json!({"content": " ", "chat_context": {"context_type": "task_update"}})).await;
    assert_eq!(first(&events, "agent_state").text("context_type"), "task");
    assert_eq!(first(&events, "cost_summary").data["llm_calls"], 0);
    let thread = first(&events, "session").text("thread_id").to_owned();
    case.script("", [text("Hello.")]).await;
    let mut body = case.says("Hello");
    body["thread_id"] = json!(thread);
    case.chat_with(&body).await;
    assert_eq!(case.all_requests().await.requests.len(), 1, "no more call than the answer");
    let usage = stored::eventually("D1 has the usage of both turns", || async {
        let usage = case.client.read("/api/usage?days=2").await;
        usage["usage"].as_array().is_some_and(|rows| rows.len() > 1).then_some(usage)
    })
    .await;
    let row = |operation: &str| {
        let rows = usage["usage"].as_array().into_iter().flatten();
        let mut rows = rows.filter(|row| row["operation_type"] == operation);
        rows.next().unwrap_or_else(|| panic!("{operation}: {usage:#}")).clone()
    };
    assert_eq!(
        (&row("clarify_blank")["context_type"], &row("clarify_blank")["input_tokens"]),
        (&json!("task"), &json!(0))
    );
    assert_eq!((&row("chat")["calls"], &row("chat")["context_type"]), (&json!(1), &json!("thread")));
    case.client.get("/api/usage?days=91").await.expect(400).await;
}

// B-029: a draft waits on the path that left it, and each version of the next turn decides about it anew.
#[tokio::test]
async fn a_draft_waits_for_each_version_of_the_next_turn() {
    let case = Case::new().await;
    let thread = new_id();
    let plan = json!({ "objective": case.said("Do it", "plan"), "execution_mode": "draft_only" });
    case.script("draft", [call("agent_create_plan", plan), text("Here is my plan.")]).await;
    let step = json!({ "id": "a", "title": "a", "instructions": "a", "depends_on": [] });
    let planned = json!({ "reasoning": "Because.", "steps": [step] });
    case.script("plan", [call("finish_subtask", planned)]).await;
    let says = |question: &str, path: &str| {
        let context = json!({ "context_type": "project" });
        json!({ "thread_id": thread, "content": case.said(question, path), "chat_context": context })
    };
    let drafted = case.chat_with(&says("Plan it", "draft")).await;
    let plan = &first(&drafted, "plan_ready_for_review").data["plan"]["id"];
    let drop = json!({ "plan_id": plan, "action": "drop" });
    case.script("drop", [call("agent_update_plan", drop), text("Dropped.")]).await;
    let dropped = case.chat_with(&says("Drop it", "drop")).await;
    let offers = async |path: &str| {
        case.requests(path).await.requests[0].body["tools"].to_string().contains("agent_update_plan")
    };
    assert!(offers("drop").await);
    case.script("then", [text("So.")]).await;
    case.chat_with(&says("And then", "then")).await;
    assert!(!offers("then").await, "the plan was dropped on this path");

    let mut body = says("Keep it", "keep");
    body["replaces_message_id"] = first(&dropped, "session").data["user_message_id"].clone();
    case.script("keep", [text("It waits.")]).await;
    case.chat_with(&body).await;
    assert!(offers("keep").await, "another version of the turn finds the draft");
}

/// The request of a turn without a chat context.
fn bare(case: &Case, thread: &str, content: &str, path: &str) -> Value {
    json!({ "thread_id": thread, "content": case.said(content, path) })
}

/// A thread in whose context `project` a plan of one step waits, and the plan's id.
async fn drafted(case: &Case) -> (String, Value) {
    case.script("", [calls([makes_plan(case, "draft_only")]), text("Shall I?")]).await;
    case.script("plan", [planned(case, &[("a", Some("list_projects"), &[])])]).await;
    let events = case.chat_with(&says(case, "project", "Plan it", "")).await;
    let plan = first(&events, "plan_ready_for_review").data["plan"]["id"].clone();
    (first(&events, "session").text("thread_id").to_owned(), plan)
}

fn acts(plan: &Value, action: &str) -> Step {
    call("agent_update_plan", json!({ "plan_id": plan, "action": action, "changes": "a milestone first" }))
}

/// The tools of the first request of a script, and whether it has the waiting plan.
async fn offered(case: &Case, path: &str) -> (Vec<String>, bool) {
    let request = &case.requests(path).await.requests[0];
    let tools = request.tools().into_iter().map(str::to_owned).collect();
    (tools, request.body.to_string().contains("stored_plan"))
}

// B-101 B-102, issue 45, 7: "run it" alone. A turn without a chat context has the plan and the call, and the tools of the
// plan's own context hold for its steps.
#[tokio::test]
async fn a_draft_is_reachable_without_a_context() {
    let case = Case::new().await;
    let (thread, plan) = drafted(&case).await;
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let next = case.client.read(&format!("/api/threads/{thread}/agents")).await;
    let prompt = next["main"]["instructions"].as_str().unwrap_or_default();
    assert!(prompt.contains("stored_plan"), "the prompt of the next turn: {prompt}");
    let dump = case.client.read(&format!("/api/threads/{thread}/agents/main/dump")).await;
    let dumped = dump["instructions"].as_str().unwrap_or_default();
    assert!(!dumped.contains("stored_plan"), "a plan belongs to its thread: {dumped}");
    assert!(prompt.starts_with(dumped.split("\n\n").next().unwrap_or_default()) && !dumped.is_empty());

    case.script("change", [acts(&plan, "change"), text("Like this?")]).await;
    let events = case.chat_with(&bare(&case, &thread, "Add a milestone first", "change")).await;
    assert_eq!(first(&events, "plan_ready_for_review").data["plan"]["revision"], 2);
    assert_eq!(first(&events, "agent_state").text("context_type"), "thread");
    let (tools, has_plan) = offered(&case, "change").await;
    assert!(has_plan && has(&tools, "agent_update_plan"), "{tools:?}");
    assert!(!has(&tools, "agent_create_plan") && !has(&tools, "list_projects"), "{tools:?}");

    case.script("a", [call("list_projects", json!({})), text("one")]).await;
    case.script("run", [acts(&plan, "run"), text("Done.")]).await;
    let events = case.chat_with(&bare(&case, &thread, "Run it", "run")).await;
    assert_eq!(kinds(&events), ["executor_start", "step_start", "step_complete", "executor_complete"]);
    assert_eq!(first(&events, "executor_complete").data["completed"], 1);
    let (tools, _) = offered(&case, "a").await;
    assert!(has(&tools, "list_projects") && has(&tools, "delete_project"), "{tools:?}");
    let made = tree::ends(&events, "list_projects");
    assert!(made.len() == 1 && made[0].data["is_error"] != true, "{made:?}");

    // The draft has run, so a later turn has neither the plan nor the call.
    case.script("after", [text("Fine.")]).await;
    case.chat_with(&bare(&case, &thread, "Thanks", "after")).await;
    let (tools, has_plan) = offered(&case, "after").await;
    assert!(!has_plan && !has(&tools, "agent_update_plan"), "{tools:?}");
}

// B-101, issue 45, 7: the same in the editor and in another context with plans, and each version decides anew. A mode has a
// plan of its own.
#[tokio::test]
async fn a_draft_is_reachable_in_each_context() {
    let case = Case::new().await;
    let (thread, plan) = drafted(&case).await;
    let here = "agent_update_plan".to_owned();
    let mut body = bare(&case, &thread, "So?", "swarm");
    body["mode_profile"] = json!("auto_route");
    let simple = json!({ "role": "primary", "complexity": "simple", "reason": "it is so" });
    case.script("swarm", [call("finish_subtask", simple), text("So.")]).await;
    case.chat_with(&body).await;
    let routed = case.requests("swarm").await.requests;
    assert!(routed.len() == 2 && routed.iter().all(|request| !request.tools().contains(&here.as_str())));

    case.script("task", [text("It waits.")]).await;
    let mut body = says(&case, "task", "And now?", "task");
    body["thread_id"] = json!(thread);
    case.chat_with(&body).await;
    assert!(offered(&case, "task").await.0.contains(&here));

    case.script("drop", [acts(&plan, "drop"), text("Dropped.")]).await;
    let mut body = bare(&case, &thread, "Drop it", "drop");
    body["chat_context"] = json!({ "kind": "editor" });
    let dropped = case.chat_with(&body).await;
    assert!(offered(&case, "drop").await.1);
    case.script("gone", [text("It is gone.")]).await;
    case.chat_with(&bare(&case, &thread, "Run it", "gone")).await;
    assert!(!offered(&case, "gone").await.0.contains(&here), "the plan was dropped on this path");

    let mut body = bare(&case, &thread, "Keep it", "keep");
    body["replaces_message_id"] = first(&dropped, "session").data["user_message_id"].clone();
    case.script("keep", [text("It waits.")]).await;
    case.chat_with(&body).await;
    assert!(offered(&case, "keep").await.0.contains(&here), "another version of the turn finds the draft");
}
