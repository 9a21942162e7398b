//! The summaries of earlier turns that the service asks the model for. A summary's text depends on its question alone
//! (`script::summary`), so the same text is the same question.

use std::collections::HashMap;

use super::Ledger;

/// The summaries that were asked for, by their texts.
#[derive(Default)]
pub(super) struct Summaries(HashMap<String, Summary>);

#[derive(Default)]
struct Summary {
    /// How often the service asked for it.
    asked: usize,
    /// Whether a client has seen it. It is then journaled, and its turn's end keeps it with the thread.
    seen: bool,
}

impl Ledger {
    /// Notes that the service asks for a summary, and returns how often it asked for the same before.
    pub fn summary_asked(&self, text: &str) -> usize {
        let mut state = self.lock();
        state.counts.model_calls += 1;
        state.counts.summaries += 1;
        let summary = state.summaries.0.entry(text.to_owned()).or_default();
        let before = summary.asked;
        summary.asked += 1;
        if summary.seen {
            state.counts.unexcused += 1;
            state.violation(format!("a summary was asked for again although a client had seen it: {text}"));
        }
        before
    }

    /// Notes that a request has a summary in the place of earlier turns.
    pub fn summary_used(&self, text: &str) {
        let mut state = self.lock();
        if !state.summaries.0.contains_key(text) {
            state.violation(format!("no model wrote this summary: {text}"));
        }
    }

    /// Notes that a client saw a summary.
    pub fn summary_seen(&self, text: &str) {
        let mut state = self.lock();
        match state.summaries.0.get_mut(text) {
            Some(summary) => summary.seen = true,
            None => state.violation(format!("a client was told a summary that no model wrote: {text}")),
        }
    }
}
