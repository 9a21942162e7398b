//! An event of the stream. The codec reads only the type and the delta of most events.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Count, Few, Loose, lenient};

/// Any event. Its members depend on its type. The codec needs only these.
#[derive(Debug, Deserialize)]
pub struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    /// The index of its item in the output.
    #[serde(default)]
    pub output_index: Count,
    /// The id of its item, for servers without indices.
    #[serde(borrow, default)]
    pub item_id: Loose<'a>,
    #[serde(default)]
    pub summary_index: Count,
    #[serde(borrow, default)]
    pub delta: Loose<'a>,
    #[serde(borrow, default)]
    pub item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    /// Of a response that is the whole body, because the server did not stream.
    #[serde(borrow, default)]
    pub output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub status: Loose<'a>,
}

/// The response at its end.
#[derive(Debug, Default, Deserialize)]
pub struct Response<'a> {
    #[serde(borrow, default)]
    pub output: Few<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub incomplete_details: Option<Incomplete<'a>>,
    /// Raw, so that an invalid usage does not fail the reply.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub service_tier: Loose<'a>,
}

#[derive(Debug, Deserialize)]
pub struct Incomplete<'a> {
    #[serde(borrow, default)]
    pub reason: Loose<'a>,
}

/// An item of the output: a message, a call, reasoning, or an unknown item.
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
    /// For messages and for visible reasoning.
    #[serde(borrow, default)]
    pub content: Few<WirePart<'a>>,
    #[serde(borrow, default)]
    pub summary: Few<WirePart<'a>>,
}

impl WireItem<'_> {
    /// The type; by the other members where it cannot be read. `is_call` says that it began as a call.
    pub fn kind(&self, is_call: bool) -> &str {
        let has = |text: &Loose<'_>| !text.as_str().is_empty();
        match self.kind.as_str() {
            "" if is_call || (has(&self.call_id) && has(&self.name)) => "function_call",
            "" if has(&self.encrypted_content) || !self.summary.0.is_empty() => "reasoning",
            "" if !self.content.0.is_empty() => "message",
            kind => kind,
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct WirePart<'a> {
    #[serde(borrow, default)]
    pub text: Loose<'a>,
    #[serde(borrow, default)]
    pub refusal: Loose<'a>,
}

/// An absent or invalid count is unknown, and never an error.
#[derive(Debug, Deserialize)]
pub struct UsageCounts {
    #[serde(default)]
    pub input_tokens: Count,
    #[serde(default)]
    pub output_tokens: Count,
    #[serde(default, deserialize_with = "lenient")]
    pub input_tokens_details: Option<InputDetails>,
}

#[derive(Debug, Default, Deserialize)]
pub struct InputDetails {
    #[serde(default)]
    pub cached_tokens: Count,
    #[serde(default)]
    pub cache_write_tokens: Count,
}
