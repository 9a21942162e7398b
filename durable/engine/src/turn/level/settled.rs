//! The end of a round: its results become messages of the level, and its writes become visible.

use super::{Level, LevelEnd, State, answer};
use crate::journal::ToolEnd;
use crate::versions::learn;
use wire::model::ToolCall;

impl Level {
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
        self.state = self.finished(&calls, results).map_or(State::Model, State::Done);
        self.settle_round(results);
    }

    /// The end that this round's calls brought: the first accepted result, or one rejection too many.
    fn finished(&mut self, calls: &[ToolCall], results: &[ToolEnd]) -> Option<LevelEnd> {
        let own = self.own;
        let finishes =
            |(call, _): &(&ToolCall, &ToolEnd)| own.find(&call.name).is_some_and(|own| own.ends_level);
        for (call, result) in calls.iter().zip(results).filter(finishes).filter(|_| self.schema.is_some()) {
            if !result.is_error {
                return Some(LevelEnd::Structured(call.arguments.clone()));
            }
            self.rejected += 1;
            self.objection.clone_from(&result.content);
        }
        let given_up = self.rejected > self.limits.schema_retries;
        given_up.then(|| LevelEnd::SchemaNotSatisfied(self.objection.clone()))
    }
}
