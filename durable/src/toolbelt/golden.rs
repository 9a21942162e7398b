//! What each context is offered, written down: a change of a declaration is seen in the files beside this one.
//! `make types` writes them, every other test run compares.

use std::path::Path;

use serde_json::Value;

use super::ToolPolicy;
use crate::protocol::ContextKind;
use crate::tools::{self, Resources, Standard};

/// Set by `make types`.
const WRITE: &str = "ESPALIER_WRITE_TYPES";

// N-106
#[test]
fn what_each_context_is_offered() {
    let everything = tools::tests::everything();
    for (name, context, resources) in [
        ("thread", ContextKind::Thread, &everything),
        ("editor", ContextKind::Editor, &everything),
        ("bare", ContextKind::Thread, &Resources::default()),
    ] {
        let policy = ToolPolicy { workspace_root: Some("root/".to_owned()), ..ToolPolicy::of(context) };
        let offered = tools::offered(&Standard::new(resources), &[], &policy);
        let told: Vec<Value> = offered
            .iter()
            .map(|spec| {
                let mut told = serde_json::to_value(spec).unwrap();
                told["input_schema"] = serde_json::from_str(spec.input_schema.0.get()).unwrap();
                told
            })
            .collect();
        let text = serde_json::to_string_pretty(&told).unwrap() + "\n";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/toolbelt/golden/{name}.json"));
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(written == text, "{} is not what is offered: run `make types`", file.display());
    }
}
