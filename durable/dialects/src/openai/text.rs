//! A text of Responses while it is written: an item, its part, and the event of each piece.

use serde::Serialize;
use serde_json::Value;

use crate::given::{object, with};
use wire::protocol::ChunkKind;

/// A text that is being written.
pub struct Text {
    pub part: String,
    /// The id of its item.
    id: String,
    pub model_call: String,
    kind: ChunkKind,
    pub index: usize,
    pub text: String,
}

impl Text {
    /// A text that has just begun.
    pub fn new(part: &str, model_call: &str, kind: ChunkKind) -> Self {
        let id = format!("{}_{part}", if kind == ChunkKind::Text { "msg" } else { "rs" });
        let (part, model_call) = (part.to_owned(), model_call.to_owned());
        Text { part, id, model_call, kind, index: 0, text: String::new() }
    }

    /// Its item.
    pub fn item(&self, status: &str) -> Value {
        let id = &*self.id;
        let content = if self.text.is_empty() { Vec::new() } else { vec![self.content()] };
        match self.kind {
            ChunkKind::Text => {
                object! { "type": "message", "id": id, "role": "assistant", "status": status, "content": content }
            }
            ChunkKind::Reasoning => {
                object! { "type": "reasoning", "id": id, "status": status, "summary": content }
            }
        }
    }

    /// The part of the item, with the text so far.
    pub fn content(&self) -> Value {
        match self.kind {
            ChunkKind::Text => {
                let none = Vec::<Value>::new;
                object! { "type": "output_text", "text": &*self.text, "annotations": none(), "logprobs": none() }
            }
            ChunkKind::Reasoning => object! { "type": "summary_text", "text": &*self.text },
        }
    }

    /// The names of its events, and the member that numbers its part.
    pub fn names(&self) -> [&'static str; 5] {
        match self.kind {
            ChunkKind::Text => [
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "content_index",
            ],
            ChunkKind::Reasoning => [
                "response.reasoning_summary_part.added",
                "response.reasoning_summary_text.delta",
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
                "summary_index",
            ],
        }
    }

    /// The event of a piece.
    pub fn delta<'a>(&'a self, delta: &'a str, sequence_number: u64) -> Delta<'a> {
        let [_, r#type, ..] = self.names();
        let of_text = self.kind == ChunkKind::Text;
        Delta {
            content_index: of_text.then_some(0),
            delta,
            item_id: &self.id,
            logprobs: of_text.then_some([]),
            output_index: self.index,
            sequence_number,
            summary_index: (!of_text).then_some(0),
            r#type,
        }
    }

    /// The data of any other event, with a member of its own.
    pub fn data(&self, member: &str, value: Value) -> Value {
        let [.., index] = self.names();
        let data = object! { "item_id": &*self.id, "output_index": self.index, index: 0, member: value };
        match self.kind == ChunkKind::Text && member != "part" {
            true => with(data, object! { "logprobs": Vec::<Value>::new() }),
            false => data,
        }
    }
}

/// The event of a piece of text. Nearly all events are such ones, so it is no `Value`, which costs several times the CPU. The
/// members stand as in the other events.
#[derive(Serialize)]
pub struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<u32>,
    delta: &'a str,
    item_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
    output_index: usize,
    sequence_number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<u32>,
    pub r#type: &'a str,
}
