//! The parts of an answer, in the order in which a reader saw them appear.

use serde::{Deserialize, Serialize};

/// The end of a text that is marked as `cut`.
pub const CUT_MARK: &str = "\n\n[shortened]";

/// The most characters of a call's arguments, and of its result, that stand in its part. The page shows no more of a
/// result, live or stored (`DETAIL_CHARS` in `web/src/turn/view.ts`).
pub const DETAIL_CHARS: usize = 4_000;

/// The most sources of one call.
pub const MAX_SOURCES: usize = 20;

/// A document that an answer may come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Source {
    /// Its name, at most 200 characters.
    pub title: String,
}

crate::tagged! {
    /// A part of an assistant message. `parent_id` is the `tool_call_id` of the call that contains the part; a part of the
    /// answer itself has none. `cut`: the service left out the end of the text, which would not fit into its row.
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(test, derive(ts_rs::TS))]
    #[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
    pub enum MessagePart by "type" {
        /// Text that the model wrote as its answer, or as the result of a subtask.
        "text" => Text {
            text: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parent_id: Option<String>,
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            cut: bool,
        },
        /// The model's reasoning.
        "reasoning" => Reasoning {
            text: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parent_id: Option<String>,
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            cut: bool,
        },
        /// Earlier messages of the thread left the model's view here. `text` is the summary in their place; without one, they
        /// were left out.
        "summary" => Summary {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            text: Option<String>,
        },
        /// A tool call. The node of the execution tree with this id describes it.
        "call" => Call {
            tool_call_id: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            parent_id: Option<String>,
            /// Its arguments as JSON, where the node has only the beginning of them. At most 4 000 characters: a cut text ends
            /// in `…`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            args: Option<String>,
            /// Its result, where the node has only the beginning of it. At most 4 000 characters, as the arguments.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            result: Option<String>,
            /// The sources of its result, which the node has only the beginning of.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            sources: Vec<Source>,
        },
    }
}

impl MessagePart {
    /// The `tool_call_id` of the call that contains the part.
    pub fn parent_id(&self) -> Option<&str> {
        match self {
            MessagePart::Text { parent_id, .. }
            | MessagePart::Reasoning { parent_id, .. }
            | MessagePart::Call { parent_id, .. } => parent_id.as_deref(),
            MessagePart::Summary { .. } => None,
        }
    }

    /// Cuts the text after so many bytes, at the border of a character, and says so. Leaves a shorter text as it is.
    pub fn cut_after(&mut self, bytes: usize) {
        if let MessagePart::Text { text, cut, .. } | MessagePart::Reasoning { text, cut, .. } = self
            && text.len() > bytes
        {
            text.truncate(text.floor_char_boundary(bytes));
            *cut = false;
            self.mark_cut();
        }
    }

    /// Drops the arguments and the result of a call.
    pub fn leave_details_out(&mut self) {
        if let MessagePart::Call { args, result, .. } = self {
            (*args, *result) = (None, None);
        }
    }

    /// Drops the sources of a call.
    pub fn leave_sources_out(&mut self) {
        if let MessagePart::Call { sources, .. } = self {
            sources.clear();
        }
    }

    /// Says, once, that text is missing after this one.
    pub fn mark_cut(&mut self) {
        if let MessagePart::Text { text, cut, .. } | MessagePart::Reasoning { text, cut, .. } = self
            && !*cut
        {
            text.push_str(CUT_MARK);
            *cut = true;
        }
    }
}
