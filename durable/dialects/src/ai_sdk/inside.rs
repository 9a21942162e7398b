//! The work within a call of the root: what a subtask writes, and the calls at any depth below it. It is told as the
//! preliminary output of the root's call.

use crate::template::Hole::{Json, Number, Text};
use crate::template::{Hole, fill, filled, separate};

/// The distance between two preliminary outputs of a call.
pub const SPACING_MS: u64 = 250;
/// The most characters of the text, its end: each output repeats it.
pub const MAX_TEXT: usize = 2_000;
/// The most calls, the newest ones, for the same reason.
pub const MAX_CALLS: usize = 50;

/// The work within one call.
#[derive(Default)]
pub struct Inside {
    text: String,
    /// The part that the text belongs to: the next one begins anew, as a subtask's result is its last reply alone.
    part_id: String,
    calls: Vec<Below>,
    told_at: Option<u64>,
}

/// A call below the root's.
struct Below {
    id: String,
    name: String,
    depth: u32,
    state: &'static str,
}

impl Inside {
    /// The output of its call so far: the end of the text that the call's own level writes, and the calls below it.
    pub fn output(&self) -> Vec<u8> {
        self.output_with(Text(&self.text))
    }

    /// The output of its call with this text.
    pub fn output_with(&self, text: Hole<'_>) -> Vec<u8> {
        let mut calls = Vec::new();
        for Below { id, name, depth, state } in &self.calls {
            let call = [Text(id), Text(name), Number((*depth).into()), Text(state)];
            separate(&mut calls);
            fill(r#"{"id":$,"name":$,"depth":$,"state":$}"#, &call, &mut calls);
        }
        filled(r#"{"text":$,"calls":[$]}"#, &[text, Json(&calls)])
    }

    pub fn writes(&mut self, part_id: &str, content: &str) {
        if self.part_id != part_id {
            self.forgets();
            self.part_id.push_str(part_id);
        }
        self.text.push_str(content);
        if let Some((from, _)) = self.text.char_indices().rev().nth(MAX_TEXT - 1) {
            self.text.drain(..from);
        }
    }

    /// The model call broke off: its text does not count.
    pub fn forgets(&mut self) {
        self.text.clear();
        self.part_id.clear();
    }

    pub fn call_starts(&mut self, id: &str, name: &str, depth: u32) {
        if self.calls.len() == MAX_CALLS {
            self.calls.remove(0);
        }
        self.calls.push(Below { id: id.to_owned(), name: name.to_owned(), depth, state: "running" });
    }

    pub fn call_ends(&mut self, id: &str, is_error: bool) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.state = if is_error { "error" } else { "done" };
        }
    }

    /// Whether enough time is over to tell it again. If so it counts as told.
    pub fn is_due(&mut self, now_ms: u64) -> bool {
        let is_due = self.told_at.is_none_or(|at| now_ms >= at + SPACING_MS);
        if is_due {
            self.told_at = Some(now_ms);
        }
        is_due
    }
}
