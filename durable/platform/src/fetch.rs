//! The platform's `fetch` as the port [`Http`].

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use futures::stream::empty;
use futures::{FutureExt, Stream, StreamExt};
use js_sys::Uint8Array;
use worker::{AbortController, AbortSignal, ByteStream, Request, RequestInit, RequestRedirect, Response};

use providers::permits::Permits;
use wire::http::{Http, HttpBody, HttpReply, HttpRequest, Method, Unreachable};

/// `fetch`.
pub struct Fetch;

impl Http for Fetch {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        fetch(request).map(|reply| reply.map_err(|_| Unreachable)).boxed_local()
    }
}

/// `fetch` with the permits of an object: a request holds one until the headers of its reply have arrived.
pub struct PermittedFetch(pub Permits);

impl Http for PermittedFetch {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let permits = self.0.clone();
        async move {
            let _permit = permits.acquire().await;
            Fetch.send(request).await
        }
        .boxed_local()
    }
}

async fn fetch(request: Rc<HttpRequest>) -> worker::Result<HttpReply> {
    let mut init = RequestInit::new();
    for (name, value) in &request.headers {
        init.headers.set(name, value)?;
    }
    let method = match request.method {
        Method::Get => worker::Method::Get,
        Method::Post => worker::Method::Post,
        Method::Delete => worker::Method::Delete,
    };
    init.with_method(method).with_redirect(RequestRedirect::Manual);
    if !request.body.is_empty() {
        init.with_body(Some(Uint8Array::from(request.body.as_slice()).into()));
    }
    let abort = AbortOnDrop::default();
    let Some(signal) = abort.signal() else { return Err("no signal".into()) };
    let fetch = worker::Fetch::Request(Request::new_with_init(&request.url, &init)?);
    let response = fetch.send_with_signal(&signal).await?;
    Ok(reply(response, abort))
}

/// A reply of the platform. Dropping its body ends the request.
pub fn reply(mut response: Response, abort: AbortOnDrop) -> HttpReply {
    let body: HttpBody = match response.stream() {
        Ok(bytes) => Body::new(bytes, abort).boxed_local(),
        // A reply such as 204 has no body.
        Err(_) => empty().boxed_local(),
    };
    HttpReply { status: response.status_code(), headers: response.headers().entries().collect(), body }
}

/// Aborts a request when it is dropped. Dropping a future cancels nothing on the platform's side; the abort settles a
/// pending read at once, and the server sees it.
pub struct AbortOnDrop(Option<AbortController>);

impl Default for AbortOnDrop {
    fn default() -> Self {
        AbortOnDrop(Some(AbortController::default()))
    }
}

impl AbortOnDrop {
    /// The signal that the request listens to.
    pub fn signal(&self) -> Option<AbortSignal> {
        self.0.as_ref().map(AbortController::signal)
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}

/// The body of a reply, which aborts its request when it is dropped.
pub struct Body {
    bytes: ByteStream,
    _abort: AbortOnDrop,
}

impl Body {
    pub fn new(bytes: ByteStream, abort: AbortOnDrop) -> Self {
        Body { bytes, _abort: abort }
    }
}

impl Stream for Body {
    type Item = Result<Vec<u8>, Unreachable>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.bytes.poll_next_unpin(context).map(|read| read.map(|read| read.map_err(|_| Unreachable)))
    }
}
