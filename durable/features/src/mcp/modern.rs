//! Requests of revision 2026-07-28. There is no session: each request says who asks and what the client can do, and
//! headers repeat parts of its body. A server that needs input answers with a result that says so; this client has no
//! abilities, so it repeats a request only where the server asks for that alone.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::connection::parsed;
use super::error::McpError;
use super::message::{self, Capabilities, MODERN};

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

/// A request.
pub fn request(id: u64, method: &str, mut params: Value) -> Post {
    let name = ["name", "uri"].into_iter().find_map(|member| params.get(member).and_then(Value::as_str));
    let mut headers = vec![("mcp-protocol-version", MODERN.to_owned()), ("mcp-method", method.to_owned())];
    headers.extend(name.map(|name| ("mcp-name", encoded(name))));
    if let Value::Object(members) = &mut params {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(MODERN));
            meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), message::client());
            meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), json!({}));
        }
    }
    Post { body: message::request(id, method, &params), headers, named: Vec::new() }
}

/// The client's next step after a result.
pub enum Next {
    Take,
    /// It asks again, with this state.
    Repeat(String),
}

/// Reads what kind of result it is, after so many repetitions. A result without a kind is complete.
pub fn next(result: &RawValue, repeated: usize) -> Result<Next, McpError> {
    let result: Value = parsed(result)?;
    let member = |name: &str| result.get(name).and_then(Value::as_str);
    match (member("resultType"), member("requestState"), result.get("inputRequests")) {
        (None | Some("complete"), ..) => Ok(Next::Take),
        (Some("input_required"), Some(state), None) if repeated < MAX_ROUNDS => {
            Ok(Next::Repeat(state.to_owned()))
        }
        (Some("input_required"), ..) => {
            Err(McpError::NotMcp("it asks for input, which this client does not give".to_owned()))
        }
        (Some(_), ..) => {
            Err(McpError::NotMcp("its result is of a type that this client does not take".to_owned()))
        }
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
