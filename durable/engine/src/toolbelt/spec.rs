//! The declaration of a tool.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use wire::model::{RawValueEq, ToolDefinition};
use wire::store::StoreError;

/// The effect that a tool can have on the world. Policies are written in these classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PermissionClass {
    /// Pure reads: no network, no files.
    Safe,
    /// The turn's memory, catalogues.
    Knowledge,
    /// Outgoing requests.
    Network,
    /// Files of the workspace, reading included.
    WorkspaceWrite,
    /// Changes the document that is open in the editor.
    EditorMutate,
    /// Starts or ends a subtask.
    Subagent,
    /// Reads or writes the user's secrets.
    Secrets,
    /// Makes pictures or sounds, or reads recordings, at a provider that may take money for it.
    Media,
}

impl PermissionClass {
    /// All of them.
    pub const ALL: [PermissionClass; 8] = [
        PermissionClass::Safe,
        PermissionClass::Knowledge,
        PermissionClass::Network,
        PermissionClass::WorkspaceWrite,
        PermissionClass::EditorMutate,
        PermissionClass::Subagent,
        PermissionClass::Secrets,
        PermissionClass::Media,
    ];

    /// The name in JSON and in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            PermissionClass::Safe => "safe",
            PermissionClass::Knowledge => "knowledge",
            PermissionClass::Network => "network",
            PermissionClass::WorkspaceWrite => "workspace_write",
            PermissionClass::EditorMutate => "editor_mutate",
            PermissionClass::Subagent => "subagent",
            PermissionClass::Secrets => "secrets",
            PermissionClass::Media => "media",
        }
    }
}

/// A tool's declaration. A tool without a class is refused, never offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON Schema of type object.
    #[serde(with = "wire::model::as_text")]
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    pub input_schema: Rc<RawValueEq>,
    /// The JSON of the schema as the tool's owner wrote it, where `input_schema` is another form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_schema: Option<String>,
    pub permission_class: Option<PermissionClass>,
    /// May run beside other calls of its round.
    #[serde(default)]
    pub parallel_safe: bool,
    /// Two calls with the same lock never overlap, wherever in the tree they are.
    pub exclusive_lock: Option<String>,
    /// Changes nothing, here or elsewhere. A person who must allow a call reads it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// May run again, with the same operation id, after an interruption lost its result.
    #[serde(default)]
    pub idempotent: bool,
    /// The MCP server that offers it; none for our own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<String>,
    /// That server's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_tool: Option<String>,
    /// The client's own name for its tool, where `name` is a shortened form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Milliseconds after which the call fails; none for a subtask, which has the turn's deadline.
    pub timeout_ms: Option<u64>,
    /// A call may cost money beside the turn's models ([`Charge`](super::Charge)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub costs: bool,
    /// The side that carries a call out.
    #[serde(default)]
    pub runs_at: RunsAt,
    /// A person must allow each call.
    #[serde(default)]
    pub ask: bool,
    /// The service of the tool to the engine's own calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<Serves>,
    /// The content that the tool reads for the engine's own calls. It is no value of `serves`: code that does not know a
    /// value cannot read entry 0, and code that does not know a member goes on without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reads>,
}

/// A service to the engine's own calls. They find a tool by this fact and not by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    /// Searches the web: takes `{query}`, and `Tool::addresses` reads its results.
    WebSearch,
    /// Reads a page of the web: takes `{url}`, and its result is the page's text.
    WebPage,
}

/// Content that the engine's own calls need. They find the tool that reads it by this fact and not by its name, and
/// `Tool::content` takes it out of the tool's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// A file of the turn's workspace: the tool takes `{path}`.
    WorkspaceFile,
    /// A resource of the MCP server that offers the tool: the tool takes `{uri}`.
    McpResource,
}

/// The side that carries a call out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunsAt {
    #[default]
    Service,
    /// The client that brought the tool: it posts the result.
    Client,
}

impl ToolSpec {
    /// The same with the schema of another. `normal` is the form of `given` that models and the validator get.
    pub fn with_schema(self, given: &Map<String, Value>, normal: &Value) -> Self {
        let is_same = normal.as_object() == Some(given);
        let given_schema = (!is_same).then(|| Value::Object(given.clone()).to_string());
        ToolSpec { input_schema: Rc::new(RawValueEq(raw(normal))), given_schema, ..self }
    }

    /// The same without an optional argument.
    pub fn without_argument(self, name: &str) -> Self {
        let mut schema: Value = wire::json::from_str(self.input_schema.0.get()).unwrap_or_default();
        if let Some(arguments) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            arguments.remove(name);
        }
        ToolSpec { input_schema: Rc::new(RawValueEq(raw(&schema))), ..self }
    }

    /// The schema as the tool's owner wrote it.
    pub fn schema_as_given(&self) -> &str {
        self.given_schema.as_deref().unwrap_or(self.input_schema.0.get())
    }

    /// The tool as a model sees it.
    pub fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: Rc::clone(&self.input_schema),
        }
    }

    /// The name of its permission class, for a person.
    pub fn class_name(&self) -> &'static str {
        self.permission_class.map(|class| class.as_str()).unwrap_or_default()
    }

    /// Whether a call leaves nothing outside, so that it may begin before its start is written.
    pub fn is_pure(&self) -> bool {
        self.permission_class == Some(PermissionClass::Safe) && self.idempotent && self.mcp_server.is_none()
    }

    /// Whether calls of this tool run in the serial queue, in the model's order (N-046). Some tools of the
    /// class `workspace_write` run in parallel, since they only read. Those of a client say it themselves.
    pub fn serial(&self) -> bool {
        !self.parallel_safe
            || self.exclusive_lock.is_some()
            || (self.permission_class == Some(PermissionClass::EditorMutate)
                && self.runs_at != RunsAt::Client)
    }
}

/// A tool's failure. The model reads it (`is_error`) and decides how to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError(pub String);

impl ToolError {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Self {
        ToolError(text.into())
    }
}

/// The storage's text is for the operator.
impl From<StoreError> for ToolError {
    fn from(_: StoreError) -> Self {
        ToolError("this is not available at the moment; try again later, or go on without it".to_owned())
    }
}

/// A declaration with the defaults: parallel-safe, idempotent, not read-only, no lock, 30 s.
pub fn declare(name: &str, class: PermissionClass, description: &str, schema: serde_json::Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: Rc::new(RawValueEq(raw(&schema))),
        given_schema: None,
        permission_class: Some(class),
        parallel_safe: true,
        exclusive_lock: None,
        read_only: false,
        idempotent: true,
        mcp_server: None,
        mcp_tool: None,
        client_name: None,
        timeout_ms: Some(30_000),
        costs: false,
        runs_at: RunsAt::Service,
        ask: false,
        serves: None,
        reads: None,
    }
}

/// Converts a value to raw JSON. Its text is always valid JSON, so the fallback to `null` never runs.
pub(super) fn raw(schema: &serde_json::Value) -> Box<RawValue> {
    RawValue::from_string(schema.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
