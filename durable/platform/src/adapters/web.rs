//! The platform's browsers and character sets, for the web tools.

use crate::respond::misconfigured;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use js_sys::{JSON, Object, Promise, Reflect, Uint8Array};
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, web_sys};

use crate::compose::tool_users;
use crate::fetch::{AbortOnDrop, PermittedFetch, reply};
use crate::thread::Thread;
use bindings::env::{binding, is_bound};
use engine::toolbelt::ToolPolicy;
use features::Resources;
use features::web::{Browser, Charsets, Config, Decode, WebPorts};
use wire::http::{HttpReply, Unreachable};
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

/// Adds the web, as far as the user may fetch from it.
pub fn provide(
    resources: &mut Resources,
    thread: &Thread,
    owner: &Owner,
    _: &str,
    _: &ToolPolicy,
) -> Result<(), ApiError> {
    resources.web = Some(ports(thread, owner)?);
    Ok(())
}

/// Posts JSON to an address that a user of this thread chose.
pub async fn post(thread: &Thread, owner: &Owner, url: &str, body: Vec<u8>) -> Result<(), String> {
    let ports = ports(thread, owner).map_err(|error| error.into_detail())?;
    features::web::post(&ports, &thread.clock, url, body).await
}

fn ports(thread: &Thread, owner: &Owner) -> Result<WebPorts, ApiError> {
    let config = thread.deployment.once(|var| Config::from_env(var).map_err(|problems| problems.join(" ")));
    let config = config.map_err(misconfigured)?.as_ref().clone();
    let may_all = tool_users(&thread.deployment)?.may_fetch_private_hosts(owner);
    let browser = QuickActions::new(&thread.env).map(|browser| Rc::new(browser) as Rc<dyn Browser>);
    Ok(WebPorts {
        http: Rc::new(PermittedFetch(thread.connections.permits.clone())),
        charsets: Rc::new(TextDecoders),
        browser,
        config: if may_all { config } else { config.public_alone() },
    })
}

/// The platform's `TextDecoder`.
struct TextDecoders;

impl Charsets for TextDecoders {
    fn decoder(&self, charset: &str) -> Option<Box<dyn Decode>> {
        let decoder = TextDecoder::new(charset).ok()?;
        Some(Box::new(Platform(decoder)))
    }
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
    fn markdown(&self, options: &Value) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        let asked = JSON::parse(&options.to_string())
            .and_then(|options| self.0.quick_action("markdown", &options))
            .map(JsFuture::from);
        async move {
            let answer = asked.map_err(|_| Unreachable)?.await.map_err(|_| Unreachable)?;
            let answer: web_sys::Response = answer.dyn_into().map_err(|_| Unreachable)?;
            Ok(reply(answer, AbortOnDrop::default()))
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
        // Decoding does not fail either: the decoder replaces invalid bytes.
        self.0.decode(&Uint8Array::from(bytes), &options).unwrap_or_default()
    }
}
