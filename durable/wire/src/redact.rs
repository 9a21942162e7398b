//! Redaction: makes foreign texts (errors of the platform, replies of providers) safe to store and show.

use std::fmt;

use memchr::memmem;
use serde_json::error::Category;
use uuid::Uuid;

/// The longest text, in characters.
const MAX_CHARS: usize = 500;
/// Keys, tokens and digests have at least this many characters without a break. Words are shorter.
const SECRET_CHARS: usize = 24;
/// The most bytes of a foreign text that redaction reads.
const MAX_BYTES: usize = 4_096;
/// Redaction hides blocks of this many bytes that a text shares with a request. Ordinary words are shorter, and a
/// sentence is longer.
const BLOCK: usize = 12;

/// The most occurrences of a block in a request that redaction compares.
const OCCURRENCES: usize = 16;

/// Removes everything that looks like a credential, and puts the text on one line of bounded length. Ids stay.
pub fn redacted(text: &str) -> String {
    let is_secret_char = |c: char| c.is_ascii_alphanumeric() || "_-+/=.".contains(c);
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_run = is_secret_char(first);
        let end = rest.find(|c| is_secret_char(c) != in_run).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let secret = ["espk_", "sk-"].iter().any(|prefix| run.starts_with(prefix))
            || (run.len() >= SECRET_CHARS && Uuid::try_parse(run).is_err());
        if in_run && secret {
            out.push_str("[redacted]");
        } else {
            out.extend(run.chars().map(|c| if c.is_control() { ' ' } else { c }));
        }
        rest = after;
    }
    out.chars().take(MAX_CHARS).collect()
}

/// Describes an error in JSON that the operator wrote: its position and the expected type. The description repeats no
/// word of the JSON, because a secret may stand in the wrong place.
pub fn json_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let said = match error.classify() {
        // serde quotes the value that it found, then the type that it expected. Our own types give the latter its name.
        Category::Data => match text.rsplit_once(", expected ") {
            Some((_, expected)) => format!("expected {expected}"),
            None if text.starts_with("missing field ") => text,
            // A value from an earlier parse has no position.
            None if error.line() == 0 => "a value does not fit".to_owned(),
            None => format!("a value does not fit at line {} column {}", error.line(), error.column()),
        },
        Category::Syntax | Category::Eof | Category::Io => text,
    };
    format!("not valid JSON for this: {said}")
}

/// Quotes an answer to a request without the parts that only repeat the request: it removes `secrets` everywhere, and
/// every block that the answer shares with the request's body.
pub fn quoted<'a>(answer: &[u8], body: &[u8], secrets: impl IntoIterator<Item = &'a str>) -> String {
    let answer = answer.get(..MAX_BYTES).unwrap_or(answer);
    let mut text = String::from_utf8_lossy(answer).into_owned();
    for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "[redacted]");
    }
    let bytes = text.as_bytes();
    let mut hidden = vec![false; bytes.len()];
    for at in (0..bytes.len()).step_by(BLOCK) {
        let Some(block) = bytes.get(at..at + BLOCK) else { break };
        for found in memmem::find_iter(body, block).take(OCCURRENCES) {
            // The shared text may begin and end within the neighbouring blocks.
            let before = bytes.iter().take(at).rev().zip(body.iter().take(found).rev());
            let after = bytes.iter().skip(at + BLOCK).zip(body.iter().skip(found + BLOCK));
            let (before, after) = (alike(before), alike(after));
            let alike = hidden.iter_mut().skip(at - before).take(before + BLOCK + after);
            alike.for_each(|hidden| *hidden = true);
        }
    }
    let mut shown = String::new();
    let mut gap = false;
    for (at, character) in text.char_indices() {
        let is_hidden = hidden.get(at).copied().unwrap_or(true);
        match (is_hidden, gap) {
            (true, false) => shown.push('…'),
            (true, true) => {}
            (false, _) => shown.push(character),
        }
        gap = is_hidden;
    }
    redacted(shown.trim())
}

/// Counts the equal pairs before the first difference.
fn alike<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take(BLOCK).take_while(|(one, other)| one == other).count()
}

/// A text that logs never show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text, for the header that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redaction_removes_everything_like_a_credential() {
        let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let table = [
            (format!("key {hash} refused"), "key [redacted] refused".to_owned()),
            ("espk_1a2b_x".to_owned(), "[redacted]".to_owned()),
            ("Incorrect key: sk-short.".to_owned(), "Incorrect key: [redacted]".to_owned()),
            (format!("cookie espalier_session={hash}.{hash}; x"), "cookie [redacted]; x".to_owned()),
            ("two\nlines\r\u{1b}[31m".to_owned(), "two lines  [31m".to_owned()),
            ("ordinary words, short".to_owned(), "ordinary words, short".to_owned()),
            (
                "id 0190a0a0-0000-7000-8000-000000000001".to_owned(),
                "id 0190a0a0-0000-7000-8000-000000000001".to_owned(),
            ),
            ("é".repeat(600), "é".repeat(500)),
        ];
        for (text, expected) in table {
            assert_eq!(redacted(&text), expected);
        }
    }

    #[test]
    fn a_problem_of_json_repeats_none_of_it() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Wanted {
            depth: u32,
            kind: Option<Choice>,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Choice {
            One,
            Two,
        }
        for (json, told) in [
            (r#"{"depth": "hunter2"}"#, "expected u32 at line 1 column 19"),
            (r#"{"depth": "a, expected hunter2"}"#, "expected u32 at line 1"),
            (r#"{"hunter2": 1}"#, "expected `depth` or `kind` at line 1"),
            (r#"{"depth": 1, "kind": "hunter2"}"#, "expected `one` or `two` at line 1"),
            (r#"{"kind": "one"}"#, "missing field `depth`"),
            (r#"{"depth": 1, "depth": 2, "kind": "hunter2"}"#, "a value does not fit at line 1"),
            ("{hunter2", "key must be a string at line 1"),
            (r#"{"depth": hunter2"#, "expected value at line 1"),
            (r#"{"depth": 1"#, "EOF while parsing an object"),
        ] {
            let problem = json_problem(&crate::json::from_str::<Wanted>(json).unwrap_err());
            assert!(problem.contains(told) && !problem.contains("hunter2"), "{json}: {problem}");
        }
    }

    #[test]
    fn quotes_hide_repeated_parts_of_the_request() {
        let body =
            br#"{"messages":[{"role":"user","content":"My password is hunter2 and I am 41 years old."}]}"#;
        let said = |answer: &str| quoted(answer.as_bytes(), body, ["key-1", ""]);
        assert_eq!(
            said("Rate limit reached for tokens per minute."),
            "Rate limit reached for tokens per minute."
        );
        assert_eq!(said("The key key-1 is wrong."), "The key [redacted] is wrong.");
        for at in 0..BLOCK {
            let shown =
                said(&format!("{}: My password is hunter2 and I am 41 years old. Too long.", "x".repeat(at)));
            assert!(!shown.contains("hunter2") && !shown.contains("41"), "{shown}");
            assert!(shown.contains('…') && shown.ends_with("long."), "{shown}");
        }
        assert_eq!(said(&format!("{}END", "e, ".repeat(5_000))).chars().count(), MAX_CHARS);
        assert_eq!(quoted(b"\xff\xfe", b"", []), "\u{fffd}\u{fffd}");
        assert_eq!(said(""), "");
    }
}
