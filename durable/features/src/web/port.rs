//! What the web tools need of the network.

use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;
use serde_json::Value;

/// The way of tools to the web.
pub trait Web {
    /// Completes when the headers of the answer are there. Follows no redirect, and adds neither cookies nor credentials.
    /// Dropping what it returns ends the request.
    fn send(&self, request: WebRequest) -> LocalBoxFuture<'static, Result<WebReply, Unreachable>>;
    /// Reads text in a character set, by its name on the web; none for one that is not known.
    fn decoder(&self, charset: &str) -> Option<Box<dyn Decode>>;
}

/// A browser that runs the scripts of pages.
pub trait Browser {
    /// Has a page read as Markdown. The options and the answer are those of Browser Run's quick action of this name:
    /// <https://developers.cloudflare.com/browser-run/quick-actions/markdown-endpoint/>.
    fn markdown(&self, options: &Value) -> LocalBoxFuture<'static, Result<WebReply, Unreachable>>;
}

/// A request of a tool: a POST if it has a body.
#[derive(Clone, PartialEq, Eq)]
pub struct WebRequest {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Vec<u8>>,
}

/// An answer whose body is still to come.
pub struct WebReply {
    pub status: u16,
    pub content_type: Option<String>,
    pub location: Option<String>,
    /// One item per read, decompressed. Its end says nothing: a connection that was cut may end like one that is complete.
    pub body: LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>,
}

/// The connection failed. Why, the platform does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

/// Bytes in, text out; what is no text becomes U+FFFD.
pub trait Decode {
    /// Reads on. `last`: there is no more, so half a character is none.
    fn decode(&mut self, bytes: &[u8], last: bool) -> String;
}
