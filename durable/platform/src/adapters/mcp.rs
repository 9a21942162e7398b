//! The MCP servers over the platform's `fetch`, and the knowledge about them that the objects of an isolate share.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use worker::wasm_bindgen_futures::spawn_local;

use crate::storage::outgoing::News;
use engine::journal::FailureRecord;
use engine::ports::Tools;
use engine::toolbelt::ToolRules;
use features::mcp::config::McpServers;
use features::mcp::port::{McpPorts, Spawn};
use features::mcp::{Known, Listed, Missing, Servers};
use wire::protocol::{ApiError, ContextKind, Owner};
use wire::redact::redacted;

use crate::fetch::PermittedFetch;
use crate::respond::misconfigured;
use crate::thread::Thread;

thread_local! {
    /// Data alone, so that no object waits for another one's requests.
    static KNOWN: Known = Known::default();
}

/// The servers for one run of a turn.
fn servers(thread: &Thread) -> Result<Rc<Servers>, ApiError> {
    let configured = thread.deployment.once(|var| McpServers::from_env(var)).map_err(misconfigured)?;
    let ports = McpPorts {
        http: Rc::new(PermittedFetch(thread.connections.permits.clone())),
        tasks: Rc::new(EventLoop),
        clock: Rc::clone(&thread.clock),
        known: KNOWN.with(Known::clone),
    };
    Ok(Rc::new(Servers::new(configured.as_ref().clone(), &ports)))
}

/// The servers for a new turn, and their offers.
pub struct Offered {
    pub servers: Rc<Servers>,
    pub listed: Listed,
}

impl Offered {
    /// For a turn that goes on: its declarations are frozen, so no server is asked for its tools.
    pub fn unlisted(thread: &Thread) -> Result<Self, ApiError> {
        Ok(Offered { servers: servers(thread)?, listed: Listed::default() })
    }

    /// The names of the servers that a user may have in a context.
    pub fn allowed(&self, context: ContextKind, owner: &Owner) -> BTreeSet<String> {
        self.servers.allowed(context, owner)
    }

    /// Adds the approvals that the offered tools need.
    pub fn rules(&self, rules: ToolRules) -> ToolRules {
        self.servers.rules(rules, &self.listed.offers)
    }

    /// The note about missing servers for the model.
    pub fn note(&self) -> String {
        self.listed.note()
    }

    /// The tools of a deployment, and those of its servers.
    pub fn with(&self, tools: Rc<dyn Tools>) -> Rc<dyn Tools> {
        self.servers.with(tools, &self.listed.offers)
    }

    /// The failures of servers that could not be asked, for D1.
    pub fn failures(&self, now: u64) -> impl Iterator<Item = News> {
        failures(&self.listed.missing, now)
    }
}

impl Thread {
    /// Asks the user's servers for their tools, where they are not known. The turn goes without the tools of a server
    /// that does not answer.
    pub async fn offered(&self, context: ContextKind, owner: &Owner) -> Result<Offered, ApiError> {
        let servers = servers(self)?;
        let listed = servers.listed(context, owner).await;
        listed.left_out.iter().for_each(|why| worker::console_warn!("left out: {why}"));
        for Missing { server, why } in &listed.missing {
            if let Some(why) = why {
                worker::console_warn!("a turn starts without its tools: {}", why.explained(server));
            }
        }
        Ok(Offered { servers, listed })
    }
}

/// The failures of servers that could not be asked, as news for D1.
pub fn failures(missing: &[Missing], now: u64) -> impl Iterator<Item = News> {
    missing.iter().filter_map(move |Missing { server, why }| {
        let why = why.as_ref()?;
        let failure = FailureRecord {
            id: format!("mcp_{server}_{now}"),
            component: "mcp".to_owned(),
            stage: "listing".to_owned(),
            tool_name: None,
            code: why.code().to_owned(),
            message: redacted(&why.explained(server)),
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
