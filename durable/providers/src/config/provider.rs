//! Providers: the name of each decides its API, its address and its key.

use std::rc::Rc;

use crate::Codec;
use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::workers_ai::WorkersAi;
use wire::redact::Secret;

/// A provider.
#[derive(Clone, Debug)]
pub struct Provider {
    pub api: Api,
    /// Headers in addition to those of the codec.
    pub headers: Vec<(&'static str, Secret)>,
}

/// The API of a provider.
#[derive(Clone, Debug)]
pub enum Api {
    /// The embedded demo model.
    Demo,
    /// A server that speaks Chat Completions.
    OpenAiChat(OpenAiChat),
    /// OpenAI's Responses.
    OpenAiResponses(OpenAiResponses),
    /// Anthropic's Messages.
    Anthropic(Anthropic),
    /// Google's Gemini API.
    Gemini(Gemini),
    /// Cloudflare's models, by a binding.
    WorkersAi,
}

impl Api {
    /// The codec of the API; the demo has none.
    pub fn codec(&self) -> Option<Rc<dyn Codec>> {
        match self {
            Api::Demo => None,
            Api::OpenAiChat(codec) => Some(Rc::new(codec.clone())),
            Api::OpenAiResponses(codec) => Some(Rc::new(codec.clone())),
            Api::Anthropic(codec) => Some(Rc::new(codec.clone())),
            Api::Gemini(codec) => Some(Rc::new(codec.clone())),
            Api::WorkersAi => Some(Rc::new(WorkersAi)),
        }
    }
}

/// A provider with a known address.
struct Known {
    name: &'static str,
    /// The prefix of its variables. A provider with two APIs has one key.
    variables: &'static str,
    base_url: &'static str,
    /// Its path behind an AI Gateway.
    gateway: &'static str,
    api: fn(&str, Option<Secret>) -> Api,
}

/// The base URL of OpenAI, as its own clients define it.
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

const KNOWN: [Known; 4] = [
    Known { name: "openai", variables: "OPENAI", base_url: OPENAI_BASE_URL, gateway: "/openai", api: chat },
    Known {
        name: "openai-responses",
        variables: "OPENAI",
        base_url: OPENAI_BASE_URL,
        gateway: "/openai",
        api: |url, key| Api::OpenAiResponses(OpenAiResponses::new(url, key)),
    },
    Known {
        name: "anthropic",
        variables: "ANTHROPIC",
        base_url: "https://api.anthropic.com",
        gateway: "/anthropic",
        api: |url, key| Api::Anthropic(Anthropic::new(url, key)),
    },
    Known {
        name: "gemini",
        variables: "GEMINI",
        base_url: "https://generativelanguage.googleapis.com",
        gateway: "/google-ai-studio",
        api: |url, key| Api::Gemini(Gemini::new(url, key)),
    },
];

/// The API of all other providers.
fn chat(url: &str, key: Option<Secret>) -> Api {
    Api::OpenAiChat(OpenAiChat::new(url, key))
}

/// Whether requests to a provider reach the maker of its models: at the maker's own host, or through the AI Gateway. The
/// name `openai` alone says nothing, because every vLLM and every Ollama has it too.
pub(super) fn is_makers_own(name: &str, simple: bool, read: &dyn Fn(&str) -> Option<String>) -> bool {
    let Some(known) = KNOWN.iter().find(|known| known.name == name) else { return false };
    let host = |url: &str| url.split("//").nth(1)?.split(['/', '?']).next().map(str::to_owned);
    let (_, url) = variable(read, known.variables, simple, "BASE_URL");
    url.is_none_or(|url| match (host(&url), host(known.base_url)) {
        // OpenAI has hosts of regions, such as eu.api.openai.com.
        (Some(its), Some(makers)) => its == makers || its.ends_with(&format!(".{makers}")),
        _ => false,
    })
}

impl Provider {
    /// Reads the variables of a provider: `NAME_BASE_URL` and `NAME_API_KEY`, and for the `simple` one `LLM_BASE_URL`
    /// and `LLM_API_KEY`, which win. The error lists all problems.
    pub(super) fn read(
        name: &str,
        simple: bool,
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Provider, Vec<String>> {
        // These two have neither address nor key.
        match name {
            "demo" => return Ok(Provider { api: Api::Demo, headers: Vec::new() }),
            "workers-ai" => return Ok(Provider { api: Api::WorkersAi, headers: Vec::new() }),
            _ => {}
        }
        let known = KNOWN.iter().find(|known| known.name == name);
        let prefix = known
            .map_or_else(|| name.to_ascii_uppercase().replace('-', "_"), |known| known.variables.to_owned());
        let pick = |what: &str| variable(read, &prefix, simple, what);
        let ((url_name, url), (key_name, key)) = (pick("BASE_URL"), pick("API_KEY"));
        let gateway = read("AI_GATEWAY_URL").map(|url| url.trim_end_matches('/').to_string());
        let mut problems: Vec<String> = Vec::new();
        problems.extend(url.as_deref().and_then(|url| problem_of(&url_name, &key_name, url)));
        problems
            .extend(gateway.as_deref().and_then(|url| problem_of("AI_GATEWAY_URL", "AI_GATEWAY_TOKEN", url)));
        let base_url = match (url, known, &gateway) {
            // Many self-hosted servers need no key. A server that needs one refuses the first request.
            (Some(url), ..) => Some(url),
            // A gateway may store the provider's key.
            (None, Some(known), Some(gateway)) => Some(format!("{gateway}{}", known.gateway)),
            (None, Some(known), None) => {
                if key.is_none() {
                    problems.push(format!(
                        "{key_name} is missing: a secret (`wrangler secret put {key_name}`, locally a line in \
                         .dev.vars). Only a server that {url_name} names may need none."
                    ));
                }
                Some(known.base_url.to_string())
            }
            (None, None, _) => {
                problems.push(format!(
                    "{url_name} is missing: the address of that provider. Only {} have a known address.",
                    KNOWN.map(|known| known.name).join(", ")
                ));
                None
            }
        };
        let token = read("AI_GATEWAY_TOKEN");
        for (variable, value) in [(key_name.as_str(), &key), ("AI_GATEWAY_TOKEN", &token)] {
            if value.as_ref().is_some_and(|value| !value.bytes().all(|byte| byte.is_ascii_graphic())) {
                problems.push(format!("{variable} contains characters that no HTTP header can carry."));
            }
        }
        let Some(base_url) = base_url.filter(|_| problems.is_empty()) else { return Err(problems) };
        let through = gateway.is_some_and(|gateway| base_url.starts_with(&gateway));
        let token = token.filter(|_| through).map(|token| Secret::new(format!("Bearer {token}")));
        let headers = token.map(|token| ("cf-aig-authorization", token)).into_iter().collect();
        let api = known.map_or(chat as fn(&str, Option<Secret>) -> Api, |known| known.api);
        Ok(Provider { api: api(&base_url, key.map(Secret::new)), headers })
    }
}

/// The name and the value of a provider's variable: of `LLM_…` for the simple provider if that is set, else of its own.
/// Without a value the name is the one that the operator should set.
fn variable(
    read: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    simple: bool,
    what: &str,
) -> (String, Option<String>) {
    let (plain, own) = (format!("LLM_{what}"), format!("{prefix}_{what}"));
    match (read(&plain).filter(|_| simple), read(&own)) {
        (Some(value), _) => (plain, Some(value)),
        (None, None) if simple => (plain, None),
        (None, value) => (own, value),
    }
}

/// The problem of a base URL. The message does not repeat the URL, because it may contain credentials.
fn problem_of(variable: &str, key: &str, url: &str) -> Option<String> {
    let after_scheme = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = after_scheme else {
        return Some(format!("{variable} must begin with https:// or http://."));
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(format!("{variable} is not a URL such as {}.", OPENAI_BASE_URL));
    }
    if host.contains('@') {
        return Some(format!("{variable} must not contain credentials: they belong into {key}."));
    }
    if url.contains('#') {
        return Some(format!("{variable} must not contain a fragment (#)."));
    }
    let path = rest.split('?').next().unwrap_or_default().trim_end_matches('/');
    let added = ["/chat/completions", "/responses", "/messages", "/models"]
        .into_iter()
        .find(|end| path.ends_with(end))?;
    Some(format!("{variable} must end before {added}, which the service appends."))
}
