//! Responses: problems, JSON, streams. The Worker uses the same.

use std::rc::Rc;

use dialects::Translation;
use futures::{Stream, TryStreamExt};
use serde::Serialize;
use worker::{Response, ResponseBody, ResponseBuilder};

use crate::storage::StoreError;
use engine::ports::{Clock, LogError};
use wire::protocol::{AnswerForm, ApiError, ErrorCode};

use super::headers::ALWAYS;
use super::reader::Reader;
use super::translated::{collected, translated};

fn builder(status: u16) -> worker::Result<ResponseBuilder> {
    let response = ResponseBuilder::new().with_status(status);
    ALWAYS.iter().try_fold(response, |response, (name, value)| response.with_header(name, value))
}

/// A refusal as RFC 9457 `application/problem+json`.
pub fn problem_response(error: &ApiError) -> worker::Result<Response> {
    let body = serde_json::to_vec(&error.problem())?;
    let mut response =
        builder(error.code.status())?.with_header("content-type", "application/problem+json")?;
    if let Some(seconds) = error.retry_after_s {
        response = response.with_header("retry-after", &seconds.to_string())?;
    }
    Ok(response.fixed(body))
}

/// A JSON answer.
pub fn json_response(body: &impl Serialize) -> Result<Response, ApiError> {
    builder(200).and_then(|response| response.from_json(body)).map_err(|error| internal(&error))
}

/// 202 with a JSON answer.
pub fn accepted(body: &impl Serialize) -> Result<Response, ApiError> {
    builder(202).and_then(|response| response.from_json(body)).map_err(|error| internal(&error))
}

/// 204.
pub fn no_content() -> Result<Response, ApiError> {
    builder(204).map(ResponseBuilder::empty).map_err(|error| internal(&error))
}

/// 204 for now: an event may come, so the client should ask again after that time.
pub fn nothing_yet(retry_after_s: u64) -> Result<Response, ApiError> {
    builder(204)
        .and_then(|response| response.with_header("retry-after", &retry_after_s.to_string()))
        .map(ResponseBuilder::empty)
        .map_err(|error| internal(&error))
}

/// A stored text of this type.
pub fn lines_response(content_type: &str, body: ResponseBody) -> Result<Response, ApiError> {
    builder(200)
        .and_then(|response| response.with_header("content-type", content_type))
        .map(|response| response.body(body))
        .map_err(|error| internal(&error))
}

/// Lines of JSON, as they come.
pub fn streamed_lines(
    content_type: &str,
    lines: impl Stream<Item = worker::Result<Vec<u8>>> + 'static,
) -> Result<Response, ApiError> {
    builder(200)
        .and_then(|response| response.with_header("content-type", content_type))
        .and_then(|response| response.from_stream(lines))
        .map_err(|error| internal(&error))
}

/// A reader's events as `text/event-stream`.
pub fn stream_response(reader: Reader) -> Result<Response, ApiError> {
    let writes = reader.into_stream().map_err(|error| {
        worker::console_error!("reader: {error}");
        worker::Error::RustError("the event log could not be read".to_owned())
    });
    events().and_then(|response| response.from_stream(writes)).map_err(|error| internal(&error))
}

/// A reader's events in a dialect: as they come, or as JSON once they are complete.
pub async fn translated_response(
    reader: Reader,
    translation: Translation,
    clock: Rc<dyn Clock>,
) -> Result<Response, ApiError> {
    if translation.form() != AnswerForm::Stream {
        let collected = collected(reader.into_stream(), translation, clock).await;
        let (status, (name, value), body) = collected.map_err(|error| internal(&error))?;
        return builder(status)
            .and_then(|response| response.with_header("content-type", "application/json"))
            .and_then(|response| response.with_header(name, value))
            .map(|response| response.fixed(body))
            .map_err(|error| internal(&error));
    }
    let (_, (name, value)) = translation.head();
    let writes = translated(reader.into_stream(), translation, clock).map_err(|error| {
        worker::console_error!("{error}");
        worker::Error::RustError("the event log could not be translated".to_owned())
    });
    events()
        .and_then(|response| response.with_header(name, value))
        .and_then(|response| response.from_stream(writes))
        .map_err(|error| internal(&error))
}

fn events() -> worker::Result<ResponseBuilder> {
    builder(200)?
        .with_header("content-type", "text/event-stream")?
        // Proxies of the nginx family would collect the events otherwise.
        .with_header("x-accel-buffering", "no")
}

/// A failure of the service: the log gets the error, and the caller gets only the fact of it.
pub fn internal(error: &dyn std::fmt::Display) -> ApiError {
    worker::console_error!("internal: {error}");
    ApiError::new(ErrorCode::Internal, "the request could not be carried out")
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        internal(&error)
    }
}

/// The turn's log refused: another run owns the turn, or the storage failed.
pub fn not_logged(error: LogError) -> ApiError {
    match error {
        LogError::Fenced => internal(&"fenced"),
        LogError::Storage(detail) => internal(&detail),
    }
}

/// The operator must mend this.
pub fn misconfigured(detail: String) -> ApiError {
    ApiError::new(ErrorCode::Misconfigured, detail)
}
