//! What a turn needs from outside. Object-safe, single-threaded, boxed futures: natively the tests implement them.

use std::rc::Rc;

use crate::journal::Commit;
use crate::profiles::Chain;
use crate::toolbelt::ToolSpec;

pub use crate::toolbelt::ToolError;
use crate::versions::Seen;
use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use wire::model::{ModelError, ModelEvent, ModelRequest};
use wire::protocol::{Event, Seq};

/// The ports of one turn.
#[derive(Clone)]
pub struct Ports {
    pub model: Rc<dyn Model>,
    pub tools: Rc<dyn Tools>,
    pub clock: Rc<dyn Clock>,
    pub log: Rc<dyn Log>,
}

/// Calls models.
pub trait Model {
    /// Starts a call: asks the models of a chain until one answers. Ends after [`ModelEvent::Finished`] or an error,
    /// which is that of the model that was asked last; a stream that ends otherwise was cut. `until_ms` is when the
    /// turn's time is up, on the [`Clock`]: what cannot begin before is not waited for. Dropping the stream aborts the
    /// request upstream.
    fn call(
        &self,
        request: &ModelRequest,
        chain: &Chain,
        until_ms: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>>;
}

/// What is heard of a model call.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// The model at this place of the chain is about to be asked; after an error that a request before came to. The
    /// request is made when the stream is polled again, so whoever drops it here has refused the attempt. Without it,
    /// the first one is asked.
    Asking { place: usize, after: Option<ModelError> },
    /// The first byte of its answer: nobody else is asked from here on.
    Answering,
    /// What one read of the answer brought, so that nothing is paid per token that can be paid per read.
    Events(Vec<ModelEvent>),
}

/// The tools that can run, by name. Those that the loop intercepts are not among them.
pub trait Tools {
    /// All of them, in the order in which they are offered.
    fn all(&self) -> &[Rc<dyn Tool>];
    /// The tool that carries out the calls of a declaration which a turn froze.
    fn find(&self, spec: &ToolSpec) -> Option<Rc<dyn Tool>> {
        self.all().iter().find(|tool| tool.spec().name == spec.name).map(Rc::clone)
    }
}

/// An atomic operation. It sees a narrow context, never the session, and has no access to the model.
pub trait Tool {
    /// What the tool declares about itself.
    fn spec(&self) -> &ToolSpec;
    /// Whether a chat context offers the tool only if its definition names it.
    fn is_opt_in(&self) -> bool {
        false
    }
    /// Validates the arguments and runs. An error goes to the model, in words that it can act on.
    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>>;
}

/// What a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    pub clock: Rc<dyn Clock>,
    /// The `tool_call_id`: the same when an interrupted call of an idempotent tool runs again.
    pub operation_id: Rc<str>,
    /// Where tools of the class `workspace_write` work; none where the session has no workspace.
    pub workspace_root: Option<Rc<str>>,
    /// What the level knows of files, and what the call learns of them.
    pub seen: Rc<Seen>,
}

/// Time, injected.
pub trait Clock {
    /// Milliseconds since 1970. On Workers it stands still between I/O.
    fn now_ms(&self) -> u64;
    /// Completes when that much time has passed; dropping it clears the timer.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;
}

/// The turn's one way to write.
pub trait Log {
    /// Writes a commit as one transaction, numbers its events and announces them. Synchronous, so commits without an
    /// await between them are durable together. Fails when the turn is no longer this run's to write.
    fn commit(&self, commit: Commit) -> Result<(), LogError>;
    /// Announces a chunk at once, without writing it: its text is written with its model call's outcome, or before
    /// that where there is much of it.
    fn announce(&self, chunk: Event) -> Seq;
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A newer run of this turn, or a deletion, owns the log: stop without a word.
    Fenced,
    /// The storage refused; the text is for the operator.
    Storage(String),
}
