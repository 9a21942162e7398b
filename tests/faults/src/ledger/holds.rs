//! Turns that are on hold: two attempts to take them up were cut off, and the third waits.

use super::Ledger;

/// The deaths that put a turn on hold: the first ends its run, the others an attempt each. The product makes the attempt
/// after the first one that was cut off at once.
const DEATHS: usize = 3;

impl Ledger {
    /// Notes that a request met this turn on hold. Fewer deaths since its last act are no reason for that.
    pub fn on_hold(&self, turn: u64) {
        let mut state = self.lock();
        let thread = state.threads.get(&turn).map(String::as_str);
        let acted_at = state.turns.get(&turn).and_then(|turn| turn.acted_at);
        let concerns = |only: &Option<String>| only.is_none() || only.as_deref() == thread;
        let since =
            state.lost.iter().filter(|lost| concerns(&lost.thread) && Some(lost.until) > acted_at).count();
        if acted_at.is_some() && since >= DEATHS {
            state.counts.holds += 1;
        } else {
            state.violation(format!("turn {turn} was on hold after {since} deaths since its last act"));
        }
    }
}
