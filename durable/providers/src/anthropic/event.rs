//! An event of the stream.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Count, Few, Loose, Object, Text, Unknown, count, lenient, object};

use super::blocks::BlockKind;

/// Any event. Its members depend on its type.
#[derive(Debug, Deserialize)]
pub struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    /// The index of its block.
    #[serde(default)]
    pub index: Count,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub delta: Option<Box<Delta<'a>>>,
    /// The beginning of a block.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub content_block: Option<Object<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub message: Option<Start<'a>>,
    /// The blocks of a message that is the whole body, because the server did not stream, and why it stopped.
    #[serde(borrow, default)]
    pub content: Few<Object<'a>>,
    #[serde(borrow, default)]
    pub stop_reason: Loose<'a>,
    /// Raw, so that an invalid usage does not fail the reply.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The beginning of the message.
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

impl Delta<'_> {
    /// The kind of the blocks that have such a delta; none for one that any block may have.
    pub fn kind(&self) -> Option<BlockKind> {
        let says = |piece: &Option<Text<'_>>| piece.as_ref().is_some_and(|piece| !piece.as_str().is_empty());
        match self {
            Delta { text, .. } if says(text) => Some(BlockKind::Text),
            Delta { thinking, signature, .. } if says(thinking) || says(signature) => {
                Some(BlockKind::Thinking)
            }
            Delta { partial_json, .. } if says(partial_json) => Some(BlockKind::ToolUse),
            _ => None,
        }
    }

    /// Whether it has none of the members that the codec reads.
    pub fn is_unknown(&self) -> bool {
        let Delta { text, thinking, signature, partial_json, citation, .. } = self;
        [text, thinking, signature, partial_json].into_iter().all(Option::is_none) && citation.is_none()
    }
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

/// The parts of [`UsageCounts::cache_creation_input_tokens`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct CacheCreation {
    #[serde(default)]
    pub ephemeral_1h_input_tokens: Count,
}

/// The token counts of the whole reply so far. An absent count has not changed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct UsageCounts {
    #[serde(default, deserialize_with = "count")]
    pub input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub cache_creation: Option<CacheCreation>,
    #[serde(default, deserialize_with = "count")]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub output_tokens: Option<u64>,
}
