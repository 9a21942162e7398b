//! The report of `GET /api/health`: the version and the model, or every problem of the configuration, in words for the
//! operator. Anybody may ask, and a secret may stand in the wrong variable, so no problem repeats a variable's value.
//! Problems name variables, also those that a provider's name makes (`GROQ_BASE_URL`).

use engine::profiles::{Chain, ContextProfile};
use engine::toolbelt::ToolUsers;
use platform::limits::{self, AgentsThatStay};
use platform::quota::Quotas;
use platform::sessions::tokens::Tokens;
use providers::config::{Configuration, unpriced};
use serde::Serialize;
use wire::time::Day;

use crate::retention::Retention;
use crate::settings::Settings;

mod warnings;

/// Which of the service's bindings the deployment has.
#[derive(Clone, Copy, Debug)]
pub struct Bindings {
    /// THREADS: the threads' objects.
    pub threads: bool,
    /// DB: API keys and the list of threads.
    pub db: bool,
    /// QUOTA: the tenants' quotas.
    pub quota: bool,
    /// AI: Workers AI, where a model of it is configured.
    pub ai: bool,
    /// VECTORS: Vectorize, where collections are embedded.
    pub vectors: bool,
}

/// The answer's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Health {
    Ok {
        version: &'static str,
        provider: String,
        model: String,
        /// Whether a chat may have agents that stay.
        agents: bool,
        /// Whether a model names a thread after its first answer.
        titles: bool,
        /// Whether clients may carry out sessions of workflows: there is a secret for their tokens.
        external_sessions: bool,
        /// Whether users may share conversations by a link.
        shares: bool,
        /// What the operator should change, although turns start: models that their makers turn off, options that a model
        /// refuses.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    Misconfigured {
        problems: Vec<String>,
    },
}

impl Health {
    /// Judges a configuration, as it is on this day.
    pub fn of(
        settings: &Settings,
        bindings: Bindings,
        today: Day,
        var: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let mut problems = settings.problems(bindings.db);
        if !bindings.threads {
            problems.push("The Durable Object binding THREADS is missing.".to_owned());
        }
        problems.extend(limits::from_env(var, ContextProfile::of(None)).err());
        problems.extend(limits::kept_turns(var).err());
        problems.extend(limits::summaries(var).err());
        let agents = limits::agents(var);
        problems.extend(agents.as_ref().err().cloned());
        // The key that replaces a missing secret matters to nobody here.
        let tokens = Tokens::from_env(var, [0; 32]);
        problems.extend(tokens.as_ref().err().cloned());
        problems.extend(limits::tool_rules(var).err());
        problems.extend(limits::client_tools(var).err());
        problems.extend(limits::client_instructions(var).err());
        problems.extend(limits::hooks(var).err());
        problems.extend(Retention::parse(var("RETENTION").as_deref()).err());
        problems.extend(ToolUsers::from_env(var).err());
        let can_embed = bindings.ai && bindings.vectors;
        problems.extend(features::problems(&features::Configuration { var, can_embed }));
        let shares = features::shares_are_offered(var);
        let quotas = Quotas::from_env(var);
        match &quotas {
            Ok(quotas) if !quotas.is_empty() && !bindings.quota => {
                problems
                    .push("QUOTAS has limits, but the Durable Object binding QUOTA is missing.".to_owned());
            }
            Ok(_) => {}
            Err(problem) => problems.push(problem.clone()),
        }
        let titles = features::names_threads(var);
        let configuration = Configuration::from_env(var, today);
        let configuration = configuration.and_then(|configuration| configuration.bound(bindings.ai));
        let by_quotas = quotas.is_ok_and(|quotas| quotas.limits_money());
        let limited = limits::limited_money(by_quotas, limits::limit_money(var));
        if let (Some(by), Ok(Configuration { roles, guard, .. })) = (limited, &configuration) {
            let chains = std::iter::once(&roles.primary).chain(roles.more.values()).chain(guard);
            problems.extend(unpriced(by, chains.flat_map(Chain::iter)));
        }
        match configuration {
            Ok(configuration) if problems.is_empty() => {
                let warnings = warnings::configuration_warnings(&configuration, today);
                let first = &configuration.roles.primary.first.choice;
                let (provider, model) = (first.provider.clone(), first.model.clone());
                let agents = agents == Ok(AgentsThatStay::On);
                let external_sessions = tokens.is_ok_and(|tokens| tokens.are_lasting());
                let version = env!("CARGO_PKG_VERSION");
                Health::Ok { version, provider, model, agents, titles, external_sessions, shares, warnings }
            }
            Ok(_) => Health::Misconfigured { problems },
            Err(more) => Health::Misconfigured { problems: [problems, more].concat() },
        }
    }

    /// The answer's status.
    pub const fn status(&self) -> u16 {
        match self {
            Health::Ok { .. } => 200,
            Health::Misconfigured { .. } => 503,
        }
    }
}

#[cfg(test)]
mod tests {
    use providers::catalogue::DATE as TODAY;

    use super::{Bindings, Health};
    use crate::settings::Settings;

    fn health(vars: &[(&str, &str)], threads: bool, db: bool) -> Health {
        let var =
            |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned());
        Health::of(
            &Settings::read(&var),
            Bindings { threads, db, quota: db, ai: false, vectors: false },
            TODAY,
            &var,
        )
    }

    #[test]
    fn a_healthy_service_reports_its_model() {
        let limits = health(&[("LIMITS", "{"), ("PROFILE", "thread")], true, true);
        assert!(matches!(limits, Health::Misconfigured { problems } if problems[0].contains("LIMITS")));
        let demo = serde_json::to_value(health(&[("LLM_PROVIDER", "demo")], true, true)).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let expected = serde_json::json!({
            "status": "ok", "version": version, "provider": "demo", "model": "demo", "agents": true,
            "titles": false, "external_sessions": false, "shares": true,
        });
        assert_eq!(demo, expected);
        let off = serde_json::to_value(health(&[("LLM_PROVIDER", "demo"), ("AGENTS", "off")], true, true));
        assert_eq!(off.unwrap()["agents"], false);
        let named = serde_json::to_value(health(&[("LLM_PROVIDER", "demo"), ("TITLES", "on")], true, true));
        assert_eq!(named.unwrap()["titles"], true);
        let off = serde_json::to_value(health(&[("LLM_PROVIDER", "demo"), ("SHARES", "off")], true, true));
        assert_eq!(off.unwrap()["shares"], false);
        for (secrets, external) in [
            (vec![("SESSION_SECRET", "s".repeat(32))], true),
            (vec![("WORKFLOW_SECRET", "w".repeat(32))], true),
            (vec![("SESSION_SECRET", "short".to_owned())], false),
        ] {
            let vars: Vec<_> = secrets.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let vars = [vec![("LLM_PROVIDER", "demo")], vars].concat();
            let report = serde_json::to_value(health(&vars, true, true)).unwrap();
            assert_eq!(report["external_sessions"], external, "{vars:?}");
        }
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let secret = ("LLM_API_KEY", "key with spaces");
        let vars = [("LLM_PROVIDER", "openai"), ("AUTH_ANONYMOUS", "true"), secret];
        let health = health(&vars, false, true);
        assert_eq!(health.status(), 503);
        let body = serde_json::to_string(&health).unwrap();
        for word in ["misconfigured", "SESSION_SECRET", "THREADS", "LLM_MODEL"] {
            assert!(body.contains(word), "{word}: {body}");
        }
        assert!(!body.contains(secret.1));
    }

    // A caller without a credential gets no secret, whichever variable the operator put it into by mistake.
    // Long: a table of mistakes.
    #[test]
    fn no_problem_repeats_a_variables_value() {
        let server = |rest: &str| format!(r#"{{"docs": {{"url": "https://docs.test"{rest}}}}}"#);
        let issuer = |rest: &str| {
            format!(
                r#"[{{"name": "a", "issuer": "i", "audience": "u", "jwks_url": "https://x"}}, {{"issuer": "hunter2", {rest}}}]"#
            )
        };
        // The last one lacks SESSION_SECRET alone.
        let provider = |rest: &str| {
            format!(r#"[{{"id": "hunter2", "label": "hunter2", "issuer": "https://hunter2", {rest}}}]"#)
        };
        let wrong = [
            ("PROFILE", "hunter2".to_owned()),
            ("SHARES", "hunter2".to_owned()),
            ("LIMITS", r#"{"subtasks": "hunter2"}"#.to_owned()),
            ("LIMITS", r#"{"hunter2": 1}"#.to_owned()),
            ("LIMITS", r#"{"hunter2": {}}"#.to_owned()),
            ("LIMITS", "hunter2".to_owned()),
            ("EVENT_TURNS", "hunter2".to_owned()),
            ("SUMMARIES", "hunter2".to_owned()),
            ("TITLES", "hunter2".to_owned()),
            ("HOOKS", r#"[{"name": "hunter2", "hunter2": 1}]"#.to_owned()),
            ("HOOKS", r#"[{"name": "Hunter2", "builtin": "loop_guard"}]"#.to_owned()),
            ("HOOKS", r#"[{"name": "a", "builtin": "loop_guard", "options": {"hunter2": 1}}]"#.to_owned()),
            ("AGENT_HOOKS", "hunter2".to_owned()),
            ("AGENTS", "hunter2".to_owned()),
            ("WORKFLOW_SECRET", "hunter2".to_owned()),
            ("TOOL_POLICY", r#"{"hunter2": "on"}"#.to_owned()),
            ("TOOL_POLICY", r#"{"network": "hunter2"}"#.to_owned()),
            ("CLIENT_TOOLS", "hunter2".to_owned()),
            ("CLIENT_INSTRUCTIONS", "hunter2".to_owned()),
            ("TOOL_USERS", r#"{"hunter2": ["key"]}"#.to_owned()),
            ("TOOL_USERS", r#"{"network": ["/hunter2"]}"#.to_owned()),
            ("QUOTAS", r#"{"user": {"usd_per_day": "hunter2"}}"#.to_owned()),
            ("QUOTAS", r#"{"hunter2": {}}"#.to_owned()),
            ("JWT", issuer(r#""name": "hunter2", "audience": "", "jwks_url": "https://x""#)),
            ("JWT", issuer(r#""name": "b", "audience": "u", "jwks_url": "hunter2""#)),
            ("JWT", issuer(r#""hunter2": 1"#)),
            ("OIDC", "hunter2".to_owned()),
            ("OIDC", provider(r#""client_id": "u", "hunter2": 1"#)),
            ("OIDC", provider(r#""client_id": "u", "algorithm": "hunter2""#)),
            ("OIDC", provider(r#""client_id": "u", "client_secret_secret": "hunter2""#)),
            ("OIDC", provider(r#""client_id": "hunter2", "scopes": "hunter2""#)),
            ("OIDC", provider(r#""client_id": "hunter2""#)),
            ("LLM_PROVIDER", "Hunter2".to_owned()),
            ("LLM_IDLE_MS", "hunter2".to_owned()),
            ("MODEL_PRIMARY", "hunter2".to_owned()),
            ("MODEL_PRIMARY", "demo:hunter2, demo:hunter2".to_owned()),
            ("MODEL_GUARD", "hunter2".to_owned()),
            ("MODEL_GUARD", "Hunter2:x".to_owned()),
            ("MODEL_OPTIONS", r#"{"hunter2": {}}"#.to_owned()),
            ("MODEL_OPTIONS", r#"{"*": {"reasoning_effort": "Hunter2"}}"#.to_owned()),
            ("CAPABILITIES", r#"{"demo:demo": {"hunter2": true}}"#.to_owned()),
            ("PRICES", r#"{"demo:demo": {"input": "hunter2", "output": 1}}"#.to_owned()),
            ("PRICES", r#"{"hunter2": {"input": -1, "output": 1}}"#.to_owned()),
            ("RECORD_TURNS", "hunter2".to_owned()),
            ("MCP_SERVERS", r#"{"Hunter2": {"url": "https://docs.test"}}"#.to_owned()),
            ("MCP_SERVERS", r#"{"hunter2": {"url": "http://docs.test"}}"#.to_owned()),
            ("MCP_SERVERS", r#"{"docs": {"url": "http://hunter2"}}"#.to_owned()),
            ("MCP_SERVERS", server(r#", "auth": {"bearer_secret": "hunter2"}"#)),
            ("MCP_SERVERS", server(r#", "auth": "hunter2""#)),
            ("MCP_SERVERS", server(r#", "hunter2": 1"#)),
            ("MCP_SERVERS", server(r#", "users": ["/hunter2"]"#)),
            ("MCP_SERVERS", server(r#", "tools": {"t": {"rule": "hunter2"}}"#)),
            ("FETCH_ALLOW", "hunter2".to_owned()),
            ("FETCH_RESOLVER", "hunter2".to_owned()),
            ("SEARCH", "hunter2".to_owned()),
        ];
        for (variable, value) in wrong {
            let health = health(&[(variable, &value)], true, true);
            assert_eq!(health.status(), 503, "{variable}: {value}");
            let body = serde_json::to_string(&health).unwrap();
            assert!(!body.to_lowercase().contains("hunter2"), "{variable}: {value}: {body}");
        }
    }

    #[test]
    fn embeddings_need_both_bindings() {
        let health = |model: &str, ai, vectors| {
            let var = |name: &str| match name {
                "LLM_PROVIDER" => Some("demo".to_owned()),
                "EMBEDDING_MODEL" => Some(model.to_owned()),
                _ => None,
            };
            let bindings = Bindings { threads: true, db: true, quota: true, ai, vectors };
            Health::of(&Settings::read(&var), bindings, TODAY, &var).status()
        };
        let model = "@cf/baai/bge-m3";
        assert_eq!([health("", false, false), health(model, true, true)], [200, 200]);
        assert_eq!([health(model, true, false), health(model, false, true)], [503, 503]);
    }

    #[test]
    fn quotas_need_their_binding() {
        let quotas = ("QUOTAS", r#"{"user": {"concurrent_turns": 1}}"#);
        let jwt = ("JWT", r#"[{"name":"a","issuer":"i","audience":"u","jwks_url":"https://x/y"}]"#);
        assert_eq!(health(&[quotas, jwt], true, true).status(), 200);
        assert_eq!(health(&[quotas, jwt], true, false).status(), 503);
        assert_eq!(health(&[("QUOTAS", "{}"), jwt], true, false).status(), 200);
        assert_eq!(health(&[("QUOTAS", "{"), jwt], true, true).status(), 503);
    }

    // The answer has every problem for which `platform::compose` refuses a turn.
    #[test]
    fn a_limit_of_money_needs_prices() {
        let quotas = ("QUOTAS", r#"{"user": {"usd_per_day": 1}}"#);
        let models = [("LLM_PROVIDER", "openai"), ("LLM_BASE_URL", "https://a.example/v1")];
        let problems = |vars: &[(&str, &str)]| match health(&[&models, vars].concat(), true, true) {
            Health::Misconfigured { problems } => problems.join("\n"),
            Health::Ok { .. } => String::new(),
        };
        assert_eq!(problems(&[("LLM_MODEL", "mine")]), "");
        let missing = problems(&[quotas, ("LLM_MODEL", "mine")]);
        assert!(missing.contains("PRICES") && missing.contains("mine"), "{missing}");
        let price = ("PRICES", r#"{"openai:mine": {"input": 1, "cached": 1, "output": 1}}"#);
        assert_eq!(problems(&[quotas, ("LLM_MODEL", "mine"), price]), "");
        let guard = problems(&[quotas, ("LLM_MODEL", "mine"), price, ("MODEL_GUARD", "openai:strict")]);
        assert!(guard.contains("PRICES") && guard.contains("openai:strict"), "{guard}");

        // Issue 43: one rule for turns and quotas. A limit may hold in one context alone.
        for limits in [r#"{"turn_cost_microusd": 1}"#, r#"{"project": {"turn_cost_microusd": 1}}"#] {
            let limits = ("LIMITS", limits);
            let missing = problems(&[limits, ("LLM_MODEL", "mine")]);
            let expected = "LIMITS limits money, but PRICES has no price for these models: openai:mine.";
            assert!(missing.starts_with(expected), "{missing}");
            assert_eq!(problems(&[limits, ("LLM_MODEL", "mine"), price]), "");
            let free = ("PRICES", r#"{"openai:mine": {"input": 0, "output": 0}}"#);
            assert_eq!(problems(&[limits, ("LLM_MODEL", "mine"), free]), "");
        }
    }

    #[test]
    fn workers_ai_needs_its_binding() {
        let vars =
            [("LLM_PROVIDER", "workers-ai"), ("LLM_MODEL", "@cf/meta/llama-3.3-70b-instruct-fp8-fast")];
        let var =
            |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned());
        let health = |ai| {
            Health::of(
                &Settings::read(&var),
                Bindings { threads: true, db: true, quota: true, ai, vectors: false },
                TODAY,
                &var,
            )
        };
        assert!(matches!(health(true), Health::Ok { provider, .. } if provider == "workers-ai"));
        assert!(
            matches!(health(false), Health::Misconfigured { problems } if problems.len() == 1 && problems[0].contains("binding AI"))
        );
    }

    #[test]
    fn a_service_without_valid_credentials_is_misconfigured() {
        assert_eq!(health(&[], true, false).status(), 503);
        assert_eq!(health(&[], true, true).status(), 200);
    }
}
