//! Share links: a user gives everybody who has a link a read-only snapshot of a conversation. It has no tools.
//!
//! The link has a token of 128 random bits, and D1 its digest alone. A snapshot is made of the thread's own messages
//! (`snapshot.rs`), once: later messages, versions and titles change nothing in it.
//!
//! The thread's object makes the snapshot (`platform/src/adapters/shares.rs`) of its own messages, in one step without
//! a wait, so it is one path. `snapshot.rs` copies what its lines name into types of their own (`SharedPart`); so a
//! new member of a message is not shared until somebody adds it there. The row of D1 has the snapshot, as the very
//! answer that readers get. A read asks the thread's object for its existence, because D1 may hear of a deletion late.
//!
//! The public page is a build of its own (`web/shared.html`, `vite.shared.config.ts`), which the Worker serves behind
//! the check of the token. It reads the snapshot without a cookie, and draws texts by the same components as chats.

mod snapshot;
pub mod statements;
#[cfg(target_arch = "wasm32")]
pub mod store;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use wire::protocol::{ApiError, ErrorCode, hex};

pub use snapshot::{Cut, shown};

/// The bytes of a token.
pub const TOKEN_BYTES: usize = 16;
/// The length of a token as text.
const TOKEN_CHARS: usize = 22;

/// The path of the public page of a token.
pub fn page(token: &str) -> String {
    format!("/shared/{token}")
}

/// Reads `SHARES`: whether users may share conversations, and others read them.
pub fn offered(var: impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    match var("SHARES").unwrap_or_default().trim() {
        "" | "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("the variable SHARES must be on or off".to_owned()),
    }
}

/// The text of a token.
pub fn token(random: [u8; TOKEN_BYTES]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(random)
}

/// The digest by which D1 finds a token's link; none for a text that can be no token. A digest tells nobody how much of a
/// guess was right.
pub fn digest(token: &str) -> Option<String> {
    let is_token = token.len() == TOKEN_CHARS
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_token.then(|| hex(&Sha256::digest(token.as_bytes())))
}

/// There is no such link, or it has ended: the answer does not tell which.
pub fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ShareNotFound, "there is no such share link, or it has ended")
}

#[cfg(test)]
mod tests;
