//! The journal's format over time: the number that this code writes, the entries that it can read, and when
//! it must end a turn.
//!
//! A deploy or a rollback can hand a turn to code that is older or newer than the code that began it. Reading is
//! lenient: a member that is missing has its default, a member that is unknown is ignored, and a fact that is unknown
//! becomes [`Fact::Unknown`]. Ignoring must not fail open. So entry 0 names the oldest format whose readers may go on
//! ([`TurnSpec::least_reader`]). Code that is older than that, or that meets an unknown
//! fact, ends the turn as `interrupted` with all text that the journal holds.
//!
//! The journal freezes child levels like the root (`turn/open.rs`). Entry 0 holds the start of the root. A child level
//! journals the same with its first model call, as `opened`: system prompt, first message, models, toolset, limits.
//! Levels that share a toolset refer to it by number. A level in the journal starts from its entry and never from the
//! code, so an edited prompt changes only levels that begin later.
//!
//! The journal has a format (`journal/format.rs`). Reading is lenient: a missing member has its default, an unknown
//! one is ignored. Entry 0 names the oldest format whose readers may go on, so that no reader ignores a restriction.
//! Older code, and code that meets an unknown fact, ends the turn as `interrupted`. The stored message keeps all text
//! of the journal, the results of finished subtasks included. An unreadable entry 0 puts the turn on hold, because the
//! version that wrote it may come back. `journal/golden` has journals of each format that shipped, and the tests
//! resume each of them.
//!
//! `record/keys.rs` derives the wire ids of calls and parts from their place in the turn, so a replay comes to the
//! same ids. All other ids are UUIDv7 from the platform.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Entry, Fact, Setting, TurnSpec};
use wire::protocol::HookPoint;

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

/// The same of a turn with a model that is called over a wire of its own, because older code would call it over another
/// one, which may refuse its tools; and of a turn with a limit of money, for which older code would reserve too little.
const WITH_WIRE_OR_MONEY: u32 = 6;

/// The same of a turn on a session with a verifier that has instructions of its own: older code would judge without them.
const WITH_VERIFIER_INSTRUCTIONS: u32 = 7;

/// The same of a turn whose agents have lives: for older code their hooks would begin anew, with nothing of their limits used.
const WITH_LIVES: u32 = 8;

/// The same of a turn with a hook that judges answers: older code would show them unjudged.
const WITH_ANSWER_HOOKS: u32 = 9;

/// The same of a turn whose answer has a shape: older code would answer in prose.
const WITH_SHAPE: u32 = 10;

/// The same of a turn with a tool that costs money, for whose calls older code would hold none; and of a turn whose message asks
/// for a call, because older code would ask a model.
const WITH_PAID_TOOLS: u32 = 11;

/// The newest format that this code can go on with.
pub(crate) const NEWEST_READ: u32 = WITH_PAID_TOOLS;

/// The rules for estimates ([`TurnSpec::estimates`]) of a turn that this code begins.
pub const ESTIMATES: u32 = 1;

/// The marks ([`TurnSpec::marks`]) of a turn that this code begins.
pub const MARKS: u32 = 1;

impl TurnSpec {
    /// The same with its least reader.
    pub fn with_least_reader(self) -> Self {
        let least_reader = least_reader(&self);
        TurnSpec { least_reader, ..self }
    }
}

/// The oldest format whose readers may go on with this turn. Cuts raise it not: older code sends more messages, and
/// repeats no finished call.
fn least_reader(spec: &TurnSpec) -> u32 {
    let TurnSpec { setting, chain, subtask_chain, .. } = spec;
    let mut chains = setting.chains().chain([chain]).chain(subtask_chain);
    let has_wire = chains.any(|chain| chain.iter().any(|offer| offer.choice.wire.is_some()));
    let limits_money = spec.estimates > 0 && spec.limits.turn_cost_microusd.is_some();
    let steps = setting.session.iter().flat_map(|session| &session.definition.steps);
    let mut verifiers = steps.filter_map(|step| step.verifier.as_ref());
    let judges_by_own = verifiers.any(|verifier| verifier.instructions.is_some());
    let pays = setting.direct.is_some() || spec.tools.iter().any(|tool| tool.costs);
    let of_parts = [
        (has_wire || limits_money, WITH_WIRE_OR_MONEY),
        (judges_by_own, WITH_VERIFIER_INSTRUCTIONS),
        (pays, WITH_PAID_TOOLS),
    ];
    let of_parts = of_parts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, least)| least).max();
    of_setting(setting).max(of_parts.unwrap_or(LEAST_READER)).max(of_answer_hooks(setting))
}

/// A hook that an agent makes in mid-turn needs no number: older code can read neither the result of that call nor a
/// drafted reply.
fn of_answer_hooks(setting: &Setting) -> u32 {
    let kept = setting.agents.iter().flat_map(|agents| &agents.kept).flat_map(|agent| &agent.hooks);
    let own = setting.life.iter().flat_map(|life| &life.hooks);
    let judges = setting.hooks.iter().chain(kept).chain(own).any(|hook| hook.on == HookPoint::Answer);
    if judges { WITH_ANSWER_HOOKS } else { LEAST_READER }
}

fn of_setting(setting: &Setting) -> u32 {
    if setting.shape.is_some() {
        return WITH_SHAPE;
    }
    if setting.life.is_some() || setting.agents.as_ref().is_some_and(|agents| agents.has_lives) {
        return WITH_LIVES;
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
