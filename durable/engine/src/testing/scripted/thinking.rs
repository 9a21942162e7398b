//! The messages of a model that thinks.

use serde_json::value::RawValue;

use wire::model::{ModelChoice, RawMessage, RawValueEq};

/// The provider's message of a step.
pub(super) fn thought(step: usize) -> RawMessage {
    let json = RawValue::from_string(format!("[{{\"thinking\":\"{step}\"}}]")).unwrap();
    RawMessage::of(&ModelChoice::new("scripted", "m1"), "scripted", RawValueEq(json))
}
