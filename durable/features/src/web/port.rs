//! The ports of the web tools.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use serde_json::Value;

use super::config::Config;
use wire::http::{Http, HttpReply, Unreachable};

/// The ports of the web tools, and their configuration.
#[derive(Clone)]
pub struct WebPorts {
    pub http: Rc<dyn Http>,
    pub charsets: Rc<dyn Charsets>,
    pub browser: Option<Rc<dyn Browser>>,
    pub config: Config,
}

/// The character sets of the web.
pub trait Charsets {
    /// A decoder for a character set, by the set's name on the web; none for an unknown name.
    fn decoder(&self, charset: &str) -> Option<Box<dyn Decode>>;
}

/// Decodes bytes into text. Invalid bytes become U+FFFD.
pub trait Decode {
    /// Decodes the next bytes. With `last`, the input ends here, so an incomplete character becomes U+FFFD.
    fn decode(&mut self, bytes: &[u8], last: bool) -> String;
}

/// A browser that runs the scripts of pages.
pub trait Browser {
    /// Reads a page as Markdown. The options and the reply are those of Browser Run's quick action of this name:
    /// <https://developers.cloudflare.com/browser-run/quick-actions/markdown-endpoint/>.
    fn markdown(&self, options: &Value) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>>;
}
