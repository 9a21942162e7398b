//! The features on the platform: one file each, with the feature's stores, its ways out, and its part in the start of
//! a turn.

mod bookmarks;
pub mod files;
pub mod instructions;
pub mod knowledge;
pub mod known_instructions;
mod mcp;
mod projects;
pub mod records;
mod shares;
pub mod telemetry;
pub mod titles;
pub mod web;
pub mod workflows;

pub use mcp::Offered;

use std::rc::Rc;

use futures::future::{Either, select};
use futures::pin_mut;

use engine::toolbelt::ToolPolicy;
use features::Resources;
use wire::protocol::{ApiError, Owner, WorkflowDetail};

use super::log::Ending;
use super::thread::Thread;

/// Adds what a feature's tools need in a turn of this thread, by its policy.
type Provide = fn(&mut Resources, &Thread, &Owner, &str, &ToolPolicy) -> Result<(), ApiError>;

const FEATURES: [Provide; 4] = [files::provide, web::provide, knowledge::provide, projects::provide];

/// The resources of a turn's tools.
pub fn resources(
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    policy: &ToolPolicy,
) -> Result<Resources, ApiError> {
    let mut resources = Resources::default();
    for provide in FEATURES {
        provide(&mut resources, thread, owner, thread_id, policy)?;
    }
    Ok(resources)
}

/// The ending of a turn that is given up: its journal stays as it is, because it may be impossible to write.
pub const NO_LINE: Ending = |_| Ok(String::new());

/// The findings with which a turn starts.
#[derive(Default)]
pub struct Retrieved {
    /// Whether the turn may use its user's memories.
    pub memory: bool,
    /// The collections that it may search.
    pub collections: Vec<String>,
    /// The text that was found.
    pub message: Option<String>,
    /// Why the search failed, for the operator.
    pub failure: Option<String>,
    /// The workflow that the request names.
    pub workflow: Option<Rc<WorkflowDetail>>,
    /// The custom instructions.
    pub instructions: instructions::Read,
}

impl Retrieved {
    /// With what the other looks have found.
    pub fn with(self, workflow: Option<Rc<WorkflowDetail>>, mut instructions: instructions::Read) -> Self {
        let failure = self.failure.or_else(|| instructions.failure.take());
        Retrieved { workflow, instructions, failure, ..self }
    }
}

/// How long a turn waits for each look into D1, in milliseconds.
const PATIENCE_MS: u64 = 1_000;

impl Thread {
    /// Awaits a look, as long as a turn can wait for it.
    pub async fn within_patience<T>(
        &self,
        looking: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let patience = self.clock.sleep(PATIENCE_MS);
        pin_mut!(looking, patience);
        match select(looking, patience).await {
            Either::Left((found, _)) => found,
            Either::Right(_) => Err(format!("D1 did not answer within {PATIENCE_MS} ms")),
        }
    }
}
