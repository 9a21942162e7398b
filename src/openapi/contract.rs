//! The contract of a route, and its operation in OpenAPI.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};
use wire::protocol::{ErrorCode, Problem};

use super::document::Types;
use crate::auth::scope::{Access, Scope};
use crate::body::{Body, DocumentType, JsonType};
use crate::router::{MCP, OPENAI, Row};

/// Makes the schema of a type.
type Shape = fn(&mut SchemaGenerator) -> Schema;

/// The access, body, parameters, answers and refusals of a route.
pub struct Contract {
    access: Access,
    body: Body,
    /// An example of the body.
    example: Option<Value>,
    parameters: Vec<Value>,
    answers: Vec<(u16, Answer)>,
    refusals: Vec<ErrorCode>,
    errors: Errors,
}

/// The form of a route's errors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    Ours,
    /// OpenAI's.
    OpenAi,
    /// Those of JSON-RPC.
    Mcp,
}

impl Errors {
    fn of(path: &str) -> Self {
        match path {
            MCP => Errors::Mcp,
            path if path.starts_with(OPENAI) => Errors::OpenAi,
            _ => Errors::Ours,
        }
    }

    /// The prefix of the names of problems in this form.
    pub fn prefix(self) -> Option<&'static str> {
        match self {
            Errors::Ours => None,
            Errors::OpenAi => Some("v1"),
            Errors::Mcp => Some("mcp"),
        }
    }
}

/// A parameter of OpenAPI, still without `in`.
pub struct Parameter(Value);

struct Answer {
    description: String,
    content: Option<Content>,
    headers: Value,
}

#[derive(Clone, Copy)]
pub enum Content {
    Json(Shape),
    Bytes,
    Events,
    /// The events of another service.
    Foreign,
    /// The same, or JSON of another service.
    ForeignJson,
    /// JSON, a value a line.
    Lines,
    /// HTML.
    Page,
    /// A sentence.
    Plain,
}

/// The types of documents that every deployment reads. PDFs need Workers AI.
const DOCUMENTS: [DocumentType; 5] =
    [DocumentType::Plain, DocumentType::Markdown, DocumentType::Html, DocumentType::Csv, DocumentType::Json];

impl Contract {
    /// The contract as far as the route's row knows it: access, body, and the refusals that the two cause.
    pub fn of(row: &Row) -> Self {
        let Row { access, body, .. } = *row;
        let (parameters, answers) = (Vec::new(), Vec::new());
        let errors = Errors::of(row.path);
        let refusals = Vec::new();
        let contract = Contract { access, body, example: None, parameters, answers, refusals, errors };
        let contract =
            contract.refuses(&[ErrorCode::UriTooLong, ErrorCode::HeadersTooLarge, ErrorCode::Internal]);
        let contract = contract.refuses(refusals_of_access(access)).refuses(refusals_of_body(body));
        let contract = match row.needs_known_origin() {
            true => contract.refuses(&[ErrorCode::ForbiddenOrigin]),
            false => contract,
        };
        if row.refuses_forms() { contract.refuses(&[ErrorCode::UnsupportedMediaType]) } else { contract }
    }

    /// A parameter behind the question mark.
    pub fn query(self, parameter: Parameter) -> Self {
        self.parameter("query", parameter)
    }

    /// A header that may be sent.
    pub fn header(self, parameter: Parameter) -> Self {
        self.parameter("header", parameter)
    }

    fn parameter(mut self, place: &str, Parameter(mut parameter): Parameter) -> Self {
        parameter["in"] = json!(place);
        self.parameters.push(parameter);
        self.refuses(&[ErrorCode::InvalidRequest])
    }

    /// An example of the body. The contract test sends it, with real ids in it (`tests/contract/examples.py`).
    pub fn takes(mut self, example: Value) -> Self {
        self.example = Some(example);
        self
    }

    /// An answer of this, as JSON.
    pub fn gives<T: JsonSchema>(self, status: u16) -> Self {
        self.answers(
            status,
            if status < 400 { "Done." } else { "Not now." },
            Some(Content::Json(|types| types.subschema_for::<T>())),
        )
    }

    /// 204.
    pub fn gives_nothing(self, why: &str) -> Self {
        self.answers(204, why, None)
    }

    /// Events.
    pub fn streams(self) -> Self {
        self.answers(200, "The events, as they come.", Some(Content::Events))
    }

    /// JSON of another service, or its events.
    pub fn answers_in_a_dialect(self) -> Self {
        let what = "The answer, or the events of the client's own protocol, as they come.";
        self.answers(200, what, Some(Content::ForeignJson)).with_header(200, "Warning", warning())
    }

    /// The events of a dialect.
    pub fn streams_in_a_dialect(self) -> Self {
        self.answers(200, "The frames of the client's own protocol, as they come.", Some(Content::Foreign))
    }

    /// An answer with this content.
    pub fn answers(mut self, status: u16, description: &str, content: Option<Content>) -> Self {
        let description = description.to_owned();
        self.answers.push((status, Answer { description, content, headers: json!({}) }));
        self
    }

    /// With a header on the answers of this status.
    pub fn with_header(mut self, status: u16, name: &str, header: Value) -> Self {
        for (_, answer) in self.answers.iter_mut().filter(|(of, _)| *of == status) {
            answer.headers[name] = header.clone();
        }
        self
    }

    /// The codes that its problems may have.
    pub fn refuses(mut self, codes: &[ErrorCode]) -> Self {
        self.refusals.extend(codes);
        self
    }

    /// The codes that its problems may have, sorted by their status.
    pub fn refusals(&self) -> Vec<ErrorCode> {
        let mut refusals = self.refusals.clone();
        refusals.sort_by_key(|code| (code.status(), code.as_str()));
        refusals.dedup();
        refusals
    }

    /// The operation, with the parameters of its path.
    pub fn operation(self, path: Vec<Parameter>, types: &mut Types) -> Value {
        let mut operation = json!({ "responses": self.responses(types) });
        let parameters: Vec<Value> =
            path.into_iter().map(|Parameter(parameter)| parameter).chain(self.parameters).collect();
        if !parameters.is_empty() {
            operation["parameters"] = json!(parameters);
        }
        if let Some(mut body) = request_body(self.body, types.taken()) {
            for (_, content) in body["content"].as_object_mut().into_iter().flatten() {
                content["example"] = json!(self.example);
            }
            operation["requestBody"] = body;
        }
        operation["security"] = match self.access {
            Access::Unlimited | Access::Open | Access::KnownOrigin => json!([]),
            Access::Erases => {
                json!([{ "bearer": [Scope::Erase.as_str()] }, { "session": [Scope::Write.as_str()] }])
            }
            Access::Needs(scope) | Access::NeedsAtOrigin(scope) => {
                json!([{ "bearer": [scope.as_str()] }, { "session": [scope.as_str()] }])
            }
        };
        operation
    }

    fn responses(&self, types: &mut Types) -> Value {
        let mut responses = json!({});
        for (status, answer) in &self.answers {
            let mut response = json!({ "description": answer.description });
            if let Some(given) = answer.content {
                response["content"] = content(given, types.given());
            }
            if answer.headers != json!({}) {
                response["headers"] = answer.headers.clone();
            }
            responses[status.to_string()] = response;
        }
        for same in self.refusals().chunk_by(|one, other| one.status() == other.status()) {
            responses[same[0].status().to_string()] = types.problem(same, self.errors);
        }
        responses
    }
}

impl Parameter {
    /// A parameter that may be left out.
    pub fn new(name: &str, description: &str, schema: Value) -> Self {
        Parameter(json!({ "name": name, "description": description, "schema": schema }))
    }

    /// With an example.
    pub fn such_as(mut self, example: Value) -> Self {
        self.0["example"] = example;
        self
    }

    /// The same, of any text.
    pub fn text(name: &str, description: &str) -> Self {
        Parameter::new(name, description, json!({ "type": "string" }))
    }

    /// A part of the path.
    pub fn path(name: &str, description: &str, schema: Value) -> Self {
        let Parameter(mut parameter) = Parameter::new(name, description, schema);
        parameter["in"] = json!("path");
        Parameter(parameter).needed()
    }

    /// One that may not be left out.
    pub fn needed(mut self) -> Self {
        self.0["required"] = json!(true);
        self
    }
}

fn content(content: Content, types: &mut SchemaGenerator) -> Value {
    match content {
        Content::Json(shape) => json!({ "application/json": { "schema": shape(types) } }),
        Content::Page => json!({ "text/html": {} }),
        Content::Plain => json!({ "text/plain": {} }),
        Content::Lines => json!({ "application/x-ndjson": {} }),
        Content::ForeignJson => {
            let mut both = self::content(Content::Foreign, types);
            both["application/json"] = json!({ "schema": { "type": "object" } });
            both
        }
        Content::Foreign => {
            let schema = json!({ "type": "object", "properties": { "data": { "type": "string" } }, "required": ["data"] });
            json!({ "text/event-stream": { "schema": schema } })
        }
        Content::Bytes => json!({ "application/octet-stream": {} }),
        // One event: OpenAPI 3.1 has no word for a sequence of them.
        Content::Events => {
            json!({ "text/event-stream": { "schema": { "$ref": "#/components/schemas/ServerSentEvent" } } })
        }
    }
}

fn refusals_of_access(access: Access) -> &'static [ErrorCode] {
    match access {
        Access::Unlimited => &[],
        Access::Open | Access::KnownOrigin => &[ErrorCode::RateLimited],
        Access::Needs(_) | Access::NeedsAtOrigin(_) | Access::Erases => &[
            ErrorCode::RateLimited,
            ErrorCode::Unauthenticated,
            ErrorCode::InsufficientScope,
            ErrorCode::Misconfigured,
            ErrorCode::IssuerUnavailable,
        ],
    }
}

/// A body of any form may be too large, come too slowly, or find the isolate full of bodies.
fn refusals_of_body(body: Body) -> &'static [ErrorCode] {
    match body {
        Body::Nothing => &[],
        Body::Json(_) | Body::OptionalJson(_) => &[
            ErrorCode::InvalidJson,
            ErrorCode::InvalidRequest,
            ErrorCode::UnsupportedMediaType,
            ErrorCode::BodyTooLarge,
            ErrorCode::RequestTimeout,
            ErrorCode::Overloaded,
        ],
        Body::File => &[
            ErrorCode::InvalidRequest,
            ErrorCode::BodyTooLarge,
            ErrorCode::RequestTimeout,
            ErrorCode::Overloaded,
        ],
        Body::Document => &[
            ErrorCode::InvalidRequest,
            ErrorCode::UnsupportedMediaType,
            ErrorCode::BodyTooLarge,
            ErrorCode::RequestTimeout,
            ErrorCode::Overloaded,
        ],
    }
}

fn request_body(body: Body, types: &mut SchemaGenerator) -> Option<Value> {
    let (required, content) = match body {
        Body::Nothing => return None,
        Body::Json(JsonType { schema, .. }) => (true, content(Content::Json(schema), types)),
        Body::OptionalJson(JsonType { schema, .. }) => (false, content(Content::Json(schema), types)),
        Body::File => (false, content(Content::Bytes, types)),
        Body::Document => {
            let text = json!({ "type": "string", "pattern": r"\S" });
            let schema = |kind| if kind == DocumentType::Json { json!({}) } else { text.clone() };
            let described =
                |kind: DocumentType| (kind.as_str().to_owned(), json!({ "schema": schema(kind) }));
            (true, DOCUMENTS.map(described).into_iter().collect())
        }
    };
    Some(json!({ "required": required, "content": content }))
}

/// The names of the errors that are none of ours.
pub const OPENAI_PROBLEM: &str = "OpenAiError";
pub const MCP_PROBLEM: &str = "McpError";
/// The member of a problem's description that has the codes. Its schema is that of all problems: a generator makes one type of
/// it, and the contract test compares the codes.
pub const CODES: &str = "x-codes";

/// A problem with one of these codes, which share a status.
pub fn problem(codes: &[ErrorCode], errors: Errors, types: &mut SchemaGenerator) -> Value {
    let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let status = codes[0].status();
    let titles: Vec<String> =
        codes.iter().map(|code| format!("`{}`: {}.", code.as_str(), code.title())).collect();
    let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let content = match errors {
        Errors::Ours => json!({ "application/problem+json": { "schema": types.subschema_for::<Problem>() } }),
        Errors::OpenAi => json!({ "application/json": { "schema": named(OPENAI_PROBLEM) } }),
        Errors::Mcp => json!({ "application/json": { "schema": named(MCP_PROBLEM) } }),
    };
    let mut response = json!({ "description": titles.join("\n"), "content": content });
    // A turn that failed has the code of its event `error`, and a problem of MCP is the data of the error.
    if errors == Errors::Ours || (errors == Errors::OpenAi && status != 500) {
        response[CODES] = json!(names);
    }
    match status {
        401 => {
            response["headers"] =
                json!({ "WWW-Authenticate": header("The credential that the route needs.", "string") })
        }
        429 => response["headers"] = json!({ "Retry-After": header("Seconds to wait.", "integer") }),
        _ => {}
    }
    response
}

/// A header that its answer always has.
pub fn header(description: &str, kind: &str) -> Value {
    json!({ "description": description, "required": true, "schema": { "type": kind } })
}

fn warning() -> Value {
    json!({ "description": "The members of the body that the service ignores.", "schema": { "type": "string" } })
}
