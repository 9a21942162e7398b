//! HTTP as a port. The codecs of the models, the web tools and the MCP client write requests and read replies; the
//! platform sends them, and tests answer them.

use std::fmt;
use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::stream::LocalBoxStream;

/// Sends requests.
pub trait Http {
    /// Completes when the headers of the reply have arrived. Follows no redirect, because a redirect could carry a
    /// credential or a conversation to an address that the operator did not configure. Adds neither cookies nor
    /// credentials. Dropping the future, or the body of the reply, ends the request.
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>>;
}

/// The methods that requests use.
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
    /// Headers whose names a server chose.
    pub named: Vec<(String, String)>,
    /// Empty for a method without a body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// A GET.
    pub fn get(url: String, headers: Vec<(&'static str, String)>) -> Self {
        HttpRequest { method: Method::Get, url, headers, named: Vec::new(), body: Vec::new() }
    }

    /// A POST.
    pub fn post(url: String, headers: Vec<(&'static str, String)>, body: Vec<u8>) -> Self {
        HttpRequest { method: Method::Post, url, headers, named: Vec::new(), body }
    }
}

impl fmt::Debug for HttpRequest {
    /// Leaves out the values of headers, because one of them may be a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{:?} {} {headers:?} {body}", self.method, self.url)
    }
}

/// A reply whose body is still to be read.
pub struct HttpReply {
    pub status: u16,
    pub headers: Headers,
    pub body: HttpBody,
}

/// The headers of a reply. One is looked up when it is wanted, because most replies are read without any.
pub struct Headers(Box<LookUp>);

type LookUp = dyn Fn(&str) -> Option<String>;

impl Headers {
    /// Headers by a function of their name, which is in lower case.
    pub fn new(look_up: impl Fn(&str) -> Option<String> + 'static) -> Self {
        Headers(Box::new(look_up))
    }
}

impl From<Vec<(String, String)>> for Headers {
    /// Names in lower case.
    fn from(headers: Vec<(String, String)>) -> Self {
        Headers::new(move |wanted| {
            headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
        })
    }
}

/// The body of a reply: decompressed bytes, one item per read. A cut connection may end the stream just as a complete
/// reply does, so a reader needs a terminator in the content.
pub type HttpBody = LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>;

impl HttpReply {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<String> {
        (self.headers.0)(name)
    }
}

/// The connection failed. The platform gives no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use futures::stream::empty;

    use super::{HttpReply, HttpRequest};

    #[test]
    fn a_request_in_a_log_names_its_headers_without_their_values() {
        let headers = vec![("authorization", "Bearer token-1".to_owned())];
        let request = HttpRequest::post("https://a.test".to_owned(), headers, b"{}".to_vec());
        assert_eq!(format!("{request:?}"), r#"Post https://a.test ["authorization"] {}"#);
    }

    #[test]
    fn a_reply_has_headers_by_name() {
        let headers = vec![("retry-after".to_owned(), "3".to_owned())];
        let reply = HttpReply { status: 429, headers: headers.into(), body: empty().boxed_local() };
        assert_eq!((reply.header("retry-after"), reply.header("location")), (Some("3".to_owned()), None));
    }
}
