//! The session of a thread in the turns of the service: the request's way to it, its row when a turn starts, and the
//! changes that a commit brings.

use std::rc::Rc;

use uuid::Uuid;
use worker::Response;

use super::advance::{Refusal, SessionRow, changed};
use super::shown;
use super::tokens::{Nonce, Tokens};
use super::way::{Way, way};
use crate::adapters::workflows;
use crate::admission::TurnRequest;
use crate::ids::new_id;
use crate::respond::misconfigured;
use crate::respond::{internal, json_response};
use crate::storage::StoreError;
use crate::storage::sql::Store;
use crate::thread::Thread;
use engine::journal::{Session, SessionChange};
use engine::ports::LogError;
use wire::protocol::{
    ApiError, ChatRequest, ErrorCode, MAX_GOAL_CHARS, Owner, SessionContext, SessionMode, SessionStatus,
    StepNotes, WorkflowDetail, WorkflowSession,
};

/// The session on which a turn works.
pub struct Working {
    pub row: SessionRow,
    /// The notes of the steps that have ended.
    pub notes: Vec<StepNotes>,
    /// Whether it has told its readers of a repeated call.
    pub repeated_call: bool,
    /// The turn starts it.
    pub is_new: bool,
}

impl Working {
    /// The session as the turn works on it.
    pub fn in_turn(&self) -> Session {
        self.row.in_turn(self.notes.clone(), self.repeated_call)
    }
}

impl Thread {
    /// The keys of tokens.
    pub fn tokens(&self) -> Result<Rc<Tokens>, String> {
        self.deployment.once(|var| Tokens::from_env(var, random()?))
    }

    /// Whether a request works on a session of this thread.
    pub fn way_of(&self, request: &ChatRequest) -> Result<Way, ApiError> {
        way(request, self.store.open_session()?.as_ref())
    }

    /// Loads the workflow that a request names, before it is charged: a missing one refuses the request, unless its
    /// session has begun.
    pub async fn workflow(&self, ask: &TurnRequest<'_>) -> Result<Option<Rc<WorkflowDetail>>, ApiError> {
        if !ask.chat.request.targets_workflow() {
            return Ok(None);
        }
        let id = ask.chat.request.workflow_id.as_deref().unwrap_or_default();
        let found = workflows::find(&self.env, ask.owner, id).await?;
        match (found, self.way_of(&ask.chat.request)?) {
            (None, Way::Start) => Err(no_workflow()),
            (found, _) => Ok(found.map(Rc::new)),
        }
    }

    /// The session on which the turn of a request works; none where it works on none.
    pub fn working(
        &self,
        ask: &TurnRequest<'_>,
        workflow: Option<&WorkflowDetail>,
        now: u64,
    ) -> Result<Option<Working>, ApiError> {
        let open = self.store.open_session()?;
        match (way(&ask.chat.request, open.as_ref())?, open) {
            (Way::Plain, _) => Ok(None),
            (Way::GoOn, Some(row)) => {
                let steps = self.store.ended_steps(row.id)?;
                let notes = steps.into_iter().map(|step| step.notes).collect();
                let repeated_call = self.store.has_repeated_call(row.id)?;
                Ok(Some(Working { row, notes, repeated_call, is_new: false }))
            }
            (Way::GoOn, None) | (Way::Start, _) => {
                let said = ask.chat.request.content.text();
                let id = Uuid::try_parse(&new_id(now)).map_err(|error| internal(&error))?;
                let workflow = workflow.ok_or_else(no_workflow)?;
                let row = self.new_session((id, SessionMode::Service), workflow, Some(&said), now)?;
                Ok(Some(Working { row, notes: Vec::new(), repeated_call: false, is_new: true }))
            }
        }
    }

    /// A session that begins.
    pub fn new_session(
        &self,
        (id, mode): (Uuid, SessionMode),
        workflow: &WorkflowDetail,
        goal: Option<&str>,
        now: u64,
    ) -> Result<SessionRow, ApiError> {
        let definition = workflow.definition.clone();
        let given = goal.map(str::trim).filter(|goal| !goal.is_empty());
        let goal = given.or(definition.goal.as_deref()).unwrap_or_default();
        Ok(SessionRow {
            id,
            workflow_id: workflow.summary.workflow_id.clone(),
            version: workflow.summary.version,
            mode,
            goal: goal.chars().take(MAX_GOAL_CHARS).collect(),
            definition,
            status: SessionStatus::Waiting,
            reason: None,
            revision: 0,
            step: 0,
            context: SessionContext::new(),
            nonce: nonce()?,
            key_id: self.tokens().map_err(misconfigured)?.key_id().to_owned(),
            refused: 0,
            created_at: now,
            updated_at: now,
        })
    }

    /// The newest session of the thread, as clients read it.
    pub fn session_detail(&self) -> Result<Option<WorkflowSession>, StoreError> {
        let Some(row) = self.store.session()? else { return Ok(None) };
        let done = self.store.ended_steps(row.id)?;
        Ok(Some(shown::detail(row, done)))
    }

    /// The newest session of the thread with all that the thread keeps of it, in parts: its user's export has it.
    pub fn kept_session(self: &Rc<Self>, owner: &Owner, from: u32) -> Result<Response, ApiError> {
        self.found(owner)?;
        let session = self.store.session()?;
        let done = session.as_ref().map(|row| self.store.ended_steps(row.id)).transpose()?;
        json_response(&shown::kept(session.as_ref().zip(done), from))
    }
}

/// Writes that a turn works on its session. Belongs into the transaction of the turn's start.
pub fn begin(store: &Store, working: &Working, now: u64) -> Result<(), StoreError> {
    let row =
        SessionRow { status: SessionStatus::Running, reason: None, updated_at: now, ..working.row.clone() };
    if working.is_new { store.begin_session(&row) } else { store.put_session(&working.row, &row, None) }
}

/// Writes the changes of a commit, in their order. Belongs into the commit's transaction, so a change is on disk with the
/// entry that has it, and a token is spent before any reader hears of the step that it ended (W-090).
pub fn apply(
    store: &Store,
    tokens: &Result<Rc<Tokens>, String>,
    changes: &[SessionChange],
    now: u64,
) -> Result<(), LogError> {
    let Some(_) = changes.first() else { return Ok(()) };
    let tokens = tokens.as_ref().map_err(|problem| LogError::Storage(problem.clone()))?;
    let none = || StoreError("a turn changes a session that is not there".to_owned());
    let mut row = store.session()?.ok_or_else(none)?;
    for change in changes {
        let fresh = nonce().map_err(|error| LogError::Storage(error.into_detail()))?;
        let next = changed(&row, &[], tokens, (change, fresh, now)).map_err(refused)?;
        let Some((next, ended)) = next else { continue };
        store.put_session(&row, &next, ended.as_ref())?;
        if change.tells_of_repeated_call() {
            store.note_repeated_call(row.id)?;
        }
        row = next;
    }
    Ok(())
}

/// A turn has ended: no turn works on the session any more. Returns whether it stands at a step and waits for the user.
pub fn rest(store: &Store, now: u64) -> Result<bool, StoreError> {
    let Some(row) = store.open_session()? else { return Ok(false) };
    if let Some(rested) = row.rested(now) {
        store.put_session(&row, &rested, None)?;
    }
    Ok(row.stands())
}

fn refused(refusal: Refusal) -> LogError {
    let why = match refusal {
        Refusal::Wrong(error) => error.into_detail(),
        Refusal::Refused => "its token is refused".to_owned(),
        Refusal::Spent => "its token is spent".to_owned(),
        Refusal::Over => "the session is over".to_owned(),
    };
    LogError::Storage(format!("a step does not end: {why}"))
}

/// A nonce that nobody can guess.
pub fn nonce() -> Result<Nonce, ApiError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| internal(&error))?;
    Ok(Nonce(bytes))
}

fn random() -> Result<[u8; 32], String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("drawing a key: {error}"))?;
    Ok(bytes)
}

fn no_workflow() -> ApiError {
    ApiError::new(ErrorCode::WorkflowNotFound, "there is no workflow with this id")
}
