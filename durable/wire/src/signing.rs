//! Signed tokens, for everything that the service hands out and recognises again: the cookies of sessions, and the tokens
//! of steps. Nothing is stored for them, and the secret stays in the keyring.
//!
//! A token is `BEGIN` `KEY` `.` `PAYLOAD` `.` `MAC`: the payload and the mac in base64 without padding, the mac
//! HMAC-SHA-256 over the purpose and all that stands before it. The key's id is derived from the secret: where there are
//! several secrets, it selects the one that verifies.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::protocol::hex;

/// The most secrets at a time: more than any rotation needs.
const MAX_SECRETS: usize = 8;
/// A secret shorter than the digest would be the weakest part of the signature (RFC 2104 §3).
const MIN_SECRET_BYTES: usize = 32;

/// 128 bits in hexadecimal.
const MARK_CHARS: usize = 32;

/// A use of a secret. Another use of the same secret makes other macs and other ids of keys.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// The beginning of a token; it names the format.
    pub begin: &'static str,
    /// Stands before all that a mac covers.
    pub purpose: &'static [u8],
    /// Stands before a secret whose id is derived.
    pub key_id: &'static [u8],
}

/// The keys of a use: the first one signs, all of them verify. So an operator replaces a secret by putting a new one in
/// front, and the tokens of the old one stay valid until it is taken out.
#[derive(Clone, Debug)]
pub struct Keyring {
    begin: &'static str,
    signs: Key,
    others: Vec<Key>,
}

impl Keyring {
    /// Reads secrets with commas between them; `None` if there is none, too many, or one that is too short.
    pub fn from_secrets(secrets: &str, of: Use) -> Option<Self> {
        Keyring::of(secrets, |secret| Key::new(secret.as_bytes(), of), of.begin)
    }

    /// Keys that are derived from the secrets of another use, under a label.
    pub fn derived(secrets: &str, label: &[u8], of: Use) -> Option<Self> {
        let key = |secret: &str| {
            let derived = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?.chain_update(label);
            Key::new(&derived.finalize().into_bytes(), of)
        };
        Keyring::of(secrets, key, of.begin)
    }

    /// A key of these bytes alone.
    pub fn from_bytes(bytes: &[u8], of: Use) -> Option<Self> {
        Some(Keyring { begin: of.begin, signs: Key::new(bytes, of)?, others: Vec::new() })
    }

    fn of(secrets: &str, key: impl Fn(&str) -> Option<Key>, begin: &'static str) -> Option<Self> {
        let long_enough = |secret: &&str| secret.len() >= MIN_SECRET_BYTES;
        let secrets = secrets.split(',').map(str::trim);
        let keys: Option<Vec<Key>> =
            secrets.map(|secret| Some(secret).filter(long_enough).and_then(&key)).collect();
        let mut keys = keys.filter(|keys| keys.len() <= MAX_SECRETS)?.into_iter();
        Some(Keyring { begin, signs: keys.next()?, others: keys.collect() })
    }

    /// The id of the key that signs.
    pub fn id(&self) -> &str {
        &self.signs.id
    }

    /// The token of a payload.
    pub fn sign(&self, payload: &[u8]) -> String {
        self.signs.sign(self.begin, payload)
    }

    /// The token of a payload by the key with this id; by the one that signs, where there is no such key any more.
    pub fn sign_by(&self, id: &str, payload: &[u8]) -> String {
        let key = self.others.iter().find(|key| key.id == id).unwrap_or(&self.signs);
        key.sign(self.begin, payload)
    }

    /// An HMAC of a payload, in the form `KEY.MAC`: the same for the same payload and key, and nobody reads the payload in
    /// it. 128 bits of the mac, because it recognises and proves nothing.
    pub fn mark(&self, payload: &[u8]) -> String {
        let mac = self.signs.mac.clone().chain_update(payload).finalize().into_bytes();
        let mac: String = hex(&mac).chars().take(MARK_CHARS).collect();
        format!("{}.{mac}", self.signs.id)
    }

    /// The payload of a token; `None` if no key here signed it. A token has one form alone: another encoding of the same
    /// bytes is refused.
    pub fn verify(&self, token: &str) -> Option<Vec<u8>> {
        std::iter::once(&self.signs).chain(&self.others).find_map(|key| key.verify(self.begin, token))
    }
}

#[derive(Clone)]
struct Key {
    id: String,
    mac: Hmac<Sha256>,
}

impl Key {
    fn new(secret: &[u8], of: Use) -> Option<Self> {
        let digest = Sha256::new().chain_update(of.key_id).chain_update(secret).finalize();
        let mac = Hmac::new_from_slice(secret).ok()?.chain_update(of.purpose);
        Some(Key { id: hex(&digest).chars().take(8).collect(), mac })
    }

    fn sign(&self, begin: &str, payload: &[u8]) -> String {
        let signed = format!("{begin}{}.{}", self.id, BASE64_URL_SAFE_NO_PAD.encode(payload));
        let mac = self.mac.clone().chain_update(&signed).finalize().into_bytes();
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac))
    }

    /// Compares the mac in constant time.
    fn verify(&self, begin: &str, token: &str) -> Option<Vec<u8>> {
        let (signed, mac) = token.rsplit_once('.')?;
        let (id, payload) = signed.strip_prefix(begin)?.split_once('.')?;
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
        if id != self.id || self.mac.clone().chain_update(signed).verify_slice(&mac).is_err() {
            return None;
        }
        BASE64_URL_SAFE_NO_PAD.decode(payload).ok()
    }
}

// The secret and its derived keys stay out of every log.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USE: Use = Use { begin: "x1.", purpose: b"a test\0", key_id: b"a test's key\0" };

    fn ring(secrets: &[char]) -> Keyring {
        let secrets: Vec<String> = secrets.iter().map(|secret| secret.to_string().repeat(32)).collect();
        Keyring::from_secrets(&secrets.join(" , "), USE).unwrap()
    }

    // W-088: the previous key still verifies after a rotation.
    #[test]
    fn the_first_key_signs_and_all_of_them_verify() {
        let (before, during, after) = (ring(&['a']), ring(&['b', 'a']), ring(&['b']));
        let token = before.sign(b"payload");
        assert!(token.starts_with("x1."));
        assert_eq!(during.verify(&token).as_deref(), Some(b"payload".as_slice()));
        assert_eq!(after.verify(&token), None);
        assert_eq!(after.verify(&during.sign(b"payload")).as_deref(), Some(b"payload".as_slice()));
        assert_eq!(during.sign_by(before.id(), b"payload"), token, "the key that signed it");
        assert_eq!(after.sign_by(before.id(), b"p"), after.sign(b"p"), "it is gone");
    }

    #[test]
    fn uses_of_one_secret_know_nothing_of_each_other() {
        let secret = "a".repeat(32);
        let other = Use { purpose: b"another\0", ..USE };
        let token = Keyring::from_secrets(&secret, USE).unwrap().sign(b"payload");
        assert_eq!(Keyring::from_secrets(&secret, other).unwrap().verify(&token), None);
        let derived = Keyring::derived(&secret, b"label", USE).unwrap();
        assert_eq!(derived.verify(&token), None);
        assert_ne!(derived.id(), Keyring::from_secrets(&secret, USE).unwrap().id());
        assert_ne!(derived.id(), Keyring::derived(&secret, b"other", USE).unwrap().id());
        assert_eq!(derived.verify(&derived.sign(b"")), Some(Vec::new()));
        assert!(!format!("{derived:?}{:?}", ring(&['q'])).contains("qqq"));
    }

    // Issue 23
    #[test]
    fn a_mark_recognises_a_payload_and_hides_it() {
        let (mine, other) = (ring(&['a']), ring(&['b']));
        let mark = mine.mark(b"192.0.2.7");
        assert_eq!(mark, ring(&['a', 'b']).mark(b"192.0.2.7"), "the first secret marks");
        assert_eq!(mark.len(), 8 + 1 + 32);
        assert_ne!(mark, mine.mark(b"192.0.2.8"));
        assert_ne!(mark, other.mark(b"192.0.2.7"));
        let hidden = BASE64_URL_SAFE_NO_PAD.encode(b"192.0.2.7");
        assert!(!mark.contains("192.0.2.7") && !mark.contains(&hidden) && !mark.contains(&hex(b"192.0.2.7")));
    }

    #[test]
    fn each_secret_is_long_enough() {
        let long = "s".repeat(32);
        let eight = [long.as_str(); 8].join(",");
        for (secrets, good) in [
            (String::new(), false),
            ("s".repeat(31), false),
            (long.clone(), true),
            (format!("{long},short"), false),
            (format!("short,{long}"), false),
            (eight.clone(), true),
            (format!("{eight},{long}"), false),
        ] {
            assert_eq!(Keyring::from_secrets(&secrets, USE).is_some(), good, "{secrets}");
            assert_eq!(Keyring::derived(&secrets, b"label", USE).is_some(), good, "{secrets}");
        }
    }

    proptest! {
        // W-005 W-087: each bit of a token counts, and each other form of the same bytes is refused.
        #[test]
        fn a_token_with_any_change_is_refused(payload in prop::collection::vec(any::<u8>(), 0..60), flip in any::<u16>()) {
            let ring = ring(&['a', 'b']);
            let token = ring.sign(&payload);
            prop_assert_eq!(ring.verify(&token), Some(payload));
            for at in 0..token.len() {
                let mut changed = token.clone().into_bytes();
                changed[at] ^= 1 << (usize::from(flip) % 7);
                if let Ok(changed) = String::from_utf8(changed) {
                    prop_assert_eq!(ring.verify(&changed), None, "at {}", at);
                }
                let cut: String = token.chars().take(at).collect();
                prop_assert_eq!(ring.verify(&cut), None);
            }
            let (signed, mac) = token.rsplit_once('.').unwrap();
            for other in [
                format!("{token}="), format!("{token}."), format!(" {token}"), format!("{token}A"), format!("{signed}=.{mac}"),
                format!("{signed}.{}", mac.to_uppercase() + "x"), token.replace("x1.", ""), token.replace("x1.", "x1.x1."),
            ] {
                prop_assert_eq!(ring.verify(&other), None, "{}", other);
            }
        }

        // The last character of a mac has two bits that mean nothing: only one of the four forms is a token.
        #[test]
        fn a_mac_has_one_form(payload in prop::collection::vec(any::<u8>(), 36)) {
            const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            let ring = ring(&['a']);
            let token = ring.sign(&payload);
            let mut begin = token.clone();
            begin.pop();
            let valid = LETTERS.chars().filter(|letter| ring.verify(&format!("{begin}{letter}")).is_some());
            prop_assert_eq!(valid.count(), 1);
        }
    }
}
