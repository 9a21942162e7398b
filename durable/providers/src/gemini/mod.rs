//! Google's Gemini API (`generateContent`), streamed.
//! A reply is a list of parts. The codec returns all parts with a thought signature, and all unknown parts, unchanged:
//! Gemini 3 refuses a call of the current turn without its signature
//! (<https://ai.google.dev/gemini-api/docs/thought-signatures>).

mod arguments;
mod event;
mod parts;
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
use super::{Codec, Decoder};
use wire::http::HttpRequest;
use wire::redact::Secret;

use response::Reply;

/// The name of this API in raw messages.
const WIRE: &str = "gemini";

/// The version of the API that has all members which the codec sends.
const VERSION: &str = "/v1beta";

/// A server with the Gemini API.
#[derive(Clone, Debug)]
pub struct Gemini {
    base_url: String,
    key: Option<Secret>,
}

impl Gemini {
    /// `base_url` means the same as in the official clients: the part before the version. A version at its end
    /// (`/v1beta`) counts instead of ours.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        Gemini { base_url: versioned(base_url), key }
    }

    /// The address of a model's stream. A name with a slash is a path of its own, such as `tunedModels/mine`.
    fn url(&self, model: &str) -> String {
        let folder = if model.contains('/') { "" } else { "models/" };
        let url = address(&self.base_url, &format!("/{folder}{}:streamGenerateContent", encoded(model)));
        // Without `alt` the reply is one JSON array.
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}alt=sse")
    }
}

/// A base URL with its version, or with ours.
pub(super) fn versioned(base_url: &str) -> String {
    let path = base_url.split('?').next().unwrap_or_default().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default().as_bytes();
    let has_version = matches!(last, [b'v', digit, ..] if digit.is_ascii_digit());
    if has_version { base_url.to_owned() } else { address(base_url, VERSION) }
}

/// A name as a part of a path: percent-encoded, its slashes excepted.
pub(super) fn encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes().fold(String::new(), |path, byte| match is_plain(byte) {
        true => path + &char::from(byte).to_string(),
        false => format!("{path}%{byte:02X}"),
    })
}

impl Codec for Gemini {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        // Google's key has its own header.
        let mut headers = headers(None);
        headers.extend(self.key.as_ref().map(|key| ("x-goog-api-key", key.reveal().to_string())));
        Ok(HttpRequest::post(self.url(&request.model.model), headers, request::body(request)?))
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(EventStream::<Reply>::for_request(request))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}
