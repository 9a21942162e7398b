//! Credentials → [`Principal`]. Three kinds: bearer API keys, JWTs of configured issuers, and the cookie of a session,
//! which is an anonymous one or one that an API key opened. This module finds the credential of a request; `api_key`,
//! `jwt`, `session` and `signed_in` judge it; `routes` fetches the rows and keys that they judge it by.
//!
//! `src/auth.rs` decides which credential a request shows: an API key, a JWT, a session. `auth/api_key.rs`,
//! `auth/jwt.rs` with `auth/jwks.rs`, `auth/session.rs` (visitors) and `auth/signed_in.rs` (sessions that an API key
//! or an identity provider's answer opened) judge it, purely. `auth/oidc.rs` has the sign-in at an identity provider:
//! what it asks, what its answer proves. `auth/sessions.rs` has the list of both, and the row by which a visitor's
//! session ends. `src/audit.rs` has the audit log: the Worker writes an entry in the batch of its deed, where there is
//! something to do, and a thread's object by its outbox (`storage/outgoing/audit.rs`). `routes/credentials.rs`,
//! `routes/jwks.rs` and `routes/oidc.rs` fetch what they need: rows of D1 from the stores, an issuer's keys,
//! WebCrypto, a provider's document and its token endpoint. Every sign-in ends in `routes/session.rs::sign_in`.
//!
//! A route names in its row what it demands of a credential (`auth/scope.rs`, `Access`). An erasure demands more than
//! a scope: `Verified::may_erase` judges by the way in which the user came, and by the time of the sign-in, which the
//! row of a session and a token's claims have.

pub mod api_key;
pub mod jwks;
pub mod jwt;
pub mod oidc;
pub mod scope;
pub mod seen;
pub mod session;
pub mod sessions;
pub mod signed_in;

use wire::protocol::{ANONYMOUS, ApiError, ErrorCode, Owner};

use api_key::{ApiKey, KeyLabel};
use jwt::Issuer;
use scope::{Scope, Scopes};
use signed_in::SessionToken;

/// How lately somebody must have signed in who erases their account: time to save an export first, and too short for most
/// who find a browser or a token of somebody else. Our choice; OpenID Connect has `max_age` for it.
pub const RECENT_MS: u64 = 600_000;

/// The user whom a verified credential stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub owner: Owner,
    pub authority: Authority,
    pub scopes: Scopes,
}

/// By whose decision a credential was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// A program sent it in `Authorization`, deliberately.
    Bearer,
    /// The browser, or a proxy in front of the service, added it by itself. It does so for requests of any page: hence
    /// the rules of `origin`.
    Ambient,
}

/// The SHA-256 of a whole key or token.
pub type CredentialDigest = [u8; 32];

/// A key, a session or a token that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub principal: Principal,
    pub expires_at: Option<u64>,
    /// The API key, or the one that opened the session; `None` for a token.
    pub key: Option<KeyLabel>,
    /// When its user signed in, as far as a session's row or a token says so.
    pub signed_in_at: Option<u64>,
}

impl Verified {
    /// Whether it may erase all data of its user: a key by its own scope, a visitor, who has nothing but the cookie, and
    /// everybody else within ten minutes of signing in. The refusal says how.
    pub fn may_erase(&self, now: u64) -> Result<(), ApiError> {
        let Principal { owner, authority, scopes } = &self.principal;
        let is_key = self.key.is_some() && *authority == Authority::Bearer;
        if is_key {
            return lacks_unless(scopes.has(Scope::Erase), Scope::Erase);
        }
        lacks_unless(scopes.has(Scope::Write), Scope::Write)?;
        let is_recent = self.signed_in_at.is_some_and(|at| now.saturating_sub(at) <= RECENT_MS);
        match owner.issuer == ANONYMOUS || is_recent {
            true => Ok(()),
            false => Err(ApiError::new(
                ErrorCode::SignInAgain,
                "To delete all your data, sign out and in again first: this works for ten minutes after signing in, or \
                 with an API key that has the scope erase.",
            )),
        }
    }

    /// Whether it is over.
    pub fn expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// The credential that a request shows, not yet verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    ApiKey(ApiKey),
    Jwt {
        token: String,
        authority: Authority,
    },
    /// The session cookie of somebody who signed in with an API key.
    SignedIn(SessionToken),
    /// Any other token in the session cookie.
    Anonymous(String),
}

/// Finds the credential. `Authorization` wins over an issuer's own header, and that over the cookie. A bad credential
/// refuses the request even where a good one follows: a client that presents a key means to act as its owner.
pub fn presented(
    header: impl Fn(&str) -> Option<String>,
    issuers: &[Issuer],
    https: bool,
) -> Result<Credential, ApiError> {
    if let Some(authorization) = header("authorization") {
        let token = bearer(&authorization).unwrap_or_default();
        return match ApiKey::parse(token) {
            Some(key) => Ok(Credential::ApiKey(key)),
            None if issuers.iter().any(|issuer| issuer.header.is_none()) && jwt::looks_like_one(token) => {
                Ok(Credential::Jwt { token: token.to_owned(), authority: Authority::Bearer })
            }
            None => Err(unauthenticated("expected Authorization: Bearer with an API key or a token")),
        };
    }
    let own_header = issuers.iter().filter_map(|issuer| issuer.header.as_deref()).find_map(&header);
    if let Some(token) = own_header {
        return Ok(Credential::Jwt { token, authority: Authority::Ambient });
    }
    let cookies = header("cookie");
    let token = cookies.as_deref().and_then(|cookies| session::token_in(cookies, https));
    let token =
        token.ok_or_else(|| unauthenticated("this request needs an API key, a token or a session"))?;
    Ok(match SessionToken::parse(token) {
        Some(token) => Credential::SignedIn(token),
        None => Credential::Anonymous(token.to_owned()),
    })
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn lacks_unless(has: bool, scope: Scope) -> Result<(), ApiError> {
    if has { Ok(()) } else { Err(lacks(scope)) }
}

/// The refusal of a credential without this scope.
pub fn lacks(scope: Scope) -> ApiError {
    let detail = format!("this route needs the scope {}", scope.as_str());
    ApiError::new(ErrorCode::InsufficientScope, detail)
}

/// The refusal of a credential. To give attackers no hint, its detail does not tell which part was wrong.
pub fn unauthenticated(detail: &str) -> ApiError {
    ApiError::new(ErrorCode::Unauthenticated, detail)
}

#[cfg(test)]
mod tests;
