//! The ports of the MCP client.

use std::rc::Rc;

use futures::future::{Either, LocalBoxFuture, select};
use futures::pin_mut;

use super::known::Known;
use engine::ports::Clock;
use wire::http::Http;

/// Runs tasks in the background.
pub trait Spawn {
    /// Starts a task and returns. The task may outlive the connection that started it.
    fn spawn(&self, task: LocalBoxFuture<'static, ()>);
}

/// The ports of a connection, and what the isolate already knows of servers.
#[derive(Clone)]
pub struct McpPorts {
    pub http: Rc<dyn Http>,
    pub tasks: Rc<dyn Spawn>,
    pub clock: Rc<dyn Clock>,
    pub known: Known,
}

impl McpPorts {
    /// Waits for a future for so many milliseconds; none when the time is up.
    pub async fn within<F: Future>(&self, ms: u64, future: F) -> Option<F::Output> {
        pin_mut!(future);
        match select(future, self.clock.sleep(ms)).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }
}
