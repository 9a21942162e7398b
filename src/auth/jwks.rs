//! The public keys of an issuer: it chooses the key of a published set that verifies a token, and decides when the set
//! is fetched anew. Pure.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::jwt::Algorithm;

/// The largest set in bytes: room for hundreds of keys.
pub const MAX_BYTES: usize = 64 << 10;
/// The most keys of a set that are read.
const MAX_KEYS: usize = 64;
/// How long a set serves before it is fetched again. A key that its issuer withdraws stays good for that long.
const FRESH_MS: u64 = 600_000;
/// How long a set serves while the issuer is down, as verified API keys do while D1 is.
const GRACE_MS: u64 = 3_600_000;
/// The shortest time between two requests to an issuer, successful or not. Anybody can make tokens with unknown keys, so
/// such a token must not cause a request each time. A fetch that takes its full 5 s is over by then.
const AGAIN_MS: u64 = 10_000;
/// 2048 bits: RFC 7518 §3.3.
const MIN_RSA_BYTES: usize = 256;

/// A public key, reduced to the members that WebCrypto imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    #[serde(skip_serializing)]
    kid: Option<String>,
    kty: String,
    #[serde(skip_serializing)]
    alg: Option<String>,
    #[serde(skip_serializing, rename = "use")]
    purpose: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
}

impl Jwk {
    fn suits(&self, algorithm: Algorithm) -> bool {
        let meant = self.purpose.as_deref().is_none_or(|purpose| purpose == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == algorithm.as_str());
        meant
            && match algorithm {
                // Base64 without padding: four characters for three bytes.
                Algorithm::RS256 => {
                    self.kty == "RSA"
                        && self.e.is_some()
                        && self.n.as_ref().is_some_and(|n| n.len() / 4 * 3 + n.len() % 4 > MIN_RSA_BYTES)
                }
                Algorithm::ES256 => {
                    let curve = self.kty == "EC" && self.crv.as_deref() == Some("P-256");
                    curve && self.x.is_some() && self.y.is_some()
                }
            }
    }
}

/// The keys of a set that may verify tokens of one algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<Jwk>);

#[derive(Deserialize)]
struct Published<'a> {
    #[serde(borrow)]
    keys: Vec<&'a RawValue>,
}

impl KeySet {
    /// Reads a published set. It leaves out keys for other uses and malformed ones, because issuers share sets between
    /// uses.
    pub fn parse(json: &[u8], algorithm: Algorithm) -> Result<Self, serde_json::Error> {
        let published: Published<'_> = wire::json::from_slice(json)?;
        let keys = published
            .keys
            .into_iter()
            .take(MAX_KEYS)
            .filter_map(|key| wire::json::from_str::<Jwk>(key.get()).ok());
        Ok(KeySet(keys.filter(|key| key.suits(algorithm)).collect()))
    }

    /// The key of this id. A token without an id gets the only key of a set of one.
    pub fn find(&self, kid: Option<&str>) -> Option<&Jwk> {
        match (kid, self.0.as_slice()) {
            (Some(kid), keys) => keys.iter().find(|key| key.kid.as_deref() == Some(kid)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

/// The keys of an issuer as far as this isolate has fetched them.
#[derive(Clone, Debug, Default)]
pub struct Known {
    keys: KeySet,
    fetched_at: Option<u64>,
    /// The last request for the set, if it has failed or is still on its way.
    asked: Option<Asked>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: u64,
    failed: bool,
}

/// The next step for a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Verify with this one.
    Key(Box<Jwk>),
    /// The issuer has no such key.
    Unknown,
    /// Fetch the set: call [`Known::asks`] before the first await, then [`Known::fetched`] or [`Known::failed`], and
    /// look again.
    Fetch,
    /// The key is unknown here, and another request is fetching the set now, or has just failed to.
    Unavailable,
}

impl Known {
    /// Looks for the key of a token.
    pub fn look(&self, kid: Option<&str>, now: u64) -> Lookup {
        let since = |at: Option<u64>| at.map(|at| now.saturating_sub(at));
        let age = since(self.fetched_at);
        let asked = self.asked.filter(|asked| now.saturating_sub(asked.at) < AGAIN_MS);
        let failed = asked.is_some_and(|asked| asked.failed);
        let found = self.keys.find(kid).map(|key| Lookup::Key(Box::new(key.clone())));
        match (age, found) {
            (Some(age), Some(found)) if age < FRESH_MS || (asked.is_some() && age < GRACE_MS) => found,
            (Some(age), None) if age < AGAIN_MS || (failed && age < GRACE_MS) => Lookup::Unknown,
            _ if asked.is_some() => Lookup::Unavailable,
            _ => Lookup::Fetch,
        }
    }

    /// A request for the set begins now.
    pub fn asks(&mut self, now: u64) {
        self.asked = Some(Asked { at: now, failed: false });
    }

    /// The set was fetched.
    pub fn fetched(&mut self, keys: KeySet, now: u64) {
        *self = Known { keys, fetched_at: Some(now), asked: None };
    }

    /// The fetch failed.
    pub fn failed(&mut self, now: u64) {
        self.asked = Some(Asked { at: now, failed: true });
    }
}

#[cfg(test)]
mod tests;
