//! The facts of the calls that the engine carries out itself. Such a call never reaches the `Tools` port. The
//! file of a call declares its facts (`calls/`, `plan/`), and `compose.rs` lists the calls. A journal holds
//! only the call's name; the facts come from this code.
//!
//! The engine's own calls stand above its loop: the file of a call has its declaration, its facts (levels, subtask,
//! title), its behaviour and its part of the prompts. `compose.rs` lists the calls once. The loop names no call: it
//! knows their facts (`own.rs`) and, for a call that contains levels, the trait `Composite` (`turn/composite.rs`).

use serde::Deserialize;

use crate::journal::ToolEnd;
use crate::profiles::Role;

/// The facts of a call that the engine carries out itself.
#[derive(Clone, Copy, Debug)]
pub struct OwnCall {
    pub name: &'static str,
    /// The number of levels that the call opens, one below the other. The engine refuses a call whose levels
    /// would exceed the depth limit.
    pub levels: u32,
    /// The level that made the call ends with it.
    pub ends_level: bool,
    /// The call counts towards the limit of subtasks.
    pub counts_as_subtask: bool,
    /// Only the root may make the call: it makes plans or acts on them.
    pub root_only: bool,
    /// Only the root and agents may make the call: subtasks and steps end with their calls, and have no agents.
    pub of_agents: bool,
    /// A person is asked each time: nobody allows the call for the whole thread.
    pub asks_each_time: bool,
    /// The call's arguments have a title, which people see as its label.
    pub has_title: bool,
    /// The call's result represents the results of all calls within it.
    pub stands_for_inner: bool,
    /// Reads, from the call's arguments and its end, the change that it makes to the turn's record beside the
    /// tree.
    pub settles: Option<fn(&str, &ToolEnd) -> Option<Settled>>,
}

/// The part of the turn's record that a call's end changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The step at this place of a plan has its end.
    Step { plan_id: String, index: usize },
    /// The router chose the models of this role for the root; none means the turn's own.
    Route(Option<Role>),
}

impl OwnCall {
    /// A call without levels.
    pub(crate) const fn plain(name: &'static str) -> Self {
        OwnCall {
            name,
            levels: 0,
            ends_level: false,
            counts_as_subtask: false,
            root_only: false,
            of_agents: false,
            asks_each_time: false,
            has_title: false,
            stands_for_inner: false,
            settles: None,
        }
    }

    /// A call that opens this number of levels, one below the other.
    pub(crate) const fn composite(name: &'static str, levels: u32) -> Self {
        OwnCall { levels, ..OwnCall::plain(name) }
    }
}

/// The engine's own calls by name, for the rooms below those that declare them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnCalls(pub(crate) fn(&str) -> Option<&'static OwnCall>);

impl OwnCalls {
    /// No calls: for a level that stands alone.
    pub(crate) const NONE: OwnCalls = OwnCalls(|_| None);

    /// The facts of the call of this name.
    pub(crate) fn find(self, name: &str) -> Option<&'static OwnCall> {
        (self.0)(name)
    }

    /// The number of levels that a call of this name opens.
    pub(crate) fn levels(self, name: &str) -> u32 {
        self.find(name).map_or(0, |call| call.levels)
    }

    /// Whether the level that makes a call of this name ends with it.
    pub(crate) fn ends_level(self, name: &str) -> bool {
        self.find(name).is_some_and(|call| call.ends_level)
    }

    /// Whether only the root may make calls of this name.
    pub(crate) fn root_only(self, name: &str) -> bool {
        self.find(name).is_some_and(|call| call.root_only)
    }

    /// Whether a level that ends with its call, such as a subtask, may not make calls of this name.
    pub(crate) fn kept_from_subtasks(self, name: &str) -> bool {
        self.find(name).is_some_and(|call| call.root_only || call.of_agents || call.ends_level)
    }

    /// The label of a call for people, even if its other arguments are wrong.
    pub(crate) fn title(self, name: &str, arguments: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Titled {
            title: String,
        }
        let titled = self.find(name).filter(|call| call.has_title)?;
        let read = wire::json::from_str(arguments).map(|Titled { title }| title);
        Some(read.unwrap_or_else(|_| titled.name.to_owned()))
    }
}
