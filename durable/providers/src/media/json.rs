//! Reads a JSON answer whose long strings are files. The files are decoded as they arrive; the rest of the answer, with
//! empty strings in their places, is read when it is complete. So the rest alone has to be small.

use memchr::memchr2;
use serde_json::Value;

use wire::media::{MediaEvent, MediaFailure, MediaMode};

use super::base64::Base64;
use super::files::Files;
use super::protocol;

/// The most bytes of an answer beside its files.
pub(super) const MAX_REST_BYTES: usize = 1 << 20;
/// The most bytes of its strings that nobody needs: signatures as long as pictures, and pictures beyond those asked for.
pub(super) const MAX_DROPPED_BYTES: usize = 32 << 20;
/// The longest name of a member, and the longest declared type, that the reader looks at.
const MAX_WORD: usize = 64;

/// The members of an answer that have a place of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members {
    /// Their strings are files in base64.
    pub files: &'static [&'static str],
    /// Their strings are dropped, because they may be long and nobody needs them.
    pub dropped: &'static [&'static str],
    /// The bytes that a file lacks at its beginning, by its declared type.
    pub head: fn(Option<&str>) -> Vec<u8>,
}

/// Files that lack nothing.
pub(super) fn no_head(_: Option<&str>) -> Vec<u8> {
    Vec::new()
}

/// The reader.
#[derive(Debug)]
pub(super) struct JsonFiles {
    members: Members,
    /// How many files the request asked for. Those beyond are dropped.
    wanted: u8,
    pub files: Files,
    rest: Vec<u8>,
    /// The bytes of the strings that nobody needs.
    dropped: usize,
    place: Place,
    /// The string that is read, or was read last; none where it is too long.
    word: Option<Vec<u8>>,
    /// The name of the member whose value comes next.
    member: Option<Vec<u8>>,
    declared_type: Option<String>,
}

/// Where in the answer the reader is.
#[derive(Debug)]
enum Place {
    Between,
    Text,
    TextEscape,
    File(Base64),
    FileEscape(Base64),
    /// The digits of an escaped character in a file.
    FileUnicode(Base64, u32, u8),
    Dropped,
    DroppedEscape,
}

impl JsonFiles {
    pub fn new(members: Members, mode: MediaMode, wanted: u8) -> Self {
        JsonFiles {
            members,
            wanted,
            files: Files::in_mode(mode),
            rest: Vec::new(),
            dropped: 0,
            place: Place::Between,
            word: None,
            member: None,
            declared_type: None,
        }
    }

    /// Reads a piece of the answer.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        while let Some((first, after)) = bytes.split_first() {
            // A file is decoded in runs, everything else byte by byte.
            if let Place::File(decoder) = &mut self.place {
                let run = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                if let Some((file, left)) = bytes.split_at_checked(run)
                    && run > 0
                {
                    self.files.add_base64(decoder, file, events)?;
                    bytes = left;
                    continue;
                }
            }
            self.step(*first, events)?;
            if self.dropped > MAX_DROPPED_BYTES {
                return Err(super::too_large(MAX_DROPPED_BYTES));
            }
            if self.rest.len() > MAX_REST_BYTES {
                return Err(super::too_large(MAX_REST_BYTES));
            }
            bytes = after;
        }
        Ok(())
    }

    fn step(&mut self, byte: u8, events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        let place = std::mem::replace(&mut self.place, Place::Between);
        self.place = match (place, byte) {
            (Place::Between, b'"') => {
                self.rest.push(byte);
                self.begin_string()
            }
            (Place::Between, _) => {
                self.rest.push(byte);
                match byte {
                    b':' => self.member = self.word.take(),
                    b' ' | b'\t' | b'\r' | b'\n' => {}
                    _ => self.member = None,
                }
                Place::Between
            }
            (Place::Text, b'"') => {
                self.rest.push(byte);
                self.end_text();
                Place::Between
            }
            (Place::Text, _) => {
                self.add_to_word(byte);
                if byte == b'\\' { Place::TextEscape } else { Place::Text }
            }
            (Place::TextEscape, _) => {
                self.add_to_word(byte);
                Place::Text
            }
            (Place::File(decoder), b'"') => {
                self.rest.push(byte);
                self.files.end_base64(decoder, self.declared_type.take(), events)?;
                Place::Between
            }
            (Place::File(decoder), _) => Place::FileEscape(decoder),
            (Place::FileEscape(decoder), b'u') => Place::FileUnicode(decoder, 0, 0),
            (Place::FileEscape(mut decoder), _) => {
                let escaped: &[u8] = if byte == b'n' || byte == b'r' { b"\n" } else { &[byte] };
                self.files.add_base64(&mut decoder, escaped, events)?;
                Place::File(decoder)
            }
            (Place::FileUnicode(decoder, code, digits), _) => {
                let digit = char::from(byte).to_digit(16).ok_or_else(cut)?;
                self.after_digit(decoder, code * 16 + digit, digits + 1, events)?
            }
            (Place::Dropped, b'"') => {
                self.rest.push(byte);
                Place::Between
            }
            (Place::Dropped, b'\\') => Place::DroppedEscape,
            (Place::Dropped | Place::DroppedEscape, _) => {
                self.dropped += 1;
                Place::Dropped
            }
        };
        Ok(())
    }

    /// The place behind so many digits of an escaped character in a file.
    fn after_digit(
        &mut self,
        mut decoder: Base64,
        code: u32,
        digits: u8,
        events: &mut Vec<MediaEvent>,
    ) -> Result<Place, MediaFailure> {
        if digits < 4 {
            return Ok(Place::FileUnicode(decoder, code, digits));
        }
        // Nothing beyond ASCII is base64.
        self.files.add_base64(&mut decoder, &[u8::try_from(code).unwrap_or_default()], events)?;
        Ok(Place::File(decoder))
    }

    fn add_to_word(&mut self, byte: u8) {
        self.rest.push(byte);
        if let Some(word) = &mut self.word {
            word.push(byte);
            if word.len() > MAX_WORD {
                self.word = None;
            }
        }
    }

    /// The place behind the quotation mark with which a string begins.
    fn begin_string(&mut self) -> Place {
        self.word = None;
        let is_of = |names: &[&str]| {
            self.member.as_deref().is_some_and(|member| names.iter().any(|name| name.as_bytes() == member))
        };
        let (is_file, is_dropped) = (is_of(self.members.files), is_of(self.members.dropped));
        let is_wanted = is_file && self.files.complete < self.wanted;
        if is_file || is_dropped {
            self.member = None;
        }
        match (is_wanted, is_file || is_dropped) {
            (true, _) => {
                self.files.head = (self.members.head)(self.declared_type.as_deref());
                Place::File(Base64::default())
            }
            (false, true) => Place::Dropped,
            (false, false) => {
                self.word = Some(Vec::new());
                Place::Text
            }
        }
    }

    /// A string that is a value has a member; a name has none.
    fn end_text(&mut self) {
        let Some(member) = self.member.take() else { return };
        let value = self.word.take();
        if member == b"mimeType" || member == b"mime_type" {
            self.declared_type = value.and_then(|value| String::from_utf8(value).ok());
        }
    }

    /// Ends the answer: the rest of it.
    pub fn finish(self) -> Result<(Value, u8), MediaFailure> {
        let is_between = matches!(self.place, Place::Between);
        let rest = String::from_utf8(self.rest).ok().filter(|_| is_between).ok_or_else(cut)?;
        // Workers AI's answers come as the events of a stream (`workers_ai::as_stream`).
        let rest = rest.trim();
        let rest = rest.strip_prefix("data:").map_or(rest, |rest| rest.trim_end_matches("[DONE]"));
        let rest = rest.trim_end().trim_end_matches("data:");
        let value: Value = wire::json::from_str(rest.trim()).map_err(|_| cut())?;
        if value.is_object() { Ok((value, self.files.complete)) } else { Err(cut()) }
    }
}

fn cut() -> MediaFailure {
    protocol("The model provider's answer ended before it was complete, or is no answer.")
}
