//! OpenAI's Chat Completions, streamed, and all that speak it: OpenAI, Groq, Ollama, vLLM, llama.cpp, OpenRouter,
//! DeepSeek, Gemini's and Workers AI's compatible endpoints.
//!
//! The wire has no version, and every server has its own dialect of it. So what is read is read leniently (unknown
//! members, missing ids, calls without an index), and what is sent is only what all of them accept.

mod calls;
mod chunk;
mod members;
mod request;
mod response;

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

use crate::model::{Message, ModelError, ModelRequest};

use super::failure::Complaint;
use super::{Codec, Decoder, HttpRequest, Secret};

use request::OutputLimit;
pub use response::ChatDecoder;

/// A server that speaks Chat Completions.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    url: String,
    output_limit: OutputLimit,
    key: Option<Secret>,
}

impl OpenAiChat {
    /// `base_url` is what the official clients call so: the part before `/chat/completions`.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        let (path, query) = match base_url.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (base_url, String::new()),
        };
        OpenAiChat {
            url: format!("{}/chat/completions{query}", path.trim_end_matches('/')),
            output_limit: OutputLimit::of_server(base_url),
            key,
        }
    }
}

impl Codec for OpenAiChat {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        let mut headers = vec![
            ("content-type", "application/json".to_string()),
            ("accept", "text/event-stream".to_string()),
        ];
        if let Some(key) = &self.key {
            headers.push(("authorization", format!("Bearer {}", key.reveal())));
        }
        Ok(HttpRequest { url: self.url.clone(), headers, body: request::body(request, self.output_limit)? })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        // Ids that we make up go on where the conversation's calls end, so none is used twice in one request.
        let calls = request.messages.iter().map(|message| match &**message {
            Message::Assistant { tool_calls, .. } => tool_calls.len(),
            Message::User { .. } | Message::Tool { .. } => 0,
        });
        Box::new(ChatDecoder::new(&request.model.provider, calls.sum()))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}
