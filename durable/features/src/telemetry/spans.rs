//! The spans of a finished turn, by the semantic conventions of OpenTelemetry for generative AI: the turn invokes an agent,
//! and each model call and each tool call is a span below the call around it. Pure.

use std::collections::BTreeSet;

use engine::journal::CallRecord;
use serde_json::Error;
use sha2::{Digest, Sha256};
use wire::protocol::{ExecutionTree, FinishReason, StoredMessage, TreeModelCall, TreeNode, hex};

use super::Config;
use super::otlp::{Attributes, Export, Resource, ResourceSpans, Scope, ScopeSpans, Span, Status};

/// The version of the conventions. They are in development, so another one may have other names.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// The longest name of a tool. Providers take names of 64 bytes.
const MAX_TOOL_NAME_BYTES: usize = 64;
/// The name of the agent that a turn is.
const AGENT: &str = "espalier";

/// A turn that has ended.
pub struct Finished<'a> {
    pub tenant: &'a str,
    pub thread_id: &'a str,
    pub context_type: &'a str,
    /// The time of the user's message, in milliseconds since 1970, where it came with the end of its turn.
    pub began_at: Option<u64>,
    pub message: &'a StoredMessage,
    pub calls: &'a [CallRecord],
}

/// The body of an export.
pub fn export(config: &Config, turns: &[Finished<'_>]) -> Result<Vec<u8>, Error> {
    let mut attributes = Attributes::default();
    attributes.text("service.name", config.service.as_str());
    attributes.text("service.version", env!("CARGO_PKG_VERSION"));
    let spans = turns.iter().flat_map(|turn| spans(turn, config.has_content)).collect();
    let scope = Scope { name: AGENT, version: env!("CARGO_PKG_VERSION") };
    let scope_spans = [ScopeSpans { scope, spans, schema_url: SCHEMA }];
    let resource_spans =
        [ResourceSpans { resource: Resource { attributes }, scope_spans, schema_url: SCHEMA }];
    serde_json::to_vec(&Export { resource_spans })
}

/// The values that all spans of a turn share.
struct Trace<'a> {
    turn: &'a Finished<'a>,
    id: String,
    root: String,
    /// The beginning of the turn, in milliseconds since 1970.
    began_at: u64,
    /// The ids of the nodes that are in the tree.
    nodes: BTreeSet<&'a str>,
    has_content: bool,
}

fn spans(turn: &Finished<'_>, has_content: bool) -> Vec<Span> {
    let none = ExecutionTree::default();
    let tree = turn.message.execution_tree.as_ref().unwrap_or(&none);
    let ended = |start: Option<u64>, ms: u64| start.unwrap_or_default().saturating_add(ms);
    let models = tree.model_calls.iter().map(|call| ended(Some(call.started_ms), call.duration_ms));
    let tools = tree.nodes.iter().map(|node| ended(node.started_ms, node.duration_ms));
    let running = models.chain(tools).max().unwrap_or_default();
    let ended_at = turn.message.created_at;
    let trace = Trace {
        turn,
        id: digest(&[turn.tenant, turn.thread_id, &turn.message.turn_id, &turn.message.id], 16),
        root: digest(&[&turn.message.id], 8),
        began_at: turn.began_at.unwrap_or(ended_at.saturating_sub(running)).min(ended_at),
        nodes: tree.nodes.iter().map(|node| node.id.as_str()).collect(),
        has_content,
    };
    let calls = tree.model_calls.iter().map(|call| trace.model(call));
    let nodes = tree.nodes.iter().map(|node| trace.tool(node));
    [trace.root()].into_iter().chain(calls).chain(nodes).collect()
}

impl Trace<'_> {
    /// The whole turn.
    fn root(&self) -> Span {
        let Finished { tenant, context_type, message, .. } = self.turn;
        let mut attributes = self.of("invoke_agent");
        attributes.text("gen_ai.agent.name", AGENT);
        // Of the turn's models the one that was asked last.
        let provider = self.turn.calls.iter().rev().find_map(|record| match record {
            CallRecord::Model { provider, .. } => Some(provider),
            _ => None,
        });
        provider.iter().for_each(|name| attributes.text("gen_ai.provider.name", provider_name(name)));
        if let Some(usage) = &message.usage {
            attributes.number("gen_ai.usage.input_tokens", usage.input_tokens);
            attributes.number("gen_ai.usage.output_tokens", usage.output_tokens);
            attributes.number("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
            usage.cost_usd.into_iter().for_each(|cost| attributes.amount("espalier.cost_usd", cost));
        }
        attributes.text("espalier.tenant", *tenant);
        attributes.text("espalier.turn_id", message.turn_id.as_str());
        attributes.text("espalier.context_type", *context_type);
        let reason = message.finish_reason.map(word);
        reason.iter().for_each(|reason| attributes.only("gen_ai.response.finish_reasons", reason.as_str()));
        let stop = message.stop.as_ref().map(|stop| stop.code.as_str());
        let error = match message.finish_reason {
            Some(FinishReason::Error | FinishReason::Interrupted | FinishReason::Budget) => {
                stop.or(reason.as_deref())
            }
            _ => None,
        };
        let times = (self.began_at, message.created_at);
        self.span(
            (self.root.clone(), None),
            format!("invoke_agent {AGENT}"),
            INTERNAL,
            times,
            (attributes, error),
        )
    }

    fn model(&self, call: &TreeModelCall) -> Span {
        let mut attributes = self.of("chat");
        // A call that was made again has a row for each time; the last one is the tree's.
        let record = self.turn.calls.iter().rev().find_map(|record| match record {
            CallRecord::Model { id, provider, outcome, operation_type, .. } if is_row_of(id, &call.id) => {
                Some((provider, outcome, operation_type))
            }
            _ => None,
        });
        if let Some((provider, _, operation)) = record {
            attributes.text("gen_ai.provider.name", provider_name(provider));
            attributes.text("espalier.operation_type", operation.as_str());
        }
        attributes.text("gen_ai.request.model", call.model.as_str());
        let error = record.map(|(_, outcome, _)| outcome.as_str()).filter(|outcome| *outcome != "ok");
        if error.is_none() {
            attributes.only("gen_ai.response.finish_reasons", call.finish_reason.as_str());
        }
        if let Some(usage) = &call.usage {
            attributes.number("gen_ai.usage.input_tokens", usage.input_tokens);
            attributes.number("gen_ai.usage.output_tokens", usage.output_tokens);
            attributes.number("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
        }
        call.cost_usd.into_iter().for_each(|cost| attributes.amount("espalier.cost_usd", cost));
        call.agent.iter().for_each(|agent| attributes.text("gen_ai.agent.name", agent.as_str()));
        let ids = (self.id_of(&call.id), call.parent_id.as_deref());
        let times = self.within(call.started_ms, call.duration_ms);
        self.span(ids, format!("chat {}", call.model), CLIENT, times, (attributes, error))
    }

    fn tool(&self, node: &TreeNode) -> Span {
        let mut attributes = self.of("execute_tool");
        let name = tool_name(&node.name);
        attributes.text("gen_ai.tool.name", name);
        attributes.text("gen_ai.tool.call.id", node.id.as_str());
        if self.has_content {
            let (arguments, result) = (node.args_preview.as_deref(), node.result_preview.as_deref());
            arguments.into_iter().for_each(|text| attributes.text("gen_ai.tool.call.arguments", text));
            result.into_iter().for_each(|text| attributes.text("gen_ai.tool.call.result", text));
        }
        let error = node.is_error.unwrap_or_default().then_some("tool_error");
        let ids = (self.id_of(&node.id), node.parent_id.as_deref());
        let times = self.within(node.started_ms.unwrap_or_default(), node.duration_ms);
        self.span(ids, format!("execute_tool {name}"), INTERNAL, times, (attributes, error))
    }

    /// The attributes of an operation.
    fn of(&self, operation: &str) -> Attributes {
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", operation);
        attributes.text("gen_ai.conversation.id", self.turn.thread_id);
        attributes
    }

    fn span(
        &self,
        (span_id, parent): (String, Option<&str>),
        name: String,
        kind: u8,
        (start, end): (u64, u64),
        (mut attributes, error): (Attributes, Option<&str>),
    ) -> Span {
        error.iter().for_each(|error| attributes.text("error.type", *error));
        let is_root = span_id == self.root;
        // A tree that is too long has lost its last nodes. What was below them is below the turn.
        let above = || match parent.filter(|parent| self.nodes.contains(parent)) {
            Some(parent) => self.id_of(parent),
            None => self.root.clone(),
        };
        Span {
            trace_id: self.id.clone(),
            parent_span_id: (!is_root).then(above),
            span_id,
            name,
            kind,
            start_time_unix_nano: nanoseconds(start),
            end_time_unix_nano: nanoseconds(end),
            attributes,
            status: error.map(|_| Status { code: 2 }),
        }
    }

    fn id_of(&self, call: &str) -> String {
        digest(&[&self.turn.message.id, call], 8)
    }

    /// The times of a call by the turn's running time, which stands still while the turn waits: a call after a wait is told
    /// too early, and within its turn.
    fn within(&self, started_ms: u64, duration_ms: u64) -> (u64, u64) {
        let last = self.turn.message.created_at;
        let start = self.began_at.saturating_add(started_ms).min(last);
        (start, start.saturating_add(duration_ms).min(last))
    }
}

/// The beginning of a digest, as hexadecimal.
fn digest(parts: &[&str], bytes: usize) -> String {
    let whole = hex(&Sha256::digest(parts.join("\n")));
    whole.chars().take(2 * bytes).collect()
}

fn nanoseconds(ms: u64) -> String {
    ms.saturating_mul(1_000_000).to_string()
}

/// Whether a row of telemetry is a model call's: its id is the call's with the number of the row behind it.
fn is_row_of(row: &str, call: &str) -> bool {
    let number = row.strip_prefix(call).and_then(|rest| rest.strip_prefix('_'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A tool's name; `_OTHER` for what no tool can be called. A model may call a tool that does not exist, with any text in the
/// place of the name.
fn tool_name(name: &str) -> &str {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    if !name.is_empty() && name.len() <= MAX_TOOL_NAME_BYTES && name.bytes().all(fits) {
        name
    } else {
        "_OTHER"
    }
}

/// The conventions' name of a provider.
fn provider_name(ours: &str) -> &str {
    match ours {
        "gemini" => "gcp.gemini",
        "openai-chat" | "openai-responses" => "openai",
        ours => ours,
    }
}

/// The wire's name of a reason.
fn word(reason: FinishReason) -> String {
    let json = serde_json::to_value(reason).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}
