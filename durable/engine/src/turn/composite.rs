//! Calls that contain levels: subtasks, plans, their steps, the router. A round runs them like any call and knows them by
//! this trait alone; each stands in a file of its own, and `mod.rs` lists them.

use futures::future::LocalBoxFuture;

use super::machine::Level;
use super::record::PendingCall;
use super::{Halt, Turn};
use crate::journal::ToolEnd;
use crate::memory::Overlay;
use crate::ports::ToolError;
use wire::model::ToolCall;
use wire::protocol::{Event, StepStatus};

/// A call that contains levels, as it runs.
pub(super) struct Running<'a> {
    pub(super) turn: &'a Turn,
    /// The level that made the call.
    pub(super) parent: &'a Level,
    pub(super) key: &'a str,
    pub(super) arguments: &'a str,
}

/// What such a call came to.
pub(super) struct Outcome {
    pub(super) result: Result<String, ToolError>,
    /// What its levels wrote to memory.
    pub(super) overlay: Overlay,
    /// A limit of its own ended it, and it has what it had by then.
    pub(super) partial: bool,
    /// Its time was over: the calls that are open below it end together with it, each with these words.
    pub(super) cut_off: Option<fn(&PendingCall) -> String>,
}

impl Outcome {
    /// The result of a call that wrote nothing to memory.
    pub(super) fn of(result: Result<String, ToolError>) -> Self {
        Outcome { result, overlay: Overlay::new(), partial: false, cut_off: None }
    }
}

/// A kind of call that contains levels. An event that it tells goes with the name of its key into the commit of the start
/// or end that it belongs to.
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

    /// The event of the composite call that a call lies in, beside the end of the latter.
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
