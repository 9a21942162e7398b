//! A sign-in on its way: the browser keeps it in a signed cookie while its user is at the provider. The provider's answer
//! counts in that browser alone, for ten minutes. Nothing is stored for it.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use sha2::{Digest, Sha256};
use wire::protocol::{ApiError, hex};
use wire::signing::{Keyring, Use};

use super::Provider;
use super::discovery::Discovery;

/// As long as people take who must find their second factor first.
const LIFETIME_MS: u64 = 600_000;
/// The longest address to return to: with the rest of the cookie it stays far below the 4096 bytes of RFC 6265 §6.1.
pub const MAX_RETURN_BYTES: usize = 512;

const ATTEMPTS: Use =
    Use { begin: "oi1.", purpose: b"espalier sign-in v1\0", key_id: b"espalier sign-in key id\0" };
/// Under which a secret of another use makes a key.
const LABEL: &[u8] = b"espalier sign-in key v1\0";
/// The cookie's name on a local http address, and over https: browsers accept a cookie of that name from this very host
/// alone. Otherwise a page on a sister domain could plant a sign-in of its own user.
const COOKIE: &str = "espalier_oidc";
const HOST_COOKIE: &str = "__Host-espalier_oidc";

/// The random parts of a sign-in.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Random {
    /// Returns through the browser.
    pub state: [u8; 16],
    /// Returns in the ID token.
    pub nonce: [u8; 16],
    /// Proves to the provider that the code is for whoever began (RFC 7636).
    pub verifier: [u8; 32],
}

/// A sign-in on its way.
#[derive(Clone, PartialEq, Eq)]
pub struct Attempt {
    random: Random,
    ends_at: u64,
    /// The id of the provider.
    pub provider: String,
    /// Where the page goes on: a path of ours.
    pub return_to: String,
}

// The verifier stays out of every log.
impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Attempt({})", self.provider)
    }
}

impl Attempt {
    /// An attempt that begins now.
    pub fn begin(provider: &Provider, random: Random, return_to: String, now: u64) -> Self {
        let provider = provider.issuer.name.clone();
        Attempt { random, ends_at: now.saturating_add(LIFETIME_MS), provider, return_to }
    }

    /// The parameter `state`.
    pub fn state(&self) -> String {
        hex(&self.random.state)
    }

    /// The parameter and the claim `nonce`.
    pub fn nonce(&self) -> String {
        hex(&self.random.nonce)
    }

    /// The parameter `code_verifier`: 43 characters, the fewest that RFC 7636 §4.1 allows.
    pub fn verifier(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.random.verifier)
    }

    /// The address at the provider that the browser goes to.
    pub fn address(&self, provider: &Provider, discovery: &Discovery, redirect_uri: &str) -> String {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier()));
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &provider.issuer.audience)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &provider.scopes)
            .append_pair("state", &self.state())
            .append_pair("nonce", &self.nonce())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let endpoint = &discovery.authorization_endpoint;
        // RFC 6749 §3.1: the endpoint may have a query already, and keeps it.
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        format!("{endpoint}{joint}{query}")
    }
}

/// The address to return to, if it is a path of this origin: browsers read `//host` and `/\host` as another origin.
pub fn return_to(path: Option<String>) -> Result<String, ApiError> {
    let path = path.unwrap_or_else(|| "/".to_owned());
    let is_path = path.starts_with('/') && !path.starts_with("//");
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic()) && !path.contains(['\\', '#']);
    match is_path && is_plain && path.len() <= MAX_RETURN_BYTES {
        true => Ok(path),
        false => {
            let expected = format!("expected a path of this service, of at most {MAX_RETURN_BYTES} bytes");
            Err(ApiError::field("return_to", expected))
        }
    }
}

/// The keys of attempts.
#[derive(Clone, Debug)]
pub struct Attempts(Box<Keyring>);

impl Attempts {
    /// Derives keys from `SESSION_SECRET`, or else from `WORKFLOW_SECRET`.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let names = ["SESSION_SECRET", "WORKFLOW_SECRET"];
        let keys =
            names.into_iter().filter_map(var).find_map(|secrets| Keyring::derived(&secrets, LABEL, ATTEMPTS));
        keys.map(Box::new).map(Attempts)
    }

    /// The cookie's value: the random parts, the end (8 bytes, big-endian), the provider, a zero byte, the address.
    fn sign(&self, attempt: &Attempt) -> String {
        let Random { state, nonce, verifier } = attempt.random;
        let mut payload = [&state[..], &nonce, &verifier].concat();
        payload.extend(attempt.ends_at.to_be_bytes());
        payload.extend(attempt.provider.bytes().chain([0]).chain(attempt.return_to.bytes()));
        self.0.sign(&payload)
    }

    fn verify(&self, value: &str) -> Option<Attempt> {
        let payload = self.0.verify(value)?;
        let (state, rest) = payload.split_first_chunk::<16>()?;
        let (nonce, rest) = rest.split_first_chunk::<16>()?;
        let (verifier, rest) = rest.split_first_chunk::<32>()?;
        let (ends_at, rest) = rest.split_first_chunk::<8>()?;
        let (provider, return_to) = std::str::from_utf8(rest).ok()?.split_once('\0')?;
        Some(Attempt {
            random: Random { state: *state, nonce: *nonce, verifier: *verifier },
            ends_at: u64::from_be_bytes(*ends_at),
            provider: provider.to_owned(),
            return_to: return_to.to_owned(),
        })
    }

    /// The value of `Set-Cookie` for an attempt. `Lax`: the provider sends the browser back from another site.
    pub fn set_cookie(&self, attempt: &Attempt, https: bool) -> String {
        cookie(&self.sign(attempt), LIFETIME_MS / 1_000, https)
    }

    /// The attempt of the request's cookie.
    pub fn in_cookies(&self, cookies: &str, now: u64, https: bool) -> Option<Attempt> {
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(found, _)| *found == name(https))?;
        self.verify(value).filter(|attempt| now < attempt.ends_at)
    }
}

/// The value of `Set-Cookie` that ends an attempt.
pub fn clear_cookie(https: bool) -> String {
    cookie("", 0, https)
}

const fn name(https: bool) -> &'static str {
    if https { HOST_COOKIE } else { COOKIE }
}

fn cookie(value: &str, seconds: u64, https: bool) -> String {
    let (name, secure) = (name(https), if https { "; Secure" } else { "" });
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests;
