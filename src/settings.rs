//! The Worker's own configuration. Read once per isolate, since variables and secrets only change with a deploy.

use crate::audit::AddressMarks;
use crate::auth::jwt::Issuer;
use crate::auth::oidc::Providers;
use crate::auth::session::SessionSecrets;
use crate::origin::AllowedOrigins;
use crate::turn_state::TurnStates;

/// The configuration of access to the service.
#[derive(Clone, Debug)]
pub struct Settings {
    pub anonymous: Anonymous,
    /// The issuers whose tokens are valid here; the error is for the operator.
    pub issuers: Result<Vec<Issuer>, String>,
    /// The providers at which people can sign in, if there are any; the error is for the operator.
    pub providers: Result<Option<Providers>, String>,
    pub allowed_origins: AllowedOrigins,
    /// Signs the states of turns, where there is a secret.
    pub turn_states: Option<TurnStates>,
    /// Marks addresses in the audit log, where there is a secret.
    pub address_marks: Option<AddressMarks>,
}

/// Whether visitors without a key get a session.
#[derive(Clone, Debug)]
pub enum Anonymous {
    Off,
    On(Box<SessionSecrets>),
    /// Switched on, but there is no secret to sign with.
    NoSecret,
}

impl Settings {
    /// Reads it from the environment. A missing or malformed variable closes the service, and never opens it.
    pub fn read(var: &dyn Fn(&str) -> Option<String>) -> Self {
        let anonymous = match var("AUTH_ANONYMOUS").as_deref() {
            Some("true") => SessionSecrets::from_secrets(&var("SESSION_SECRET").unwrap_or_default())
                .map_or(Anonymous::NoSecret, |secrets| Anonymous::On(Box::new(secrets))),
            _ => Anonymous::Off,
        };
        let allowed_origins = AllowedOrigins::parse(&var("ALLOWED_ORIGINS").unwrap_or_default());
        let issuers = match var("JWT").as_deref().map(str::trim) {
            None | Some("") => Ok(Vec::new()),
            Some(json) => Issuer::parse_all(json),
        };
        let providers = Providers::from_env(var, &issuers);
        let turn_states = TurnStates::from_env(var);
        let address_marks = AddressMarks::from_env(var);
        Settings { anonymous, issuers, providers, allowed_origins, turn_states, address_marks }
    }

    /// The problems that keep out users whom the operator means to admit. `has_keys`: the database of API keys is bound.
    pub fn problems(&self, has_keys: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let tokens = match &self.issuers {
            Ok(issuers) => !issuers.is_empty(),
            Err(problem) => {
                problems.push(problem.clone());
                false
            }
        };
        match &self.providers {
            Ok(Some(_)) if !has_keys => {
                problems.push("OIDC needs the D1 binding DB, which has the sessions.".to_owned());
            }
            Ok(_) => {}
            Err(problem) => problems.push(problem.clone()),
        }
        match self.anonymous {
            Anonymous::NoSecret => problems.push(
                "AUTH_ANONYMOUS is true, but SESSION_SECRET is missing or malformed: give one secret of at least 32 \
                 bytes, or up to eight with commas between them."
                    .to_owned(),
            ),
            Anonymous::Off if !has_keys && !tokens => problems.push(
                "No credential can be valid: the D1 binding DB for API keys is missing, JWT names no issuer, and \
                 AUTH_ANONYMOUS is off."
                    .to_owned(),
            ),
            Anonymous::Off | Anonymous::On(_) => {}
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::{Anonymous, Settings};

    fn settings(anonymous: Option<&str>, secret: Option<&str>, jwt: Option<&str>) -> Settings {
        Settings::read(&|name| match name {
            "AUTH_ANONYMOUS" => anonymous.map(str::to_owned),
            "SESSION_SECRET" => secret.map(str::to_owned),
            "JWT" => jwt.map(str::to_owned),
            _ => None,
        })
    }

    #[test]
    fn anonymous_sessions_need_the_word_true_and_a_secret() {
        let secret = "s".repeat(32);
        assert!(matches!(settings(Some("true"), Some(&secret), None).anonymous, Anonymous::On(_)));
        for value in [None, Some(""), Some("1"), Some("TRUE"), Some("yes"), Some(" true"), Some("false")] {
            assert!(matches!(settings(value, Some(&secret), None).anonymous, Anonymous::Off), "{value:?}");
        }
        for short in [None, Some(""), Some("0123456789012345678901234567890")] {
            assert!(
                matches!(settings(Some("true"), short, None).anonymous, Anonymous::NoSecret),
                "{short:?}"
            );
        }
    }

    #[test]
    fn a_service_that_admits_nobody_is_a_problem() {
        let secret = "s".repeat(32);
        let jwt = r#"[{"name":"a","issuer":"i","audience":"u","jwks_url":"https://x/y"}]"#;
        let table = [
            (settings(None, None, None), true, 0),
            (settings(None, None, None), false, 1),
            (settings(None, None, Some("")), false, 1),
            (settings(None, None, Some("[]")), false, 1),
            (settings(None, None, Some(jwt)), false, 0),
            (settings(None, None, Some("{")), true, 1),
            (settings(None, None, Some("{")), false, 2),
            (settings(Some("true"), Some(&secret), None), false, 0),
            (settings(Some("true"), None, None), true, 1),
            (settings(Some("true"), Some("short"), Some("{")), true, 2),
        ];
        for (settings, has_keys, problems) in table {
            assert_eq!(settings.problems(has_keys).len(), problems, "{settings:?}");
        }
    }

    #[test]
    fn identity_providers_need_a_database_and_a_secret() {
        let read = |secret: bool| {
            Settings::read(&|name| match name {
                "OIDC" => Some(r#"[{"id":"a","label":"A","issuer":"https://a","client_id":"c"}]"#.to_owned()),
                "SESSION_SECRET" if secret => Some("s".repeat(32)),
                _ => None,
            })
        };
        assert!(matches!(read(true).providers, Ok(Some(_))));
        assert_eq!(read(true).problems(true), Vec::<String>::new());
        assert!(read(true).problems(false).iter().any(|problem| problem.contains("OIDC needs")));
        let [problem] = &read(false).problems(true)[..] else { panic!("one problem") };
        assert!(problem.contains("OIDC") && problem.contains("SESSION_SECRET"), "{problem}");
    }

    /// Without this flag a fetch of a host in the deployment's own zone goes to its origin server, past Cloudflare's
    /// protections.
    #[test]
    fn every_deployment_fetches_from_the_public_internet_alone() {
        const FLAGS: &str = r#"compatibility_flags = ["global_fetch_strictly_public"]"#;
        let deployed = include_str!("../wrangler.toml");
        let (top, rest) = deployed.split_once("\n[").unwrap();
        let (_, production) = rest.split_once("\n[env.production]\n").unwrap();
        let (production, _) = production.split_once("\n[").unwrap();
        for (name, table) in [("top level", top), ("production", production)] {
            assert!(table.lines().any(|line| line == FLAGS), "{name}:\n{table}");
        }
    }
}
