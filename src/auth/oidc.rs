//! Signing in at an identity provider by OpenID Connect: the authorization code flow with PKCE. This module has the
//! variable `OIDC`; `attempt` is a sign-in on its way, `discovery` what a provider publishes of itself, `exchange` the
//! code that becomes an ID token. All of it is pure; `routes/oidc.rs` fetches.
//!
//! A provider is an issuer of tokens as well (`jwt`): its users are those of the variable `JWT`, where that names the same
//! issuer.

pub mod attempt;
pub mod discovery;
pub mod exchange;

use serde::Deserialize;
use wire::protocol::{Owner, SignInWay};
use wire::redact::{Secret, json_problem};

use self::attempt::Attempts;
use super::api_key::KeyRow;
use super::jwt::{Algorithm, Issuer, is_secure, is_short_name};
use super::scope::Scopes;
use super::{Authority, Principal, Verified};

/// The most providers. The page has a button for each.
pub const MAX_PROVIDERS: usize = 4;
/// The longest label: it is the text of a button.
const MAX_LABEL_CHARS: usize = 40;
/// The longest list of scopes; RFC 6749 names no limit, and the address of a sign-in has to stay short.
const MAX_SCOPES_CHARS: usize = 200;
/// The scopes that a provider is asked for by default: the user's id alone.
const SCOPES: &str = "openid";
/// A working day. The provider is not asked again meanwhile: somebody who may no longer sign in there stays signed in here
/// for that long.
pub const LIFETIME_MS: u64 = 12 * 3_600_000;

/// A provider: an element of the variable `OIDC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// How its ID tokens are verified. The audience is our client id there; the address of its keys comes by discovery.
    pub issuer: Issuer,
    /// Its name on the page.
    pub label: String,
    /// None of a public client, which PKCE alone protects.
    pub client_secret: Option<Secret>,
    pub scopes: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderWords {
    id: String,
    label: String,
    issuer: String,
    client_id: String,
    /// The name of the variable that has the secret.
    client_secret_secret: Option<String>,
    scopes: Option<String>,
    #[serde(default)]
    algorithm: Algorithm,
    tenant: Option<String>,
    tenant_claim: Option<String>,
}

/// The providers, and the keys of sign-ins that are on their way.
#[derive(Clone, Debug)]
pub struct Providers {
    all: Vec<Provider>,
    pub attempts: Attempts,
}

impl Providers {
    /// Reads the variable `OIDC`, a JSON array, and the secrets that it names; none where nobody can sign in this way. The
    /// error is for the operator.
    pub fn from_env(
        var: impl Fn(&str) -> Option<String>,
        issuers: &Result<Vec<Issuer>, String>,
    ) -> Result<Option<Self>, String> {
        let Some(json) = var("OIDC").filter(|json| !json.trim().is_empty()) else { return Ok(None) };
        let wrong = |what: String| format!("the variable OIDC: {what}");
        let words: Vec<ProviderWords> =
            wire::json::from_str(&json).map_err(|error| wrong(json_problem(&error)))?;
        if words.is_empty() {
            return Ok(None);
        }
        if words.len() > MAX_PROVIDERS {
            return Err(wrong(format!("there may be {MAX_PROVIDERS} providers at most")));
        }
        // Users of the same issuer are the same users, so a wrong list of issuers would sign people in as others.
        let Ok(issuers) = issuers else {
            return Err(wrong("the variable JWT must be right first".to_owned()));
        };
        let mut all = Vec::<Provider>::new();
        for (index, words) in words.into_iter().enumerate() {
            let problem = |what: String| wrong(format!("provider {}: {what}", index + 1));
            let provider = Provider::read(words, issuers, &var).map_err(problem)?;
            let Issuer { name, issuer, .. } = &provider.issuer;
            if all.iter().any(|other| other.issuer.name == *name || other.issuer.issuer == *issuer) {
                return Err(problem("id and issuer must differ from those of the others".to_owned()));
            }
            all.push(provider);
        }
        let attempts = Attempts::from_env(var).ok_or_else(|| {
            wrong(
                "it needs SESSION_SECRET, which signs the sign-ins: a secret of at least 32 bytes".to_owned(),
            )
        })?;
        Ok(Some(Providers { all, attempts }))
    }

    /// The provider with this id.
    pub fn find(&self, id: &str) -> Option<&Provider> {
        self.all.iter().find(|provider| provider.issuer.name == id)
    }

    /// The buttons of the page: each provider's id and label.
    pub fn ways(&self) -> Vec<SignInWay> {
        let way = |provider: &Provider| SignInWay {
            id: provider.issuer.name.clone(),
            label: provider.label.clone(),
        };
        self.all.iter().map(way).collect()
    }

    /// The user of a session without a key, by its row: one whom a provider has sent. The session ends when the operator
    /// takes the provider out.
    pub fn opens(&self, row: KeyRow, now: u64) -> Option<Verified> {
        let (id, user) = row.user_id.split_once(':').filter(|(_, user)| !user.is_empty())?;
        let issuer = self.find(id)?.issuer.name.clone();
        let owner = Owner { issuer, tenant: row.tenant, user: user.to_owned() };
        let principal = Principal { owner, authority: Authority::Ambient, scopes: Scopes::USER };
        let verified =
            Verified { principal, expires_at: row.expires_at, key: None, signed_in_at: row.signed_in_at };
        (!verified.expired(now)).then_some(verified)
    }
}

impl Provider {
    // The errors repeat no value: a secret may stand in the wrong place.
    fn read(
        words: ProviderWords,
        issuers: &[Issuer],
        var: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let text = |text: &str, most: usize| {
            !text.trim().is_empty() && text.chars().nth(most).is_none() && !text.chars().any(char::is_control)
        };
        if !is_short_name(&words.id) {
            return Err(
                "id must be up to 32 letters, digits and '-', and not 'key' or 'anonymous'".to_owned()
            );
        }
        if !text(&words.label, MAX_LABEL_CHARS) {
            return Err(format!("label must be one line of 1 to {MAX_LABEL_CHARS} characters"));
        }
        if !is_secure(&words.issuer) || words.issuer.contains('?') {
            return Err("issuer must begin with https:// and have no query".to_owned());
        }
        if words.client_id.is_empty() || !words.client_id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("client_id must be visible ASCII".to_owned());
        }
        let scopes = words.scopes.unwrap_or_else(|| SCOPES.to_owned());
        if !text(&scopes, MAX_SCOPES_CHARS) || !scopes.split(' ').any(|scope| scope == "openid") {
            return Err(format!("scopes must have openid, and {MAX_SCOPES_CHARS} characters at most"));
        }
        let client_secret = match words.client_secret_secret {
            None => None,
            Some(name) => {
                Some(Secret::new(var(&name).filter(|secret| !secret.is_empty()).ok_or_else(|| {
                    "client_secret_secret must be the name of a secret that is set".to_owned()
                })?))
            }
        };
        let issuer = Issuer {
            name: words.id,
            issuer: words.issuer,
            audience: words.client_id,
            jwks_url: String::new(),
            algorithm: words.algorithm,
            header: None,
            tenant: words.tenant,
            tenant_claim: words.tenant_claim,
        };
        issuer.check_tenant()?;
        Ok(Provider { issuer: of_same_users(issuer, issuers)?, label: words.label, client_secret, scopes })
    }
}

/// The issuer, with the tenant of the same issuer in `JWT`: a user is the same by either way.
fn of_same_users(issuer: Issuer, issuers: &[Issuer]) -> Result<Issuer, String> {
    match issuers.iter().find(|known| known.issuer == issuer.issuer) {
        Some(known) if known.name != issuer.name => {
            Err("JWT has this issuer: id must be its name there, so that its users are the same".to_owned())
        }
        Some(_) if issuer.tenant.is_some() || issuer.tenant_claim.is_some() => {
            Err("JWT has this issuer: its tenant stands there alone".to_owned())
        }
        Some(known) => {
            let (tenant, tenant_claim) = (known.tenant.clone(), known.tenant_claim.clone());
            Ok(Issuer { tenant, tenant_claim, ..issuer })
        }
        None if issuers.iter().any(|other| other.name == issuer.name) => {
            Err("id is the name of another issuer in JWT".to_owned())
        }
        None => Ok(issuer),
    }
}

#[cfg(test)]
mod tests;
