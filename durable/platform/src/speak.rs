//! Requests of clients that speak a dialect: their streams, their answers to waiting calls, the place of their versions.

use std::rc::Rc;

use dialects::Translation;
use uuid::Uuid;
use worker::Response;

use crate::storage::path::NO_TURN;
use engine::journal::Answer;
use engine::turn::Receipt;
use wire::protocol::{AnswerForm, ApiError, Awaited, Decision, Dialect, ErrorCode, GivenAnswer, Owner, Seq};

use super::chat::StopWhenDropped;
use super::reader::{Reader, Source};
use super::respond::{internal, no_content, translated_response};
use super::revive::{OpenTurn, on_hold};
use super::thread::Thread;

impl Thread {
    /// A turn in a dialect, for a client that has read it up to `known`. Such a client answers a parked turn once its stream
    /// has ended. A turn that was answered and waits for its place mostly has it at once.
    pub async fn spoken(&self, dialect: Dialect, reader: Reader, known: Seq) -> Result<Response, ApiError> {
        let past = self.store.last_seq()?;
        let is_queued = self.is_queued()?;
        let reader = match dialect.form() {
            AnswerForm::Now => reader.up_to(past),
            AnswerForm::Stream | AnswerForm::Whole if is_queued => reader,
            AnswerForm::Stream | AnswerForm::Whole => reader.leaving_at_once(),
        };
        let translation = Translation::new(dialect, known, past);
        let translation = if is_queued { translation.of_queued() } else { translation };
        translated_response(reader, translation, Rc::clone(&self.clock)).await
    }

    /// Takes the answers that calls wait for, and streams the rest of the turn. Without answers it streams the turn that is
    /// named from its start, or the open one; 204 where none is open. `stop`: stops the turn first.
    pub async fn speak(
        self: &Rc<Self>,
        owner: &Owner,
        dialect: Dialect,
        (answers, address): (Vec<GivenAnswer>, Option<String>),
        read: Option<(String, Seq)>,
        stop: bool,
    ) -> Result<Response, ApiError> {
        // A client of the AI SDK asks for the running turn of each chat that it shows, also of one that has not begun.
        let resumes = dialect == Dialect::AiSdk && answers.is_empty() && !stop;
        match self.found(owner) {
            Err(error) if resumes && error.code == ErrorCode::ThreadNotFound => return no_content(),
            found => drop(found?),
        }
        let slot = self.admit_reader()?;
        if stop
            && self
                .store
                .open_turn()?
                .is_some_and(|turn| read.as_ref().is_some_and(|(id, _)| *id == turn.turn_id))
        {
            self.cancel(owner).await?;
        }
        let (gives, before) = (!answers.is_empty(), self.store.last_seq()?);
        let dialect = dialect.after_waits(self.take(answers, address)?);
        let turn = match &read {
            // Answers may be late: then the client reads how the turn ended.
            Some((turn_id, _)) => self.store.turn(turn_id)?,
            None => self.store.open_turn()?,
        };
        let not_waiting = || ApiError::new(ErrorCode::NotWaiting, "no call waits for this answer");
        let Some(turn) = turn else {
            return match (gives, read) {
                (true, _) => Err(not_waiting()),
                (false, Some(_)) => Err(no_response()),
                (false, None) => no_content(),
            };
        };
        let known = if gives { read.map_or(before, |(_, seq)| seq.min(before)) } else { 0 };
        let after = turn.seq_first.saturating_sub(1);
        if let Some(live) = self.live(&turn.turn_id)? {
            let reader = self.reader(slot, Source::Live(Rc::clone(&live)), after);
            let reader = match dialect.stops() {
                true => reader.attentive().guarded_by(StopWhenDropped::of(self, live)),
                false => reader,
            };
            return self.spoken(dialect, reader, known).await;
        }
        match turn.seq_last {
            None => Err(on_hold(&turn, self.clock.now_ms())),
            // There is nothing that the client has not read.
            Some(through) if through <= known => Err(not_waiting()),
            Some(through) => {
                self.spoken(dialect, self.reader(slot, Source::Stored { through }, after), known).await
            }
        }
    }

    /// Hands in answers. A client sends all its answers again, so one that no call waits for changes nothing. Returns how often
    /// the turn had waited before those that it took; 0 where it took none.
    fn take(self: &Rc<Self>, answers: Vec<GivenAnswer>, address: Option<String>) -> Result<u32, ApiError> {
        let mut waits = 0;
        for GivenAnswer { id, decision, content, is_error } in answers {
            let (on, address) = match decision {
                None => (Awaited::Client, None),
                Some(_) => (Awaited::Approval, address.clone()),
            };
            let answer = match decision {
                None => Answer::Result { content, is_error },
                Some(Decision::Approve) if !content.is_empty() => Answer::Result { content, is_error: false },
                Some(Decision::Approve) => Answer::Approve,
                Some(Decision::ApproveForThread) => Answer::ApproveForThread,
                Some(Decision::Deny | Decision::Expired | Decision::Standing) => Answer::Deny,
            };
            if let (Receipt::Taken, OpenTurn::Run(run)) =
                (self.hand_in(&id, on, answer.into(), address)?, self.open()?)
            {
                waits = run.turn.parkings();
            }
        }
        Ok(waits)
    }

    /// The message that a version replaces: that of the newest turn which follows the same one. `follows` is that one, or a
    /// message of it, or nil for the beginning. An imported answer has another id at its client, so the end of `history`
    /// tells its turn. None where no turn follows and the conversation ends there, because the question before has no turn:
    /// it was refused. None on a new thread as well, which imports the history.
    pub fn replaced(
        &self,
        owner: &Owner,
        dialect: Option<&Dialect>,
        follows: Uuid,
        history: &[String],
    ) -> Result<Option<Uuid>, ApiError> {
        let imports = !matches!(dialect, Some(Dialect::OpenAi(_)));
        let refused = |detail: &str| match imports {
            true => Err(ApiError::field("messages", detail)),
            false => Err(no_response()),
        };
        let none = "the answer before this message belongs to no turn of this chat";
        if self.owned_by(owner)?.is_none() {
            return if imports || follows.is_nil() { Ok(None) } else { refused(none) };
        }
        let mut parent = Some(NO_TURN);
        if !follows.is_nil() {
            parent = self.store.turn_named(&follows.to_string())?;
        }
        if parent.is_none() && imports {
            parent = self.store.imported(history)?;
        }
        let Some(parent) = parent else { return refused(none) };
        match self.store.newest_question_after(parent)? {
            Some(id) => Uuid::try_parse(&id).map(Some).map_err(|error| internal(&error)),
            None if parent == self.store.ends()?.of_path => Ok(None),
            None => refused("the conversation does not end with this answer, and nothing follows it"),
        }
    }
}

fn no_response() -> ApiError {
    ApiError::new(ErrorCode::MessageNotFound, "there is no response with this id")
}
