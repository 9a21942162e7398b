//! The entries and events of a call: its start, its waits, its end.

use super::super::results::{end_event, start_event, told_arguments};
use super::Round;
use crate::journal::{Asking, Commit, Entry, Fact, ToolEnd};
use crate::toolbelt::{RunsAt, ToolSpec};
use wire::model::ToolCall;
use wire::protocol::{Awaited, Event};

impl Round<'_> {
    /// Notes an admitted call: its reservation, its start, and the wait for its client if it has one. All
    /// calls that are admitted together get the same `now`: by that a page knows that they run side by side.
    pub(super) fn note_reserved(
        &self,
        commit: &mut Commit,
        key: &str,
        call: &ToolCall,
        spec: &ToolSpec,
        now: u64,
    ) {
        let subtask = self.is_subtask(call);
        let place = self.level.place.clone();
        let started = Fact::ToolStarted { place, subtask };
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact: started });
        let until = (spec.runs_at == RunsAt::Client).then(|| {
            self.note_wait(commit, key, Awaited::Client, self.turn.spec.limits.client_wait_ms, None)
        });
        self.note_start(commit, key, call, now, until);
    }

    /// Notes the question to a person whether a call may be made.
    pub(super) fn note_request(&self, commit: &mut Commit, key: &str, call: &ToolCall, spec: &ToolSpec) {
        let limits = &self.turn.spec.limits;
        let expires_at = self.note_wait(commit, key, Awaited::Approval, limits.approval_wait_ms, None);
        let request = Event::ApprovalRequest {
            approval_id: self.turn.ids.approval(key),
            tool_call_id: self.turn.ids.tool_call(key),
            name: call.name.clone(),
            args: told_arguments(&call.arguments),
            permission_class: spec.class_name().to_owned(),
            read_only: spec.read_only,
            by_client: spec.runs_at == RunsAt::Client,
            form: None,
            expires_at,
            place: self.level.place.clone(),
        };
        commit.events.push((format!("approval_request:{key}"), request));
    }

    /// Notes a wait that begins now. Returns the time at which it expires.
    pub(super) fn note_wait(
        &self,
        commit: &mut Commit,
        key: &str,
        on: Awaited,
        wait_ms: u64,
        asking: Option<Asking>,
    ) -> u64 {
        let since = self.turn.ports.clock.now_ms();
        let until = since.saturating_add(wait_ms);
        let (place, asking) = (self.level.place.clone(), asking.map(Box::new));
        let waiting = Fact::Waiting { on, place, since, until, limit: None, asking };
        commit.entries.push(self.turn.entry(key, waiting));
        until
    }

    pub(super) fn note_start(
        &self,
        commit: &mut Commit,
        key: &str,
        call: &ToolCall,
        now: u64,
        until: Option<u64>,
    ) {
        if self.turn.spec.is_answer(&self.level.place, &call.name) {
            return;
        }
        let mut event = start_event(self.turn.ids.tool_call(key), call, &self.level.place, now);
        if let (Event::ToolCallUpdate { awaits, expires_at, .. }, Some(_)) = (&mut event, until) {
            (*awaits, *expires_at) = (Some(Awaited::Client), until);
        }
        commit.events.push((format!("tool_start:{key}"), event));
        let composite = self.turn.composite(&call.name);
        commit.events.extend(composite.and_then(|composite| composite.started(self.turn, key, call)));
    }

    /// Notes the end of a call. The caller gives the time, so that a refused call starts at the same
    /// millisecond in the event and in the tree.
    pub(super) fn note_end(
        &self,
        commit: &mut Commit,
        key: &str,
        call: &ToolCall,
        end: ToolEnd,
        now: u64,
    ) -> ToolEnd {
        commit.events.extend(self.turn.told_of_agents(key, &end.agents));
        let session = end.session.as_ref().and_then(|change| self.turn.told_of_session(change));
        let fact = Fact::ToolEnded(end.clone());
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact });
        if self.turn.spec.is_answer(&self.level.place, &call.name) {
            return end;
        }
        let event = end_event(self.turn, key, call, &self.level.place, &end);
        commit.events.push((format!("tool_end:{key}"), event));
        let composite = self.turn.composite(&call.name);
        let told = composite.and_then(|composite| composite.ended(self.turn, key, call, end.status(), &end));
        commit.events.extend(told);
        commit.events.extend(self.turn.told_around(self.level, key, call, &end));
        commit.events.extend(session);
        end
    }
}
