//! Sessions that an API key opened, so that a browser need not keep the key, or that an identity provider's answer opened
//! (`oidc`). The cookie is a random token: `esps_<secret>`. D1 has a row for it under its SHA-256, with the prefix of its
//! key, or with the user whom the provider sent; deleting the row ends the session.

#[cfg(target_arch = "wasm32")]
pub mod store;

use serde::Serialize;
use sha2::{Digest, Sha256};
use wire::protocol::{SignInWay, hex};

use super::api_key::KeyLabel;
use super::{CredentialDigest, Verified};

/// Thirty days from signing in, as long as a visitor's cookie lasts without a visit.
const LIFETIME_MS: u64 = 30 * 24 * 3_600_000;
/// The most sessions of a user: more browsers than the people who share a key use. A newer session ends the oldest, so
/// that repeated sign-ins cannot fill the database.
pub const MAX_SESSIONS: u32 = 100;

const BEGIN: &str = "esps_";
/// 256 random bits in hexadecimal.
const SECRET_CHARS: usize = 64;

/// The cookie's value as presented or minted: well-formed, not verified.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken(String);

impl SessionToken {
    /// Reads a token. The token of an anonymous session differs: it has no underscore in its first part.
    pub fn parse(token: &str) -> Option<Self> {
        let secret = token.strip_prefix(BEGIN)?;
        let fits = secret.len() == SECRET_CHARS && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| SessionToken(token.to_owned()))
    }

    /// A new token from so many random bytes.
    pub fn mint(secret: [u8; SECRET_CHARS / 2]) -> Self {
        SessionToken(format!("{BEGIN}{}", hex(&secret)))
    }

    /// The digest by which the session is found.
    pub fn digest(&self) -> CredentialDigest {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// The token itself, for the cookie.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

// The secret stays out of every log.
impl std::fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionToken")
    }
}

/// The end of a session that this key opens now: at most the key's own end.
pub fn end_of(key: &Verified, now: u64) -> u64 {
    let end = now.saturating_add(LIFETIME_MS);
    key.expires_at.map_or(end, |at| at.min(end))
}

/// The body of an answer that opens a session, or tells whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Opened {
    pub user_id: String,
    pub expires_at: Option<u64>,
    /// The session's scopes: `read`, `write`, `admin`, `erase`.
    pub scopes: Vec<&'static str>,
    /// The API key that opened it; null for other sessions, and for a token that a proxy adds.
    pub key: Option<KeyLabel>,
    /// The label of the identity provider at which the user signed in; absent in other sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The identity providers at which a visitor can sign in; absent where there are none, and for other users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sign_in: Vec<SignInWay>,
}

impl From<Verified> for Opened {
    fn from(Verified { principal, expires_at, key, signed_in_at: _ }: Verified) -> Self {
        Opened {
            user_id: principal.owner.user_id(),
            expires_at,
            scopes: principal.scopes.words(),
            key,
            provider: None,
            sign_in: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyLabel, LIFETIME_MS, Opened, SessionToken, Verified, end_of};
    use crate::auth::scope::Scopes;
    use crate::auth::{Authority, Principal};
    use serde_json::json;
    use wire::protocol::Owner;

    fn key(expires_at: Option<u64>) -> Verified {
        let owner = Owner { issuer: "key".to_owned(), tenant: "acme".to_owned(), user: "ada".to_owned() };
        let principal = Principal { owner, authority: Authority::Bearer, scopes: Scopes::parse("read") };
        let key = KeyLabel { prefix: "0a1b".to_owned(), name: "laptop".to_owned() };
        Verified { principal, expires_at, key: Some(key), signed_in_at: None }
    }

    #[test]
    fn a_token_is_32_random_bytes() {
        let minted = SessionToken::mint([0xab; 32]);
        assert_eq!(minted.reveal(), format!("esps_{}", "ab".repeat(32)));
        assert_eq!(SessionToken::parse(minted.reveal()), Some(minted.clone()));
        assert_ne!(minted.digest(), SessionToken::mint([0xac; 32]).digest());
        assert_eq!(format!("{minted:?}"), "SessionToken");
    }

    #[test]
    fn other_texts_are_no_session_tokens() {
        let others = [
            String::new(),
            "esps_".to_owned(),
            format!("esps_{}", "a".repeat(63)),
            format!("esps_{}", "a".repeat(65)),
            format!("esps_{}g", "a".repeat(63)),
            format!("ESPS_{}", "a".repeat(64)),
            format!("espk_{}", "a".repeat(64)),
            format!("0a1b2c3d.{}.{}", "A".repeat(43), "A".repeat(43)),
            format!("esps_{}é", "a".repeat(62)),
        ];
        for other in others {
            assert_eq!(SessionToken::parse(&other), None, "{other}");
        }
    }

    #[test]
    fn a_session_ends_with_its_key_or_after_thirty_days() {
        let later = 1_000 + LIFETIME_MS;
        for (key_ends, session_ends) in
            [(None, later), (Some(5_000), 5_000), (Some(later), later), (Some(later + 1), later)]
        {
            assert_eq!(end_of(&key(key_ends), 1_000), session_ends, "{key_ends:?}");
        }
    }

    #[test]
    fn the_answer_names_the_user_and_the_scopes() {
        let answer = serde_json::to_value(Opened::from(key(Some(7)))).unwrap();
        let label = json!({ "prefix": "0a1b", "name": "laptop" });
        let expected = json!({ "user_id": "key:ada", "expires_at": 7, "scopes": ["read"], "key": label });
        assert_eq!(answer, expected);
    }
}
