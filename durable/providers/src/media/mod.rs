//! Media of providers, sans I/O: a [`MediaCodec`] turns a request into bytes, and the bytes of an answer, in any split,
//! into [`MediaEvent`]s. The types without a provider stand in `wire/src/media`.
//!
//! A file comes in pieces as its base64 arrives, so nobody holds a whole one but who wants it, and the files of an answer
//! come one after the other. A codec refuses a member that its provider cannot take, by its name, before anything is
//! sent. It discards the text of errors, as the codecs of texts do.

use wire::http::HttpRequest;
use wire::media::{JobState, MediaEvent, MediaFailure, MediaMode, MediaRequest};

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
fn no_mode(mode: MediaMode, provider: &str) -> MediaFailure {
    MediaFailure::member("mode", format!("{provider} does not have the mode {}.", mode.as_str()))
}

fn no_jobs() -> MediaFailure {
    crate::failure::protocol("The model provider runs no jobs.").into()
}
