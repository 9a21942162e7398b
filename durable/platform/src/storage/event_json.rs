//! An event as JSON. An event is serialised once, here: its row, the live log and each reader have the same bytes. Pure.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};
use wire::protocol::{CallStatus, Event};

/// An event as JSON.
#[derive(Debug)]
pub struct EventJson {
    /// Its `type`.
    pub kind: Cow<'static, str>,
    pub json: Box<RawValue>,
    /// The model call that it ends or resets: all text of that call is written.
    pub settled_call: Option<String>,
}

impl EventJson {
    /// Serialises an event. It consumes the event, which is not serialised again.
    pub fn new(event: Event) -> Result<Self, serde_json::Error> {
        let (kind, json) = (event.kind().into(), to_raw_value(&event)?);
        let settled_call = match event {
            Event::ModelCallUpdate { model_call_id, status: CallStatus::End, .. }
            | Event::ModelCallReset { model_call_id, .. } => Some(model_call_id),
            _ => None,
        };
        Ok(EventJson { kind, json, settled_call })
    }

    /// An event that is stored.
    pub fn stored(kind: Cow<'_, str>, json: &RawValue) -> Self {
        EventJson { kind: kind.into_owned().into(), json: json.to_owned(), settled_call: None }
    }

    /// Its members, and the brace that ends them. A JSON object of an event has at least its type.
    pub fn members(&self) -> &str {
        let json = self.json.get();
        json.strip_prefix('{').unwrap_or(json)
    }
}
