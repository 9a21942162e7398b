//! The failure of a storage, as the ports over it give it back.

use std::fmt;

/// The storage did not answer or refused, or it holds a row that cannot be read. The text is for the operator, never for a
/// client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        StoreError(format!("JSON: {error}"))
    }
}
