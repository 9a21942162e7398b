//! The tools, prompts and resources that the protocol's own tests of servers ask for (`tests/conformance`). Only a build
//! with the feature `fixtures` has them, where the variable `FIXTURES` is set, and no such build is deployed. They go the way of our own tools up to here, so
//! the tests judge our headers, errors, results and signed states.

use dialects::mcp::{self, Request};
use serde_json::{Map, Value, json};
use uuid::Uuid;
use wire::protocol::Owner;

use super::{complete, error, invalid, member, result};
use crate::call::{Answer, Call};
use crate::reply::Reply;

const FIXTURES: &str = include_str!("../../../tests/conformance/fixtures.json");
/// The members of a fixture that no list has.
const OWN: [&str; 6] = ["chats", "needs", "progress", "result", "rounds", "signed"];
/// A tool that works for so many seconds or more does not end before it is stopped.
const ENDLESS_S: u64 = 10;

/// Whether the variable `FIXTURES` is set.
pub fn are_on(call: &Call) -> bool {
    call.env.var("FIXTURES").is_ok()
}

/// The arguments of the `chat` that a fixture is: a turn of ours, whose model plays a script of the tests. So the protocol's
/// tests of tasks judge our own tasks.
pub fn as_chat(request: &Request) -> Option<Map<String, Value>> {
    let all: Value = wire::json::from_str(FIXTURES).ok()?;
    let name =
        request.params.get("name").and_then(Value::as_str).filter(|_| request.method == "tools/call")?;
    named(&all, "tools", "name", name)?.get("chats")?;
    let arguments = request.params.get("arguments")?;
    let is_endless =
        arguments.get("seconds").and_then(Value::as_u64).is_some_and(|seconds| seconds >= ENDLESS_S);
    let script = if is_endless { "endless" } else { name };
    let message = format!("Work [[fake:conformance-{script}]]");
    Some([("message".to_owned(), Value::from(message))].into_iter().collect())
}

/// The answer to a request that asks for a fixture, or for a list that has some.
pub fn answer(call: &Call, owner: Owner, request: &Request) -> Option<Answer> {
    let all: Value = wire::json::from_str(FIXTURES).ok()?;
    let name = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
    let listed = |kind: &str, member: &str, more: Vec<Value>| {
        let list: Vec<Value> = listed(&all, kind).into_iter().map(listed_fixture).chain(more).collect();
        Some(result(request, &mcp::list(request.is_modern(), &mcp::listed(member, &list))))
    };
    match request.method.as_str() {
        "server/discover" => Some(result(request, &with_capabilities(&mcp::discovered(), &all))),
        "initialize" if !request.is_modern() => {
            let version = request.params.get("protocolVersion").unwrap_or(&Value::Null);
            Some(result(request, &with_capabilities(&mcp::initialized(version), &all)))
        }
        "tools/list" => listed("tools", "tools", mcp::tools()),
        "prompts/list" => listed("prompts", "prompts", Vec::new()),
        "resources/list" => listed("resources", "resources", Vec::new()),
        "resources/templates/list" => listed("templates", "resourceTemplates", Vec::new()),
        "completion/complete" => Some(complete(request, br#""completion":{"values":[],"hasMore":false}"#)),
        "tools/call" => played(call, &owner, request, &named(&all, "tools", "name", name)?),
        "prompts/get" => match named(&all, "prompts", "name", name) {
            Some(prompt) => played(call, &owner, request, &prompt),
            None => Some(invalid(request, "there is no such prompt")),
        },
        "resources/read" => read(request, &all),
        _ => None,
    }
}

fn listed(all: &Value, kind: &str) -> Vec<Value> {
    all.get(kind).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn named(all: &Value, kind: &str, by: &str, name: &str) -> Option<Value> {
    listed(all, kind).into_iter().find(|fixture| member(fixture, by) == name)
}

/// A fixture as a list has it.
fn listed_fixture(mut fixture: Value) -> Value {
    if let Some(members) = fixture.as_object_mut() {
        members.retain(|name, _| !OWN.contains(&name.as_str()));
    }
    fixture
}

fn with_capabilities(result: &[u8], all: &Value) -> Vec<u8> {
    let mut result: Value = wire::json::from_slice(result).unwrap_or_default();
    let ours = result.get_mut("capabilities").and_then(Value::as_object_mut);
    if let (Some(ours), Some(Value::Object(more))) = (ours, all.get("capabilities").cloned()) {
        ours.extend(more);
    }
    result.to_string().into_bytes()
}

/// The members of an object.
fn members(object: &Value) -> Vec<u8> {
    let text = object.to_string();
    let members = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    members.unwrap_or_default().as_bytes().to_vec()
}

fn read(request: &Request, all: &Value) -> Option<Answer> {
    let uri = request.params.get("uri").and_then(Value::as_str).unwrap_or_default();
    let found = named(all, "resources", "uri", uri).map(|resource| (resource, String::new()));
    let by_template = || {
        let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
        Some((listed(all, "templates").into_iter().next()?, id.to_owned()))
    };
    let (resource, id) = found.or_else(by_template)?;
    let mut arguments = Map::new();
    arguments.insert("id".to_owned(), Value::from(id));
    let contents = filled(resource.get("result")?, &arguments);
    Some(result(request, &mcp::data(request.is_modern(), &members(&contents))))
}

/// The result with the arguments in their places.
fn filled(result: &Value, arguments: &Map<String, Value>) -> Value {
    let mut text = result.to_string();
    for (name, value) in arguments {
        text = text.replace(&format!("{{{{{name}}}}}"), value.as_str().unwrap_or_default());
    }
    wire::json::from_str(&text).unwrap_or_default()
}

/// Plays a tool or a prompt: it asks the client round by round, then it has its result.
fn played(call: &Call, owner: &Owner, request: &Request, fixture: &Value) -> Option<Answer> {
    let given = |name: &str| request.params.get(name);
    let capabilities = given("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/clientCapabilities"));
    let can = |name: &str| capabilities.is_some_and(|all| all.get(name).is_some());
    if let Some(needs) = fixture.get("needs").and_then(Value::as_str).filter(|needs| !can(needs)) {
        let data = json!({ "requiredCapabilities": { needs: {} } }).to_string();
        let told = "the client lacks a capability";
        return Some(error(request, 400, mcp::MISSING_CAPABILITY, told, data.as_bytes()));
    }
    let (rounds, name) = (listed(fixture, "rounds"), member(fixture, "name"));
    let states = call.settings.turn_states.as_ref()?;
    let mut round = match given("requestState").and_then(Value::as_str) {
        None => 0,
        Some(state) => match states.read(state, owner, name, call.now) {
            Some((_, round)) => usize::try_from(round.as_u128()).ok()?,
            None => return Some(invalid(request, "requestState is not valid")),
        },
    };
    let answers = match given("inputResponses") {
        None => Map::new(),
        Some(Value::Object(answers)) if answers.values().all(Value::is_object) => answers.clone(),
        Some(_) => return Some(invalid(request, "inputResponses is not valid")),
    };
    let questions = |round: usize| match rounds.get(round) {
        Some(Value::Object(questions)) => questions.clone(),
        _ => Map::new(),
    };
    if !questions(round).is_empty() && questions(round).keys().all(|key| answers.contains_key(key)) {
        round += 1;
    }
    let mut asked = questions(round);
    if !asked.is_empty() {
        if capabilities.is_some_and(|all| all.as_object().is_some_and(|all| !all.is_empty())) {
            asked.retain(|_, question| can(member(question, "method").split('/').next().unwrap_or_default()));
        }
        let mut told = json!({ "resultType": "input_required", "inputRequests": asked });
        if fixture.get("signed").is_some()
            && let Some(told) = told.as_object_mut()
        {
            let state = states.make(owner, Uuid::nil(), Uuid::from_u128(round as u128), name, call.now);
            told.insert("requestState".to_owned(), Value::from(state));
        }
        return Some(result(request, told.to_string().as_bytes()));
    }
    let arguments = given("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
    let told = mcp::complete(request.is_modern(), &members(&filled(fixture.get("result")?, &arguments)));
    let steps = listed(fixture, "progress");
    match request.progress() {
        Some(token) if !steps.is_empty() => {
            streamed(&token, steps, &mcp::response(&request.id.to_string(), &told))
        }
        _ => Some(result(request, &told)),
    }
}

/// The steps as notifications of progress, then the response.
fn streamed(token: &str, steps: Vec<Value>, response: &[u8]) -> Option<Answer> {
    let token: Value = wire::json::from_str(token).ok()?;
    let told = steps.into_iter().map(|step| {
        let params = json!({ "progressToken": token.clone(), "progress": step, "total": 100 });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
    });
    let told = told.chain([String::from_utf8_lossy(response).into_owned()]);
    let frames: String = told.map(|told| format!("event: message\ndata: {told}\n\n")).collect();
    Some(Reply::bytes(200, "text/event-stream", frames.into_bytes()).into())
}
