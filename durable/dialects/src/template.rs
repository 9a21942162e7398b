//! Writes JSON by templates: the text as a client reads it, with a `$` for each value. A `serde_json::Value` of the same
//! members would be several times the code, and an allocation for each name.

/// A value in place of a `$`.
#[derive(Clone, Copy)]
pub enum Hole<'a> {
    /// A text, in quotes and escaped.
    Text(&'a str),
    Number(u64),
    /// JSON as it is, or members of an object.
    Json(&'a [u8]),
}

impl Hole<'_> {
    pub const NULL: Self = Hole::Json(b"null");
}

/// Appends the template with a value in place of each `$`.
pub fn fill(template: &str, holes: &[Hole<'_>], out: &mut Vec<u8>) {
    let mut pieces = template.split('$');
    out.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for (hole, piece) in holes.iter().zip(pieces) {
        match hole {
            Hole::Text(value) => text(value, out),
            Hole::Number(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Hole::Json(value) => out.extend_from_slice(value),
        }
        out.extend_from_slice(piece.as_bytes());
    }
}

/// The template with a value in place of each `$`.
pub fn filled(template: &str, holes: &[Hole<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    fill(template, holes, &mut out);
    out
}

/// Appends a comma, unless the list is empty.
pub fn separate(list: &mut Vec<u8>) {
    list.extend_from_slice(if list.is_empty() { b"" } else { b"," });
}

/// Appends a text in quotes. Only quotes, backslashes and control characters must be escaped (RFC 8259, section 7).
fn text(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = value.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        let (plain, marked) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = marked.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn each_hole_has_its_value_in_order() {
        let template = r#"{"text":$,"number":$,"list":$$}"#;
        let holes =
            [Hole::Text("a"), Hole::Number(u64::MAX), Hole::Json(b"[1]"), Hole::Json(b",\"more\":null")];
        let expected = r#"{"text":"a","number":18446744073709551615,"list":[1],"more":null}"#;
        assert_eq!(String::from_utf8(filled(template, &holes)).unwrap(), expected);
    }

    // Text is data: none of it ends its quotes, opens a hole, or is lost.
    #[test]
    fn a_text_is_read_back_as_it_was() {
        let every: String = (0..0x250).filter_map(char::from_u32).collect();
        for value in ["", "$", "\"$\\", "a\r\n\tb", "\u{2028}\u{1f600}\\u0000", &every, &every.repeat(2)] {
            let written = filled("[$,$]", &[Hole::Text(value), Hole::Text("$")]);
            let read: Value = serde_json::from_slice(&written).unwrap();
            assert_eq!(read, json!([value, "$"]));
        }
    }
}
