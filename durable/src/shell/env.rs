//! Variables and secrets, as text.

use js_sys::{JSON, Reflect};
use wasm_bindgen::JsValue;
use worker::Env;

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
