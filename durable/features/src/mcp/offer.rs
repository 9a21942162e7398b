//! Turns the offers of a server into tools: named, bounded, and restricted by default.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::config::{Server, ToolWords};
use super::content::cut;
use super::message::Capabilities;
use super::modern;
use engine::toolbelt::foreign;
use engine::toolbelt::{OutputSchema, PermissionClass, Reads, RunsAt, ToolSpec};
use wire::model::RawValueEq;
use wire::tool_names::{MAX_TOOL_NAME, shortened};

/// The prefix of the tools of servers: `mcp__SERVER__TOOL`. No tool of ours has it.
pub const PREFIX: &str = "mcp__";
/// The most tools of a server, and the most bytes of a description, of a schema, and of all that one server offers.
/// Each model call sends all of it, and the turn's first journal entry stores it.
pub const MAX_TOOLS: usize = 128;
const MAX_DESCRIPTION: usize = 2_000;
const MAX_SCHEMA: usize = 16 << 10;
const MAX_ALL: usize = 128 << 10;
/// The limit of a whole call, as a multiple of the server's timeout. Progress does not extend it.
const PATIENCE: u64 = 4;

/// A tool that a server offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub spec: ToolSpec,
    /// Whether a person must allow each call, unless the operator has a rule about this tool.
    pub asks: bool,
    /// The schema of its structured results.
    pub output_schema: Option<Rc<RawValueEq>>,
}

/// A tool as a server lists it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    name: String,
    #[serde(default, deserialize_with = "wire::json::or_default")]
    description: String,
    #[serde(default, deserialize_with = "wire::json::or_default")]
    input_schema: Map<String, Value>,
    #[serde(default)]
    output_schema: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "wire::json::or_default")]
    annotations: Annotations,
    #[serde(default, deserialize_with = "wire::json::or_default")]
    execution: Execution,
}

/// The execution mode of a tool.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    #[serde(default)]
    task_support: String,
}

/// A server's hints about its tool. By the protocol's defaults a tool changes something, and may destroy it:
/// <https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations>.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    #[serde(default)]
    read_only_hint: Option<bool>,
    #[serde(default)]
    destructive_hint: Option<bool>,
}

impl Annotations {
    /// Whether a person must allow the tool: always, unless the hints call it read-only and do not call it destructive.
    fn asks(&self) -> bool {
        self.read_only_hint != Some(true) || self.destructive_hint == Some(true)
    }
}

/// A page of `tools/list`. An invalid tool does not affect the others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPage {
    pub tools: Vec<Box<RawValue>>,
    pub next_cursor: Option<String>,
}

/// The tools of a server, and the reasons for the tools left out.
#[derive(Default)]
pub struct Offers {
    pub offers: Vec<Offer>,
    pub left_out: Vec<String>,
    names: BTreeSet<String>,
    bytes: usize,
}

impl Offers {
    /// Adds a listed tool.
    pub fn take(&mut self, server: &Server, tool: &RawValue) {
        let Ok(listed) = wire::json::from_str::<ListedTool>(tool.get()) else {
            return self.left_out.push("a tool that cannot be read".to_owned());
        };
        let name = listed.name.clone();
        if server.only.as_ref().is_some_and(|only| !only.contains(&name)) {
            return;
        }
        if let Err(why) = self.try_take(server, listed) {
            self.left_out.push(format!("{}: {why}", cut(name, 100)));
        }
    }

    fn try_take(&mut self, server: &Server, listed: ListedTool) -> Result<(), String> {
        if self.offers.iter().any(|offer| offer.spec.mcp_tool.as_ref() == Some(&listed.name)) {
            return Err("it is listed twice".to_owned());
        }
        if listed.execution.task_support == "required" {
            return Err("it runs as a task only, which is not supported".to_owned());
        }
        let given = listed.input_schema;
        modern::check(&given)?;
        let schema = foreign::normalised(&given)?;
        let output_schema = listed.output_schema.and_then(|schema| usable(&schema));
        let words = server.tools.get(&listed.name).cloned().unwrap_or_default();
        let spec = declare(
            server,
            &words,
            wire_name(&server.name, &listed.name, &self.names),
            cut(listed.description, MAX_DESCRIPTION),
            &schema,
        );
        let spec = spec.with_schema(&given, &schema);
        self.push(Offer {
            spec: ToolSpec { mcp_tool: Some(listed.name), read_only: !listed.annotations.asks(), ..spec },
            asks: listed.annotations.asks(),
            output_schema,
        })
    }

    /// Adds our tools for resources and prompts. The server's own tool of the same name wins.
    pub fn take_reading(&mut self, server: &Server, capabilities: &Capabilities) {
        let of = |has: bool, tools: [Reading; 2]| has.then_some(tools).into_iter().flatten();
        let resources = of(capabilities.resources.is_some(), [Reading::ListResources, Reading::ReadResource]);
        let prompts = of(capabilities.prompts.is_some(), [Reading::ListPrompts, Reading::GetPrompt]);
        for reading in resources.chain(prompts) {
            let name = format!("{PREFIX}{}__{}", server.name, reading.name());
            if self.names.contains(&name)
                || server.only.as_ref().is_some_and(|only| !only.contains(reading.name()))
            {
                continue;
            }
            let words = server.tools.get(reading.name()).cloned().unwrap_or_default();
            let (description, schema) = reading.declaration();
            let description = description.replace("SERVER", &server.name);
            let declared = declare(server, &words, name, description, &schema);
            let spec = ToolSpec { read_only: true, reads: reading.reads(), ..declared };
            if let Err(why) = self.push(Offer { spec, asks: false, output_schema: None }) {
                self.left_out.push(format!("{}: {why}", reading.name()));
            }
        }
    }

    fn push(&mut self, offer: Offer) -> Result<(), String> {
        let spec = &offer.spec;
        let schema = spec.schema_as_given();
        if self.offers.len() >= MAX_TOOLS {
            return Err(format!("a server may have {MAX_TOOLS} tools at most (`only` chooses which)"));
        }
        if schema.len() > MAX_SCHEMA {
            return Err(format!("its schema has more than {MAX_SCHEMA} bytes"));
        }
        let bytes = spec.name.len() + spec.description.len() + schema.len();
        if self.bytes + bytes > MAX_ALL {
            return Err(format!("all tools of a server may have {MAX_ALL} bytes at most"));
        }
        self.bytes += bytes;
        self.names.insert(spec.name.clone());
        self.offers.push(offer);
        Ok(())
    }
}

/// Our tools for a server's resources and prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

impl Reading {
    const ALL: [Reading; 4] =
        [Reading::ListResources, Reading::ReadResource, Reading::ListPrompts, Reading::GetPrompt];

    fn name(self) -> &'static str {
        match self {
            Reading::ListResources => "list_resources",
            Reading::ReadResource => "read_resource",
            Reading::ListPrompts => "list_prompts",
            Reading::GetPrompt => "get_prompt",
        }
    }

    /// The content that it reads for the engine's own calls.
    pub fn reads(self) -> Option<Reads> {
        (self == Reading::ReadResource).then_some(Reads::McpResource)
    }

    /// Finds one by the tool's name.
    pub fn of(server: &str, tool: &str) -> Option<Self> {
        let name = tool.strip_prefix(PREFIX)?.strip_prefix(server)?.strip_prefix("__")?;
        Reading::ALL.into_iter().find(|reading| reading.name() == name)
    }

    fn declaration(self) -> (&'static str, Value) {
        let cursor = json!({"cursor": {"type": "string", "description": "where the list continues; the beginning by default"}});
        let (what, properties, required): (_, _, &[&str]) = match self {
            Reading::ListResources => (
                "Lists the resources of the MCP server SERVER, and the templates of their addresses.",
                cursor,
                &[],
            ),
            Reading::ReadResource => (
                "Reads a resource of the MCP server SERVER.",
                json!({"uri": {"type": "string", "description": "the resource's address, as the server lists it"}}),
                &["uri"],
            ),
            Reading::ListPrompts => ("Lists the prompts of the MCP server SERVER.", cursor, &[]),
            Reading::GetPrompt => (
                "Gets a prompt of the MCP server SERVER: a prepared text for a task.",
                json!({
                    "name": {"type": "string"},
                    "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
                }),
                &["name"],
            ),
        };
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        (what, schema)
    }
}

/// Makes a declaration. The defaults are: class network, not idempotent, one call at a time.
fn declare(
    server: &Server,
    words: &ToolWords,
    name: String,
    description: String,
    schema: &Value,
) -> ToolSpec {
    let schema = RawValue::from_string(schema.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned());
    ToolSpec {
        name,
        description,
        input_schema: Rc::new(RawValueEq(schema)),
        given_schema: None,
        permission_class: Some(words.class.unwrap_or(PermissionClass::Network)),
        parallel_safe: words.parallel_safe,
        exclusive_lock: (!words.parallel_safe).then(|| format!("{PREFIX}{}", server.name)),
        read_only: false,
        idempotent: words.idempotent,
        mcp_server: Some(server.name.clone()),
        mcp_tool: None,
        client_name: None,
        timeout_ms: Some(server.timeout_ms.saturating_mul(PATIENCE)),
        costs: false,
        runs_at: RunsAt::Service,
        serves: None,
        reads: None,
        ask: false,
    }
}

/// The schema of a tool's structured results, as the validator takes it. A schema that cannot be checked checks nothing; the
/// tool works without.
fn usable(given: &RawValue) -> Option<Rc<RawValueEq>> {
    let schema: Map<String, Value> = wire::json::from_str(given.get()).ok()?;
    let schema = foreign::normalised(&schema).ok().filter(|_| given.get().len() <= MAX_SCHEMA)?;
    let schema = Rc::new(RawValueEq(RawValue::from_string(schema.to_string()).ok()?));
    OutputSchema::compile(Rc::clone(&schema)).is_ok().then_some(schema)
}

/// The name for models. `_` replaces characters that providers refuse. A name that is too long or taken ends with a
/// digest of the original name, so a tool has the same name in each turn.
fn wire_name(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = tool.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let name = format!("{PREFIX}{server}__{plain}");
    if name.len() <= MAX_TOOL_NAME && !plain.is_empty() && !taken.contains(&name) {
        return name;
    }
    shortened(&name, tool)
}
