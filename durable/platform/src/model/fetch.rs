//! The platform's `fetch` as a transport, and the models that the variables configure.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use futures::stream::empty;
use futures::{FutureExt, Stream, StreamExt};
use js_sys::Uint8Array;
use wasm_bindgen::JsCast;
use worker::{
    AbortController, AbortSignal, ByteStream, Env, Fetch, Method, Request, RequestInit, RequestRedirect,
};

use super::demo::DemoModel;
use super::http::{HttpEndpoint, Response, Transport, Unreachable};
use super::route::{Endpoint, Outside, RoutedModel};
use super::workers_ai::AiTransport;
use bindings::env::{AI, binding};
use engine::ports::{Clock, Model};
use providers::HttpRequest;
use providers::breaker::Breaker;
use providers::config::{Configuration, Provider, Wire};
use providers::permits::{FETCHES, Permits};
use providers::retry::RetryHints;

/// What an object has in common for all its calls.
#[derive(Clone)]
pub struct Connections {
    pub permits: Permits,
    pub breaker: Breaker,
}

impl Default for Connections {
    fn default() -> Self {
        Connections { permits: Permits::new(FETCHES), breaker: Breaker::default() }
    }
}

/// The models that are configured.
pub fn serving(
    configuration: &Configuration,
    connections: &Connections,
    clock: &Rc<dyn Clock>,
    env: &Env,
) -> Rc<dyn Model> {
    let endpoint = |provider: &Provider| -> Rc<dyn Endpoint> {
        let Some(codec) = provider.wire.codec() else { return Rc::new(DemoModel::new(Rc::clone(clock))) };
        let transport: Rc<dyn Transport> = match provider.wire {
            Wire::WorkersAi => Rc::new(AiTransport(binding(env, AI).unchecked_into())),
            _ => Rc::new(FetchTransport),
        };
        Rc::new(HttpEndpoint {
            codec,
            headers: provider.headers.clone(),
            patience: configuration.patience,
            transport,
            clock: Rc::clone(clock),
            permits: connections.permits.clone(),
        })
    };
    let providers = configuration.providers.iter();
    let endpoints = providers.map(|(name, provider)| (name.clone(), endpoint(provider))).collect();
    let outside = Outside {
        clock: Rc::clone(clock),
        random: Rc::new(js_sys::Math::random),
        warn: Rc::new(|line| worker::console_warn!("{line}")),
        breaker: connections.breaker.clone(),
    };
    Rc::new(RoutedModel::new(endpoints, outside))
}

/// `fetch`. No redirect is followed: it would send the conversation to an address that nobody configured.
struct FetchTransport;

impl Transport for FetchTransport {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<Response, Unreachable>> {
        fetch(request).map(|answer| answer.map_err(|_| Unreachable)).boxed_local()
    }
}

async fn fetch(request: Rc<HttpRequest>) -> worker::Result<Response> {
    let HttpRequest { url, headers, body } = request.as_ref();
    let (response, body) = exchange(Method::Post, url, headers, body).await?;
    let status = response.status_code();
    let header = |name| response.headers().get(name).ok().flatten();
    let hints = RetryHints { retry_after: header("retry-after"), retry_after_ms: header("retry-after-ms") };
    Ok(Response { status, hints, body })
}

/// One request. Completes when the headers of the answer are there; its body comes beside it. Redirects are not
/// followed, and dropping this or the body ends the request.
pub async fn exchange(
    method: Method,
    url: &str,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> worker::Result<(worker::Response, super::http::Body)> {
    let mut init = RequestInit::new();
    for (name, value) in headers {
        init.headers.set(name, value)?;
    }
    init.with_method(method).with_redirect(RequestRedirect::Manual);
    if !body.is_empty() {
        init.with_body(Some(Uint8Array::from(body).into()));
    }
    let abort = AbortOnDrop::default();
    let Some(signal) = abort.signal() else { return Err("no signal".into()) };
    let request = Fetch::Request(Request::new_with_init(url, &init)?);
    let mut response = request.send_with_signal(&signal).await?;
    let body = body_of(&mut response, abort);
    Ok((response, body))
}

/// The body of an answer. Dropping it ends the request.
pub fn body_of(response: &mut worker::Response, abort: AbortOnDrop) -> super::http::Body {
    match response.stream() {
        Ok(bytes) => Body::new(bytes, abort).boxed_local(),
        // Answers such as 204 have none.
        Err(_) => empty().boxed_local(),
    }
}

/// Dropping a future cancels nothing on the platform's side: the request goes on until this ends it, which settles a
/// pending read at once, and the server sees it.
pub struct AbortOnDrop(Option<AbortController>);

impl Default for AbortOnDrop {
    fn default() -> Self {
        AbortOnDrop(Some(AbortController::default()))
    }
}

impl AbortOnDrop {
    /// What the request is given, so that it hears of its end.
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

/// The body of an answer, with what ends the request when nobody reads on.
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
