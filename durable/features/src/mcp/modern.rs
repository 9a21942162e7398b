//! Requests of revision 2026-07-28. There is no session: each request says who asks and what the client can do, and
//! headers repeat parts of its body. A server that needs input answers with a result that says so, and gets the input with
//! a repetition of the request. This client can fill in forms, where somebody is there to do it, and nothing else.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::error::McpError;
use super::error::parsed;
use super::message::{self, Capabilities, MODERN};
use engine::journal::{Answer, Asking};
use engine::ports::Given;
use wire::protocol::{Form, FormQuestion};

/// How often the client repeats a request for a server that asks for it.
const MAX_ROUNDS: usize = 5;
/// The annotation by which a schema asks for a parameter in a header.
const IN_HEADER: &str = "x-mcp-header";

/// A message to a server, with the headers that repeat parts of it.
#[derive(Clone, Default)]
pub struct Post {
    pub body: Vec<u8>,
    pub headers: Vec<(&'static str, String)>,
    /// Those whose names the server chose.
    pub named: Vec<(String, String)>,
}

impl From<Vec<u8>> for Post {
    fn from(body: Vec<u8>) -> Self {
        Post { body, ..Post::default() }
    }
}

/// The capabilities of a server, by its result of `server/discover`; none if it does not speak this revision.
pub fn discovered(result: &RawValue) -> Result<Option<Capabilities>, McpError> {
    let result: Value = parsed(result)?;
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let versions =
        versions.ok_or_else(|| McpError::NotMcp("it names no revision of the protocol".to_owned()))?;
    if !versions.iter().any(|version| version == MODERN) {
        return Ok(None);
    }
    let capabilities = result.get("capabilities");
    let has = |name: &str| capabilities.and_then(|all| all.get(name)).map(|_| IgnoredAny);
    Ok(Some(Capabilities { tools: has("tools"), resources: has("resources"), prompts: has("prompts") }))
}

/// A request. `forms`: whether somebody can fill in a form.
pub fn request(id: u64, method: &str, mut params: Value, forms: bool) -> Post {
    let name = ["name", "uri"].into_iter().find_map(|member| params.get(member).and_then(Value::as_str));
    let mut headers = vec![("mcp-protocol-version", MODERN.to_owned()), ("mcp-method", method.to_owned())];
    headers.extend(name.map(|name| ("mcp-name", encoded(name))));
    if let Value::Object(members) = &mut params {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(MODERN));
            meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), message::client());
            let can = if forms { json!({"elicitation": {"form": {}}}) } else { json!({}) };
            meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), can);
        }
    }
    Post { body: message::request(id, method, &params), headers, named: Vec::new() }
}

/// The client's next step after a result.
pub enum Next {
    Take,
    /// It asks again, with this state.
    Repeat(String),
    /// It asks a person.
    Ask(Box<Asking>),
}

/// Reads what kind of result it is, after so many repetitions. A result without a kind is complete. `server`: who asks,
/// where somebody can fill in a form.
pub fn next(raw: &RawValue, repeated: usize, server: Option<&str>) -> Result<Next, McpError> {
    let result: Value = parsed(raw)?;
    let member = |name: &str| result.get(name).and_then(Value::as_str);
    match (member("resultType"), member("requestState"), result.get("inputRequests"), server) {
        (None | Some("complete"), ..) => Ok(Next::Take),
        (Some("input_required"), Some(state), None, _) if repeated < MAX_ROUNDS => {
            Ok(Next::Repeat(state.to_owned()))
        }
        (Some("input_required"), state, Some(Value::Object(_)), Some(server)) => {
            let requests = members(raw).and_then(|all| members(all.get("inputRequests")?));
            let questions = requests.and_then(|Members(all)| all.iter().map(question).collect());
            let questions = questions.ok_or_else(no_input)?;
            let (form, state) = (Form { server: server.to_owned(), questions }, state.map(str::to_owned));
            Ok(Next::Ask(Box::new(Asking { form, state })))
        }
        (Some("input_required"), ..) => Err(no_input()),
        (Some(_), ..) => {
            Err(McpError::NotMcp("its result is of a type that this client does not take".to_owned()))
        }
    }
}

pub fn no_input() -> McpError {
    McpError::NotMcp("it asks for input, which this client does not give".to_owned())
}

/// A question of a server; none where it is no form.
fn question((id, request): &(String, Box<RawValue>)) -> Option<FormQuestion> {
    let request = members(request)?;
    let params = members(request.get("params")?)?;
    let text = |all: &Members, name: &str| wire::json::from_str::<String>(all.get(name)?.get()).ok();
    let is_form = params.get("mode").is_none() || text(&params, "mode")? == "form";
    let schema = params.get("requestedSchema")?;
    let properties = members(schema)?.get("properties").and_then(members);
    let order = properties.map(|Members(all)| all.into_iter().map(|(name, _)| name).collect());
    let message = text(&params, "message")
        .filter(|_| is_form && text(&request, "method").as_deref() == Some(ELICIT))?;
    let schema = wire::json::from_str(schema.get()).ok()?;
    Some(FormQuestion { id: id.clone(), message, schema, order: order.unwrap_or_default() })
}

/// The method of a question to a person.
const ELICIT: &str = "elicitation/create";

fn members(object: &RawValue) -> Option<Members> {
    wire::json::from_str(object.get()).ok()
}

/// The members of an object in their order, which a person sees.
struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Members(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut members: M) -> Result<Self, M::Error> {
        while let Some(member) = members.next_entry()? {
            self.0.push(member);
        }
        Ok(self)
    }
}

/// Adds the answer to a question to the parameters of the request that brought it.
pub fn answered(params: &mut Map<String, Value>, Given { asking, answer }: &Given) {
    let content: Map<String, Value> = match answer {
        Answer::Result { content, .. } => wire::json::from_str(content).unwrap_or_default(),
        _ => Map::new(),
    };
    let response = |question: &FormQuestion| {
        let response = match answer {
            Answer::Result { .. } => {
                let content = content.get(&question.id).cloned();
                json!({"action": "accept", "content": content.unwrap_or_else(|| json!({}))})
            }
            Answer::Expired => json!({"action": "cancel"}),
            Answer::Approve | Answer::ApproveForThread | Answer::Deny => json!({"action": "decline"}),
        };
        (question.id.clone(), response)
    };
    let responses = asking.form.questions.iter().map(response).collect();
    params.insert("inputResponses".to_owned(), Value::Object(responses));
    if let Some(state) = &asking.state {
        params.insert("requestState".to_owned(), Value::String(state.clone()));
    }
}

/// A header's value for a text.
fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text;
    match is_plain && !(text.starts_with("=?base64?") && text.ends_with("?=")) {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(text)),
    }
}

/// The parameters that a schema wants in headers: the path of each, and the end of its header's name. The error says what
/// is wrong with the schema: the protocol has clients leave such a tool out.
fn annotated(schema: &Map<String, Value>) -> Result<Vec<(Vec<String>, String)>, String> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    let mut left = vec![(Vec::new(), schema)];
    while let Some((path, schema)) = left.pop() {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in properties {
            let Value::Object(property) = property else { continue };
            let mut path = path.clone();
            path.push(name.clone());
            if let Some(header) = property.get(IN_HEADER) {
                let header = header.as_str().filter(|header| is_token(header));
                let header = header.ok_or_else(|| format!("{IN_HEADER} of {name} is no name of a header"))?;
                let kind = property.get("type").and_then(Value::as_str);
                if !matches!(kind, Some("string" | "integer" | "boolean")) {
                    return Err(format!("{IN_HEADER} of {name} needs a text, an integer or a boolean"));
                }
                if found.iter().any(|(_, other)| other.eq_ignore_ascii_case(header)) {
                    return Err(format!("{IN_HEADER} {header} stands there twice"));
                }
                found.push((path.clone(), header.to_owned()));
            }
            left.push((path, property));
        }
    }
    Ok(found)
}

/// RFC 9110 §5.6.2
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

/// Refuses a schema whose headers no client could send.
pub fn check(schema: &Map<String, Value>) -> Result<(), String> {
    annotated(schema).map(drop)
}

/// The headers of a call, by the tool's schema.
pub fn of_arguments(schema: &str, arguments: &RawValue) -> Vec<(String, String)> {
    let schema: Option<Map<String, Value>> = wire::json::from_str(schema).ok();
    let annotated = schema.and_then(|schema| annotated(&schema).ok()).unwrap_or_default();
    let arguments: Value = match annotated.is_empty() {
        true => return Vec::new(),
        false => wire::json::from_str(arguments.get()).unwrap_or_default(),
    };
    let header = |(path, name): (Vec<String>, String)| {
        let value = path.iter().try_fold(&arguments, |value, name| value.get(name))?;
        let value = match value {
            Value::String(text) => encoded(text),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("mcp-param-{}", name.to_ascii_lowercase()), value))
    };
    annotated.into_iter().filter_map(header).collect()
}
