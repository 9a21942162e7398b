//! Requests to a thread's object.

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
