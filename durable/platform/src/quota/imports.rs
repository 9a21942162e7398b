//! The conversation that a client brings to a new thread. The service stores it before the thread's first turn, so it counts
//! as an upload, and it is judged together with that turn.

use serde::{Deserialize, Serialize};

use super::ledger::Shelf;
use super::uploads::{LEAST_BYTES, Stored, count, settle_count};
use super::{Ask, Refusal, Rule};

/// A conversation that is to be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub rules: Vec<Rule>,
    pub bytes: u64,
}

/// A conversation that is counted with a turn, and the accounts that it is counted in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Imported {
    bytes: u64,
    accounts: Vec<String>,
}

impl Import {
    /// The bytes of a conversation, of questions and answers in turn. Each round has three rows, so it counts as an upload of
    /// its own.
    pub fn bytes_of(history: &[String]) -> u64 {
        let (rounds, _) = history.as_chunks::<2>();
        let bytes = rounds.iter().map(|[question, answer]| (question.len() + answer.len()) as u64);
        bytes.map(|bytes| bytes.max(LEAST_BYTES)).sum()
    }
}

fn stored(bytes: u64) -> Stored {
    Stored { bytes, embeddings: 0 }
}

/// Counts the conversation that a turn's thread begins with, where it has one.
pub(super) fn count_import<S: Shelf>(
    shelf: &mut S,
    ask: &Ask,
    now: u64,
) -> Result<Result<Option<Imported>, Refusal>, S::Error> {
    let Some(Import { rules, bytes }) = &ask.import else { return Ok(Ok(None)) };
    let counted = count(shelf, rules, (stored(0), stored(*bytes)), now)?;
    let accounts = rules.iter().map(|rule| rule.account.clone()).collect();
    Ok(counted.map(|()| Some(Imported { bytes: *bytes, accounts })))
}

impl Imported {
    /// Gives the bytes back that were counted on a day: the turn did not start.
    pub(super) fn give_back<S: Shelf>(&self, shelf: &mut S, day: u64, now: u64) -> Result<(), S::Error> {
        settle_count(shelf, (day, &self.accounts), (stored(self.bytes), stored(0)), now)
    }
}
