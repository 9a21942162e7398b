//! Requests to a thread's object.

use serde::de::DeserializeOwned;
use wire::protocol::ThreadEnvelope;
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsCast;
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{Request, RequestInit, Response};
use worker::worker_sys::DurableObject;
use worker::{Env, Result};

use crate::problem::Failure;

/// Asks the object and returns its very response. `worker`'s own types would rebuild it around the stream.
pub async fn ask(env: &Env, envelope: &ThreadEnvelope) -> std::result::Result<Response, Failure> {
    send(env, envelope).await.map_err(Failure::internal("asking a thread's object"))
}

async fn send(env: &Env, envelope: &ThreadEnvelope) -> Result<Response> {
    let name = envelope.owner.object_name(envelope.thread_id);
    let object: DurableObject = env.durable_object("THREADS")?.get_by_name(&name)?.into_rpc();
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_body(&Uint8Array::from(serde_json::to_vec(envelope)?.as_slice()));
    // The stub chooses the object; the host is a placeholder.
    let request = Request::new_with_str_and_init("https://thread/", &init)?;
    let response = JsFuture::from(object.fetch_with_request(&request)?).await?;
    Ok(response.dyn_into()?)
}

/// Reads the text of an object's answer.
pub async fn text(response: &Response) -> String {
    let text = async { JsFuture::from(response.text()?).await };
    text.await.ok().and_then(|text| text.as_string()).unwrap_or_default()
}

/// Reads the JSON of an object's answer.
pub async fn read<T: DeserializeOwned>(response: &Response) -> std::result::Result<T, Failure> {
    wire::json::from_str(&text(response).await).map_err(Failure::internal("reading an object's answer"))
}
