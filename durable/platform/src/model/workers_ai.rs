//! Workers AI's binding as a transport: `AI.run(model, inputs, {signal})`, a call of JavaScript, in the form of a request
//! and its response (`providers/workers_ai` says how).
//!
//! An extern of our own, since worker's takes no signal: without one a call that nobody waits for goes on and is paid.

use std::rc::Rc;

use futures::future::{LocalBoxFuture, ready};
use futures::stream::{LocalBoxStream, once};
use futures::{FutureExt, StreamExt};
use js_sys::{JSON, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::ReadableStream;

use super::fetch::{AbortOnDrop, Body};
use super::http::{Response, Transport, Unreachable};
use providers::HttpRequest;
use providers::retry::RetryHints;
use providers::workers_ai::{as_stream, thrown};

#[wasm_bindgen]
extern "C" {
    /// The binding.
    #[derive(Clone)]
    pub type Ai;

    #[wasm_bindgen(method, catch)]
    fn run(this: &Ai, model: &str, inputs: &JsValue, options: &Object) -> Result<Promise, JsValue>;
}

/// The binding, as something that requests can be sent to.
pub struct AiTransport(pub Ai);

impl Transport for AiTransport {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<Response, Unreachable>> {
        run(self.0.clone(), request).map(|answer| answer.map_err(|_| Unreachable)).boxed_local()
    }
}

async fn run(ai: Ai, request: Rc<HttpRequest>) -> Result<Response, JsValue> {
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
    let (status, body): (u16, LocalBoxStream<'static, _>) = match answer.map(JsCast::dyn_into) {
        Ok(Ok(stream)) => (200, Body::new(ReadableStream::into(stream), abort).boxed_local()),
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
    Ok(Response { status, hints: RetryHints::default(), body })
}
