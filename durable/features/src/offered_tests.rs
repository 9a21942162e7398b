//! The tools of each context, as files: a changed declaration shows in the files in `golden/`. `make types` writes
//! them; every other run compares them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::{Resources, Standard};
use engine::offer::{InContext, offered as offer};
use engine::profiles::ContextProfile;
use engine::toolbelt::{ToolPolicy, ToolSpec};
use wire::protocol::{ChatContext, ContextKind};

/// Set by `make types`.
const WRITE: &str = "ESPALIER_WRITE_TYPES";

fn offered(kind: ContextKind, name: Option<&str>, resources: &Resources) -> Vec<ToolSpec> {
    let policy = ToolPolicy { workspace_root: Some("root/".to_owned()), ..ToolPolicy::of(kind) };
    let context = ChatContext { kind, context_type: name.map(str::to_owned), ..ChatContext::default() };
    let in_context = InContext {
        profile: *ContextProfile::of(Some(&context)),
        has_draft: ContextProfile::of(Some(&context)).plans,
        agent_hooks: false,
        agents: false,
        todos: false,
        session: false,
        clients_at_once: false,
    };
    offer(&Standard::new(resources), &[], &policy, in_context)
}

fn json_of(specs: &[ToolSpec]) -> Vec<Value> {
    let told = specs.iter().map(|spec| {
        let mut told = serde_json::to_value(spec).unwrap();
        told["input_schema"] = serde_json::from_str(spec.input_schema.0.get()).unwrap();
        told
    });
    told.collect()
}

fn compare(name: &str, told: &impl Serialize) {
    let text = serde_json::to_string_pretty(told).unwrap() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/golden/{name}.json"));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "{} is out of date: run `make types`", file.display());
}

// N-106
#[test]
fn each_context_is_offered_its_tools() {
    let everything = crate::tests::everything();
    let thread = offered(ContextKind::Thread, None, &everything);
    compare("thread", &json_of(&thread));
    compare("editor", &json_of(&offered(ContextKind::Editor, None, &everything)));
    compare("bare", &json_of(&offered(ContextKind::Thread, None, &Resources::default())));
    // Names the tools of other contexts, and lists those that a thread lacks once.
    let (mut contexts, mut beyond) = (BTreeMap::new(), BTreeMap::new());
    for name in ["general", "project", "project_create", "project_audit", "task"] {
        let specs = offered(ContextKind::Thread, Some(name), &everything);
        let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        contexts.insert(name, names);
        let more = specs.into_iter().filter(|spec| thread.iter().all(|known| known.name != spec.name));
        beyond.extend(more.map(|spec| (spec.name.clone(), spec)));
    }
    compare("contexts", &contexts);
    compare("plans_and_projects", &json_of(&beyond.into_values().collect::<Vec<_>>()));
}
