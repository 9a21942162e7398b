//! Media of providers, sans I/O: a [`MediaCodec`] turns a request into bytes, and the bytes of an answer, in any split,
//! into [`MediaEvent`]s. The types without a provider stand in `wire/src/media`.
//!
//! A file comes in pieces as its base64 arrives, so nobody holds a whole one but who wants it, and the files of an answer
//! come one after the other. A codec refuses a member that its provider cannot take, by its name, before anything is
//! sent. It discards the text of errors, as the codecs of texts do.

mod answer;
mod base64;
mod files;
mod gemini;
mod json;
mod multipart;
mod openai;
mod workers_ai;

#[cfg(test)]
mod tests;

pub use answer::FileAnswer;
pub use gemini::GeminiMedia;
pub use openai::OpenAiMedia;
pub use workers_ai::WorkersAiMedia;

use serde::Serialize;

use crate::failure::{Complaint, error_in_answer};
use wire::http::HttpRequest;
use wire::media::{JobState, MediaEvent, MediaFailure, MediaMode, MediaRequest};
use wire::model::{ModelError, ModelErrorKind};

/// The codec of a provider's API for media.
pub trait MediaCodec {
    /// Encodes a request for the provider, whose rules ([`MediaRequest::check`]) hold.
    fn encode(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure>;
    /// Makes a decoder for a successful answer to `request`.
    fn decoder(&self, request: &MediaRequest) -> Box<dyn MediaDecoder>;
    /// Classifies a refusal by its status and body. The failure does not quote the body.
    fn refusal(&self, status: u16, body: &[u8]) -> MediaFailure;
    /// The request that asks how a job stands, for a provider that runs jobs.
    fn poll(&self, job: &str) -> Result<HttpRequest, MediaFailure> {
        let _ = job;
        Err(no_jobs())
    }
    /// How the job stands, by the body of a successful answer to [`MediaCodec::poll`].
    fn job_state(&self, body: &[u8]) -> Result<JobState, MediaFailure> {
        let _ = body;
        Err(no_jobs())
    }
    /// The request for a file of a job that has ended, by its text in [`JobState::Done`]. The body of its answer is the
    /// file.
    fn fetch(&self, file: &str) -> Result<HttpRequest, MediaFailure> {
        let _ = file;
        Err(no_jobs())
    }
}

/// Decodes the body of a successful answer, piece by piece. The caller must stop feeding it after a failure.
pub trait MediaDecoder {
    /// Adds the events that these bytes complete, including those before a failure.
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure>;
    /// Ends the body. An answer without a file, a transcript or a job is a failure, and so is one that was cut off.
    fn finish(&mut self, events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure>;
}

/// The failure of a mode that a provider does not have.
fn no_mode(mode: MediaMode, who: &str) -> MediaFailure {
    MediaFailure::member("mode", format!("{who} does not have the mode {}.", mode.as_str()))
}

fn no_jobs() -> MediaFailure {
    protocol("The model provider runs no jobs.")
}

/// Refuses more variations than one call makes: a message makes one call.
fn at_most(request: &MediaRequest, most: u8) -> Result<(), MediaFailure> {
    match request.variations() > most {
        true => {
            Err(MediaFailure::member("variations", format!("This model makes at most {most} in one call.")))
        }
        false => Ok(()),
    }
}

fn unwritable(_: serde_json::Error) -> MediaFailure {
    ModelError::new(ModelErrorKind::BadRequest, "The request to the model cannot be written as JSON.").into()
}

/// The failure for a refusal, by its status and body.
fn refusal(status: u16, body: &[u8]) -> MediaFailure {
    let complaint = Complaint::from_body(body);
    match complaint.is_about_content() {
        true => MediaFailure::Policy { accepted: false },
        false if may_go_on(status) => accepted(complaint.refused(status)),
        false => complaint.refused(status).into(),
    }
}

/// Whether the provider may go on with the request after this status: something before it lost its patience, or it failed
/// itself. 503 and 529 say that it has not begun.
fn may_go_on(status: u16) -> bool {
    matches!(status, 408 | 409 | 425) || (status >= 500 && !matches!(status, 503 | 529))
}

/// A request with a JSON body.
fn json_post(
    url: String,
    mut headers: Vec<(&'static str, String)>,
    body: &impl Serialize,
) -> Result<HttpRequest, MediaFailure> {
    headers.push(("content-type", "application/json".to_owned()));
    Ok(HttpRequest::post(url, headers, serde_json::to_vec(body).map_err(unwritable)?))
}

/// The failure that an answer has in place of what was asked for, if it has one.
fn refused(answer: &[u8]) -> Option<MediaFailure> {
    let error = error_in_answer(answer)?;
    match Complaint::from_body(answer).is_about_content() {
        true => Some(MediaFailure::Policy { accepted: true }),
        false => Some(accepted(error)),
    }
}

/// The failure of an answer whose status was good: the provider took the request.
fn accepted(error: ModelError) -> MediaFailure {
    MediaFailure::Provider(ModelError { accepted: true, ..error })
}

/// The provider violated its protocol. `message` says how, in our words.
fn protocol(message: &str) -> MediaFailure {
    accepted(crate::failure::protocol(message))
}

/// The answer, or a file of it, exceeds a limit.
fn too_large(most_bytes: usize) -> MediaFailure {
    let message = format!("The model provider's answer is too large: the limit is {most_bytes} bytes.");
    accepted(ModelError::new(ModelErrorKind::ReplyTooLarge, message))
}
