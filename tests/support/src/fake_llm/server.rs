//! The HTTP side of the fake LLM.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

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
use tokio::sync::mpsc;

use super::idp;
use super::ledger::{self, Ledger, Outcome};
use super::reply::{Act, Head};
use super::script::{Barrier, Cut, Script, Step};
use super::site;
use super::wire::{Headers, Reply, Wire, Wrong};

pub type Body = UnsyncBoxBody<Bytes, io::Error>;
type Sender = mpsc::Sender<Result<Frame<Bytes>, io::Error>>;

/// The longest that `/_fake/wait` holds a request: more than any event needs, and less than the test runner's patience.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Where documents are kept.
pub const DOCUMENTS: &str = "/_fake/documents/";
const HOOKS: &str = "/_fake/hooks/";

/// Serves on this socket for as long as the process runs.
pub async fn serve(listener: TcpListener) {
    let ledger = Arc::new(Ledger::default());
    loop {
        // An error of `accept` concerns one connection that was never made.
        let Ok((socket, _)) = listener.accept().await else { continue };
        let _ = socket.set_nodelay(true);
        let ledger = Arc::clone(&ledger);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let ledger = Arc::clone(&ledger);
                async move { Ok::<_, Infallible>(answer(ledger, request).await) }
            });
            // A broken connection is no error here; its meaning is in the ledger.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

async fn answer(ledger: Arc<Ledger>, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return plain(400, &json!({ "error": "the body did not arrive" }));
    };
    let body = body.to_bytes();
    let search = head.uri.query().unwrap_or_default();
    let query = parse_query(search);
    let prefix = query.get("marker").map(String::as_str).unwrap_or_default();
    if let ("POST", Some(wire)) = (head.method.as_str(), Wire::at(head.uri.path(), search)) {
        let text =
            |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        return complete(ledger, wire, headers, &body).await;
    }
    let (method, path) = (head.method.as_str(), head.uri.path());
    if let Some(answer) = site::answer(&ledger, method, path, search, &head.headers, &body).await {
        return answer;
    }
    if let Some(answer) = idp::answer(&ledger, method, path, &head.headers, &body) {
        return answer;
    }
    match (method, path) {
        ("POST", "/_fake/scripts") => match serde_json::from_slice::<HashMap<String, Script>>(&body) {
            Ok(scripts) => {
                ledger.register(scripts);
                plain(200, &json!({}))
            }
            Err(error) => plain(400, &json!({ "error": format!("not a script: {error}") })),
        },
        ("POST", "/_fake/release") => {
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            match body["barrier"].as_str() {
                Some(name) => {
                    ledger.release(name);
                    plain(200, &json!({}))
                }
                None => plain(400, &json!({ "error": "which barrier?" })),
            }
        }
        ("GET", "/_fake/requests") => report(&ledger, prefix, 200),
        ("DELETE", "/_fake/requests") => {
            ledger.forget(prefix);
            plain(200, &json!({}))
        }
        ("GET", "/_fake/wait") => wait(&ledger, prefix, &query).await,
        ("POST", path) if path.starts_with(HOOKS) => told(&ledger, path, &query, &body),
        ("PUT", path) if path.starts_with(DOCUMENTS) => {
            ledger.publish(path, serde_json::from_slice(&body).unwrap_or_default());
            plain(200, &json!({}))
        }
        ("GET", path) if path.starts_with(DOCUMENTS) => {
            published(&ledger, path, query.get("barrier").map(String::as_str)).await
        }
        (method, path) => plain(404, &json!({ "error": format!("the fake LLM has no {method} {path}") })),
    }
}

/// Takes a message to a hook, or refuses the first ones: `?refuse=COUNT`.
fn told(ledger: &Ledger, path: &str, query: &HashMap<String, String>, body: &[u8]) -> Response<Body> {
    let refused: usize = query.get("refuse").and_then(|count| count.parse().ok()).unwrap_or(0);
    let before = ledger.requests(path).len();
    let id = ledger.arrive(path, 0, Headers::new(), serde_json::from_slice(body).unwrap_or_default());
    let outcome = if before < refused { Outcome::Failed } else { Outcome::Finished };
    ledger.end(id, outcome, None);
    plain(if before < refused { 503 } else { 200 }, &json!({}))
}

/// Answers when so many requests have come, or have ended so.
async fn wait(ledger: &Ledger, prefix: &str, query: &HashMap<String, String>) -> Response<Body> {
    let count = query.get("count").and_then(|count| count.parse().ok()).unwrap_or(1);
    let outcome = match query.get("outcome").map(|name| serde_json::from_value(json!(name))) {
        None => None,
        Some(Ok(outcome)) => Some(outcome),
        Some(Err(error)) => return plain(400, &json!({ "error": error.to_string() })),
    };
    let waited = tokio::time::timeout(LONGEST_WAIT, ledger.wait(prefix, count, outcome)).await;
    report(ledger, prefix, if waited.is_ok() { 200 } else { 408 })
}

/// A document, once a test has released the barrier.
async fn published(ledger: &Ledger, path: &str, barrier: Option<&str>) -> Response<Body> {
    let id = ledger.arrive(path, 0, Headers::new(), Value::Null);
    if let Some(name) = barrier {
        ledger.pass(&Barrier { name: name.to_owned(), count: None, after: 0 }).await;
    }
    let document = ledger.published(path);
    ledger.end(id, Outcome::Finished, None);
    match document {
        Some(Value::String(page)) => whole(200, "text/html; charset=utf-8", page),
        Some(document) => plain(200, &document),
        None => plain(404, &json!({ "error": "no such document" })),
    }
}

fn report(ledger: &Ledger, prefix: &str, status: u16) -> Response<Body> {
    let requests = ledger.requests(prefix);
    plain(status, &json!({ "peak": ledger::peak(&requests), "requests": requests }))
}

/// The APIs themselves.
async fn complete(ledger: Arc<Ledger>, wire: Wire, headers: Headers, body: &[u8]) -> Response<Body> {
    let parsed: Result<Value, _> = serde_json::from_slice(body);
    let body = parsed.as_ref().cloned().unwrap_or_default();
    let (marker, step) = wire.position(&body).unwrap_or_default();
    let id = ledger.arrive(&marker, step, headers.clone(), body.clone());

    let unreadable = |error| format!("We could not parse the JSON body of your request: {error}");
    let checked =
        parsed.map_err(|error| unreadable(error).into()).and_then(|body| wire.check(&headers, &body));
    let script = match checked.and_then(|()| Ok(ledger.step(&marker, step)?)) {
        Ok(script) => script,
        Err(Wrong { status, message }) => {
            let response = plain(status, &wire.error(status, &message));
            ledger.end(id, Outcome::Refused, Some(message));
            return response;
        }
    };
    if let Some(refusal) = script.status.as_ref().filter(|refusal| ledger.fails(&marker, step, refusal)) {
        for barrier in script.barriers(0) {
            ledger.pass(barrier).await;
        }
        let scripted = || wire.error(refusal.code, &format!("scripted status {}", refusal.code));
        let mut response = match &refusal.bytes {
            Some(bytes) => whole(refusal.code, "text/event-stream", bytes.clone()),
            None => plain(refusal.code, &refusal.body.clone().unwrap_or_else(scripted)),
        };
        for (name, value) in &refusal.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<hyper::header::HeaderName>(), value.parse()) {
                response.headers_mut().insert(name, value);
            }
        }
        ledger.end(id, Outcome::Failed, None);
        return response;
    }

    // One message at a time: the client has taken every earlier one, so the fake notices at once that a client is gone.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        tokio::select! {
            // Only one of the two can end first, and that one notes its outcome in the ledger.
            () = sender.closed() => ledger.end(id, Outcome::Aborted, None),
            () = play(&ledger, id, &sender, wire.reply(&head(&marker, step, &body), &script), &script) => {}
        }
    });
    let frames = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    let headers = response.headers_mut();
    headers
        .insert("content-type", hyper::header::HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert("cache-control", hyper::header::HeaderValue::from_static("no-cache"));
    response
}

/// The common part of all chunks of the reply to this request.
fn head<'a>(marker: &'a str, step: usize, body: &'a Value) -> Head<'a> {
    Head {
        marker,
        step,
        model: body["model"].as_str().unwrap_or_default(),
        include_usage: body["stream_options"]["include_usage"] == Value::Bool(true),
        encrypted: body["include"][0] == "reasoning.encrypted_content",
        body,
    }
}

async fn play(ledger: &Ledger, id: usize, sender: &Sender, reply: Reply, script: &Step) {
    for act in reply.body {
        if !perform(ledger, sender, act).await {
            return ledger.end(id, Outcome::Aborted, None);
        }
    }
    if script.hang {
        return std::future::pending().await;
    }
    if let Some(drip) = &script.drip {
        let bytes = Bytes::from(drip.bytes.clone());
        while perform(ledger, sender, Act::Send(bytes.clone())).await {
            tokio::time::sleep(Duration::from_millis(drip.every_ms)).await;
        }
        return ledger.end(id, Outcome::Aborted, None);
    }
    if script.overloaded {
        ledger.end(id, Outcome::Failed, None);
        perform(ledger, sender, reply.failure).await;
        return;
    }
    match script.cut {
        Some(cut) => {
            ledger.end(id, Outcome::Cut, None);
            if cut == Cut::Reset {
                let _ = sender.send(Err(io::Error::other("the script cuts the connection here"))).await;
            }
        }
        None => {
            let mut acts = reply.end.into_iter().peekable();
            while let Some(act) = acts.next() {
                if acts.peek().is_none() {
                    ledger.end(id, Outcome::Finished, None);
                }
                if !perform(ledger, sender, act).await {
                    return ledger.end(id, Outcome::Aborted, None);
                }
            }
        }
    }
}

/// Returns `false` when the client is gone.
async fn perform(ledger: &Ledger, sender: &Sender, act: Act) -> bool {
    match act {
        Act::Send(bytes) => sender.send(Ok(Frame::data(bytes))).await.is_ok(),
        Act::Wait(barrier) => {
            ledger.pass(&barrier).await;
            true
        }
    }
}

pub fn plain(status: u16, body: &Value) -> Response<Body> {
    whole(status, "application/json", body.to_string())
}

fn whole(status: u16, media_type: &'static str, body: String) -> Response<Body> {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
    let mut response = Response::new(BodyExt::boxed_unsync(body));
    *response.status_mut() =
        hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static(media_type));
    response
}

/// The queries of the tests need no escapes but `%2F`: markers are letters, digits, `-` and `/`.
pub fn parse_query(query: &str) -> HashMap<String, String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.replace("%2F", "/")))
        .collect()
}
