//! The answers that the Worker makes itself; the answers of a thread's object pass through it.

use serde::Serialize;

/// An answer, before `serve` makes a response of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// The headers, beside those that every answer has.
    pub headers: Vec<(&'static str, String)>,
    /// `None` where the status allows no body.
    pub body: Option<Vec<u8>>,
}

impl Reply {
    /// A JSON answer. Our types always serialize, because all their maps have strings as keys.
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        Reply::bytes(status, "application/json", serde_json::to_vec(body).unwrap_or_default())
    }

    /// An answer of some media type.
    pub fn bytes(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let headers = vec![("content-type", content_type.to_owned())];
        Reply { status, headers, body: Some(body) }
    }

    /// 204.
    pub fn empty() -> Self {
        Reply { status: 204, headers: Vec::new(), body: None }
    }

    /// With one more header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
