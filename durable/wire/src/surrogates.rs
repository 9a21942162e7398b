//! Lone surrogates in foreign JSON. A sender that cuts its text between two UTF-16 units escapes one half alone,
//! and no reader of JSON takes that. Each text from outside goes through here before it is read.

use std::borrow::Cow;

use memchr::memchr;

/// The first mark. The marks are the last 2 048 characters of Unicode's last plane of private use: one for each half. A
/// text that has such a character of its own reads as U+FFFD there.
const FIRST_MARK: u32 = 0x10_F800;
/// The first mark of a second half.
const FIRST_LOW: u32 = 0x10_FC00;
/// The first byte of each character of the last plane.
const PLANE_BYTE: u8 = 0xF4;
/// The bytes of an escaped unit.
const ESCAPE: usize = 6;

/// Writes U+FFFD in place of each half alone. Its escape has the same length, so nothing moves. Reads about `most` bytes from
/// a place on, and returns the place from which to go on.
pub fn replace_lone(json: &mut [u8], from: usize, most: usize) -> usize {
    let until = from.saturating_add(most).min(json.len());
    let mut at = from;
    while at < until {
        let Some(backslash) = json.get(at..until).and_then(|rest| memchr(b'\\', rest)) else { return until };
        let start = at + backslash;
        let (end, half) = escape_at(json, start);
        if let Some(escape) = json.get_mut(start..end).filter(|_| half.is_some()) {
            escape.copy_from_slice(br"\ufffd");
        }
        at = end;
    }
    at
}

/// The same JSON with U+FFFD in place of each half alone.
pub fn without_lone(json: &[u8]) -> Cow<'_, [u8]> {
    if next_half(json, 0).is_none() {
        return Cow::Borrowed(json);
    }
    let mut replaced = json.to_vec();
    replace_lone(&mut replaced, 0, usize::MAX);
    Cow::Owned(replaced)
}

/// The JSON with a mark in place of each half alone, for a text that may go on with the other half. [`join_halves`] removes the
/// marks.
pub fn marked(json: &str) -> Cow<'_, str> {
    let (mut marked, mut copied) = (String::new(), 0);
    while let Some((start, unit)) = next_half(json.as_bytes(), copied) {
        marked.push_str(json.get(copied..start).unwrap_or_default());
        let mark = char::from_u32(FIRST_MARK + (u32::from(unit) & 0x7FF));
        marked.push(mark.unwrap_or(char::REPLACEMENT_CHARACTER));
        copied = start + ESCAPE;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    marked.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(marked)
}

/// Joins the marks of the two halves of a pair. A mark alone becomes U+FFFD.
pub fn join_halves(text: &mut String) {
    if memchr(PLANE_BYTE, text.as_bytes()).is_none() {
        return;
    }
    let mut settled = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        let Some(unit) = unit_of(character) else {
            settled.push(character);
            continue;
        };
        let low = rest.peek().copied().and_then(unit_of).filter(|low| *low >= 0xDC00);
        let pair = low.and_then(|low| char::decode_utf16([unit, low]).next()?.ok());
        if pair.is_some() {
            rest.next();
        }
        settled.push(pair.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    *text = settled;
}

/// Settles a piece of a text. The first half of a pair at its end goes to `held`, which the next piece begins with.
pub fn join_halves_of_piece(held: &mut Option<char>, piece: &mut String) {
    if let Some(half) = held.take() {
        piece.insert(0, half);
    }
    if piece.chars().next_back().is_some_and(|last| (FIRST_MARK..FIRST_LOW).contains(&u32::from(last))) {
        *held = piece.pop();
    }
    join_halves(piece);
}

/// The UTF-16 unit of a mark.
fn unit_of(character: char) -> Option<u16> {
    let place = u32::from(character).checked_sub(FIRST_MARK)?;
    u16::try_from(0xD800 + place).ok()
}

/// The place of the next half alone from here on, and the half.
fn next_half(json: &[u8], mut at: usize) -> Option<(usize, u16)> {
    loop {
        let start = at + memchr(b'\\', json.get(at..)?)?;
        let (end, half) = escape_at(json, start);
        if let Some(half) = half {
            return Some((start, half));
        }
        at = end;
    }
}

/// The end of the escape at a place, or of a whole pair of them; and the half that it is, if it stands alone.
fn escape_at(json: &[u8], start: usize) -> (usize, Option<u16>) {
    match (surrogate(json, start), surrogate(json, start + ESCAPE)) {
        (Some(..0xDC00), Some(0xDC00..)) => (start + 2 * ESCAPE, None),
        (Some(half), _) => (start + ESCAPE, Some(half)),
        (None, _) => (start + 2, None),
    }
}

/// The half that is escaped at this place.
fn surrogate(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + ESCAPE)?.strip_prefix(br"\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> String {
        serde_json::from_slice(&without_lone(json.as_bytes())).unwrap()
    }

    // Issue 44: a half alone is U+FFFD, a pair stays, and an escaped backslash escapes nothing.
    #[test]
    fn halves_alone_are_replaced() {
        for (json, text) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\uDE0B b""#, "\u{fffd} b"),
            (r#""\ud83d\ude0b""#, "\u{1f60b}"),
            (r#""\ud83d\ud83d\ude0b""#, "\u{fffd}\u{1f60b}"),
            (r#""\ude0b\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
            (r#""\\ud83d""#, r"\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""\u00e4 é""#, "ä é"),
        ] {
            assert_eq!(read(json), text, "{json}");
        }
        for json in [r#""\ud8"#, r#""\ud83"#, r"\", r#""\ud83z""#, ""] {
            assert_eq!(&*without_lone(json.as_bytes()), json.as_bytes(), "no escape of a half");
        }
        // In stretches of any length it is the same.
        let json = br#"["\ud83d\ude0b", "\ud83d\\\ude0b\\ud83d", "\n\ud83d"]"#;
        for most in 1..json.len() {
            let (mut bytes, mut at) = (json.to_vec(), 0);
            while at < bytes.len() {
                at = replace_lone(&mut bytes, at, most);
            }
            assert_eq!(bytes, *without_lone(json), "{most}");
        }
        assert_eq!(&*without_lone(b"\"\xff\\ud83d\""), b"\"\xff\\ufffd\"", "bytes that are no text stay");
    }

    // Issue 44: the halves of a pair join over pieces.
    #[test]
    fn marks_join_over_pieces() {
        let text = |json: &str| serde_json::from_str::<String>(&marked(json)).unwrap();
        for (pieces, whole) in [
            (vec![r#""a\ud83d""#, r#""\ude0bb""#], "a\u{1f60b}b"),
            (vec![r#""a\ud83d""#, r#""b""#], "a\u{fffd}b"),
            (vec![r#""\ud83d""#, r#""\ud83d""#, r#""\ude0b""#], "\u{fffd}\u{1f60b}"),
            (vec![r#""\ude0b""#, r#""\udfff\ud800""#], "\u{fffd}\u{fffd}\u{fffd}"),
            (vec![r#""\udbff""#, r#""\udfff""#], "\u{10ffff}"),
        ] {
            let mut joined: String = pieces.iter().map(|json| text(json)).collect();
            join_halves(&mut joined);
            assert_eq!(joined, whole, "{pieces:?}");
            let (mut held, mut told) = (None, String::new());
            for piece in pieces {
                let mut piece = text(piece);
                join_halves_of_piece(&mut held, &mut piece);
                told.push_str(&piece);
            }
            told.extend(held.map(|_| char::REPLACEMENT_CHARACTER));
            assert_eq!(told, whole);
        }
    }
}
