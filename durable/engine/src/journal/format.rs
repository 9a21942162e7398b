//! The journal's format over time: the number that this code writes, the entries that it can read, and when
//! it must end a turn.
//!
//! A deploy or a rollback can hand a turn to code that is older or newer than the code that began it. Reading is
//! lenient: a member that is missing has its default, a member that is unknown is ignored, and a fact that is unknown
//! becomes [`Fact::Unknown`]. Ignoring must not fail open. So entry 0 names the oldest format whose readers may go on
//! ([`TurnSpec::least_reader`](super::TurnSpec::least_reader)). Code that is older than that, or that meets an unknown
//! fact, ends the turn as `interrupted` with all text that the journal holds.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Entry, Fact, Setting};

/// The format that this code writes. 1: each replay built child levels from the code. 2: the journal holds
/// the specification of each child level (`opened`, `toolset`).
pub const FORMAT: u32 = 2;

/// The oldest format whose readers may go on with a turn that this code begins. Raise it, together with [`FORMAT`], in
/// the commit that adds a member which restricts a turn: a limit, a policy, a hook. `journal/tests.rs` lists those
/// members.
pub const LEAST_READER: u32 = 2;

/// The oldest format whose readers may go on with a turn that has hooks or agents. A turn without them is written as
/// before, so the number is beyond [`FORMAT`].
const WITH_HOOKS_OR_AGENTS: u32 = 3;

/// The same of a turn that works on a session: code without sessions would skip its steps.
const WITH_SESSION: u32 = 4;

/// The same of a turn with hooks of the operator: older code has the turn's own models judge for them, which a request
/// chooses, and lets them quit.
const WITH_GUARDS: u32 = 5;

/// The same of a turn whose estimates follow rules of their own: older code would send other requests and reserve less.
const WITH_ESTIMATES: u32 = 6;

/// The newest format that this code can go on with.
pub(crate) const NEWEST_READ: u32 = WITH_ESTIMATES;

/// The rules for estimates ([`TurnSpec::estimates`](super::TurnSpec::estimates)) of a turn that this code begins.
pub const ESTIMATES: u32 = 1;

/// The oldest format whose readers may go on with a turn of this setting and of these rules for estimates.
pub fn least_reader(setting: &Setting, estimates: u32) -> u32 {
    if estimates > 0 {
        return WITH_ESTIMATES;
    }
    let is_plain = setting.hooks.is_empty() && !setting.agent_hooks && setting.agents.is_none();
    match (setting.guards.is_some(), setting.session.is_some(), is_plain) {
        (true, ..) => WITH_GUARDS,
        (false, true, _) => WITH_SESSION,
        (false, false, true) => LEAST_READER,
        (false, false, false) => WITH_HOOKS_OR_AGENTS,
    }
}

/// The format of a journal that does not name its own.
pub(super) fn first() -> u32 {
    1
}

/// The result of a finished subtask in the message of a turn that was interrupted before the root put it into words.
pub fn told_result(result: &str) -> String {
    format!("[Result of a finished subtask]\n\n{result}")
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Row {
            at: String,
            #[serde(default)]
            elapsed_ms: u64,
            fact: Box<RawValue>,
        }
        let Row { at, elapsed_ms, fact } = Row::deserialize(deserializer)?;
        let fact = wire::json::from_str(fact.get()).unwrap_or_else(|error| Fact::Unknown(error.to_string()));
        Ok(Entry { at, elapsed_ms, fact })
    }
}
