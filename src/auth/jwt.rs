//! JSON Web Tokens of issuers that the operator trusts. This module checks the claims of a token; the platform verifies
//! its signature (`routes/jwks.rs`) by a key of the issuer's set (`jwks`).
//!
//! The configuration alone fixes how a token is checked: its algorithm, the address of the keys, the audience. The
//! members `jku`, `x5u` and `jwk` of a token's header are not even read.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use wire::protocol::Owner;
use wire::redact::json_problem;

use super::scope::Scopes;
use super::{Authority, Principal, Verified, api_key, session};

mod id_token;

/// The longest token of a request. Identity providers stay below 4 KiB, since proxies refuse larger headers.
const MAX_TOKEN_BYTES: usize = 8 << 10;
/// How far the issuer's clock may differ from ours (RFC 7519 §4.1.4 allows "a few minutes").
const SKEW_S: f64 = 60.0;
/// The longest user or tenant. OpenID Connect §2 allows `sub` 255 characters.
const MAX_SUBJECT_CHARS: usize = 255;
/// The most issuers: each token is matched against them one by one.
const MAX_ISSUERS: usize = 16;

/// The algorithms that the operator can pin: identity providers use them, and WebCrypto verifies them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Algorithm {
    #[default]
    RS256,
    ES256,
}

impl Algorithm {
    /// As the header of a token spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Algorithm::RS256 => "RS256",
            Algorithm::ES256 => "ES256",
        }
    }
}

/// An issuer whose tokens the service accepts: an element of the variable `JWT`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// Our short name for it, part of its users' ids: letters, digits and `-`. It must never change.
    pub name: String,
    /// The claim `iss`.
    pub issuer: String,
    /// The audience that `aud` must name.
    pub audience: String,
    /// The address of its public keys.
    pub jwks_url: String,
    #[serde(default)]
    pub algorithm: Algorithm,
    /// The header of its tokens, where they do not come as `Authorization: Bearer`. Cloudflare Access:
    /// `cf-access-jwt-assertion`.
    #[serde(default)]
    pub header: Option<String>,
    /// The tenant of all its users. Without this and `tenant_claim`, it is `default`.
    #[serde(default)]
    pub tenant: Option<String>,
    /// The claim that has the tenant.
    #[serde(default)]
    pub tenant_claim: Option<String>,
}

impl Issuer {
    /// Reads the variable `JWT`, a JSON array. The error is for the operator.
    pub fn parse_all(json: &str) -> Result<Vec<Issuer>, String> {
        let issuers: Vec<Issuer> = wire::json::from_str(json)
            .map_err(|error| format!("the variable JWT: {}", json_problem(&error)))?;
        if issuers.len() > MAX_ISSUERS {
            return Err(format!("the variable JWT has more than {MAX_ISSUERS} issuers"));
        }
        for (index, issuer) in issuers.iter().enumerate() {
            let wrong = |what: &str| format!("the variable JWT: issuer {}: {what}", index + 1);
            issuer.check().map_err(|what| wrong(&what))?;
            let before = issuers.iter().take(index);
            if before.into_iter().any(|other| other.name == issuer.name || other.issuer == issuer.issuer) {
                return Err(wrong("name and issuer must differ from those of the others"));
            }
        }
        Ok(issuers)
    }

    fn check(&self) -> Result<(), String> {
        if !is_short_name(&self.name) {
            return Err("name must be up to 32 letters, digits and '-', and not 'key' or 'anonymous'".into());
        }
        if self.issuer.is_empty() || self.audience.is_empty() {
            return Err("issuer and audience must not be empty".into());
        }
        if !is_secure(&self.jwks_url) {
            return Err("jwks_url must begin with https://".into());
        }
        if self
            .header
            .as_deref()
            .is_some_and(|header| !is_word(header) || header.eq_ignore_ascii_case("cookie"))
        {
            return Err("header must be the name of a header".into());
        }
        self.check_tenant()
    }

    /// Checks where the tenant of its users comes from.
    pub fn check_tenant(&self) -> Result<(), String> {
        if self.tenant.is_some() && self.tenant_claim.is_some() {
            return Err("either tenant or tenant_claim".into());
        }
        if self.tenant.as_deref().is_some_and(|tenant| !is_name(tenant)) {
            return Err("tenant must not be empty".into());
        }
        Ok(())
    }

    /// Judges the claims of a token whose signature is good; `None` refuses it.
    pub fn verify(&self, token: &Token, authority: Authority, now: u64) -> Option<Verified> {
        let Claims { iss, aud, sub, exp, nbf, iat } = &token.claims;
        let now_s = now as f64 / 1_000.0;
        let for_us = aud.contains(&self.audience);
        let current = *exp > now_s - SKEW_S
            && nbf.is_none_or(|nbf| nbf <= now_s + SKEW_S)
            && iat.is_none_or(|iat| iat <= now_s + SKEW_S);
        if *iss != self.issuer || !for_us || !current || !is_name(sub) {
            return None;
        }
        let tenant = match &self.tenant_claim {
            None => self.tenant.as_deref().unwrap_or("default"),
            Some(claim) => {
                token.all_claims.get(claim).and_then(Value::as_str).filter(|tenant| is_name(tenant))?
            }
        };
        let owner = Owner { issuer: self.name.clone(), tenant: tenant.to_owned(), user: sub.clone() };
        let expires_at = Some(((*exp + SKEW_S) * 1_000.0) as u64);
        let principal = Principal { owner, authority, scopes: Scopes::USER };
        // OpenID Connect Core §2: when the user signed in. A refresh makes a new token with the old time.
        let auth_time = token.all_claims.get("auth_time").and_then(Value::as_f64);
        let signed_in_at = auth_time.or(*iat).map(|at| (at * 1_000.0) as u64);
        Some(Verified { principal, expires_at, key: None, signed_in_at })
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 32
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether an issuer can have this short name.
pub fn is_short_name(name: &str) -> bool {
    is_word(name) && ![api_key::ISSUER, session::ISSUER].contains(&name)
}

/// Whether what is fetched from this address comes from there: over plain http anybody on the way could replace it. A
/// fetch of this machine does not leave it.
pub fn is_secure(url: &str) -> bool {
    let local = ["http://127.0.0.1:", "http://localhost:"];
    let begins = url.starts_with("https://") || local.iter().any(|begin| url.starts_with(begin));
    let authority = url.split("//").nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    // Credentials would make another host of what stands before them.
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains(['#', '\\']);
    begins && is_plain && !authority.is_empty() && !authority.contains('@')
}

/// A user or tenant as the issuer names them: printable, of bounded length.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().nth(MAX_SUBJECT_CHARS).is_none() && !name.chars().any(char::is_control)
}

/// Whether a bearer credential has the shape of a token.
pub fn looks_like_one(token: &str) -> bool {
    token.split('.').count() == 3
}

/// A token that was read. Trust none of it before its signature is verified.
pub struct Token<'a> {
    header: Header,
    claims: Claims,
    /// Every claim, those of [`Claims`] too.
    all_claims: Map<String, Value>,
    /// The signed bytes.
    pub signed: &'a str,
    pub signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    typ: Option<String>,
    /// Extensions that a verifier must understand. We support none, so a token with any is refused (RFC 7515 §4.1.11).
    #[serde(default)]
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    #[serde(deserialize_with = "one_or_many")]
    aud: Vec<String>,
    sub: String,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    iat: Option<f64>,
}

/// Reads a text, or a list of texts.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let wrong = || D::Error::custom("neither a text nor a list of texts");
    let text = |value| if let Value::String(text) = value { Ok(text) } else { Err(wrong()) };
    match Value::deserialize(from)? {
        Value::Array(many) => many.into_iter().map(text).collect(),
        one => text(one).map(|one| vec![one]),
    }
}

impl<'a> Token<'a> {
    /// Reads a token of a request; `None` if the text is malformed, or a token that no issuer here could make valid.
    pub fn parse(token: &'a str) -> Option<Self> {
        if token.len() > MAX_TOKEN_BYTES { None } else { Token::of_answer(token) }
    }

    /// The same for a token of an answer, whose length is bounded already: with the claims of many groups it does not fit
    /// into a header.
    pub fn of_answer(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
        let header: Header = wire::json::from_slice(&decode(header)?).ok()?;
        let typ = header.typ.as_deref().map(str::to_ascii_lowercase);
        if header.crit.is_some() || !matches!(typ.as_deref(), None | Some("jwt" | "at+jwt")) {
            return None;
        }
        let claims = decode(claims)?;
        let all_claims = wire::json::from_slice(&claims).ok()?;
        let claims = wire::json::from_slice(&claims).ok()?;
        Some(Token { header, claims, all_claims, signed, signature: decode(signature)? })
    }

    /// The issuer that the token names. It must be one of these, send its tokens by this authority, and use this
    /// algorithm.
    pub fn issuer<'i>(&self, issuers: &'i [Issuer], authority: Authority) -> Option<&'i Issuer> {
        let issuer = issuers.iter().find(|issuer| issuer.issuer == self.claims.iss)?;
        let this_way = issuer.header.is_some() == (authority == Authority::Ambient);
        (this_way && self.header.alg == issuer.algorithm.as_str()).then_some(issuer)
    }

    /// The id of the key that the token claims to be signed with.
    pub fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }
}

#[cfg(test)]
mod tests;
