//! Anonymous sessions: a signed cookie names the visitor. A row of D1 lists it, or says that it has ended (`sessions`).
//! This module also builds and reads the
//! cookie itself, which signed-in sessions (`signed_in`) use too.
//!
//! The token is `<key id>.<payload>.<mac>` (`wire::signing`): the payload is user id, start and end (16 + 8 + 8 bytes,
//! big-endian).

use uuid::Uuid;
use wire::protocol::{ANONYMOUS, Owner};
use wire::signing::{Keyring, Use};

use super::scope::Scopes;
use super::{Authority, Principal, Verified};

/// The issuer of anonymous users.
pub const ISSUER: &str = ANONYMOUS;
/// The cookie's name on a local http address.
const COOKIE: &str = "espalier_session";
/// Its name over https: browsers accept a cookie of this name from this very host alone. Otherwise a page on a sister
/// domain could plant its own session, and read the visitor's messages in it.
const HOST_COOKIE: &str = "__Host-espalier_session";
/// Thirty days, from the last visit at which the cookie was renewed.
const LIFETIME_MS: u64 = 30 * 24 * 3_600_000;
/// The tokens of cookies.
const COOKIES: Use =
    Use { begin: "", purpose: b"espalier session v1\0", key_id: b"espalier session key id\0" };

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

    /// The session as a verified credential.
    pub fn verified(&self) -> Verified {
        Verified {
            principal: self.principal(),
            expires_at: Some(self.expires_at),
            key: None,
            signed_in_at: None,
        }
    }
}

/// The secrets of sessions.
#[derive(Clone, Debug)]
pub struct SessionSecrets(Box<Keyring>);

impl SessionSecrets {
    /// Reads `SESSION_SECRET`, secrets with commas between them; `None` if it has none, too many, or one that is too
    /// short.
    pub fn from_secrets(secrets: &str) -> Option<Self> {
        Keyring::from_secrets(secrets, COOKIES).map(Box::new).map(SessionSecrets)
    }

    /// The token for a session.
    pub fn sign(&self, session: &AnonymousSession) -> String {
        let mut payload = session.user.into_bytes().to_vec();
        payload.extend(session.issued_at.to_be_bytes());
        payload.extend(session.expires_at.to_be_bytes());
        self.0.sign(&payload)
    }

    /// The session of a token; `None` if no secret here signed it, or it is over.
    pub fn verify(&self, token: &str, now: u64) -> Option<AnonymousSession> {
        let payload: [u8; 32] = self.0.verify(token)?.try_into().ok()?;
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
