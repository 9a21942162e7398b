//! What is said of a route, and what that means in OpenAPI.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};
use wire::protocol::{ErrorCode, Problem};

use super::document::Types;
use crate::auth::scope::Scope;

/// Makes the schema of a type.
type Shape = fn(&mut SchemaGenerator) -> Schema;

/// What a route asks for, takes, gives and refuses.
pub struct Contract {
    needs: Option<Scope>,
    parameters: Vec<Value>,
    body: Option<Content>,
    body_required: bool,
    answers: Vec<(u16, Answer)>,
    refusals: Vec<ErrorCode>,
}

/// A parameter as OpenAPI has it, but for where it stands.
pub struct Parameter(Value);

struct Answer {
    description: String,
    content: Option<Content>,
    headers: Value,
}

#[derive(Clone, Copy)]
enum Content {
    Json(Shape),
    Bytes,
    /// Text in UTF-8, of one of these media types.
    Text(&'static [&'static str]),
    Events,
}

/// A route that needs no credential.
pub fn open() -> Contract {
    let refusals =
        vec![ErrorCode::UriTooLong, ErrorCode::HeadersTooLarge, ErrorCode::RateLimited, ErrorCode::Internal];
    Contract {
        needs: None,
        parameters: Vec::new(),
        body: None,
        body_required: true,
        answers: Vec::new(),
        refusals,
    }
}

/// A route that needs a credential with this scope.
pub fn needs(scope: Scope) -> Contract {
    let contract = Contract { needs: Some(scope), ..open() };
    let contract = contract.refuses(&[
        ErrorCode::Unauthenticated,
        ErrorCode::InsufficientScope,
        ErrorCode::Misconfigured,
        ErrorCode::IssuerUnavailable,
    ]);
    if scope == Scope::Read { contract } else { contract.refuses(&[ErrorCode::ForbiddenOrigin]) }
}

impl Contract {
    /// The body is this, as JSON.
    pub fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Content::Json(|types| types.subschema_for::<T>()));
        self.refuses(&[
            ErrorCode::InvalidJson,
            ErrorCode::InvalidRequest,
            ErrorCode::UnsupportedMediaType,
            ErrorCode::BodyTooLarge,
        ])
    }

    /// The body is this, as JSON, or nothing.
    pub fn may_take<T: JsonSchema>(self) -> Self {
        Contract { body_required: false, ..self.takes::<T>() }
    }

    /// The body is any bytes, or none: a file may be empty.
    pub fn takes_bytes(mut self) -> Self {
        self.body = Some(Content::Bytes);
        self.body_required = false;
        self.refuses(&[ErrorCode::BodyTooLarge])
    }

    /// The body is text that is not blank, of one of these media types.
    pub fn takes_text(mut self, media_types: &'static [&'static str]) -> Self {
        self.body = Some(Content::Text(media_types));
        self.refuses(&[ErrorCode::InvalidRequest, ErrorCode::UnsupportedMediaType, ErrorCode::BodyTooLarge])
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

    /// A file.
    pub fn gives_bytes(self) -> Self {
        self.answers(200, "The file.", Some(Content::Bytes))
    }

    /// Events.
    pub fn streams(self) -> Self {
        self.answers(200, "The events, as they come.", Some(Content::Events))
    }

    fn answers(mut self, status: u16, description: &str, content: Option<Content>) -> Self {
        self.answers
            .push((status, Answer { description: description.to_owned(), content, headers: json!({}) }));
        self
    }

    /// With the version of what was asked for.
    pub fn with_etag(mut self) -> Self {
        for (_, answer) in &mut self.answers {
            answer.headers["ETag"] = header("The version, for `If-Match`.", "string");
        }
        self
    }

    /// With a time to ask again, where nothing is there yet.
    pub fn with_retry_after(mut self, why: &str) -> Self {
        for (_, answer) in self.answers.iter_mut().filter(|(status, _)| *status == 204) {
            answer.headers["Retry-After"] = json!({ "description": why, "schema": { "type": "integer" } });
        }
        self
    }

    /// The codes that its problems may have.
    pub fn refuses(mut self, codes: &[ErrorCode]) -> Self {
        self.refusals.extend(codes);
        self
    }

    /// The operation, with the parameters of its path.
    pub fn operation(self, path: Vec<Parameter>, types: &mut Types) -> Value {
        let mut operation = json!({ "responses": self.responses(types) });
        let parameters: Vec<Value> =
            path.into_iter().map(|Parameter(parameter)| parameter).chain(self.parameters).collect();
        if !parameters.is_empty() {
            operation["parameters"] = json!(parameters);
        }
        if let Some(body) = self.body {
            operation["requestBody"] =
                json!({ "required": self.body_required, "content": content(body, types.taken()) });
        }
        operation["security"] = match self.needs {
            None => json!([]),
            Some(scope) => json!([{ "bearer": [scope.as_str()] }, { "session": [scope.as_str()] }]),
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
        let mut refusals = self.refusals.clone();
        refusals.sort_by_key(|code| (code.status(), code.as_str()));
        refusals.dedup();
        for same in refusals.chunk_by(|one, other| one.status() == other.status()) {
            responses[same[0].status().to_string()] = types.problem(same);
        }
        responses
    }
}

impl Parameter {
    /// A parameter that may be left out.
    pub fn new(name: &str, description: &str, schema: Value) -> Self {
        Parameter(json!({ "name": name, "description": description, "schema": schema }))
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

    /// Of texts that this fits.
    pub fn matching(mut self, pattern: &str) -> Self {
        self.0["schema"]["pattern"] = json!(pattern);
        self
    }

    /// Of these values alone.
    pub fn one_of(mut self, values: &[&str]) -> Self {
        self.0["schema"]["enum"] = json!(values);
        self
    }
}

fn content(content: Content, types: &mut SchemaGenerator) -> Value {
    match content {
        Content::Json(shape) => json!({ "application/json": { "schema": shape(types) } }),
        Content::Bytes => json!({ "application/octet-stream": {} }),
        Content::Text(media_types) => media_types
            .iter()
            .map(|&one| (one.to_owned(), json!({ "schema": { "type": "string", "pattern": r"\S" } })))
            .collect(),
        // One event: OpenAPI 3.1 has no word for a sequence of them.
        Content::Events => {
            json!({ "text/event-stream": { "schema": { "$ref": "#/components/schemas/ServerSentEvent" } } })
        }
    }
}

/// An answer that says what is wrong, by one of these codes of the same status.
pub fn problem(codes: &[ErrorCode], types: &mut SchemaGenerator) -> Value {
    let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let status = codes[0].status();
    let titles: Vec<String> =
        codes.iter().map(|code| format!("`{}`: {}.", code.as_str(), code.title())).collect();
    let members = json!({ "properties": { "status": { "const": status }, "code": { "enum": names } } });
    let schema = json!({ "allOf": [types.subschema_for::<Problem>(), members] });
    let mut response = json!({
        "description": titles.join("\n"),
        "content": { "application/problem+json": { "schema": schema } },
    });
    match status {
        401 => response["headers"] = json!({ "WWW-Authenticate": header("What is asked for.", "string") }),
        429 => response["headers"] = json!({ "Retry-After": header("Seconds to wait.", "integer") }),
        _ => {}
    }
    response
}

fn header(description: &str, kind: &str) -> Value {
    json!({ "description": description, "required": true, "schema": { "type": kind } })
}
