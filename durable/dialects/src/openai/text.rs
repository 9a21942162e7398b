//! A text of Responses while it is written: an item, its part, and the event of each piece.

use super::form::Turn;
use super::{MESSAGE, REASONING};
use crate::template::Hole::{self, Json};
use crate::template::filled;
use wire::protocol::ChunkKind;

/// A text that is being written.
pub struct Text {
    pub part: String,
    /// The id of its item.
    pub id: String,
    pub model_call: String,
    kind: ChunkKind,
    pub index: usize,
    pub text: String,
}

impl Text {
    /// A text that has just begun.
    pub fn new(turn: &Turn, part: &str, model_call: &str, kind: ChunkKind) -> Self {
        let id = turn.id_of(if kind == ChunkKind::Text { MESSAGE } else { REASONING }, part);
        let (part, model_call) = (part.to_owned(), model_call.to_owned());
        Text { part, id, model_call, kind, index: 0, text: String::new() }
    }

    /// Its item.
    pub fn item(&self, status: &str) -> Vec<u8> {
        let content = if self.text.is_empty() { Vec::new() } else { self.content() };
        let (content, id, status) = (Json(&content), Hole::Text(&self.id), Hole::Text(status));
        match self.kind {
            ChunkKind::Text => filled(
                r#"{"content":[$],"id":$,"role":"assistant","status":$,"type":"message"}"#,
                &[content, id, status],
            ),
            ChunkKind::Reasoning => {
                filled(r#"{"id":$,"status":$,"summary":[$],"type":"reasoning"}"#, &[id, status, content])
            }
        }
    }

    /// The part of the item, with the text so far.
    pub fn content(&self) -> Vec<u8> {
        let template = match self.kind {
            ChunkKind::Text => r#"{"annotations":[],"logprobs":[],"text":$,"type":"output_text"}"#,
            ChunkKind::Reasoning => r#"{"text":$,"type":"summary_text"}"#,
        };
        filled(template, &[Hole::Text(&self.text)])
    }

    /// The names of its events.
    pub fn names(&self) -> [&'static str; 4] {
        match self.kind {
            ChunkKind::Text => [
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
            ],
            ChunkKind::Reasoning => [
                "response.reasoning_summary_part.added",
                "response.reasoning_summary_text.delta",
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
            ],
        }
    }

    /// The members of the event of a piece: the item's id and index, and the piece.
    pub fn delta(&self) -> &'static str {
        match self.kind {
            ChunkKind::Text => r#""item_id":$,"output_index":$,"content_index":0,"delta":$,"logprobs":[]"#,
            ChunkKind::Reasoning => r#""item_id":$,"output_index":$,"summary_index":0,"delta":$"#,
        }
    }

    /// The members of the event of the whole text.
    pub fn done(&self) -> &'static str {
        match self.kind {
            ChunkKind::Text => r#""item_id":$,"output_index":$,"content_index":0,"text":$,"logprobs":[]"#,
            ChunkKind::Reasoning => r#""item_id":$,"output_index":$,"summary_index":0,"text":$"#,
        }
    }

    /// The members of the events of its part.
    pub fn of_part(&self) -> &'static str {
        match self.kind {
            ChunkKind::Text => r#""item_id":$,"output_index":$,"content_index":0,"part":$"#,
            ChunkKind::Reasoning => r#""item_id":$,"output_index":$,"summary_index":0,"part":$"#,
        }
    }
}
