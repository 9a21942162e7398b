use futures::FutureExt;
use serde_json::{Value, json};

use super::in_memory::InMemory;
use super::*;
use wire::protocol::{MAX_WORKFLOWS, OutputMode, StepType};

fn definition(name: &str) -> WorkflowDefinition {
    let json = json!({ "name": name, "steps": [{ "id": "a", "title": "A", "instructions": "Do it." }] });
    WorkflowDefinition::parse(json.to_string().as_bytes()).unwrap()
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

// W-007 W-011 W-059: the examples are definitions, and each ends its steps by `complete_step`.
#[test]
fn the_service_brings_three_workflows() {
    let known = now(list(&InMemory::default())).unwrap();
    let ids: Vec<&str> = known.iter().map(|workflow| workflow.workflow_id.as_str()).collect();
    assert_eq!(ids, ["research-report", "code-review", "incident-checklist"]);
    for (id, json) in BUILTIN {
        let WorkflowDetail { summary, definition, .. } = now(get(&InMemory::default(), id)).unwrap().unwrap();
        assert!(summary.built_in && summary.steps >= 3 && summary.updated_at.is_none(), "{id}");
        let modes = definition.steps.iter().map(|step| (step.kind, step.output_mode));
        assert!(modes.clone().all(|mode| mode == (StepType::Agent, OutputMode::ToolUse)), "{id}");
        assert!(
            definition.steps.iter().all(|step| step.verifier.is_none()),
            "{id}: no call beside the rounds"
        );
        // The definition has each member of its file.
        let file: Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_value(&definition).unwrap(), file, "{id}");
    }
}

#[test]
fn a_users_workflow_stands_in_the_place_of_a_built_in_one() {
    let workflows = InMemory::default();
    let put = now(put(&workflows, "code-review", definition("Ours"), 7)).unwrap().unwrap();
    assert_eq!((put.summary.version, put.summary.built_in, put.summary.updated_at), (1, false, Some(7)));
    let known = now(list(&workflows)).unwrap();
    let names: Vec<_> = known.iter().map(|known| (known.workflow_id.as_str(), known.built_in)).collect();
    assert_eq!(names, [("code-review", false), ("research-report", true), ("incident-checklist", true)]);
    assert_eq!(now(get(&workflows, "code-review")).unwrap().unwrap().definition.name, "Ours");
    assert!(now(workflows.delete("code-review")).unwrap());
    assert!(now(get(&workflows, "code-review")).unwrap().unwrap().summary.built_in, "it is there again");
    assert!(!now(workflows.delete("code-review")).unwrap());
}

#[test]
fn a_change_is_a_new_version_and_a_repetition_is_none() {
    let workflows = InMemory::default();
    let version = |name: &str, at| now(put(&workflows, "a", definition(name), at)).unwrap().unwrap().summary;
    assert_eq!(version("One", 1).version, 1);
    assert_eq!((version("One", 2).version, version("One", 3).updated_at), (1, Some(1)));
    assert_eq!(version("Two", 4).version, 2);
    assert_eq!(version("One", 5).version, 3);
}

#[test]
fn a_user_has_a_hundred_workflows() {
    let workflows = InMemory::default();
    let put = |at: usize, name: &str| now(put(&workflows, &format!("w{at}"), definition(name), 1)).unwrap();
    for at in 0..MAX_WORKFLOWS {
        assert!(put(at, "One").is_some(), "{at}");
    }
    assert!(put(MAX_WORKFLOWS, "One").is_none(), "one too many");
    assert!(put(0, "Two").is_some(), "a new version is no new workflow");
    assert!(now(workflows.delete("w0")).unwrap());
    assert!(put(MAX_WORKFLOWS, "One").is_some(), "a deletion frees a place");
    assert_eq!(now(list(&workflows)).unwrap().len(), MAX_WORKFLOWS + 3);
}

#[test]
fn a_storage_that_fails_is_told() {
    let workflows = InMemory::default();
    workflows.is_down.set(true);
    assert!(now(list(&workflows)).is_err() && now(get(&workflows, "a")).is_err());
    assert!(now(put(&workflows, "a", definition("One"), 1)).is_err());
}
