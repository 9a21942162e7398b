//! Ends open calls: all calls of a turn that stops, or those within a step whose time is over. Model calls
//! end with the text that they announced, tool calls with an error, the deepest first, so that no call ends
//! before the calls within it.

use super::Turn;
use super::announcing::take_parts;
use super::results::{end_event, failed, start_event, truncated};
use crate::journal::{Commit, Entry, Fact, HookSaid, PartChange};
use crate::record::hooks::OpenHook;
use crate::record::told::ended;
use crate::record::{PendingCall, Record};
use wire::protocol::{CallStatus, Event, StepStatus};

/// The calls to end, and the words with which a tool call ends.
pub(super) struct Scope<'a> {
    /// The prefix of the calls' keys; empty for the whole turn.
    pub(super) within: &'a str,
    pub(super) told: &'a dyn Fn(&PendingCall) -> String,
}

impl Scope<'_> {
    /// The open tool calls, the deepest first.
    fn tool_calls(&self, turn: &Turn) -> Vec<PendingCall> {
        let record = turn.record.borrow();
        let mut calls: Vec<_> =
            record.pending.iter().filter(|call| call.key.starts_with(self.within)).cloned().collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.place.depth));
        calls
    }

    fn result(&self, turn: &Turn, pending: &PendingCall) -> String {
        truncated((self.told)(pending), turn.spec.limits.tool_result_bytes)
    }

    /// The bytes of results in the ends of the tool calls.
    pub(super) fn result_bytes(&self, turn: &Turn) -> usize {
        self.tool_calls(turn).iter().map(|pending| self.result(turn, pending).len()).sum()
    }

    /// The ends of all open calls. Takes their announced text out of the record, so the commit must be written.
    pub(super) fn close(&self, turn: &Turn) -> Commit {
        let now = turn.elapsed_ms();
        let mut commit = Commit::default();
        self.close_model_calls(turn, now, &mut commit);
        let mut hooks = self.open_hooks(turn);
        for pending in self.tool_calls(turn) {
            // A hook ends after the calls within it, and before the call around it.
            let ended = hooks.extract_if(.., |(_, open)| open.place.depth >= pending.place.depth);
            ended.for_each(|(key, open)| self.close_hook(turn, &key, open, now, &mut commit));
            let since_ms = pending.since_ms.unwrap_or(now);
            let end = failed(self.result(turn, &pending), now.saturating_sub(since_ms));
            let PendingCall { key, id, call, place, .. } = pending;
            if pending.since_ms.is_none() {
                let event = start_event(id.clone(), &call, &place, now);
                commit.events.push((format!("tool_start:{key}"), event));
            }
            commit.events.push((format!("tool_end:{key}"), end_event(turn, &key, &call, &place, &end)));
            if pending.since_ms.is_some() {
                let composite = turn.composite(&call.name);
                let told = composite
                    .and_then(|composite| composite.ended(turn, &key, &call, StepStatus::Skipped, &end));
                commit.events.extend(told);
            }
            commit.entries.push(Entry { at: key, elapsed_ms: now, fact: Fact::ToolEnded(end) });
        }
        hooks.into_iter().for_each(|(key, open)| self.close_hook(turn, &key, open, now, &mut commit));
        commit
    }

    fn open_hooks(&self, turn: &Turn) -> Vec<(String, OpenHook)> {
        let record = turn.record.borrow();
        let open = record.hooks.open.iter().filter(|(key, _)| key.starts_with(self.within));
        open.map(|(key, open)| (key.clone(), open.clone())).collect()
    }

    /// Ends a hook without its verdict.
    fn close_hook(&self, turn: &Turn, key: &str, open: OpenHook, now: u64, commit: &mut Commit) {
        let OpenHook { hook, point, place, .. } = open.clone();
        let said = HookSaid { hook, point, place, ..HookSaid::default() };
        let event = turn.hook_event(key, &open, CallStatus::End, Some((&said, now)));
        commit.events.push((format!("hook_end:{key}"), event));
        let fact = Fact::HookSaid(Box::new(said));
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact });
    }

    fn close_model_calls(&self, turn: &Turn, now: u64, commit: &mut Commit) {
        let open: Vec<_> = {
            let record = turn.record.borrow();
            let open = record.models.iter().filter(|(at, _)| at.starts_with(self.within));
            open.map(|(at, open)| (at.clone(), open.clone())).collect()
        };
        for (at, open) in open {
            commit.texts.extend(take_parts(turn, &at));
            let model_call_id = turn.ids.model_call(&at);
            if !open.live {
                // Its run was lost, and with it the text that clients may have seen.
                let (place, reason) = (open.place.clone(), "interrupted".to_owned());
                let reset = Event::ModelCallReset { model_call_id: model_call_id.clone(), place, reason };
                commit.events.push((format!("model_reset:{at}:end"), reset));
            }
            let duration_ms = now.saturating_sub(open.since_ms);
            let call = turn.record.borrow().model_call(&at, &open, None, duration_ms);
            commit.events.push((format!("model_end:{at}"), ended(call, open.place)));
            commit.entries.push(Entry { at, elapsed_ms: now, fact: Fact::ModelDropped });
        }
    }
}

/// The turn's record as it will be once the commit is written. Sets the usage in the commit's events, which
/// the ends of calls within other calls change.
pub(super) fn foresee(turn: &Turn, commit: &mut Commit) -> Record {
    let mut foreseen = turn.record.borrow().clone();
    commit.entries.iter().for_each(|entry| foreseen.apply(entry));
    foreseen.shown.add(PartChange::of(commit));
    for (_, event) in &mut commit.events {
        match event {
            Event::ToolCallUpdate { tool_call_id: id, status: CallStatus::End, usage, .. }
            | Event::HookUpdate { hook_call_id: id, status: CallStatus::End, usage, .. } => {
                *usage = foreseen.usage_below(id);
            }
            _ => {}
        }
    }
    foreseen
}
