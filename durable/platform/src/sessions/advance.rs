//! The only way from one step of a session to the next, for the turns of the service and for clients. Pure.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::tokens::{Claim, Nonce, Tokens};
use engine::journal::{Session, SessionChange, StepEnd};
use wire::protocol::{
    ApiError, ErrorCode, MAX_CONTEXT_BYTES, MAX_NOTES_CHARS, MIN_NOTES_CHARS, SessionContext, SessionMode,
    SessionStatus, StepNotes, WorkflowDefinition, WorkflowStep, hex,
};

/// After so many refused tokens in a row a session has failed: its client guesses, or has lost its place (W-095).
pub const MAX_REFUSED: u32 = 3;
/// The `reason` of such a session.
pub const TOKEN_REFUSED: &str = "token_refused";

/// A session as its row has it, without the notes of its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    pub id: Uuid,
    pub workflow_id: String,
    pub version: u32,
    pub mode: SessionMode,
    pub definition: WorkflowDefinition,
    pub goal: String,
    pub status: SessionStatus,
    pub reason: Option<String>,
    /// The number of its last change.
    pub revision: u64,
    /// The place of the step at which it stands, from 0.
    pub step: u32,
    pub context: SessionContext,
    /// The nonce of that step's token, and the key that signs it.
    pub nonce: Nonce,
    pub key_id: String,
    /// How many tokens were refused since the last one that was not.
    pub refused: u32,
    pub created_at: u64,
    pub updated_at: u64,
}

/// A step that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRow {
    pub step: u32,
    pub notes: StepNotes,
    /// The values that it handed on.
    pub updates: SessionContext,
    /// Of the token that ended it.
    pub nonce: Nonce,
    pub key_id: String,
    /// Of the request that ended it: the same request again is known by it.
    pub digest: String,
}

/// The outcome of a token that is right.
#[derive(Clone, Debug, PartialEq)]
pub enum Advanced {
    /// The step has ended: the session from here on, and the step.
    On(Box<SessionRow>, StepRow),
    /// The request is one that ended this step before.
    Again(u32),
}

/// Why a session does not go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The notes or the values are wrong. The token stays valid.
    Wrong(ApiError),
    /// The token is forged, in another form, or another session's or step's.
    Refused,
    /// The token was used with another request, or another one has taken its place.
    Spent,
    /// The session has failed.
    Over,
}

impl SessionRow {
    /// The step at which it stands; none once it is complete.
    pub fn current(&self) -> Option<&WorkflowStep> {
        self.definition.steps.get(self.step as usize)
    }

    /// The claim of the token that ends the step.
    pub fn claim(&self) -> Claim {
        Claim { session: self.id, step: self.step, nonce: self.nonce }
    }

    /// The session as a turn works on it. `repeated_call`: whether its readers have heard of one.
    pub fn in_turn(&self, done: Vec<StepNotes>, repeated_call: bool) -> Session {
        Session {
            session_id: self.id.to_string(),
            workflow_id: self.workflow_id.clone(),
            definition: self.definition.clone(),
            goal: self.goal.clone(),
            status: self.status,
            step: self.step as usize,
            context: self.context.clone(),
            notes: done,
            revision: self.revision,
            repeated_call,
        }
    }

    /// The session after a token that was refused.
    pub fn after_refusal(&self, now: u64) -> SessionRow {
        let refused = self.refused.saturating_add(1);
        let row = SessionRow { refused, updated_at: now, ..self.clone() };
        match refused >= MAX_REFUSED && !self.status.is_over() {
            true => row.failed(TOKEN_REFUSED, now),
            false => row,
        }
    }

    /// The session after a request to end its step, where that changes it beside the end of a step: a token that is
    /// refused counts, and one that is not forgets those before it, whatever else is wrong with its request.
    pub fn judged(&self, judged: &Result<Advanced, Refusal>, now: u64) -> Option<SessionRow> {
        match judged {
            Err(Refusal::Refused) => Some(self.after_refusal(now)),
            Ok(Advanced::Again(_)) | Err(Refusal::Wrong(_) | Refusal::Spent) if self.refused > 0 => {
                Some(SessionRow { refused: 0, ..self.clone() })
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Whether a turn stopped at its step, and left the session to the user's next message.
    pub fn stands(&self) -> bool {
        let works = self.status == SessionStatus::Running;
        self.mode == SessionMode::Service && !works && !self.status.is_over()
    }

    /// The session after the end of a turn of its thread, where that changes it: no turn works on it any more, whatever its
    /// last change said.
    pub fn rested(&self, now: u64) -> Option<SessionRow> {
        let works = matches!(self.status, SessionStatus::Running | SessionStatus::NeedsHumanReview);
        let rests = works && self.mode == SessionMode::Service;
        rests.then(|| SessionRow { status: SessionStatus::Waiting, updated_at: now, ..self.clone() })
    }

    /// The session as one that cannot go on.
    pub fn failed(self, reason: &str, now: u64) -> SessionRow {
        SessionRow {
            status: SessionStatus::Failed,
            reason: Some(reason.to_owned()),
            revision: self.revision.saturating_add(1),
            updated_at: now,
            ..self
        }
    }
}

/// A step that is to end.
pub struct Ending<'a> {
    pub token: &'a str,
    pub ended: &'a StepEnd,
    /// The nonce of the next step's token.
    pub fresh: Nonce,
    pub now: u64,
}

/// Ends the step at which a session stands, if the token is the step's. `done`: the steps that have ended, in their order.
/// The mac of the token is compared in constant time (`wire::signing`); what is compared after that is signed.
pub fn advance(
    row: &SessionRow,
    done: &[StepRow],
    tokens: &Tokens,
    ending: &Ending<'_>,
) -> Result<Advanced, Refusal> {
    let claim = tokens.read(ending.token).filter(|claim| claim.session == row.id).ok_or(Refusal::Refused)?;
    let digest = digest_of(ending.ended)?;
    if let Some(before) = done.iter().find(|before| before.step == claim.step) {
        let same = before.nonce == claim.nonce && before.digest == digest;
        return if same { Ok(Advanced::Again(before.step)) } else { Err(Refusal::Spent) };
    }
    let Some(step) = row.current().filter(|_| claim.step == row.step) else { return Err(Refusal::Refused) };
    if row.status.is_over() {
        return Err(Refusal::Over);
    }
    if claim.nonce != row.nonce {
        return Err(Refusal::Spent);
    }
    if ending.ended.notes.step_id != step.id {
        return Err(Refusal::Refused);
    }
    let context = checked(row, ending.ended).map_err(Refusal::Wrong)?;
    let after = row.step.saturating_add(1);
    let is_last = after as usize >= row.definition.steps.len();
    let ended = StepRow {
        step: row.step,
        notes: ending.ended.notes.clone(),
        updates: ending.ended.context_updates.clone(),
        nonce: row.nonce,
        key_id: row.key_id.clone(),
        digest,
    };
    let next = SessionRow {
        status: if is_last { SessionStatus::Complete } else { SessionStatus::Waiting },
        reason: None,
        revision: row.revision.saturating_add(1),
        step: after,
        context,
        nonce: ending.fresh,
        key_id: tokens.key_id().to_owned(),
        refused: 0,
        updated_at: ending.now,
        ..row.clone()
    };
    Ok(Advanced::On(Box::new(next), ended))
}

/// The context after the step, if the step's notes and values are within their limits.
fn checked(row: &SessionRow, ended: &StepEnd) -> Result<SessionContext, ApiError> {
    let length = ended.notes.notes.trim().chars().count();
    if length < MIN_NOTES_CHARS || ended.notes.notes.chars().nth(MAX_NOTES_CHARS).is_some() {
        let detail =
            format!("expected {MIN_NOTES_CHARS} to {MAX_NOTES_CHARS} characters, and these are {length}");
        return Err(ApiError::field("notesMarkdown", detail));
    }
    let mut context = row.context.clone();
    context.extend(ended.context_updates.clone());
    let bytes = serde_json::to_string(&context).map(|text| text.len()).unwrap_or(usize::MAX);
    if bytes > MAX_CONTEXT_BYTES {
        let detail =
            format!("the session's context would have {bytes} bytes as JSON: at most {MAX_CONTEXT_BYTES}");
        return Err(ApiError::field("contextUpdates", detail));
    }
    Ok(context)
}

fn digest_of(ended: &StepEnd) -> Result<String, Refusal> {
    let parts = (&ended.notes.notes, &ended.notes.artifacts, &ended.context_updates);
    let text = serde_json::to_string(&parts);
    let text = text.map_err(|error| Refusal::Wrong(ApiError::new(ErrorCode::Internal, error.to_string())))?;
    Ok(hex(&Sha256::digest(text)))
}

/// The session after a change that a turn records; none where the row has the change already. A step that ends goes
/// through [`advance`] with a token that is made here, from the row as it stands. Each change has a new nonce, so a token
/// from before it is spent (W-091).
pub fn changed(
    row: &SessionRow,
    done: &[StepRow],
    tokens: &Tokens,
    (change, fresh, now): (&SessionChange, Nonce, u64),
) -> Result<Option<(SessionRow, Option<StepRow>)>, Refusal> {
    if change.revision <= row.revision {
        return Ok(None);
    }
    let (next, ended) = match &change.ended {
        None => {
            let key_id = tokens.key_id().to_owned();
            (SessionRow { nonce: fresh, key_id, updated_at: now, ..row.clone() }, None)
        }
        Some(ended) => {
            let token = tokens.make(row.claim(), &row.key_id);
            match advance(row, done, tokens, &Ending { token: &token, ended, fresh, now })? {
                Advanced::On(next, step) => (*next, Some(step)),
                Advanced::Again(_) => return Err(Refusal::Spent),
            }
        }
    };
    let (status, reason) = (change.status, change.reason.clone());
    Ok(Some((SessionRow { status, reason, revision: change.revision, ..next }, ended)))
}
