//! Places in a turn: the keys of the journal, and the wire ids that are derived from them, so that a replay
//! derives the same ids.

use crate::journal::Work;

/// FNV-1a, 64 bit: stable across builds, which a replay after a deploy needs. Not for secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) const fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// The digest after one more part. A byte that UTF-8 never has closes each part, so that borders count.
    pub(crate) fn with(self, part: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Digest(part.bytes().chain([0xff]).fold(self.0, step))
    }

    pub(crate) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The key of a form that a call asks a person to fill in; `number` counts those of the call. It stands in a path of the
/// API.
pub(crate) fn form_key(call_key: &str, number: usize) -> String {
    format!("{call_key}~{number}")
}

/// The call that a wait belongs to: its key, or that of its form.
pub(crate) fn call_of(wait_key: &str) -> &str {
    wait_key.split_once('~').map_or(wait_key, |(call, _)| call)
}

/// A level, as the prefix of its steps' keys: empty at the root, else made from the call that opened the
/// level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LevelPath(String);

impl LevelPath {
    /// The key of one of the level's steps. A step is one model call with the tool calls of its reply.
    pub(crate) fn step(&self, step: u32) -> String {
        format!("{}{step}", self.0)
    }

    /// The path as it stands in the keys of the journal.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The level of a `run_subtask` call, or of a step of a plan.
    pub(crate) fn child(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-"))
    }

    /// The level that makes a plan.
    pub(crate) fn planner(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{PLAN}-"))
    }

    /// The level that reviews a plan.
    pub(crate) fn reviewer(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{REVIEW}-"))
    }

    /// The level that decides which way a request goes.
    pub(crate) fn router(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{ROUTE}-"))
    }

    /// The level that summarises earlier turns for the step that follows; `number` counts the summaries of the turn.
    pub(crate) fn summary(step_key: &str, number: u32) -> Self {
        LevelPath(format!("{step_key}s{number}-{SUMMARY}-"))
    }

    /// The level in which a hook asks a model.
    pub(crate) fn hook(key: &str) -> Self {
        LevelPath(format!("{key}-{HOOK}-"))
    }

    /// The level in which agents answer one after the other. Its steps are their calls, without a model call.
    pub(crate) fn discussion(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{DISCUSSION}"))
    }

    /// The level in which a verifier judges the work of a workflow's step.
    pub(crate) fn verifier(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{VERIFY}-"))
    }

    /// The level that writes the notes of a planned step of a workflow.
    pub(crate) fn notes(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{NOTES}-"))
    }

    /// The level in which the service reads content that a call needs. It asks no model.
    pub(crate) fn reading(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{READ}-"))
    }

    /// The level of the calls that the service makes for a workflow's step. It asks no model.
    pub(crate) fn actions(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{ACTIONS}"))
    }

    /// The level of a running plan. Its steps are waves, without a model call.
    pub(crate) fn waves(call_key: &str) -> Self {
        LevelPath(format!("{call_key}-{WAVE}"))
    }
}

const PLAN: &str = "plan";
const REVIEW: &str = "review";
const ROUTE: &str = "route";
const SUMMARY: &str = "summary";
const HOOK: &str = "hook";
const VERIFY: &str = "verify";
const NOTES: &str = "notes";
const READ: &str = "read";
const WAVE: char = 'w';
const DISCUSSION: char = 'd';
const ACTIONS: char = 'a';

/// The path of the level that a step belongs to, from the step's key.
pub(crate) fn level(at: &str) -> &str {
    at.trim_end_matches(|digit: char| digit.is_ascii_digit())
}

/// The work of a level, by the key of one of its model calls.
pub(crate) fn work(at: &str) -> Work {
    let level = level(at);
    let Some(level) = level.strip_suffix('-') else { return Work::Root };
    match level.rsplit('-').next().unwrap_or(level) {
        PLAN => Work::Plan,
        REVIEW => Work::Review,
        ROUTE => Work::Route,
        SUMMARY => Work::Summary,
        HOOK => Work::Hook,
        VERIFY => Work::Verify,
        NOTES => Work::Notes,
        READ => Work::Read,
        call if call.starts_with(WAVE) => Work::Step,
        call if call.starts_with(DISCUSSION) => Work::Agent,
        _ => Work::Subtask,
    }
}

/// The key of a call of a step: the step's key with the call's place in the model's reply.
pub(crate) fn call_key(step_key: &str, index: usize) -> String {
    format!("{step_key}.{index}")
}

/// The key of a question to a hook: the key of the step or the call that it is about, with the hook's place among those
/// of its level.
pub(crate) fn hook_key(about: &str, index: usize) -> String {
    format!("{about}h{index}")
}

/// The step or the call that a question to a hook is about, and the hook's place.
pub(crate) fn about_of(hook_key: &str) -> (&str, usize) {
    let (about, index) = hook_key.rsplit_once('h').unwrap_or((hook_key, ""));
    (about, index.parse().unwrap_or(0))
}

/// The beginning of a level's keys, from one of them: it tells the copies of a hook apart.
pub(crate) fn copy_of(about: &str) -> &str {
    about.rfind('-').and_then(|end| about.get(..=end)).unwrap_or_default()
}

/// Derives a turn's wire ids.
#[derive(Clone, Debug)]
pub(crate) struct WireIds {
    tag: String,
}

impl WireIds {
    pub(crate) fn new(turn_id: &str) -> Self {
        WireIds { tag: Digest::new().with(turn_id).hex() }
    }

    pub(crate) fn tool_call(&self, call_key: &str) -> String {
        format!("call_{}_{call_key}", self.tag)
    }

    pub(crate) fn plan(&self, call_key: &str) -> String {
        format!("plan_{}_{call_key}", self.tag)
    }

    pub(crate) fn approval(&self, call_key: &str) -> String {
        format!("approval_{}_{call_key}", self.tag)
    }

    pub(crate) fn model_call(&self, step_key: &str) -> String {
        format!("model_{}_{step_key}", self.tag)
    }

    pub(crate) fn part(&self, step_key: &str, index: usize) -> String {
        format!("part_{}_{step_key}.{index}", self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_the_work_of_its_level() {
        assert_eq!(LevelPath::default().step(3), "3");
        assert_eq!(work("3"), Work::Root);
        let call = call_key("0", 12);
        for (path, step, expected) in [
            (LevelPath::child(&call), "0.12-0", Work::Subtask),
            (LevelPath::planner(&call), "0.12-plan-0", Work::Plan),
            (LevelPath::reviewer(&call), "0.12-review-0", Work::Review),
            (LevelPath::router(&call), "0.12-route-0", Work::Route),
            (LevelPath::summary("12", 1), "12s1-summary-0", Work::Summary),
            (LevelPath::hook(&hook_key(&call, 3)), "0.12h3-hook-0", Work::Hook),
            (LevelPath::verifier(&call), "0.12-verify-0", Work::Verify),
            (LevelPath::notes(&call), "0.12-notes-0", Work::Notes),
            (LevelPath::reading(&call), "0.12-read-0", Work::Read),
        ] {
            assert_eq!(path.step(0), step);
            assert_eq!(work(step), expected);
        }
        let wave = LevelPath::waves(&call).step(1);
        assert_eq!(wave, "0.12-w1");
        let in_step = LevelPath::child(&call_key(&wave, 0)).step(4);
        assert_eq!((in_step.as_str(), work(&in_step)), ("0.12-w1.0-4", Work::Step));
        let spoken = LevelPath::child(&call_key(&LevelPath::discussion(&call).step(1), 0)).step(4);
        assert_eq!((spoken.as_str(), work(&spoken)), ("0.12-d1.0-4", Work::Agent));
        let in_action = LevelPath::child(&call_key(&LevelPath::actions(&call).step(1), 0)).step(4);
        assert_eq!((in_action.as_str(), work(&in_action)), ("0.12-a1.0-4", Work::Subtask));
        let below = LevelPath::child(&call_key(&in_step, 2)).step(0);
        assert_eq!((below.as_str(), work(&below)), ("0.12-w1.0-4.2-0", Work::Subtask));
    }
}
