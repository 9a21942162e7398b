//! Decides which web pages may use a visitor's cookie, and which may read an answer.
//!
//! A browser sends the cookie with the requests of any page, and names the page's origin in `Origin`. Other clients have
//! no ambient credential to abuse. `Sec-Fetch-Site` shows that the client is a browser.

use wire::protocol::{ApiError, ErrorCode};

/// The header that only browsers send: they know which site a page belongs to. Pages can neither set nor remove it (W3C
/// Fetch Metadata). Its siblings prove less: Node's own `fetch` sends `Sec-Fetch-Mode`.
pub const FETCH_SITE: &str = "sec-fetch-site";

/// Chromium remembers a preflight for at most two hours.
const PREFLIGHT_SECONDS: &str = "7200";

/// The headers that pages of other origins may send, those of MCP and of OpenAI's library among them.
const ALLOWED: &str = "authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, \
    mcp-protocol-version, x-stainless-arch, \
    x-stainless-helper-method, x-stainless-lang, x-stainless-os, x-stainless-package-version, \
    x-stainless-poll-helper, x-stainless-retry-count, x-stainless-runtime, x-stainless-runtime-version, \
    x-stainless-timeout, x-thread-id";
/// The headers of answers that pages of other origins may read, beside those that CORS always allows.
const EXPOSED: &str = "allow, retry-after, warning, www-authenticate";

/// The origins that are allowed beside the service's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Reads `ALLOWED_ORIGINS`. It drops every entry that is no http(s) origin, above all `*` and `null`: neither can be
    /// trusted with a visitor's cookie.
    pub fn parse(list: &str) -> Self {
        let origins = list.split(',').map(|entry| entry.trim().trim_end_matches('/').to_ascii_lowercase());
        AllowedOrigins(origins.filter(|origin| of_url(origin).is_some_and(|of| of == origin)).collect())
    }

    fn contains(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == origin)
    }
}

/// The origin of an absolute http(s) URL, as the URL spells it.
pub fn of_url(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    matches!(scheme, "http" | "https").then_some(())?;
    url.get(..scheme.len() + "://".len() + host.len())
}

/// The page that a request comes from, as far as the request tells.
#[derive(Clone, Copy, Debug)]
pub struct Provenance<'a> {
    /// The origin that the request was sent to.
    pub own: Option<&'a str>,
    /// The header `Origin`.
    pub origin: Option<&'a str>,
    /// Whether [`FETCH_SITE`] is there. Means nothing where there is an `Origin`.
    pub from_browser: bool,
}

impl Provenance<'_> {
    /// The rule for a request that changes state with the authority of a cookie, or gets one.
    pub fn may_change_state(&self, allowed: &AllowedOrigins) -> Result<(), ApiError> {
        match self.origin {
            Some(origin) if self.own == Some(origin) || allowed.contains(origin) => Ok(()),
            Some(_) => {
                Err(ApiError::new(ErrorCode::ForbiddenOrigin, "this origin is not in ALLOWED_ORIGINS"))
            }
            None if self.from_browser => {
                Err(ApiError::new(ErrorCode::ForbiddenOrigin, "this request needs an Origin header"))
            }
            None => Ok(()),
        }
    }
}

/// The headers that let a page of this origin read the answer; none for the service's own page, which needs none.
pub fn cors(own: Option<&str>, origin: &str, allowed: &AllowedOrigins) -> Vec<(&'static str, String)> {
    if own == Some(origin) || !allowed.contains(origin) {
        return Vec::new();
    }
    vec![
        ("access-control-allow-origin", origin.to_owned()),
        ("access-control-allow-credentials", "true".to_owned()),
        ("access-control-expose-headers", EXPOSED.to_owned()),
        ("vary", "Origin".to_owned()),
    ]
}

/// The headers that answer a preflight, beside [`cors`].
pub fn preflight(allow: &str) -> [(&'static str, String); 3] {
    [
        ("access-control-allow-methods", allow.to_owned()),
        ("access-control-allow-headers", ALLOWED.to_owned()),
        ("access-control-max-age", PREFLIGHT_SECONDS.to_owned()),
    ]
}

#[cfg(test)]
mod tests;
