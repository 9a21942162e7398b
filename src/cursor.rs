//! The cursor of the list of threads: where the previous page ended. Opaque to clients, so it may change.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use espalier_durable::protocol::ApiError;
use uuid::Uuid;

/// The last thread of a page, in the order of the list: newest first, the id breaking ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCursor {
    pub updated_at: u64,
    pub id: Uuid,
}

impl ThreadCursor {
    /// What the client gets.
    pub fn encode(self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(format!("{}.{}", self.updated_at, self.id))
    }

    /// What the client sent back.
    pub fn decode(text: &str) -> Result<Self, ApiError> {
        Self::read(text).ok_or_else(|| ApiError::field("cursor", "this is no cursor of this list"))
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (updated_at, id) = std::str::from_utf8(&bytes).ok()?.split_once('.')?;
        Some(ThreadCursor { updated_at: updated_at.parse().ok()?, id: Uuid::try_parse(id).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE64_URL_SAFE_NO_PAD, Engine, ThreadCursor};
    use uuid::Uuid;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        for updated_at in [0, 1_763_000_000_000, u64::MAX] {
            let cursor = ThreadCursor { updated_at, id: Uuid::from_u128(updated_at.into()) };
            assert_eq!(ThreadCursor::decode(&cursor.encode()), Ok(cursor));
        }
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        let id = Uuid::nil();
        let encoded = [
            format!("12{id}"),
            format!("-1.{id}"),
            format!("1e9.{id}"),
            format!(".{id}"),
            "12.".to_owned(),
            "12.not-a-uuid".to_owned(),
            format!("99999999999999999999.{id}"),
            format!("12.{id}.{id}"),
        ]
        .map(|text| BASE64_URL_SAFE_NO_PAD.encode(text));
        let raw = ["", "x", "!!!!", "MTI", "%00", "' OR 1=1 --"].map(str::to_owned);
        for text in encoded.iter().chain(&raw) {
            let error = ThreadCursor::decode(text).unwrap_err();
            assert_eq!((error.code.as_str(), error.field.as_deref()), ("invalid_request", Some("cursor")));
        }
    }
}
