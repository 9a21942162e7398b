//! Variables and secrets, as text, and bindings.

use js_sys::{JSON, Reflect};
use wasm_bindgen::JsValue;
use worker::Env;

/// Workers AI's binding.
pub const AI: &str = "AI";
/// Vectorize's binding. The index needs the dimensions of the embedding model, and a metadata index on the string `scope`.
pub const VECTORS: &str = "VECTORS";

/// A binding by its name; undefined if it is missing.
pub fn binding(env: &Env, name: &str) -> JsValue {
    Reflect::get(env, &JsValue::from_str(name)).unwrap_or_default()
}

/// Whether there is a binding of this name.
pub fn is_bound(env: &Env, name: &str) -> bool {
    binding(env, name).is_object()
}

/// Reads a variable or secret. Wrangler passes a number, a boolean or a table of `wrangler.toml` as a JavaScript value.
/// This function turns such a value into JSON, so `LIMITS = { subtasks = 8 }` means the same as the text `{"subtasks":
/// 8}`.
pub fn var(env: &Env, name: &str) -> Option<String> {
    let value = Reflect::get(env, &JsValue::from_str(name)).ok()?;
    if value.is_undefined() || value.is_null() {
        return None;
    }
    let text = value.as_string();
    text.or_else(|| JSON::stringify(&value).ok()?.as_string())
}
