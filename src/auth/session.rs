//! Anonymous sessions: a signed cookie names the visitor, and nothing is stored. This module also builds and reads the
//! cookie itself, which signed-in sessions (`signed_in`) use too.
//!
//! The token is `<key id>.<payload>.<mac>`: the payload is user id, start and end (16 + 8 + 8 bytes, big-endian), the
//! mac is HMAC-SHA-256 over all that stands before it. The key id is derived from the secret: where there are several
//! secrets, it selects the one that verifies.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use wire::protocol::{ANONYMOUS, Owner, hex};

use super::scope::Scopes;
use super::{Authority, Principal};

/// The issuer of anonymous users.
pub const ISSUER: &str = ANONYMOUS;
/// The cookie's name on a local http address.
const COOKIE: &str = "espalier_session";
/// Its name over https: browsers accept a cookie of this name from this very host alone. Otherwise a page on a sister
/// domain could plant its own session, and read the visitor's messages in it.
const HOST_COOKIE: &str = "__Host-espalier_session";
/// Thirty days, from the last visit at which the cookie was renewed.
const LIFETIME_MS: u64 = 30 * 24 * 3_600_000;
/// A secret shorter than the digest would be the weakest part of the signature (RFC 2104 §3).
const MIN_SECRET_BYTES: usize = 32;
/// Binds the mac to this use: another use of the same secret produces other macs.
const PURPOSE: &[u8] = b"espalier session v1\0";

/// An anonymous visitor's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnonymousSession {
    pub user: Uuid,
    pub issued_at: u64,
    pub expires_at: u64,
}

impl AnonymousSession {
    /// A session that begins now.
    pub fn begin(user: Uuid, now: u64) -> Self {
        AnonymousSession { user, issued_at: now, expires_at: now.saturating_add(LIFETIME_MS) }
    }

    /// The same visitor, with a new term once half of the old one is over: visitors who come back keep their threads.
    pub fn renewed(self, now: u64) -> Self {
        let left = self.expires_at.saturating_sub(now);
        if left < LIFETIME_MS / 2 { AnonymousSession::begin(self.user, now) } else { self }
    }

    /// The user of the session.
    pub fn principal(&self) -> Principal {
        let owner =
            Owner { issuer: ISSUER.to_owned(), tenant: "public".to_owned(), user: self.user.to_string() };
        Principal { owner, authority: Authority::Ambient, scopes: Scopes::USER }
    }
}

/// The most secrets at a time: more than any rotation needs.
const MAX_SECRETS: usize = 8;

/// The secrets of sessions: the first one signs, all of them verify. So an operator replaces a secret by putting a new
/// one in front, and everybody stays logged in.
#[derive(Clone, Debug)]
pub struct SessionSecrets {
    signs: SessionSecret,
    others: Vec<SessionSecret>,
}

impl SessionSecrets {
    /// Reads `SESSION_SECRET`, secrets with commas between them; `None` if it has none, too many, or one that is too
    /// short.
    pub fn from_secrets(secrets: &str) -> Option<Self> {
        let secrets: Option<Vec<_>> =
            secrets.split(',').map(|secret| SessionSecret::from_secret(secret.trim())).collect();
        let mut secrets = secrets.filter(|secrets| secrets.len() <= MAX_SECRETS)?.into_iter();
        Some(SessionSecrets { signs: secrets.next()?, others: secrets.collect() })
    }

    /// The token for a session.
    pub fn sign(&self, session: &AnonymousSession) -> String {
        self.signs.sign(session)
    }

    /// The session of a token; `None` if no secret here signed it, or it is over.
    pub fn verify(&self, token: &str, now: u64) -> Option<AnonymousSession> {
        std::iter::once(&self.signs).chain(&self.others).find_map(|key| key.verify(token, now))
    }
}

/// A secret that signs sessions.
#[derive(Clone)]
struct SessionSecret {
    id: String,
    mac: Hmac<Sha256>,
}

impl SessionSecret {
    /// `None` for a secret that is too short.
    fn from_secret(secret: &str) -> Option<Self> {
        if secret.len() < MIN_SECRET_BYTES {
            return None;
        }
        let digest = Sha256::new().chain_update(b"espalier session key id\0").chain_update(secret).finalize();
        let mac = Hmac::new_from_slice(secret.as_bytes()).ok()?.chain_update(PURPOSE);
        Some(SessionSecret { id: hex(&digest).chars().take(8).collect(), mac })
    }

    fn sign(&self, session: &AnonymousSession) -> String {
        let mut payload = [0_u8; 32];
        let fields = session
            .user
            .into_bytes()
            .into_iter()
            .chain(session.issued_at.to_be_bytes())
            .chain(session.expires_at.to_be_bytes());
        for (to, from) in payload.iter_mut().zip(fields) {
            *to = from;
        }
        let signed = format!("{}.{}", self.id, BASE64_URL_SAFE_NO_PAD.encode(payload));
        let mac = self.mac.clone().chain_update(&signed).finalize().into_bytes();
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac))
    }

    /// The session of a token; `None` if this secret did not sign it, or it is over.
    fn verify(&self, token: &str, now: u64) -> Option<AnonymousSession> {
        let (signed, mac) = token.rsplit_once('.')?;
        let (id, payload) = signed.split_once('.')?;
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
        if id != self.id || self.mac.clone().chain_update(signed).verify_slice(&mac).is_err() {
            return None;
        }
        let payload: [u8; 32] = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?.try_into().ok()?;
        let (user, times) = payload.split_first_chunk::<16>()?;
        let (issued_at, expires_at) = times.split_first_chunk::<8>()?;
        let session = AnonymousSession {
            user: Uuid::from_bytes(*user),
            issued_at: u64::from_be_bytes(*issued_at),
            expires_at: u64::from_be_bytes(expires_at.try_into().ok()?),
        };
        (session.expires_at > now).then_some(session)
    }
}

// The secret and its derived keys stay out of every log.
impl std::fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SessionSecret({})", self.id)
    }
}

const fn cookie(https: bool) -> &'static str {
    if https { HOST_COOKIE } else { COOKIE }
}

/// The value of `Set-Cookie`. `Secure` only over https: browsers would drop the cookie on a local http address.
pub fn set_cookie(token: &str, expires_at: u64, now: u64, https: bool) -> String {
    let seconds = expires_at.saturating_sub(now) / 1_000;
    let (name, secure) = (cookie(https), if https { "; Secure" } else { "" });
    format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

/// The value of `Set-Cookie` that deletes the cookie.
pub fn clear_cookie(https: bool) -> String {
    set_cookie("", 0, 0, https)
}

/// The session's token in a `Cookie` header.
pub fn token_in(cookies: &str, https: bool) -> Option<&str> {
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(name, value)| (name == cookie(https)).then_some(value))
}

#[cfg(test)]
mod tests;
