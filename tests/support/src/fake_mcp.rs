//! MCP servers that misbehave, each at its own path, and a correct one. A tool's name tells its behaviour:
//!
//! | path | server |
//! |---|---|
//! | `/tools` | wants the bearer token; its tools go wrong in the ways that they are called by |
//! | `/oauth` | wants a token of `/token`, and refuses the first one that was given; its resource is the template of an agent |
//! | `/modern` | speaks 2026-07-28 alone (`modern.rs`) |
//! | `/hang` | never answers |
//! | `/giant` | lists tools without end |
//!
//! `GET /_fake/requests` lists the requests; the mark in a call's arguments identifies the call.

mod modern;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{canary, http};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The piece of an endless body, and the most pieces: a gigabyte.
const PIECE: &str = "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],";
const PIECES: usize = (1 << 30) / (PIECE.len() * 1_024);

/// The tools of `/tools`.
const TOOLS: [&str; 10] =
    ["say", "repeat.auth", "giant", "lost", "wrong", "cut", "hang", "destroy", "fails", "silent"];

/// The resource of `/oauth`: an agent with the tools of another server.
const TEMPLATE: &str = "---\nmcp: everything, unknown\n---\nUse them.";

/// Fake MCP servers somewhere on this machine.
#[derive(Clone, Debug)]
pub struct FakeMcp {
    url: String,
}

#[derive(Default)]
struct State {
    requests: Vec<Value>,
    sessions: Vec<String>,
    opened: usize,
    tokens: usize,
    /// Marks of calls whose session was lost once.
    lost: Vec<String>,
    /// The calls whose streams were cut.
    cut: Vec<(String, Value)>,
}

impl FakeMcp {
    /// Starts them inside this process.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        tokio::spawn(serve(listener));
        Self { url: format!("http://127.0.0.1:{port}") }
    }

    /// The servers that `e2e` has started.
    pub fn from_env() -> Self {
        Self { url: crate::env("ESPALIER_FAKE_MCP_URL") }
    }

    /// Their address, without a path.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The requests, as `{server, method, rpc, session, id, tool, mark}`, in the order of their arrival.
    pub async fn requests(&self) -> Vec<Value> {
        let reply = http::send("GET", &format!("{}/_fake/requests", self.url), &[], Vec::new()).await;
        serde_json::from_value(reply.json().await).expect("a list")
    }
}

async fn serve(listener: TcpListener) {
    let state = Arc::new(Mutex::new(State::default()));
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(answer(&state, request).await) }
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

// Long: an arm for each request.
async fn answer(state: &Mutex<State>, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let header = |name: &str| {
        head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let server = head.uri.path().trim_start_matches('/').to_owned();
    if server == "_fake/requests" {
        return json_reply(200, &json!(lock(state).requests));
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (session, authorization) = (header("mcp-session-id"), header("authorization"));
    lock(state).requests.push(json!({
        "server": server, "method": head.method.as_str(), "rpc": message["method"], "session": session,
        "id": message["id"], "tool": message["params"]["name"], "mark": message["params"]["arguments"]["mark"],
        "cancelled": message["params"]["requestId"], "after": header("last-event-id"),
    }));
    match server.as_str() {
        "token" => return token(state, &authorization, &body),
        "hang" => return std::future::pending().await,
        "modern" => {
            let (status, body) = modern::answer(&message, header);
            return json_reply(status, &body);
        }
        "tools" if authorization != format!("Bearer {}", canary::MCP_BEARER) => return plain(401, "no"),
        "oauth" if !takes(&authorization) => return plain(401, "no"),
        _ => {}
    }
    let known = lock(state).sessions.contains(&session);
    match (head.method.as_str(), message["method"].as_str().unwrap_or_default()) {
        ("POST", "initialize") => {
            let mut state = lock(state);
            state.opened += 1;
            let session = format!("session-{}", state.opened);
            state.sessions.push(session.clone());
            let mut result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": server, "version": "1"}});
            if server == "oauth" {
                result["capabilities"]["resources"] = json!({});
            }
            let mut reply = json_reply(200, &result_of(&message, result));
            if let Ok(session) = session.parse() {
                reply.headers_mut().insert("mcp-session-id", session);
            }
            reply
        }
        _ if !known => plain(404, "no such session"),
        ("DELETE", _) => {
            lock(state).sessions.retain(|known| *known != session);
            plain(200, "")
        }
        ("GET", _) => resumed(state, &header("last-event-id")),
        (_, "tools/list") if server == "giant" => endless("{\"jsonrpc\":\"2.0\",\"tools\":["),
        (_, "tools/list") => json_reply(200, &result_of(&message, json!({"tools": tools(&server)}))),
        (_, "resources/read") => {
            let uri = &message["params"]["uri"];
            let content = json!({"uri": uri, "mimeType": "text/markdown", "text": TEMPLATE});
            json_reply(200, &result_of(&message, json!({"contents": [content]})))
        }
        (_, "tools/call") => called(state, &message, &authorization, &session).await,
        // Notifications, and answers to the server's own requests.
        _ => plain(202, ""),
    }
}

/// The first token is one that `/oauth` no longer takes.
fn takes(authorization: &str) -> bool {
    let first = format!("Bearer {}-1", canary::MCP_TOKEN);
    authorization.starts_with(&format!("Bearer {}-", canary::MCP_TOKEN)) && authorization != first
}

fn token(state: &Mutex<State>, authorization: &str, body: &[u8]) -> Response<Body> {
    // `espalier:…` in base64, as RFC 7617 defines it.
    let form = String::from_utf8_lossy(body);
    if authorization != canary::MCP_BASIC || !form.contains("grant_type=client_credentials&resource=http") {
        return json_reply(401, &json!({"error": "invalid_client"}));
    }
    let mut state = lock(state);
    state.tokens += 1;
    let token = format!("{}-{}", canary::MCP_TOKEN, state.tokens);
    json_reply(200, &json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600}))
}

fn tools(server: &str) -> Vec<Value> {
    let names: &[&str] = if server == "tools" { &TOOLS } else { &["say"] };
    let tool = |name: &&str| {
        let annotations = match *name {
            // Without annotations it may destroy data, by the protocol's defaults.
            "silent" => json!({}),
            name => {
                json!({"destructiveHint": name == "destroy", "idempotentHint": true, "readOnlyHint": true})
            }
        };
        json!({
            "name": name, "description": format!("{name} of {server}"),
            "inputSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                // Look-around, as zod writes it: the service does not compile it.
                "properties": {"mark": {"type": "string", "pattern": "^(?!\\n)"}}, "required": ["mark"],
            },
            "annotations": annotations,
        })
    };
    names.iter().map(tool).collect()
}

async fn called(state: &Mutex<State>, message: &Value, authorization: &str, session: &str) -> Response<Body> {
    let mark = message["params"]["arguments"]["mark"].as_str().unwrap_or_default().to_owned();
    let said = |text: &str| result_of(message, json!({"content": [{"type": "text", "text": text}]}));
    match message["params"]["name"].as_str().unwrap_or_default() {
        "repeat.auth" => json_reply(200, &said(&format!("you sent {authorization}"))),
        "giant" => endless("{\"jsonrpc\":\"2.0\",\"result\":["),
        "lost" => {
            let mut state = lock(state);
            if state.lost.contains(&mark) {
                return json_reply(200, &said("in a new session"));
            }
            state.lost.push(mark);
            state.sessions.retain(|known| known != session);
            plain(404, "no such session")
        }
        "wrong" => reply(200, "application/json", "<html>"),
        "cut" => {
            let id = format!("event-{mark}");
            lock(state).cut.push((id.clone(), said("the rest")));
            reply(200, "text/event-stream", &format!("id: {id}\nretry: 50\ndata:\n\nid: never\ndata: {{"))
        }
        "hang" => std::future::pending().await,
        "fails" => {
            let content = json!([{"type": "text", "text": "the cupboard is bare"}]);
            json_reply(200, &result_of(message, json!({"content": content, "isError": true})))
        }
        name => json_reply(200, &said(&format!("{name}: {mark}"))),
    }
}

/// The rest of a stream that was cut.
fn resumed(state: &Mutex<State>, after: &str) -> Response<Body> {
    let state = lock(state);
    match state.cut.iter().find(|(id, _)| id == after) {
        Some((id, rest)) => reply(200, "text/event-stream", &format!("id: {id}-2\ndata: {rest}\n\n")),
        None => plain(405, ""),
    }
}

fn result_of(message: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

fn endless(beginning: &'static str) -> Response<Body> {
    let piece = Bytes::from(PIECE.repeat(1_024));
    let pieces =
        std::iter::once(Bytes::from_static(beginning.as_bytes())).chain(std::iter::repeat_n(piece, PIECES));
    let frames = stream::iter(pieces.map(|piece| Ok(Frame::data(piece))));
    typed(200, "application/json", BodyExt::boxed_unsync(StreamBody::new(frames)))
}

fn json_reply(status: u16, body: &Value) -> Response<Body> {
    reply(status, "application/json", &body.to_string())
}

fn plain(status: u16, body: &str) -> Response<Body> {
    reply(status, "text/plain", body)
}

fn reply(status: u16, content_type: &'static str, body: &str) -> Response<Body> {
    typed(status, content_type, Full::new(Bytes::from(body.to_owned())).boxed_unsync())
}

fn typed(status: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static(content_type));
    response
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
