//! The platform's `fetch` as the port [`Http`].
//!
//! A call between wasm and JavaScript costs more than most of the work behind it. So JavaScript reads the body of a
//! provider's answer ahead, up to 64 KB, and hands it over in batches, at most one in 5 ms
//! (`platform/src/fetch/batches.js`). An answer that came to its end is not aborted, and its connection serves the
//! next request. The executor of futures schedules its tasks as reactions of promises (`src/microtasks.js`), which
//! cost V8 less than workerd's `queueMicrotask`.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::LocalBoxFuture;
use futures::stream::empty;
use futures::{FutureExt, Stream, StreamExt, ready};
use js_sys::{Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{ReadableStream, Response};
use worker::{AbortController, AbortSignal};

use providers::permits::Permits;
use wire::http::{Headers, Http, HttpBody, HttpReply, HttpRequest, Method, Unreachable};

// worker's and web-sys' own types make a native object of each step: a Request, its Headers, an iterator. These calls
// happen for each model request and for each read, so the externs here hand over plain objects.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = fetch, catch)]
    fn fetch_from(url: &str, init: &Object) -> Result<Promise, JsValue>;

}

#[wasm_bindgen(module = "/src/fetch/batches.js")]
extern "C" {
    type Batches;

    #[wasm_bindgen(constructor)]
    fn new(body: &ReadableStream) -> Batches;

    #[wasm_bindgen(method)]
    fn next(this: &Batches) -> Promise;

    #[wasm_bindgen(method)]
    fn complete(this: &Batches) -> bool;

    #[wasm_bindgen(method)]
    fn stop(this: &Batches);
}

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

async fn fetch(request: Rc<HttpRequest>) -> Result<HttpReply, JsValue> {
    let method = match request.method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Delete => "DELETE",
    };
    let abort = AbortOnDrop::default();
    let headers = Object::new();
    let named = request.named.iter().map(|(name, value)| (name.as_str(), value));
    for (name, value) in request.headers.iter().map(|(name, value)| (*name, value)).chain(named) {
        set(&headers, name, &value.as_str().into())?;
    }
    let init = Object::new();
    set(&init, "method", &method.into())?;
    set(&init, "headers", &headers)?;
    set(&init, "redirect", &"manual".into())?;
    if let Some(signal) = abort.signal() {
        set(&init, "signal", &signal)?;
    }
    if !request.body.is_empty() {
        set(&init, "body", &Uint8Array::from(request.body.as_slice()))?;
    }
    let response = JsFuture::from(fetch_from(&request.url, &init)?).await?;
    Ok(reply(response.unchecked_into(), abort))
}

fn set(object: &Object, name: &str, value: &JsValue) -> Result<(), JsValue> {
    Reflect::set(object, &name.into(), value).map(drop)
}

/// A reply of the platform. Dropping its body ends the request.
pub fn reply(response: Response, abort: AbortOnDrop) -> HttpReply {
    let body: HttpBody = match response.body() {
        Some(stream) => Body { batches: Batches::new(&stream), next: None, abort }.boxed_local(),
        // A reply such as 204 has no body.
        None => empty().boxed_local(),
    };
    let (status, headers) = (response.status(), response.headers());
    HttpReply { status, headers: Headers::new(move |name| headers.get(name).ok().flatten()), body }
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

/// The body of a reply. Dropping it ends the request, unless all of it was read: the connection serves the next request
/// then.
struct Body {
    batches: Batches,
    next: Option<JsFuture>,
    abort: AbortOnDrop,
}

impl Stream for Body {
    type Item = Result<Vec<u8>, Unreachable>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let body = &mut *self;
        let next = body.next.get_or_insert_with(|| JsFuture::from(body.batches.next()));
        let batch = ready!(next.poll_unpin(context));
        body.next = None;
        Poll::Ready(match batch {
            Ok(batch) => batch.dyn_into::<Uint8Array>().ok().map(|bytes| Ok(bytes.to_vec())),
            Err(_) => Some(Err(Unreachable)),
        })
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.batches.stop();
        if self.batches.complete() {
            self.abort.0 = None;
        }
    }
}
