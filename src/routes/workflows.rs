//! The user's workflows, and the sessions that a client carries out. The thread's object keeps the sessions.

use bindings::d1::text;
use features::workflows::statements::THERE;
use features::workflows::store::D1Workflows;
use features::workflows::{self, Workflows};
use uuid::Uuid;
use wire::protocol::{
    ApiError, ContinueSession, ErrorCode, MAX_WORKFLOWS, NewSession, Owner, ThreadCommand, ThreadEnvelope,
    WorkflowDetail, WorkflowList, WrittenDefinition, check_workflow_id,
};
use wire::store::StoreError;

use super::{audit, chat, object, sessions, uploads};
use crate::audit::store::Where;
use crate::call::{Answer, Call};
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::reply::Reply;

/// `GET /api/workflows`
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let workflows = workflows::list(&store(call, &owner)).await.map_err(unreachable)?;
    Ok(Reply::json(200, &WorkflowList::of(workflows)).into())
}

/// `GET /api/workflows/{id}`
pub async fn get(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let found = workflows::get(&store(call, &owner), id).await.map_err(unreachable)?;
    Ok(Reply::json(200, &found.ok_or_else(not_found)?).into())
}

/// `DELETE /api/workflows/{id}`
pub async fn delete(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let there = Where { condition: THERE, values: vec![text(id)] };
    let workflows = store(call, &owner).logging(audit::deletion(call, &owner, there)?);
    Answer::deleted(workflows.delete(id).await.map_err(unreachable)?, not_found)
}

/// `POST /api/workflows/{id}/sessions/{session_id}/continue`
pub async fn continue_session(
    call: &Call,
    owner: Owner,
    workflow: &str,
    session: &str,
    body: &[u8],
) -> Result<Answer, Failure> {
    let ended = Box::new(ContinueSession::parse(body)?);
    let unknown = |_| ApiError::new(ErrorCode::SessionNotFound, "there is no session with this id");
    let session_id = Uuid::try_parse(session).map_err(unknown)?;
    let thread_id = owner.session_thread(session_id);
    let workflow_id = workflow.to_owned();
    let command = ThreadCommand::ContinueSession { session_id, workflow_id, ended };
    object::ask(&call.env, &ThreadEnvelope { owner, thread_id, command }).await.map(Answer::Object)
}

/// `PUT /api/workflows/{id}`
pub async fn put(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    check_workflow_id(id).map_err(|why| ApiError::field("workflow", why))?;
    let WrittenDefinition { definition, ignored } = WrittenDefinition::parse(body)?;
    let own = store(call, &owner);
    let putting = async { workflows::put(&own, id, definition, call.now).await.map_err(unreachable) };
    let put = uploads::within(call, &owner, body.len(), putting, Option::is_some).await?;
    let full = || {
        let detail = format!("there are {MAX_WORKFLOWS} workflows: delete some first");
        ApiError::new(ErrorCode::TooManyWorkflows, detail)
    };
    let detail = WorkflowDetail { ignored, ..put.ok_or_else(full)? };
    Ok(Reply::json(200, &detail).into())
}

/// `POST /api/workflows/{id}/sessions`
pub async fn start_session(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    let NewSession { goal } = NewSession::parse(body)?;
    let found = workflows::get(&store(call, &owner), id).await.map_err(unreachable)?;
    let workflow = Box::new(found.ok_or_else(not_found)?);
    let session_id = uuid_v7(call.now).map_err(Failure::internal("drawing a session's id"))?;
    let thread_id = owner.session_thread(session_id);
    let visitor = chat::visitor(call, &owner);
    let command = ThreadCommand::StartSession { session_id, workflow, goal, visitor };
    sessions::begin_turn(call, ThreadEnvelope { owner, thread_id, command }).await.map(Answer::Object)
}

fn store(call: &Call, owner: &Owner) -> D1Workflows {
    D1Workflows::new(&call.env, owner)
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::WorkflowNotFound, "there is no workflow with this id")
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading workflows")(error)
}
