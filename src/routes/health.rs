//! `GET /api/health`: what runs here, or what is wrong with its configuration. No credential, no I/O.

use serde::Serialize;

use crate::reply::Reply;
use crate::serve::Call;

#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Health {
    Ok { version: &'static str, provider: String, model: String },
    Misconfigured { problems: Vec<String> },
}

/// The report.
pub fn report(call: &Call) -> Reply {
    let mut problems = call.settings.problems(call.env.d1("DB").is_ok());
    if call.env.durable_object("THREADS").is_err() {
        problems.push("the Durable Object binding THREADS is missing".to_owned());
    }
    let (provider, model) = provider(call);
    if !problems.is_empty() {
        return Reply::json(503, &Health::Misconfigured { problems });
    }
    Reply::json(200, &Health::Ok { version: env!("CARGO_PKG_VERSION"), provider, model })
}

fn provider(call: &Call) -> (String, String) {
    let var = |name: &str| call.env.var(name).map(|value| value.to_string()).unwrap_or_default();
    (var("LLM_PROVIDER"), var("LLM_MODEL"))
}
