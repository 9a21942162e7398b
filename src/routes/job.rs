//! The rows of jobs as values of D1, and the request that deletes a thread for one (`crate::job`).

use bindings::d1::{number, text};
use serde::Serialize;
use wire::protocol::{ErrorCode, ThreadCommand, ThreadEnvelope};
use wire::store::StoreError;
use worker::Env;
use worker::wasm_bindgen::JsValue;

use super::object;
use crate::job::Job;

/// The values of a statement that stores where a job stands or ends it: those that name the job, its lease, its stage, the
/// numbers of what is gone, and some more.
pub fn values<S: Serialize>(
    job: &Job<S>,
    of: &[JsValue],
    more: &[JsValue],
) -> Result<Vec<JsValue>, StoreError> {
    let (stage, removed) = (serde_json::to_string(&job.stage)?, serde_json::to_string(&job.removed)?);
    Ok([of, &[number(job.lease), text(&stage), text(&removed)], more].concat())
}

/// Has a thread's object delete the thread. False where it had nothing, or where it keeps a thread that somebody used: an
/// erasure has it keep none.
pub async fn delete_thread(env: &Env, envelope: &ThreadEnvelope) -> Result<bool, StoreError> {
    let response = object::ask(env, envelope).await;
    let response = response.map_err(|failure| StoreError(failure.log_line().unwrap_or_default()))?;
    match response.status() {
        204 => Ok(true),
        200 if matches!(envelope.command, ThreadCommand::Expire { .. }) => Ok(false),
        status if status == ErrorCode::ThreadNotFound.status() => Ok(false),
        status => Err(StoreError(format!("the object of a thread answered {status}"))),
    }
}
