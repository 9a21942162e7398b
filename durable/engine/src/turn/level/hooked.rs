//! The hooks of a level, and their comments among its messages.

use std::rc::Rc;

use super::Level;
use crate::journal::{AgentLife, HookOrigin, HookState};
use crate::versions::Versions;
use wire::model::{Message, ToolCall};
use wire::protocol::{Hook, HookPoint};

/// The hooks that watch a level, and how far they have come.
#[derive(Debug, Default)]
pub(in crate::turn) struct Hooked {
    hooks: Vec<Rc<Hook>>,
    /// How many of them, from the first on, are the operator's.
    operators: usize,
    /// How many of them the level began with. It has made the others.
    given: usize,
    /// The level answers a question about one whose drafts wait for their verdict, and may repeat them: readers get none of
    /// its text.
    silent: bool,
    /// The step before whose model call they were asked last.
    asked_at: Option<u32>,
    /// The comments at the end of the messages.
    comments: usize,
}

impl Hooked {
    /// The hooks with which a level begins. The first `operators` of them are the operator's.
    pub(in crate::turn) fn new(hooks: Vec<Rc<Hook>>, operators: usize) -> Self {
        Hooked { given: hooks.len(), operators, hooks, ..Hooked::default() }
    }

    /// A level without hooks, which answers a question about another one.
    pub(in crate::turn) fn of_question(silent: bool) -> Self {
        Hooked { silent, ..Hooked::default() }
    }

    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// A model call has its outcome: comments that it got are messages like others.
    pub(super) fn heard(&mut self) {
        self.comments = 0;
    }

    pub(super) fn comments(&self) -> usize {
        self.comments
    }

    /// Adds the hooks that the level's agent made before.
    pub(in crate::turn) fn with(mut self, made: &[Hook]) -> Self {
        self.add(made.iter());
        self
    }

    /// Adds the hooks that calls of a settled round made.
    pub(super) fn add<'a>(&mut self, made: impl Iterator<Item = &'a Hook>) {
        self.hooks.extend(made.cloned().map(Rc::new));
    }
}

impl Level {
    /// The hooks that watch the level.
    pub(crate) fn hooks(&self) -> &[Rc<Hook>] {
        &self.hooked.hooks
    }

    /// Whether the hook at this place is the operator's.
    pub(in crate::turn) fn is_operators(&self, index: usize) -> bool {
        index < self.hooked.operators
    }

    /// The one who gave the level the hook at this place.
    pub(in crate::turn) fn origin(&self, index: usize) -> HookOrigin {
        match index {
            _ if self.is_operators(index) => HookOrigin::Operator,
            _ if index < self.hooked.given => HookOrigin::Given,
            _ => HookOrigin::Own,
        }
    }

    /// The state with which the hook at this place began; none for a new one.
    pub(in crate::turn) fn begun_state(&self, index: usize) -> Option<&HookState> {
        let (life, hook) = (self.life()?, self.hooks().get(index)?);
        life.state_of(hook, self.origin(index), self.equal_before(index))
    }

    /// How many hooks before this place are equal to the one there, and of the same origin.
    fn equal_before(&self, index: usize) -> usize {
        let Some(hook) = self.hooks().get(index) else { return 0 };
        let before = self.hooks().iter().enumerate().take(index);
        before.filter(|(place, other)| *other == hook && self.origin(*place) == self.origin(index)).count()
    }

    /// Whether the level has an equal hook of the same origin behind this one: the states of both stand in their order.
    pub(in crate::turn) fn has_equal_behind(&self, index: usize) -> bool {
        let behind = (index + 1)..self.hooks().len();
        behind.into_iter().any(|place| {
            self.hooks().get(place) == self.hooks().get(index) && self.origin(place) == self.origin(index)
        })
    }

    /// Those that the level has made itself.
    pub(crate) fn own_hooks(&self) -> impl Iterator<Item = &Rc<Hook>> {
        self.hooked.hooks.iter().skip(self.hooked.given)
    }

    /// The points at which hooks may comment before the next model call. Empty where none does, or all were asked.
    pub(in crate::turn) fn points(&self) -> Vec<HookPoint> {
        let hooked = &self.hooked;
        if hooked.hooks.is_empty() || hooked.asked_at == Some(self.iterations) {
            return Vec::new();
        }
        let input = hooked.asked_at.is_none().then_some(HookPoint::Input);
        input.into_iter().chain(self.has_new_results().then_some(HookPoint::Result)).collect()
    }

    /// Takes what hooks say before the next model call.
    pub(in crate::turn) fn apply_comments(&mut self, comments: Vec<String>) {
        self.hooked.asked_at = Some(self.iterations);
        self.hooked.comments = comments.len();
        for comment in comments {
            self.digest = self.digest.with(&comment);
            self.push(Message::User { content: comment.into() });
        }
    }

    /// The key of the step before the current one.
    pub(in crate::turn) fn last_step_key(&self) -> Option<String> {
        self.iterations.checked_sub(1).map(|last| self.path.step(last))
    }

    /// The calls of the newest round, each with its result and whether that is an error.
    pub(crate) fn newest_round(&self) -> Vec<(&ToolCall, &str, bool)> {
        calls_of(self.rounds().last().map_or_else(|| self.since_last_reply(), |(_, round)| round))
    }

    /// The messages from the model's last reply on.
    pub(super) fn since_last_reply(&self) -> &[Rc<Message>] {
        let made = self.messages.iter().rposition(|message| matches!(**message, Message::Assistant { .. }));
        made.and_then(|at| self.messages.get(at..)).unwrap_or_default()
    }

    /// The rounds since the level's last model call, oldest first: the key of each round's step, and the names of its
    /// calls. A level without a course has one such round at most.
    pub(in crate::turn) fn rounds_before(&self) -> Vec<(String, Vec<&str>)> {
        let named = |round| calls_of(round).into_iter().map(|(call, ..)| call.name.as_str()).collect();
        match self.staged() {
            Some(_) => self.rounds().iter().map(|(step, round)| (step.clone(), named(round))).collect(),
            None => {
                self.last_step_key().map(|step| (step, named(self.since_last_reply()))).into_iter().collect()
            }
        }
    }

    /// Whether a call of this name has succeeded in this turn.
    pub(crate) fn has_made(&self, name: &str) -> bool {
        let is_it = |message: &Rc<Message>| matches!(message.as_ref(), Message::Tool { name: made, is_error: false, .. } if made == name);
        self.messages.iter().skip(self.own_from).any(is_it)
    }

    /// The versions of files that the level's own calls have seen, or its agent before.
    pub(crate) fn known_files(&self) -> &Versions {
        &self.versions
    }

    /// The life with which the level of an agent began.
    pub(in crate::turn) fn life(&self) -> Option<&AgentLife> {
        self.life.as_deref()
    }

    /// Notes that the level itself shows these files now.
    pub(super) fn learn_anew<'a>(&mut self, paths: impl Iterator<Item = &'a String>) {
        let Some(life) = self.life.as_mut().filter(|life| !life.known_files.is_empty()) else { return };
        for path in paths.filter(|path| life.known_files.contains_key(*path)).collect::<Vec<_>>() {
            Rc::make_mut(life).known_files.remove(path);
        }
    }
}

/// The calls of a round, each with its result and whether that is an error. The round begins with the reply that made them.
fn calls_of(round: &[Rc<Message>]) -> Vec<(&ToolCall, &str, bool)> {
    let Some((first, results)) = round.split_first() else { return Vec::new() };
    let Message::Assistant { tool_calls, .. } = first.as_ref() else { return Vec::new() };
    let results = results.iter().filter_map(|message| match message.as_ref() {
        Message::Tool { content, is_error, .. } => Some((content.as_str(), *is_error)),
        _ => None,
    });
    tool_calls.iter().zip(results).map(|(call, (content, is_error))| (call, content, is_error)).collect()
}
