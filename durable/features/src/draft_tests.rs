//! The tools of a plan that waits, in a turn of another chat context.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::Standard;
use crate::tests::{everything, in_context};
use engine::journal::{DraftContext, PlanContext};
use engine::offer::{draft_context, offered};
use engine::profiles::ContextProfile;
use engine::toolbelt::ToolPolicy;
use wire::protocol::{ContextKind, Plan};

fn draft(context: &str) -> Plan {
    serde_json::from_value(json!({
        "id": "p", "objective": "o", "reasoning": "r", "context_type": context, "execution_mode": "draft_only",
        "status": "pending_review", "steps": [], "revision": 1, "created_at": 0,
    }))
    .unwrap()
}

/// The context of a plan for a turn of the context `here`, under the operator's rules.
fn plan_context(here: &str, of_plan: &str, rules: Value) -> Option<DraftContext> {
    let tools = Standard::new(&everything());
    let rules = serde_json::from_value(rules).unwrap();
    let policy = ToolPolicy::of(ContextKind::Thread).narrowed(rules, BTreeSet::new());
    let context = in_context(here, true);
    let turn = offered(&tools, &[], &policy, context);
    let limits = |there: &ContextProfile| Ok::<_, ()>(there.budget.strictest(context.profile.budget));
    draft_context(&tools, &turn, (&policy, context), &draft(of_plan), limits).unwrap()
}

// B-101 B-102: the steps of a plan from another context get that context's own tools, as the policy allows them.
#[test]
fn a_plan_brings_the_tools_of_its_context() {
    let found = |here: &str, of_plan: &str, rules: Value| match plan_context(here, of_plan, rules) {
        Some(DraftContext::Found(context)) => *context,
        other => panic!("{here} {of_plan} {other:?}"),
    };
    let names = |context: &PlanContext| {
        let mut names: Vec<String> = context.more_tools.iter().map(|spec| spec.name.clone()).collect();
        names.sort();
        names
    };
    let sorted = |context: &str| {
        let mut names = ContextProfile::named(context).unwrap().tools.to_vec();
        names.sort();
        names
    };
    let context = found("thread", "project", json!({}));
    assert_eq!(names(&context), sorted("project"));
    assert!(context.fewer_tools.is_empty() && context.planning.is_empty());
    assert_eq!((context.step_ms, context.plan_ms, context.step_iterations), (60_000, 80_000, 10));
    let asks: Vec<&str> =
        context.more_tools.iter().filter(|spec| spec.ask).map(|spec| spec.name.as_str()).collect();
    assert_eq!(asks, ["delete_project", "delete_task"], "as in a turn of the context");
    let context = found("thread", "project_create", json!({}));
    assert_eq!(context.plan_tools, ContextProfile::named("project_create").unwrap().plan_tools);
    assert!(!context.planning.is_empty());
    // The steps of a plan about tasks delete no project, also in a turn about a project.
    let context = found("project", "task", json!({}));
    assert!(names(&context).is_empty());
    let mut fewer = context.fewer_tools.clone();
    fewer.sort();
    let lacks = |name: &&str| !sorted("task").contains(name);
    assert_eq!(fewer, sorted("project").into_iter().filter(lacks).collect::<Vec<_>>());
    let rules = json!({"delete_task": "off", "create_task": "ask"});
    let context = found("editor", "project", rules);
    assert!(!names(&context).contains(&"delete_task".to_owned()));
    assert!(context.more_tools.iter().any(|spec| spec.name == "create_task" && spec.ask));
    assert_eq!(plan_context("project", "project", json!({})), None);
    assert_eq!(plan_context("thread", "orchard", json!({})), Some(DraftContext::Gone));
}
