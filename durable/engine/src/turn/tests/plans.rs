//! Plans: made, reviewed, run in waves, left to the user's word. A turn outside a project has no plans.

use serde_json::{Value, json};

use crate::journal::{CallRecord, Work};
use crate::testing::*;
use wire::model::{Message, ModelErrorKind, ModelRequest};
use wire::protocol::{Event, ExecutionMode, FinishReason, Plan, PlanReview, PlanStatus, StepStatus, Verdict};

pub fn project(levels: &[(&str, Vec<Reply>)]) -> Case {
    let mut case = Case::new(script(levels));
    case.context = "project";
    case.setting.operation = "planner_stream".to_owned();
    case.setting.entity_id = Some("p1".to_owned());
    case
}

fn operations(case: &Case) -> Vec<(String, String)> {
    let of = |row: &CallRecord| match row {
        CallRecord::Model { operation_type, profile, .. } => Some((operation_type.clone(), profile.clone())),
        _ => None,
    };
    case.end().calls.iter().filter_map(of).collect()
}

pub fn result(case: &Case, name: &str) -> Value {
    let mut results = case.events().into_iter().filter_map(|event| match event {
        Event::ToolCallUpdate { name: of, result: Some(result), .. } if of == name => Some(result),
        _ => None,
    });
    serde_json::from_str(&results.next_back().unwrap()).unwrap()
}

fn requests_of(case: &Case, work: &str) -> Vec<ModelRequest> {
    let requests = case.model.requests.borrow();
    let has = |request: &&ModelRequest| {
        let Some(Message::User { content }) = request.messages.first().map(|m| &**m) else { return false };
        content.text().contains(work)
    };
    requests.iter().filter(has).cloned().collect()
}

/// b and c build on a; d builds on both.
fn diamond() -> Vec<(&'static str, Vec<Reply>)> {
    vec![
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Shipped.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])])]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Text("b done")]),
        ("c", vec![Reply::Text("c done")]),
        ("d", vec![Reply::Text("d done")]),
    ]
}

// B-003 B-005 B-006 B-021 B-023 B-024 B-025 B-042 B-043 B-044 B-051 B-052 B-053 B-054 B-058 B-059 B-067 B-068 B-070 B-074 B-075 B-079 B-085 B-090 B-091
#[test]
fn auto_execute_runs_the_steps_in_waves() {
    let case = project(&diamond()).run();
    let lines = case.lines();
    let flow: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| ["state", "plan", "executor", "step"].iter().any(|word| line.starts_with(word)))
        .collect();
    assert_eq!(
        flow,
        [
            "state thinking",
            "state executing_tool:agent_create_plan",
            "plan 0.0 of 4",
            "state executing_plan",
            "executor 0.0 start 4",
            "step a start 0.0-w0.0",
            "step a Completed",
            "step b start 0.0-w1.0",
            "step c start 0.0-w1.1",
            "step b Completed",
            "step c Completed",
            "step d start 0.0-w2.0",
            "step d Completed",
            "executor Completed 4 0 0",
            "state thinking",
        ]
    );
    assert!(lines.contains(&"tool 0.0-w0.0-0.0 echo Start in 0.0-w0.0 depth 2".to_owned()), "{lines:#?}");
    assert_eq!(case.end().message.content, "Shipped.", "the last word is the root's");
    let told = result(&case, "agent_create_plan");
    assert_eq!((&told["status"], &told["execution_mode"]), (&json!("completed"), &json!("auto_execute")));
    assert_eq!(
        told["steps"][3],
        json!({"id": "d", "title": "Step d", "status": "completed", "result": "d done"})
    );
    assert_eq!(told["usage"]["llm_calls"], 6);
    let [kept] = case.end().plans.try_into().unwrap();
    assert_eq!((kept.status, kept.context_type.as_str()), (PlanStatus::Completed, "project"));
    assert!(kept.steps.iter().all(|step| step.status == StepStatus::Completed));
    assert_eq!(kept.entity_id.as_deref(), Some("p1"));

    // Each step gets the plan's objective, its instructions and the results of the steps that it builds on.
    let d = &requests_of(&case, "d\n<plan_objective>")[0];
    let Message::User { content } = &*d.messages[0] else { panic!() };
    let text = content.text();
    assert!(text.contains("b done") && text.contains("c done") && !text.contains("a done"), "{text}");
    assert!(d.tools.iter().any(|tool| tool.name == "echo"));
    assert!(d.tools.iter().all(|tool| !tool.name.starts_with("agent_") && tool.name != "plan_step"));

    // B-109 B-033 B-106 B-089: the row of every call names its operation.
    let ops = operations(&case);
    let of = |name: &str| ops.iter().filter(|(op, _)| op == name).count();
    assert_eq!((of("planner_stream"), of("plan_generation"), of("plan_step")), (2, 1, 5), "{ops:?}");
    let audit = case.end().calls.into_iter().find_map(|row| match row {
        CallRecord::Tool { tool_name, detail, .. } if tool_name == "agent_create_plan" => Some(detail),
        _ => None,
    });
    assert!(audit.unwrap().unwrap().contains("\"objective\":\"ship\""));
}

// B-036 B-045 B-059 B-102: a draft is shown and kept, and none of its steps run.
#[test]
fn draft_only_waits_for_the_users_word() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "draft_only")]), Reply::Text("Shall I?")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
    ])
    .run();
    let lines = case.lines();
    assert!(lines.contains(&"plan 0.0 ready".to_owned()));
    assert!(!lines.iter().any(|line| line.starts_with("step") || line.starts_with("executor")));
    assert_eq!(lines[lines.len() - 3..], ["state waiting", "cost 3 llm 2 tools 0 subtasks", "done Stop"]);
    let [draft] = case.end().plans.try_into().unwrap();
    assert_eq!((draft.status, draft.revision), (PlanStatus::PendingReview, 1));
    let told = result(&case, "agent_create_plan");
    assert_eq!((&told["status"], &told["plan_id"]), (&json!("pending_review"), &json!(draft.id)));
    assert!(told["next"].as_str().unwrap().contains("their next message decides"), "B-094");
}

fn stored() -> Plan {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "draft_only")]), Reply::Text("Shall I?")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
    ])
    .run();
    let mut plan = case.end().plans.remove(0);
    // The draft is a plan of another turn.
    plan.id = "plan_earlier_0.0".to_owned();
    plan
}

fn acts(arguments: Value, more: &[(&str, Vec<Reply>)]) -> Case {
    let mut arguments = arguments;
    arguments["plan_id"] = stored().id.into();
    let go = ("go", vec![Reply::Calls(vec![("agent_update_plan", arguments)]), Reply::Text("Right.")]);
    let mut case = project(&[&[go], more].concat());
    case.setting.draft = Some(Box::new(stored()));
    case.run()
}

// B-101 B-102 B-114
#[test]
fn the_users_word_runs_a_draft() {
    let case = acts(json!({"action": "run"}), &[("a", vec![Reply::Text("a done")])]);
    assert!(case.lines().contains(&"executor Completed 1 0 0".to_owned()), "{:#?}", case.lines());
    let [ran] = case.end().plans.try_into().unwrap();
    assert_eq!((ran.status, ran.id), (PlanStatus::Completed, stored().id));
    assert_eq!(ran.execution_mode, ExecutionMode::DraftOnly);
    let system = &case.model.requests.borrow()[0].system;
    assert!(system.contains("<stored_plan>") && system.contains("plan_earlier_0.0"));
}

// B-101
#[test]
fn the_users_word_changes_a_draft() {
    let changed = [("change ship", vec![planned(&[("m", &[]), ("a", &["m"])])])];
    let case = acts(json!({"action": "change", "changes": "a milestone first"}), &changed);
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!((plan.status, plan.steps.len()), (PlanStatus::PendingReview, 2));
    assert_eq!(plan.revision, stored().revision + 1);
    let asked = &requests_of(&case, "<changes>")[0];
    let Message::User { content } = &*asked.messages[0] else { panic!() };
    assert!(content.text().contains("a milestone first"));
    assert!(case.lines().contains(&"state waiting".to_owned()));
}

// B-101
#[test]
fn the_users_word_drops_a_draft() {
    let case = acts(json!({"action": "drop"}), &[]);
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!(plan.status, PlanStatus::Dropped);
    assert!(!case.lines().contains(&"state waiting".to_owned()));
}

// A plan that this turn drafted cannot run yet: the user has not answered it. An unknown plan id cannot run
// either.
#[test]
fn only_a_plan_of_an_earlier_turn_can_be_run() {
    let tag = "plan_0000000000000000_0.0";
    for waits in [false, true] {
        let run = ("agent_update_plan", json!({"plan_id": tag, "action": "run"}));
        let mut case = project(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![plan("ship", "draft_only")]),
                    Reply::Calls(vec![run]),
                    Reply::Text("Hm."),
                ],
            ),
            ("plan ship", vec![planned(&[("a", &[])])]),
        ]);
        case.setting.draft = waits.then(|| Box::new(stored()));
        let case = case.run();
        let refused = case.lines().iter().any(|line| line.contains("agent_update_plan End error"));
        assert!(refused && !case.lines().iter().any(|line| line.starts_with("executor")));
        let plans = case.end().plans;
        let waiting = plans.iter().filter(|plan| plan.status == PlanStatus::PendingReview).count();
        assert_eq!((waiting, plans.len()), (1, if waits { 2 } else { 1 }), "the newer draft took the place");
    }
}

fn reviewed(review: Vec<Reply>) -> Case {
    let mut case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "agent_review")]), Reply::Text("So.")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
        ("review ship", review),
        ("a", vec![Reply::Text("a done")]),
    ]);
    let quality = offer("quality", wire::model::Capabilities::default());
    case.setting.reviewers = Some(crate::profiles::Chain::of(quality));
    case.run()
}

fn says(verdict: &str) -> Reply {
    Reply::Calls(vec![("finish_subtask", json!({"verdict": verdict, "notes": "for a reason"}))])
}

// B-046 B-047 B-048 B-084 B-111
#[test]
fn an_approved_plan_runs() {
    let case = reviewed(vec![says("approved")]);
    let lines = case.lines();
    let at =
        |line: &str| lines.iter().position(|is| is == line).unwrap_or_else(|| panic!("{line}: {lines:#?}"));
    assert!(
        at("plan 0.0 of 1") < at("plan 0.0 Approved") && at("plan 0.0 Approved") < at("state executing_plan")
    );
    assert!(at("state executing_plan") < at("executor Completed 1 0 0"));
    assert!(operations(&case).contains(&("plan_review".to_owned(), "quality".to_owned())));
    assert_eq!(requests_of(&case, "<plan>")[0].model.model, "quality");
    assert_eq!(crate::turn::keys::work("0.0-review-0"), Work::Review);
}

// B-049 B-111
#[test]
fn what_is_not_approved_does_not_run() {
    for (said, verdict, status) in [
        ("needs_changes", Verdict::NeedsChanges, PlanStatus::PendingReview),
        ("changes_requested", Verdict::NeedsChanges, PlanStatus::PendingReview),
        ("rejected", Verdict::Rejected, PlanStatus::Rejected),
    ] {
        let case = reviewed(vec![says(said)]);
        assert!(case.lines().contains(&format!("plan 0.0 {verdict:?}")));
        assert!(!case.lines().iter().any(|line| line.starts_with("step") || line.starts_with("executor")));
        let [plan] = case.end().plans.try_into().unwrap();
        let review = PlanReview { verdict, notes: "for a reason".to_owned() };
        assert_eq!((plan.status, plan.review), (status, Some(review)));
        let told = result(&case, "agent_create_plan");
        assert_eq!(told["review"]["notes"], "for a reason", "the critique goes back to the model");
    }
}

// B-050: only an approval lets a plan run, for every way in which a reviewer fails.
#[test]
fn a_review_that_fails_is_no_approval() {
    for review in [
        vec![Reply::Fail("", ModelErrorKind::Auth)],
        vec![Reply::Text("Looks good to me!")],
        vec![says("yes")],
        vec![Reply::Cut("appro")],
    ] {
        let case = reviewed(review.clone());
        assert!(!case.lines().iter().any(|line| line.starts_with("step")), "{review:?}");
        let [plan] = case.end().plans.try_into().unwrap();
        assert_eq!((plan.status, plan.review), (PlanStatus::PendingReview, None), "{review:?}");
        assert!(case.lines().iter().any(|line| line.contains("agent_create_plan End error")));
        assert!(case.lines().contains(&"state waiting".to_owned()));
    }
}

// B-031 B-080 B-081 B-085: the objections to a plan go back to the planner, and a plan that stays wrong is
// refused.
#[test]
fn a_wrong_plan_is_mended_or_refused() {
    let circle = planned(&[("a", &["b"]), ("b", &["a"])]);
    let mended = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("So.")]),
        ("plan ship", vec![circle.clone(), planned(&[("a", &[])])]),
        ("a", vec![Reply::Text("a done")]),
    ])
    .run();
    let lines = mended.lines().join("\n");
    assert!(
        lines.contains("these steps wait for each other: a, b") && lines.contains("executor Completed 1 0 0")
    );

    let refused = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("So.")]),
        ("plan ship", vec![circle]),
    ])
    .run();
    let lines = refused.lines().join("\n");
    assert!(lines.contains("agent_create_plan End error \"no plan was made: these steps wait"), "{lines}");
    assert!(!lines.contains("executor") && refused.end().plans.is_empty());
}

// B-080 B-081 B-076
#[test]
fn a_new_projects_plan_has_its_steps_in_order() {
    let steps = |tools: &[&str]| {
        let step = |tool: &&str| json!({"id": tool, "title": tool, "instructions": tool, "tool": tool});
        let steps: Vec<Value> = tools.iter().map(step).collect();
        Reply::Calls(vec![("finish_subtask", json!({"reasoning": "r", "steps": steps}))])
    };
    let mut case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("So.")]),
        ("plan ship", vec![steps(&["echo"]), steps(&["echo", "locked", "fail"])]),
        ("echo", vec![Reply::Text("1")]),
        ("locked", vec![Reply::Text("2")]),
        ("fail", vec![Reply::Text("3")]),
    ]);
    case.setting.plan_tools = ["echo", "write?", "locked", "fail"].map(str::to_owned).to_vec();
    let case = case.run();
    let lines = case.lines().join("\n");
    assert!(lines.contains("a step with \\\"tool\\\": \\\"locked\\\" is missing"), "{lines}");
    let waves = ["step echo start 0.0-w0.0", "step locked start 0.0-w1.0", "step fail start 0.0-w2.0"];
    assert!(waves.iter().all(|line| lines.contains(line)), "each waits for the one before it: {lines}");
    let planner = &requests_of(&case, "<objective>")[0];
    assert!(planner.system.contains("in this order: echo, write (only where it is needed), locked, fail"));
}

// B-013: a turn that misses the goal of its context says so, and leaves a row.
#[test]
fn a_goal_that_was_missed_is_flagged() {
    for (tool, reached) in [("echo", true), ("fail", false), ("locked", false)] {
        let mut case =
            project(&[("go", vec![Reply::Calls(vec![(tool, json!({}))]), Reply::Text("Done, I think.")])]);
        case.setting.goal = Some(if tool == "fail" { "fail" } else { "echo" }.to_owned());
        let case = case.run();
        let flagged = case
            .end()
            .calls
            .iter()
            .any(|row| matches!(row, CallRecord::Failure(failure) if failure.code == "goal_missed"));
        assert_eq!(
            (flagged, case.lines().contains(&"state waiting".to_owned())),
            (!reached, !reached),
            "{tool}"
        );
    }
}

// B-027 B-028 B-029 B-110: the root's own calls are counted apart from those of a plan's steps.
#[test]
fn the_root_has_eight_calls() {
    let eight = |last| {
        let mut replies = vec![Reply::Calls(vec![("echo", json!({})); 8]); 1];
        replies.push(last);
        replies.push(Reply::Text("Done."));
        project(&[("go", replies)]).limits(|limits| limits.root_tool_calls = Some(8)).run()
    };
    assert_eq!(eight(Reply::Text("Done.")).end().message.finish_reason, Some(FinishReason::Stop));
    let case = eight(Reply::Calls(vec![("echo", json!({}))]));
    let lines = case.lines();
    assert_eq!(case.tools.ran.borrow().len(), 8, "the ninth is not made");
    assert!(lines.contains(&"budget ToolCalls 9 of 8".to_owned()));
    assert!(
        lines.iter().any(|line| line.starts_with("tool 1.0 echo End error")),
        "it has a result all the same"
    );
    let logged =
        |row: &CallRecord| matches!(row, CallRecord::Failure(failure) if failure.code == "budget_exceeded");
    assert!(case.end().calls.iter().any(logged));
    let mut planned = project(&diamond()).limits(|limits| limits.root_tool_calls = Some(1));
    planned.run_with(None, |_, _| {});
    planned.check();
    assert_eq!(planned.end().message.finish_reason, Some(FinishReason::Stop));
}

// B-001 B-002 B-054 B-097 B-116: a turn of a thread has no plan, no call but the answer, and no event of a
// plan.
#[test]
fn a_thread_has_no_plans() {
    let case = Case::new(script(&[("go", vec![Reply::Text("Four.")])])).run();
    let requests = case.model.requests.borrow();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].tools.iter().all(|tool| !tool.name.contains("plan")));
    let called = Case::new(script(&[(
        "go",
        vec![Reply::Calls(vec![plan("ship", "auto_execute"), ("plan_step", json!({}))]), Reply::Text("No.")],
    )]))
    .run();
    let lines = called.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("is not available")).count(), 2, "{lines:#?}");
    assert!(!lines.iter().any(|line| ["plan", "step", "executor"].iter().any(|word| line.starts_with(word))));
    assert_eq!(called.model.requests.borrow().len(), 2);
}

// B-030 B-031: the turn's time limit stops a running call.
#[test]
fn the_watchdog_stops_a_planner_that_hangs() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")])]),
        ("plan ship", vec![Reply::Hang("let me ")]),
    ])
    .limits(|limits| limits.wall_clock_ms = 90_000)
    .run();
    let lines = case.lines();
    assert!(lines.contains(&"budget WallClock 90000 of 90000".to_owned()), "{lines:#?}");
    assert_eq!(case.model.aborted.get(), 1);
}

// B-062 B-064 B-065 B-093: the service answers a blank message without a model, keeps it, and writes its row.
#[test]
fn a_blank_message_asks_nobody() {
    for content in ["", " \n\t"] {
        let mut case = project(&[("never", vec![Reply::Text("never")])]);
        case.content = content.to_owned();
        let case = case.run();
        assert!(case.model.requests.borrow().is_empty());
        let end = case.end();
        assert!(end.message.content.starts_with("Your message was empty"));
        assert_eq!(end.message.finish_reason, Some(FinishReason::Stop));
        assert!(end.history.is_empty(), "no provider is ever told of it");
        assert_eq!(operations(&case), [("clarify_blank".to_owned(), "primary".to_owned())]);
        assert_eq!(
            case.lines()[2..4].to_vec(),
            ["model 0 start", &format!("chunk 0.0 {:?} done", end.message.content)]
        );
        assert_eq!(end.message.usage.unwrap().llm_calls, 0);
    }
}

// S-053 S-054 S-055 S-056: a stop in the middle of a plan leaves no step open and says how far the plan had
// come.
#[test]
fn a_plan_is_cancelled() {
    let mut case = project(&diamond());
    case.run_with(None, |turn, _| {
        let at_b =
            turn.record.borrow().pending.iter().any(|call| call.key == "0.0-w1.0" && call.since_ms.is_some());
        if at_b {
            turn.stop(crate::journal::TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!((plan.status, plan.steps[0].status), (PlanStatus::Stopped, StepStatus::Completed));
    assert!(case.lines().contains(&"step b Skipped".to_owned()), "{:#?}", case.lines());
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled));
}
