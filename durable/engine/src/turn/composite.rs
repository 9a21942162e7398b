//! Calls that contain levels: subtasks, plans, their steps, the router. A round runs them like any call and
//! knows them by this trait alone; each has a file of its own, and `mod.rs` lists them.

use futures::future::LocalBoxFuture;

use super::machine::Level;
use super::record::PendingCall;
use super::{Halt, Turn};
use crate::journal::ToolEnd;
use crate::memory::Overlay;
use crate::ports::ToolError;
use wire::model::ToolCall;
use wire::protocol::{Event, StepStatus};

/// A running call that contains levels.
pub(super) struct Running<'a> {
    pub(super) turn: &'a Turn,
    /// The level that made the call.
    pub(super) parent: &'a Level,
    pub(super) key: &'a str,
    pub(super) arguments: &'a str,
}

/// The outcome of such a call.
pub(super) struct Outcome {
    pub(super) result: Result<String, ToolError>,
    /// The memory writes of its levels.
    pub(super) overlay: Overlay,
    /// A limit of its own ended it, and its result is partial.
    pub(super) partial: bool,
    /// Its time was over: the open calls below it end together with it. This function gives the result of
    /// each.
    pub(super) cut_off: Option<fn(&PendingCall) -> String>,
}

impl Outcome {
    /// The result of a call that wrote nothing to memory.
    pub(super) fn of(result: Result<String, ToolError>) -> Self {
        Outcome { result, overlay: Overlay::new(), partial: false, cut_off: None }
    }
}

/// A kind of call that contains levels. Each event that it returns comes with its key, and goes into the
/// commit of the start or end that it belongs to.
pub(super) trait Composite {
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

/// The composite calls that an engine has, by name.
pub(super) type Composites = &'static [(&'static str, &'static dyn Composite)];

impl Turn {
    /// The composite call of this name.
    pub(super) fn composite(&self, name: &str) -> Option<&'static dyn Composite> {
        self.composites.iter().find(|(known, _)| *known == name).map(|(_, composite)| *composite)
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
