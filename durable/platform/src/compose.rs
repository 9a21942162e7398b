//! Composes the parts of a turn: configuration, model, tools, prompt. No other file chooses them.

use crate::respond::misconfigured;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use engine::budget::Amount;
use engine::hooks::speak_of_todos;
use engine::journal::{
    AgentLife, AgentSetting, AnswerShape, ESTIMATES, FORMAT, Guards, LEAST_READER, LocalTime, MARKS, Session,
    Setting, Summaries, TurnSpec,
};
use engine::offer::InContext;
use engine::plan::update;
use engine::ports::{Model, Tools};
use engine::profiles::Grant;
use engine::profiles::{Chain, ContextProfile, Limits, Role};
use engine::prompt;
use engine::toolbelt::{PermissionClass, ToolPolicy, ToolUsers};
use features::Standard;
use providers::config::Configuration;
use wire::model::Usage;
use wire::protocol::{
    ApiError, BrowserContext, ChatContext, ChatRequest, ClientInstructions, ClientTool, Content, Hook,
    ModeProfile, Owner, Plan, StoredMessage,
};

use super::adapters::{self, Offered, Retrieved};
use super::deployment::{Deployment, Var};
use super::limits::{self, Overrides, SummariseOldTurns, TakesInstructions};
use super::sessions::judges::judges;
use super::sessions::way::Way;
use super::thread::Thread;
use bindings::env::{AI, is_bound};

/// The prompt, the tools and a short message, in tokens: a turn with less would stop before its first call.
const LEAST_INPUT_TOKENS: u64 = 4_000;
/// The most tokens of the same prompt: the declared tools of a chat have 14 kB, and each byte may be a token.
const LEAST_HELD_TOKENS: u64 = 32_000;

/// The parts of a turn that are not its log.
pub struct Parts {
    pub model: Rc<dyn Model>,
    pub tools: Rc<dyn Tools>,
}

/// The turn to compose, and the sources of its parts.
pub struct Frame<'a> {
    pub owner: &'a Owner,
    /// The text that was looked up for the message.
    pub retrieved: &'a Retrieved,
    pub thread_id: &'a str,
    /// The role or model that the request names.
    pub model: Option<&'a str>,
    pub user_message: &'a StoredMessage,
    /// The client's instructions for the turn.
    pub instructions: Option<&'a str>,
    /// The user's time zone.
    pub time_zone: Option<&'a str>,
    /// The message, with its images and files.
    pub content: &'a Content,
    /// Where the turn's files are.
    pub workspace_root: String,
    pub assistant_message_id: &'a str,
    pub context: Option<&'a ChatContext>,
    /// How the turn begins, where the request says so, and what is open beside the chat.
    pub mode: Option<ModeProfile>,
    pub browser: Option<&'a BrowserContext>,
    /// The plan that waits for the user's word.
    pub draft: Option<Plan>,
    /// The tools that the client brings.
    pub client_tools: &'a [ClientTool],
    /// Whether their calls of one reply are asked at once.
    pub clients_at_once: bool,
    /// The shape that the request wants of the answer.
    pub shape: Option<AnswerShape>,
    /// Whether it was written for another service.
    pub is_foreign: bool,
    /// Whether it can show a person the forms of tools.
    pub takes_forms: bool,
    /// The tools that a person has allowed for good.
    pub approved: BTreeSet<String>,
    /// The hooks of the thread.
    pub hooks: Vec<Hook>,
    /// The life of `main` on the turn's path; none where another agent answers.
    pub life: Option<AgentLife>,
    /// The MCP servers, and their offers.
    pub mcp: &'a Offered,
    pub history_until: i64,
    /// The amount that the quotas grant the turn.
    pub grant: Grant,
    pub replaces_message_id: Option<String>,
    /// The thread's agents, where the request asks for them.
    pub agents: Option<AgentSetting>,
    /// The session on which the turn works.
    pub session: Option<Session>,
}

impl Frame<'_> {
    fn entity_id(&self) -> Option<&str> {
        self.context.and_then(|context| context.entity_id.as_deref())
    }

    /// Whether the turn may act on the plan that waits. A mode has a plan of its own, and a session is one.
    fn acts_on_draft(&self) -> bool {
        self.draft.is_some() && self.mode.is_none() && self.session.is_none()
    }

    fn profile(&self) -> ContextProfile {
        profile(self.context, self.mode, self.session.is_some())
    }
}

/// The profile of a turn. A session decides before everything else (N-019).
fn profile(context: Option<&ChatContext>, mode: Option<ModeProfile>, session: bool) -> ContextProfile {
    let context = ContextProfile::of(context);
    if session { context.in_session() } else { context.in_mode(mode) }
}

/// Composes a new turn by the present configuration. From here on the turn depends on its spec alone.
// Long: a member for each part of a turn.
pub fn compose(thread: &Thread, frame: &Frame<'_>) -> Result<(TurnSpec, Parts), ApiError> {
    let context = &frame.profile();
    let limits = limits(&thread.deployment, context)?.within(frame.grant);
    let policy = policy(thread, frame)?;
    let (parts, configuration) = parts_with(thread, frame.owner, frame.thread_id, &policy, frame.mcp)?;
    // A router and a swarm work by calls: a model without native calls writes them as text.
    let able = |chain: Chain| if frame.mode.is_some() { chain.calling_in_text() } else { chain };
    let chain = able(chain(&configuration, frame.model, context, frame.content)?);
    let other = |role| configuration.roles.of(role).cloned().map(able).filter(|other| *other != chain);
    let hooks = thread.deployment.once(|var| limits::hooks(var)).map_err(misconfigured)?;
    let (has_draft, agents, agent_hooks) = (frame.acts_on_draft(), frame.agents.is_some(), hooks.by_agents);
    // The operator's are asked first.
    let all_hooks: Vec<Hook> = hooks.all.iter().chain(&frame.hooks).cloned().collect();
    let (todos, session) = (agent_hooks || speak_of_todos(all_hooks.iter()), frame.session.is_some());
    let (profile, clients_at_once) = (*context, frame.clients_at_once);
    let in_context = InContext { profile, has_draft, agent_hooks, agents, todos, session, clients_at_once };
    let tools = engine::offer::offered(parts.tools.as_ref(), frame.client_tools, &policy, in_context);
    let has_tools = chain.first.choice.calls() && !tools.is_empty();
    let shape =
        frame.shape.as_ref().map(|shape| super::shapes::possible(shape, &chain, &tools)).transpose()?;
    // The prompt speaks of the plan only where the call is there.
    let acts = has_draft && tools.iter().any(|spec| spec.name == update::NAME);
    let draft = frame.draft.clone().filter(|_| acts);
    let of_draft =
        |there: &ContextProfile| self::limits(&thread.deployment, there).map(|own| own.strictest(limits));
    let draft_context = draft.as_ref().map(|draft| {
        engine::offer::draft_context(parts.tools.as_ref(), &tools, (&policy, in_context), draft, of_draft)
    });
    let about = prompt::About {
        context,
        entity_id: frame.entity_id(),
        has_tools,
        draft: draft.as_ref(),
        browser: frame.browser,
        session: frame.session.as_ref(),
        shape,
    };
    let takes = *thread.deployment.once(|var| limits::client_instructions(var)).map_err(misconfigured)?;
    let given =
        frame.instructions.map(str::trim).filter(|text| takes == TakesInstructions::Yes && !text.is_empty());
    let instructions = &frame.retrieved.instructions;
    let system = prompt::root(about, &limits)
        + &features::guidance(&policy)
        + &frame.mcp.note()
        + &features::instructions::client_section(given)
        + &instructions.section();
    // A router chooses among these roles, unless the request names a model.
    let routed = [Role::Secondary, Role::Subagent].into_iter().filter_map(|role| Some((role, other(role)?)));
    let asks_router = frame.mode == Some(ModeProfile::AutoRoute) && frame.model.is_none();
    let judging = frame.session.iter().flat_map(|session| judges(&configuration.roles, &session.definition));
    let routed: BTreeMap<Role, Chain> = if asks_router { routed.collect() } else { judging.collect() };
    let guards = Some(able(configuration.guards().clone())).filter(|guards| *guards != chain);
    let guards = Guards { hooks: hooks.all.len(), models: guards };
    let setting = Setting {
        reviewers: other(Role::Quality),
        routed,
        summaries: summaries(&thread.deployment, &limits, other(Role::Speed))?,
        hooks: all_hooks,
        guards: Some(guards).filter(|guards| guards.hooks > 0),
        agent_hooks,
        life: frame.life.clone().map(Box::new),
        instructions: instructions.in_tree(),
        client_instructions: given.map(ClientInstructions::new),
        local_time: frame.time_zone.and_then(|zone| local_time(thread, zone, frame.user_message.created_at)),
        forms: frame.takes_forms && !policy.allowed_mcp_servers.is_empty(),
        draft_context: draft_context.transpose()?.flatten(),
        shape: shape.cloned().map(Box::new),
        ..setting(frame, &limits, has_tools, draft)
    };
    let subtask_chain = other(Role::Subagent);
    let spec = TurnSpec {
        format: FORMAT,
        least_reader: LEAST_READER,
        estimates: ESTIMATES,
        marks: MARKS,
        thread_id: frame.thread_id.to_owned(),
        turn_id: frame.user_message.turn_id.clone(),
        user_message_id: frame.user_message.id.clone(),
        assistant_message_id: frame.assistant_message_id.to_owned(),
        content: frame.content.clone(),
        context_type: context.name.to_owned(),
        setting,
        profile: frame
            .model
            .map_or(context.role.as_str(), |name| Configuration::profile(Some(name)))
            .to_owned(),
        subtask_chain,
        chain,
        limits,
        tools,
        policy,
        system,
        history_until: frame.history_until,
        summary: None,
        last_request: None,
        retrieved: frame.retrieved.message.clone(),
        replaces_message_id: frame.replaces_message_id.clone(),
        created_at: frame.user_message.created_at,
    };
    Ok((spec.with_least_reader(), parts))
}

/// A time where clocks have this zone. The Worker refuses an unknown zone; it has none here either.
fn local_time(thread: &Thread, zone: &str, ms: u64) -> Option<LocalTime> {
    LocalTime::new(ms, zone, thread.clock.utc_offset_minutes(ms, zone)?)
}

/// The tools that the turn may use, and under which rules.
fn policy(thread: &Thread, frame: &Frame<'_>) -> Result<ToolPolicy, ApiError> {
    let kind = frame.context.map(|context| context.kind).unwrap_or_default();
    let rules = thread.deployment.once(|var| limits::tool_rules(var)).map_err(misconfigured)?;
    let users = tool_users(&thread.deployment)?;
    let mut policy = ToolPolicy {
        workspace_root: adapters::files::has_workspaces(&thread.env).then(|| frame.workspace_root.clone()),
        allowed_mcp_servers: frame.mcp.allowed(kind, frame.owner),
        memory: frame.retrieved.memory,
        collections: frame.retrieved.collections.clone(),
        ..ToolPolicy::of(kind)
    };
    let client_tools = *thread.deployment.once(|var| limits::client_tools(var)).map_err(misconfigured)?;
    if !frame.client_tools.is_empty() && client_tools.are_taken(frame.is_foreign) {
        policy.classes.insert(PermissionClass::EditorMutate);
    }
    policy.classes.retain(|class| users.may_have(*class, frame.owner));
    Ok(policy.narrowed(frame.mcp.rules(rules.as_ref().clone()), frame.approved.clone()))
}

/// The setting of the turn without its reviewers and its router's models.
fn setting(frame: &Frame<'_>, limits: &Limits, has_tools: bool, draft: Option<Plan>) -> Setting {
    let context = &frame.profile();
    Setting {
        operation: if has_tools { context.operation } else { NO_TOOLS }.to_owned(),
        entity_id: frame.entity_id().map(str::to_owned),
        goal: context.goal.map(str::to_owned),
        planning: context.planning.to_owned(),
        plan_tools: context.plan_tools.iter().map(|name| (*name).to_owned()).collect(),
        draft: draft.map(Box::new),
        mode: frame.mode,
        simple_iterations: limits.of_simple_loop(),
        browser: frame.browser.cloned(),
        agents: frame.agents.clone(),
        session: frame.session.clone().map(Box::new),
        ..Setting::default()
    }
}

/// Whether the limits of a turn hold for these models: a limit of money needs prices.
pub fn is_affordable(chain: &Chain, limits: &Limits) -> bool {
    limits.turn_cost_microusd.is_none() || chain.iter().all(|offer| offer.price.is_some())
}

/// How the turn summarises earlier turns: by the models of the role `speed`, where there are any whose prices are known or
/// not needed.
fn summaries(
    deployment: &Deployment,
    limits: &Limits,
    speed: Option<Chain>,
) -> Result<Option<Summaries>, ApiError> {
    let chosen = deployment.once(|var| limits::summaries(var)).map_err(misconfigured)?;
    let models = speed.filter(|chain| is_affordable(chain, limits));
    Ok((*chosen == SummariseOldTurns::On).then_some(Summaries { models }))
}

/// The `operation_type` of a turn that can only talk (B-063).
const NO_TOOLS: &str = "guidance_only";

/// The models of a turn, which can read its message: those that the request names, else the context's, else the primary
/// ones.
fn chain(
    configuration: &Configuration,
    model: Option<&str>,
    context: &ContextProfile,
    content: &Content,
) -> Result<Chain, ApiError> {
    let of_context = || configuration.roles.of(context.role).unwrap_or(&configuration.roles.primary).clone();
    let chain = match model {
        None => Some(of_context()),
        named => configuration.chain(named),
    };
    let chain = chain.ok_or_else(|| {
        ApiError::field("model", "this deployment does not offer it; GET /api/models lists what it offers")
    })?;
    let first = &chain.first.choice;
    if content.needs_vision() && !first.capabilities.vision {
        let detail = format!("the model {} reads neither images nor PDFs", first.id());
        return Err(ApiError::field("content", detail));
    }
    Ok(chain)
}

/// The limits that a turn has without its quotas, and the least amount that it can use: one call of the model, with a
/// message of some length. A limit of money, the turn's own or by quotas (`money`), needs the price of each model that the
/// turn may ask.
pub fn terms(thread: &Thread, request: &ChatRequest, money: bool) -> Result<(Limits, Amount), ApiError> {
    let session = thread.way_of(request)? != Way::Plain;
    let context = &profile(request.chat_context.as_ref(), request.mode_profile, session);
    let limits = limits(&thread.deployment, context)?;
    let configuration = configuration(thread)?;
    let chain = chain(&configuration, request.model.as_deref(), context, &request.content)?;
    let reviewers = configuration.roles.of(Role::Quality).filter(|_| context.plans);
    let others = configuration.roles.of(Role::Subagent).into_iter().chain(reviewers);
    // A step may name any role.
    let others = others.chain(configuration.roles.more.values().filter(|_| session));
    // A session's judges and the operator's hooks may have models that the request does not name.
    let has_guards = !thread.deployment.once(|var| limits::hooks(var)).map_err(misconfigured)?.all.is_empty();
    let judges = [(&configuration.roles.primary, session), (configuration.guards(), has_guards)];
    let others = others.chain(judges.into_iter().filter(|(_, judges)| *judges).map(|(chain, _)| chain));
    // A router chooses among the roles.
    let routes = request.mode_profile == Some(ModeProfile::AutoRoute) && request.model.is_none();
    let others = others.chain(configuration.roles.of(Role::Secondary).filter(|_| routes));
    let limited = crate::limits::limited_money(money, limits.turn_cost_microusd.is_some());
    let offers = chain.iter().chain(others.flat_map(Chain::iter));
    if let Some(problem) = limited.and_then(|by| providers::config::unpriced(by, offers)) {
        return Err(misconfigured(problem));
    }
    let least =
        Usage { input_tokens: LEAST_INPUT_TOKENS, output_tokens: limits.output_tokens, ..Usage::default() };
    let cost = chain.dearest().map_or(0.0, |price| price.cost_usd(least));
    // What the call holds, where it is short.
    let held = chain.iter().filter_map(|offer| offer.most_microusd(LEAST_HELD_TOKENS, 0)).max().unwrap_or(0);
    let tokens = least.input_tokens + least.output_tokens;
    Ok((limits, Amount { tokens, microusd: ((cost * 1e6).ceil() as u64).max(held) }))
}

/// The models that are configured now.
pub fn configuration(thread: &Thread) -> Result<Rc<Configuration>, ApiError> {
    let read = |var: &Var| {
        Configuration::from_env(var, wire::time::day(thread.clock.now_ms()))
            .and_then(|configuration| configuration.bound(is_bound(&thread.env, AI)))
            .map_err(|problems| problems.join(" "))
    };
    thread.deployment.once(read).map_err(misconfigured)
}

/// The parts of any turn of this policy, and the models that are configured now.
pub fn parts(
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    policy: &ToolPolicy,
) -> Result<(Parts, Rc<Configuration>), ApiError> {
    parts_with(thread, owner, thread_id, policy, &Offered::unlisted(thread)?)
}

fn parts_with(
    thread: &Thread,
    owner: &Owner,
    thread_id: &str,
    policy: &ToolPolicy,
    offered: &Offered,
) -> Result<(Parts, Rc<Configuration>), ApiError> {
    let configuration = configuration(thread)?;
    let store = Rc::clone(&thread.store);
    // The thread of a turn that runs can be read, or the turn fails by itself.
    let version: Rc<dyn Fn() -> usize> = Rc::new(move || store.version_of_newest().unwrap_or(1));
    let Thread { connections, clock, env, .. } = thread;
    let model = crate::model::serving(&configuration, connections, clock, env, &version, thread_id);
    let resources = adapters::resources(thread, owner, thread_id, policy)?;
    let tools: Rc<dyn Tools> = Rc::new(Standard::new(&resources));
    #[cfg(feature = "faults")]
    let tools = super::faults::with_recorders(tools, &thread.env);
    Ok((Parts { model, tools: offered.with(tools) }, configuration))
}

/// The variables that say which users may have which tools.
pub fn tool_users(deployment: &Deployment) -> Result<Rc<ToolUsers>, ApiError> {
    deployment.once(|var| ToolUsers::from_env(var)).map_err(misconfigured)
}

/// The limits of a turn: the context's, with the operator's overrides.
pub fn limits(deployment: &Deployment, context: &ContextProfile) -> Result<Limits, ApiError> {
    let chosen = deployment.once(|var| Ok(Overrides::read(var)));
    chosen.and_then(|chosen| chosen.limits(context)).map_err(misconfigured)
}

/// Of how many turns a thread keeps the events.
pub fn kept_turns(deployment: &Deployment) -> Result<u32, String> {
    deployment.once(|var| limits::kept_turns(var)).map(|turns| *turns)
}
