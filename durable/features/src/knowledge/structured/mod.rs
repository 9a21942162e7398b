//! Divides tables and JSON into chunks between their rows and values. Each chunk says what its rows or values are: a table's
//! begin with the names of its columns, those of JSON stand under the path to their values. Pure.

mod csv;
mod json;
#[cfg(test)]
mod tests;

use std::mem::take;
use std::rc::Rc;

use wire::pace::Pace;
use wire::protocol::ApiError;

use super::chunks::{self, Chunk, MAX_CHUNK_CHARS, MAX_HEADING_CHARS, MAX_SECTIONED, divided};

pub use csv::csv;
pub use json::json;

/// The units of work of a line, and of each byte of it.
const LINE: usize = 128;
const BYTE: usize = 8;
/// The most text of the chunks, as a multiple of the document: a user's room counts the document's bytes.
const MAX_GROWTH: usize = 2;
/// The deepest indentation of a line within its chunk, in spaces.
const MAX_INDENT: usize = 8;

/// A row, or a value with its name.
struct Line {
    /// The values around it.
    depth: usize,
    /// The path to these values.
    under: Rc<str>,
    /// The value's own name; empty of a row.
    name: String,
    text: String,
}

impl Line {
    /// The most characters of the line in a chunk.
    fn most(&self) -> usize {
        self.name.chars().count() + self.text.chars().count() + self.depth.min(MAX_INDENT) + ": \n".len()
    }
}

/// Gathers lines into chunks. A line stays whole where one chunk has room for it. A chunk that is full ends before the line
/// of its second half, or the next one, with the fewest values around it.
struct Packer {
    /// The beginning of each chunk.
    head: String,
    room: usize,
    /// The lines of the open chunk, each with its most characters, and the sum of these.
    lines: Vec<(Line, usize)>,
    chars: usize,
    done: Vec<Chunk>,
}

impl Packer {
    fn new(head: String) -> Self {
        let room = MAX_CHUNK_CHARS.saturating_sub(head.chars().count());
        Packer { head, room, lines: Vec::new(), chars: 0, done: Vec::new() }
    }

    async fn push(&mut self, line: Line, pace: &Pace<'_>) -> Result<(), ApiError> {
        pace.before(LINE + (line.name.len() + line.text.len()) * BYTE).await?;
        let most = line.most();
        if most > self.room {
            self.close();
            return self.push_long(line, pace).await;
        }
        // A chunk stands under the path to its first line, so no line of a value around that one is in it.
        if self.lines.first().is_some_and(|(first, _)| line.depth < first.depth) {
            self.close();
        }
        while self.chars + most > self.room {
            self.close_before(line.depth);
        }
        self.chars += most;
        self.lines.push((line, most));
        Ok(())
    }

    /// A line that needs several chunks.
    async fn push_long(
        &mut self,
        Line { under, name, text, .. }: Line,
        pace: &Pace<'_>,
    ) -> Result<(), ApiError> {
        let text = if name.is_empty() { text } else { [&name, ": ", &text].concat() };
        let (under, mut rest) = (below(&under, &name), text.as_str());
        while !rest.is_empty() {
            pace.before(LINE + self.room * BYTE).await?;
            let (text, tail) = divided(rest, self.room);
            self.emit(&under, text);
            rest = tail;
        }
        Ok(())
    }

    /// Ends the open chunk before a line. `next`: how many values are around the line after it.
    fn close_before(&mut self, next: usize) {
        let (mut end, mut least, mut before) = (self.lines.len(), next, self.chars);
        for (index, (line, most)) in self.lines.iter().enumerate().rev() {
            before -= most;
            if before < self.room / 2 {
                break;
            }
            if line.depth < least {
                (end, least) = (index, line.depth);
            }
        }
        let rest = self.lines.split_off(end);
        self.close();
        self.chars = rest.iter().map(|(_, most)| most).sum();
        self.lines = rest;
    }

    /// Ends the open chunk.
    fn close(&mut self) {
        self.chars = 0;
        let lines = take(&mut self.lines);
        let Some((first, _)) = lines.first() else { return };
        let depth = lines.iter().map(|(line, _)| line.depth).min().unwrap_or_default();
        let mut text = String::new();
        for (line, _) in &lines {
            text.extend(std::iter::repeat_n(' ', (line.depth - depth).min(MAX_INDENT)));
            match (line.name.as_str(), line.text.as_str()) {
                ("", value) => text.push_str(value),
                (name, "") => text.extend([name, ":"]),
                (name, value) => text.extend([name, ": ", value]),
            }
            text.push('\n');
        }
        self.emit(&Rc::clone(&first.under), &text);
    }

    fn emit(&mut self, under: &str, text: &str) {
        let text = text.trim_end();
        if !text.trim_start().is_empty() {
            self.done.push(Chunk { heading: under.to_owned(), text: [&self.head, text].concat() });
        }
    }

    /// The chunks; those of the plain text where they are too many, or repeat names until there is more to store than
    /// [`MAX_GROWTH`] permits.
    async fn chunks(mut self, text: &str, pace: &Pace<'_>) -> Result<Vec<Chunk>, ApiError> {
        self.close();
        let stored: usize = self.done.iter().map(|chunk| chunk.heading.len() + chunk.text.len()).sum();
        match self.done.len() > MAX_SECTIONED || stored > text.len() * MAX_GROWTH + MAX_CHUNK_CHARS {
            true => chunks::chunks(text, false, pace).await,
            false => Ok(self.done),
        }
    }
}

/// The path to a value: `users > [2] > address`.
fn below(path: &str, name: &str) -> Rc<str> {
    let joint = if path.is_empty() || name.is_empty() { "" } else { " > " };
    [path, joint, name].concat().chars().take(MAX_HEADING_CHARS).collect::<String>().into()
}
