//! `MCP_SERVERS`: the servers of a deployment. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use serde::Deserialize;

use engine::toolbelt::{PermissionClass, Rule, Users};
use wire::protocol::{ContextKind, Owner};
use wire::redact::Secret;
use wire::redact::json_problem;

/// The most servers. Each adds a periodic listing, and its tools to every prompt.
const MAX_SERVERS: usize = 16;
/// The longest name. Together with the prefix it leaves about half of a tool's 64 characters to the tool.
const MAX_SERVER_NAME: usize = 32;
/// How long a server may be silent, by default and at most. The latter is the time of a whole turn.
const TIMEOUT_MS: u64 = 30_000;
const MAX_TIMEOUT_MS: u64 = 180_000;

/// The servers by their names.
#[derive(Clone, Debug, Default)]
pub struct McpServers(pub BTreeMap<String, Rc<Server>>);

/// One server, as the operator describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub name: String,
    pub url: String,
    pub contexts: Vec<ContextKind>,
    /// The users of the server. A server acts with the deployment's credentials, so visitors need an explicit entry.
    pub users: Users,
    /// The offered tools; all by default.
    pub only: Option<BTreeSet<String>>,
    pub tools: BTreeMap<String, ToolWords>,
    pub timeout_ms: u64,
    pub auth: Auth,
}

/// The operator's settings of a tool. Only they can give it more rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolWords {
    pub class: Option<PermissionClass>,
    #[serde(default)]
    pub idempotent: bool,
    #[serde(default)]
    pub parallel_safe: bool,
    pub rule: Option<Rule>,
}

/// The credentials for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    None,
    Bearer(Secret),
    ClientCredentials { token_url: String, client_id: String, client_secret: Secret, scope: Option<String> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerWords {
    url: String,
    contexts: Option<Vec<ContextKind>>,
    users: Option<Vec<String>>,
    only: Option<BTreeSet<String>>,
    #[serde(default)]
    tools: BTreeMap<String, ToolWords>,
    timeout_ms: Option<u64>,
    auth: Option<AuthWords>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum AuthWords {
    BearerSecret(String),
    ClientCredentials(ClientWords),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientWords {
    token_url: String,
    client_id: String,
    client_secret_secret: String,
    scope: Option<String>,
}

impl McpServers {
    /// Reads `MCP_SERVERS`, and the secrets that it names.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let Some(json) = var("MCP_SERVERS").filter(|json| !json.trim().is_empty()) else {
            return Ok(McpServers::default());
        };
        let wrong = |problem: String| format!("the variable MCP_SERVERS: {problem}");
        let given: BTreeMap<String, ServerWords> =
            wire::json::from_str(&json).map_err(|error| wrong(json_problem(&error)))?;
        if given.len() > MAX_SERVERS {
            return Err(wrong(format!("there may be {MAX_SERVERS} servers at most")));
        }
        // The error names the position, because the name may be a secret in the wrong place.
        let read = |(at, (name, words)): (usize, (String, ServerWords))| {
            let server = Server::read(&name, words, &var);
            let nth = at + 1;
            let problem = |problem| wrong(format!("server {nth} in alphabetical order: {problem}"));
            Ok((name, Rc::new(server.map_err(problem)?)))
        };
        given.into_iter().enumerate().map(read).collect::<Result<_, String>>().map(McpServers)
    }

    /// The names of the servers that a user may have in a context.
    pub fn allowed(&self, context: ContextKind, owner: &Owner) -> BTreeSet<String> {
        let may = |server: &Server| server.contexts.contains(&context) && server.users.include(owner);
        let allowed = self.0.iter().filter(|(_, server)| may(server));
        allowed.map(|(name, _)| name.clone()).collect()
    }
}

impl Server {
    fn read(name: &str, words: ServerWords, var: &impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        // Names have no underscore, because two of them separate server and tool.
        if name.is_empty() || name.len() > MAX_SERVER_NAME || !name.bytes().all(plain) {
            return Err(format!("a name is a-z, 0-9 or -, {MAX_SERVER_NAME} characters at most"));
        }
        if let Some(problem) = problem_of(&words.url) {
            return Err(format!("its url {problem}"));
        }
        let timeout_ms = words.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(100..=MAX_TIMEOUT_MS).contains(&timeout_ms) {
            return Err(format!("timeout_ms must be a number from 100 to {MAX_TIMEOUT_MS}"));
        }
        // The error repeats neither value nor name, because the name may be the secret itself.
        let secret = |member: &str, name: &str| match var(name).filter(|value| !value.is_empty()) {
            Some(value) if value.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Secret::new(value)),
            Some(_) => Err(format!(
                "the secret that {member} names contains characters that no HTTP header can carry"
            )),
            None => Err(format!("{member} must be the name of a secret that is set")),
        };
        let auth = match words.auth {
            None => Auth::None,
            Some(AuthWords::BearerSecret(name)) => Auth::Bearer(secret("bearer_secret", &name)?),
            Some(AuthWords::ClientCredentials(words)) => {
                if let Some(problem) = problem_of(&words.token_url) {
                    return Err(format!("its token_url {problem}"));
                }
                Auth::ClientCredentials {
                    client_secret: secret("client_secret_secret", &words.client_secret_secret)?,
                    token_url: words.token_url,
                    client_id: words.client_id,
                    scope: words.scope,
                }
            }
        };
        let both = || vec![ContextKind::Thread, ContextKind::Editor];
        Ok(Server {
            name: name.to_owned(),
            url: words.url,
            contexts: words.contexts.unwrap_or_else(both),
            users: words.users.as_deref().map_or(Ok(Users::registered()), Users::parse)?,
            only: words.only,
            tools: words.tools,
            timeout_ms,
            auth,
        })
    }
}

/// The problem of an address. The message does not repeat the address, because it may contain credentials.
fn problem_of(url: &str) -> Option<&'static str> {
    let (rest, is_plain) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return Some("must begin with https://"),
    };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match () {
        () if host.is_empty() || !url.bytes().all(|byte| byte.is_ascii_graphic()) => Some("is not a URL"),
        () if authority.contains('@') => Some("must not contain credentials"),
        () if url.contains(['#', '\\']) => Some("must not contain # or \\"),
        () if is_plain && !is_local => Some("must begin with https:// (http:// works only for this machine)"),
        () => None,
    }
}
