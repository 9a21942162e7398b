//! What a provider's wire is to the rest: a request becomes bytes, bytes become [`ModelEvent`]s. No I/O.

use std::fmt;

use crate::model::{ModelError, ModelEvent, ModelRequest};

/// A provider's wire.
pub trait Codec {
    /// The request as the provider wants it. Fails on nothing but what no provider could be told.
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError>;
    /// A decoder for the answer to `request`.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;
    /// What an answer that is no stream means. The body classifies the error and goes no further.
    fn refusal(&self, status: u16, body: &[u8]) -> ModelError;
}

/// Reads the body of a successful answer, in whatever pieces it comes. After an error it must not be fed again.
pub trait Decoder {
    /// Adds what these bytes complete to `events`, which keeps what came before an error. Bytes after the end of the
    /// reply are ignored.
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
    /// The body has ended. A reply without its terminator is an error, not an answer.
    fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
}

/// A POST, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpRequest {
    /// Names the headers only: one of them is the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpRequest")
            .field("url", &self.url)
            .field("headers", &headers)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish()
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text itself, for the one header that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
