//! What a request's body may be: its type, and how large. Reading stops at the limit, so a body of 100 MB costs no
//! more than one of 1 MiB.

use wire::protocol::{ApiError, ErrorCode};

/// The largest body (DESIGN §10): well above the longest message, well below what an isolate can hold many of.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// A body that is being read.
#[derive(Debug, Default)]
pub struct BoundedBody {
    bytes: Vec<u8>,
}

impl BoundedBody {
    /// A body with this `content-length`. What it declares is only believed when it refuses the body.
    pub fn declared(content_length: Option<&str>) -> Result<Self, ApiError> {
        match content_length.and_then(|text| text.trim().parse::<usize>().ok()) {
            Some(length) if length > MAX_BODY_BYTES => Err(too_large()),
            _ => Ok(BoundedBody::default()),
        }
    }

    /// Takes the next piece. The first one is kept as it is, for most bodies come in one.
    pub fn push(&mut self, piece: Vec<u8>) -> Result<(), ApiError> {
        if self.bytes.len().saturating_add(piece.len()) > MAX_BODY_BYTES {
            return Err(too_large());
        }
        if self.bytes.is_empty() {
            self.bytes = piece;
        } else {
            self.bytes.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// What was read.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn too_large() -> ApiError {
    ApiError::new(ErrorCode::BodyTooLarge, format!("the body is larger than {MAX_BODY_BYTES} bytes"))
}

/// The refusal of a body whose end never came.
pub fn broken_off() -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, "the body broke off before its end")
}

/// Refuses every type but JSON. A page on another site can send others without being asked first (CORS).
pub fn require_json(content_type: Option<&str>) -> Result<(), ApiError> {
    let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
    if essence.trim().eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, "expected content-type: application/json"))
}

#[cfg(test)]
mod tests {
    use super::{BoundedBody, MAX_BODY_BYTES, require_json};

    /// The pieces of a body until it is refused, and how it ended.
    fn read(content_length: Option<&str>, pieces: &[usize]) -> Result<usize, &'static str> {
        let mut body = BoundedBody::declared(content_length).map_err(|error| error.code.as_str())?;
        for &piece in pieces {
            body.push(vec![b'x'; piece]).map_err(|error| error.code.as_str())?;
        }
        Ok(body.into_bytes().len())
    }

    #[test]
    fn a_body_is_read_up_to_the_limit() {
        const REFUSED: Result<usize, &str> = Err("body_too_large");
        let over = (MAX_BODY_BYTES + 1).to_string();
        let exact = MAX_BODY_BYTES.to_string();
        let table: [(Option<&str>, &[usize], _); 10] = [
            (None, &[], Ok(0)),
            (Some("5"), &[2, 3], Ok(5)),
            (Some(&exact), &[MAX_BODY_BYTES], Ok(MAX_BODY_BYTES)),
            (Some(&over), &[], REFUSED),
            (Some("104857600"), &[], REFUSED),
            (None, &[MAX_BODY_BYTES, 1], REFUSED),
            (Some("5"), &[MAX_BODY_BYTES, 1], REFUSED),
            (Some("nonsense"), &[7], Ok(7)),
            (None, &[MAX_BODY_BYTES + 1], REFUSED),
            (None, &[0, 0, 1, 0], Ok(1)),
        ];
        for (content_length, pieces, expected) in table {
            assert_eq!(read(content_length, pieces), expected, "{content_length:?} {pieces:?}");
        }
    }

    #[test]
    fn only_json_is_taken() {
        for json in
            ["application/json", "Application/JSON", "application/json; charset=utf-8", " application/json "]
        {
            assert!(require_json(Some(json)).is_ok(), "{json}");
        }
        let others =
            ["", "text/plain", "application/jsonp", "text/plain; application/json", "application/json,x"];
        for other in others.into_iter().map(Some).chain([None]) {
            assert_eq!(require_json(other).unwrap_err().code.as_str(), "unsupported_media_type", "{other:?}");
        }
    }
}
