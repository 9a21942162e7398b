//! Workers AI's binding as the port [`Http`]: `AI.run(model, inputs, {signal})`, a call of JavaScript, in the form of a
//! request and its reply (`providers/workers_ai` says how).
//!
//! The extern is our own, because worker's takes no signal. Without one an abandoned call goes on and is billed.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::{LocalBoxFuture, ready};
use futures::stream::once;
use futures::{FutureExt, Stream, StreamExt};
use js_sys::{JSON, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use worker::ByteStream;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::ReadableStream;

use crate::fetch::AbortOnDrop;
use providers::workers_ai::{as_stream, thrown};
use wire::http::{Http, HttpBody, HttpReply, HttpRequest, Unreachable};

#[wasm_bindgen]
extern "C" {
    /// The binding.
    #[derive(Clone)]
    pub type Ai;

    #[wasm_bindgen(method, catch)]
    fn run(this: &Ai, model: &str, inputs: &JsValue, options: &Object) -> Result<Promise, JsValue>;
}

/// The binding. The address of a request is the name of the model.
pub struct AiBinding(pub Ai);

impl Http for AiBinding {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        run(self.0.clone(), request).map(|answer| answer.map_err(|_| Unreachable)).boxed_local()
    }
}

async fn run(ai: Ai, request: Rc<HttpRequest>) -> Result<HttpReply, JsValue> {
    let inputs = JSON::parse(&String::from_utf8_lossy(&request.body))?;
    let abort = AbortOnDrop::default();
    let options = Object::new();
    if let Some(signal) = abort.signal() {
        Reflect::set(&options, &JsValue::from_str("signal"), &signal)?;
    }
    let answer = match ai.run(&request.url, &inputs, &options) {
        Ok(promise) => JsFuture::from(promise).await,
        Err(error) => Err(error),
    };
    let (status, body): (u16, HttpBody) = match answer.map(JsCast::dyn_into) {
        Ok(Ok(stream)) => (200, Body { bytes: ReadableStream::into(stream), _abort: abort }.boxed_local()),
        // A model that does not stream answers at once.
        Ok(Err(whole)) => {
            let json = JSON::stringify(&whole)?.as_string().unwrap_or_default();
            (200, once(ready(Ok(as_stream(&json)))).boxed_local())
        }
        Err(error) => {
            let message = Reflect::get(&error, &JsValue::from_str("message")).unwrap_or_default();
            let (status, body) = thrown(&message.as_string().unwrap_or_default());
            (status, once(ready(Ok(body))).boxed_local())
        }
    };
    Ok(HttpReply { status, headers: Vec::new().into(), body })
}

/// The body of an answer, which ends its call when it is dropped.
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
