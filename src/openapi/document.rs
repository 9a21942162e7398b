//! The document as a whole: the operations of the table, and the types that they speak of.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use wire::protocol::{ErrorCode, Numbered};

use super::contract::problem;
use super::{contract, path_parameter};
use crate::router::{self, Found, Route};

const INTRODUCTION: &str = "A bounded, durable agent chat service. Times are integer milliseconds since 1970 (`*_at`), \
    durations integer milliseconds (`*_ms`). Unknown members are ignored, wrong types are refused. HEAD is answered where GET \
    is. Everything else about the wire is in docs/wire-protocol.md.";

/// The types that clients send, and those that they get: a member that may be left out by the one is always there for the
/// other.
pub struct Types {
    taken: SchemaGenerator,
    given: SchemaGenerator,
    /// The answers that say what is wrong, by name.
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

    /// What clients send.
    pub fn taken(&mut self) -> &mut SchemaGenerator {
        &mut self.taken
    }

    /// What they get.
    pub fn given(&mut self) -> &mut SchemaGenerator {
        &mut self.given
    }

    /// A reference to the answer that says one of these codes, which have one status.
    pub fn problem(&mut self, codes: &[ErrorCode]) -> Value {
        let name = codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(".");
        let problem = problem(codes, &mut self.given);
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
        schemas
    }
}

/// The document.
pub fn document() -> Value {
    let (mut types, mut paths) = (Types::new(), json!({}));
    let variants = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Route<'_>>();
    for pattern in router::patterns() {
        let (method, path) = pattern.split_once(' ').unwrap();
        let marked = path.split("{}").map(|piece| piece.replace("{*}", MARK)).collect::<Vec<_>>().join(MARK);
        let Found::Route(route) = router::find(method, &marked) else { panic!("{pattern} leads nowhere") };
        let (name, fields) = named(route);
        let path =
            fields.iter().fold(marked.clone(), |path, field| path.replacen(MARK, &format!("{{{field}}}"), 1));
        let parameters = fields.iter().map(|field| path_parameter(field)).collect();
        let mut operation = contract(route).operation(parameters, &mut types);
        let (summary, more) = told(&name, variants.as_value());
        operation["operationId"] = json!(name);
        operation["summary"] = json!(summary);
        if !more.is_empty() {
            operation["description"] = json!(more);
        }
        operation["tags"] = json!([path.trim_start_matches("/api").split('/').nth(1).unwrap()]);
        paths[&path][method.to_lowercase()] = operation;
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

/// What stands in a path where a parameter was.
const MARK: &str = "-";

/// The name of a route's variant and those of its fields, in the order of the path: `Sent { id: "-", message: "-" }`.
fn named(route: Route<'_>) -> (String, Vec<String>) {
    let text = format!("{route:?}");
    let mut words = text.split([' ', '{', '}', ',']).filter(|word| !word.is_empty());
    let name = words.next().unwrap().to_owned();
    (name, words.filter_map(|word| word.strip_suffix(':')).map(str::to_owned).collect())
}

/// What the comment of a route's variant says: its first sentence, and the others.
fn told(name: &str, variants: &Value) -> (String, String) {
    let is_it = |variant: &&Value| variant["const"] == name || variant["properties"].get(name).is_some();
    let variant = variants["oneOf"].as_array().unwrap().iter().find(is_it);
    let comment = variant.and_then(|variant| variant["description"].as_str());
    let comment = comment.unwrap_or_else(|| panic!("Route::{name} has no comment")).replace('\n', " ");
    match comment.split_once(". ") {
        Some((first, more)) => (format!("{first}."), more.to_owned()),
        None => (comment, String::new()),
    }
}
