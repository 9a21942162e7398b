//! More than a hundred calls as weak models write them, each with its result or its exact refusal.

#[rustfmt::skip]
mod table;

use std::rc::Rc;

use futures::FutureExt;
use serde_json::json;

use super::*;
use crate::tests::everything;
use engine::calls::{memory, subtask};
use engine::compose::declarations;
use engine::memory::{AgentMemory, Overlay};
use engine::plan::{create, update};
use engine::ports::{ToolContext, ToolError, Tools};
use engine::testing::FakeClock;
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments::{MAX_TOLD_CHARS, WRAPPERS, properties, schema_of};
use table::CALLS;

/// All tools, over a workspace with one file and a list of no projects.
fn standard() -> Standard {
    let files = Rc::new(files::in_memory::InMemory::default());
    files.put("root/notes.md", "one\ntwo\nthree\n");
    Standard::new(&Resources { files: Some(files), ..everything() })
}

fn specs() -> Vec<ToolSpec> {
    declarations().into_iter().chain(standard().all().iter().map(|tool| tool.spec().clone())).collect()
}

/// Makes a call as the engine does. Returns the text for the model.
fn call(name: &str, written: &str) -> Result<String, String> {
    let mut overlay = Overlay::new();
    let mut known = Overlay::new();
    known.insert("pears".to_owned(), "cheap".to_owned());
    let mut seen = AgentMemory::default();
    seen.merge([&known]);
    let told = match name {
        memory::LIST => memory::list(written, &seen),
        memory::READ => memory::read(written, &seen),
        memory::WRITE => memory::write(written, &mut overlay).map(|_| format!("{overlay:?}")),
        subtask::NAME => subtask::arguments(written).map(|arguments| {
            let subtask::Arguments { title, instructions, tools, output_schema } = arguments;
            let schema = output_schema.as_ref().map(|schema| schema.0.get());
            format!("{title:?} {instructions:?} {tools:?} {schema:?}")
        }),
        create::NAME => create::intent(written).map(|intent| {
            let create::Intent { objective, mode, requested_outputs, .. } = intent;
            format!("{objective:?} {mode:?} {requested_outputs:?}")
        }),
        update::NAME => update::arguments(written).map(|arguments| {
            format!("{:?} {:?} {:?}", arguments.plan_id, arguments.action, arguments.changes)
        }),
        name => {
            let standard = standard();
            let tool = standard.all().iter().find(|tool| tool.spec().name == name).unwrap();
            let context = ToolContext {
                clock: Rc::new(FakeClock::at(1_700_000_000_000)),
                operation_id: "call_1".into(),
                time_zone: None,
                workspace_root: Some("root/".into()),
                seen: Rc::default(),
                paid: Rc::default(),
            };
            tool.run(written, context).now_or_never().unwrap()
        }
    };
    told.map_err(|ToolError(text)| text)
}

#[test]
fn near_misses_are_accepted_or_refused_in_words() {
    assert!(CALLS.len() >= 100);
    let mut wrong = Vec::new();
    for (name, written, expected) in CALLS {
        let given = call(name, written);
        let matches = match (&given, expected) {
            // `!` marks an expected part of the text.
            (Ok(told), Ok(expected)) => match expected.strip_prefix('!') {
                Some(part) => told.contains(part),
                None => told == expected,
            },
            (Err(told), Err(expected)) if expected.starts_with('!') => {
                told.contains(expected.trim_start_matches('!'))
            }
            (Err(told), Err(expected)) => {
                let spec = specs().into_iter().find(|spec| spec.name == *name).unwrap();
                let example = schema_of(&spec)["examples"][0].clone();
                let example = if example.is_null() { json!({}) } else { example };
                *told == format!("invalid arguments{expected}. A right call: {example}")
            }
            _ => false,
        };
        if !matches {
            wrong.push(format!("{name} {written}\n  came to  {given:?}\n  in place of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// A model cannot use the words of a parser.
#[test]
fn refusals_have_no_words_of_a_parser() {
    for spec in specs() {
        for written in [
            "{",
            "[",
            "{'a': 1}",
            "{}",
            "[1]",
            "7",
            "{\"a\": \"\\ud800\"}",
            "\"",
            "{} {}",
            "nul",
            "{\"a\" 1}",
        ] {
            let Err(told) = call(&spec.name, written) else { continue };
            for word in [
                "EOF",
                "at line",
                "column",
                "field `",
                "invalid type",
                "expected",
                "serde",
                "trailing",
                "key must",
            ] {
                assert!(!told.contains(word), "{} {written}: {told}", spec.name);
            }
        }
    }
}

#[test]
fn each_example_is_a_right_call() {
    for spec in specs() {
        let schema = schema_of(&spec);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let has_members = properties(&schema).next().is_some();
        let example = schema["examples"].get(0).cloned();
        assert!(example.is_some() || !has_members, "{} has no example", spec.name);
        let example = example.unwrap_or_else(|| json!({}));
        assert!(validator.is_valid(&example), "{}: {example}", spec.name);
        let told = call(&spec.name, &example.to_string());
        assert!(!told.is_err_and(|text| text.starts_with("invalid arguments")), "{}: {example}", spec.name);
        let taken = WRAPPERS.iter().find(|name| properties(&schema).any(|(own, _)| own == *name));
        assert_eq!(taken, None, "{} has a member with a wrapper's name", spec.name);
    }
}

#[test]
fn long_words_of_the_model_are_cut() {
    let long = "x".repeat(MAX_TOLD_CHARS + 1);
    let told = call("calculate", &json!({ (long.clone()): 1 }).to_string()).unwrap_err();
    assert!(told.contains(&format!("{}…", "x".repeat(MAX_TOLD_CHARS))) && !told.contains(&long), "{told}");
}

#[test]
fn long_values_of_the_model_are_cut() {
    let long = "x".repeat(MAX_TOLD_CHARS + 1);
    let told = call("read_file", &json!({"path": "a", "lines": long}).to_string()).unwrap_err();
    assert!(told.contains(&format!("{}…", "x".repeat(MAX_TOLD_CHARS))) && !told.contains(&long), "{told}");
    let just = "x".repeat(MAX_TOLD_CHARS);
    let told = call("read_file", &json!({"path": "a", "lines": just}).to_string()).unwrap_err();
    assert!(told.contains(&format!("{just:?}")), "{told}");
}

// A schema keeps the order of its members, because a model writes its result in that order.
#[test]
fn a_schema_is_kept_as_it_was_written() {
    let written = r#"{"title": "t", "instructions": "i", "output_schema": {"type": "object", "properties": {"z": {}, "a": {}}}, "tools": "calculate"}"#;
    let arguments = subtask::arguments(written).unwrap();
    let schema = arguments.output_schema.unwrap();
    assert_eq!(schema.0.get(), r#"{"type": "object", "properties": {"z": {}, "a": {}}}"#);
}
