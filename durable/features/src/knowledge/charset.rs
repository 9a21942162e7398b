//! The character sets of documents, as browsers name and read them (<https://encoding.spec.whatwg.org/>). A library for
//! all of them has tables of several hundred kilobytes. Pure.

use std::str::from_utf8;

use crate::reader::{MediaType, PageFormat};

/// A character set in which documents are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    Utf8,
    /// The names of Latin-1 and of ASCII mean this one too.
    Windows1252,
    Utf16Le,
    Utf16Be,
}

/// Their names in a refusal.
pub const NAMES: &str = "utf-8, iso-8859-1, windows-1252, utf-16, utf-16le or utf-16be";

/// The characters of windows-1252 from 0x80 to 0x9f. All others are those of Latin-1.
const HIGH: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// The units of work to decode a byte.
pub const BYTE_DECODED: usize = 4;

/// The text of a document: by its byte order mark, else by the character set that its sender `named`, else in UTF-8. HTML that
/// is none may name another one itself. None where the document cannot be read so.
pub fn text(bytes: Vec<u8>, named: Option<Charset>, is_html: bool) -> Option<String> {
    let charset = Charset::of_mark(&bytes).or(named);
    let own = || {
        let label = MediaType::default().charset(PageFormat::Html, &bytes);
        Charset::named(&label).filter(|own| *own == Charset::Windows1252)
    };
    let own = if is_html && charset.is_none() { own() } else { None };
    match (charset, own) {
        (None, Some(own)) if from_utf8(&bytes).is_err() => own.decode(bytes),
        _ => charset.unwrap_or(Charset::Utf8).decode(bytes),
    }
}

impl Charset {
    /// The character set of a name, in any case.
    pub fn named(label: &str) -> Option<Self> {
        Some(match label.trim().to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" | "unicode-1-1-utf-8" | "unicode11utf8" | "unicode20utf8"
            | "x-unicode20utf8" => Charset::Utf8,
            "ansi_x3.4-1968" | "ascii" | "cp1252" | "cp819" | "csisolatin1" | "ibm819" | "iso-8859-1"
            | "iso-ir-100" | "iso8859-1" | "iso88591" | "iso_8859-1" | "iso_8859-1:1987" | "l1"
            | "latin1" | "us-ascii" | "windows-1252" | "x-cp1252" => Charset::Windows1252,
            "csunicode" | "iso-10646-ucs-2" | "ucs-2" | "unicode" | "unicodefeff" | "utf-16" | "utf-16le" => {
                Charset::Utf16Le
            }
            "unicodefffe" | "utf-16be" => Charset::Utf16Be,
            _ => return None,
        })
    }

    /// The character set that a document's own first bytes name.
    pub fn of_mark(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xef, 0xbb, 0xbf, ..] => Some(Charset::Utf8),
            [0xff, 0xfe, ..] => Some(Charset::Utf16Le),
            [0xfe, 0xff, ..] => Some(Charset::Utf16Be),
            _ => None,
        }
    }

    /// The text of a document, without its byte order mark. None where it is not UTF-8. In UTF-16, half of a pair reads as
    /// U+FFFD.
    pub fn decode(self, bytes: Vec<u8>) -> Option<String> {
        let units = |unit: fn([u8; 2]) -> u16| {
            let (pairs, rest) = bytes.as_chunks::<2>();
            let mut text: String = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect();
            text.extend(rest.first().map(|_| char::REPLACEMENT_CHARACTER));
            text
        };
        let mut text = match self {
            Charset::Utf8 => String::from_utf8(bytes).ok()?,
            Charset::Windows1252 => {
                let high: Vec<char> = HIGH.chars().collect();
                let character = |byte: u8| high.get(usize::from(byte).wrapping_sub(0x80)).copied();
                bytes.iter().map(|byte| character(*byte).unwrap_or(char::from(*byte))).collect()
            }
            Charset::Utf16Le => units(u16::from_le_bytes),
            Charset::Utf16Be => units(u16::from_be_bytes),
        };
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    // Issue 44
    #[test]
    fn documents_are_read_in_their_character_sets() {
        let text = "a,\"ü 漢 😀\"\r\n";
        let (le, be) = (utf16(text, u16::to_le_bytes), utf16(text, u16::to_be_bytes));
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        for (charset, bytes) in [
            (Charset::Utf8, text.as_bytes().to_vec()),
            (Charset::Utf8, marked(b"\xef\xbb\xbf", text.as_bytes())),
            (Charset::Utf16Le, le.clone()),
            (Charset::Utf16Le, marked(b"\xff\xfe", &le)),
            (Charset::Utf16Be, be.clone()),
            (Charset::Utf16Be, marked(b"\xfe\xff", &be)),
        ] {
            assert_eq!(charset.decode(bytes.clone()).as_deref(), Some(text), "{charset:?} {bytes:?}");
        }
        let western = b"M\xfcnchen \x80 5, \x93caf\xe9\x94 \x81\x9f\xff".to_vec();
        let read = Charset::Windows1252.decode(western);
        assert_eq!(read.as_deref(), Some("München € 5, “café” \u{81}Ÿÿ"));
        let all = Charset::Windows1252.decode((0..=255).collect()).unwrap();
        assert_eq!(
            (all.chars().count(), all.chars().nth(0x7f), all.chars().nth(0xa0)),
            (256, Some('\u{7f}'), Some('\u{a0}'))
        );
        assert_eq!(Charset::Utf8.decode(b"caf\xe9".to_vec()), None);
    }

    #[test]
    fn a_mark_comes_before_a_name_and_a_name_before_the_documents_own() {
        let told = |bytes: &[u8], named, is_html| text(bytes.to_vec(), named, is_html);
        let page = b"<meta charset=iso-8859-1>\xfc";
        for (bytes, named, is_html, expected) in [
            (&b"\xff\xfea\0"[..], Some(Charset::Windows1252), false, Some("a")),
            (b"\xef\xbb\xbfa", Some(Charset::Utf16Be), false, Some("a")),
            (b"\xfc", Some(Charset::Windows1252), false, Some("ü")),
            (b"\xfc", None, false, None),
            (page, None, true, Some("<meta charset=iso-8859-1>ü")),
            (page, None, false, None),
            (page, Some(Charset::Utf8), true, None),
            // Pages in UTF-8 often name another one.
            ("<meta charset=iso-8859-1>ü".as_bytes(), None, true, Some("<meta charset=iso-8859-1>ü")),
            (b"<meta charset=big5>\xfc", None, true, None),
        ] {
            assert_eq!(told(bytes, named, is_html).as_deref(), expected, "{bytes:?} {named:?}");
        }
    }

    #[test]
    fn half_of_a_pair_reads_as_a_replacement() {
        for (units, expected) in [
            (vec![0xd83d_u16, 0x61], "\u{fffd}a"),
            (vec![0x61, 0xde00], "a\u{fffd}"),
            (vec![0xd83d], "\u{fffd}"),
            (vec![0xde00, 0xd83d, 0xd83d, 0xde00], "\u{fffd}\u{fffd}😀"),
            (vec![], ""),
        ] {
            let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            assert_eq!(Charset::Utf16Be.decode(bytes).as_deref(), Some(expected), "{units:x?}");
        }
        assert_eq!(Charset::Utf16Le.decode(b"a\0b".to_vec()).as_deref(), Some("a\u{fffd}"), "half of a unit");
    }

    #[test]
    fn a_character_set_has_the_names_of_browsers() {
        for (label, expected) in [
            ("UTF-8", Some(Charset::Utf8)),
            ("ISO-8859-1", Some(Charset::Windows1252)),
            (" latin1 ", Some(Charset::Windows1252)),
            ("Windows-1252", Some(Charset::Windows1252)),
            ("UTF-16", Some(Charset::Utf16Le)),
            ("utf-16be", Some(Charset::Utf16Be)),
            ("iso-8859-15", None),
            ("shift_jis", None),
            ("", None),
        ] {
            assert_eq!(Charset::named(label), expected, "{label}");
        }
        for name in NAMES.replace(" or ", ", ").split(", ") {
            assert!(Charset::named(name).is_some(), "{name}");
        }
        assert_eq!(Charset::of_mark(b"\xff\xfea\0"), Some(Charset::Utf16Le));
        assert_eq!(Charset::of_mark(b"\xfe\xff\0a"), Some(Charset::Utf16Be));
        assert_eq!(
            (Charset::of_mark(b"\xef\xbb\xbf"), Charset::of_mark(b"\xff")),
            (Some(Charset::Utf8), None)
        );
    }
}
