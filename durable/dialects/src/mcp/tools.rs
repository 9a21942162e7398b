//! The tools of the server. Each one but `chat` is a request to a route of ours: so it has the route's scope, quotas,
//! limits and isolation. A resource is one as well.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::given::{Part, at, object, text, with};

/// The tool that starts a turn.
pub const CHAT: &str = "chat";
/// The scheme of our resources.
const SCHEME: &str = "espalier://";
/// The characters that stand in an address as they are (RFC 3986).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The declarations, as `tools/list` has them.
const DECLARED: &str = include_str!("tools.json");
/// The templates of resources, as `resources/templates/list` has them.
const TEMPLATES: &str = include_str!("templates.json");

/// The name of each tool, with the method and the path of its route under `/api/`. An argument in braces is a part of the
/// path; the others are the query, or the body. `@` is a workspace: a named one, or a thread's.
pub const ROUTES: &[(&str, &str, &str)] = &[
    ("list_threads", "GET", "threads"),
    ("read_thread", "GET", "threads/{thread_id}/messages"),
    ("list_files", "GET", "@/files"),
    ("read_file", "GET", "@/files/{path}"),
    ("write_file", "PUT", "@/files/{path}"),
    ("delete_file", "DELETE", "@/files/{path}"),
    ("list_memories", "GET", "memories"),
    ("forget_memory", "DELETE", "memories/{memory_id}"),
    ("list_collections", "GET", "collections"),
    ("search_collection", "GET", "collections/{collection_id}/search"),
    ("list_workflows", "GET", "workflows"),
    ("start_workflow", "POST", "workflows/{workflow_id}/sessions"),
    ("continue_workflow", "POST", "workflows/{workflow_id}/sessions/{session_id}/continue"),
];

/// A request to a route of ours.
#[derive(Debug, PartialEq, Eq)]
pub struct Planned {
    pub method: &'static str,
    /// With its query.
    pub path: String,
    pub body: Vec<u8>,
}

/// The declarations of all tools.
pub fn tools() -> Vec<Value> {
    match wire::json::from_str(DECLARED) {
        Ok(Value::Array(tools)) => tools,
        _ => Vec::new(),
    }
}

/// The templates of resources.
pub fn templates() -> Value {
    wire::json::from_str(TEMPLATES).unwrap_or_default()
}

/// The method and a path of a tool's route, with placeholders; none for `chat`.
pub fn sample(name: &str) -> Option<(&'static str, String)> {
    let (_, method, path) = ROUTES.iter().find(|(of, ..)| *of == name)?;
    Some((*method, format!("/api/{}", path.replace('@', "threads/-"))))
}

/// The request that a call of a tool is. None: there is no such tool. The error is for the model.
pub fn plan(name: &str, mut arguments: Part) -> Option<Result<Planned, String>> {
    let (_, method, path) = ROUTES.iter().find(|(of, ..)| *of == name)?;
    let root =
        if arguments.contains_key("workspace") { "workspaces/{workspace}" } else { "threads/{thread_id}" };
    Some(filled(&path.replace('@', root), &mut arguments).and_then(|mut path| {
        let body = match *method {
            "POST" => Value::Object(arguments).to_string().into_bytes(),
            "PUT" => text(&arguments, "content").ok_or("content must be a text")?.as_bytes().to_vec(),
            _ => {
                path.push_str(&query(&arguments)?);
                Vec::new()
            }
        };
        Ok(Planned { method, path, body })
    }))
}

/// The path with the arguments that stand in it.
fn filled(pattern: &str, arguments: &mut Part) -> Result<String, String> {
    let mut path = "/api".to_owned();
    for segment in pattern.split('/') {
        path.push('/');
        let name = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let Some(name) = name else {
            path.push_str(segment);
            continue;
        };
        let value = match arguments.remove(name) {
            Some(Value::String(value)) if !value.is_empty() => value,
            _ => return Err(format!("{name} must be a text that is not empty")),
        };
        // A path is several segments, everything else one.
        match name {
            "path" => path.push_str(&encoded(&value).replace("%2F", "/")),
            _ => path.push_str(&encoded(&value)),
        }
    }
    Ok(path)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// The rest of the arguments as a query.
fn query(arguments: &Part) -> Result<String, String> {
    let mut query = String::new();
    for (name, value) in arguments {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => return Err(format!("{name} must be a text or a number")),
        };
        let name = if name == "query" { "q" } else { name };
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&format!("{}={}", encoded(name), encoded(&value)));
    }
    Ok(query)
}

/// The path of a resource's route; none if there is no resource of this address. A thread is its messages.
pub fn resource(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(SCHEME).filter(|rest| !rest.contains(['?', '#']))?;
    let mut segments = rest.splitn(4, '/');
    let (root, id, files, path) = (segments.next()?, segments.next()?, segments.next(), segments.next());
    match (root, files, path) {
        _ if id.is_empty() => None,
        ("threads", None, None) => Some(format!("/api/threads/{id}/messages")),
        ("threads" | "workspaces", Some("files"), Some(path)) if !path.is_empty() => {
            Some(format!("/api/{root}/{id}/files/{path}"))
        }
        _ => None,
    }
}

/// The resources that a list of threads is.
pub fn threads(list: &Value) -> Value {
    let threads = at(list, "threads").as_array().map(Vec::as_slice).unwrap_or_default();
    let mut told = Vec::new();
    for thread in threads {
        let id = at(thread, "id").as_str().unwrap_or_default();
        let title = at(thread, "title").as_str().filter(|title| !title.is_empty()).unwrap_or(id);
        told.push(object! {
            "uri": format!("{SCHEME}threads/{id}"), "name": id, "title": title, "mimeType": "application/json",
        });
    }
    let resources = object! { "resources": told };
    match at(list, "next_cursor") {
        Value::Null => resources,
        cursor => with(resources, object! { "nextCursor": cursor.clone() }),
    }
}

/// The content of a resource: a text, or base64.
pub fn contents(uri: &str, media_type: &str, body: &[u8]) -> Value {
    let is_json = media_type.starts_with("application/json");
    let content = object! { "uri": uri };
    match std::str::from_utf8(body) {
        Ok(text) => {
            let kind = if is_json { "application/json" } else { "text/plain" };
            with(content, object! { "mimeType": kind, "text": text })
        }
        Err(_) => with(
            content,
            object! { "mimeType": "application/octet-stream", "blob": BASE64_STANDARD.encode(body) },
        ),
    }
}

/// The result of a tool by the answer of its route. `uri`: the address of a file, for one that is no text.
pub fn tool_result(status: u16, media_type: &str, body: &[u8], uri: &str) -> Value {
    let json = || wire::json::from_slice::<Value>(body).unwrap_or_default();
    let texts = |text: &str| vec![object! { "type": "text", "text": text }];
    if status >= 400 {
        let problem = json();
        let member = |name: &str| at(&problem, name).as_str().unwrap_or_default();
        let detail = match member("detail") {
            "" => member("title"),
            detail => detail,
        };
        let told = match at(&problem, "field").as_str() {
            Some(field) => format!("{} ({field}): {detail}", member("code")),
            None => format!("{}: {detail}", member("code")),
        };
        return object! { "content": texts(&told), "isError": true };
    }
    match (media_type.starts_with("application/json"), std::str::from_utf8(body)) {
        (true, Ok(text)) => object! { "content": texts(text), "structuredContent": json() },
        (false, Ok("")) if status == 204 => object! { "content": texts("Done.") },
        (false, Ok(text)) => object! { "content": texts(text) },
        (_, Err(_)) => {
            let resource = contents(uri, media_type, body);
            object! { "content": vec![object! { "type": "resource", "resource": resource }] }
        }
    }
}
