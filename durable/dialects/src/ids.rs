//! Ids that lead back to their turn. A client that keeps nothing but an id finds its thread by it. The id is no secret and
//! proves nothing: the object of a thread is named after its owner, so an id leads another user to an empty object.

use uuid::Uuid;

/// The longest id that is read, in bytes.
pub const MAX_ID: usize = 512;
/// The letters of a UUID without hyphens.
const UUID_LETTERS: usize = 32;

/// The place of an answer: the part of a turn after so many waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub thread: Uuid,
    pub turn: Uuid,
    pub segment: u32,
}

/// The id of an answer: its kind, its thread, its turn, its segment.
pub fn of_answer(kind: &str, thread: &str, turn: &str, segment: u32) -> String {
    format!("{kind}_{}{}{segment}", thread.replace('-', ""), turn.replace('-', ""))
}

/// The id of a call or a question of an answer.
pub fn of_call(kind: &str, thread: &str, turn: &str, segment: u32, id: &str) -> String {
    format!("{}_{id}", of_answer(kind, thread, turn, segment))
}

/// Reads an id of this kind: its place, and our own id of a call or a question.
pub fn read<'a>(kind: &str, id: &'a str) -> Option<(Place, &'a str)> {
    let rest = id.strip_prefix(kind)?.strip_prefix('_').filter(|_| id.len() <= MAX_ID)?;
    let (thread, rest) = rest.split_at_checked(UUID_LETTERS)?;
    let (turn, rest) = rest.split_at_checked(UUID_LETTERS)?;
    let (segment, id) = rest.split_once('_').unwrap_or((rest, ""));
    let segment = Some(segment).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let uuid = |letters: &str| Uuid::try_parse(letters).ok();
    Some((Place { thread: uuid(thread)?, turn: uuid(turn)?, segment: segment.parse().ok()? }, id))
}
