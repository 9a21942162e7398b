//! OpenAI's Responses, streamed: OpenAI itself, OpenRouter, Azure, llama.cpp, vLLM.
//! The provider stores nothing (`store: false`), so each request has the whole conversation. The codec returns all
//! further output (encrypted reasoning, unknown items) unchanged.

mod event;
mod items;
mod request;
mod response;

#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod response_tests;
#[cfg(test)]
mod split_tests;
#[cfg(test)]
mod transcripts;

use wire::model::{ModelError, ModelRequest};

use super::codec::{EventStream, address, headers};
use super::failure::Complaint;
use super::written::Written;
use super::{Codec, Decoder};
use wire::http::HttpRequest;
use wire::redact::Secret;

use response::Reply;

/// The name of this API in raw messages.
pub(super) const WIRE: &str = "responses";

/// A server with the Responses API.
#[derive(Clone, Debug)]
pub struct OpenAiResponses {
    url: String,
    key: Option<Secret>,
    is_openais: bool,
    written: Written,
}

impl OpenAiResponses {
    /// `base_url` means the same as in the official clients: the part before `/responses`.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        let url = address(base_url, "/responses");
        OpenAiResponses { url, key, is_openais: false, written: Written::default() }
    }

    /// The same, of OpenAI's own server: it takes keys of its cache, which others may refuse.
    pub fn of_openai(self) -> Self {
        OpenAiResponses { is_openais: true, ..self }
    }
}

impl Codec for OpenAiResponses {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        let headers = headers(self.key.as_ref());
        let cache_key = request.cache_key.as_deref().filter(|_| self.is_openais);
        Ok(HttpRequest::post(self.url.clone(), headers, request::body(request, cache_key, &self.written)?))
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(EventStream::<Reply>::for_request(request))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}
