//! Providers: the name of each decides its API, its address and its key. `openai` speaks two APIs: Responses at OpenAI and
//! Azure, whose newest models call tools there alone, and Chat Completions at each other server.

use std::rc::Rc;

use crate::Codec;
use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai::{self, OpenAi};
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::workers_ai::WorkersAi;
use wire::model::ModelChoice;
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
    /// OpenAI, or a server that speaks one of its APIs. The model of a turn says which one.
    OpenAi(OpenAi),
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
            Api::OpenAi(codec) => Some(Rc::new(codec.clone())),
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
    api: fn(&Address, Option<Secret>) -> Api,
}

/// The address of a provider.
struct Address {
    base_url: String,
    /// Whether it is OpenAI's ([`is_openais`]).
    is_openais: bool,
}

/// The base URL of OpenAI, as its own clients define it.
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

const KNOWN: [Known; 5] = [
    Known {
        name: "openai",
        variables: "OPENAI",
        base_url: OPENAI_BASE_URL,
        gateway: "/openai",
        api: |at, key| Api::OpenAi(OpenAi { chat: chat(at, key.clone()), responses: responses(at, key) }),
    },
    Known {
        name: "openai-chat",
        variables: "OPENAI",
        base_url: OPENAI_BASE_URL,
        gateway: "/openai",
        api: |at, key| Api::OpenAiChat(chat(at, key)),
    },
    Known {
        name: "openai-responses",
        variables: "OPENAI",
        base_url: OPENAI_BASE_URL,
        gateway: "/openai",
        api: |at, key| Api::OpenAiResponses(responses(at, key)),
    },
    Known {
        name: "anthropic",
        variables: "ANTHROPIC",
        base_url: "https://api.anthropic.com",
        gateway: "/anthropic",
        api: |at, key| Api::Anthropic(Anthropic::new(&at.base_url, key)),
    },
    Known {
        name: "gemini",
        variables: "GEMINI",
        base_url: "https://generativelanguage.googleapis.com",
        gateway: "/google-ai-studio",
        api: |at, key| Api::Gemini(Gemini::new(&at.base_url, key)),
    },
];

fn chat(at: &Address, key: Option<Secret>) -> OpenAiChat {
    let codec = OpenAiChat::new(&at.base_url, key);
    if at.is_openais { codec.of_openai() } else { codec }
}

fn responses(at: &Address, key: Option<Secret>) -> OpenAiResponses {
    let codec = OpenAiResponses::new(&at.base_url, key);
    if at.is_openais { codec.of_openai() } else { codec }
}

/// The hosts of Azure. Each resource has names of its own in them
/// (<https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle>).
const AZURE: [&str; 4] =
    [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com", ".openai.azure.us"];

/// Whether a base URL is OpenAI's API: of OpenAI, of one of its regions (`eu.api.openai.com`), of Azure, or of OpenAI behind
/// an AI Gateway. Azure's older addresses, with the name of a deployment in them, have no Responses.
fn is_openais(url: &str) -> bool {
    let Some((host, path)) = host_and_path(url) else { return false };
    let is_gateway = host == "gateway.ai.cloudflare.com" && path.ends_with("/openai");
    let is_azures = AZURE.iter().any(|azures| host.ends_with(azures)) && path == "/openai/v1";
    host == "api.openai.com" || host.ends_with(".api.openai.com") || is_azures || is_gateway
}

/// The host of an address, without its port, and the path without a slash at its end.
fn host_and_path(url: &str) -> Option<(String, &str)> {
    let rest = url.split_once("//")?.1.split('?').next()?.trim_end_matches('/');
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Some((host.split(':').next()?.to_ascii_lowercase(), path))
}

/// The wire of the models of a provider that speaks several; none where its name says it, and for Chat Completions, which
/// `openai` meant before.
pub(super) fn wire_of(name: &str, simple: bool, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (_, url) = variable(read, "OPENAI", simple, "BASE_URL");
    let speaks_responses = name == "openai" && url.is_none_or(|url| is_openais(&url));
    speaks_responses.then(|| openai::RESPONSES.to_owned())
}

/// The words for the service tier that a provider's API knows. Other servers of Chat Completions have OpenAI's words or
/// none.
fn service_tiers(name: &str) -> &'static [&'static str] {
    match name {
        "demo" | "workers-ai" => &[],
        // <https://platform.claude.com/docs/en/api/service-tiers>
        "anthropic" => &["auto", "standard_only"],
        // <https://ai.google.dev/gemini-api/docs/optimization>
        "gemini" => &["standard", "flex", "priority"],
        // <https://developers.openai.com/api/docs/guides/flex-processing>, `fast` is another name of `priority`.
        _ => &["auto", "default", "flex", "priority", "fast"],
    }
}

/// The problem of a service tier that the provider of the model does not know.
pub(super) fn tier_problem(choice: &ModelChoice) -> Option<String> {
    let ModelChoice { provider, options, .. } = choice;
    let words = service_tiers(provider);
    let asked = options.service_tier.as_deref().filter(|asked| !words.contains(asked));
    let known = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    asked.map(|_| format!("MODEL_OPTIONS: {provider} does not know that service_tier. It knows {known}."))
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
        let is_default = url.is_none();
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
        let is_openais = is_openais(&base_url) || (is_default && prefix == "OPENAI");
        let (at, key) = (Address { base_url, is_openais }, key.map(Secret::new));
        let api = known.map(|known| (known.api)(&at, key.clone()));
        Ok(Provider { api: api.unwrap_or_else(|| Api::OpenAiChat(chat(&at, key))), headers })
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
