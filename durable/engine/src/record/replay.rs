//! The entries that lost runs journaled, by key: an outcome that stands here is never obtained again.

use std::collections::{BTreeMap, BTreeSet};

use super::canned::canned_reply;
use crate::journal::{Cut, Entry, Fact, ModelOutcome, Steered, ToolEnd};
use crate::versions::Versions;
use wire::model::ToolCall;

/// The outcomes of earlier runs of a turn. Empty in the turn's first run, and never added to: this run
/// applies each outcome that it obtains at once.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    models: BTreeMap<String, (String, ModelOutcome)>,
    attempts: BTreeMap<String, u32>,
    /// The cuts before model calls.
    cuts: BTreeMap<String, Cut>,
    /// The model calls that a run ended without an outcome.
    dropped: BTreeSet<String>,
    ended: BTreeMap<String, ToolEnd>,
    started: BTreeSet<String>,
    called: BTreeMap<String, Vec<ToolCall>>,
    /// The revisions of plans, by the calls that made them.
    plans: BTreeSet<(String, u32)>,
    /// How the root went on, by its next step.
    steered: BTreeMap<String, Steered>,
    /// The comparisons of files before steps: those that had changed, or why there was none.
    compared: BTreeMap<String, Result<Versions, String>>,
    /// The model calls whose drafted answers hooks let pass.
    passed: BTreeSet<String>,
    /// The calls and levels that changed the thread's agents.
    agents: BTreeSet<String>,
    resumptions: u32,
    /// Resumptions since the last entry that was progress.
    fruitless: u32,
}

impl Replay {
    // Long: an arm for each fact.
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let mut replay = Replay::default();
        for Entry { at, fact, .. } in entries {
            match fact {
                Fact::Resumed { .. } => {
                    replay.resumptions += 1;
                    replay.fruitless += 1;
                    continue;
                }
                Fact::ModelStarted { cut, .. } => {
                    // The start of a model call is no progress: a turn that dies in its model call writes it
                    // each time.
                    replay.cuts.extend(cut.map(|cut| (at.clone(), cut)));
                    *replay.attempts.entry(at).or_default() += 1;
                    continue;
                }
                Fact::ModelRetried { .. }
                | Fact::Toolset(_)
                | Fact::Opened(_)
                | Fact::HookAsked { .. }
                | Fact::Priced(_)
                | Fact::Unknown(_) => continue,
                Fact::ModelEnded { digest, outcome, .. } => {
                    replay.models.insert(at, (digest, outcome));
                }
                Fact::ToolStarted { .. } => {
                    replay.started.insert(at);
                }
                Fact::ToolEnded(end) => {
                    replay.ended.insert(at, end);
                }
                Fact::Canned { digest, text } => {
                    replay.models.insert(at, (digest, canned_reply(text)));
                }
                Fact::Called { calls, .. } => {
                    replay.called.insert(at, calls);
                }
                Fact::ModelDropped => {
                    replay.dropped.insert(at);
                }
                Fact::Plan(plan) => {
                    replay.plans.insert((at, plan.revision));
                }
                Fact::Steered(steered) => {
                    replay.steered.insert(at, *steered);
                }
                Fact::FilesCompared { changed, failure } => {
                    replay.compared.insert(at, failure.map_or(Ok(changed), Err));
                }
                Fact::Agents(_) => {
                    replay.agents.insert(at);
                }
                Fact::AnswerPassed => {
                    replay.passed.insert(at);
                }
                // The record holds the waits and their answers, and the verdicts of hooks.
                Fact::Started(_)
                | Fact::HookSaid(_)
                | Fact::Stopped(_)
                | Fact::Waiting { .. }
                | Fact::InputGiven
                | Fact::Answered { .. }
                | Fact::Parked { .. }
                | Fact::Unparked { .. } => {}
            }
            replay.fruitless = 0;
        }
        replay
    }

    /// A model call's outcome with the digest of the step that it answers.
    pub(crate) fn model(&self, at: &str) -> Option<&(String, ModelOutcome)> {
        self.models.get(at)
    }

    /// How often a model call was begun.
    pub(crate) fn attempts(&self, at: &str) -> u32 {
        self.attempts.get(at).copied().unwrap_or(0)
    }

    /// The cut before a model call.
    pub(crate) fn cut(&self, at: &str) -> Option<&Cut> {
        self.cuts.get(at)
    }

    /// Whether a run ended a model call without an outcome.
    pub(crate) fn was_dropped(&self, at: &str) -> bool {
        self.dropped.contains(at)
    }

    /// A tool call's result.
    pub(crate) fn tool(&self, key: &str) -> Option<&ToolEnd> {
        self.ended.get(key)
    }

    /// Whether a tool call had begun.
    pub(crate) fn tool_started(&self, key: &str) -> bool {
        self.started.contains(key)
    }

    /// The calls that the service made in a model's place.
    pub(crate) fn called(&self, at: &str) -> Option<&Vec<ToolCall>> {
        self.called.get(at)
    }

    /// Whether a call had brought its plan to this revision.
    pub(crate) fn planned(&self, key: &str, revision: u32) -> bool {
        self.plans.contains(&(key.to_owned(), revision))
    }

    /// The files that had changed before a step, where they were compared.
    pub(crate) fn compared(&self, at: &str) -> Option<&Result<Versions, String>> {
        self.compared.get(at)
    }

    /// How the course of the root said that it goes on before a step.
    pub(crate) fn steered(&self, at: &str) -> Option<&Steered> {
        self.steered.get(at)
    }

    /// Whether a run has begun a step: a model call, or calls in the model's place.
    pub(crate) fn has_begun(&self, at: &str) -> bool {
        self.attempts.contains_key(at) || self.models.contains_key(at) || self.called.contains_key(at)
    }

    /// Whether hooks let the drafted answer of a model call pass.
    pub(crate) fn has_passed(&self, at: &str) -> bool {
        self.passed.contains(at)
    }

    /// Whether a call had changed the thread's agents.
    pub(crate) fn changed_agents(&self, key: &str) -> bool {
        self.agents.contains(key)
    }

    /// Resumptions in all, and since the last progress.
    pub(crate) fn resumptions(&self) -> (u32, u32) {
        (self.resumptions, self.fruitless)
    }
}
