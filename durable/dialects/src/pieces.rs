//! A chat as its client sends it, in pieces that were not read yet. The body is divided into its members, the list of
//! messages into messages, a message into parts. Only a piece that counts is read into our types. Other requests run between
//! the stretches of this work, because a body has up to 16 MiB (`wire::pace`).
//!
//! Dividing checks the brackets of the whole body and the form of what it divides. A piece that is not read is not checked
//! beyond that.
//!
//! A chat of a dialect is divided into pieces, of which only those that count are read (`dialects/src/pieces.rs`).

use std::collections::VecDeque;
use std::str::from_utf8;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::by_id::ById;
use crate::given::MAX_IMPORTED;
use wire::pace::{Pace, reading};
use wire::protocol::{ApiError, ErrorCode, MAX_JSON_DEPTH, MAX_JSON_VALUES};

/// The most messages of a list that count, the newest ones, and the most parts of a message. A new thread imports so many
/// messages in one transaction, in which nobody else runs.
pub const MAX_MESSAGES: usize = 1_000;
/// The most bytes of a piece that is read, and of the answers of a request together, which a thread reads in one go. A
/// character has at most twelve bytes in JSON, so a longer text has more characters than a conversation that is imported.
pub const MAX_PIECE: usize = 12 * MAX_IMPORTED;
/// The most bytes of all members of an object beside its list, as in the bodies of our own routes.
pub const MAX_REST: usize = 1 << 20;
/// The most members of a request. The libraries know about forty.
const MAX_MEMBERS: usize = 128;
/// The longest name of a member as JSON, in bytes.
const MAX_MEMBER_NAME: usize = 1_024;
/// The bytes that are scanned without a pause.
const SCANNED: usize = 256 << 10;

/// A member is missing.
pub const REQUIRED: &str = "this member is required";

/// A value as JSON, without the space around it.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub json: &'a [u8],
    /// The values of its tree, itself included. An empty array or object counts twice.
    values: usize,
}

impl<'a> Piece<'a> {
    /// The piece as text; empty if it is not UTF-8.
    pub fn text(&self) -> &'a str {
        from_utf8(self.json).unwrap_or_default()
    }

    /// Whether it is too large to be read in one go.
    pub fn is_too_much(&self) -> bool {
        self.json.len() > MAX_PIECE || self.values > MAX_JSON_VALUES
    }

    /// The units of work to read it.
    pub fn units(&self) -> usize {
        reading(self.json.len(), self.values)
    }

    /// Reads the piece.
    pub async fn read<T: Deserialize<'a>>(&self, pace: &Pace<'_>) -> Result<serde_json::Result<T>, ApiError> {
        pace.before(self.units()).await?;
        Ok(wire::json::from_slice(self.json))
    }
}

/// Why a piece is not read.
pub fn too_much(what: &str) -> String {
    format!("{what} has at most {MAX_PIECE} bytes and {MAX_JSON_VALUES} values")
}

/// The end of a list, each piece with its place in the list.
#[derive(Default)]
pub struct Newest<'a> {
    pieces: VecDeque<Piece<'a>>,
    pub count: usize,
    /// The first piece of the whole list.
    first: Option<Piece<'a>>,
}

impl<'a> Newest<'a> {
    /// Divides a list.
    pub async fn divide(json: &'a [u8], pace: &Pace<'_>) -> Result<Self, ApiError> {
        let mut list = Newest::default();
        divide(json, Kind::Array, pace, &mut |_, piece| {
            if list.pieces.len() == MAX_MESSAGES {
                list.pieces.pop_front();
            }
            list.pieces.push_back(piece);
            list.first.get_or_insert(piece);
            list.count += 1;
            Ok(())
        })
        .await?;
        Ok(list)
    }

    /// The pieces, the newest one first.
    pub fn back(&self) -> Back<'_, 'a> {
        Back { list: self, passed: 0 }
    }

    /// The pieces with which the whole list begins: of a list whose beginning was not kept, the first one alone.
    pub fn beginning(&self) -> impl Iterator<Item = (usize, Piece<'a>)> {
        let is_whole = self.count == self.pieces.len();
        let kept = self.pieces.iter().copied().enumerate().filter(move |_| is_whole);
        kept.chain(self.first.filter(|_| !is_whole).map(|first| (0, first)))
    }

    /// The pieces, the oldest one first.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Piece<'a>)> {
        let left_out = self.count - self.pieces.len();
        self.pieces.iter().enumerate().map(move |(index, piece)| (left_out + index, *piece))
    }
}

/// The pieces of a list, the newest one first.
#[derive(Clone)]
pub struct Back<'l, 'a> {
    list: &'l Newest<'a>,
    passed: usize,
}

impl<'a> Iterator for Back<'_, 'a> {
    type Item = (usize, Piece<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let Newest { pieces, count, .. } = self.list;
        self.passed += 1;
        let piece = pieces.get(pieces.len().checked_sub(self.passed)?)?;
        Some((count - self.passed, *piece))
    }
}

/// The members of an object, each to be read when it is asked for. Of two with one name the last one counts.
pub struct Members<'a> {
    pub pieces: ById<Piece<'a>>,
    /// The units of work to read all of them but the list.
    pub rest: usize,
}

impl<'a> Members<'a> {
    /// Divides an object. `list` names the member whose elements are read one by one; all others must be JSON within the
    /// limits.
    pub async fn divide(json: &'a [u8], list: &str, pace: &Pace<'_>) -> Result<Self, ApiError> {
        let mut members = ById::<Piece<'a>>::default();
        divide(json, Kind::Object, pace, &mut |name, piece| {
            if name.len() > MAX_MEMBER_NAME {
                let detail = format!("the name of a member has at most {MAX_MEMBER_NAME} bytes");
                return Err(ApiError::new(ErrorCode::InvalidRequest, detail));
            }
            let name: String = wire::json::from_slice(name).map_err(|_| not_json())?;
            members.insert(&name, piece);
            match members.len() > MAX_MEMBERS {
                true => {
                    let detail = format!("a request has at most {MAX_MEMBERS} members");
                    Err(ApiError::new(ErrorCode::InvalidRequest, detail))
                }
                false => Ok(()),
            }
        })
        .await?;
        let (mut bytes, mut rest) = (0, 0);
        for (name, piece) in members.iter().filter(|(name, _)| *name != list) {
            bytes += piece.json.len();
            rest += piece.units();
            if bytes > MAX_REST {
                let detail = format!("all members but `{list}` have at most {MAX_REST} bytes together");
                return Err(ApiError::field(name, detail));
            }
            if piece.is_too_much() {
                return Err(ApiError::field(name, too_much("a member")));
            }
            piece.read::<IgnoredAny>(pace).await?.map_err(|_| not_json().about(name.to_owned()))?;
        }
        Ok(Members { pieces: members, rest })
    }

    /// A member; none where it is null.
    pub fn get(&self, name: &str) -> Option<Value> {
        let value = self.pieces.get(name).and_then(|piece| wire::json::from_slice(piece.json).ok());
        value.filter(|value: &Value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Result<Option<String>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ApiError::field(name, "expected a text")),
        }
    }

    /// A text that must be there.
    pub fn needed(&self, name: &str) -> Result<String, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::field(name, REQUIRED))
    }

    /// A list of messages, of which the end is kept.
    pub async fn list(&self, name: &str, pace: &Pace<'_>) -> Result<Newest<'a>, ApiError> {
        let piece = self.pieces.get(name).ok_or_else(|| ApiError::field(name, REQUIRED))?;
        Newest::divide(piece.json, pace).await.map_err(|error| within(name, error))
    }
}

/// A container of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    Object,
}

/// Takes the next piece, and the name of a member as JSON.
type Each<'e, 'a> = &'e mut dyn FnMut(&'a [u8], Piece<'a>) -> Result<(), ApiError>;

/// Divides a container into its pieces.
async fn divide<'a>(json: &'a [u8], kind: Kind, pace: &Pace<'_>, each: Each<'_, 'a>) -> Result<(), ApiError> {
    let mut scan = Scan::new(json, kind)?;
    while !scan.is_at_end() {
        pace.before(SCANNED.min(json.len())).await?;
        scan.advance(SCANNED, each)?;
    }
    match scan.is_over {
        true => Ok(()),
        false => Err(ApiError::new(ErrorCode::InvalidJson, "the body ends before it is complete")),
    }
}

/// A container that is being divided.
struct Scan<'a> {
    json: &'a [u8],
    kind: Kind,
    at: usize,
    /// The first byte of the piece or of its name, and the end of what came of it, without the space around.
    begin: usize,
    end: usize,
    name: Option<&'a [u8]>,
    values: usize,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// Whether a comma came, so that another piece must.
    goes_on: bool,
    is_over: bool,
}

impl<'a> Scan<'a> {
    fn new(json: &'a [u8], kind: Kind) -> Result<Self, ApiError> {
        let space = json.iter().take(SCANNED).take_while(|byte| byte.is_ascii_whitespace()).count();
        let expected = match kind {
            Kind::Array => (b'[', "expected an array"),
            Kind::Object => (b'{', "expected an object"),
        };
        match json.get(space) {
            None => return Err(ApiError::new(ErrorCode::InvalidJson, "the body is empty")),
            Some(&byte) if byte == expected.0 => {}
            Some(_) => return Err(ApiError::new(ErrorCode::InvalidRequest, expected.1)),
        }
        let at = space + 1;
        let (name, values, depth) = (None, 1, 1);
        let (in_text, escaped, goes_on, is_over) = (false, false, false, false);
        let (begin, end) = (at, at);
        Ok(Scan { json, kind, at, begin, end, name, values, depth, in_text, escaped, goes_on, is_over })
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.json.len()
    }

    /// Scans the next bytes, at most so many.
    fn advance(&mut self, most: usize, each: Each<'_, 'a>) -> Result<(), ApiError> {
        let json = self.json;
        for &byte in json.get(self.at..).unwrap_or_default().iter().take(most) {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' if self.in_text => {
                    self.in_text = false;
                    self.end = self.at + 1;
                }
                _ if self.in_text => {}
                byte if byte.is_ascii_whitespace() => {
                    if self.begin == self.at {
                        self.begin += 1;
                    }
                }
                byte => {
                    self.sign(byte, each)?;
                    self.end = self.at + 1;
                }
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Takes a byte outside of texts that is no space.
    fn sign(&mut self, byte: u8, each: Each<'_, 'a>) -> Result<(), ApiError> {
        match byte {
            _ if self.is_over => return Err(not_json()),
            b'"' => self.in_text = true,
            b'{' | b'[' => {
                self.depth += 1;
                self.values += 1;
                if self.depth > MAX_JSON_DEPTH {
                    let detail = format!("the body is nested deeper than {MAX_JSON_DEPTH} levels");
                    return Err(ApiError::new(ErrorCode::InvalidJson, detail));
                }
            }
            b'}' | b']' if self.depth == 1 => self.close(byte, each)?,
            b'}' | b']' => self.depth -= 1,
            b',' if self.depth == 1 => {
                self.piece(each)?;
                self.goes_on = true;
            }
            b',' => self.values += 1,
            b':' if self.depth == 1 && self.name.is_none() => {
                self.name = Some(self.taken());
                self.begin = self.at + 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// The piece or the name so far, without the space around it.
    fn taken(&self) -> &'a [u8] {
        self.json.get(self.begin..self.end).unwrap_or_default()
    }

    /// The piece ends before this byte.
    fn piece(&mut self, each: Each<'_, 'a>) -> Result<(), ApiError> {
        let (json, name) = (self.taken(), self.name.take());
        if json.is_empty() || name.is_some() != (self.kind == Kind::Object) {
            return Err(not_json());
        }
        each(name.unwrap_or_default(), Piece { json, values: self.values })?;
        (self.begin, self.values) = (self.at + 1, 1);
        Ok(())
    }

    /// The container ends with this byte.
    fn close(&mut self, byte: u8, each: Each<'_, 'a>) -> Result<(), ApiError> {
        if (byte == b'}') != (self.kind == Kind::Object) {
            return Err(not_json());
        }
        let is_empty = self.taken().is_empty() && self.name.is_none() && !self.goes_on;
        if !is_empty {
            self.piece(each)?;
        }
        self.is_over = true;
        Ok(())
    }
}

/// A refusal of something within a member. That of a pause is about no member.
pub fn within(member: &str, error: ApiError) -> ApiError {
    match (error.code, error.field.as_deref()) {
        (ErrorCode::Overloaded, _) => error,
        (_, None) => error.about(member.to_owned()),
        (_, Some(field)) => {
            let field = format!("{member}.{field}");
            error.about(field)
        }
    }
}

/// The refusal of bytes that are not JSON.
pub fn not_json() -> ApiError {
    ApiError::new(ErrorCode::InvalidJson, "the body is not JSON")
}

#[cfg(test)]
mod tests;
