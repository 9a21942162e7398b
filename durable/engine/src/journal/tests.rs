//! The journal's format over time: a new member or fact needs a golden journal, and one that restricts raises
//! [`LEAST_READER`].

// The schemas of the types tell which members there are.
#![cfg(feature = "openapi")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Entry, FORMAT, Fact, LEAST_READER, LevelSpec};
use crate::profiles::Limits;
use crate::toolbelt::{ToolPolicy, ToolSpec};

/// The golden journals of a format.
fn journals(format: u32) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/journal/golden/{format}"));
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

/// The members and facts that a JSON Schema names, and those of them that values have. A member is named by its type
/// and its own name; the alternatives of an enum are members too.
struct Members<'a> {
    schema: &'a Value,
    named: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl<'a> Members<'a> {
    fn resolve(&self, schema: &'a Value, within: &str) -> (&'a Value, String) {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(path) => {
                let name = path.rsplit('/').next().unwrap();
                (&self.schema["$defs"][name], name.to_owned())
            }
            None => (schema, within.to_owned()),
        }
    }

    fn alternatives(schema: &'a Value) -> impl Iterator<Item = &'a Value> {
        ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|of| schema[of].as_array()).flatten()
    }

    /// Names all members below a schema.
    fn name(&mut self, schema: &'a Value, within: &str) {
        let (schema, within) = self.resolve(schema, within);
        let mut nested = Vec::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{within}.{name}");
            if self.named.insert(path.clone()) {
                nested.push((member, path));
            }
        }
        let inner = ["items", "additionalProperties"].map(|of| &schema[of]);
        let inner = inner.into_iter().filter(|schema| schema.is_object()).chain(Self::alternatives(schema));
        for (schema, path) in nested.into_iter().chain(inner.map(|schema| (schema, within.clone()))) {
            self.name(schema, &path);
        }
    }

    /// Notes the members that a value has.
    fn see(&mut self, schema: &'a Value, within: &str, value: &Value) {
        let (schema, within) = self.resolve(schema, within);
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value.get(name).filter(|value| !value.is_null()) {
                let path = format!("{within}.{name}");
                self.seen.insert(path.clone());
                self.see(member, &path, value);
            }
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            values.iter().for_each(|value| self.see(items, &within, value));
        }
        if let (Some(of_each), Some(values)) = (schema.get("additionalProperties"), value.as_object()) {
            values.values().for_each(|value| self.see(of_each, &within, value));
        }
        for alternative in Self::alternatives(schema) {
            // Alternatives of an enum are told apart by the members that they require.
            let (resolved, _) = self.resolve(alternative, &within);
            let required = resolved["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            if required.clone().all(|name| value.get(name).is_some()) {
                self.see(alternative, &within, value);
            }
        }
    }
}

/// Members that the turns of the engine's tests lack, with the reason.
const NOT_PLAYED: &[(&str, &str)] = &[
    ("ModelOptions.", "the operator's, handed through to the provider; read leniently by its own defaults"),
    ("RawMessage.", "made by the providers' codecs, which have golden files of their own"),
    ("ModelReply.raw", "see RawMessage"),
    ("Message.assistant.raw", "see RawMessage"),
    ("ContentPart.", "parts of the wire, which has golden files of its own"),
    ("ToolSpec.mcp_", "made by the MCP client"),
    ("TurnSpec.replaces_message_id", "a reference to a message, which the engine hands through"),
    ("Hook.has_quit", "a member of lists alone: no definition has it"),
    ("TurnStop.detail", "of an internal failure: the engine's tests have none"),
];

#[test]
fn every_member_and_every_fact_stands_in_a_golden_journal() {
    let schema = schemars::schema_for!(Entry);
    let schema = schema.as_value();
    let mut members = Members { schema, named: BTreeSet::new(), seen: BTreeSet::new() };
    members.name(schema, "Entry");
    for path in journals(FORMAT) {
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            members.see(schema, "Entry", &serde_json::from_str(line).unwrap());
        }
    }
    let excused = |member: &str| NOT_PLAYED.iter().any(|(beginning, _)| member.starts_with(beginning));
    let missing: Vec<&String> =
        members.named.difference(&members.seen).filter(|member| !excused(member)).collect();
    assert!(
        missing.is_empty(),
        "these members stand in no journal of src/journal/golden/{FORMAT}: {missing:#?}\n\
         Add them to a scenario of turn/tests/golden and write the journals anew: make journals"
    );
}

// The members that restrict a turn, with the format that brought them. Code of an older format would ignore a
// new member, and the turn would lose the limit. The commit that adds one must raise FORMAT and LEAST_READER.
// Long: a table of all such members.
#[test]
fn a_member_that_restricts_raises_the_least_reader() {
    let limits = [
        ("approval_wait_ms", 1),
        ("client_wait_ms", 1),
        ("depth", 1),
        ("history_tokens", 1),
        ("iterations", 1),
        ("llm_calls", 1),
        // Code that does not know these two ends the turn at its limit, and grants nothing.
        ("on_limit", 2),
        ("output_tokens", 1),
        ("parallel", 1),
        ("plan_ms", 1),
        ("quota", 2),
        ("root_tool_calls", 1),
        ("schema_retries", 1),
        ("step_iterations", 1),
        ("step_ms", 1),
        ("subtasks", 1),
        ("tool_calls", 1),
        ("tool_result_bytes", 1),
        ("turn_cost_microusd", 1),
        ("turn_result_bytes", 1),
        ("turn_tokens", 1),
        ("wall_clock_ms", 1),
    ];
    let policy = [
        ("allowed_mcp_servers", 1),
        ("approved", 1),
        ("classes", 1),
        ("collections", 1),
        ("memory", 1),
        ("rules", 1),
        ("workspace_root", 1),
    ];
    let tool = [
        ("ask", 1),
        ("client_name", 1),
        ("description", 1),
        ("exclusive_lock", 1),
        // It is the original of a schema, of which `input_schema` has all.
        ("given_schema", 2),
        ("idempotent", 1),
        ("input_schema", 1),
        ("mcp_server", 1),
        ("mcp_tool", 1),
        ("name", 1),
        ("parallel_safe", 1),
        ("permission_class", 1),
        ("read_only", 2),
        // It says what a tool is for, and restricts nothing.
        ("reads", 2),
        ("runs_at", 1),
        // It says what a tool is for, and restricts nothing.
        ("serves", 2),
        ("timeout_ms", 1),
    ];
    let level = [
        // It names the level, and restricts nothing.
        ("agent", 2),
        ("covers", 2),
        // Only an agent's level has them, and older code does not go on with a turn that has agents.
        ("hooks", 2),
        ("instructions", 2),
        ("iterations", 2),
        ("left_out", 2),
        ("models", 2),
        ("own_tools", 2),
        ("partial", 2),
        ("reminder", 2),
        ("rules", 2),
        ("system", 2),
        ("toolset", 2),
    ];
    for (schema, known) in [
        (schemars::schema_for!(Limits), &limits[..]),
        (schemars::schema_for!(ToolPolicy), &policy[..]),
        (schemars::schema_for!(ToolSpec), &tool[..]),
        (schemars::schema_for!(LevelSpec), &level[..]),
    ] {
        let members: BTreeSet<&str> =
            schema.as_value()["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, known.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>());
        assert!(known.iter().all(|(_, since)| *since <= LEAST_READER));
    }
    const { assert!(LEAST_READER <= FORMAT) }
}

#[test]
fn entries_are_read_leniently() {
    let read = |json: &str| serde_json::from_str::<Entry>(json).unwrap();
    let entry = read(
        r#"{"at":"0.0","news":1,"fact":{"tool_started":{"place":{"parent_id":null,"depth":0},"more":[]}}}"#,
    );
    assert_eq!((entry.at.as_str(), entry.elapsed_ms), ("0.0", 0));
    assert!(matches!(entry.fact, Fact::ToolStarted { subtask: false, .. }), "{entry:?}");
    for unknown in [r#"{"dreamt":{}}"#, r#""resumed""#, r#"{"resumed":{"count":"x"}}"#] {
        let entry = read(&format!(r#"{{"at":"","elapsed_ms":1,"fact":{unknown}}}"#));
        assert!(matches!(entry.fact, Fact::Unknown(_)), "{entry:?}");
    }
}
