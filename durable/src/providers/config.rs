//! Which model a deployment talks to, read from its variables. Everything that is wrong is said at once, in words for
//! the operator, and without any value that could be a secret.

use crate::model::{Capabilities, ModelChoice};

use super::Secret;
use super::openai_chat::OpenAiChat;

#[cfg(test)]
mod tests;

/// Where OpenAI's own service is, as its clients call it.
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// A deployment's model.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub choice: ModelChoice,
    pub provider: Provider,
}

/// Who answers.
#[derive(Clone, Debug)]
pub enum Provider {
    /// The embedded demo model.
    Demo,
    /// A server that speaks Chat Completions.
    OpenAiChat(OpenAiChat),
}

impl Configuration {
    /// Reads `LLM_PROVIDER`, `LLM_BASE_URL`, `LLM_MODEL` and `LLM_API_KEY`. An empty variable is an absent one. The
    /// error lists all that is wrong.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Configuration, Vec<String>> {
        // A secret that was piped into wrangler ends with a line break.
        let read =
            |name: &str| lookup(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty());
        let (base_url, model, key) = (read("LLM_BASE_URL"), read("LLM_MODEL"), read("LLM_API_KEY"));
        match read("LLM_PROVIDER").as_deref() {
            Some("demo") => Ok(demo()),
            None if base_url.is_none() && model.is_none() && key.is_none() => Ok(demo()),
            Some("openai") | None => openai(base_url, model, key),
            Some(other) => {
                Err(vec![format!("LLM_PROVIDER is {other:?}; it must be \"demo\" or \"openai\".")])
            }
        }
    }
}

fn demo() -> Configuration {
    let choice =
        ModelChoice { provider: "demo".into(), model: "demo".into(), capabilities: Capabilities::default() };
    Configuration { choice, provider: Provider::Demo }
}

fn openai(
    base_url: Option<String>,
    model: Option<String>,
    key: Option<String>,
) -> Result<Configuration, Vec<String>> {
    let mut problems = Vec::new();
    if model.is_none() {
        problems.push("LLM_MODEL is missing: the name of the model, as the provider spells it.".to_string());
    }
    match &base_url {
        // Many servers of one's own want no key; whether this one does, it will say itself.
        Some(url) => problems.extend(problem_of(url)),
        None if key.is_none() => problems.push(
            "LLM_API_KEY is missing: a secret (`wrangler secret put LLM_API_KEY`, locally a line in .dev.vars). \
             Only a server that LLM_BASE_URL names may need none."
                .to_string(),
        ),
        None => {}
    }
    if key.as_ref().is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
        problems.push("LLM_API_KEY contains characters that no HTTP header can carry.".to_string());
    }
    let Some(model) = model.filter(|_| problems.is_empty()) else { return Err(problems) };
    let codec = OpenAiChat::new(base_url.as_deref().unwrap_or(OPENAI_BASE_URL), key.map(Secret::new));
    let choice = ModelChoice { provider: "openai".into(), model, capabilities: Capabilities::default() };
    Ok(Configuration { choice, provider: Provider::OpenAiChat(codec) })
}

/// What is wrong with a base URL. Its text is not repeated: it may carry credentials.
fn problem_of(url: &str) -> Option<String> {
    let after_scheme = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = after_scheme else {
        return Some("LLM_BASE_URL must begin with https:// or http://.".into());
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(format!("LLM_BASE_URL is not a URL such as {OPENAI_BASE_URL}."));
    }
    if host.contains('@') {
        return Some("LLM_BASE_URL must not contain credentials: they belong into LLM_API_KEY.".into());
    }
    if url.contains('#') {
        return Some("LLM_BASE_URL must not contain a fragment (#).".into());
    }
    let path = rest.split('?').next().unwrap_or_default().trim_end_matches('/');
    path.ends_with("/chat/completions")
        .then(|| "LLM_BASE_URL must end before /chat/completions, which is added to it.".into())
}
