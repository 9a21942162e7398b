//! The user's word on a plan comes in a turn of another chat context than the plan's, or of none (B-101, B-102).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::drafts::stored;
use super::{requests_of, result};
use crate::journal::{DraftContext, PlanContext};
use crate::ports::Clock;
use crate::testing::*;
use crate::toolbelt::{ToolPolicy, ToolRules};
use wire::model::ModelRequest;
use wire::protocol::{ContextKind, Plan, PlanStatus, PlanStep, StepStatus};

fn draft() -> Plan {
    let step =
        PlanStep { instructions: "a".to_owned(), status: StepStatus::Pending, ..stored().steps.remove(0) };
    Plan { steps: vec![step], ..stored() }
}

/// A plan's context with `echo`, which the turn has not, and without `write`, which it has.
pub(crate) fn context() -> PlanContext {
    let case = Case::new(script(&[]));
    let echo = case.spec().tools.into_iter().find(|spec| spec.name == "echo").unwrap();
    PlanContext {
        more_tools: vec![echo],
        fewer_tools: vec!["write".to_owned()],
        planning: "Mind the frost.".to_owned(),
        plan_tools: vec!["echo".to_owned()],
        step_iterations: 3,
        step_ms: 5_000,
        plan_ms: 6_000,
    }
}

/// A turn without a chat context, in a thread where a plan of the context `project` waits.
pub(crate) fn elsewhere(context: DraftContext, levels: &[(&str, Vec<Reply>)]) -> Case {
    let mut case = Case::new(script(levels));
    case.setting.draft = Some(Box::new(draft()));
    case.setting.draft_context = Some(context);
    let rules: ToolRules = serde_json::from_value(json!({"echo": "off"})).unwrap();
    let offered = ToolPolicy { workspace_root: Some("/".to_owned()), ..ToolPolicy::of(ContextKind::Thread) };
    case.offered_by = offered.narrowed(rules, Default::default());
    case
}

fn acts(action: &str) -> Reply {
    let arguments = json!({"plan_id": draft().id, "action": action, "changes": "a milestone first"});
    Reply::Calls(vec![("agent_update_plan", arguments)])
}

/// The turn that runs the plan.
pub(crate) fn running() -> Case {
    let step = vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")];
    let go = vec![acts("run"), Reply::Text("Right.")];
    elsewhere(DraftContext::Found(Box::new(context())), &[("go", go), ("a", step)])
}

fn names(request: &ModelRequest) -> Vec<&str> {
    request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

// B-101 B-102: the prompt has the plan, the call is there, and the plan's own context holds for its steps alone.
#[test]
fn a_plan_of_another_context_runs_with_its_own_tools() {
    let case = running().run();
    let requests = case.model.requests.borrow();
    let (root, step) = (&requests[0], &requests_of(&case, "plan_objective")[0]);
    assert!(root.system.contains("<stored_plan>") && root.system.contains(&draft().id));
    assert!(names(root).contains(&"agent_update_plan") && names(root).contains(&"write"));
    assert!(!names(root).contains(&"agent_create_plan") && !names(root).contains(&"echo"));
    assert!(names(step).contains(&"echo") && !names(step).contains(&"write"), "{:?}", names(step));
    assert!(!names(step).contains(&"agent_update_plan"));
    assert!(case.lines().contains(&"executor Completed 1 0 0".to_owned()), "{:#?}", case.lines());
    assert_eq!(*case.tools.ran.borrow(), ["echo {}"]);
    // After the plan the root has its own tools again.
    assert_eq!(names(&requests[requests.len() - 1]), names(root));
    let [ran] = case.end().plans.try_into().unwrap();
    assert_eq!(
        (ran.status, ran.id, ran.context_type.as_str()),
        (PlanStatus::Completed, draft().id, "project")
    );
}

// B-101: entry 0 has the context, so a run that takes the turn up anywhere goes on the same way.
#[test]
fn it_runs_the_same_way_after_a_kill_at_each_commit() {
    let whole = running().run();
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = running();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().plans, whole.end().plans, "{dies_after}");
        assert_eq!(result(&case, "agent_update_plan")["steps"], result(&whole, "agent_update_plan")["steps"]);
        let step = requests_of(&case, "plan_objective").pop().unwrap();
        assert!(names(&step).contains(&"echo") && !names(&step).contains(&"write"), "{dies_after}");
    }
}

// CF-01: the limits of a step are those of the plan's context.
#[test]
fn its_steps_have_their_own_limits() {
    let step: Vec<Reply> = (0..9).map(|_| Reply::Calls(vec![("echo", json!({}))])).collect();
    let go = vec![acts("run"), Reply::Text("Right.")];
    let found = || DraftContext::Found(Box::new(context()));
    let case = elsewhere(found(), &[("go", go.clone()), ("a", step)]).run();
    assert_eq!(requests_of(&case, "plan_objective").len(), 3, "model calls of a step");
    assert!(case.lines().contains(&"executor Partial 1 0 0".to_owned()), "{:#?}", case.lines());
    let slow = vec![Reply::Hang("so far ")];
    let case = elsewhere(found(), &[("go", go), ("a", slow)]).run();
    assert!(case.lines().contains(&"executor Partial 1 0 0".to_owned()), "{:#?}", case.lines());
    assert!(case.clock.now_ms() < 10_000, "the turn's own limit is 120 s a step");
}

// B-101 B-080: a changed plan is made by the rules of its own context.
#[test]
fn it_is_made_anew_by_its_own_context() {
    let steps = |tool: &str| {
        let step = json!({"id": "m", "title": "m", "instructions": "m", "tool": tool});
        Reply::Calls(vec![("finish_subtask", json!({"reasoning": "Because.", "steps": [step]}))])
    };
    let levels = [
        ("go", vec![acts("change"), Reply::Text("Like this?")]),
        ("change ship", vec![steps("write"), steps("echo")]),
    ];
    let case = elsewhere(DraftContext::Found(Box::new(context())), &levels).run();
    let asked = requests_of(&case, "<changes>");
    assert!(asked[0].system.contains("Mind the frost.") && asked[0].system.contains("in this order: echo"));
    let last = serde_json::to_string(&asked[1].messages).unwrap();
    assert!(last.contains("names the tool \\\"write\\\""), "{last}");
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!((plan.status, plan.steps[0].tool.as_deref()), (PlanStatus::PendingReview, Some("echo")));
    assert!(case.lines().contains(&"state waiting".to_owned()));
}

// B-101: a context that a release took away is an error that says so, and the plan can be dropped.
#[test]
fn a_plan_whose_context_is_gone_can_only_be_dropped() {
    for (action, expected) in [("run", None), ("change", None), ("drop", Some(PlanStatus::Dropped))] {
        let levels = [("go", vec![acts(action), Reply::Text("Right.")])];
        let mut case = elsewhere(DraftContext::Gone, &levels);
        case.setting.draft.as_mut().unwrap().context_type = "orchard".to_owned();
        let case = case.run();
        let says = case.lines().into_iter().filter(|line| line.contains("the chat context \\\"orchard\\\""));
        assert_eq!(says.count() > 0, expected.is_none(), "{action} {:#?}", case.lines());
        let ends: Vec<PlanStatus> = case.end().plans.iter().map(|plan| plan.status).collect();
        assert_eq!(ends, Vec::from_iter(expected), "{action}");
        assert_eq!(case.model.requests.borrow().len(), 2, "no level begins");
    }
}

// A plan that the turn itself makes is one of the turn's context, beside a waiting one of another.
#[test]
fn a_new_plan_has_the_context_of_its_turn() {
    let levels = [
        ("go", vec![Reply::Calls(vec![plan("sow", "auto_execute")]), Reply::Text("Right.")]),
        ("plan sow", vec![planned(&[("b", &[])])]),
        ("b", vec![Reply::Text("b done")]),
    ];
    let mut case = elsewhere(DraftContext::Found(Box::new(context())), &levels);
    case.context = "task";
    let case = case.run();
    let step = &requests_of(&case, "plan_objective")[0];
    assert!(names(step).contains(&"write") && !names(step).contains(&"echo"), "{:?}", names(step));
    let planner = &requests_of(&case, "sow")[0];
    assert!(!planner.system.contains("Mind the frost."));
}

// A turn of former code has a plan of another context and no such member: its steps have the turn's tools, as before.
#[test]
fn a_turn_of_former_code_goes_on_as_before() {
    let levels = [("go", vec![acts("run"), Reply::Text("Right.")]), ("a", vec![Reply::Text("a done")])];
    let mut case = elsewhere(DraftContext::Gone, &levels);
    case.setting.draft_context = None;
    case.context = "task";
    let case = case.run();
    let step = &requests_of(&case, "plan_objective")[0];
    assert!(names(step).contains(&"write") && !names(step).contains(&"echo"));
    assert!(case.lines().contains(&"executor Completed 1 0 0".to_owned()));
    let setting: Value = serde_json::to_value(&case.setting).unwrap();
    assert!(setting.get("draft_context").is_none());
}

// The operator's rules hold in each context.
#[test]
fn a_rule_takes_the_call_away() {
    for (rules, offers) in [
        (BTreeMap::new(), true),
        (BTreeMap::from([("agent_update_plan", "off")]), false),
        (BTreeMap::from([("subagent", "off")]), false),
    ] {
        let mut case = running();
        let rules: ToolRules = serde_json::from_value(json!(rules)).unwrap();
        case.offered_by = case.offered_by.narrowed(rules, Default::default());
        let tools = case.spec().tools;
        assert_eq!(tools.iter().any(|spec| spec.name == "agent_update_plan"), offers);
    }
}
