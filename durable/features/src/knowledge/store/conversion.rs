//! Converts PDFs to text by Workers AI's Markdown Conversion, if the binding exists. A library would have to be small,
//! and a panic on a broken file would stop all objects of the isolate.
//!
//! <https://developers.cloudflare.com/workers-ai/features/markdown-conversion/usage/binding/>

use std::time::Duration;

use futures::future::{Either, select};
use futures::pin_mut;
use js_sys::{Array, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Delay, Env};

use bindings::env::{AI, binding, is_bound};

/// The longest wait for a conversion.
const PATIENCE: Duration = Duration::from_secs(30);

const PDF: &str = "application/pdf";

/// Why a conversion failed.
#[derive(Debug)]
pub enum Unread {
    /// This deployment cannot read PDFs.
    NotHere,
    /// The file is unreadable.
    Broken,
    /// The service failed; the text is for the operator.
    Failed(String),
}

#[wasm_bindgen]
extern "C" {
    type Ai;
    #[wasm_bindgen(method, catch, js_name = toMarkdown)]
    fn to_markdown(this: &Ai, file: &Object) -> Result<Promise, JsValue>;

    type Blob;
    #[wasm_bindgen(constructor, catch)]
    fn new(parts: &Array, options: &Object) -> Result<Blob, JsValue>;
}

/// Whether this deployment can read PDFs.
pub fn reads_pdfs(env: &Env) -> bool {
    is_bound(env, AI)
}

/// A PDF's text, as Markdown.
pub async fn markdown_of_pdf(env: &Env, pdf: &[u8]) -> Result<String, Unread> {
    if !reads_pdfs(env) {
        return Err(Unread::NotHere);
    }
    if !pdf.starts_with(b"%PDF-") {
        return Err(Unread::Broken);
    }
    let ai: Ai = binding(env, AI).unchecked_into();
    let asked = ai.to_markdown(&file(pdf).map_err(failed)?).map_err(failed)?;
    let (converting, patience) = (JsFuture::from(asked), Delay::from(PATIENCE));
    pin_mut!(converting, patience);
    let answer = match select(converting, patience).await {
        Either::Left((answer, _)) => answer.map_err(failed)?,
        Either::Right(_) => return Err(Unread::Failed("no answer in time".to_owned())),
    };
    let member = |name: &str| Reflect::get(&answer, &name.into()).ok()?.as_string();
    match (member("format").as_deref(), member("data")) {
        (Some("markdown"), Some(text)) => Ok(text),
        (Some("error"), _) => Err(Unread::Broken),
        _ => Err(Unread::Failed("an answer that cannot be read".to_owned())),
    }
}

fn file(pdf: &[u8]) -> Result<Object, JsValue> {
    let options = Object::new();
    Reflect::set(&options, &"type".into(), &PDF.into())?;
    let blob = Blob::new(&Array::of1(&Uint8Array::from(pdf)), &options)?;
    let file = Object::new();
    Reflect::set(&file, &"name".into(), &"document.pdf".into())?;
    Reflect::set(&file, &"blob".into(), &blob)?;
    Ok(file)
}

fn failed(error: JsValue) -> Unread {
    let message = Reflect::get(&error, &"message".into()).unwrap_or_default();
    Unread::Failed(message.as_string().unwrap_or_default())
}
