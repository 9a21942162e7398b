//! Requests of clients that speak a dialect: their streams, their answers to waiting calls, the place of their versions.

use std::rc::Rc;

use dialects::Translation;
use uuid::Uuid;
use worker::Response;

use crate::storage::path::NO_TURN;
use engine::journal::Answer;
use engine::turn::Receipt;
use wire::protocol::{ApiError, Awaited, Decision, Dialect, ErrorCode, GivenAnswer, Owner, Seq};

use super::reader::{Reader, Source};
use super::respond::{internal, no_content, translated_response};
use super::revive::on_hold;
use super::thread::Thread;

impl Thread {
    /// A turn in a dialect, for a client that has read it up to `known`. Such a client answers a parked turn once its stream
    /// has ended. A turn that was answered and waits for its place mostly has it at once.
    pub fn spoken(&self, dialect: Dialect, reader: Reader, known: Seq) -> Result<Response, ApiError> {
        let reader = if self.is_queued()? { reader } else { reader.leaving_at_once() };
        translated_response(reader, Translation::new(dialect, known), Rc::clone(&self.clock))
    }

    /// Takes the answers that calls wait for, and streams the rest of the turn. Without answers it streams the open turn from
    /// its start; 204 where there is none.
    pub fn speak(
        self: &Rc<Self>,
        owner: &Owner,
        dialect: Dialect,
        answers: Vec<GivenAnswer>,
        read: Option<(String, Seq)>,
    ) -> Result<Response, ApiError> {
        self.found(owner)?;
        let slot = self.admit_reader()?;
        let (gives, before) = (!answers.is_empty(), self.store.last_seq()?);
        for answer in answers {
            self.take(answer)?;
        }
        let turn = match &read {
            // The answers may be late: then the client reads how the turn ended.
            Some((turn_id, _)) if gives => self.store.turn(turn_id)?,
            _ => self.store.open_turn()?,
        };
        let not_waiting = || ApiError::new(ErrorCode::NotWaiting, "no call waits for this answer");
        let Some(turn) = turn else { return if gives { Err(not_waiting()) } else { no_content() } };
        let known = if gives { read.map_or(before, |(_, seq)| seq.min(before)) } else { 0 };
        let after = turn.seq_first.saturating_sub(1);
        if let Some(live) = self.live(&turn.turn_id)? {
            return self.spoken(dialect, self.reader(slot, Source::Live(live), after), known);
        }
        match turn.seq_last {
            None => Err(on_hold(&turn, self.clock.now_ms())),
            // There is nothing that the client has not read.
            Some(through) if through <= known => Err(not_waiting()),
            Some(through) => {
                self.spoken(dialect, self.reader(slot, Source::Stored { through }, after), known)
            }
        }
    }

    /// Hands in an answer. A client sends all its answers again, so one that no call waits for changes nothing.
    fn take(self: &Rc<Self>, given: GivenAnswer) -> Result<Receipt, ApiError> {
        let GivenAnswer { id, decision, content, is_error } = given;
        let answer = match decision {
            None => return self.hand_in(&id, Awaited::Client, Answer::Result { content, is_error }),
            Some(Decision::Approve) => Answer::Approve,
            Some(Decision::ApproveForThread) => Answer::ApproveForThread,
            Some(Decision::Deny | Decision::Expired | Decision::Standing) => Answer::Deny,
        };
        self.hand_in(&id, Awaited::Approval, answer)
    }

    /// The message that a version replaces: that of the newest turn which follows the same one. `follows` is a message of that one, or nil for the
    /// beginning. None where no turn does and the conversation ends there, because the question before has no turn: it was refused.
    pub fn replaced(&self, owner: &Owner, follows: Uuid) -> Result<Option<Uuid>, ApiError> {
        let refused = |detail: &str| Err(ApiError::field("messages", detail));
        let is_new = self.of(owner)?.is_none();
        let parent = match (follows.is_nil(), is_new) {
            (true, true) => return Ok(None),
            (true, false) => NO_TURN,
            (false, _) => {
                let turn = if is_new { None } else { self.store.turn_of_message(&follows.to_string())? };
                let Some(turn) = turn else {
                    return refused("no answer of this chat has the id of the last one");
                };
                turn
            }
        };
        match self.store.newest_question_after(parent)? {
            Some(id) => Uuid::try_parse(&id).map(Some).map_err(|error| internal(&error)),
            None if parent == self.store.ends()?.of_path => Ok(None),
            None => refused("the conversation does not end with this answer, and nothing follows it"),
        }
    }
}
