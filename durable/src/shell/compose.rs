//! What a turn is made of: configuration, model, tools, prompt. The one place where the shell picks them.

use std::collections::BTreeSet;
use std::rc::Rc;

use worker::Env;

use crate::journal::TurnSpec;
use crate::mcp::{Offer, Servers};
use crate::model::Usage;
use crate::ports::{Files, Memories, Model, Tools, Web};
use crate::profiles::{Chain, Limits, Role};
use crate::protocol::{
    ApiError, ChatRequest, ClientTool, Content, ContextKind, ErrorCode, Owner, StoredMessage,
};
use crate::providers::config::Configuration;
use crate::quota::{Amount, Grant};
use crate::storage::collections::D1Collections;
use crate::storage::files::R2Files;
use crate::toolbelt::ToolPolicy;
use crate::tools::search_collection::Searchable;
use crate::turn::prompt;
use crate::{shell, tools};

use super::env::{AI, is_bound, var};
use super::mcp::{self, Offered};
use super::retrieval::Retrieved;
use super::thread::Thread;
use super::web::FetchWeb;

/// Bytes of stored history that are read for each token that a model may see of it: more than any tokenizer packs
/// into one, so that the token limit cuts and not this.
const BYTES_PER_TOKEN: usize = 8;

/// The prompt, the tools and a short message, in tokens: a turn with less would stop before its first call.
const LEAST_INPUT_TOKENS: u64 = 4_000;

/// The parts of a turn that are not its log.
pub struct Parts {
    pub model: Rc<dyn Model>,
    pub tools: Rc<dyn Tools>,
}

/// Which turn, on what.
pub struct Frame<'a> {
    pub owner: &'a Owner,
    /// What was looked up for the message.
    pub retrieved: &'a Retrieved,
    pub thread_id: &'a str,
    /// The role or model that the request names.
    pub model: Option<&'a str>,
    pub user_message: &'a StoredMessage,
    /// What it says, with its images and files.
    pub content: &'a Content,
    /// Where the turn's files are.
    pub workspace_root: String,
    pub assistant_message_id: &'a str,
    pub context: ContextKind,
    /// The tools that the client brings.
    pub client_tools: &'a [ClientTool],
    /// The tools that a person has allowed for good.
    pub approved: BTreeSet<String>,
    /// The MCP servers, and what they offer.
    pub mcp: &'a Offered,
    pub history_until: i64,
    /// What the turn's quotas let it have.
    pub grant: Grant,
    pub replaces_message_id: Option<String>,
}

/// A new turn by the present configuration. From here on it depends on what stands in the spec.
pub fn compose(thread: &Thread, frame: &Frame<'_>) -> Result<(TurnSpec, Parts), ApiError> {
    let limits = limits(&thread.env)?.within(frame.grant);
    let Offered { servers, listed } = frame.mcp;
    let rules = shell::limits::tool_rules(|name| var(&thread.env, name)).map_err(misconfigured)?;
    let workspace_root = R2Files::new(&thread.env).map(|_| frame.workspace_root.clone());
    let policy = ToolPolicy {
        workspace_root,
        allowed_mcp_servers: servers.allowed(frame.context),
        memory: frame.retrieved.memory,
        collections: frame.retrieved.collections.clone(),
        ..ToolPolicy::of(frame.context)
    };
    let rules = servers.rules(rules, &listed.offers);
    let policy = policy.narrowed(rules, frame.approved.clone());
    let (parts, configuration) =
        parts_with(thread, frame.owner, frame.thread_id, &policy, servers, &listed.offers)?;
    let chain = chain(&configuration, frame.model, frame.content)?;
    let spec = TurnSpec {
        thread_id: frame.thread_id.to_owned(),
        turn_id: frame.user_message.turn_id.clone(),
        user_message_id: frame.user_message.id.clone(),
        assistant_message_id: frame.assistant_message_id.to_owned(),
        content: frame.content.clone(),
        context_type: frame.context.as_str().to_owned(),
        profile: Configuration::profile(frame.model).to_owned(),
        subtask_chain: configuration.roles.of(Role::Subagent).filter(|other| **other != chain).cloned(),
        chain,
        limits,
        tools: tools::offered(parts.tools.as_ref(), frame.client_tools, &policy),
        system: prompt::root(frame.context, &limits) + &prompt::knowledge(&policy) + &listed.note(),
        policy,
        history_until: frame.history_until,
        retrieved: frame.retrieved.message.clone(),
        replaces_message_id: frame.replaces_message_id.clone(),
        created_at: frame.user_message.created_at,
    };
    Ok((spec, parts))
}

/// The models of a turn, which can read what it is about.
fn chain(configuration: &Configuration, model: Option<&str>, content: &Content) -> Result<Chain, ApiError> {
    let chain = configuration.chain(model).ok_or_else(|| {
        ApiError::field("model", "this deployment does not offer it; GET /api/models lists what it offers")
    })?;
    let first = &chain.first.choice;
    if content.needs_vision() && !first.capabilities.vision {
        let detail = format!("the model {} reads neither images nor PDFs", first.id());
        return Err(ApiError::field("content", detail));
    }
    Ok(chain)
}

/// The limits that a turn has whatever its quotas say, and the least that is good for something: one call of the model,
/// with a message of some length. `money`: quotas limit it, which takes models whose prices are known.
pub fn terms(env: &Env, request: &ChatRequest, money: bool) -> Result<(Limits, Amount), ApiError> {
    let limits = limits(env)?;
    let configuration = configuration(env)?;
    let chain = chain(&configuration, request.model.as_deref(), &request.content)?;
    let subtasks = configuration.roles.of(Role::Subagent);
    let mut offers = chain.iter().chain(subtasks.iter().flat_map(|chain| chain.iter()));
    if money && offers.any(|offer| offer.price.is_none()) {
        return Err(misconfigured("QUOTAS limits money, and the price of a model is not known".to_owned()));
    }
    let least =
        Usage { input_tokens: LEAST_INPUT_TOKENS, cached_tokens: 0, output_tokens: limits.output_tokens };
    let cost = chain.dearest().map_or(0.0, |price| price.cost_usd(least));
    let tokens = least.input_tokens + least.output_tokens;
    Ok((limits, Amount { tokens, microusd: (cost * 1e6).ceil() as u64 }))
}

fn configuration(env: &Env) -> Result<Configuration, ApiError> {
    Configuration::from_env(|name| var(env, name))
        .and_then(|configuration| configuration.bound(is_bound(env, AI)))
        .map_err(|problems| misconfigured(problems.join(" ")))
}

/// The parts of any turn of this policy, and the models that are configured now.
pub fn parts(
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    policy: &ToolPolicy,
) -> Result<(Parts, Configuration), ApiError> {
    parts_with(thread, owner, thread_id, policy, &mcp::servers(thread)?, &[])
}

fn parts_with(
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    policy: &ToolPolicy,
    servers: &Rc<Servers>,
    offers: &[Offer],
) -> Result<(Parts, Configuration), ApiError> {
    let configuration = configuration(&thread.env)?;
    let model = shell::model::serving(&configuration, &thread.connections, &thread.clock, &thread.env);
    let files = R2Files::new(&thread.env).map(|files| Rc::new(files) as Rc<dyn Files>);
    let web = tools::web::Config::from_env(|name| var(&thread.env, name));
    let web = web.map_err(|problems| misconfigured(problems.join(" ")))?;
    let fetches: Rc<dyn Web> = Rc::new(FetchWeb(thread.connections.permits.clone()));
    let memories = policy.memory.then(|| Rc::new(thread.memories(owner, thread_id)) as Rc<dyn Memories>);
    let searchable = (!policy.collections.is_empty()).then(|| Searchable {
        collections: Rc::new(D1Collections::new(&thread.env, owner)),
        ids: policy.collections.as_slice().into(),
    });
    let resources = tools::Resources { files, web: Some((fetches, web)), memories, searchable };
    let tools: Rc<dyn Tools> = Rc::new(tools::Standard::new(&resources));
    #[cfg(feature = "faults")]
    let tools = super::faults::with_recorders(tools.as_ref(), &thread.env);
    let tools = servers.with(tools, offers);
    Ok((Parts { model, tools }, configuration))
}

/// How much of a thread's stored history is worth reading.
pub fn history_bytes(limits: &Limits) -> usize {
    usize::try_from(limits.history_tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN)
}

/// The limits of a turn: the profile's, with the operator's overrides.
fn limits(env: &Env) -> Result<Limits, ApiError> {
    shell::limits::from_env(|name| var(env, name)).map_err(misconfigured)
}

/// Of how many turns a thread keeps the events.
pub fn kept_turns(env: &Env) -> Result<u32, String> {
    shell::limits::kept_turns(|name| var(env, name))
}

/// The operator's to mend.
pub fn misconfigured(detail: String) -> ApiError {
    ApiError::new(ErrorCode::Misconfigured, detail)
}
