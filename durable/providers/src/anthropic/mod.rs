//! Anthropic's Messages, streamed: Anthropic itself, and servers with its API (AI Gateway, llama.cpp, DeepSeek, Kimi).
//! A reply is a list of blocks. The codec returns all blocks beyond text and calls (thinking with its signature,
//! redacted thinking, results of Anthropic's own tools) unchanged, with the exceptions that `request` explains.

mod blocks;
mod event;
mod request;
mod response;

#[cfg(test)]
mod lenient_tests;
#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod response_tests;
#[cfg(test)]
mod split_tests;
#[cfg(test)]
mod thinking_tests;
#[cfg(test)]
mod transcripts;

use wire::model::{ModelError, ModelRequest};

use super::codec::{EventStream, address, headers};
use super::failure::Complaint;
use super::{Codec, Decoder};
use wire::http::HttpRequest;
use wire::redact::Secret;

use response::Reply;

/// The name of this API in raw messages.
const WIRE: &str = "messages";

/// The version of the API: the only one since 2023.
const VERSION: &str = "2023-06-01";

/// A server with the Messages API.
#[derive(Clone, Debug)]
pub struct Anthropic {
    url: String,
    key: Option<Secret>,
}

impl Anthropic {
    /// `base_url` means the same as in the official clients: the part before `/v1/messages`. A `/v1` at its end makes
    /// no difference.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        let path = base_url.split('?').next().unwrap_or_default().trim_end_matches('/');
        let rest = if path.ends_with("/v1") { "/messages" } else { "/v1/messages" };
        Anthropic { url: address(base_url, rest), key }
    }
}

impl Codec for Anthropic {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        // Anthropic's key has its own header.
        let mut headers = headers(None);
        headers.push(("anthropic-version", VERSION.to_string()));
        headers.extend(self.key.as_ref().map(|key| ("x-api-key", key.reveal().to_string())));
        Ok(HttpRequest::post(self.url.clone(), headers, request::body(request)?))
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(EventStream::<Reply>::for_request(request))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}
