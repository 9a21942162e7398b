//! Tables as text, as RFC 4180 has them, with any of the usual separators.

use super::{LINE, Line, Packer};
use crate::knowledge::chunks::{Chunk, plain};
use wire::pace::Pace;
use wire::protocol::ApiError;

/// The longest names of columns, in characters: a third of a chunk.
const MAX_HEAD_CHARS: usize = 500;

/// Divides a table between its rows. The first row has the names of the columns.
pub async fn csv(text: &str, pace: &Pace<'_>) -> Result<Vec<Chunk>, ApiError> {
    pace.before(text.len() * super::BYTE).await?;
    // Old programs end a row with a carriage return alone.
    let text = plain(&text.replace("\r\n", "\n").replace('\r', "\n"));
    let (mut head, mut rest) = row(text.trim_start_matches('\n'));
    // Excel reads the separator here.
    if head.len() == "sep=;".len() && head.starts_with("sep=") {
        (head, rest) = row(rest);
    }
    let head = head.trim_end();
    let names: String = head.chars().take(MAX_HEAD_CHARS).chain(['\n']).collect();
    let mut packer = Packer::new(if rest.trim().is_empty() { String::new() } else { names });
    if rest.trim().is_empty() {
        rest = head;
    }
    while !rest.is_empty() {
        pace.before(LINE).await?;
        let (next, after) = row(rest);
        if !next.trim().is_empty() {
            let line = Line { depth: 0, under: "".into(), name: String::new(), text: next.to_owned() };
            packer.push(line, pace).await?;
        }
        rest = after;
    }
    packer.chunks(&text, pace).await
}

/// The first row of a table, and the rest of the table. A value in quotes may have line ends, and quotes that are doubled.
fn row(text: &str) -> (&str, &str) {
    // Whether the next byte is in quotes, and whether a quote there would begin a value.
    let (mut is_quoted, mut begins) = (false, true);
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' if is_quoted => is_quoted = bytes.next_if(|(_, next)| *next == b'"').is_some(),
            b'"' => is_quoted = begins,
            b'\n' if !is_quoted => {
                let (row, rest) = text.split_at(at);
                return (row, rest.strip_prefix('\n').unwrap_or(rest));
            }
            _ => {}
        }
        begins = matches!(byte, b',' | b';' | b'\t' | b'|') || (begins && byte == b' ');
    }
    (text, "")
}
