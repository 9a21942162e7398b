//! What the client needs of HTTP.

use std::fmt;
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;

use super::known::Known;
use engine::ports::Clock;

/// Sends requests. Dropping what it returns, or the body of the answer, ends the request. Redirects are not followed:
/// they would carry a credential to where nobody configured it.
pub trait Wire {
    /// Completes when the headers of the answer are there.
    fn send(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>>;
    /// Carries out what nobody waits for.
    fn spawn(&self, task: LocalBoxFuture<'static, ()>);
}

/// What a connection needs from outside.
#[derive(Clone)]
pub struct Outside {
    pub wire: Rc<dyn Wire>,
    pub clock: Rc<dyn Clock>,
    pub known: Known,
}

/// The methods of Streamable HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

/// A request, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    /// Empty where the method has none.
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpRequest {
    /// Without the values of headers: one of them may be a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{:?} {} {headers:?} {body}", self.method, self.url)
    }
}

/// An answer whose body is still to come.
pub struct HttpReply {
    pub status: u16,
    pub content_type: String,
    /// The header `Mcp-Session-Id`.
    pub session: Option<String>,
    /// One item per read.
    pub body: LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>,
}

/// The connection failed. Why, the platform does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;
