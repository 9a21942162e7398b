//! `Idempotency-Key`: a request that comes again with the same key finds the turn that it began. Another request with that
//! key is refused, and the digest tells the two apart.

use sha2::{Digest, Sha256};
use wire::pace::{BYTE_READ, Pace};
use wire::protocol::ApiError;

/// The bytes that are digested at a time: a sixth of a stretch.
const PIECE: usize = 1 << 16;

/// The digest of a body and of the form in which its client speaks: the same bytes may be a request of two forms. In
/// hexadecimal digits.
pub async fn digest(form: &str, body: &[u8], pace: &Pace<'_>) -> Result<String, ApiError> {
    let mut hash = Sha256::new().chain_update(form).chain_update([0]);
    for piece in body.chunks(PIECE) {
        pace.before(piece.len() * BYTE_READ).await?;
        hash.update(piece);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use wire::pace::{Pace, Pause, STRETCH, at_once, no_pause};

    use super::*;

    fn digest_at_once(form: &str, body: &[u8]) -> String {
        at_once(digest(form, body, &Pace::new(&no_pause))).unwrap().unwrap()
    }

    // Issue 46, L4
    #[test]
    fn a_digest_has_the_form_and_each_byte() {
        assert_eq!(digest_at_once("responses", b"{}").len(), 64);
        assert_eq!(digest_at_once("responses", b"{}"), digest_at_once("responses", b"{}"));
        let long = vec![b'x'; 2 * PIECE + 1];
        let digests = [
            digest_at_once("responses", b"{}"),
            digest_at_once("chat_completions", b"{}"),
            digest_at_once("responses", b"{} "),
            digest_at_once("responses", b""),
            digest_at_once("responses", &long),
            digest_at_once("responses", &long[1..]),
        ];
        for (place, digest) in digests.iter().enumerate() {
            assert!(!digests[..place].contains(digest), "{place}");
        }
    }

    #[test]
    fn a_long_body_is_digested_with_pauses() {
        let pauses = Cell::new(0);
        let pause = || -> Pause {
            pauses.set(pauses.get() + 1);
            no_pause()
        };
        let body = vec![0; 2 * STRETCH / BYTE_READ];
        at_once(digest("responses", &body, &Pace::new(&pause))).unwrap().unwrap();
        assert!(pauses.get() >= 1 && pauses.get() < 4, "{}", pauses.get());
    }
}
