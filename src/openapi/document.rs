//! The document as a whole: the operations of the table, and the types that they name.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use wire::protocol::{ErrorCode, Numbered};

use super::contract::{Contract, Errors, MCP_PROBLEM, OPENAI_PROBLEM, problem};
use super::path_parameter;
use crate::router::{Row, table};

const INTRODUCTION: &str = "A bounded, durable agent chat service. Times are integer milliseconds since 1970 (`*_at`), \
    durations integer milliseconds (`*_ms`). Unknown members are ignored unless a type allows none, wrong types are refused. \
    HEAD is answered where GET is. Everything else about the wire is in docs/wire-protocol.md.";

/// The types that clients send, and those that they get. Clients may leave out a member that the service always sends.
pub struct Types {
    taken: SchemaGenerator,
    given: SchemaGenerator,
    /// The problems, by name.
    problems: Map<String, Value>,
}

impl Types {
    fn new() -> Self {
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings
        };
        Types {
            taken: settings().for_deserialize().into_generator(),
            given: settings().for_serialize().into_generator(),
            problems: Map::new(),
        }
    }

    /// The types that clients send.
    pub fn taken(&mut self) -> &mut SchemaGenerator {
        &mut self.taken
    }

    /// The types that they get.
    pub fn given(&mut self) -> &mut SchemaGenerator {
        &mut self.given
    }

    /// A reference to the problem with one of these codes, which share a status.
    pub fn problem(&mut self, codes: &[ErrorCode], errors: Errors) -> Value {
        let names = codes.iter().map(|code| code.as_str());
        let name = errors.prefix().into_iter().chain(names).collect::<Vec<_>>().join(".");
        let problem = problem(codes, errors, &mut self.given);
        let reference = json!({ "$ref": format!("#/components/responses/{name}") });
        self.problems.insert(name, problem);
        reference
    }

    fn schemas(&mut self) -> Map<String, Value> {
        let event = self.given.subschema_for::<Numbered>();
        let mut schemas = self.given.take_definitions(false);
        for (name, schema) in self.taken.take_definitions(false) {
            match schemas.get(&name) {
                None => drop(schemas.insert(name, schema)),
                Some(given) => assert_eq!(*given, schema, "{name} is not the same in both directions"),
            }
        }
        let frame = json!({
            "description": "One event of a stream: the fields of `text/event-stream`, `data` being JSON.",
            "type": "object",
            "properties": {
                "id": { "description": "The event's `seq`.", "type": "string", "pattern": "^[0-9]+$" },
                "event": { "description": "The event's `type`.", "type": "string" },
                "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": event },
            },
            "required": ["id", "event", "data"],
        });
        schemas.insert("ServerSentEvent".to_owned(), frame);
        schemas.extend(foreign_problems());
        for schema in schemas.values_mut() {
            set_references_apart(schema);
            make_plain(schema);
        }
        schemas
    }
}

/// Moves references with rules beside them into an `allOf`. JSON Schema has both count, but generators of types read the
/// reference alone: an event lost its `type`.
fn set_references_apart(schema: &mut Value) {
    const ANNOTATIONS: [&str; 2] = ["description", "default"];
    match schema {
        Value::Array(items) => items.iter_mut().for_each(set_references_apart),
        Value::Object(members) => {
            members.values_mut().for_each(set_references_apart);
            let has_rules =
                members.keys().any(|name| name != "$ref" && !ANNOTATIONS.contains(&name.as_str()));
            if has_rules && members.get("$ref").is_some_and(Value::is_string) {
                let reference = members.remove("$ref");
                members.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
            }
        }
        _ => {}
    }
}

/// Takes away what generators of clients do not read by their defaults. They hold a member with a default for one that is
/// always there, stop at a schema that is `true`, and take the first of several words for the only one. Null or an empty object as a default says no more than that the member may
/// be left out.
fn make_plain(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(make_plain),
        Value::Object(members) => {
            if members.get("default").is_some_and(|given| given.is_null() || *given == json!({})) {
                members.remove("default");
            }
            list_words(members);
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            let anything = properties.into_iter().flat_map(Map::values_mut).filter(|schema| **schema == true);
            anything.for_each(|schema| *schema = json!({}));
            members.values_mut().for_each(make_plain);
        }
        _ => {}
    }
}

/// Makes one list of words that stand one by one, each with its description (`oneOf` with `const`).
fn list_words(members: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = members.get("oneOf") else { return };
    let (mut words, mut told) = (Vec::new(), Vec::new());
    for choice in choices {
        match (choice.get("const"), choice.get("enum")) {
            (Some(Value::String(word)), _) => {
                let meaning = choice.get("description").and_then(Value::as_str);
                told.extend(meaning.map(|meaning| format!("- `{word}`: {meaning}")));
                words.push(json!(word));
            }
            (None, Some(Value::Array(listed))) => words.extend(listed.iter().cloned()),
            _ => return,
        }
    }
    let before = members.get("description").and_then(Value::as_str).map(|text| format!("{text}\n"));
    let description = before.into_iter().chain(told).collect::<Vec<_>>().join("\n");
    members.remove("oneOf");
    members.insert("type".to_owned(), json!("string"));
    members.insert("enum".to_owned(), json!(words));
    members.insert("description".to_owned(), json!(description));
}

/// The errors in the forms of OpenAI and of JSON-RPC.
fn foreign_problems() -> [(String, Value); 2] {
    let object = |members: Value| {
        let names: Vec<String> =
            members.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({ "type": "object", "properties": members, "required": names })
    };
    let text = json!({ "type": "string" });
    let error = object(json!({
        "message": text, "type": text, "param": { "type": ["string", "null"] }, "code": text,
    }));
    let mut of_mcp = object(json!({ "code": { "type": "integer" }, "message": text }));
    of_mcp["properties"]["data"] = json!({});
    let of_mcp = object(json!({ "jsonrpc": { "const": "2.0" }, "error": of_mcp }));
    [(OPENAI_PROBLEM.to_owned(), object(json!({ "error": error }))), (MCP_PROBLEM.to_owned(), of_mcp)]
}

/// The document.
pub fn document() -> Value {
    let (mut types, mut paths) = (Types::new(), json!({}));
    for row in table() {
        let path = named_path(row);
        let parameters = row.parameters.iter().map(|name| path_parameter(name)).collect();
        let contract = (row.contract)(Contract::of(row));
        let mut operation = contract.operation(parameters, &mut types);
        let (summary, more) = sentences(row.comment);
        operation["operationId"] = json!(row.name);
        operation["summary"] = json!(summary);
        if !more.is_empty() {
            operation["description"] = json!(more);
        }
        operation["tags"] = json!([path.trim_start_matches("/api").split('/').nth(1).unwrap()]);
        paths[&path][row.method.as_str().to_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Espalier",
            "version": env!("CARGO_PKG_VERSION"),
            "description": INTRODUCTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": types.schemas(),
            "responses": types.problems,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key (`espk_…`) or a JWT of an issuer that the deployment trusts.",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "espalier_session",
                    "description": "The cookie that `POST /api/session` sets; over https its name is \
                        `__Host-espalier_session`.",
                },
            },
        },
    })
}

/// The path of a route, with the names of its parameters.
pub fn named_path(row: &Row) -> String {
    let fill = |path: String, name: &&str| {
        let place = if path.contains("{}") { "{}" } else { "{*}" };
        path.replacen(place, &format!("{{{name}}}"), 1)
    };
    row.parameters.iter().fold(row.path.to_owned(), fill)
}

/// The first sentence of a comment, and the others.
fn sentences(comment: &str) -> (String, String) {
    let comment = comment.trim();
    match comment.split_once(". ") {
        Some((first, more)) => (format!("{first}."), more.to_owned()),
        None => (comment.to_owned(), String::new()),
    }
}
