//! The MCP servers over the platform's `fetch`, and what the objects of an isolate know of them together.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use worker::wasm_bindgen_futures::spawn_local;

use crate::storage::outgoing::News;
use engine::journal::Failure;
use features::mcp::config::McpServers;
use features::mcp::wire::{HttpReply, HttpRequest, Method, Outside, Unreachable, Wire};
use features::mcp::{Known, Listed, Missing, Servers};
use providers::permits::Permits;
use wire::protocol::{ApiError, ContextKind, Owner};
use wire::redact::redacted;

use super::compose::misconfigured;
use super::model::exchange;
use super::thread::Thread;
use bindings::env::var;

thread_local! {
    /// Data alone, so that no object waits for another one's requests.
    static KNOWN: Known = Known::default();
}

/// The servers for one run of a turn.
pub fn servers(thread: &Thread) -> Result<Rc<Servers>, ApiError> {
    let configured = McpServers::from_env(|name| var(&thread.env, name)).map_err(misconfigured)?;
    let outside = Outside {
        wire: Rc::new(FetchWire(thread.connections.permits.clone())),
        clock: Rc::clone(&thread.clock),
        known: KNOWN.with(Known::clone),
    };
    Ok(Rc::new(Servers::new(configured, &outside)))
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

/// `fetch`, with as many requests at a time as the object may have.
struct FetchWire(Permits);

impl Wire for FetchWire {
    fn send(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let permits = self.0.clone();
        async move {
            let _permit = permits.acquire().await;
            fetched(request).await.map_err(|_| Unreachable)
        }
        .boxed_local()
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        spawn_local(task);
    }
}

async fn fetched(request: HttpRequest) -> worker::Result<HttpReply> {
    let method = match request.method {
        Method::Get => worker::Method::Get,
        Method::Post => worker::Method::Post,
        Method::Delete => worker::Method::Delete,
    };
    let (response, body) = exchange(method, &request.url, &request.headers, &request.body).await?;
    let header = |name| response.headers().get(name).ok().flatten();
    Ok(HttpReply {
        status: response.status_code(),
        content_type: header("content-type").unwrap_or_default(),
        session: header("mcp-session-id"),
        body: body.map(|read| read.map_err(|_| Unreachable)).boxed_local(),
    })
}
