//! The messages of a model that thinks, and the key of each request.

use std::cell::RefCell;

use serde_json::value::RawValue;

use wire::model::{ModelChoice, RawMessage, RawValueEq};

thread_local!(static ASKING: RefCell<String> = const { RefCell::new(String::new()) });

/// Notes the key of the model call that the next request belongs to. The port does not tell it.
pub fn asking(at: &str) {
    ASKING.replace(at.to_owned());
}

/// The key of the model call that a request belongs to.
pub(super) fn asked() -> String {
    ASKING.take()
}

/// The provider's message of a step.
pub(super) fn thought(step: usize) -> RawMessage {
    let json = RawValue::from_string(format!("[{{\"thinking\":\"{step}\"}}]")).unwrap();
    RawMessage::of(&ModelChoice::new("scripted", "m1"), "scripted", RawValueEq(json))
}
