//! Sessions that a client carries out: it gets a step with a token, does the work by itself, and ends the step with the
//! token. Such a session has a thread of its own, and no turn.

use std::rc::Rc;

use uuid::Uuid;
use worker::Response;

use super::advance::{Advanced, Ending, Refusal, SessionRow, StepRow, advance};
use super::prompt::prompt;
use super::tokens::{Claim, Tokens};
use super::working::nonce;
use crate::accounts;
use crate::quota::{Ask as QuotaAsk, TurnKey};
use crate::respond::misconfigured;
use crate::respond::{internal, json_response, no_content};
use crate::storage::outgoing::{Calls, News, Outgoing, ThreadRow};
use crate::storage::thread::ThreadMeta;
use crate::storage::thread::title;
use crate::storage::turn::Reason;
use crate::thread::Thread;
use engine::budget::Amount;
use engine::journal::StepEnd;
use engine::profiles::Grant;
use wire::protocol::{
    ApiError, ContinueSession, ErrorCode, Owner, SessionAnswer, SessionContext, SessionMode, SessionStatus,
    SessionStep, StepNotes, Visitor, WorkflowDetail,
};

/// The `reason` of a session that a person ended.
const CANCELLED: &str = "cancelled";
/// How long the start of a session counts as a turn.
const LEASE_MS: u64 = 60_000;

impl Thread {
    /// Makes the thread of a session, and hands out the first step.
    pub async fn start_session(
        self: &Rc<Self>,
        (owner, thread_id): (&Owner, Uuid),
        session_id: Uuid,
        workflow: WorkflowDetail,
        (goal, visitor): (Option<String>, Option<Visitor>),
    ) -> Result<Response, ApiError> {
        let tokens = self.lasting_tokens()?;
        let _alone = self.admitting.lock().await;
        if self.owned_by(owner)?.is_some() {
            return Err(internal(&"the thread of a new session is there already"));
        }
        let turn = TurnKey {
            user_id: owner.user_id(),
            thread_id: thread_id.to_string(),
            turn_id: session_id.to_string(),
        };
        self.admit_session(owner, turn.clone(), visitor.as_ref()).await?;
        match self.make_session((owner, thread_id), session_id, &workflow, goal.as_deref()) {
            Ok((thread_id, row)) => {
                self.tell_index().await;
                json_response(&answer(&thread_id, &row, &tokens, None))
            }
            Err(error) => {
                let limited = accounts::quotas(&self.env).is_ok_and(|quotas| quotas.limits_turns());
                if limited
                    && let Err(lost) = accounts::release(&self.env, &self.clock, &owner.tenant, turn).await
                {
                    worker::console_error!("releasing a session that did not start: {lost}");
                }
                Err(error)
            }
        }
    }

    /// Writes the rows of the thread and of its session.
    fn make_session(
        &self,
        (owner, thread_id): (&Owner, Uuid),
        session_id: Uuid,
        workflow: &WorkflowDetail,
        goal: Option<&str>,
    ) -> Result<(String, SessionRow), ApiError> {
        let now = self.clock.now_ms();
        let row = self.new_session((session_id, SessionMode::External), workflow, goal, now)?;
        let named = if row.goal.trim().is_empty() { &row.definition.name } else { &row.goal };
        let thread = ThreadMeta {
            owner: owner.clone(),
            thread_id: thread_id.to_string(),
            title: title(named),
            created_at: now,
            request_seq: None,
        };
        let seq_first = self.numbers()?.next();
        let listed = ThreadRow { title: thread.title.clone(), created_at: now, updated_at: now, state: None };
        self.store.transaction(|| {
            self.store.create(&thread, seq_first)?;
            self.store.begin_session(&row)?;
            let post = |news| self.store.post(&Outgoing::new(owner, thread.thread_id.as_str(), news), now);
            post(News::Renamed { thread: listed })?;
            // The quotas counted the start as a turn, which used nothing.
            post(News::Spent { calls: nothing_used(&session_id.to_string(), now) })?;
            self.store.arm(now)
        })?;
        Ok((thread.thread_id, row))
    }

    /// Ends the step at which a session stands.
    pub async fn continue_session(
        self: &Rc<Self>,
        owner: &Owner,
        (session_id, workflow_id): (Uuid, &str),
        ended: ContinueSession,
    ) -> Result<Response, ApiError> {
        let tokens = self.lasting_tokens()?;
        let thread = self.owned_by(owner).ok().flatten().ok_or_else(no_session)?;
        let is_it = |row: &SessionRow| {
            row.id == session_id && row.workflow_id == workflow_id && row.mode == SessionMode::External
        };
        let row = self.store.session()?.filter(is_it).ok_or_else(no_session)?;
        let done = self.store.ended_steps(row.id)?;
        let ContinueSession { continue_token, notes_markdown, context_updates, artifacts } = ended;
        // The notes are those of the step that the token names; `advance` compares it with the session's.
        let claimed = tokens.read(&continue_token).map_or(row.step, |claim| claim.step);
        let step_id = row.definition.steps.get(claimed as usize).map(|step| step.id.clone());
        let notes = StepNotes { step_id: step_id.unwrap_or_default(), notes: notes_markdown, artifacts };
        let ended = StepEnd { notes, context_updates };
        let now = self.clock.now_ms();
        let ending = Ending { token: &continue_token, ended: &ended, fresh: nonce()?, now };
        let judged = advance(&row, &done, &tokens, &ending);
        let after = row.judged(&judged, now);
        if let Some(after) = &after {
            self.change_session(&row, after, None)?;
        }
        match judged {
            Ok(Advanced::Again(step)) => {
                json_response(&answered_before(&thread.thread_id, &row, &tokens, (&done, step)))
            }
            Ok(Advanced::On(next, step)) => {
                self.change_session(&row, &next, Some(&step))?;
                json_response(&answer(&thread.thread_id, &next, &tokens, None))
            }
            Err(Refusal::Wrong(error)) => Err(error),
            Err(Refusal::Spent) => {
                Err(ApiError::new(ErrorCode::TokenSpent, "this token has ended its step already"))
            }
            Err(Refusal::Over) => Err(ApiError::new(ErrorCode::TokenRefused, "the session has failed")),
            Err(Refusal::Refused) => {
                let has_failed = after.is_some_and(|after| after.status == SessionStatus::Failed);
                let detail = if has_failed { "; the session has failed" } else { "" };
                let detail = format!("this is not the token of the step{detail}");
                Err(ApiError::new(ErrorCode::TokenRefused, detail))
            }
        }
    }

    /// Ends the session that is open, because its user wants the thread back.
    pub async fn end_session(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        self.found(owner)?;
        let _alone = self.admitting.lock().await;
        self.found(owner)?;
        if let Some(open) = self.store.open_turn()? {
            let detail = format!("the turn {} is running", open.turn_id);
            return Err(ApiError::new(ErrorCode::TurnInProgress, detail));
        }
        let row = self.store.open_session()?.ok_or_else(no_session)?;
        let next = row.clone().failed(CANCELLED, self.clock.now_ms());
        self.change_session(&row, &next, None)?;
        no_content()
    }

    fn change_session(
        self: &Rc<Self>,
        before: &SessionRow,
        row: &SessionRow,
        ended: Option<&StepRow>,
    ) -> Result<(), ApiError> {
        self.store.transaction(|| {
            self.store.put_session(before, row, ended)?;
            self.store.arm(row.updated_at)
        })?;
        self.begin(Reason::Notices, true);
        Ok(())
    }

    /// The keys, where clients may have tokens.
    fn lasting_tokens(&self) -> Result<Rc<Tokens>, ApiError> {
        let tokens = self.tokens().map_err(misconfigured)?;
        match tokens.are_lasting() {
            true => Ok(tokens),
            false => Err(misconfigured(
                "clients cannot carry out sessions: there is neither WORKFLOW_SECRET nor SESSION_SECRET"
                    .to_owned(),
            )),
        }
    }

    /// The start of a session makes a thread, and counts as the start of a turn. It uses no model.
    async fn admit_session(
        &self,
        owner: &Owner,
        turn: TurnKey,
        visitor: Option<&Visitor>,
    ) -> Result<(), ApiError> {
        let quotas = accounts::quotas(&self.env).map_err(misconfigured)?;
        if !quotas.limits_turns() {
            return Ok(());
        }
        let address = visitor.and_then(|visitor| visitor.address.as_deref());
        let question = QuotaAsk {
            rules: quotas.rules(&turn.user_id, visitor.is_some(), address),
            turn,
            new_thread: quotas.threads_per_user,
            lease_ms: LEASE_MS,
            most: Grant { tokens: Some(0), microusd: Some(0) },
            least: Amount::default(),
            import: None,
        };
        let admitted = accounts::admit(&self.env, &self.clock, &owner.tenant, question).await;
        admitted.map_err(|error| internal(&error))?.map(drop).map_err(ApiError::from)
    }
}

/// The calls of a turn that made none.
fn nothing_used(turn_id: &str, now: u64) -> Calls {
    Calls {
        turn_id: turn_id.to_owned(),
        message_id: turn_id.to_owned(),
        context_type: "workflow".to_owned(),
        created_at: now,
        records: Vec::new(),
        used: Some(Amount::default()),
        execution_mode: None,
    }
}

fn no_session() -> ApiError {
    ApiError::new(ErrorCode::SessionNotFound, "there is no open session with this id")
}

/// The session as its client sees it. `signed`: the nonce and the key of the step's token, where they are not the row's.
fn answer(thread_id: &str, row: &SessionRow, tokens: &Tokens, signed: Option<&StepRow>) -> SessionAnswer {
    let step = row.current().map(|step| SessionStep {
        id: step.id.clone(),
        title: step.title.clone(),
        index: row.step,
        of: u32::try_from(row.definition.steps.len()).unwrap_or(u32::MAX),
    });
    let token = match signed {
        Some(of) => tokens.make(Claim { nonce: of.nonce, ..row.claim() }, &of.key_id),
        None => tokens.make(row.claim(), &row.key_id),
    };
    SessionAnswer {
        session_id: row.id.to_string(),
        thread_id: thread_id.to_owned(),
        is_complete: step.is_none(),
        prompt: prompt(row),
        continue_token: step.is_some().then_some(token),
        step,
    }
}

/// The answer that a request got which ended this step before. The values of its prompt are those that the steps up to it
/// had handed on.
fn answered_before(
    thread_id: &str,
    row: &SessionRow,
    tokens: &Tokens,
    (done, step): (&[StepRow], u32),
) -> SessionAnswer {
    let mut context = SessionContext::new();
    done.iter().filter(|done| done.step <= step).for_each(|done| context.extend(done.updates.clone()));
    let then = SessionRow { step: step.saturating_add(1), context, ..row.clone() };
    let after = done.iter().find(|done| done.step == then.step);
    answer(thread_id, &then, tokens, after)
}
