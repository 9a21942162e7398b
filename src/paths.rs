//! Paths of files in URLs: each segment percent-encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that a name in a header has unescaped (RFC 8187).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Decodes the path of a file in a URL. It leaves malformed escapes as they are, for the check of paths to refuse. The
/// error is for the caller.
pub fn decoded(encoded: &str) -> Result<String, String> {
    let segments = encoded.split('/').map(|segment| {
        let segment = percent_decode_str(segment).decode_utf8().map_err(|_| "it is not UTF-8".to_owned())?;
        match segment.contains('/') {
            // Otherwise two URLs would name one file.
            true => Err("it has an encoded slash".to_owned()),
            false => Ok(segment.into_owned()),
        }
    });
    Ok(segments.collect::<Result<Vec<_>, _>>()?.join("/"))
}

/// Encodes a name for a header.
pub fn encoded(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_one_path() {
        assert_eq!(decoded("a/b%20c/%C3%BC.md").unwrap(), "a/b c/ü.md");
        for wrong in ["a%2fb", "a%2Fb", "%ff", "%c0%ae", "a/%e2%82"] {
            assert!(decoded(wrong).is_err(), "{wrong}");
        }
        // The check of paths judges these.
        for (given, path) in [("%2e%2e/x", "../x"), ("%252e", "%2e"), ("%", "%"), ("%zz", "%zz")] {
            assert_eq!(decoded(given).unwrap(), path);
        }
    }

    #[test]
    fn a_name_survives_a_header() {
        let name = "a \"b\"\r\n%ü~.md";
        assert_eq!(encoded(name), "a%20%22b%22%0D%0A%25%C3%BC~.md");
        assert_eq!(decoded(&encoded(name)).unwrap(), name);
    }
}
