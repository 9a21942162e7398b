//! The conversation before a turn: whole turns, and a summary in the place of the oldest ones.

use serde::{Deserialize, Serialize};

use wire::model::Message;

/// The most bytes of a summary. A model writes some hundred words; this bounds its row and its place in a request.
pub const MAX_SUMMARY_BYTES: usize = 32 << 10;
/// The end of a summary that was longer.
const CUT_MARK: &str = "\n[shortened]";

/// The turns before a turn, as the thread's rows have them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Oldest first, without those that the summary of entry 0 covers.
    pub turns: Vec<Past>,
    /// The number of turns before a gap: a long thread is not read whole, but its oldest and its newest turns.
    pub before_gap: usize,
}

/// An earlier turn of the thread, as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub id: PastId,
    pub messages: Vec<Message>,
}

/// The name of an earlier turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PastId {
    /// The row of its answer among the thread's messages.
    pub row: i64,
    pub turn_id: String,
}

/// A text in the place of the oldest turns of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The last turn that it covers. It covers all turns before that one as well, so it holds for a conversation that has
    /// this turn.
    pub covers: PastId,
    pub text: String,
    /// The model that wrote it.
    #[serde(default)]
    pub model: String,
}

impl Summary {
    /// The summary of a level that covers these turns; none where the level makes none, or its model wrote nothing.
    pub(crate) fn of(covers: Option<&PastId>, text: &str, model: &str) -> Option<Summary> {
        let (covers, text) = covers.cloned().zip(Summary::bounded(text))?;
        Some(Summary { covers, text, model: model.to_owned() })
    }

    /// The text of a summary as it is kept; none where the model wrote nothing.
    pub(crate) fn bounded(text: &str) -> Option<String> {
        let text = shortened(text.trim(), MAX_SUMMARY_BYTES);
        (!text.is_empty()).then_some(text)
    }
}

/// The beginning of a text of at most so many bytes, with a mark where more followed.
pub(crate) fn shortened(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub(CUT_MARK.len()));
    format!("{}{CUT_MARK}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 19, item 3.
    #[test]
    fn a_summary_is_bounded() {
        let covers = PastId { row: 3, turn_id: "t".to_owned() };
        let text = |text: &str| Summary::of(Some(&covers), text, "m").map(|summary| summary.text);
        let longest = "x".repeat(MAX_SUMMARY_BYTES);
        assert_eq!(text(&longest), Some(longest.clone()));
        let cut = text(&format!("{longest}ü")).unwrap();
        assert!(cut.len() <= MAX_SUMMARY_BYTES && cut.ends_with("x\n[shortened]"));
        assert!(
            text(&"ü".repeat(MAX_SUMMARY_BYTES)).unwrap().len() <= MAX_SUMMARY_BYTES,
            "no character is split"
        );
        assert_eq!((text(" \n"), Summary::of(None, "text", "m")), (None, None));
    }
}
