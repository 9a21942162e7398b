//! The platform's `fetch` and its character sets, for tools. Where a tool may go, its guard says.

use futures::future::LocalBoxFuture;
use futures::stream::empty;
use futures::{FutureExt, StreamExt};
use js_sys::{Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::{Fetch, Method, Request, RequestInit, RequestRedirect};

use super::model::{AbortOnDrop, Body};
use crate::ports::{Decode, Unreachable, Web, WebReply, WebRequest};
use crate::providers::permits::Permits;

#[wasm_bindgen]
extern "C" {
    type TextDecoder;

    #[wasm_bindgen(constructor, catch)]
    fn new(label: &str) -> Result<TextDecoder, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn decode(this: &TextDecoder, bytes: &Uint8Array, options: &Object) -> Result<String, JsValue>;
}

/// `fetch`, with the permits of an object: held until the headers are there.
pub struct FetchWeb(pub Permits);

impl Web for FetchWeb {
    fn send(&self, request: WebRequest) -> LocalBoxFuture<'static, Result<WebReply, Unreachable>> {
        let permits = self.0.clone();
        async move {
            let _permit = permits.acquire().await;
            fetch(request).await.map_err(|_| Unreachable)
        }
        .boxed_local()
    }

    fn decoder(&self, charset: &str) -> Option<Box<dyn Decode>> {
        let decoder = TextDecoder::new(charset).ok()?;
        Some(Box::new(Platform(decoder)))
    }
}

async fn fetch(request: WebRequest) -> worker::Result<WebReply> {
    let mut init = RequestInit::new();
    for (name, value) in &request.headers {
        init.headers.set(name, value)?;
    }
    init.with_redirect(RequestRedirect::Manual);
    if let Some(body) = &request.body {
        init.with_method(Method::Post).with_body(Some(Uint8Array::from(body.as_slice()).into()));
    }
    let abort = AbortOnDrop::default();
    let Some(signal) = abort.signal() else { return Err("no signal".into()) };
    let request = Fetch::Request(Request::new_with_init(&request.url, &init)?);
    let mut response = request.send_with_signal(&signal).await?;
    let header = |name| response.headers().get(name).ok().flatten();
    let (content_type, location) = (header("content-type"), header("location"));
    let status = response.status_code();
    let body = match response.stream() {
        Ok(bytes) => Body::new(bytes, abort).boxed_local(),
        // Answers such as 204 have none.
        Err(_) => empty().boxed_local(),
    };
    Ok(WebReply { status, content_type, location, body })
}

struct Platform(TextDecoder);

impl Decode for Platform {
    fn decode(&mut self, bytes: &[u8], last: bool) -> String {
        let options = Object::new();
        // Setting a member of a plain object does not fail.
        let _ = Reflect::set(&options, &"stream".into(), &(!last).into());
        // Nor does decoding: what is no text is replaced.
        self.0.decode(&Uint8Array::from(bytes), &options).unwrap_or_default()
    }
}
