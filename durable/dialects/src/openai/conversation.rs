//! The messages of a conversation, read from its end.

use super::messages::{Kind, kind, referred, role, said, text_of};
use crate::given::{Earlier, Part, too_long};
use crate::ids::Place;
use crate::instructions::Instructions;
use crate::pieces::{Back, Piece};
use uuid::Uuid;
use wire::pace::Pace;
use wire::protocol::ApiError;

/// The messages of a conversation from its end.
pub struct Messages<'l, 'a> {
    /// The member that has them.
    name: &'static str,
    back: Back<'l, 'a>,
    pace: &'l Pace<'l>,
    pub instructions: Instructions,
    /// The newest answer, where the client refers to it in place of its text.
    pub referred: Option<Place>,
    /// Whether a text of the assistant was read. It is newer than an answer that is referred to now.
    has_answer: bool,
    /// The thread that the request names. An answer of another one is not in it.
    thread: Option<Uuid>,
}

impl<'l, 'a> Messages<'l, 'a> {
    /// Those of this member.
    pub fn new(
        name: &'static str,
        back: Back<'l, 'a>,
        pace: &'l Pace<'l>,
        instructions: Instructions,
        thread: Option<Uuid>,
    ) -> Self {
        Messages { name, back, pace, instructions, referred: None, has_answer: false, thread }
    }
}

impl<'a> Messages<'_, 'a> {
    /// The next message, and its place; not read where it is too much for one go.
    pub async fn next(&mut self) -> Result<Option<(String, Piece<'a>, Option<Part>)>, ApiError> {
        let Some((index, piece)) = self.back.next() else { return Ok(None) };
        let at = format!("{}[{index}]", self.name);
        if piece.is_too_much() {
            return Ok(Some((at, piece, None)));
        }
        let read = piece.read(self.pace).await?;
        let part: Part = read.map_err(|_| ApiError::field(&at, "expected an object"))?;
        if matches!(kind(&part), Kind::System) {
            self.instructions.add(index, text_of(&part));
        }
        Ok(Some((at, piece, Some(part))))
    }
}

impl Earlier for Messages<'_, '_> {
    /// A reference ends the conversation: the thread has what comes before.
    async fn earlier(&mut self) -> Result<Option<(bool, String)>, ApiError> {
        while let Some((_, piece, part)) = self.next().await? {
            let Some(part) = part else {
                let role = role(piece, self.pace).await?;
                return Ok(Some((role.as_deref() == Some("user"), too_long())));
            };
            if let Some((is_user, text)) = said(&part) {
                self.has_answer |= !is_user && !text.trim().is_empty();
                return Ok(Some((is_user, text)));
            }
            let is_there = |place: &Place| self.thread.is_none_or(|thread| thread == place.thread);
            self.referred = referred(&part).filter(|place| !self.has_answer && is_there(place));
            if self.referred.is_some() {
                break;
            }
        }
        Ok(None)
    }
}
