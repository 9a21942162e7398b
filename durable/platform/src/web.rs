//! The platform's `fetch`, browsers and character sets, for tools. Where a tool may go, its guard says.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use js_sys::{JSON, Object, Promise, Reflect, Uint8Array};
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, Method, Response, web_sys};

use super::compose::{misconfigured, tool_users};
use super::model::http::Body;
use super::model::{AbortOnDrop, body_of, exchange};
use super::thread::Thread;
use bindings::env::{binding, is_bound, var};
use features::web::{Browser, Config, Decode, Outside, Unreachable, Web, WebReply, WebRequest};
use providers::permits::Permits;
use wire::protocol::{ApiError, Owner};

#[wasm_bindgen]
extern "C" {
    type BrowserRun;

    #[wasm_bindgen(method, catch, js_name = quickAction)]
    fn quick_action(this: &BrowserRun, action: &str, options: &JsValue) -> Result<Promise, JsValue>;

    type TextDecoder;

    #[wasm_bindgen(constructor, catch)]
    fn new(label: &str) -> Result<TextDecoder, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn decode(this: &TextDecoder, bytes: &Uint8Array, options: &Object) -> Result<String, JsValue>;
}

/// The ways to the web for the tools of this user.
pub fn outside(thread: &Thread, owner: &Owner) -> Result<Outside, ApiError> {
    let config = Config::from_env(|name| var(&thread.env, name));
    let config = config.map_err(|problems| misconfigured(problems.join(" ")))?;
    let may_fetch_private_hosts = tool_users(&thread.env)?.may_fetch_private_hosts(owner);
    Ok(Outside {
        web: Rc::new(FetchWeb(thread.connections.permits.clone())),
        browser: QuickActions::new(&thread.env).map(|browser| Rc::new(browser) as Rc<_>),
        config: if may_fetch_private_hosts { config } else { config.public_alone() },
    })
}

/// `fetch`, with the permits of an object: held until the headers are there.
struct FetchWeb(Permits);

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
    Ok(reply(&response, body))
}

fn reply(response: &Response, body: Body) -> WebReply {
    let header = |name| response.headers().get(name).ok().flatten();
    let (content_type, location) = (header("content-type"), header("location"));
    let body = body.map(|read| read.map_err(|_| Unreachable)).boxed_local();
    WebReply { status: response.status_code(), content_type, location, body }
}

/// Cloudflare's browsers, by the binding `BROWSER`:
/// <https://developers.cloudflare.com/changelog/post/2026-05-28-use-browser-run-quick-actions-directly-from-workers/>.
struct QuickActions(BrowserRun);

const BROWSER: &str = "BROWSER";

impl QuickActions {
    /// None where no browser is bound.
    fn new(env: &Env) -> Option<Self> {
        is_bound(env, BROWSER).then(|| QuickActions(binding(env, BROWSER).unchecked_into()))
    }
}

impl Browser for QuickActions {
    fn markdown(&self, options: &Value) -> LocalBoxFuture<'static, Result<WebReply, Unreachable>> {
        let asked = JSON::parse(&options.to_string())
            .and_then(|options| self.0.quick_action("markdown", &options))
            .map(JsFuture::from);
        async move {
            let answer = asked.map_err(|_| Unreachable)?.await.map_err(|_| Unreachable)?;
            let answer: web_sys::Response = answer.dyn_into().map_err(|_| Unreachable)?;
            let mut response = Response::from(answer);
            let body = body_of(&mut response, AbortOnDrop::default());
            Ok(reply(&response, body))
        }
        .boxed_local()
    }
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
