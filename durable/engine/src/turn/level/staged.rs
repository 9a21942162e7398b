//! A level that follows a course: stages, one after the other. The course says how the level goes on after each round and
//! after each reply without calls. When a stage ends, its messages give way to its notes, so requests do not grow with the
//! stages.

use std::rc::Rc;

use super::prune::fixed_tokens;
use super::repeats::Repeats;
use super::{Level, LevelEnd, State};
use crate::journal::{Session, SessionChange, ToolEnd};
use crate::toolbelt::Toolbelt;
use wire::model::{Message, ReplyFinish, ToolChoice};

/// How far a level has come on its course.
#[derive(Debug)]
pub(crate) struct Staged {
    /// The session, as the rounds and the course so far left it.
    pub(crate) session: Session,
    /// The tools of the whole course. A stage has some of them.
    pub(crate) all: Toolbelt,
    /// Whether the model was reminded, since its last call, to go on with the stage.
    pub(crate) is_nudged: bool,
    /// Whether readers were told that the model answers without a call.
    pub(crate) has_told_of_answers: bool,
    /// Whether readers were told that the stage has used most of its model calls.
    pub(crate) has_told_of_calls: bool,
    /// The calls that the model made in a row.
    pub(crate) repeats: Repeats,
    /// How often the work of the stage was sent back.
    pub(crate) retries: u32,
    /// The results of the plan that the service carried out in the stage, for the verifier.
    pub(crate) planned: Option<String>,
    /// The course has not said yet how the level goes on.
    is_due: bool,
    /// The place of the stage's first message; none before the first stage.
    from: Option<usize>,
    /// The place of the first message that leaves when the stage ends: a round that the stage before left stands between.
    cut: Option<usize>,
    /// The steps of the level before the stage.
    since: u32,
    /// Whether a reply of the stage may or must call.
    choice: ToolChoice,
    /// Whether the next model call follows results.
    has_results: bool,
    /// The course's messages at the end of the level's messages.
    steered: usize,
    /// The changes of the session that the newest round brought, each with the place of its call.
    changes: Vec<(usize, SessionChange)>,
    /// The rounds since the last model call, each with the key of its step. The end of a stage takes their messages away
    /// before hooks are asked about them.
    rounds: Vec<(String, Vec<Rc<Message>>)>,
}

impl Staged {
    /// Whether a stage has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.from.is_some()
    }

    pub(super) fn move_by(&mut self, moved: impl Fn(&mut usize)) {
        self.from.iter_mut().chain(&mut self.cut).for_each(moved);
    }
}

impl Level {
    /// Follows a course from here on.
    pub(crate) fn follow(&mut self, session: Session) {
        self.staged = Some(Box::new(Staged {
            session,
            all: self.belt.clone(),
            is_nudged: false,
            has_told_of_answers: false,
            has_told_of_calls: false,
            repeats: Repeats::default(),
            retries: 0,
            planned: None,
            is_due: true,
            from: None,
            cut: None,
            since: 0,
            choice: ToolChoice::Auto,
            has_results: false,
            steered: 0,
            changes: Vec::new(),
            rounds: Vec::new(),
        }));
    }

    /// How far the level has come on its course; none where it follows none.
    pub(crate) fn staged(&self) -> Option<&Staged> {
        self.staged.as_deref()
    }

    pub(crate) fn staged_mut(&mut self) -> Option<&mut Staged> {
        self.staged.as_deref_mut()
    }

    pub(super) fn is_due(&self) -> bool {
        self.staged.as_ref().is_some_and(|staged| staged.is_due)
    }

    pub(super) fn make_due(&mut self) {
        self.staged.iter_mut().for_each(|staged| staged.is_due = true);
    }

    /// The place of the first message that each request has: that of the stage, else that of the level.
    pub(super) fn stage_from(&self) -> usize {
        self.staged.as_ref().and_then(|staged| staged.from).unwrap_or(self.own_from)
    }

    pub(super) fn usual_choice(&self) -> ToolChoice {
        match self.shape.unmet() {
            Some(_) => ToolChoice::Required,
            None => self.staged.as_ref().map_or(ToolChoice::Auto, |staged| staged.choice),
        }
    }

    /// The messages of the course behind the newest results.
    pub(super) fn steered(&self) -> usize {
        self.staged.as_ref().map_or(0, |staged| staged.steered)
    }

    /// Whether the next model call of the level follows the results of a round, which the course may have replaced.
    pub(super) fn follows_results(&self) -> bool {
        self.staged.as_ref().is_some_and(|staged| staged.has_results)
    }

    /// A model call has its outcome: the messages of the course before it are messages like others.
    pub(super) fn heard_steering(&mut self) {
        if let Some(staged) = &mut self.staged {
            (staged.steered, staged.has_results) = (0, false);
            staged.rounds.clear();
        }
    }

    /// The rounds of a level on a course since its last model call, each with the key of its step.
    pub(super) fn rounds(&self) -> &[(String, Vec<Rc<Message>>)] {
        self.staged.as_ref().map_or(&[], |staged| &staged.rounds)
    }

    /// Notes the changes that a round brought. The course says how the level goes on.
    pub(super) fn settle_round(&mut self, results: &[ToolEnd]) {
        let step = self.last_step_key().unwrap_or_default();
        let round = self.staged.as_ref().map(|_| (step, self.since_last_reply().to_vec()));
        let Some(staged) = &mut self.staged else { return };
        staged.rounds.extend(round);
        let changes = results.iter().enumerate();
        staged.changes.extend(changes.filter_map(|(index, end)| Some((index, *end.session.clone()?))));
        (staged.is_due, staged.is_nudged, staged.has_results) = (true, false, true);
    }

    /// Takes the change of the session that the newest round brought, and whether calls came after it.
    pub(crate) fn take_change(&mut self) -> Option<(SessionChange, bool)> {
        let calls = self.newest_round().len();
        let staged = self.staged.as_mut()?;
        let (index, change) = staged.changes.pop()?;
        staged.changes.clear();
        staged.session.apply(&change);
        Some((change, index + 1 < calls))
    }

    /// Whether the newest reply of the level made no call.
    pub(crate) fn has_spoken(&self) -> bool {
        matches!(self.state, State::Done(LevelEnd::Text { .. }))
    }

    /// The model calls of the stage so far.
    pub(crate) fn stage_calls(&self) -> u32 {
        self.staged.as_ref().map_or(0, |staged| self.iterations.saturating_sub(staged.since))
    }

    /// Begins a stage with these tools and at most so many model calls.
    pub(crate) fn begin_stage(&mut self, belt: Toolbelt, choice: ToolChoice, calls: u32) {
        let (from, since) = (self.messages.len(), self.iterations);
        let Some(staged) = &mut self.staged else { return };
        (staged.from, staged.since, staged.choice) = (Some(from), since, choice);
        staged.cut.get_or_insert(from);
        (staged.is_nudged, staged.retries, staged.planned) = (false, 0, None);
        (staged.has_told_of_answers, staged.has_told_of_calls) = (false, false);
        self.limits.iterations = since.saturating_add(calls);
        let (own, nested, depth) = (self.own, self.nested, self.limits.depth);
        self.tools = belt.definitions(|spec| nested.saturating_add(own.levels(&spec.name)) <= depth);
        self.message_tokens =
            self.limits.history_tokens.saturating_sub(fixed_tokens(&self.system, &self.tools));
        (self.belt, self.tool_choice) = (belt, choice);
        self.cuts.replaced();
    }

    /// Ends the stage: its messages give way to its notes. The newest round stays where calls of the next stage stand in
    /// it.
    pub(crate) fn end_stage(&mut self, heading: String, notes: &str, keeps_round: bool) {
        let Some(cut) = self.staged.as_ref().and_then(|staged| staged.cut) else { return };
        let begins = |message: &std::rc::Rc<Message>| matches!(**message, Message::Assistant { .. });
        let newest = self.messages.iter().rposition(begins).filter(|at| keeps_round && *at >= cut);
        let kept = self.messages.split_off(newest.unwrap_or(self.messages.len()));
        self.messages.truncate(cut);
        self.cuts.replaced();
        self.push(Message::User { content: heading.into() });
        self.push(Message::Assistant { content: notes.to_owned(), tool_calls: Vec::new(), raw: None });
        let cut = self.messages.len();
        self.staged.iter_mut().for_each(|staged| staged.cut = Some(cut));
        self.messages.extend(kept);
    }

    /// The number of the level's messages.
    pub(crate) fn length(&self) -> usize {
        self.messages.len()
    }

    /// Forgets a round that the service made beside the model: the model sees none of it, and it does not count towards the
    /// model calls of the stage.
    pub(crate) fn forget_round(&mut self, length: usize) {
        self.messages.truncate(length);
        self.limits.iterations = self.limits.iterations.saturating_add(1);
        if let Some(staged) = &mut self.staged {
            staged.since = staged.since.saturating_add(1);
            staged.rounds.pop();
        }
    }

    /// Goes on, with these messages before the next model call.
    pub fn steer(&mut self, texts: &[String]) {
        let Some(staged) = &mut self.staged else { return };
        staged.is_due = false;
        if texts.is_empty() {
            return;
        }
        staged.steered += texts.len();
        self.state = State::Model;
        for text in texts {
            self.digest = self.digest.with(text);
            self.push(Message::User { content: text.as_str().into() });
        }
    }

    /// Ends the level here, with its last words.
    pub(crate) fn end_here(&mut self) {
        let text = self.so_far();
        self.state = State::Done(LevelEnd::Text { text, finish: ReplyFinish::Stop });
        self.staged.iter_mut().for_each(|staged| staged.is_due = false);
    }
}
