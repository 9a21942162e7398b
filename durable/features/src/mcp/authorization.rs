//! The token of a server: a fixed one from the configuration, or one by OAuth 2.1 client credentials, which one request
//! fetches for all waiting calls.
//! The configuration names the token endpoint. The client ignores the authorization servers that a server announces
//! (RFC 9728), so our secret goes only to a configured address.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::byte_serialize;
use futures::StreamExt;
use futures::lock::Mutex;
use serde::Deserialize;

use super::config::{Auth, Server};
use super::error::McpError;
use super::port::McpPorts;
use wire::http::HttpRequest;
use wire::redact::Secret;

/// The largest reply of a token endpoint, and the longest token, which each request carries in a header.
const MAX_ANSWER: usize = 64 * 1024;
const MAX_TOKEN: usize = 16 * 1024;
/// The lifetime of a token without `expires_in`, the longest lifetime, and how much earlier the client replaces a
/// token: clocks differ, and requests take time.
const UNSAID_S: u64 = 300;
const LONGEST_S: u64 = 24 * 60 * 60;
const SKEW_S: u64 = 30;

/// The call that fetches a token holds the lock.
#[derive(Debug, Default)]
pub struct Authorization(Mutex<()>);

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Denied {
    #[serde(default)]
    error: String,
}

impl Authorization {
    /// The token for the next request, if the server needs one.
    pub async fn token(&self, server: &Server, ports: &McpPorts) -> Result<Option<Secret>, McpError> {
        let known = || known_token(server, ports);
        match (&server.auth, known()) {
            (Auth::None, _) => return Ok(None),
            (_, Some(token)) => return Ok(Some(token)),
            (_, None) => {}
        }
        let _alone = self.0.lock().await;
        if let Some(token) = known() {
            return Ok(Some(token));
        }
        let Some(request) = token_request(server) else { return Ok(None) };
        let granted = granted(request, server.timeout_ms, ports).await?;
        let token = Secret::new(granted.access_token);
        let seconds = granted.expires_in.unwrap_or(UNSAID_S).min(LONGEST_S).saturating_sub(SKEW_S);
        let until_ms = ports.clock.now_ms() + seconds * 1_000;
        ports.known.keep_token(&server.name, token.clone(), until_ms);
        Ok(Some(token))
    }
}

/// The token that needs no request.
pub fn known_token(server: &Server, ports: &McpPorts) -> Option<Secret> {
    match &server.auth {
        Auth::None => None,
        Auth::Bearer(token) => Some(token.clone()),
        Auth::ClientCredentials { .. } => ports.known.token(&server.name, ports.clock.now_ms()),
    }
}

/// The request for a token: `client_secret_basic`, which every server must support, with this server as its resource
/// (RFC 8707).
fn token_request(server: &Server) -> Option<HttpRequest> {
    let Auth::ClientCredentials { token_url, client_id, client_secret, scope } = &server.auth else {
        return None;
    };
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let basic = STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(client_secret.reveal())));
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials").append_pair("resource", &server.url);
    if let Some(scope) = scope {
        form.append_pair("scope", scope);
    }
    let headers = vec![
        ("authorization", format!("Basic {basic}")),
        ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ("accept", "application/json".to_owned()),
    ];
    Some(HttpRequest::post(token_url.clone(), headers, form.finish().into_bytes()))
}

async fn granted(request: HttpRequest, timeout_ms: u64, ports: &McpPorts) -> Result<Granted, McpError> {
    let refused = |what: &str| McpError::Unauthorized(format!("the token endpoint {what}"));
    let answer = async {
        let mut reply = ports.http.send(request.into()).await.map_err(|_| refused("could not be reached"))?;
        let mut body = Vec::new();
        while let Some(read) = reply.body.next().await {
            body.extend(read.map_err(|_| refused("broke the connection"))?);
            if body.len() > MAX_ANSWER {
                return Err(refused("sent too much"));
            }
        }
        Ok((reply.status, body))
    };
    let (status, body) = ports.within(timeout_ms, answer).await.unwrap_or(Err(refused("did not answer")))?;
    if status != 200 {
        let Denied { error } = wire::json::from_slice(&body).unwrap_or_default();
        // Quotes only an error code in the form of RFC 6749, because a server's text may repeat our secret.
        let word = error.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && error.len() < 40;
        return Err(refused(&format!("answered {status} {}", if word { error } else { String::new() })));
    }
    let granted: Granted = wire::json::from_slice(&body).map_err(|_| refused("sent no token"))?;
    let fits = (1..=MAX_TOKEN).contains(&granted.access_token.len())
        && granted.access_token.bytes().all(|byte| byte.is_ascii_graphic());
    match granted.token_type.eq_ignore_ascii_case("bearer") && fits {
        true => Ok(granted),
        false => Err(refused("sent a token that is no bearer token")),
    }
}
