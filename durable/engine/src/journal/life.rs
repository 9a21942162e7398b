//! The life of an agent from one answer to the next, beside its transcript: the states of its hooks, and the files that it
//! has read. Plain data, which the journal, the record and the thread's rows hold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use wire::protocol::Hook;

/// The most files of which an agent remembers the version: they stand in one row with the rest of its life.
pub const MAX_KNOWN_FILES: usize = 100;

/// The life of an agent, `main` included. A level that works for an agent begins with it, and the end of its answer or of
/// the turn keeps it. Subtasks and steps have none: they live once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentLife {
    /// The hooks that `main` has made itself. Those of another agent stand in [`Agent::hooks`](super::Agent::hooks).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// The states of the hooks that watch the agent, its copies of other agents' hooks included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hook_states: Vec<HookState>,
    /// The digest of the workspace that has the known files. A turn in another workspace knows none of them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workspace: String,
    /// The files whose content the agent's transcript shows, by their paths in the workspace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub known_files: BTreeMap<String, KnownFile>,
}

/// The state of one hook of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct HookState {
    /// The name of the hook.
    pub hook: String,
    #[serde(default)]
    pub origin: HookOrigin,
    /// The digest of its definition ([`Hook::digest`]). A hook that is defined anew has no state.
    pub definition: String,
    /// As the hook itself writes it. Empty where it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// The hook is not asked any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_quit: bool,
}

/// The one who gave an agent a hook. An equal hook of another origin has a state of its own: an agent's own hook says nothing of
/// the operator's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookOrigin {
    Operator,
    /// The thread, or another agent whose hook this is a copy of.
    #[default]
    Given,
    /// The agent itself.
    Own,
}

/// The version of a file that an agent has read or written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct KnownFile {
    /// None where the agent found no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The turn whose messages show it. Once they have left the agent's view, the agent does not know the file any more.
    pub turn_id: String,
}

impl AgentLife {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.hook_states.is_empty() && self.known_files.is_empty()
    }

    /// The state of a hook. `nth` counts the equal hooks of its origin before it.
    pub(crate) fn state_of(&self, hook: &Hook, origin: HookOrigin, nth: usize) -> Option<&HookState> {
        if self.hook_states.is_empty() {
            return None;
        }
        let definition = hook.digest();
        let is_it = |state: &&HookState| state.origin == origin && state.definition == definition;
        self.hook_states.iter().filter(is_it).nth(nth)
    }

    /// Whether a hook has quit.
    pub fn has_quit(&self, hook: &Hook, origin: HookOrigin) -> bool {
        self.state_of(hook, origin, 0).is_some_and(|state| state.has_quit)
    }

    /// The same with the files alone that these turns show.
    pub fn within(mut self, is_in_view: impl Fn(&str) -> bool) -> Self {
        self.known_files.retain(|_, file| is_in_view(&file.turn_id));
        if self.known_files.is_empty() {
            self.workspace.clear();
        }
        self
    }
}
