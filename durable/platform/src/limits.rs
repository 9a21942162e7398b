//! The operator's choice of a turn's limits. Pure.

use serde_json::{Map, Value};

use engine::profiles::{ContextProfile, Limits};
use engine::toolbelt::{PermissionClass, ToolRules};
use wire::protocol::Hook;
use wire::redact::json_problem;

/// The greatest result of a tool that still fits into a row as JSON, even if each character is escaped.
const MAX_TOOL_RESULT_BYTES: usize = 200_000;
/// For how many turns a thread keeps the events by default, and at most. A client that comes back later gets messages
/// instead.
const EVENT_TURNS: u32 = 50;
const MAX_EVENT_TURNS: u32 = 1_000;

/// The operator's words on limits: the variables `PROFILE` (the name of a profile: of it and a context's budget the
/// stricter limit holds) and `LIMITS` (JSON with some of the members of [`Limits`], which win over both, and such objects
/// under the names of contexts, which win in those). An absent or empty variable changes nothing.
pub struct Overrides {
    profile: Option<String>,
    limits: Option<String>,
}

impl Overrides {
    /// Reads the two variables.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> Self {
        let given =
            |name: &str| var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        Overrides { profile: given("PROFILE"), limits: given("LIMITS") }
    }

    /// The limits of a context's turns.
    pub fn limits(&self, context: &ContextProfile) -> Result<Limits, String> {
        let limits = match &self.profile {
            None => context.budget,
            Some(name) => {
                let chosen = Limits::of_profile(name)
                    .ok_or_else(|| "there is no such PROFILE; thread and free are two".to_owned())?;
                // An ordinary chat's budget is the default of a deployment, not a limit to it.
                if context.budget == Limits::default() { chosen } else { context.budget.strictest(chosen) }
            }
        };
        match &self.limits {
            None => Ok(limits),
            Some(json) => overridden(limits, json, context),
        }
    }
}

/// The limits of a context's turns, read from the variables of [`Overrides`].
pub fn from_env(var: impl Fn(&str) -> Option<String>, context: &ContextProfile) -> Result<Limits, String> {
    Overrides::read(var).limits(context)
}

/// The context of this name or alias. No request names that of a session's turns, but an operator may.
fn known(name: &str) -> Option<&'static str> {
    let of_sessions = ContextProfile::of(None).in_session().name;
    let named = ContextProfile::named(name).map(|context| context.name);
    named.or_else(|| (name == of_sessions).then_some(of_sessions))
}

fn overridden(limits: Limits, json: &str, context: &ContextProfile) -> Result<Limits, String> {
    let wrong = |error: serde_json::Error| format!("the variable LIMITS: {}", json_problem(&error));
    let own: Map<String, Value> = wire::json::from_str(json).map_err(wrong)?;
    let (of_contexts, of_all): (Map<_, _>, Map<_, _>) =
        own.into_iter().partition(|(_, value)| value.is_object());
    if of_contexts.keys().any(|name| known(name).is_none()) {
        return Err("the variable LIMITS: an object stands under a name that is no context's".to_owned());
    }
    let mut all = serde_json::to_value(limits).map_err(wrong)?;
    if let Value::Object(known) = &mut all {
        // The journals of turns that do not ask leave it out.
        known.insert("on_limit".to_owned(), serde_json::to_value(limits.on_limit).map_err(wrong)?);
    }
    let mut checked = limits;
    // A mistake in one context is an error in every context.
    for (name, members) in
        std::iter::once((context.name.to_owned(), Value::Object(of_all))).chain(of_contexts)
    {
        let here = known(&name) == Some(context.name);
        let mut with = all.clone();
        if let (Value::Object(known), Value::Object(members)) = (&mut with, members) {
            // Journals are read leniently, variables are not: a misspelt limit would limit nothing.
            if let Some(at) = members.keys().position(|name| !known.contains_key(name)) {
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                return Err(format!(
                    "the variable LIMITS: member {} in alphabetical order is no limit; the limits are: {}",
                    at + 1,
                    names.join(", ")
                ));
            }
            known.extend(members);
        }
        let limits: Limits = wire::json::from_value(&with).map_err(wrong)?;
        if limits.tool_result_bytes > MAX_TOOL_RESULT_BYTES {
            return Err(format!(
                "the variable LIMITS: tool_result_bytes may be {MAX_TOOL_RESULT_BYTES} at most"
            ));
        }
        if here {
            (all, checked) = (with, limits);
        }
    }
    Ok(checked)
}

/// Whether `LIMITS` limits the money of turns, be it in one context. No profile does.
pub fn limit_money(var: impl Fn(&str) -> Option<String>) -> bool {
    let own: Map<String, Value> =
        var("LIMITS").and_then(|json| wire::json::from_str(&json).ok()).unwrap_or_default();
    let limits = |members: &Map<String, Value>| {
        members.get("turn_cost_microusd").is_some_and(|limit| !limit.is_null())
    };
    limits(&own) || own.values().filter_map(Value::as_object).any(limits)
}

/// The variable that limits the money of turns; none where none does.
pub fn limited_money(by_quotas: bool, by_limits: bool) -> Option<&'static str> {
    match (by_quotas, by_limits) {
        (true, _) => Some("QUOTAS"),
        (false, true) => Some("LIMITS"),
        (false, false) => None,
    }
}

/// Reads `TOOL_POLICY`: JSON with a rule (`on`, `ask`, `off`) by the name of a class or a tool. An unknown name is an
/// error: a misspelt rule would leave open what the operator means to close.
pub fn tool_rules(var: impl Fn(&str) -> Option<String>) -> Result<ToolRules, String> {
    let Some(json) = var("TOOL_POLICY").filter(|json| !json.trim().is_empty()) else {
        return Ok(ToolRules::default());
    };
    let rules: ToolRules = wire::json::from_str(&json)
        .map_err(|error| format!("the variable TOOL_POLICY: {}", json_problem(&error)))?;
    let known = |name: &str| {
        PermissionClass::ALL.iter().any(|class| class.as_str() == name) || features::is_known(name)
    };
    if let Some(at) = rules.names().position(|name| !known(name)) {
        let nth = at + 1;
        return Err(format!(
            "the variable TOOL_POLICY: rule {nth} in alphabetical order is for no class and no tool"
        ));
    }
    Ok(rules)
}

/// Reads `EVENT_TURNS`: of how many turns a thread keeps the events.
pub fn kept_turns(var: impl Fn(&str) -> Option<String>) -> Result<u32, String> {
    let Some(text) = var("EVENT_TURNS").filter(|text| !text.trim().is_empty()) else {
        return Ok(EVENT_TURNS);
    };
    let turns = text.trim().parse().ok().filter(|turns| (1..=MAX_EVENT_TURNS).contains(turns));
    turns.ok_or_else(|| format!("the variable EVENT_TURNS must be a number from 1 to {MAX_EVENT_TURNS}"))
}

/// Reads a variable that is `on` or `off`.
fn is_on(var: impl Fn(&str) -> Option<String>, name: &str, default: bool) -> Result<bool, String> {
    match var(name).unwrap_or_default().trim() {
        "" => Ok(default),
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("the variable {name} must be on or off")),
    }
}

/// Whether turns that no longer fit into a request are summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummariseOldTurns {
    On,
    Off,
}

/// Reads `SUMMARIES`.
pub fn summaries(var: impl Fn(&str) -> Option<String>) -> Result<SummariseOldTurns, String> {
    Ok(if is_on(var, "SUMMARIES", true)? { SummariseOldTurns::On } else { SummariseOldTurns::Off })
}

/// The operator's hooks, which hold in every turn, and whether agents may make hooks of their own.
pub struct OperatorHooks {
    pub all: Vec<Hook>,
    pub by_agents: bool,
}

/// Reads `HOOKS` and `AGENT_HOOKS`.
pub fn hooks(var: impl Fn(&str) -> Option<String>) -> Result<OperatorHooks, String> {
    let hooks = var("HOOKS").filter(|value| !value.trim().is_empty());
    let all = hooks.map_or(Ok(Vec::new()), |json| engine::hooks::from_variable(&json))?;
    Ok(OperatorHooks { all, by_agents: is_on(var, "AGENT_HOOKS", false)? })
}

/// Whether requests may have agents that stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentsThatStay {
    On,
    Off,
}

/// Reads `AGENTS`.
pub fn agents(var: impl Fn(&str) -> Option<String>) -> Result<AgentsThatStay, String> {
    Ok(if is_on(var, "AGENTS", true)? { AgentsThatStay::On } else { AgentsThatStay::Off })
}

/// Where requests may bring tools of their client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientTools {
    /// In the editor; over the wires of other services everywhere.
    ByWire,
    /// In the editor, over each wire.
    Editor,
    /// Everywhere.
    All,
}

impl ClientTools {
    /// Whether a request may bring them outside the editor, over our own wire or that of another service.
    pub fn are_taken(self, is_foreign: bool) -> bool {
        match self {
            ClientTools::ByWire => is_foreign,
            ClientTools::Editor => false,
            ClientTools::All => true,
        }
    }
}

/// Whether a request may bring instructions for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesInstructions {
    Yes,
    No,
}

/// Reads `CLIENT_INSTRUCTIONS`.
pub fn client_instructions(var: impl Fn(&str) -> Option<String>) -> Result<TakesInstructions, String> {
    Ok(if is_on(var, "CLIENT_INSTRUCTIONS", true)? { TakesInstructions::Yes } else { TakesInstructions::No })
}

/// Reads `CLIENT_TOOLS`.
pub fn client_tools(var: impl Fn(&str) -> Option<String>) -> Result<ClientTools, String> {
    match var("CLIENT_TOOLS").unwrap_or_default().trim() {
        "" => Ok(ClientTools::ByWire),
        "editor" => Ok(ClientTools::Editor),
        "all" => Ok(ClientTools::All),
        _ => Err("the variable CLIENT_TOOLS must be all or editor".to_owned()),
    }
}
