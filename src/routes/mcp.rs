//! `POST /mcp`: the service as an MCP server. A tool is a request to one of our own routes, which judges it as any other
//! request; `chat` is a command to its thread's object, which answers in the protocol's form.

#[cfg(feature = "fixtures")]
mod fixtures;
mod turns;

use dialects::mcp::{self, CHAT, Message, Planned, Request};
use serde_json::{Map, Value};
use wire::protocol::{ApiError, ErrorCode};

use super::credentials::Caller;
use super::{Admitted, carry_out, foreign, object};
use crate::auth::scope::{Access, Scope};
use crate::body::HeldBody;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;
use crate::router::{self, Found, Row};

/// Answers a message. A turn may take minutes, so the body goes before it begins.
pub async fn answer(call: &Call, caller: Caller, body: HeldBody) -> Result<Answer, Failure> {
    let read = mcp::read(&body, |name| call.header(name));
    drop(body);
    let request = match read {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification) => {
            return Ok(Reply { status: 202, headers: Vec::new(), body: None }.into());
        }
        Err(refusal) => return Ok(json(refusal.status, refusal.body)),
    };
    #[cfg(feature = "fixtures")]
    if fixtures::are_on(call) {
        if let Some(arguments) = fixtures::as_chat(&request) {
            return turns::converse(call, caller.owner()?, &request, &arguments).await;
        }
        if let Some(answer) = fixtures::answer(call, caller.clone().owner()?, &request) {
            return Ok(answer);
        }
    }
    match next(&caller, &request)? {
        Next::Answered(answer) => Ok(answer),
        Next::Ask(planned, then) => {
            let told = ask(call, caller, planned).await?;
            Ok(then(&request, told))
        }
        Next::Converse(arguments) => turns::converse(call, caller.owner()?, &request, &arguments).await,
        Next::Task => turns::task(call, caller, &request).await,
    }
}

/// The work that a request leads to.
enum Next {
    Answered(Answer),
    /// A request to a route of ours, and the answer that its answer becomes.
    Ask(Planned, fn(&Request, RouteAnswer) -> Answer),
    /// `chat`, with its arguments.
    Converse(Map<String, Value>),
    Task,
}

/// Decides what a request leads to, and asks nobody.
fn next(caller: &Caller, request: &Request) -> Result<Next, Failure> {
    let is_modern = request.is_modern();
    let answered = match (request.method.as_str(), is_modern) {
        ("server/discover", true) => mcp::discovered(),
        ("initialize", false) => {
            mcp::initialized(request.params.get("protocolVersion").unwrap_or(&Value::Null))
        }
        ("ping", false) => mcp::complete(false, b""),
        ("tools/list", _) => {
            let mut tools = mcp::tools();
            tools.retain(|tool| is_offered(caller, member(tool, "name")));
            mcp::list(is_modern, &mcp::listed("tools", &tools))
        }
        ("tools/call", _) => return tool(caller, request),
        ("resources/list", _) => return Ok(resources(request)),
        ("resources/templates/list", _) => {
            mcp::list(is_modern, &mcp::listed("resourceTemplates", &mcp::templates()))
        }
        ("resources/read", _) => return Ok(resource(request)),
        ("tasks/get" | "tasks/update" | "tasks/cancel", true) => return Ok(Next::Task),
        (method, _) => {
            let status = if is_modern { 404 } else { 200 };
            let told = format!("there is no method {method}");
            let refused = error(request, status, mcp::METHOD_NOT_FOUND, &told, b"");
            return Ok(Next::Answered(refused));
        }
    };
    Ok(Next::Answered(result(request, &answered)))
}

fn result(request: &Request, result: &[u8]) -> Answer {
    json(200, mcp::response(&request.id.to_string(), result))
}

fn error(request: &Request, status: u16, code: i64, message: &str, data: &[u8]) -> Answer {
    json(status, mcp::error(&request.id.to_string(), code, message, data))
}

fn json(status: u16, body: Vec<u8>) -> Answer {
    Reply::bytes(status, "application/json", body).into()
}

fn invalid(request: &Request, message: &str) -> Answer {
    error(request, 200, mcp::INVALID_PARAMS, message, b"")
}

/// A result of these members, in the form of the client's revision.
fn complete(request: &Request, members: &[u8]) -> Answer {
    result(request, &mcp::complete(request.is_modern(), members))
}

/// Whether the credential has the scope that the tool needs.
fn is_offered(caller: &Caller, name: &str) -> bool {
    match name {
        CHAT => caller.has(Scope::Write),
        name => mcp::sample(name).is_some_and(|(method, path)| match router::find(method, &path) {
            Found::Route(Row { access: Access::Needs(scope), .. }, _) => caller.has(*scope),
            _ => false,
        }),
    }
}

/// A member that is a text; an empty one where there is none.
fn member<'a>(json: &'a Value, name: &str) -> &'a str {
    json.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A parameter that is a text; an empty one where there is none.
fn member_of<'a>(request: &'a Request, name: &str) -> &'a str {
    request.params.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// `tools/call`
fn tool(caller: &Caller, request: &Request) -> Result<Next, Failure> {
    let name = member_of(request, "name");
    let arguments = match request.params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Ok(Next::Answered(invalid(request, "arguments must be an object"))),
    };
    if name == CHAT {
        caller.needs(Scope::Write)?;
        return Ok(Next::Converse(arguments));
    }
    Ok(match mcp::plan(name, arguments) {
        None => Next::Answered(invalid(request, &format!("there is no tool {name}"))),
        Some(Err(why)) => {
            let refusal = refused(&ApiError::new(ErrorCode::InvalidRequest, why));
            Next::Answered(complete(request, &refusal))
        }
        Some(Ok(planned)) => Next::Ask(planned, |request, RouteAnswer { status, media_type, body }| {
            let arguments = request.params.get("arguments").unwrap_or(&Value::Null);
            let uri = format!("file:///{}", member(arguments, "path"));
            complete(request, &mcp::tool_result(status, &media_type, &body, &uri))
        }),
    })
}

/// The members of the result of a tool that a refusal is.
fn refused(error: &ApiError) -> Vec<u8> {
    let problem = serde_json::to_vec(&error.problem()).unwrap_or_default();
    mcp::tool_result(error.code.status(), "application/problem+json", &problem, "")
}

/// The answer of a route.
struct RouteAnswer {
    status: u16,
    media_type: String,
    body: Vec<u8>,
}

/// Asks one of our routes. It judges the request as if the caller had sent it.
async fn ask(call: &Call, caller: Caller, planned: Planned) -> Result<RouteAnswer, Failure> {
    let Planned { method, path, body } = planned;
    let mut body = HeldBody::from(body);
    let inner = call.within(&path).map_err(Failure::internal("asking a route"))?;
    let path = path.split('?').next().unwrap_or_default();
    let Found::Route(row, parameters) = router::find(method, path) else {
        let missing = ApiError::new(ErrorCode::RouteNotFound, "this deployment does not have this");
        return read_answer(Answer::Ours(Failure::from(missing).reply())).await;
    };
    if let Access::Needs(scope) = row.access {
        caller.needs(scope)?;
    }
    read_answer(
        match carry_out(Admitted { call: &inner, caller, body: &mut body }, row, parameters, path).await {
            Ok(answer) => answer,
            Err(Failure::Refused(error)) => Answer::Ours(Failure::Refused(error).reply()),
            Err(failure) => return Err(failure),
        },
    )
    .await
}

async fn read_answer(answer: Answer) -> Result<RouteAnswer, Failure> {
    Ok(match answer {
        Answer::Ours(Reply { status, headers, body }) => {
            let media_type = headers.into_iter().find(|(name, _)| *name == "content-type");
            let media_type = media_type.map(|(_, value)| value).unwrap_or_default();
            RouteAnswer { status, media_type, body: body.unwrap_or_default() }
        }
        Answer::Object(response) | Answer::Warned(response, _) => {
            let media_type = response.headers().get("content-type").ok().flatten().unwrap_or_default();
            let body = object::text(&response).await.into_bytes();
            RouteAnswer { status: response.status(), media_type, body }
        }
    })
}

/// `resources/list`: the threads. The files of a thread are templates, because each thread has a list of its own.
fn resources(request: &Request) -> Next {
    let mut arguments = Map::new();
    if let Some(cursor) = request.params.get("cursor") {
        arguments.insert("cursor".to_owned(), cursor.clone());
    }
    match mcp::plan("list_threads", arguments) {
        Some(Ok(planned)) => Next::Ask(planned, |request, RouteAnswer { status, body, .. }| {
            let list: Value = wire::json::from_slice(&body).unwrap_or_default();
            match status {
                200 => result(request, &mcp::data(request.is_modern(), &mcp::threads(&list))),
                _ => invalid(request, member(&list, "detail")),
            }
        }),
        _ => Next::Answered(invalid(request, "cursor must be a text")),
    }
}

/// `resources/read`
fn resource(request: &Request) -> Next {
    let Some(path) = mcp::resource(member_of(request, "uri")) else {
        return Next::Answered(no_resource(request));
    };
    let planned = Planned { method: "GET", path, body: Vec::new() };
    Next::Ask(planned, |request, RouteAnswer { status, media_type, body }| {
        let uri = member_of(request, "uri");
        match status {
            200 => {
                let members = mcp::contents_of(uri, &media_type, &body);
                result(request, &mcp::data(request.is_modern(), &members))
            }
            400..500 => no_resource(request),
            _ => {
                let told = "the resource cannot be read now";
                error(request, 200, mcp::INTERNAL, told, &mcp::of_resource(uri))
            }
        }
    })
}

fn no_resource(request: &Request) -> Answer {
    let code = if request.is_modern() { mcp::INVALID_PARAMS } else { mcp::RESOURCE_NOT_FOUND };
    let data = mcp::of_resource(member_of(request, "uri"));
    error(request, 200, code, "there is no resource with this address", &data)
}

/// `GET /.well-known/oauth-protected-resource`: the issuers whose tokens come as `Authorization: Bearer`.
pub fn protected_resource(call: &Call) -> Result<Answer, Failure> {
    let origin = call.own_origin().unwrap_or_default();
    let servers = authorization_servers(call);
    if servers.is_empty() {
        let none = "this deployment takes API keys: no issuer of tokens is configured";
        return Err(ApiError::new(ErrorCode::RouteNotFound, none).into());
    }
    Ok(json(200, mcp::protected_resource(&format!("{origin}{}", router::MCP), &servers)))
}

fn authorization_servers(call: &Call) -> Vec<&str> {
    let issuers = call.settings.issuers.as_deref().unwrap_or_default().iter();
    let bearers = issuers.filter(|issuer| issuer.header.is_none() && issuer.issuer.starts_with("http"));
    bearers.map(|issuer| issuer.issuer.as_str()).collect()
}

/// An answer of `/mcp`, with its problem as the protocol has errors. A refused credential tells where tokens come from.
pub async fn translated(call: &Call, answer: Answer) -> Answer {
    let form: foreign::Form = |status, problem| {
        let code = match status {
            400 | 415 => mcp::INVALID_REQUEST,
            500.. => mcp::INTERNAL,
            _ => mcp::REFUSED,
        };
        let detail = member(problem, "detail");
        mcp::error(mcp::NO_ID, code, detail, problem.to_string().as_bytes())
    };
    let mut answer = foreign::translated(answer, form).await;
    if let Answer::Ours(reply) = &mut answer
        && reply.status == 401
        && !authorization_servers(call).is_empty()
    {
        let origin = call.own_origin().unwrap_or_default();
        let challenge = reply.headers.iter_mut().find(|(name, _)| *name == "www-authenticate");
        if let Some((_, challenge)) = challenge {
            let metadata = format!("{origin}/.well-known/oauth-protected-resource{}", router::MCP);
            challenge.push_str(&format!(", resource_metadata=\"{metadata}\""));
        }
    }
    answer
}
