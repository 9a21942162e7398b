//! The MCP servers over the platform's `fetch`, and what the objects of an isolate know of them together.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use worker::wasm_bindgen_futures::spawn_local;

use crate::storage::outgoing::News;
use engine::journal::Failure;
use features::mcp::config::McpServers;
use features::mcp::port::{McpPorts, Spawn};
use features::mcp::{Known, Listed, Missing, Servers};
use wire::protocol::{ApiError, ContextKind, Owner};
use wire::redact::redacted;

use super::compose::misconfigured;
use super::fetch::PermittedFetch;
use super::thread::Thread;
use bindings::env::var;

thread_local! {
    /// Data alone, so that no object waits for another one's requests.
    static KNOWN: Known = Known::default();
}

/// The servers for one run of a turn.
pub fn servers(thread: &Thread) -> Result<Rc<Servers>, ApiError> {
    let configured = McpServers::from_env(|name| var(&thread.env, name)).map_err(misconfigured)?;
    let ports = McpPorts {
        http: Rc::new(PermittedFetch(thread.connections.permits.clone())),
        tasks: Rc::new(EventLoop),
        clock: Rc::clone(&thread.clock),
        known: KNOWN.with(Known::clone),
    };
    Ok(Rc::new(Servers::new(configured, &ports)))
}

/// The servers for a new turn, and what they offer.
pub struct Offered {
    pub servers: Rc<Servers>,
    pub listed: Listed,
}

impl Thread {
    /// Asks the user's servers what they offer, where that is not known. One that does not say so costs its tools.
    pub async fn offered(&self, context: ContextKind, owner: &Owner) -> Result<Offered, ApiError> {
        let servers = servers(self)?;
        let listed = servers.listed(context, owner).await;
        listed.left_out.iter().for_each(|why| worker::console_warn!("left out: {why}"));
        for Missing { server, why } in &listed.missing {
            if let Some(why) = why {
                worker::console_warn!("a turn starts without its tools: {}", why.told(server));
            }
        }
        Ok(Offered { servers, listed })
    }
}

/// What D1 hears of servers that could not be asked.
pub fn failures(missing: &[Missing], now: u64) -> impl Iterator<Item = News> {
    missing.iter().filter_map(move |Missing { server, why }| {
        let why = why.as_ref()?;
        let failure = Failure {
            id: format!("mcp_{server}_{now}"),
            component: "mcp".to_owned(),
            stage: "listing".to_owned(),
            tool_name: None,
            code: why.code().to_owned(),
            message: redacted(&why.told(server)),
        };
        Some(News::Failed { failure, created_at: now })
    })
}

/// Tasks on the event loop of the isolate.
struct EventLoop;

impl Spawn for EventLoop {
    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        spawn_local(task);
    }
}
