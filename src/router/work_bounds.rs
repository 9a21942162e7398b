//! The bound of the work on each body: each route that takes one has a row here, with its limit of items or its pauses.
//! Below each limit the work is less than 10 ms (`wire::pace`).

use std::cell::Cell;

use dialects::{ai_sdk, mcp, openai};
use features::knowledge::chunks::{chunks, rows};
use features::knowledge::structured::{csv, json};
use features::reader::markdown;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use wire::pace::{Pace, STRETCH, at_once, no_pause};
use wire::protocol::{
    ApiError, Approval, ChatRequest, ContinueSession, DocumentChange, ErrorCode, MAX_JSON_VALUES, MAX_ROUNDS,
    NewCollection, NewHook, NewInstructions, NewKey, NewSession, NewShare, OpenAiApi, ProjectChange,
    QueueChange, QueuedChange, SentDump, SignIn, StartSignIn, TaskChange, ThreadChange, ToolResult,
    WrittenDefinition,
};

use super::{Method, table};
use crate::account::erasure::Confirmation;
use crate::body::Body;

/// The bound of the work on a route's body.
enum Bound {
    /// It has so many values at most.
    Values(usize, fn(&[u8]) -> Result<(), ApiError>),
    /// The work has pauses. The function works on a body of the largest size.
    Paced(for<'a> fn(usize, &'a Pace<'a>) -> LocalBoxFuture<'a, Result<(), ApiError>>),
    /// The bytes are stored as they are.
    Bytes,
}
use Bound::{Bytes, Paced, Values};

/// The bound of an ordinary type.
macro_rules! values {
    ($($type:ident)::+ $(, $more:expr)*) => {
        Values(MAX_JSON_VALUES, |body| $($type)::+(body $(, $more)*).map(drop))
    };
}

const PUT_FILE: &str = "/api/threads/{}/files/{*}";
const PUT_WORKSPACE_FILE: &str = "/api/workspaces/{}/files/{*}";
const INSTRUCTIONS: &str = "/api/projects/{}/instructions";
const DOCUMENT: &str = "/api/projects/{}/documents/{}";
const CONTINUE: &str = "/api/workflows/{}/sessions/{}/continue";

/// All routes that take a body.
const BOUNDS: &[(Method, &str, Bound)] = &[
    (Method::Post, "/api/session", values!(SignIn::parse)),
    (Method::Post, "/api/oidc/{}", values!(StartSignIn::parse)),
    (Method::Post, "/api/chat", values!(ChatRequest::parse)),
    (Method::Post, "/api/ai-sdk/chat", Paced(|most, pace| ai_sdk(most, pace).boxed_local())),
    (Method::Post, "/v1/chat/completions", Paced(|most, pace| chat(most, pace).boxed_local())),
    (Method::Post, "/v1/responses", Paced(|most, pace| respond(most, pace).boxed_local())),
    (Method::Post, "/mcp", Values(MAX_JSON_VALUES, message)),
    (Method::Patch, "/api/threads/{}", values!(ThreadChange::parse)),
    (Method::Post, "/api/threads/{}/tool_results", values!(ToolResult::parse)),
    (Method::Post, "/api/threads/{}/approvals/{}", values!(Approval::parse)),
    (Method::Put, "/api/threads/{}/hooks/{}", values!(NewHook::parse)),
    (Method::Patch, "/api/threads/{}/queue", values!(QueueChange::parse)),
    (Method::Patch, "/api/threads/{}/queue/{}", values!(QueuedChange::parse)),
    (Method::Post, "/api/threads/{}/agents", Paced(|most, pace| dump(most, pace).boxed_local())),
    (Method::Delete, "/api/me", values!(Confirmation::check)),
    (Method::Post, "/api/keys", values!(NewKey::parse, 0)),
    (Method::Put, PUT_FILE, Bytes),
    (Method::Put, PUT_WORKSPACE_FILE, Bytes),
    (Method::Patch, "/api/projects/{}", values!(ProjectChange::parse)),
    (Method::Patch, "/api/projects/{}/tasks/{}", values!(TaskChange::parse)),
    (Method::Patch, DOCUMENT, values!(DocumentChange::parse)),
    (Method::Put, "/api/me/instructions", values!(NewInstructions::parse)),
    (Method::Put, INSTRUCTIONS, values!(NewInstructions::parse)),
    (Method::Post, "/api/collections", values!(NewCollection::parse)),
    (Method::Post, "/api/collections/{}/documents", Paced(|most, pace| document(most, pace).boxed_local())),
    (Method::Post, "/api/threads/{}/shares", values!(NewShare::parse)),
    (Method::Put, "/api/workflows/{}", values!(WrittenDefinition::parse)),
    (Method::Post, "/api/workflows/{}/sessions", values!(NewSession::parse)),
    (Method::Post, CONTINUE, values!(ContinueSession::parse)),
];

fn message(body: &[u8]) -> Result<(), ApiError> {
    mcp::read(body, |_| None).map(drop).map_err(|refusal| {
        let detail = String::from_utf8(refusal.body).unwrap();
        ApiError::new(ErrorCode::InvalidRequest, detail)
    })
}

/// A chat of this size with as many messages as fit, of which the newest one has as many parts as it may have.
fn body_of(most: usize, list: &str, message: &str, newest: &str) -> String {
    let mut body = format!(r#"{{"id":"c","{list}":["#);
    while body.len() + message.len() + newest.len() + 2 <= most {
        body.push_str(message);
    }
    body + newest + "]}"
}

async fn ai_sdk(most: usize, pace: &Pace<'_>) -> Result<(), ApiError> {
    let parts = r#"{"type":"data-x"},"#.repeat(999);
    let newest = format!(r#"{{"role":"user","id":"u","parts":[{parts}{{"type":"text","text":"Hello"}}]}}"#);
    let body = body_of(most, "messages", r#"{"role":"user","id":"u","parts":[]},"#, &newest);
    ai_sdk::Sent::parse(body.as_bytes(), pace).await.map(drop)
}

/// A dump of as many rounds and bytes as it may have.
async fn dump(most: usize, pace: &Pace<'_>) -> Result<(), ApiError> {
    let round = |text: usize| format!(r#"[{{"user":{{"content":"{}"}}}}]"#, "x".repeat(text));
    let around = r#"{"name":"a","instructions":"","rounds":[]}"#.len() + 24 * MAX_ROUNDS;
    let rounds = vec![round((most - around) / MAX_ROUNDS); MAX_ROUNDS].join(",");
    let body = format!(r#"{{"name":"a","instructions":"","rounds":[{rounds}]}}"#);
    SentDump::parse(body.as_bytes(), pace).await.map(drop)
}

async fn chat(most: usize, pace: &Pace<'_>) -> Result<(), ApiError> {
    let newest = r#"{"role":"user","content":"Hello"}"#;
    let body = body_of(most, "messages", r#"{"role":"user","content":""},"#, newest);
    openai::Sent::parse(body.as_bytes(), OpenAiApi::ChatCompletions, pace, &|_| Ok(None)).await.map(drop)
}

async fn respond(most: usize, pace: &Pace<'_>) -> Result<(), ApiError> {
    let newest = r#"{"role":"user","content":"Hello"}"#;
    let body = body_of(most, "input", r#"{"type":"function_call"},"#, newest);
    openai::Sent::parse(body.as_bytes(), OpenAiApi::Responses, pace, &|_| Ok(None)).await.map(drop)
}

async fn document(most: usize, pace: &Pace<'_>) -> Result<(), ApiError> {
    let html = "<p>a</p>".repeat(most / 8);
    let chunks = chunks(&markdown(&html, pace).await?, true, pace).await?;
    rows(&chunks, pace).await?;
    let table = format!("a\n{}", "1,\"b\"\n".repeat(most / 7));
    rows(&csv(&table, pace).await?, pace).await?;
    let list = format!("[{}1]", "[1],".repeat(most / 4 - 1));
    rows(&json(&list, pace).await?, pace).await.map(drop)
}

// Issue 42, M5
#[test]
fn each_route_bounds_the_work_on_its_body() {
    let takes = |row: &super::Row| !matches!(row.body, Body::Nothing);
    let routes: Vec<_> = table().filter(|row| takes(row)).map(|row| (row.method, row.path)).collect();
    let bounded: Vec<_> = BOUNDS.iter().map(|(method, path, _)| (*method, *path)).collect();
    assert_eq!(routes, bounded, "each route with a body has a row here, in the order of the table");
    for ((method, path, bound), row) in BOUNDS.iter().zip(table().filter(|row| takes(row))) {
        match bound {
            Bytes => assert!(matches!(row.body, Body::File), "{path} reads its body"),
            Values(most, parse) => {
                // The body, its member and the list have a value each beside the zeros.
                let body = |zeros: usize| format!(r#"{{"x":[{}0]}}"#, "0,".repeat(zeros - 1));
                let is_too_wide = |zeros: usize| {
                    parse(body(zeros).as_bytes()).is_err_and(|error| error.detail.contains("values"))
                };
                let found = (is_too_wide(most - 2), is_too_wide(most - 1));
                assert_eq!(found, (false, true), "{method:?} {path}: {most}");
            }
            Paced(work) => {
                let pauses = Cell::new(0);
                let pause = || {
                    pauses.set(pauses.get() + 1);
                    no_pause()
                };
                assert_eq!(at_once(work(row.body.most(), &Pace::new(&pause))), Some(Ok(())), "{path}");
                // Each byte is looked at once at least.
                assert!(pauses.get() >= row.body.most() / STRETCH, "{path}: {} pauses", pauses.get());
            }
        }
    }
}
