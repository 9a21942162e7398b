//! The models and the names of a turn's work, as entry 0 froze them.

use super::{NEWEST_READ, TurnSpec, Work};
use crate::profiles::{Chain, Role};
use wire::protocol::Place;

impl TurnSpec {
    /// The reason why this code must end the turn; none where it may go on.
    pub fn unreadable(&self) -> Option<String> {
        let needed = self.least_reader;
        (needed > NEWEST_READ)
            .then(|| format!("its journal needs format {needed}, this version reads {NEWEST_READ}"))
    }

    /// The models of a role as this turn froze them, else the turn's own.
    pub fn chain_of(&self, models: Option<Role>) -> &Chain {
        let other = match models {
            None => None,
            Some(Role::Subagent) => self.subtask_chain.as_ref(),
            Some(Role::Quality) => self.setting.reviewers.as_ref().or_else(|| self.routed(Role::Quality)),
            Some(Role::Speed) => self.summarisers().or_else(|| self.routed(Role::Speed)),
            Some(Role::Guard) => self.setting.guards.as_ref().and_then(|guards| guards.models.as_ref()),
            Some(role) => self.routed(role),
        };
        other.unwrap_or(&self.chain)
    }

    /// The models of a role that the router or a verifier may name.
    fn routed(&self, role: Role) -> Option<&Chain> {
        self.setting.routed.get(&role)
    }

    /// The models that write summaries, where they differ from the turn's own.
    fn summarisers(&self) -> Option<&Chain> {
        self.setting.summaries.as_ref()?.models.as_ref()
    }

    /// The name of a role's models in the telemetry.
    pub fn profile_of(&self, models: Option<Role>) -> &str {
        match models {
            Some(role @ (Role::Quality | Role::Guard)) => role.as_str(),
            Some(Role::Subagent) if self.subtask_chain.is_some() => Role::Subagent.as_str(),
            Some(Role::Speed) if self.summarisers().is_some() => Role::Speed.as_str(),
            Some(role) if self.setting.routed.contains_key(&role) => role.as_str(),
            _ => &self.profile,
        }
    }

    /// The `operation_type` of a level's model calls.
    pub fn operation_for(&self, work: Work) -> &str {
        match work {
            Work::Root => &self.setting.operation,
            Work::Subtask => "subtask",
            Work::Plan => "plan_generation",
            Work::Review => "plan_review",
            Work::Step => "plan_step",
            Work::Agent => "agent",
            Work::Route => "route",
            Work::Summary => "history_summary",
            Work::Hook => "hook",
            Work::Verify => "workflow_verify",
            Work::Notes => "workflow_notes",
            Work::Read => "read",
        }
    }

    /// Whether a call of this name at this place gives the answer of the turn. Readers get that as text once it has passed, and
    /// not the call.
    pub fn is_answer(&self, place: &Place, name: &str) -> bool {
        let answer = self.setting.shape.as_ref().and_then(|shape| shape.answer.as_ref());
        place.depth == 0 && answer.is_some_and(|answer| answer.name == name)
    }

    /// Whether the service answers in the place of the root's model: to a blank message, and with the result of the call that a
    /// message asks for.
    pub fn is_canned(&self) -> bool {
        self.is_blank() || self.setting.direct.is_some()
    }

    /// Whether the user's message is blank (B-062).
    pub fn is_blank(&self) -> bool {
        self.content.is_blank()
    }
}
