//! The waits of a turn for somebody outside: calls that a person or a client answers, and questions at a limit.

use super::keys::call_of;
use super::{Record, Wait};
use crate::journal::{Answer, Asking, Entry, Fact};
use wire::protocol::Awaited;

impl Record {
    /// The key of the question at a limit that nobody has answered yet, if there is one.
    pub(crate) fn open_question(&self) -> Option<String> {
        let open =
            |((_, on), wait): &(&(String, Awaited), &Wait)| *on == Awaited::Limit && wait.answer.is_none();
        self.waits.iter().find(open).map(|((at, _), _)| at.clone())
    }

    /// The key of the next question at a limit.
    pub(crate) fn next_question(&self) -> String {
        let asked = self.waits.keys().filter(|(_, on)| *on == Awaited::Limit).count();
        format!("limit.{asked}")
    }

    /// The forms that a call asked a person to fill in, by their keys, oldest first.
    pub(crate) fn forms(&self, call_key: &str) -> impl DoubleEndedIterator<Item = (&String, &Wait)> {
        let of_call = move |((at, on), _): &(&(String, Awaited), &Wait)| {
            *on == Awaited::Input && call_of(at) == call_key
        };
        self.waits.iter().filter(of_call).map(|((at, _), wait)| (at, wait))
    }

    /// The newest form of a call.
    pub(crate) fn newest_form(&self, call_key: &str) -> Option<(String, Asking)> {
        let (at, wait) = self.forms(call_key).next_back()?;
        Some((at.clone(), wait.asking.clone()?))
    }

    /// Whether a call waits for an answer to a form, or its tool has not got that answer yet.
    pub(crate) fn waits_for_input(&self, call_key: &str) -> bool {
        self.forms(call_key).next_back().is_some_and(|(_, wait)| !wait.given)
    }

    /// Whether a tool has got the answer to its form.
    pub(crate) fn is_given(&self, at: &str) -> bool {
        self.waits.get(&(at.to_owned(), Awaited::Input)).is_some_and(|wait| wait.given)
    }

    /// A tool is about to get the answer to its form.
    pub(super) fn input_given(&mut self, at: &str) {
        self.waits.entry((at.to_owned(), Awaited::Input)).and_modify(|wait| wait.given = true);
    }

    /// The time that is left of a call that may run for so long, in milliseconds of running time; none if it does not
    /// run. Its time stands still while the turn waits at a limit.
    pub(crate) fn time_left(&self, key: &str, limit_ms: u64, now: u64) -> Option<u64> {
        let since = self.pending.iter().find(|call| call.key == key)?.since_ms?;
        let questions = self.waits.values().filter(|wait| wait.limit.is_some());
        let asked =
            questions.map(|wait| wait.over_ms.unwrap_or(now).saturating_sub(wait.since_ms.max(since)));
        Some(since.saturating_add(limit_ms).saturating_add(asked.sum()).saturating_sub(now))
    }

    /// The first answer to a wait wins.
    pub(super) fn answered(&mut self, entry: &Entry) {
        let Fact::Answered { on, answer, at_ms, reason } = &entry.fact else { return };
        let wait = self.waits.get_mut(&(entry.at.clone(), *on));
        let Some(wait) = wait.filter(|wait| wait.answer.is_none()) else { return };
        let each_time = self.own.find(&wait.name).is_some_and(|own| own.asks_each_time);
        if *answer == Answer::ApproveForThread && *on == Awaited::Approval && !each_time {
            self.approved.insert(wait.name.clone());
        }
        wait.answer = Some((answer.clone(), *at_ms));
        wait.reason.clone_from(reason);
        wait.over_ms = Some(entry.elapsed_ms);
        if answer.allows() && wait.limit.is_some() {
            self.budget.grant();
        }
    }
}
