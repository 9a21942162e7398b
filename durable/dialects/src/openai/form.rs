//! An answer in the form of one of the two APIs, and what a form gets of the turn.

use serde_json::Value;

use super::BACKGROUND;
use crate::ids;
use wire::model::Usage;
use wire::protocol::{ChunkKind, FinishReason, OpenAi, Seq};

/// The turn, as far as both APIs have the same of it.
pub struct Turn {
    pub how: OpenAi,
    pub thread: String,
    pub turn: String,
    pub model: String,
    /// When the turn began, in seconds since 1970.
    pub created: u64,
    /// How many waits have passed.
    pub segment: u32,
    /// The number of the turn's first event, and of the present one.
    pub first: Seq,
    pub seq: Seq,
    /// The calls and questions that wait, in their order.
    pub asked: Vec<Asked>,
    /// The usage of the answer: of all model calls within it, at any depth.
    pub usage: Usage,
    /// Why the service stopped the turn.
    pub stop: Option<(String, String)>,
}

/// A call that the client carries out, or a question to a person.
pub struct Asked {
    pub id: String,
    pub name: String,
    pub args: Value,
    pub by_client: bool,
}

impl Turn {
    /// The id of the answer.
    pub fn id(&self, kind: &str) -> String {
        self.id_at(kind, self.segment)
    }

    /// The id of the answer after so many waits.
    pub fn id_at(&self, kind: &str, segment: u32) -> String {
        let mut id = ids::of_answer(kind, &self.thread, &self.turn, segment);
        id.push_str(if self.how.background { BACKGROUND } else { "" });
        id
    }

    /// The client's id of a call or a question.
    pub fn id_of(&self, kind: &str, id: &str) -> String {
        ids::of_call(kind, &self.thread, &self.turn, self.segment, id)
    }

    /// Whether the client hears this part of the turn.
    pub fn is_heard(&self) -> bool {
        self.segment == self.how.segment
    }
}

/// A piece of the root's text or reasoning.
pub struct Piece<'a> {
    pub part: &'a str,
    pub model_call: &'a str,
    pub kind: ChunkKind,
    pub content: &'a str,
    pub done: bool,
}

/// Writes an answer in one of the APIs.
pub trait Form {
    fn begin(&mut self, turn: &Turn, out: &mut Vec<u8>);
    fn text(&mut self, turn: &Turn, piece: Piece<'_>, out: &mut Vec<u8>);
    /// A model call of the root has ended. If it broke off, its text does not count.
    fn ends(&mut self, turn: &Turn, model_call: &str, broke_off: bool, out: &mut Vec<u8>);
    /// A call of the root that the service carries out.
    fn call_starts(&mut self, turn: &Turn, call: (&str, &str, &Value), out: &mut Vec<u8>);
    fn call_ends(&mut self, turn: &Turn, call: (&str, &str, &Value), result: (&str, bool), out: &mut Vec<u8>);
    /// The answer ends with what is asked.
    fn asks(&mut self, turn: &Turn, out: &mut Vec<u8>);
    fn finish(&mut self, turn: &Turn, reason: FinishReason, out: &mut Vec<u8>);
    /// The log has no more of the answer for now.
    fn cut_off(&mut self, turn: &Turn, out: &mut Vec<u8>);
    /// The answer cannot be given.
    fn fails(&mut self, turn: &Turn, failure: Failure, out: &mut Vec<u8>);
    /// The status of an answer in JSON.
    fn status(&self) -> u16;
}

/// The status, the code and the words of an answer that cannot be given.
pub type Failure = (u16, &'static str, &'static str);
