//! The path of an error in a JSON text, such as `content[0].name`. It is found by the error's position once there is an
//! error, so reading a body that is right costs nothing.

use serde_json::Error;

/// A container that is open at a position.
enum Open {
    /// An object, and its member that has begun.
    Object(Option<String>),
    /// An array, and the index of its element.
    Array(usize),
}

/// The path of an error in a body; `.` for the body itself. serde_json's position is the end of the value that it refused,
/// or the begin of one that it did not enter.
pub(super) fn of_error(body: &[u8], error: &Error) -> String {
    let line = body.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    let position = line.map(<[u8]>::len).sum::<usize>() + error.column();
    at(body.get(..position).unwrap_or(body))
}

/// The path of the end of a text.
fn at(text: &[u8]) -> String {
    let mut open = Vec::new();
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, open.last_mut()) {
            (b'{', _) => open.push(Open::Object(None)),
            (b'[', _) => open.push(Open::Array(0)),
            (b'}' | b']', _) => drop(open.pop()),
            (b',', Some(Open::Object(name))) => *name = None,
            (b',', Some(Open::Array(index))) => *index += 1,
            (b'"', inside) => {
                let (string, after) = after.split_at(string_length(after));
                rest = after;
                if let Some(Open::Object(name @ None)) = inside {
                    *name = crate::json::from_slice(&[b"\"", string].concat()).ok();
                }
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for container in open {
        match container {
            Open::Object(Some(name)) if path.is_empty() => path.push_str(&name),
            Open::Object(Some(name)) => path.extend([".", &name]),
            Open::Array(index) => path.push_str(&format!("[{index}]")),
            Open::Object(None) => {}
        }
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

/// The bytes of a string after its first quote, with the last one.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn a_position_has_the_path_of_its_value() {
        for (text, path) in [
            ("", "."),
            (r#"{"a": 1}"#, "."),
            (r#"{"a": 1"#, "a"),
            (r#"{"a": "#, "a"),
            (r#"{"a": {"b": 1}"#, "a"),
            (r#"{"a": {"b": 1"#, "a.b"),
            (r#"{"a": [{"b": 1}, {"c": "x""#, "a[1].c"),
            (r#"{"a": [[0, 1], [2, 3"#, "a[1][1]"),
            (r#"{"a": 1, "b": "c,d:{""#, "b"),
            (r#"{"a\"\u00e9": "x\\", "y": [tru"#, "y[0]"),
            (r#"{"a\"\u00e9": "x\\""#, "a\"\u{e9}"),
            (r#"["a", "b"#, "[1]"),
            (r#"{"a": 1, "#, "."),
        ] {
            assert_eq!(at(text.as_bytes()), path, "{text}");
        }
    }
}
