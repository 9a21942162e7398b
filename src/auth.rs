//! Credentials → [`Principal`]. Two kinds: bearer API keys, and the cookie of an anonymous session. This module
//! decides what was presented; `api_key` and `session` judge it; `routes` fetches what they need.

pub mod api_key;
pub mod seen;
pub mod session;

use espalier_durable::protocol::{ApiError, ErrorCode, Owner};

use api_key::ApiKey;

/// Somebody who may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub owner: Owner,
    pub method: Method,
}

/// How somebody proved who they are. A browser sends a cookie by itself, hence the origin rules for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    ApiKey,
    Cookie,
}

/// What a request shows, not yet verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential<'a> {
    ApiKey(ApiKey<'a>),
    /// The token in the session cookie.
    Session(&'a str),
}

/// Finds the credential. `Authorization` wins over a cookie, and a bad one is never made up for by a good cookie:
/// who presents a key means to act as its owner.
pub fn presented<'a>(
    authorization: Option<&'a str>,
    cookies: Option<&'a str>,
) -> Result<Credential<'a>, ApiError> {
    if let Some(authorization) = authorization {
        let key = bearer(authorization).and_then(ApiKey::parse);
        return key
            .map(Credential::ApiKey)
            .ok_or_else(|| unauthenticated("expected Authorization: Bearer espk_…"));
    }
    let token = cookies.and_then(session::token_in);
    token.map(Credential::Session).ok_or_else(|| unauthenticated("neither an API key nor a session"))
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The refusal of a credential; the detail never says which part of it was wrong.
pub fn unauthenticated(detail: &str) -> ApiError {
    ApiError::new(ErrorCode::Unauthenticated, detail)
}

#[cfg(test)]
mod tests;
