//! API keys as the administrators of a tenant see them.

use serde::{Deserialize, Serialize};

use super::ApiError;
use super::request::{MAX_SEQ, read};

/// The longest name of a key and the longest user, in characters.
pub const MAX_KEY_NAME_CHARS: usize = 100;

/// The most scopes that a request may name: there are four.
pub const MAX_SCOPES: usize = 16;

/// The body of `POST /api/keys`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct NewKey {
    /// Its purpose; people read it in the list.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_KEY_NAME_CHARS), regex(pattern = super::LINE)))]
    pub name: String,
    /// `read`, `write`, `admin`, `erase`; `read` and `write` if absent.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        schemars(length(min = 1, max = MAX_SCOPES), inner(regex(pattern = r"^(read|write|admin|erase)$")))
    )]
    pub scopes: Option<Vec<String>>,
    /// The user whose threads the key opens. Two keys of one user open the same threads. If absent, the key gets a new
    /// user.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_KEY_NAME_CHARS), regex(pattern = r"^[A-Za-z0-9_.@+-]+$")))]
    pub user: Option<String>,
    /// Milliseconds since 1970. If absent, the key does not expire.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(range(max = MAX_SEQ)))]
    pub expires_at: Option<u64>,
}

/// The body of `POST /api/session`, which may be empty.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SignIn {
    /// The API key to sign in with, whole. If it is absent, the session is the cookie's, or an anonymous one.
    #[serde(default)]
    pub key: Option<String>,
}

impl SignIn {
    /// Reads a body.
    pub fn parse(body: &[u8]) -> Result<SignIn, ApiError> {
        if body.is_empty() { Ok(SignIn::default()) } else { read(body) }
    }
}

/// The body of `POST /api/oidc/{provider}`, which may be empty.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StartSignIn {
    /// The path of the page's address that the browser returns to, of at most 512 bytes; `/` if absent.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        schemars(length(max = 512), regex(pattern = r#"^/([!"$-.0-\[\]-~][!"$-\[\]-~]*)?$"#))
    )]
    pub return_to: Option<String>,
}

impl StartSignIn {
    /// Reads a body.
    pub fn parse(body: &[u8]) -> Result<StartSignIn, ApiError> {
        if body.is_empty() { Ok(StartSignIn::default()) } else { read(body) }
    }
}

/// Where the sign-in goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StartedSignIn {
    /// The address at the provider. The browser goes there.
    pub location: String,
}

/// An identity provider at which people can sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SignInWay {
    pub id: String,
    /// Its name for people.
    pub label: String,
}

impl NewKey {
    /// Reads a body and checks all of it except the names of the scopes.
    pub fn parse(body: &[u8], now: u64) -> Result<NewKey, ApiError> {
        let new: NewKey = read(body)?;
        if new.name.trim().is_empty() || !short_line(&new.name) {
            let detail = format!("expected one line of 1 to {MAX_KEY_NAME_CHARS} characters");
            return Err(ApiError::field("name", detail));
        }
        let plain =
            |user: &str| user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@+".contains(&byte));
        if new.user.as_deref().is_some_and(|user| user.is_empty() || !short_line(user) || !plain(user)) {
            let detail = format!("expected 1 to {MAX_KEY_NAME_CHARS} letters, digits and any of -_.@+");
            return Err(ApiError::field("user", detail));
        }
        if new.scopes.as_ref().is_some_and(|scopes| scopes.len() > MAX_SCOPES) {
            return Err(ApiError::field("scopes", format!("expected at most {MAX_SCOPES} scopes")));
        }
        match new.expires_at {
            Some(at) if at <= now => Err(ApiError::field("expires_at", "this time has passed")),
            Some(at) if at > MAX_SEQ => {
                Err(ApiError::field("expires_at", format!("the largest value is {MAX_SEQ}")))
            }
            _ => Ok(new),
        }
    }
}

fn short_line(text: &str) -> bool {
    text.chars().nth(MAX_KEY_NAME_CHARS).is_none() && !text.chars().any(char::is_control)
}

/// A key as the list shows it, without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct KeySummary {
    /// The part of the key between its two underscores. The service finds the key by it.
    pub prefix: String,
    pub name: String,
    pub user_id: String,
    pub scopes: Vec<String>,
    pub created_at: u64,
    /// The prefix of the key that created it; null if the operator created it.
    pub created_by: Option<String>,
    pub expires_at: Option<u64>,
    pub revoked_at: Option<u64>,
    /// Rounded to the hour.
    pub last_used_at: Option<u64>,
}

/// The keys of a tenant, oldest first. Expired and revoked keys stay in the list for some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct KeyList {
    pub keys: Vec<KeySummary>,
}

/// A session of a user. Its id opens nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SessionSummary {
    pub id: String,
    /// The sign-in; of a visitor the first turn.
    pub created_at: u64,
    /// When the user last came back: exact to the day, and of a visitor to the renewal of the cookie.
    pub seen_at: u64,
    pub expires_at: u64,
    /// The browser and the system in short form, as they call themselves; empty where they are not known.
    pub agent: String,
    /// Whether this request belongs to the session.
    pub current: bool,
}

/// The sessions of a user, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SessionList {
    pub sessions: Vec<SessionSummary>,
}

/// A new key. No later response shows it again.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MintedKey {
    pub key: String,
    #[serde(flatten)]
    pub summary: KeySummary,
}

#[cfg(test)]
mod tests {
    use super::SignIn;

    #[test]
    fn a_body_without_a_key_is_a_visitors() {
        let key = |body: &str| SignIn::parse(body.as_bytes()).map(|body| body.key);
        for visitor in ["", "{}", r#"{"key":null}"#, r#"{"other":1}"#] {
            assert_eq!(key(visitor), Ok(None), "{visitor:?}");
        }
        assert_eq!(key(r#"{"key":"espk_x"}"#), Ok(Some("espk_x".to_owned())));
        for (body, code, field) in [
            (r#"{"key":7}"#, "invalid_request", Some("key")),
            (" ", "invalid_json", None),
            ("{", "invalid_json", None),
            (r#"["espk_x"]"#, "invalid_request", None),
        ] {
            let error = key(body).unwrap_err();
            assert_eq!((error.code.as_str(), error.field.as_deref()), (code, field), "{body:?}");
        }
    }
}
