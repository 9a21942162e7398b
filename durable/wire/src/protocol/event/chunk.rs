//! Streamed text in events.

use serde::{Deserialize, Serialize};

/// The kind of a chunk's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChunkKind {
    /// Part of the answer.
    #[default]
    Text,
    /// The model's reasoning, which is not part of the answer.
    Reasoning,
}

impl ChunkKind {
    pub(super) fn is_text(&self) -> bool {
        *self == ChunkKind::Text
    }
}
