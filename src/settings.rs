//! The Worker's own configuration. Read once per isolate, since variables and secrets only change with a deploy.

use crate::auth::session::SessionKey;
use crate::origin::AllowedOrigins;

/// The configuration of who may come in.
#[derive(Clone, Debug)]
pub struct Settings {
    pub anonymous: Anonymous,
    pub allowed_origins: AllowedOrigins,
}

/// Whether visitors without a key get a session.
#[derive(Clone, Debug)]
pub enum Anonymous {
    Off,
    On(SessionKey),
    /// Switched on, but there is no secret to sign with.
    NoSecret,
}

impl Settings {
    /// Reads it from the environment. Whatever is missing or odd closes the service, never opens it.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> Self {
        let anonymous = match var("AUTH_ANONYMOUS").as_deref() {
            Some("true") => SessionKey::from_secret(&var("SESSION_SECRET").unwrap_or_default())
                .map_or(Anonymous::NoSecret, Anonymous::On),
            _ => Anonymous::Off,
        };
        let allowed_origins = AllowedOrigins::parse(&var("ALLOWED_ORIGINS").unwrap_or_default());
        Settings { anonymous, allowed_origins }
    }

    /// What keeps everybody out, given whether the database of API keys is there.
    pub fn problems(&self, has_keys: bool) -> Vec<String> {
        match self.anonymous {
            Anonymous::NoSecret => {
                vec!["AUTH_ANONYMOUS is true, but SESSION_SECRET has fewer than 32 bytes.".to_owned()]
            }
            Anonymous::Off if !has_keys => vec![
                "Nobody can come in: AUTH_ANONYMOUS is off, and the D1 binding DB for API keys is missing."
                    .to_owned(),
            ],
            Anonymous::Off | Anonymous::On(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Anonymous, Settings};

    fn settings(anonymous: Option<&str>, secret: Option<&str>) -> Settings {
        Settings::read(|name| match name {
            "AUTH_ANONYMOUS" => anonymous.map(str::to_owned),
            "SESSION_SECRET" => secret.map(str::to_owned),
            _ => None,
        })
    }

    #[test]
    fn anonymous_sessions_need_the_word_true_and_a_secret() {
        let secret = "s".repeat(32);
        assert!(matches!(settings(Some("true"), Some(&secret)).anonymous, Anonymous::On(_)));
        for value in [None, Some(""), Some("1"), Some("TRUE"), Some("yes"), Some(" true"), Some("false")] {
            assert!(matches!(settings(value, Some(&secret)).anonymous, Anonymous::Off), "{value:?}");
        }
        for short in [None, Some(""), Some("0123456789012345678901234567890")] {
            assert!(matches!(settings(Some("true"), short).anonymous, Anonymous::NoSecret), "{short:?}");
        }
    }

    #[test]
    fn a_service_that_lets_nobody_in_says_so() {
        let secret = "s".repeat(32);
        let table = [
            (settings(None, None), true, 0),
            (settings(None, None), false, 1),
            (settings(Some("true"), Some(&secret)), false, 0),
            (settings(Some("true"), None), true, 1),
        ];
        for (settings, has_keys, problems) in table {
            assert_eq!(settings.problems(has_keys).len(), problems);
        }
    }
}
