//! Bodies of requests have no bytes of a provider. Each of their members has a schema, but for those that are listed here.
//! Issue 42, H1.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use wire::pace::{Pace, at_once, no_pause};
use wire::protocol::{ApiError, ChatRequest, SentDump};

use super::document::document;
use super::tests::operations;

/// The places without a schema, each with the reason. `[]` is the element of a list, `{}` a member of any name.
const ANYTHING: &[(&str, &str)] = &[
    ("ChatBody.tools[].input_schema{}", "a JSON Schema; the toolbelt checks it"),
    (
        "ChatBody.messages[].parts[]{}",
        "parts of the AI SDK; `dialects::ai_sdk` reads those that it knows into a message",
    ),
    ("ChatBody.tools{}{}", "the tools by their names; the dialect reads them as a list"),
    ("ChatRequest.client_tools[].input_schema{}", "a JSON Schema; the toolbelt checks it"),
    ("ChatBody.response_schema{}", "a JSON Schema; `calls::answer` compiles it"),
    ("ChatRequest.response_schema{}", "a JSON Schema; `calls::answer` compiles it"),
    ("CompletionBody.response_format{}", "OpenAI's; `dialects::openai` reads its type and its schema"),
    ("CompletionBody.tool_choice", "OpenAI's: a word or a function; `dialects::openai` reads both"),
    ("ResponseBody.text{}", "OpenAI's; `dialects::openai` reads its form of an answer"),
    ("ResponseBody.tool_choice", "OpenAI's: a word or a function; `dialects::openai` reads both"),
    ("ChatRequest.media_generation{}", "has no effect, but for `mode`"),
    ("AgentDump.hooks[].options{}", "the options of a built-in hook, each with its own rule"),
    ("Approval.content{}", "the answer to a form, which is checked against the form's schemas"),
    ("NewHook.options{}", "the options of a built-in hook, each with its own rule"),
    ("ToolResult.result", "the model gets it as text"),
    ("ContinueSession.contextUpdates{}", "the model gets it as text"),
    ("MessageBody.params{}", "JSON-RPC; `dialects::mcp` reads the members of each method"),
    (
        "CompletionBody.messages[]{}",
        "OpenAI's messages; `dialects::openai` reads those that it knows into a message",
    ),
    ("CompletionBody.metadata{}", "OpenAI's; of its members the service reads two"),
    ("CompletionBody.stream_options{}", "OpenAI's; of its members the service reads one"),
    ("CompletionBody.tools[]{}", "OpenAI's tools; the toolbelt checks those that it knows"),
    ("ResponseBody.input", "OpenAI's items; `dialects::openai` reads those that it knows into a message"),
    ("ResponseBody.metadata{}", "OpenAI's; of its members the service reads two"),
    ("ResponseBody.tools[]{}", "OpenAI's tools; the toolbelt checks those that it knows"),
];

/// Names of members and types that have a provider's bytes (`wire::model`).
const OF_PROVIDERS: [&str; 4] = ["raw", "RawMessage", "Message", "ModelReply"];

/// Goes through the schemas of a body.
struct Walk<'a> {
    document: &'a Value,
    /// The references above the present place.
    above: Vec<&'a str>,
    /// The names of all types and members.
    names: BTreeSet<&'a str>,
    /// The places without a schema.
    anything: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    fn walk(&mut self, schema: &'a Value, place: &str) {
        const ANNOTATIONS: [&str; 6] =
            ["description", "title", "default", "example", "examples", "deprecated"];
        let Some(members) = schema.as_object() else {
            // `false` allows nothing.
            if *schema != json!(false) {
                self.anything.insert(place.to_owned());
            }
            return;
        };
        let has_rules = members.keys().any(|name| !ANNOTATIONS.contains(&name.as_str()));
        let is = |kind: &str| {
            schema["type"] == kind || schema["type"].as_array().is_some_and(|all| all.contains(&json!(kind)))
        };
        let combined = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|name| members.contains_key(*name));
        let open = |kind: &str, parts: &[&str]| {
            is(kind) && !combined && !parts.iter().any(|name| members.contains_key(*name))
        };
        if !has_rules || open("object", &["properties", "additionalProperties"]) || open("array", &["items"])
        {
            self.anything.insert(place.to_owned());
        }
        if let Some(reference) = members.get("$ref").and_then(Value::as_str)
            && !self.above.contains(&reference)
        {
            self.above.push(reference);
            self.names.insert(reference.rsplit('/').next().unwrap());
            self.walk(self.document.pointer(reference.trim_start_matches('#')).unwrap(), place);
            self.above.pop();
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.names.insert(name);
            self.walk(member, &format!("{place}.{name}"));
        }
        for (name, sign) in [("items", "[]"), ("additionalProperties", "{}")] {
            if let Some(inner) = members.get(name) {
                self.walk(inner, &format!("{place}{sign}"));
            }
        }
        for all in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            for one in schema[all].as_array().into_iter().flatten() {
                self.walk(one, place);
            }
        }
    }
}

/// The operation whose JSON is a document: the service keeps its text and knows no members of it.
const OF_A_DOCUMENT: &str = "AddDocument";

/// The walks through all bodies that are JSON, by their operations.
fn walks(document: &Value) -> BTreeMap<&str, Walk<'_>> {
    let operations =
        operations(document).filter(|(_, _, operation)| operation["operationId"] != OF_A_DOCUMENT);
    let bodies = operations.filter_map(|(_, _, operation)| {
        let schema = operation["requestBody"]["content"]["application/json"].get("schema")?;
        let named =
            schema["$ref"].as_str().unwrap_or_else(|| panic!("{operation} has a body without a name"));
        let mut walk =
            Walk { document, above: Vec::new(), names: BTreeSet::new(), anything: BTreeSet::new() };
        walk.walk(schema, named.rsplit('/').next().unwrap());
        Some((operation["operationId"].as_str().unwrap(), walk))
    });
    bodies.collect()
}

#[test]
fn no_request_reaches_bytes_of_a_provider() {
    let document = document();
    for (operation, walk) in walks(&document) {
        for name in OF_PROVIDERS {
            assert!(!walk.names.contains(name), "{operation} has {name}");
        }
    }
}

#[test]
fn each_member_of_a_request_has_a_schema_but_those_that_are_listed() {
    let document = document();
    let found: BTreeSet<String> = walks(&document).into_values().flat_map(|walk| walk.anything).collect();
    let listed: BTreeSet<String> = ANYTHING.iter().map(|(place, _)| (*place).to_owned()).collect();
    assert_eq!(found, listed);
}

//
#[test]
fn a_dump_has_a_schema_that_knows_all_its_members() {
    let document = document();
    let schema = json!({ "$ref": "#/components/schemas/AgentDump", "components": document["components"] });
    let schema = jsonschema::validator_for(&schema).unwrap();
    let with = |rounds: Value| json!({ "name": "a", "instructions": "A.", "rounds": rounds });
    let user = json!({ "user": { "content": [{ "type": "text", "text": "Hello." }] } });
    let call = json!({ "call_id": "1", "name": "f", "arguments": "{}" });
    let answer = json!({ "assistant": { "content": "", "tool_calls": [call] } });
    let result = json!({ "tool": { "call_id": "1", "name": "f", "content": "x", "is_error": false } });
    assert!(schema.is_valid(&with(json!([[user, answer, result]]))));
    let raw = json!({ "assistant": { "content": "", "raw": { "json": "{}" } } });
    let far = json!({ "user": { "content": [{ "type": "image", "data": "http://10.0.0.7/a.png" }] } });
    for message in [raw, far, json!({ "system": { "content": "x" } })] {
        let dump = with(json!([[user, message]]));
        assert!(!schema.is_valid(&dump) && read_dump(&dump).is_err(), "{dump}");
    }
}

fn read_dump(dump: &Value) -> Result<(), ApiError> {
    let dump = dump.to_string();
    at_once(SentDump::parse(dump.as_bytes(), &Pace::new(&no_pause))).unwrap().map(drop)
}

/// Reads a body that has this content.
type Reads = fn(&Value) -> Result<(), ApiError>;

/// The operations whose bodies have images and files in our form. Tests of `dialects` have those of other forms.
const WITH_PARTS: [(&str, Reads); 2] = [
    ("Chat", |content| ChatRequest::parse(json!({ "content": content }).to_string().as_bytes()).map(drop)),
    ("RestoreAgent", |content| {
        let rounds = json!([[{ "user": { "content": content } }]]);
        let dump = json!({ "name": "a", "instructions": "A.", "rounds": rounds });
        read_dump(&dump)
    }),
];

#[test]
fn each_request_with_images_and_files_checks_them() {
    let document = document();
    let with_parts = walks(&document).into_iter().filter(|(_, walk)| walk.names.contains("ContentPart"));
    let with_parts: Vec<&str> = with_parts.map(|(operation, _)| operation).collect();
    assert_eq!(with_parts, WITH_PARTS.map(|(operation, _)| operation));
    let image = |data: &str| json!({ "type": "image", "data": data });
    let png = image("data:image/png;base64,iVBORw0KGgo=");
    for (operation, reads) in WITH_PARTS {
        assert!(reads(&json!([png])).is_ok(), "{operation}");
        for hostile in [
            json!([image("http://10.0.0.7:8080/a.png")]),
            json!([image("data:image/svg+xml;base64,PHN2Zy8+")]),
            json!([{ "type": "file", "name": "a.pdf", "data": "https://example.com/a.pdf" }]),
            json!(vec![&png; 9]),
        ] {
            assert!(reads(&hostile).is_err(), "{operation}: {hostile}");
        }
    }
}
