//! Plain HTTP/1.1 to this machine, one connection a request.
//!
//! Each request has its own connection, because the tests must be able to close exactly one: dropping a [`Reply`]
//! closes its socket, as a browser does when its tab closes.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::canary::Watch;

/// The server's answer; its body is still to come.
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: HeaderMap,
    body: Incoming,
    watch: Option<Watch>,
    _connection: AbortOnDrop,
}

/// The task that drives the connection; without it the socket would live on after its [`Reply`].
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Reply {
    /// A header field as text, empty when it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// From now on the reply fails a test when it contains a secret of the deployment.
    pub fn watched(mut self) -> Self {
        let mut watch = Watch::new();
        self.headers.values().for_each(|value| watch.piece(value.as_bytes()));
        self.watch = Some(watch);
        self
    }

    /// The next piece of the body, `None` at its end, an error when the connection broke.
    pub async fn read(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(error),
                Some(Ok(frame)) => {
                    // Trailers are frames too.
                    if let Ok(data) = frame.into_data() {
                        if let Some(watch) = &mut self.watch {
                            watch.piece(&data);
                        }
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Fails, with the body for a message, unless the status is this one.
    pub async fn expect(self, status: u16) -> Self {
        if self.status != status {
            let got = self.status;
            panic!("{got} instead of {status}: {}", self.text().await);
        }
        self
    }

    /// The whole body.
    pub async fn text(mut self) -> String {
        let mut body = Vec::new();
        while let Some(piece) = self.read().await.expect("the body arrives whole") {
            body.extend_from_slice(&piece);
        }
        String::from_utf8(body).expect("the body is UTF-8")
    }

    /// The whole body as JSON.
    pub async fn json(self) -> Value {
        let status = self.status;
        let body = self.text().await;
        serde_json::from_str(&body)
            .unwrap_or_else(|error| panic!("{status} with a body that is not JSON ({error}): {body}"))
    }
}

/// Sends one request and returns when the header of the answer is there.
pub async fn send(method: &str, url: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
    try_send(method, url, headers, body).await.unwrap_or_else(|error| panic!("{method} {url}: {error}"))
}

/// [`send`] for a caller that expects no answer.
pub async fn try_send(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Reply, Box<dyn std::error::Error + Send + Sync>> {
    let (authority, path) = split(url);
    let mut request = Request::builder().method(method).uri(path).header("host", authority);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into()))?;

    let socket = TcpStream::connect(authority).await?;
    socket.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
    let connection = AbortOnDrop(tokio::spawn(async move {
        // An error here reaches the caller through the response or its body.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await?;
    let (head, body) = response.into_parts();
    Ok(Reply {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        watch: None,
        _connection: connection,
    })
}

/// `http://127.0.0.1:8787/api/chat` → (`127.0.0.1:8787`, `/api/chat`).
fn split(url: &str) -> (&str, &str) {
    let rest =
        url.strip_prefix("http://").unwrap_or_else(|| panic!("the tests speak plain http only: {url}"));
    match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    }
}
