//! Files as texts in JSON.

use base64::Engine;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

/// Bytes that JSON has in base64. They are encoded as they are written, so their text is never a string of its own.
#[derive(Clone, Copy, Debug)]
pub struct InBase64<'a>(pub &'a [u8]);

impl Serialize for InBase64<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// Bytes in base64.
pub fn in_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
