//! A turn with the tools of an MCP server: one that may run again, and one that may not. The server stands in the world.

use std::io;

use espalier_test_support::{Step, Value, calls, json, text};
use hyper::Response;

use super::chat::{answer_of, ends};
use super::{Call, Journey, Served, Trip, Work};
use crate::rng::Rng;
use crate::world::{Body, Moment, World, plain};

pub struct Mcp;

impl Journey for Mcp {
    fn name(&self) -> &'static str {
        "mcp"
    }

    /// No other turn of a run has the server's tools.
    fn has_key(&self) -> bool {
        true
    }

    fn vars(&self, world: &str) -> Vec<(&'static str, String)> {
        let tools = json!({
            "again": { "idempotent": true, "parallel_safe": true, "rule": "on" }, "once": { "rule": "on" },
        });
        let server = json!({ "url": format!("{world}/mcp"), "users": ["key"], "tools": tools });
        vec![("MCP_SERVERS", json!({ "marks": server }).to_string())]
    }

    fn serve<'a>(&'a self, world: &'a World, call: Call<'a>) -> Served<'a> {
        Box::pin(serve(world, call))
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let made = |tool: &'static str, place: usize| {
            (tool, json!({ "label": format!("mcp#{number}.{step}.{place}") }))
        };
        let (again, once) = ("mcp__marks__again", "mcp__marks__once");
        Some(match (path, step) {
            ("", 0) => calls([made(again, 0), made(once, 1), made(again, 2)]),
            ("", 1) => calls([made(once, 0)]),
            ("", 2) => text("Both are marked."),
            _ => return None,
        })
    }
}

/// Speaks the revision 2026-07-28, which has no sessions.
async fn serve(world: &World, call: Call<'_>) -> io::Result<Response<Body>> {
    let message: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let params = &message["params"];
    world.moment(Moment::ServerAsked);
    let tool = |name: &str| {
        let schema = json!({
            "type": "object", "properties": { "label": { "type": "string" } }, "required": ["label"],
        });
        json!({ "name": name, "description": "Leaves a mark.", "inputSchema": schema })
    };
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }),
        "tools/list" => {
            let tools = ["again", "once"].map(tool);
            json!({ "tools": tools, "ttlMs": 0, "cacheScope": "private" })
        }
        "tools/call" => {
            let label = params["arguments"]["label"].as_str().unwrap_or_default();
            let mut rng = Rng::of(world.seed, label);
            tokio::time::sleep(std::time::Duration::from_millis(rng.range(0, 20))).await;
            // The label names the operation: the protocol has no other name for it.
            let tool = if params["name"] == "once" { "record_once" } else { "record_again" };
            world.ledger.effect(call.life, label, tool, label);
            json!({ "resultType": "complete", "content": [{ "type": "text", "text": format!("marked {label}") }] })
        }
        other => {
            let error = json!({ "code": -32601, "message": other });
            return Ok(plain(404, &json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })));
        }
    };
    world.moment(Moment::ServerDone);
    Ok(plain(200, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })))
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let thread = trip.id();
    let body = json!({ "thread_id": thread, "turn_id": thread, "content": trip.message("") });
    let events = trip.chat(&body).await?;
    // The calls of the other tool that were cut off are not made again: the model hears that they may have run.
    let once = ends(&events, "mcp__marks__once");
    let is_sound = |(is_error, result): &(bool, String)| match is_error {
        false => result.contains("marked mcp#"),
        true => result.contains("may have"),
    };
    if once.len() != 2 || !once.iter().all(is_sound) {
        return Err(format!("the calls of once came to {once:?}"));
    }
    let messages = trip.messages(&thread, 2).await?;
    Ok(
        json!({ "said": answer_of(&events), "again": ends(&events, "mcp__marks__again"), "messages": messages }),
    )
}
