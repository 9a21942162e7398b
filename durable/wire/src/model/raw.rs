//! Messages in their providers' own form, and raw JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ModelChoice;

/// An assistant message as its provider wrote it. Codecs return it only to the same model of the same provider over the
/// same API: other models refuse foreign reasoning (Mistral, OpenAI) or cannot read it (Anthropic).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RawMessage {
    pub provider: String,
    /// The codec's name for its wire.
    #[serde(default)]
    pub wire: String,
    #[serde(default)]
    pub model: String,
    /// The JSON of the message: unknown fields, signatures and order as they came.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    pub json: RawValueEq,
    /// Whether messages before it have been left out or replaced since. Reasoning that its provider binds to them is
    /// invalid then.
    #[serde(skip)]
    pub is_cut_off: bool,
}

impl RawMessage {
    /// A message that this model sent over this API.
    pub fn of(choice: &ModelChoice, wire: &str, json: RawValueEq) -> Self {
        let (provider, model) = (choice.provider.clone(), choice.model.clone());
        RawMessage { provider, wire: wire.to_owned(), model, json, is_cut_off: false }
    }

    /// The message, if this model sent it over this API and all messages before it are as they were.
    pub fn for_model(&self, choice: &ModelChoice, wire: &str) -> Option<&RawValue> {
        self.of_model(choice, wire).filter(|_| !self.is_cut_off)
    }

    /// The message, if this model sent it over this API.
    pub fn of_model(&self, choice: &ModelChoice, wire: &str) -> Option<&RawValue> {
        let same = self.provider == choice.provider && self.wire == wire && self.model == choice.model;
        same.then_some(&*self.json.0)
    }
}

/// A [`RawValue`] that compares by its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawValueEq(pub Box<RawValue>);

impl PartialEq for RawValueEq {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Stores raw JSON as a string: serde reads tagged and flattened types through a buffer that cannot hold raw JSON, so
/// it could write such a journal entry and then fail to read it.
pub mod as_text {
    use std::borrow::Borrow;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use serde_json::value::RawValue;

    use super::RawValueEq;

    /// The text of the JSON.
    pub fn serialize<S: Serializer>(raw: &impl Borrow<RawValueEq>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(raw.borrow().0.get())
    }

    /// The JSON of a text, byte for byte.
    pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: From<RawValueEq>,
    {
        let text = String::deserialize(deserializer)?;
        RawValue::from_string(text).map(|raw| RawValueEq(raw).into()).map_err(D::Error::custom)
    }
}
