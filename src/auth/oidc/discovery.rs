//! The document that a provider publishes of itself (OpenID Connect Discovery §3), and its cache. Pure.

use serde::Deserialize;

use super::Provider;
use crate::auth::jwt::is_secure;

/// The largest document in bytes, and the largest answer of a token endpoint: real ones have a few thousand.
pub const MAX_BYTES: usize = 64 << 10;
/// How long a document serves: addresses change rarely, and a provider announces that.
const FRESH_MS: u64 = 3_600_000;
/// How long it serves while the provider's document cannot be fetched.
const GRACE_MS: u64 = 24 * 3_600_000;
/// How long nobody asks again after a failure: anybody can begin a sign-in. While the first document is on its way, each
/// sign-in asks for it, because the answer of a provider would be lost on a sign-in that is turned away.
const AGAIN_MS: u64 = 10_000;

/// The parts of a provider's document that a sign-in needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub jwks_uri: String,
    /// The token endpoint takes the client's secret in the body alone.
    pub secret_in_body: bool,
    /// The answer of a sign-in names the issuer (RFC 9207).
    pub answers_name_issuer: bool,
}

#[derive(Deserialize)]
struct Published {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    /// `client_secret_basic` alone if absent.
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The address of a provider's document.
pub fn address(provider: &Provider) -> String {
    format!("{}/.well-known/openid-configuration", provider.issuer.issuer.trim_end_matches('/'))
}

impl Discovery {
    /// Reads a provider's document. The error is for the operator's log.
    pub fn parse(json: &[u8], provider: &Provider) -> Result<Self, String> {
        let published: Published = wire::json::from_slice(json).map_err(|error| error.to_string())?;
        // Discovery §4.3: the issuer must be the one that was asked for, letter by letter.
        if published.issuer != provider.issuer.issuer {
            return Err("the document is of another issuer".to_owned());
        }
        let Published { authorization_endpoint, token_endpoint, jwks_uri, .. } = published;
        for address in [&authorization_endpoint, &token_endpoint, &jwks_uri] {
            if !is_secure(address) {
                return Err("an address in the document does not begin with https://".to_owned());
            }
        }
        let methods = published.token_endpoint_auth_methods_supported;
        let has = |method: &str| methods.as_ref().is_some_and(|all| all.iter().any(|known| known == method));
        let secret_in_body = has("client_secret_post") && !has("client_secret_basic");
        let answers_name_issuer = published.authorization_response_iss_parameter_supported;
        Ok(Discovery {
            authorization_endpoint,
            token_endpoint,
            jwks_uri,
            secret_in_body,
            answers_name_issuer,
        })
    }
}

/// The document of a provider as far as this isolate has fetched it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    found: Option<(u64, Discovery)>,
    failed_at: Option<u64>,
}

/// The next step of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    Found(Discovery),
    /// Fetch it, and call [`Known::fetched`] or [`Known::failed`].
    Fetch,
    /// A request has just failed to fetch it.
    Unavailable,
}

impl Known {
    /// Looks for the document.
    pub fn look(&self, now: u64) -> Lookup {
        let failed = self.failed_at.is_some_and(|at| now.saturating_sub(at) < AGAIN_MS);
        match &self.found {
            Some((at, found)) if now.saturating_sub(*at) < if failed { GRACE_MS } else { FRESH_MS } => {
                Lookup::Found(found.clone())
            }
            _ if failed => Lookup::Unavailable,
            _ => Lookup::Fetch,
        }
    }

    /// A request for the document failed.
    pub fn failed(&mut self, now: u64) {
        self.failed_at = Some(now);
    }

    /// The document was fetched.
    pub fn fetched(&mut self, discovery: Discovery, now: u64) {
        *self = Known { found: Some((now, discovery)), failed_at: None };
    }
}

#[cfg(test)]
mod tests;
