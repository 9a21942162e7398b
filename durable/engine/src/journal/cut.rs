//! The cuts of a level's messages, as the journal keeps them with the model call that follows.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A request that does not begin with the request before it: its level left messages out, or replaced some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Cut {
    /// The number of the level's messages at the cut. The places below are places among them.
    pub messages: usize,
    /// The messages that requests leave out from here on, oldest first. Empty where messages or tools were replaced, and
    /// all of the rest fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Range<usize>>,
}
