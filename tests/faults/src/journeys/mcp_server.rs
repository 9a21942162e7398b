//! A client of our MCP server: it calls `chat` in each of the two eras, and repeats a call whose answer it lost by the
//! same key.

use espalier_test_support::{Step, Value, calls, json, text};
use tokio::time::{Instant, sleep};

use super::trip::{PATIENCE, PAUSE};
use super::{Journey, Trip, Work};

pub struct McpServer;

const MODERN: &str = "2026-07-28";

impl Journey for McpServer {
    fn name(&self) -> &'static str {
        "mcp-server"
    }

    fn has_key(&self) -> bool {
        true
    }

    fn stride(&self) -> u32 {
        2
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let marker = if path.is_empty() { "mcp-server".to_owned() } else { format!("mcp-server/{path}") };
        let label = |place: usize| json!({ "label": format!("{marker}#{number}.{step}.{place}") });
        Some(match step {
            0 => calls([("record_once", label(0)), ("record_again", label(1))]),
            1 => text("It is done."),
            _ => return None,
        })
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let message = trip.message("");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "chat", "arguments": { "message": message }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let key = trip.other_id(1);
    let headers = [
        ("idempotency-key", key.as_str()),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", "chat"),
        ("accept", "application/json"),
    ];
    let first = whole(trip, &headers, &body).await?;
    let again = whole(trip, &headers, &body).await?;
    if first != again {
        return Err(format!("the same key was answered with {again}, and before with {first}"));
    }
    let thread = first["result"]["structuredContent"]["thread_id"].clone();
    let thread = thread.as_str().ok_or_else(|| format!("no thread in {first}"))?;
    let second = streamed(trip, thread).await?;
    Ok(json!({ "first": first, "second": second, "messages": trip.messages(thread, 4).await? }))
}

/// The answer to a call; one that broke off on its way is asked for again.
async fn whole(trip: &Trip, headers: &[(&str, &str)], body: &Value) -> Result<Value, String> {
    let look = async || {
        let answer = trip.once("POST", "/mcp", headers, body).await?.json();
        answer["result"].is_object().then_some(answer)
    };
    trip.until("the call has a result", look).await
}

/// A call of the earlier era, whose answer is a stream with progress.
async fn streamed(trip: &Trip, thread: &str) -> Result<Value, String> {
    let arguments = json!({ "message": trip.message("more"), "thread_id": thread });
    let params = json!({ "name": "chat", "arguments": arguments, "_meta": { "progressToken": "p" } });
    let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let key = trip.other_id(2);
    let headers = [
        ("idempotency-key", key.as_str()),
        ("mcp-protocol-version", "2025-06-18"),
        ("accept", "application/json, text/event-stream"),
    ];
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(frames) = trip.frames("POST", "/mcp", &headers, &body).await
            && let Some(result) = frames.values().into_iter().find(|frame| frame["result"].is_object())
        {
            return Ok(result);
        }
        sleep(PAUSE).await;
    }
    Err("the streamed call has no result".to_owned())
}
