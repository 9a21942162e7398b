//! The ports through which a turn reaches the outside. They are object-safe and single-threaded, with boxed
//! futures; natively the tests implement them.

use std::rc::Rc;

use crate::journal::{AgentLife, Answer, Asking, Commit, Round};
use crate::profiles::Chain;
use crate::toolbelt::{Charge, Paid, ToolSpec};

pub use crate::toolbelt::ToolError;
use crate::versions::{Seen, Versions};
use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use futures::stream::LocalBoxStream;
use wire::model::{ModelError, ModelEvent, ModelReply, ModelRequest};
use wire::protocol::{Event, Seq};

/// The ports of one turn.
#[derive(Clone)]
pub struct Ports {
    pub model: Rc<dyn Model>,
    pub tools: Rc<dyn Tools>,
    pub clock: Rc<dyn Clock>,
    pub log: Rc<dyn Log>,
    pub agents: Rc<dyn Agents>,
}

/// The thread's agents, as earlier turns on the turn's path left them.
pub trait Agents {
    /// An agent's transcript and its life. Rows are append-only, so each run of a turn reads the same.
    fn recall(&self, agent_id: &str) -> Result<Recalled, LogError>;
}

/// The memory of an agent, as earlier turns left it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The newest rounds, oldest first: at most [`crate::journal::MAX_TRANSCRIPT_BYTES`], but at least one where there is any.
    pub rounds: Vec<Round>,
    /// Whether older ones are left out.
    pub cut: bool,
    /// Without the files that only rounds beyond `rounds` show.
    pub life: AgentLife,
}

/// Calls models.
pub trait Model {
    /// Starts a call: asks the models of a chain until one answers. The stream ends after
    /// [`ModelEvent::Finished`] or after the error of the model that was asked last; a stream that ends
    /// otherwise was cut. `until_ms` is the turn's deadline on the [`Clock`]: the port starts no request that
    /// would have to wait beyond it. Dropping the stream aborts the request upstream.
    fn call(
        &self,
        request: &ModelRequest,
        chain: &Chain,
        until_ms: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>>;
}

/// One report of a model call's progress.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// The port is about to ask the model at this place of the chain; `after` is the error of the request
    /// before. The port makes the request when the caller polls the stream again, so a caller that drops the
    /// stream here refuses the attempt. A stream without this report asks the first model.
    Asking { place: usize, after: Option<ModelError> },
    /// The reply is empty. The port asks the same model once more when the caller polls the stream again. A caller that
    /// has no room for that takes this reply.
    Empty(Box<ModelReply>),
    /// The first word of the answer arrived (text, reasoning or a call), or the end of a reply without words. From here on
    /// the port stays with this model.
    Answering,
    /// All events of one read of the answer, so that costs arise per read rather than per token.
    Events(Vec<ModelEvent>),
}

/// The tools that can run, by name. The loop intercepts the engine's own calls before they reach this port.
pub trait Tools {
    /// All tools, in the order of the offer.
    fn all(&self) -> &[Rc<dyn Tool>];
    /// The files among those that a level knows that have changed, with their present versions; none where no tool knows
    /// versions of files. The context names the level's next step.
    fn changed_files(
        &self,
        context: &ToolContext,
        known: Rc<Versions>,
    ) -> Option<LocalBoxFuture<'static, Result<Versions, ToolError>>> {
        let present = self.all().iter().find_map(|tool| tool.present_versions(context))?;
        let changed = present.map(move |present| {
            let present = present?;
            // A file that is missing now has no version, like one that was missing when a call looked.
            let now = |path: &String| present.get(path).cloned().flatten();
            let known = known.iter().map(|(path, known)| (path, known, now(path)));
            Ok(known
                .filter(|(_, known, now)| *known != now)
                .map(|(path, _, now)| (path.clone(), now))
                .collect())
        });
        Some(changed.boxed_local())
    }
    /// The tool that carries out the calls of a frozen declaration.
    fn find(&self, spec: &ToolSpec) -> Option<Rc<dyn Tool>> {
        self.all().iter().find(|tool| tool.spec().name == spec.name).map(Rc::clone)
    }
}

/// An atomic operation. It sees a narrow context, never the session, and has no access to the model.
pub trait Tool {
    /// The tool's declaration.
    fn spec(&self) -> &ToolSpec;
    /// Whether a chat context offers the tool only if its definition names it.
    fn is_opt_in(&self) -> bool {
        false
    }
    /// The most that a call with these arguments may cost beside the turn's models; none where it costs nothing. Only for
    /// tools that declare that they cost money. It depends on the arguments and the configuration alone.
    fn charge(&self, _arguments: &str) -> Option<Charge> {
        None
    }
    /// The documents that a result of this tool comes from, by name, each once.
    fn sources(&self, _result: &str) -> Vec<String> {
        Vec::new()
    }
    /// The addresses of the pages that a result names, each once, best first. For tools that serve
    /// [`WebSearch`](crate::toolbelt::Serves::WebSearch).
    fn addresses(&self, _result: &str) -> Vec<String> {
        Vec::new()
    }
    /// A result of this tool in words for a person, where the call is the whole turn.
    fn result_in_words(&self, result: &str) -> String {
        result.to_owned()
    }
    /// The content that a result of this tool brings, as it is at its source. The error says why it is not there. For tools
    /// that declare what they read ([`Reads`](crate::toolbelt::Reads)).
    fn content(&self, _result: &str) -> Result<String, ToolError> {
        Err(ToolError("the result of this tool has no content of its own".to_owned()))
    }
    /// The versions of all files that this tool and those of its kind work on, as they are now; none for a tool that does not
    /// know them. A path that is missing has no file.
    fn present_versions(
        &self,
        _context: &ToolContext,
    ) -> Option<LocalBoxFuture<'static, Result<Versions, ToolError>>> {
        None
    }
    /// The whole content that a call with these arguments reads, where its result has only a part of it. The service asks for
    /// it after the call itself has ended well. `workspace_root`: see [`ToolContext`].
    fn whole(
        &self,
        _arguments: &str,
        _workspace_root: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        ready(Err(ToolError("the content is longer than a result".to_owned()))).boxed_local()
    }
    /// Whether it writes a text file of the turn's workspace: it takes `{path, content}`.
    fn writes_files(&self) -> bool {
        false
    }
    /// Validates the arguments and runs. The model reads an error, so its text says how to correct the call.
    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>>;
    /// Runs a call whose tool may ask a person for input, and runs it again with the answer.
    fn converse(
        &self,
        arguments: &str,
        context: ToolContext,
        _input: Input,
    ) -> LocalBoxFuture<'static, ToolReply> {
        self.run(arguments, context).map(ToolReply::Ended).boxed_local()
    }
}

/// The outcome of running a tool.
pub enum ToolReply {
    Ended(Result<String, ToolError>),
    /// It needs input, and runs again once it is there.
    Asks(Box<Asking>),
}

/// The input of a person to a call.
#[derive(Default)]
pub struct Input {
    /// Whether somebody can answer a question.
    pub may_ask: bool,
    /// The newest question of the call.
    pub given: Option<Given>,
}

/// The question of a tool, and the answer to it: a result with the content, a denial, or an expiry.
pub struct Given {
    pub asking: Asking,
    pub answer: Answer,
}

/// The context of one call: all that a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    pub clock: Rc<dyn Clock>,
    /// The `tool_call_id`. An interrupted call of an idempotent tool keeps it when it runs again.
    pub operation_id: Rc<str>,
    /// The user's time zone, where the request names one.
    pub time_zone: Option<Rc<str>>,
    /// The root directory for tools of the class `workspace_write`; none where the session has no workspace.
    pub workspace_root: Option<Rc<str>>,
    /// The file versions that the level has seen, and those that this call sees.
    pub seen: Rc<Seen>,
    /// The amount that the call pays, where the tool costs money.
    pub paid: Rc<Paid>,
}

/// Time, injected.
pub trait Clock {
    /// Milliseconds since 1970. On Workers it stands still between I/O.
    fn now_ms(&self) -> u64;
    /// Completes after this time; dropping the future clears the timer.
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()>;
    /// How many minutes clocks in a time zone are ahead of UTC at this time. `zone` is a name of the IANA time zone
    /// database; none where the clock does not know it.
    fn utc_offset_minutes(&self, _ms: u64, _zone: &str) -> Option<i32> {
        None
    }
}

/// The turn's one way to write.
pub trait Log {
    /// Writes a commit as one transaction, numbers its events and announces them. Synchronous, so commits
    /// without an await between them are durable together. Fails once this run no longer owns the turn.
    fn commit(&self, commit: Commit) -> Result<(), LogError>;
    /// Announces a chunk at once, before it is durable: the engine commits its text with the model call's
    /// outcome, or earlier for a long text.
    fn announce(&self, chunk: Event) -> Seq;
    /// Tells the operator something about this run that changes nothing of it. No storage keeps it.
    fn warn(&self, text: &str);
}

/// The reason why a commit failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// A newer run of this turn, or a deletion, owns the log: this run must stop silently.
    Fenced,
    /// The storage refused the commit; the operator reads the text.
    Storage(String),
}
