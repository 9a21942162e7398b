//! Asks the hooks of a level: before its model calls, where they may comment, and before its calls and its answers, which
//! they may block.
//!
//! The loop knows a hook by its [`Judge`]; the rules themselves stand in the room `hooks`. A verdict is journaled with the
//! state that the hook has from then on, so a run that takes the turn up asks nobody again. A call that has started, or
//! that a person was asked about, has passed its hooks. Before a model call that has begun, all comments are journaled.
//!
//! A guard that gives no verdict blocks, and a commenter that gives none is silent.

use std::rc::Rc;

use futures::future::{Either, LocalBoxFuture, select, try_join_all};
use futures::pin_mut;

use super::closing::{Scope, foresee};
use super::level::{Hooked, Level};
use super::{Halt, Turn};
use crate::journal::{Commit, Entry, Fact, HookSaid, Work};
use crate::ports::ToolError;
use crate::record::PendingCall;
use crate::record::hooks::OpenHook;
use crate::record::keys::{LevelPath, call_key, hook_key, work};
use crate::toolbelt::ToolSpec;
use crate::versions::Versions;
use wire::model::ToolCall;
use wire::protocol::{CallStatus, Event, Hook, HookDecision, HookPoint, HookReach};

/// How long a model has for its verdict, in milliseconds of running time.
pub(crate) const VERDICT_MS: u64 = 20_000;
/// The longest comment or reason that a model reads, in bytes.
pub(crate) const MAX_SAID_BYTES: usize = 2_000;

/// A question to a hook.
pub(crate) struct Asked<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) level: &'a Level,
    pub(crate) hook: &'a Hook,
    /// Whether the hook is the operator's.
    pub(crate) is_operators: bool,
    /// The key of the question.
    pub(crate) key: &'a str,
    /// The call that is about to be made, at the point `action`.
    pub(crate) call: Option<(&'a ToolCall, &'a ToolSpec)>,
    /// The state of this level's copy; empty at first.
    pub(crate) state: &'a str,
    /// The files that the level knows and that have changed, with their present versions, for a rule that compares them. The
    /// error says why they could not be compared.
    pub(crate) changed: Option<&'a Result<Versions, String>>,
}

/// The answer of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) decision: HookDecision,
    pub(crate) text: String,
    /// The state from here on, where it changes.
    pub(crate) state: Option<String>,
}

impl Said {
    /// A verdict without a change of state.
    pub(crate) fn new(decision: HookDecision, text: impl Into<String>) -> Self {
        Said { decision, text: text.into(), state: None }
    }
}

/// The way in which a hook comes to its verdicts.
#[derive(Clone, Copy)]
pub(crate) enum Judge {
    /// By a rule, at once.
    Rule(&'static dyn Rule),
    /// By asking a model.
    Model(&'static dyn Smart),
}

/// The rule of a hook.
pub(crate) trait Rule {
    /// Decides. The error says why there is no verdict.
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String>;

    /// The hook as a child level gets it.
    fn copied(&self, hook: &Hook) -> Hook {
        hook.clone()
    }

    /// Whether the hook is asked at this point.
    fn is_asked_on(&self, hook: &Hook, point: HookPoint) -> bool {
        hook.on == point
    }

    /// Whether it watches calls of this name beside those that its definition matches.
    fn watches_also(&self, _hook: &Hook, _call: &str) -> bool {
        false
    }

    /// Whether it compares the files that its level knows with those that are there.
    fn compares_files(&self) -> bool {
        false
    }

    /// Whether its state lasts as long as its agent. Otherwise each answer of the agent begins anew.
    fn lasts(&self) -> bool {
        true
    }

    /// Whether the hook has quit with the end of its level's work, without having been asked again.
    fn has_ended(&self, _hook: &Hook, _level: &Level) -> bool {
        false
    }
}

/// A hook that asks a model.
pub(crate) trait Smart {
    /// Asks. The inner error says why there is no verdict.
    fn ask<'a>(&'a self, asked: &'a Asked<'a>) -> LocalBoxFuture<'a, Result<Result<Said, String>, Halt>>;
}

/// Asks the hooks of a level before its next model call. Returns whether the level has new comments.
pub(super) async fn comment(turn: &Turn, level: &mut Level) -> Result<bool, Halt> {
    let points = level.points();
    if points.is_empty() {
        return Ok(false);
    }
    let at = level.step_key();
    let has_begun = turn.replay.attempts(&at) > 0 || turn.record.borrow().models.contains_key(&at);
    let is_blank = turn.spec.is_blank() && level.place.depth == 0;
    if !has_begun && !is_blank {
        let rounds = level.rounds_before();
        let concerns = |hook: &Hook, point: HookPoint| match point {
            HookPoint::Result => rounds.iter().any(|(_, calls)| calls.iter().any(|name| hook.matches(name))),
            HookPoint::Input | HookPoint::Action | HookPoint::Answer => true,
        };
        let is_due =
            |hook: &Hook| points.iter().any(|point| turn.is_asked_on(hook, *point) && concerns(hook, *point));
        let due: Vec<(usize, &Rc<Hook>)> =
            level.hooks().iter().enumerate().filter(|(_, hook)| is_due(hook)).collect();
        let compares =
            |hook: &Hook| matches!((turn.parts.judge)(hook), Judge::Rule(rule) if rule.compares_files());
        let compares = due.iter().any(|(_, hook)| compares(hook));
        let changed = match compares && !level.known_files().is_empty() {
            true => turn.changed_files(level, &at).await?,
            false => None,
        };
        let about = About { at: &at, call: None, changed: changed.as_ref() };
        let level = &*level;
        try_join_all(due.into_iter().map(|(index, _)| ask(turn, level, about, index))).await?;
    }
    let comments = comments(turn, level, &at);
    let is_told = !comments.is_empty();
    level.apply_comments(comments);
    Ok(is_told)
}

/// The comments on the calls of the rounds before a step, in the model's order, then those on the step.
fn comments(turn: &Turn, level: &Level, at: &str) -> Vec<String> {
    let record = turn.record.borrow();
    let rounds = level.rounds_before().into_iter();
    let about = rounds.flat_map(|(step, calls)| (0..calls.len()).map(move |index| call_key(&step, index)));
    let mut comments = Vec::new();
    for about in about.chain([at.to_owned()]) {
        let said = record.hooks.on(&about).filter(|said| said.decision == Some(HookDecision::Comment));
        comments.extend(said.map(|said| turn.remark(&said.hook, &said.text)));
    }
    comments
}

/// The subject of a question to hooks: a step, or a call that is about to be made.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    /// The key of the step or the call.
    pub(super) at: &'a str,
    pub(super) call: Option<(&'a ToolCall, &'a ToolSpec)>,
    pub(super) changed: Option<&'a Result<Versions, String>>,
}

/// Asks one hook, unless the journal has its verdict. Returns whether it blocks.
pub(super) async fn ask(
    turn: &Turn,
    level: &Level,
    About { at, call, changed }: About<'_>,
    index: usize,
) -> Result<bool, Halt> {
    let Some(hook) = level.hooks().get(index) else { return Ok(false) };
    let key = hook_key(at, index);
    let (said, open) = {
        let hooks = &turn.record.borrow().hooks;
        (hooks.said(&key).cloned(), hooks.open.get(&key).cloned())
    };
    if let Some(said) = said {
        return Ok(said.decision == Some(HookDecision::Block));
    }
    let (state, has_quit) = turn.hook_state(level, at, index);
    // A hook that has quit still answers the question that a lost run put to it.
    if has_quit && open.is_none() {
        return Ok(false);
    }
    turn.check()?;
    let is_operators = level.is_operators(index);
    let asked = Asked { turn, level, hook, is_operators, key: &key, call, state: &state, changed };
    match (turn.parts.judge)(hook) {
        Judge::Rule(rule) => turn.note_verdict(&asked, rule.judge(&asked), Commit::default()),
        Judge::Model(smart) => {
            let open = match open {
                Some(open) => open,
                None => turn.note_question(&asked)?,
            };
            let answered = {
                let asking = smart.ask(&asked);
                let late = is_late(turn, &open);
                pin_mut!(late);
                match select(asking, late).await {
                    Either::Left((answered, _)) => Some(answered?),
                    Either::Right(((), asking)) => {
                        drop(asking);
                        None
                    }
                }
            };
            match answered {
                Some(answered) => turn.note_verdict(&asked, answered, Commit::default()),
                None => {
                    let within = LevelPath::hook(&key);
                    let told = |_: &PendingCall| "the hook's time was over".to_owned();
                    let cut_off = Scope { within: within.as_str(), told: &told }.close(turn);
                    let late = format!("it took longer than {} seconds", VERDICT_MS / 1_000);
                    turn.note_verdict(&asked, Err(late), cut_off)
                }
            }
        }
    }
}

/// Completes when a hook's time is over.
async fn is_late(turn: &Turn, open: &OpenHook) {
    let until = open.since_ms.saturating_add(VERDICT_MS);
    loop {
        let left = until.saturating_sub(turn.elapsed_ms());
        if left == 0 {
            return;
        }
        turn.ports.clock.sleep(left).await;
    }
}

impl Turn {
    /// The hooks of a child level: copies of its parent's, each with a state of its own. What the service reads for a call is
    /// also watched by the hooks that watch the level of that call alone.
    pub(super) fn copied_hooks(&self, parent: &Level, path: &str) -> Hooked {
        let work = work(&format!("{path}0"));
        if !work.has_hooks() {
            return Hooked::of_question(parent.is_judged());
        }
        let is_copied = |hook: &Hook| hook.of == HookReach::All || work == Work::Read;
        let all = parent.hooks().iter().enumerate().filter(|(_, hook)| is_copied(hook));
        let operators = all.clone().filter(|(index, _)| parent.is_operators(*index)).count();
        let copied = |hook: &Rc<Hook>| match (self.parts.judge)(hook) {
            Judge::Rule(rule) => Rc::new(rule.copied(hook)),
            Judge::Model(_) => Rc::clone(hook),
        };
        Hooked::new(all.map(|(_, hook)| copied(hook)).collect(), operators)
    }

    /// The hooks with which the turn began.
    pub(super) fn own_hooked(&self) -> Hooked {
        let setting = &self.spec.setting;
        let operators = setting.guards.as_ref().map_or(0, |guards| guards.hooks);
        Hooked::new(setting.hooks.iter().cloned().map(Rc::new).collect(), operators)
    }

    pub(super) fn decides_at_once(&self, hook: &Hook) -> bool {
        matches!((self.parts.judge)(hook), Judge::Rule(_))
    }

    /// Whether a hook is asked at this point.
    pub(super) fn is_asked_on(&self, hook: &Hook, point: HookPoint) -> bool {
        match (self.parts.judge)(hook) {
            Judge::Rule(rule) => rule.is_asked_on(hook, point),
            Judge::Model(_) => hook.on == point,
        }
    }

    /// The files that a level knows and that have changed before its next step; none where no tool knows their versions.
    /// Journals them, so that a run that takes the turn up tells the model of the same.
    async fn changed_files(&self, level: &Level, at: &str) -> Result<Option<Result<Versions, String>>, Halt> {
        if let Some(compared) = self.replay.compared(at) {
            return Ok(Some(compared.clone()));
        }
        let context = self.tool_context(&self.ids.tool_call(at), Rc::default());
        let known = Rc::new(level.known_files().clone());
        let Some(changed) = self.ports.tools.changed_files(&context, known) else { return Ok(None) };
        let late = self.ports.clock.sleep(VERDICT_MS);
        let compared = match select(changed, late).await {
            Either::Left((changed, _)) => changed.map_err(|ToolError(why)| why),
            Either::Right(_) => Err("the files did not answer in time".to_owned()),
        };
        let (changed, failure) = match compared.clone() {
            Ok(changed) => (changed, None),
            Err(why) => (Versions::default(), Some(why)),
        };
        if !changed.is_empty() || failure.is_some() {
            let entries = vec![self.entry(at, Fact::FilesCompared { changed, failure })];
            self.commit(Commit { entries, ..Commit::default() })?;
        }
        Ok(Some(compared))
    }

    /// Journals that a hook is about to ask a model.
    fn note_question(&self, asked: &Asked<'_>) -> Result<OpenHook, Halt> {
        let Asked { level, hook, key, .. } = *asked;
        let place = level.place.clone();
        let asking = Fact::HookAsked { hook: hook.name.clone(), point: hook.on, place: place.clone() };
        let entry = self.entry(key, asking);
        let open = OpenHook { hook: hook.name.clone(), point: hook.on, place, since_ms: entry.elapsed_ms };
        let event = self.hook_event(key, &open, CallStatus::Start, None);
        let events = vec![(format!("hook_start:{key}"), event)];
        self.commit(Commit { entries: vec![entry], events, ..Commit::default() })?;
        Ok(open)
    }

    /// Journals a verdict, after what the commit has already. Returns whether it blocks. A rule that has no objection, and
    /// whose state stays as it is, leaves no trace.
    fn note_verdict(
        &self,
        asked: &Asked<'_>,
        answered: Result<Said, String>,
        mut commit: Commit,
    ) -> Result<bool, Halt> {
        let Asked { level, hook, key, .. } = *asked;
        let (failed, cuts_off) = (answered.is_err(), !commit.entries.is_empty());
        let no_verdict = |why: String| match hook.on {
            HookPoint::Action | HookPoint::Answer => {
                Said::new(HookDecision::Block, format!("it gave no verdict: {why}"))
            }
            HookPoint::Input | HookPoint::Result => Said::new(HookDecision::Allow, why),
        };
        let Said { decision, text, state } = answered.unwrap_or_else(no_verdict);
        let said = HookSaid {
            hook: hook.name.clone(),
            point: hook.on,
            place: level.place.clone(),
            decision: Some(decision),
            text: super::truncated(text, MAX_SAID_BYTES),
            failed,
            state: state.filter(|state| state != asked.state),
        };
        let blocks = decision == HookDecision::Block;
        let open = self.record.borrow().hooks.open.get(key).cloned();
        if open.is_none() && !said.is_told() && said.state.is_none() {
            return Ok(blocks);
        }
        // The event and the tree, which is made from the entry, have one time.
        let now = self.elapsed_ms();
        if open.is_some() || said.is_told() {
            let HookSaid { hook, point, place, .. } = said.clone();
            let open = open.unwrap_or(OpenHook { hook, point, place, since_ms: now });
            let event = self.hook_event(key, &open, CallStatus::End, Some((&said, now)));
            commit.events.push((format!("hook_end:{key}"), event));
        }
        let fact = Fact::HookSaid(Box::new(said));
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact });
        if cuts_off {
            foresee(self, &mut commit);
        }
        self.commit(commit)?;
        Ok(blocks)
    }

    /// The event of a question, or of the verdict on it and its time.
    pub(super) fn hook_event(
        &self,
        key: &str,
        open: &OpenHook,
        status: CallStatus,
        said: Option<(&HookSaid, u64)>,
    ) -> Event {
        let record = self.record.borrow();
        let hook_call_id = self.ids.tool_call(key);
        Event::HookUpdate {
            usage: said.and_then(|_| record.usage_below(&hook_call_id)),
            hook: open.hook.clone(),
            point: open.point,
            status,
            decision: said.and_then(|(said, _)| said.decision),
            text: said.map(|(said, _)| said.text.clone()).filter(|text| !text.is_empty()),
            failed: said.is_some_and(|(said, _)| said.failed),
            tool_call_id: record.judged_call(key, open.point),
            started_ms: Some(open.since_ms),
            duration_ms: said.map(|(_, now)| now.saturating_sub(open.since_ms)),
            place: open.place.clone(),
            hook_call_id,
        }
    }
}
