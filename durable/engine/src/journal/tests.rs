//! The journal's format over time: a new member or fact needs a golden journal, and one that restricts raises
//! [`LEAST_READER`].

// The schemas of the types tell which members there are.
#![cfg(feature = "openapi")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Agent, AgentLife, AgentSetting, Entry, FORMAT, Fact, LEAST_READER, LevelSpec, Session, TurnSpec,
};
use crate::profiles::Limits;
use crate::testing::{Case, script};
use crate::toolbelt::{ToolPolicy, ToolSpec};
use wire::model::RawMessage;
use wire::protocol::{DataUrl, Hook, WorkflowDefinition, WorkflowStep, WorkflowVerifier};

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
        // A turn with such a tool names 10.
        ("costs", 2),
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

/// A type of which only turns with a least reader of their own have values.
struct Guarded {
    schema: schemars::Schema,
    /// The least reader of a turn that has such a value.
    least: u32,
    /// Its members: the oldest format that goes on with a turn which has the member, and why that needs no newer one, or what
    /// raises the number.
    members: &'static [(&'static str, u32, &'static str)],
}

/// The least reader of a turn that this changes.
fn least_reader(change: impl Fn(&mut TurnSpec)) -> u32 {
    let mut spec = Case::new(script(&[])).spec();
    change(&mut spec);
    spec.with_least_reader().least_reader
}

fn hook(on: &str) -> Hook {
    serde_json::from_value(json!({"name": "guard", "on": on})).unwrap()
}

/// A session whose step has a verifier, with this member or without one.
fn session(instructions: Option<&str>) -> Box<Session> {
    let verifier = json!({"threshold": "medium", "instructions": instructions});
    let step = json!({"id": "a", "title": "A", "instructions": "a", "verifier": verifier});
    let definition = json!({"name": "w", "steps": [step]});
    let session = json!({
        "session_id": "s", "workflow_id": "w", "definition": definition, "goal": "", "step": 0,
    });
    Box::new(serde_json::from_value(session).unwrap())
}

const AGENT: &[(&str, u32, &str)] = &[
    ("code", 3, "it came two days after format 3: older code asks the turn's model, with no more tools"),
    ("denied", 3, "the format that brought agents"),
    ("heard", 3, "the format that brought agents"),
    ("hooks", 3, "the format that brought agents; a hook that judges answers raises it to 9"),
    ("id", 3, "the format that brought agents"),
    ("instructions", 3, "the format that brought agents"),
    ("interlocutors", 3, "the format that brought agents"),
    ("missed", 3, "the format that brought agents"),
    ("name", 3, "the format that brought agents"),
    ("parent", 3, "the format that brought agents"),
    ("servers", 3, "the format that brought agents"),
    ("tools", 3, "the format that brought agents"),
];

const HOOK: &[(&str, u32, &str)] = &[
    ("builtin", 3, "the format that brought hooks"),
    ("has_quit", 3, "of lists alone: no definition has it"),
    ("instructions", 3, "the format that brought hooks"),
    ("match", 3, "the format that brought hooks"),
    ("name", 3, "the format that brought hooks"),
    ("of", 3, "the format that brought hooks"),
    ("on", 3, "the format that brought hooks; its value `answer` raises it to 9"),
    ("options", 3, "the format that brought hooks"),
    ("put_at", 3, "lives alone compare it, and a turn with one names 8"),
    ("reads", 3, "it came three hours after format 3, before any release of that"),
];

const SESSION: &[(&str, u32, &str)] = &[
    ("context", 4, "the format that brought sessions"),
    ("definition", 4, "the format that brought sessions"),
    ("goal", 4, "the format that brought sessions"),
    ("notes", 4, "the format that brought sessions"),
    ("repeated_call", 4, "it restricts nothing: older code may tell readers of a repeated call once more"),
    ("revision", 4, "the format that brought sessions"),
    ("session_id", 4, "the format that brought sessions"),
    ("status", 4, "the format that brought sessions"),
    ("step", 4, "the format that brought sessions"),
    ("workflow_id", 4, "the format that brought sessions"),
];

const DEFINITION: &[(&str, u32, &str)] = &[
    ("goal", 4, "the format that brought sessions"),
    ("name", 4, "the format that brought sessions"),
    ("notify", 4, "it restricts nothing: older code does not send the notice of the end"),
    ("steps", 4, "the format that brought sessions"),
    ("stuck", 4, "the format that brought sessions"),
];

const STEP: &[(&str, u32, &str)] = &[
    ("id", 4, "the format that brought sessions"),
    ("instructions", 4, "the format that brought sessions"),
    ("output_mode", 4, "the format that brought sessions"),
    ("review", 4, "the format that brought sessions"),
    ("title", 4, "the format that brought sessions"),
    ("tools", 4, "the format that brought sessions"),
    ("type", 4, "the format that brought sessions"),
    ("verifier", 4, "the format that brought sessions"),
];

const VERIFIER: &[(&str, u32, &str)] = &[
    ("instructions", 7, "a turn whose verifier has them names 7"),
    ("model", 4, "the format that brought sessions"),
    ("threshold", 4, "the format that brought sessions"),
];

const RAW_MESSAGE: &[(&str, u32, &str)] = &[
    ("json", 1, "the message itself"),
    (
        "model",
        1,
        "a codec returns no message to another model, so it sends the plain one where this is missing",
    ),
    ("provider", 1, "as the model"),
    ("wire", 1, "as the model"),
];

// Issue 46, 2. Code that does not know a member of these drops it silently. The commit that adds one says here why its turn
// goes on all the same, or lets the turn name a newer least reader.
#[test]
fn a_member_of_an_agent_a_hook_or_a_session_raises_the_least_reader_or_says_why_not() {
    let kept = Agent { hooks: vec![hook("answer")], ..Agent::default() };
    let agents = |kept: &[Agent]| Some(AgentSetting { kept: kept.to_vec(), ..AgentSetting::default() });
    let with_agent = least_reader(|spec| spec.setting.agents = agents(&[Agent::default()]));
    let with_hook = least_reader(|spec| spec.setting.hooks = vec![hook("action")]);
    let with_session = least_reader(|spec| spec.setting.session = Some(session(None)));
    let own_judgement = least_reader(|spec| spec.setting.session = Some(session(Some("Be strict."))));
    let of = |schema, least, members| Guarded { schema, least, members };
    for Guarded { schema, least, members } in [
        of(schemars::schema_for!(Agent), with_agent, AGENT),
        of(schemars::schema_for!(Hook), with_hook, HOOK),
        of(schemars::schema_for!(Session), with_session, SESSION),
        of(schemars::schema_for!(WorkflowDefinition), with_session, DEFINITION),
        of(schemars::schema_for!(WorkflowStep), with_session, STEP),
        of(schemars::schema_for!(WorkflowVerifier), own_judgement, VERIFIER),
        of(schemars::schema_for!(RawMessage), LEAST_READER, RAW_MESSAGE),
    ] {
        let names: BTreeSet<&str> =
            schema.as_value()["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, members.iter().map(|(name, ..)| *name).collect::<BTreeSet<_>>());
        let beyond: Vec<_> = members.iter().filter(|(_, format, _)| *format > least).collect();
        assert!(beyond.is_empty(), "a turn with these names {least}: {beyond:?}");
    }
    // A text: it has no members that could be dropped.
    let data = schemars::schema_for!(DataUrl);
    assert_eq!((&data.as_value()["type"], &data.as_value()["properties"]), (&json!("string"), &Value::Null));
    // The reasons that name a number.
    assert_eq!(least_reader(|spec| spec.setting.shape = Some(Box::default())), 10);
    assert_eq!(least_reader(|spec| spec.setting.hooks = vec![hook("answer")]), 9);
    assert_eq!(least_reader(|spec| spec.setting.agents = agents(std::slice::from_ref(&kept))), 9);
    assert_eq!(least_reader(|spec| spec.setting.life = Some(Box::new(AgentLife::default()))), 8);
    assert_eq!((with_agent, with_hook, with_session, own_judgement), (3, 3, 4, 7));
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
