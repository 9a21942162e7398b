//! The platform's `fetch` and its character sets, for tools. Where a tool may go, its guard says.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use js_sys::{Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::Method;

use super::model::exchange;
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
    let method = if request.body.is_some() { Method::Post } else { Method::Get };
    let body = request.body.as_deref().unwrap_or_default();
    let (response, body) = exchange(method, &request.url, &request.headers, body).await?;
    let header = |name| response.headers().get(name).ok().flatten();
    let (content_type, location) = (header("content-type"), header("location"));
    Ok(WebReply { status: response.status_code(), content_type, location, body })
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
