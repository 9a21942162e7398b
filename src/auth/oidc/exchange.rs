//! The provider's answer to a sign-in, and the code in it that becomes an ID token. Pure.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use form_urlencoded::{Serializer, byte_serialize};
use serde::Deserialize;

use super::Provider;
use super::attempt::Attempt;
use super::discovery::Discovery;
use crate::query;

/// The reason why a sign-in ended without a session. The page has words for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The user or the provider said no.
    Denied,
    /// This browser has no such sign-in on its way: it took too long, it was used, or another browser began it.
    Expired,
    /// The provider's answer proves nothing, or is an error; or the session could not be stored.
    Failed,
    /// The provider could not be asked.
    Unavailable,
}

impl Refusal {
    /// The value of `sign_in` in the page's address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Refusal::Denied => "denied",
            Refusal::Expired => "expired",
            Refusal::Failed => "failed",
            Refusal::Unavailable => "unavailable",
        }
    }

    /// The page's address that tells it.
    pub fn address(self, return_to: &str) -> String {
        let joint = if return_to.contains('?') { '&' } else { '?' };
        format!("{return_to}{joint}sign_in={}", self.as_str())
    }
}

/// The code in the query of the provider's answer, if it is the answer to this attempt.
pub fn code(
    query: &str,
    attempt: &Attempt,
    provider: &Provider,
    discovery: &Discovery,
) -> Result<String, Refusal> {
    let value = |name| query::value(query, name);
    if value("state").as_deref() != Some(attempt.state().as_str()) || attempt.provider != provider.issuer.name
    {
        return Err(Refusal::Expired);
    }
    // RFC 9207: an answer of another provider than the one that was asked.
    match value("iss") {
        Some(issuer) if issuer != provider.issuer.issuer => return Err(Refusal::Failed),
        None if discovery.answers_name_issuer => return Err(Refusal::Failed),
        _ => {}
    }
    match (value("error"), value("code")) {
        (Some(error), _) if error == "access_denied" => Err(Refusal::Denied),
        (Some(_), _) | (None, None) => Err(Refusal::Failed),
        (None, Some(code)) => Ok(code.into_owned()),
    }
}

/// A request to a token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    pub url: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
    /// A form.
    pub body: String,
}

/// The request that exchanges the code (RFC 6749 §4.1.3).
pub fn request(
    code: &str,
    attempt: &Attempt,
    provider: &Provider,
    discovery: &Discovery,
    redirect_uri: &str,
) -> TokenRequest {
    let client_id = &provider.issuer.audience;
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("code_verifier", &attempt.verifier());
    let authorization = match &provider.client_secret {
        Some(secret) if !discovery.secret_in_body => {
            // RFC 6749 §2.3.1: both parts are encoded as in a form first.
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(client_id), encoded(secret.reveal()));
            Some(format!("Basic {}", BASE64_STANDARD.encode(pair)))
        }
        secret => {
            form.append_pair("client_id", client_id);
            if let Some(secret) = secret {
                form.append_pair("client_secret", secret.reveal());
            }
            None
        }
    };
    TokenRequest { url: discovery.token_endpoint.clone(), authorization, body: form.finish() }
}

/// The ID token in the answer of a token endpoint. The access token beside it is not even read.
pub fn id_token(status: u16, json: &[u8]) -> Result<String, Refusal> {
    #[derive(Deserialize)]
    struct Granted {
        id_token: String,
    }
    match status {
        200 => wire::json::from_slice(json).map(|Granted { id_token }| id_token).map_err(|_| Refusal::Failed),
        500.. => Err(Refusal::Unavailable),
        _ => Err(Refusal::Failed),
    }
}

#[cfg(test)]
mod tests;
