//! The tools of the server. Each one but `chat` is a request to a route of ours: so it has the route's scope, quotas,
//! limits and isolation. A resource is one as well.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::form::add;
use crate::given::{Part, at, text};
use crate::template::Hole::{self, Json, Text};
use crate::template::{fill, filled, separate};

/// The tool that starts a turn.
pub const CHAT: &str = "chat";
/// The scheme of our resources.
const SCHEME: &str = "espalier://";
/// The characters that stand in an address as they are (RFC 3986).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text in the result of a tool.
pub const TEXT: &str = r#"{"text":$,"type":"text"}"#;

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
    wire::json::from_str(DECLARED).unwrap_or_default()
}

/// The templates of resources.
pub fn templates() -> Vec<Value> {
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
    Some(path_of(&path.replace('@', root), &mut arguments).and_then(|mut path| {
        let body = match *method {
            "POST" => body(&arguments),
            "PUT" => text(&arguments, "content").ok_or("content must be a text")?.as_bytes().to_vec(),
            _ => {
                path.push_str(&query(&arguments)?);
                Vec::new()
            }
        };
        Ok(Planned { method, path, body })
    }))
}

/// The arguments that stand nowhere else, as a body.
fn body(arguments: &Part) -> Vec<u8> {
    let mut members = Vec::new();
    for (name, value) in arguments {
        if !value.is_null() {
            add(name, value.to_string().as_bytes(), &mut members);
        }
    }
    filled("{$}", &[Json(&members)])
}

/// The path with the arguments that stand in it. They are null from then on.
fn path_of(pattern: &str, arguments: &mut Part) -> Result<String, String> {
    let mut path = "/api".to_owned();
    for segment in pattern.split('/') {
        path.push('/');
        let name = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let Some(name) = name else {
            path.push_str(segment);
            continue;
        };
        let value = match arguments.get_mut(name).map(Value::take) {
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

/// A list as a member of a result.
pub fn listed(name: &str, items: &[Value]) -> Vec<u8> {
    let mut list = Vec::new();
    for item in items {
        separate(&mut list);
        list.extend_from_slice(item.to_string().as_bytes());
    }
    filled("$:[$]", &[Text(name), Json(&list)])
}

/// The members of a result: the resources that a list of threads is.
pub fn threads(list: &Value) -> Vec<u8> {
    let threads = at(list, "threads").as_array().map(Vec::as_slice).unwrap_or_default();
    let mut told = Vec::new();
    for thread in threads {
        let id = at(thread, "id").as_str().unwrap_or_default();
        let title = at(thread, "title").as_str().filter(|title| !title.is_empty()).unwrap_or(id);
        let uri = format!("{SCHEME}threads/{id}");
        let resource = r#"{"mimeType":"application/json","name":$,"title":$,"uri":$}"#;
        separate(&mut told);
        fill(resource, &[Text(id), Text(title), Text(&uri)], &mut told);
    }
    let mut members = filled(r#""resources":[$]"#, &[Json(&told)]);
    if let Some(cursor) = at(list, "next_cursor").as_str() {
        fill(r#","nextCursor":$"#, &[Text(cursor)], &mut members);
    }
    members
}

/// The members of the result of `resources/read`.
pub fn contents_of(uri: &str, media_type: &str, body: &[u8]) -> Vec<u8> {
    filled(r#""contents":[$]"#, &[Json(&contents(uri, media_type, body))])
}

/// The content of a resource: a text, or base64.
pub fn contents(uri: &str, media_type: &str, body: &[u8]) -> Vec<u8> {
    let is_json = media_type.starts_with("application/json");
    let base64;
    let (kind, member, content) = match std::str::from_utf8(body) {
        Ok(text) => (if is_json { "application/json" } else { "text/plain" }, "text", text),
        Err(_) => {
            base64 = BASE64_STANDARD.encode(body);
            ("application/octet-stream", "blob", base64.as_str())
        }
    };
    filled(r#"{"mimeType":$,"uri":$,$:$}"#, &[kind, uri, member, content].map(Text))
}

/// The members of the result of a tool by the answer of its route. JSON of a route is our own, so it stands in the result as
/// it is. `uri`: the address of a file, for one that is no text.
pub fn tool_result(status: u16, media_type: &str, body: &[u8], uri: &str) -> Vec<u8> {
    let text = std::str::from_utf8(body);
    let told;
    let (text, more): (_, &[Hole<'_>]) = match (text, media_type.starts_with("application/json")) {
        _ if status >= 400 => {
            told = refusal(body);
            (told.as_str(), &[Json(br#","isError":true"#)])
        }
        (Ok(text), true) => (text, &[Json(br#","structuredContent":"#), Json(body)]),
        (Ok(""), false) if status == 204 => ("Done.", &[]),
        (Ok(text), false) => (text, &[]),
        (Err(_), _) => {
            let resource = contents(uri, media_type, body);
            return filled(r#""content":[{"resource":$,"type":"resource"}]"#, &[Json(&resource)]);
        }
    };
    let content = filled(TEXT, &[Text(text)]);
    let mut members = filled(r#""content":[$]"#, &[Json(&content)]);
    for hole in more {
        fill("$", &[*hole], &mut members);
    }
    members
}

/// The text that a model reads of a problem.
fn refusal(problem: &[u8]) -> String {
    let problem: Value = wire::json::from_slice(problem).unwrap_or_default();
    let member = |name: &str| at(&problem, name).as_str().unwrap_or_default();
    let detail = match member("detail") {
        "" => member("title"),
        detail => detail,
    };
    match at(&problem, "field").as_str() {
        Some(field) => format!("{} ({field}): {detail}", member("code")),
        None => format!("{}: {detail}", member("code")),
    }
}
