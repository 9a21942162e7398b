//! The platform's `fetch` as a transport, and the model that the variables configure.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use futures::stream::{LocalBoxStream, empty};
use futures::{FutureExt, Stream, StreamExt};
use js_sys::Uint8Array;
use worker::{AbortController, ByteStream, Env, Fetch, Method, Request, RequestInit, RequestRedirect};

use super::demo::DemoModel;
use super::http::{Answer, HttpModel, Transport, Unreachable};
use crate::model::ModelChoice;
use crate::ports::{Clock, Model};
use crate::providers::HttpRequest;
use crate::providers::config::{Configuration, Provider};
use crate::providers::permits::{FETCHES, Permits};

/// The model that the variables configure, or all that is wrong with them, for the operator to read.
pub fn configured(env: &Env, clock: Rc<dyn Clock>) -> Result<(ModelChoice, Rc<dyn Model>), Vec<String>> {
    let configuration = Configuration::from_env(|name| env.var(name).ok().map(|value| value.to_string()))?;
    let model: Rc<dyn Model> = match configuration.provider {
        Provider::Demo => Rc::new(DemoModel::new(clock)),
        Provider::OpenAiChat(codec) => {
            Rc::new(HttpModel::new(Rc::new(codec), Rc::new(FetchTransport), clock, Permits::new(FETCHES)))
        }
    };
    Ok((configuration.choice, model))
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
