//! An event of the stream as it stands on the wire.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Loose, Object, Text, Unknown, object};

/// Any event. Which members it has depends on its type.
#[derive(Debug, Deserialize)]
pub struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    /// Which block it is about.
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(borrow, default)]
    pub delta: Option<Box<Delta<'a>>>,
    /// A block as it begins.
    #[serde(borrow, default)]
    pub content_block: Option<Object<'a>>,
    #[serde(borrow, default)]
    pub message: Option<Start<'a>>,
    /// Raw, so that a usage of unknown shape costs the usage and not the reply.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

/// The message as it begins.
#[derive(Debug, Deserialize)]
pub struct Start<'a> {
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

/// A piece of a block, or of the message around them.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    pub kind: Option<Text<'a>>,
    pub text: Option<Text<'a>>,
    pub thinking: Option<Text<'a>>,
    pub signature: Option<Text<'a>>,
    pub partial_json: Option<Text<'a>>,
    pub citation: Option<&'a RawValue>,
    pub stop_reason: Option<Text<'a>>,
    pub unknown: Unknown<'a>,
}

object!(Delta, known: {
    "type" => kind,
    "text" => text,
    "thinking" => thinking,
    "signature" => signature,
    "partial_json" => partial_json,
    "citation" => citation,
    "stop_reason" => stop_reason
}, dropped: []);

/// What an event says of tokens, of the whole reply each time. Counts that are absent say nothing new.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct UsageCounts {
    #[serde(default)]
    pub input_tokens: Option<u64>,
    #[serde(default)]
    pub cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    pub output_tokens: Option<u64>,
}
