//! An event of the stream as it stands on the wire. Of most events only the type and a delta are built.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Loose;

/// Any event. Which members it has depends on its type; those that are not named here say nothing new.
#[derive(Debug, Deserialize)]
pub struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    /// Which item of the output it is about.
    #[serde(default)]
    pub output_index: Option<u64>,
    /// The same by name, for servers that do not number items.
    #[serde(borrow, default)]
    pub item_id: Loose<'a>,
    #[serde(default)]
    pub summary_index: Option<u64>,
    #[serde(borrow, default)]
    pub delta: Loose<'a>,
    #[serde(borrow, default)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
}

/// The response at its end.
#[derive(Debug, Default, Deserialize)]
pub struct Response<'a> {
    #[serde(borrow, default)]
    pub output: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub incomplete_details: Option<Incomplete<'a>>,
    /// Raw, so that a usage of unknown shape costs the usage and not the reply.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub struct Incomplete<'a> {
    #[serde(borrow, default)]
    pub reason: Loose<'a>,
}

/// An item of the output: a message, a call, reasoning, or what nobody here knows.
#[derive(Debug, Default, Deserialize)]
pub struct WireItem<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow, default)]
    pub id: Loose<'a>,
    #[serde(borrow, default)]
    pub call_id: Loose<'a>,
    #[serde(borrow, default)]
    pub name: Loose<'a>,
    #[serde(borrow, default)]
    pub arguments: Loose<'a>,
    #[serde(borrow, default)]
    pub encrypted_content: Loose<'a>,
    /// Of a message, and of reasoning that is not hidden.
    #[serde(borrow, default)]
    pub content: Option<Vec<WirePart<'a>>>,
    #[serde(borrow, default)]
    pub summary: Option<Vec<WirePart<'a>>>,
}

#[derive(Debug, Deserialize)]
pub struct WirePart<'a> {
    #[serde(borrow, default)]
    pub text: Loose<'a>,
    #[serde(borrow, default)]
    pub refusal: Loose<'a>,
}

/// Counts that are absent or of another type are unknown, never an error.
#[derive(Debug, Deserialize)]
pub struct UsageCounts {
    #[serde(default)]
    pub input_tokens: Option<u64>,
    #[serde(default)]
    pub output_tokens: Option<u64>,
    #[serde(default)]
    pub input_tokens_details: Option<InputDetails>,
}

#[derive(Debug, Deserialize)]
pub struct InputDetails {
    #[serde(default)]
    pub cached_tokens: Option<u64>,
}
