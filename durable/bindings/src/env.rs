//! Variables and secrets, as text, and bindings.

use js_sys::{JSON, Reflect};
use wasm_bindgen::JsValue;
use worker::Env;

/// Workers AI's binding.
pub const AI: &str = "AI";

/// A binding by its name; undefined where it is not there.
pub fn binding(env: &Env, name: &str) -> JsValue {
    Reflect::get(env, &JsValue::from_str(name)).unwrap_or_default()
}

/// Whether there is a binding of this name.
pub fn is_bound(env: &Env, name: &str) -> bool {
    binding(env, name).is_object()
}

/// A variable or secret by its name. Wrangler hands a number, a boolean or a table of `wrangler.toml` over as what it
/// is: such a one is its JSON, so that `LIMITS = { subtasks = 8 }` says the same as the text `{"subtasks": 8}`.
pub fn var(env: &Env, name: &str) -> Option<String> {
    let value = Reflect::get(env, &JsValue::from_str(name)).ok()?;
    if value.is_undefined() || value.is_null() {
        return None;
    }
    let text = value.as_string();
    text.or_else(|| JSON::stringify(&value).ok()?.as_string())
}
