//! The platform's `fetch` as a transport, and the model that the variables configure.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use futures::stream::{LocalBoxStream, empty, once};
use futures::{FutureExt, Stream, StreamExt};
use js_sys::Uint8Array;
use worker::{AbortController, ByteStream, Fetch, Method, Request, RequestInit, RequestRedirect};

use super::demo::DemoModel;
use super::http::{Answer, HttpModel, Transport, Unreachable};
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use crate::ports::{Clock, Model};
use crate::providers::HttpRequest;
use crate::providers::config::{Configuration, Provider};
use crate::providers::permits::{FETCHES, Permits};

/// The models that are configured.
pub fn serving(configuration: &Configuration, clock: Rc<dyn Clock>) -> Rc<dyn Model> {
    let permits = Permits::new(FETCHES);
    let model = |provider: &Provider| -> Rc<dyn Model> {
        match provider.wire.codec() {
            None => Rc::new(DemoModel::new(Rc::clone(&clock))),
            Some(codec) => {
                let transport = Rc::new(FetchTransport);
                Rc::new(HttpModel::new(
                    codec,
                    provider.headers.clone(),
                    transport,
                    Rc::clone(&clock),
                    permits.clone(),
                ))
            }
        }
    };
    let providers = configuration.providers.iter();
    Rc::new(ByProvider(providers.map(|(name, provider)| (name.clone(), model(provider))).collect()))
}

/// Each provider's models, by the provider's name.
struct ByProvider(BTreeMap<String, Rc<dyn Model>>);

impl Model for ByProvider {
    fn call(&self, request: &ModelRequest) -> LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>> {
        match self.0.get(&request.model.provider) {
            Some(model) => model.call(request),
            None => {
                let message = "The model's provider is not configured any more.".to_owned();
                let error = ModelError { kind: ModelErrorKind::Auth, message };
                once(async { Err(error) }).boxed_local()
            }
        }
    }
}

/// `fetch`. No redirect is followed: it would send the conversation to an address that nobody configured.
struct FetchTransport;

impl Transport for FetchTransport {
    fn send(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<Answer, Unreachable>> {
        fetch(request).map(|answer| answer.map_err(|_| Unreachable)).boxed_local()
    }
}

async fn fetch(request: HttpRequest) -> worker::Result<Answer> {
    let mut init = RequestInit::new();
    for (name, value) in &request.headers {
        init.headers.set(name, value)?;
    }
    init.with_method(Method::Post)
        .with_redirect(RequestRedirect::Manual)
        .with_body(Some(Uint8Array::from(request.body.as_slice()).into()));
    let abort = AbortOnDrop(Some(AbortController::default()));
    let Some(signal) = abort.0.as_ref().map(AbortController::signal) else { return Err("no signal".into()) };
    let request = Fetch::Request(Request::new_with_init(&request.url, &init)?);
    let mut response = request.send_with_signal(&signal).await?;
    let status = response.status_code();
    let body: LocalBoxStream<'static, _> = match response.stream() {
        Ok(bytes) => Body { bytes, _abort: abort }.boxed_local(),
        // Answers such as 204 have none.
        Err(_) => empty().boxed_local(),
    };
    Ok(Answer { status, body })
}

/// Dropping a future cancels nothing on the platform's side: the request goes on until this ends it, which settles a
/// pending read at once, and the server sees it.
struct AbortOnDrop(Option<AbortController>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(controller) = self.0.take() {
            controller.abort();
        }
    }
}

/// The body of an answer, with what ends the request when nobody reads on.
struct Body {
    bytes: ByteStream,
    _abort: AbortOnDrop,
}

impl Stream for Body {
    type Item = Result<Vec<u8>, Unreachable>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.bytes.poll_next_unpin(context).map(|read| read.map(|read| read.map_err(|_| Unreachable)))
    }
}
