//! Gathers the commits of levels, so that those of one poll are written as one: the outcome of a model call with the
//! starts of its tools, the results of tools with the start of the next model call.
//!
//! A gathered commit counts in the record at once, so that no sibling passes a limit twice. `Turn::run` writes the
//! gathered commits at the end of each of its polls, in their order. No client hears of them before, because the write
//! announces their events. A level awaits [`Turn::written`] before it asks a model or runs a tool that may have an
//! effect, so each intent is on disk before anything leaves the turn. Long texts and results are written at once: many
//! levels may end in one poll, and all of theirs would be in memory together.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::task::{Poll, Waker};

use super::{Halt, Turn};
use crate::journal::{AgentChange, Commit, Fact, ModelOutcome};
use crate::ports::LogError;

/// The most bytes of texts and results that wait for a write. Mostly the outcome of a model call and short results do.
const MOST_BYTES: usize = 64 << 10;

/// The commits that are not written yet, as one.
#[derive(Default)]
pub(super) struct Gathered(RefCell<State>);

#[derive(Default)]
struct State {
    commit: Option<Commit>,
    /// The bytes of its texts and results.
    bytes: usize,
    /// How many writes there were, and the levels that wait for the next one.
    writes: u64,
    waiting: Vec<Waker>,
    /// The failure of a write. The record is ahead of the disk then, so this run writes nothing any more.
    failed: Option<LogError>,
}

impl Gathered {
    /// Adds a commit behind the others.
    pub(super) fn add(&self, later: Commit) {
        let mut state = self.0.borrow_mut();
        state.bytes += bytes(&later);
        let Some(commit) = &mut state.commit else {
            state.commit = Some(later);
            return;
        };
        commit.entries.extend(later.entries);
        commit.texts.extend(later.texts);
        commit.events.extend(later.events);
        commit.end = later.end.or(commit.end.take());
        commit.parking = later.parking.or(commit.parking);
    }

    /// Whether no more should wait.
    pub(super) fn is_full(&self) -> bool {
        self.0.borrow().bytes > MOST_BYTES
    }

    /// Whether everything is written. Fails where a write has failed.
    pub(super) fn is_empty(&self) -> Result<bool, LogError> {
        let state = self.0.borrow();
        state.failed.clone().map_or(Ok(state.commit.is_none()), Err)
    }

    /// Writes everything with `write`, and wakes the levels that wait for it.
    pub(super) fn flush(&self, write: impl FnOnce(Commit) -> Result<(), LogError>) -> Result<(), LogError> {
        if self.is_empty()? {
            return Ok(());
        }
        let commit = {
            let mut state = self.0.borrow_mut();
            state.bytes = 0;
            state.commit.take().unwrap_or_default()
        };
        let written = write(commit);
        let mut state = self.0.borrow_mut();
        match &written {
            Ok(()) => state.writes += 1,
            Err(error) => state.failed = Some(error.clone()),
        }
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        written
    }

    /// Completes with the next write, at once where nothing waits for one. After a write that failed it never
    /// completes: the run is over.
    async fn written(&self) {
        let wanted = {
            let state = self.0.borrow();
            state.writes + u64::from(state.commit.is_some())
        };
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            if state.writes >= wanted {
                return Poll::Ready(());
            }
            if !state.waiting.iter().any(|known| known.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

/// The bytes of a commit's texts and results.
fn bytes(commit: &Commit) -> usize {
    let texts = commit.texts.iter().map(|part| part.text.len());
    let results = commit.entries.iter().map(|entry| match &entry.fact {
        Fact::ModelEnded { outcome: ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply), .. } => {
            reply.text.len() + reply.tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>()
        }
        Fact::ModelEnded { outcome: ModelOutcome::Failed { said, .. }, .. } => said.len(),
        Fact::ToolEnded(end) => end.content.len() + agent_bytes(&end.agents),
        Fact::Agents(changes) => agent_bytes(changes),
        Fact::Called { calls, .. } => calls.iter().map(|call| call.arguments.len()).sum(),
        _ => 0,
    });
    texts.chain(results).sum()
}

/// The bytes of changes of agents as JSON.
fn agent_bytes(changes: &[AgentChange]) -> usize {
    if changes.is_empty() {
        return 0;
    }
    let mut counted = Counted(0);
    // It takes every byte, so no write fails.
    serde_json::to_writer(&mut counted, changes).map_or(usize::MAX, |()| counted.0)
}

/// Counts the bytes of a text, and keeps none.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0 += text.len();
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Turn {
    /// Writes the gathered commits.
    pub(super) fn flush(&self) -> Result<(), LogError> {
        self.gathered.flush(|commit| self.ports.log.commit(commit))
    }

    /// Completes once everything that was committed so far is written. Refuses where the turn was stopped meanwhile.
    pub(super) async fn written(&self) -> Result<(), Halt> {
        // A call that runs alone writes at once. Siblings may still add to the write, which comes at the end of this poll.
        if self.busy.get() <= 1 {
            self.flush()?;
        }
        self.gathered.written().await;
        self.alive()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::journal::{Entry, ToolEnd};
    use wire::model::{Message, ToolCall};
    use wire::protocol::Place;

    fn commit_with(fact: Fact) -> Commit {
        let entry = Entry { at: String::new(), elapsed_ms: 0, fact };
        Commit { entries: vec![entry], ..Commit::default() }
    }

    fn commit(count: u32) -> Commit {
        commit_with(Fact::Parked { count })
    }

    #[test]
    fn commits_are_written_together_in_their_order() {
        let gathered = Gathered::default();
        assert_eq!(gathered.written().now_or_never(), Some(()), "nothing waits for a write");
        gathered.add(commit(1));
        gathered.add(commit(2));
        let mut first = Box::pin(gathered.written());
        assert_eq!((&mut first).now_or_never(), None);
        let mut written = Vec::new();
        let write = |commit: Commit| {
            written = commit.entries;
            Ok(())
        };
        gathered.flush(write).unwrap();
        assert_eq!(written, [commit(1).entries, commit(2).entries].concat());
        // A commit that comes after the write does not hold up those that waited for it.
        gathered.add(commit(3));
        assert_eq!(first.now_or_never(), Some(()));
        assert_eq!(gathered.written().now_or_never(), None);
    }

    #[test]
    fn long_results_do_not_wait() {
        let gathered = Gathered::default();
        let result = |bytes: usize| {
            let end = ToolEnd { content: "x".repeat(bytes), ..ToolEnd::default() };
            let entry = Entry { at: "a".to_owned(), elapsed_ms: 0, fact: Fact::ToolEnded(end) };
            Commit { entries: vec![entry], ..Commit::default() }
        };
        gathered.add(result(1));
        gathered.add(result(MOST_BYTES - 1));
        assert!(!gathered.is_full());
        gathered.add(result(1));
        assert!(gathered.is_full());
        gathered.flush(|_| Ok(())).unwrap();
        assert!(!gathered.is_full());
    }

    // Issue 45, 14: agents with long memories, and dumps, do not wait either.
    #[test]
    fn long_memories_do_not_wait() {
        let round = |bytes: usize| vec![Message::User { content: "x".repeat(bytes).as_str().into() }];
        let made = |bytes: usize| {
            vec![AgentChange::Made { agent: Box::default(), rounds: vec![round(bytes)], life: None }]
        };
        let end = |agents: Vec<AgentChange>| Fact::ToolEnded(ToolEnd { agents, ..ToolEnd::default() });
        let arguments = |bytes: usize| {
            let call = ToolCall { call_id: String::new(), name: String::new(), arguments: "x".repeat(bytes) };
            Fact::Called { place: Place::default(), calls: vec![call] }
        };
        let facts: [&dyn Fn(usize) -> Fact; 3] =
            [&|bytes| Fact::Agents(made(bytes)), &|bytes| end(made(bytes)), &arguments];
        for (number, fact) in facts.iter().enumerate() {
            let empty = bytes(&commit_with(fact(0)));
            for (bytes, is_full) in [(MOST_BYTES - empty, false), (MOST_BYTES - empty + 1, true)] {
                let gathered = Gathered::default();
                gathered.add(commit_with(fact(bytes)));
                assert_eq!(gathered.is_full(), is_full, "fact {number}");
            }
        }
    }

    // The record is ahead of the disk after a write that failed: a later write would leave a hole in the journal.
    #[test]
    fn nothing_is_written_after_a_write_that_failed() {
        let gathered = Gathered::default();
        gathered.add(commit(1));
        assert_eq!(gathered.flush(|_| Err(LogError::Fenced)), Err(LogError::Fenced));
        assert_eq!(gathered.is_empty(), Err(LogError::Fenced));
        gathered.add(commit(2));
        assert_eq!(gathered.flush(|_| panic!("it writes")), Err(LogError::Fenced));
        assert_eq!(gathered.written().now_or_never(), None);
    }
}
