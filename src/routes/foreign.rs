//! Clients of other services: their requests to a thread's object, and their errors, which have a form of their own.

use bindings::env::var;
use dialects::Instructions;
use platform::limits::{self, TakesInstructions};
use serde_json::Value;
use uuid::Uuid;
use wire::pace::Pace;
use wire::protocol::{ApiError, ChatRequest, ErrorCode, Owner, ThreadCommand, ThreadEnvelope};
use worker::web_sys::Response;

use super::{object, sessions};
use crate::call::{Answer, Call};
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::repetition;
use crate::reply::Reply;

/// A request of such a client: a command to its thread's object, which answers in the client's form.
pub struct Asked {
    pub envelope: ThreadEnvelope,
    /// The members of the body that the service ignores.
    pub ignored: Vec<String>,
}

impl Asked {
    pub fn of(envelope: ThreadEnvelope) -> Self {
        Asked { envelope, ignored: Vec::new() }
    }
}

/// Gives a turn the instructions of its client, where the operator allows them. Returns the names of those that the service
/// ignores.
pub fn instruct(
    call: &Call,
    instructions: Instructions,
    request: &mut ChatRequest,
) -> Result<Vec<String>, Failure> {
    let takes = limits::client_instructions(|name| var(&call.env, name));
    Ok(match takes.map_err(|problem| ApiError::new(ErrorCode::Misconfigured, problem))? {
        TakesInstructions::Yes => {
            instructions.give(request)?;
            Vec::new()
        }
        TakesInstructions::No => instructions.names().map(str::to_owned).collect(),
    })
}

/// The id of a request's turn: the same key is the same turn. With a key, the digest by which the thread tells a repetition
/// from another request.
pub async fn turn(
    call: &Call,
    owner: &Owner,
    (form, body): (&str, &[u8]),
    pace: &Pace<'_>,
) -> Result<(Uuid, Option<String>), Failure> {
    let Some(key) = call.header("idempotency-key").filter(|key| !key.is_empty()) else {
        return Ok((uuid_v7(call.now).map_err(Failure::internal("drawing a turn's id"))?, None));
    };
    let digest = repetition::digest(form, body, pace).await?;
    Ok((owner.dialect_turn(Uuid::nil(), &key, ""), Some(digest)))
}

/// Asks the thread's object.
pub async fn ask(call: &Call, Asked { envelope, ignored }: Asked) -> Result<Answer, Failure> {
    let response = match envelope.command {
        ThreadCommand::Chat(_) => sessions::begin_turn(call, envelope).await?,
        _ => object::ask(&call.env, &envelope).await?,
    };
    Ok(match ignored.is_empty() {
        true => Answer::Object(response),
        false => Answer::Warned(response, format!("299 espalier \"ignored: {}\"", ignored.join(", "))),
    })
}

/// The header of a problem that is kept.
const KEPT: &str = "retry-after";

/// Makes the body of an error of a problem and its status, as JSON.
pub type Form = fn(u16, &Value) -> Vec<u8>;

/// An answer with its problem in the client's form.
pub async fn translated(answer: Answer, form: Form) -> Answer {
    let (status, body, mut headers) = match answer {
        Answer::Object(response) | Answer::Warned(response, _)
            if header(&response, "content-type").as_deref() == Some(PROBLEM) =>
        {
            let body = object::text(&response).await.into_bytes();
            let mut headers = vec![("content-type", PROBLEM.to_owned())];
            headers.extend(header(&response, KEPT).map(|value| (KEPT, value)));
            (response.status(), body, headers)
        }
        Answer::Ours(Reply { status, headers, body: Some(body) }) if is_problem(&headers) => {
            (status, body, headers)
        }
        answer => return answer,
    };
    let problem: Value = wire::json::from_slice(&body).unwrap_or_default();
    let body = form(status, &problem);
    // Libraries repeat a request that got a 409, and this one would get it again.
    let code = problem.get("code").and_then(Value::as_str);
    if code == Some(ErrorCode::IdempotencyKeyReused.as_str()) {
        headers.push(("x-should-retry", "false".to_owned()));
    }
    for (name, value) in &mut headers {
        if *name == "content-type" {
            *value = "application/json".to_owned();
        }
    }
    Answer::Ours(Reply { status, headers, body: Some(body) })
}

/// The media type of problems.
const PROBLEM: &str = "application/problem+json";

fn is_problem(headers: &[(&'static str, String)]) -> bool {
    headers.iter().any(|(name, value)| *name == "content-type" && value == PROBLEM)
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).ok().flatten()
}
