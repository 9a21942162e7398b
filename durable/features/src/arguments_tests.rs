//! More than a hundred calls as weak models write them, each with its result or its exact refusal.

use std::rc::Rc;

use futures::FutureExt;
use serde_json::json;

use super::*;
use crate::files::in_memory::InMemory as Files;
use crate::projects::Projects;
use crate::projects::in_memory::InMemory;
use crate::tests::{At, everything};
use engine::calls::{agent_create_plan, agent_update_plan, declarations, memory, run_subtask};
use engine::memory::{AgentMemory, Overlay};
use engine::ports::{ToolContext, ToolError, Tools};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments::{MAX_TOLD_CHARS, WRAPPERS, properties, schema_of};

/// All tools, over a workspace with one file and a list of no projects.
fn standard() -> Standard {
    let files = Rc::new(Files::default());
    files.put("root/notes.md", "one\ntwo\nthree\n");
    let projects: Rc<dyn Projects> = Rc::new(InMemory::default());
    Standard::new(&Resources { files: Some(files), ..everything() }).with_projects(&projects)
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
        run_subtask::NAME => run_subtask::arguments(written).map(|arguments| {
            let run_subtask::Arguments { title, instructions, tools, output_schema } = arguments;
            let schema = output_schema.as_ref().map(|schema| schema.0.get());
            format!("{title:?} {instructions:?} {tools:?} {schema:?}")
        }),
        agent_create_plan::NAME => agent_create_plan::intent(written).map(|intent| {
            let agent_create_plan::Intent { objective, mode, requested_outputs, .. } = intent;
            format!("{objective:?} {mode:?} {requested_outputs:?}")
        }),
        agent_update_plan::NAME => agent_update_plan::arguments(written).map(|arguments| {
            format!("{:?} {:?} {:?}", arguments.plan_id, arguments.action, arguments.changes)
        }),
        name => {
            let standard = standard();
            let tool = standard.all().iter().find(|tool| tool.spec().name == name).unwrap();
            let context = ToolContext {
                clock: Rc::new(At(1_700_000_000_000)),
                operation_id: "call_1".into(),
                workspace_root: Some("root/".into()),
                seen: Rc::default(),
            };
            tool.run(written, context).now_or_never().unwrap()
        }
    };
    told.map_err(|ToolError(text)| text)
}

/// A tool, its arguments as a model wrote them, and the text for the model.
type Call = (&'static str, &'static str, Result<&'static str, &'static str>);

/// Calls that a tool accepts, and calls that it refuses with a description of the problem. An example of a right call
/// follows each refusal.
#[rustfmt::skip]
const CALLS: &[Call] = &[
    // One argument too many.
    ("calculate", r#"{"expression": "17 * 23", "output_schema": {}}"#, Ok("391")),
    ("current_time", r#"{"timezone": "UTC"}"#, Ok("2023-11-14T22:13:20Z")),
    // No arguments, in all known forms.
    ("current_time", "", Ok("2023-11-14T22:13:20Z")),
    ("current_time", "  \n", Ok("2023-11-14T22:13:20Z")),
    ("current_time", "null", Ok("2023-11-14T22:13:20Z")),
    ("current_time", r#""{}""#, Ok("2023-11-14T22:13:20Z")),
    ("current_time", "```\n```", Ok("2023-11-14T22:13:20Z")),
    ("current_time", "[]", Err(": they must be a JSON object")),
    ("current_time", "now", Err(": not valid JSON from line 1, character 2 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("memory_list", r#"{"key": null}"#, Ok("pears (5 bytes)")),
    // Other values in place of a string.
    ("calculate", r#"{"expression": 42}"#, Ok("42")),
    ("calculate", r#"{"expression": 2.5}"#, Ok("2.5")),
    ("calculate", r#"{"expression": ["17", "*", "23"]}"#, Err(" at expression: it must be a string, not a list")),
    ("calculate", r#"{"expression": {"a": 17, "b": 23}}"#, Err(" at expression: it must be a string, not an object")),
    ("calculate", r#"{"expression": null}"#, Err(" at expression: it must be a string, not null")),
    ("memory_write", r#"{"key": 7, "value": true}"#, Ok(r#"{"7": "true"}"#)),
    ("memory_write", r#"{"key": "a", "value": {"b": 1}}"#, Err(" at value: it must be a string, not an object")),
    ("memory_write", r#"{"key": "a", "value": ["b"]}"#, Err(" at value: it must be a string, not a list")),
    ("memory_write", r#"{"key": "a", "value": null}"#, Err(" at value: it must be a string, not null")),
    ("remember", r#"{"content": 7}"#, Ok("remembered as call_1")),
    ("write_file", r#"{"path": "n.txt", "content": 12}"#, Ok(r#"wrote 2 bytes to "n.txt""#)),
    ("write_file", r#"{"path": "n.json", "content": {"a": 1}}"#, Err(" at content: it must be a string, not an object")),
    // A missing or misnamed member.
    ("calculate", "{}", Err(" at expression: it is missing; it must be a string")),
    ("calculate", "", Err(" at expression: it is missing; it must be a string")),
    ("calculate", r#"{"expr": "1 + 1"}"#, Err(r#" at expression: it is missing; it must be a string; there is no member "expr""#)),
    ("calculate", r#"{"a": 17, "b": 23, "op": "*", "precision": 2}"#, Err(r#" at expression: it is missing; it must be a string; there is no member "a", "b", "op""#)),
    ("memory_write", r#"{"key": "a"}"#, Err(" at value: it is missing; it must be a string")),
    ("memory_write", r#"{"key": "a", "content": "b"}"#, Err(r#" at value: it is missing; it must be a string; there is no member "content""#)),
    ("memory_read", r#"{"name": "pears"}"#, Err(r#" at key: it is missing; it must be a string; there is no member "name""#)),
    ("run_subtask", r#"{"instructions": "x"}"#, Err(" at title: it is missing; it must be a string")),
    ("run_subtask", r#"{"task": "x"}"#, Err(r#" at instructions: it is missing; it must be a string; there is no member "task""#)),
    ("edit_file", r#"{"path": "notes.md", "old": "one", "new": "1"}"#, Err(r#" at new_text: it is missing; it must be a string; there is no member "new", "old""#)),
    ("fetch_page", r#"{"link": "https://example.com/"}"#, Err(r#" at url: it is missing; it must be a string; there is no member "link""#)),
    ("forget", "{}", Err(" at id: it is missing; it must be a string")),
    ("update_task", r#"{"status": "done"}"#, Err(" at task_id: it is missing; it must be a string")),
    // Another spelling of a name.
    ("calculate", r#"{"Expression": "1 + 1"}"#, Ok("2")),
    ("calculate", r#"{"EXPRESSION": "1 + 1"}"#, Ok("2")),
    ("read_file", r#"{"path": "notes.md", "fromLine": 3}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"Path": "notes.md", "from-line": "3"}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("edit_file", r#"{"path": "notes.md", "oldText": "", "newText": "1"}"#, Err("!old_text must not be empty, and new_text must differ from it")),
    // Unknown members.
    ("memory_read", r#"{"key": "pears", "default": ""}"#, Ok("cheap")),
    ("memory_write", r#"{"key": "a", "value": "b", "overwrite": true}"#, Ok(r#"{"a": "b"}"#)),
    ("read_file", r#"{"path": "notes.md", "encoding": "utf-8"}"#, Ok("!\none\ntwo\nthree\n</file_content>")),
    ("fetch_page", r#"{"url": "https://example.com/", "method": "GET", "headers": {}}"#, Ok("!https://example.com/")),
    ("web_search", r#"{"query": "pears", "site": "example.com"}"#, Err("!the search service answered with something other than results; try again later")),
    ("recall", r#"{"user": "ada"}"#, Ok("nothing is remembered yet")),
    ("list_projects", r#"{"limit": 10}"#, Ok(r#"{"projects":[]}"#)),
    // Null and empty strings for optional members.
    ("read_file", r#"{"path": "notes.md", "from_line": null, "lines": null}"#, Ok("!\none\ntwo\nthree\n</file_content>")),
    ("read_file", r#"{"path": "notes.md", "from_line": "", "lines": "None"}"#, Ok("!\none\ntwo\nthree\n</file_content>")),
    ("list_files", r#"{"folder": null}"#, Ok("notes.md (14 bytes)")),
    ("list_files", r#"{"folder": ""}"#, Ok("notes.md (14 bytes)")),
    ("recall", r#"{"query": null, "limit": null}"#, Ok("nothing is remembered yet")),
    ("recall", r#"{"query": "", "limit": "null"}"#, Ok("nothing is remembered yet")),
    ("search_collection", r#"{"query": "x", "collection_id": null}"#, Ok("no passage has these words; try others")),
    ("search_collection", r#"{"query": "x", "collection_id": ""}"#, Ok("no passage has these words; try others")),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": null, "output_schema": null}"#, Ok(r#""t" "i" None None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": "", "output_schema": ""}"#, Ok(r#""t" "i" None None"#)),
    ("fetch_page", r#"{"url": "https://example.com/", "from": null, "render": null}"#, Ok("!https://example.com/")),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": null}"#, Ok(r#"!"template_id""#)),
    // Whole numbers.
    ("read_file", r#"{"path": "notes.md", "from_line": "2", "lines": "1"}"#, Ok("!\ntwo\n</file_content>\n[lines 2 to 2 of 3, read on from line 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": " 3 "}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": 3.0}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": "3.0"}"#, Ok("!\nthree\n</file_content>\n[lines 3 to 3 of 3]")),
    ("read_file", r#"{"path": "notes.md", "from_line": 2.5}"#, Err(" at from_line: it must be a whole number of at least 1, not 2.5")),
    ("read_file", r#"{"path": "notes.md", "from_line": 0}"#, Err(" at from_line: it must be a whole number of at least 1, not 0")),
    ("read_file", r#"{"path": "notes.md", "from_line": "-1"}"#, Err(" at from_line: it must be a whole number of at least 1, not -1")),
    ("read_file", r#"{"path": "notes.md", "from_line": "two"}"#, Err(r#" at from_line: it must be a whole number of at least 1, not "two""#)),
    ("read_file", r#"{"path": "notes.md", "lines": true}"#, Err(" at lines: it must be a whole number of at least 1, not true")),
    ("read_file", r#"{"path": "notes.md", "lines": [1, 2]}"#, Err(" at lines: it must be a whole number of at least 1, not a list")),
    ("recall", r#"{"limit": "5"}"#, Ok("nothing is remembered yet")),
    ("recall", r#"{"limit": 0}"#, Err(" at limit: it must be a whole number of at least 1, not 0")),
    ("recall", r#"{"limit": 5000000000}"#, Err(": they are not what the tool takes")),
    ("search_collection", r#"{"query": "x", "limit": "100"}"#, Ok("no passage has these words; try others")),
    ("fetch_page", r#"{"url": "https://example.com/", "from": "0"}"#, Ok("!https://example.com/")),
    ("fetch_page", r#"{"url": "https://example.com/", "from": -1}"#, Err(" at from: it must be a whole number of at least 0, not -1")),
    // True and false.
    ("fetch_page", r#"{"url": "https://example.com/", "render": "false"}"#, Ok("!https://example.com/")),
    ("fetch_page", r#"{"url": "https://example.com/", "render": "False"}"#, Ok("!https://example.com/")),
    ("edit_file", r#"{"path": "notes.md", "old_text": "one", "new_text": "1", "replace_all": "true"}"#, Err(r#"!"notes.md" exists, and you have not read it"#)),
    ("edit_file", r#"{"path": "notes.md", "old_text": "one", "new_text": "1", "replace_all": "yes"}"#, Err(r#" at replace_all: it must be true or false, not "yes""#)),
    ("edit_file", r#"{"path": "notes.md", "old_text": "one", "new_text": "1", "replace_all": 1}"#, Err(" at replace_all: it must be true or false, not 1")),
    ("agent_create_plan", r#"{"objective": "o", "auto_execute": "false"}"#, Ok(r#""o" DraftOnly []"#)),
    // One of a few.
    ("list_tasks", r#"{"project_id": "p", "status": "In Progress"}"#, Err(r#"!there is no project with the id "p""#)),
    ("list_tasks", r#"{"project_id": "p", "status": "DONE"}"#, Err(r#"!there is no project with the id "p""#)),
    ("list_tasks", r#"{"project_id": "p", "status": ""}"#, Err(r#"!there is no project with the id "p""#)),
    ("list_tasks", r#"{"project_id": "p", "status": "finished"}"#, Err(r#" at status: it must be one of "open", "in_progress", "done", not "finished""#)),
    ("agent_update_plan", r#"{"plan_id": 1, "action": "Run"}"#, Ok(r#""1" Run """#)),
    ("agent_update_plan", r#"{"plan_id": "p", "action": "execute"}"#, Err(r#" at action: it must be one of "run", "change", "drop", not "execute""#)),
    ("agent_update_plan", r#"{"plan_id": "p"}"#, Err(r#" at action: it is missing; it must be one of "run", "change", "drop""#)),
    ("agent_update_plan", r#"{"plan_id": "p", "action": "change"}"#, Err(" at changes: it must say in 1 to 4000 characters what to change")),
    ("agent_create_plan", r#"{"objective": "o", "execution_mode": "Draft only"}"#, Ok(r#""o" DraftOnly []"#)),
    ("agent_create_plan", r#"{"objective": "o", "execution_mode": "fast"}"#, Ok(r#""o" AutoExecute []"#)),
    ("agent_create_plan", r#"{"objective": ""}"#, Err(" at objective: it must have 1 to 4000 characters")),
    // Lists.
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": "calculate"}"#, Ok(r#""t" "i" Some(["calculate"]) None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": "[\"calculate\"]"}"#, Ok(r#""t" "i" Some(["calculate"]) None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": []}"#, Ok(r#""t" "i" Some([]) None"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": {"calculate": true}}"#, Err(" at tools: it must be a list of strings, not an object")),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": true}"#, Err(" at tools: it must be a list of strings, not true")),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "tools": [{"name": "calculate"}]}"#, Err(" at tools[0]: it must be a string, not an object")),
    ("agent_create_plan", r#"{"objective": "o", "requested_outputs": "a report"}"#, Ok(r#""o" AutoExecute ["a report"]"#)),
    ("agent_create_plan", r#"{"objective": "o", "requested_outputs": [1]}"#, Ok(r#""o" AutoExecute ["1"]"#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": {"title": "Pack"}}"#, Ok(r#"!"template_id""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": [{"title": "Pack", "blocked_by": null, "done": false}]}"#, Ok(r#"!"template_id""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": ["Pack"]}"#, Err(r#" at tasks[0]: it must be an object, not "Pack""#)),
    ("create_template", r#"{"name": "N", "description": "d", "tasks": [{"name": "Pack"}]}"#, Err(r#" at tasks[0].title: it is missing; it must be a string; there is no member "name""#)),
    // Objects.
    ("run_subtask", r#"{"title": "t", "instructions": "i", "output_schema": {"type": "object", "a": 1}}"#, Ok(r#""t" "i" None Some("{\"type\": \"object\", \"a\": 1}")"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "output_schema": "{\"type\": \"object\"}"}"#, Ok(r#""t" "i" None Some("{\"type\":\"object\"}")"#)),
    ("run_subtask", r#"{"title": "t", "instructions": "i", "output_schema": "a table"}"#, Err(" at output_schema: it must be an object: a JSON Schema")),
    // The arguments within something else.
    ("calculate", "```json\n{\"expression\": \"1 + 1\"}\n```", Ok("2")),
    ("calculate", "```{\"expression\": \"1 + 1\"}```", Ok("2")),
    ("calculate", r#""{\"expression\": \"1 + 1\"}""#, Ok("2")),
    ("calculate", r#"{"arguments": {"expression": "1 + 1"}}"#, Ok("2")),
    ("calculate", r#"{"name": "calculate", "parameters": {"expression": "1 + 1"}}"#, Ok("2")),
    ("calculate", r#"{"type": "object", "properties": {"expression": "1 + 1"}}"#, Ok("2")),
    ("recall", r#"{"input": {"limit": 3}}"#, Ok("nothing is remembered yet")),
    ("calculate", r#"{"properties": {"expression": {"type": "string"}}}"#, Err(" at expression: it must be a string, not an object")),
    ("calculate", r#"[{"expression": "1 + 1"}]"#, Err(": they must be a JSON object")),
    ("calculate", r#""1 + 1""#, Err(": they must be a JSON object")),
    ("calculate", "42", Err(": they must be a JSON object")),
    // No JSON.
    ("calculate", r#"{"expression": "1 + 1""#, Err(": not valid JSON: it ends before it is complete")),
    ("calculate", r#"{"expression": "1 + "#, Err(": not valid JSON: it ends before it is complete")),
    ("calculate", "{'expression': '1 + 1'}", Err(": not valid JSON from line 1, character 2 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "{expression: 1}", Err(": not valid JSON from line 1, character 2 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "1 + 1", Err(": not valid JSON from line 1, character 3 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", r#"{"expression": "1 + 1",}"#, Err(": not valid JSON from line 1, character 24 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "{\"expression\": \"1 + 1\"} I will now wait.", Err(": not valid JSON from line 1, character 25 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    ("calculate", "{\"expression\": \"1\"}\n{\"expression\": \"2\"}", Err(": not valid JSON from line 2, character 1 on: names and strings stand in double quotes, and nothing follows the last bracket")),
    // Refusals by the tools themselves.
    ("calculate", r#"{"expression": "two plus two"}"#, Err(r#"!this cannot be calculated: "two" is neither a number nor a function that is known here"#)),
    ("calculate", r#"{"expression": ""}"#, Err("!this cannot be calculated: it ends where a number is expected")),
    ("run_subtask", r#"{"title": " ", "instructions": "i"}"#, Err(" at title: it must not be blank")),
];

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
    assert!(projects::specs().count() > 0);
}

#[test]
fn long_words_of_the_model_are_cut() {
    let long = "x".repeat(MAX_TOLD_CHARS + 1);
    let told = call("calculate", &json!({ (long.clone()): 1 }).to_string()).unwrap_err();
    assert!(told.contains(&format!("{}…", "x".repeat(MAX_TOLD_CHARS))) && !told.contains(&long), "{told}");
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
    let arguments = run_subtask::arguments(written).unwrap();
    let schema = arguments.output_schema.unwrap();
    assert_eq!(schema.0.get(), r#"{"type": "object", "properties": {"z": {}, "a": {}}}"#);
}
