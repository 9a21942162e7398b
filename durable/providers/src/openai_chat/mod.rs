//! OpenAI's Chat Completions, streamed, for all servers with this API: OpenAI, Groq, Ollama, vLLM, llama.cpp,
//! OpenRouter, DeepSeek, Mistral, Gemini's and Workers AI's compatible endpoints.
//! The API has no version, and every server has a dialect. So the codec reads leniently (unknown members, missing ids,
//! calls without an index), and sends only what all servers accept.

mod calls;
pub(super) mod chunk;
pub(super) mod request;
pub(super) mod response;

#[cfg(test)]
mod raw_tests;
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

use request::OutputLimit;
use response::Reply;

/// The name of this API in raw messages.
pub(super) const WIRE: &str = "chat";

/// A server with the Chat Completions API.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    url: String,
    output_limit: OutputLimit,
    key: Option<Secret>,
    is_openais: bool,
    written: Written,
}

impl OpenAiChat {
    /// `base_url` means the same as in the official clients: the part before `/chat/completions`.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        OpenAiChat {
            url: address(base_url, "/chat/completions"),
            output_limit: OutputLimit::of_server(base_url),
            key,
            is_openais: false,
            written: Written::default(),
        }
    }

    /// The same, of OpenAI's own server: it takes keys of its cache, which others may refuse, and one name of the limit
    /// alone.
    pub fn of_openai(self) -> Self {
        OpenAiChat { is_openais: true, output_limit: OutputLimit::Completion, ..self }
    }
}

impl Codec for OpenAiChat {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        let headers = headers(self.key.as_ref());
        let cache_key = request.cache_key.as_deref().filter(|_| self.is_openais);
        Ok(HttpRequest::post(
            self.url.clone(),
            headers,
            request::body(request, self.output_limit, cache_key, &self.written)?,
        ))
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(EventStream::<Reply>::for_request(request))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}
