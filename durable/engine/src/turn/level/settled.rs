//! The end of a round: its results become messages of the level, and its writes become visible. And the end of a reply in
//! prose, where only a call is a result.

use std::rc::Rc;

use super::{Level, LevelEnd, State, answer};
use crate::journal::ToolEnd;
use crate::versions::learn;
use wire::model::{Message, ReplyFinish, ToolCall, ToolChoice};

impl Level {
    /// Prose is not a result here (N-069): the level goes on until it finishes or its iterations end. A root that a request
    /// wants a shape of has as many misses as wrong payloads.
    pub(super) fn remind(&mut self) -> State {
        let reminder = Rc::new(Message::User { content: self.shape.reminder.as_str().into() });
        if self.is_judged() {
            self.drafts.hold_back(&reminder);
        }
        self.messages.push(reminder);
        self.tool_choice = ToolChoice::Required;
        self.rejected += u32::from(self.shape.is_of_root);
        match self.rejected > self.limits.schema_retries {
            true => State::Done(LevelEnd::SchemaNotSatisfied(self.shape.objection(&self.objection))),
            false => State::Model,
        }
    }

    /// Takes the results of a round, one per call, in the model's order (N-050, N-052). The round settles:
    /// the memory writes of its calls become visible.
    pub fn apply_tools(&mut self, results: &[ToolEnd]) {
        let calls = self.pending();
        self.memory.merge(results.iter().map(|result| &result.overlay));
        learn(&mut self.versions, results.iter().map(|result| &result.versions));
        self.learn_anew(results.iter().flat_map(|result| result.versions.keys()));
        self.hooked.add(results.iter().filter_map(|result| result.hook.as_deref()));
        for (call, result) in calls.iter().zip(results) {
            self.digest = self.digest.with(&result.content);
            self.push(answer(call, result.content.clone(), result.is_error));
        }
        if self.shape.settle(&calls, results) {
            self.tool_choice = ToolChoice::Auto;
        }
        self.state = match self.finished(&calls, results) {
            // The JSON of a root is its answer: hooks judge it, and readers get it as its text.
            Some(LevelEnd::Structured(text)) if self.shape.answer.is_some() => {
                let content = text.clone();
                self.messages.push(Rc::new(Message::Assistant {
                    content,
                    tool_calls: Vec::new(),
                    raw: None,
                }));
                self.note_draft(&text, true);
                State::Draft { text, finish: ReplyFinish::Stop }
            }
            end => end.map_or(State::Model, State::Done),
        };
        self.settle_round(results);
    }

    /// The end that this round's calls brought: the first accepted result, or one rejection too many.
    fn finished(&mut self, calls: &[ToolCall], results: &[ToolEnd]) -> Option<LevelEnd> {
        for (call, result) in calls.iter().zip(results) {
            if self.schema.is_none() || !self.own.ends_level(&call.name) {
                continue;
            }
            if !result.is_error {
                return Some(LevelEnd::Structured(call.arguments.clone()));
            }
            self.rejected += 1;
            self.objection.clone_from(&result.content);
        }
        let given_up = self.rejected > self.limits.schema_retries;
        given_up.then(|| LevelEnd::SchemaNotSatisfied(self.shape.objection(&self.objection)))
    }
}
