//! The engine's own calls, as the loop knows them: by their facts and by the way in which each is carried
//! out. Most of them contain levels (subtasks, plans, steps): a round knows these by the trait [`Composite`].
//! Each call has a file of its own in a room above this one, and `compose.rs` lists them.

use futures::future::LocalBoxFuture;

use super::hooking::Judge;
use super::level::Level;
use super::{Halt, Turn};
use crate::journal::{AgentChange, Session, SessionChange, ToolEnd};
use crate::memory::Overlay;
use crate::own::{OwnCall, OwnCalls};
use crate::ports::ToolError;
use crate::record::PendingCall;
use crate::versions::Versions;
use wire::model::ToolCall;
use wire::protocol::{Event, Hook, StepStatus};

/// A running call that contains levels.
pub(crate) struct Running<'a> {
    pub(crate) turn: &'a Turn,
    /// The level that made the call.
    pub(crate) parent: &'a Level,
    pub(crate) key: &'a str,
    pub(crate) arguments: &'a str,
}

/// Gives the result of an open call that its composite call cuts off.
pub(crate) type CutOff = fn(&PendingCall) -> String;

/// The outcome of such a call.
pub(crate) struct Outcome {
    pub(crate) result: Result<String, ToolError>,
    /// The memory writes of its levels.
    pub(crate) overlay: Overlay,
    /// A limit of its own ended it, and its result is partial.
    pub(crate) partial: bool,
    /// Its time was over: the open calls below it end together with it.
    pub(crate) cut_off: Option<CutOff>,
    /// The hook that it made for its level.
    pub(crate) hook: Option<Box<Hook>>,
    /// The versions of files that it saw for the level that made it.
    pub(crate) versions: Versions,
    /// The changes of the thread's agents that come with the call's end.
    pub(crate) agents: Vec<AgentChange>,
    /// The change of the session that comes with the call's end.
    pub(crate) session: Option<Box<SessionChange>>,
}

impl Outcome {
    /// The result of a call that wrote nothing to memory.
    pub(crate) fn of(result: Result<String, ToolError>) -> Self {
        Outcome {
            result,
            overlay: Overlay::new(),
            partial: false,
            cut_off: None,
            hook: None,
            versions: Versions::new(),
            agents: Vec::new(),
            session: None,
        }
    }
}

/// A kind of call that contains levels. Each event that it returns comes with its key, and goes into the
/// commit of the start or end that it belongs to.
pub(crate) trait Composite {
    /// Runs the call to its end. A failure of a level within it is an error result, not the turn's end.
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>>;

    /// The event that clients get beside the call's start.
    fn started(&self, _turn: &Turn, _key: &str, _call: &ToolCall) -> Option<(String, Event)> {
        None
    }

    /// The event that clients get beside the call's end.
    fn ended(
        &self,
        _turn: &Turn,
        _key: &str,
        _call: &ToolCall,
        _status: StepStatus,
        _end: &ToolEnd,
    ) -> Option<(String, Event)> {
        None
    }

    /// The event that clients get beside the end of a call that lies directly within this one.
    fn inner_ended(
        &self,
        _turn: &Turn,
        _own: &ToolCall,
        _key: &str,
        _call: &ToolCall,
        _end: &ToolEnd,
    ) -> Option<(String, Event)> {
        None
    }
}

/// One of the engine's own calls.
pub(crate) struct Own {
    pub(crate) facts: OwnCall,
    pub(crate) carrier: Carrier,
}

/// The way in which a call is carried out.
#[derive(Clone, Copy)]
pub(crate) enum Carrier {
    /// At once, from its arguments and the level that made it.
    AtOnce(fn(&Turn, &Level, &str) -> Outcome),
    /// In levels below the one that made it.
    Composite(&'static dyn Composite),
}

/// The work around the root's loop, in a turn whose request asks for a mode.
pub(crate) trait Mode {
    /// Makes the calls of the mode in the root's place, before the root's model is asked.
    fn begin<'a>(&self, turn: &'a Turn, root: &'a mut Level) -> LocalBoxFuture<'a, Result<(), Halt>>;

    /// The event that clients get beside the turn's end, by the root's answer and whether the turn made a
    /// plan.
    fn ended(&self, turn: &Turn, answer: &str, has_plan: bool) -> Option<(String, Event)>;
}

/// The course of a root: it says, beside the model, how the root goes on after each round and after each reply without
/// calls.
pub(crate) trait Course {
    /// Says how a level goes on.
    fn steer<'a>(&'a self, turn: &'a Turn, level: &'a mut Level) -> LocalBoxFuture<'a, Result<(), Halt>>;

    /// The refusal of a call that comes after the end of a step in the same reply, where the session now stands at another
    /// step.
    fn refusal(&self, session: &Session, tool: &str) -> Option<&'static str>;

    /// The event that clients get beside a change of the session.
    fn event_of(&self, session: &Session, change: &SessionChange) -> Event;

    /// The change with which a turn leaves its session.
    fn left(&self, session: &Session) -> Option<SessionChange>;
}

/// The parts of the engine that stand above the loop.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) calls: &'static [&'static Own],
    /// The facts of `calls`, by name.
    pub(crate) facts: OwnCalls,
    pub(crate) mode: &'static dyn Mode,
    /// The course of a turn that works on a session.
    pub(crate) course: &'static dyn Course,
    /// The way in which a hook comes to its verdicts.
    pub(crate) judge: fn(&Hook) -> Judge,
}

impl Turn {
    /// The engine's own call of this name.
    pub(super) fn own(&self, name: &str) -> Option<&'static Own> {
        self.parts.calls.iter().find(|own| own.facts.name == name).copied()
    }

    /// The composite call of this name.
    pub(super) fn composite(&self, name: &str) -> Option<&'static dyn Composite> {
        match self.own(name)?.carrier {
            Carrier::Composite(composite) => Some(composite),
            Carrier::AtOnce(_) => None,
        }
    }

    /// The facts of the engine's own calls.
    pub(crate) fn facts(&self) -> OwnCalls {
        self.parts.facts
    }

    /// The event of a change of the session, by the record as it is before that change.
    pub(crate) fn told_of_session(&self, change: &SessionChange) -> Option<(String, Event)> {
        let record = self.record.borrow();
        self.told_of(record.session.as_ref()?, change)
    }

    /// The event of a change of a session.
    pub(super) fn told_of(&self, session: &Session, change: &SessionChange) -> Option<(String, Event)> {
        Some((format!("workflow:{}", change.revision), self.parts.course.event_of(session, change)))
    }

    /// The event that the composite call around a call adds to that call's end.
    pub(super) fn told_around(
        &self,
        level: &Level,
        key: &str,
        call: &ToolCall,
        end: &ToolEnd,
    ) -> Option<(String, Event)> {
        let record = self.record.borrow();
        let around = level.place.parent_id.as_ref()?;
        let own = &record.pending.iter().find(|pending| pending.id == *around)?.call;
        self.composite(&own.name)?.inner_ended(self, own, key, call, end)
    }
}
