//! JSON as lines: a value a line, with its name or its place, below those around it. Texts stand there without escapes, as a
//! search finds them and a model reads them best.

use std::rc::Rc;

use serde::de::IgnoredAny;

use super::{BYTE, LINE, Line, Packer, below};
use crate::knowledge::chunks::{Chunk, plain};
use wire::json::{from_slice, from_str};
use wire::pace::{BYTE_READ, Pace};
use wire::protocol::{ApiError, ErrorCode, MAX_JSON_DEPTH};
use wire::surrogates::without_lone;

/// An object or array that the scan is in.
struct Open {
    /// The path to its values.
    path: Rc<str>,
    /// The place of its next item; none of an object.
    next: Option<usize>,
}

/// Divides JSON between its values.
pub async fn json(text: &str, pace: &Pace<'_>) -> Result<Vec<Chunk>, ApiError> {
    pace.before(text.len() * BYTE_READ).await?;
    let read: Result<IgnoredAny, _> = from_str(text);
    read.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!("the document is not JSON from line {line}, column {column} on");
        ApiError::new(ErrorCode::InvalidRequest, detail)
    })?;
    let mut packer = Packer::new(String::new());
    let (mut open, mut key) = (Vec::<Open>::new(), None::<String>);
    let mut rest = text;
    // From here on the text is JSON.
    while let Some(value) =
        Some(rest.trim_start_matches([' ', '\n', '\r', '\t', ',', ':'])).filter(|rest| !rest.is_empty())
    {
        if let Some(after) = value.strip_prefix(['}', ']']) {
            open.pop();
            rest = after;
            continue;
        }
        let (token, after) = value.split_at(token_end(value));
        rest = after;
        let inside = open.last_mut();
        if token.starts_with('"') && key.is_none() && inside.as_ref().is_some_and(|open| open.next.is_none())
        {
            pace.before(LINE + token.len() * BYTE).await?;
            key = Some(unescaped(token));
            continue;
        }
        let under = inside.as_ref().map_or_else(|| "".into(), |open| Rc::clone(&open.path));
        let name = key.take().or_else(|| {
            let next = inside?.next.as_mut()?;
            *next += 1;
            Some(format!("[{}]", *next - 1))
        });
        let (name, depth) = (name.unwrap_or_default(), open.len());
        let opens = matches!(token, "{" | "[");
        if opens {
            if depth == MAX_JSON_DEPTH {
                let detail = format!("the document is nested deeper than {MAX_JSON_DEPTH} levels");
                return Err(ApiError::new(ErrorCode::InvalidRequest, detail));
            }
            open.push(Open { path: below(&under, &name), next: (token == "[").then_some(0) });
        }
        let text = if opens { String::new() } else { unescaped(token) };
        if name.is_empty() && text.is_empty() {
            pace.before(LINE + token.len() * BYTE).await?;
            continue;
        }
        packer.push(Line { depth, under, name, text }, pace).await?;
    }
    packer.chunks(text, pace).await
}

/// The length of the token at the beginning of JSON: an empty list or object, the sign that begins another one, a text, or a
/// number or word.
fn token_end(json: &str) -> usize {
    let bytes = json.as_bytes();
    match bytes.first() {
        Some(b'{' | b'[') => {
            let inside = json.get(1..).unwrap_or_default().trim_start_matches([' ', '\n', '\r', '\t']);
            if inside.starts_with(['}', ']']) { json.len() - inside.len() + 1 } else { 1 }
        }
        Some(b'"') => {
            let mut is_escaped = false;
            let closes = |byte: &u8| {
                let closes = *byte == b'"' && !is_escaped;
                is_escaped = *byte == b'\\' && !is_escaped;
                closes
            };
            bytes.iter().skip(1).position(closes).map_or(json.len(), |at| at + 2)
        }
        _ => json.find([' ', '\n', '\r', '\t', ',', '}', ']']).unwrap_or(json.len()),
    }
}

/// A token as text: the words of a text, and anything else as it is.
fn unescaped(token: &str) -> String {
    if !token.starts_with('"') {
        return token.split_whitespace().collect();
    }
    let words: Result<String, _> = from_slice(&without_lone(token.as_bytes()));
    plain(&words.unwrap_or_default())
}
