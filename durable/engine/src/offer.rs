//! Selects the tools that a turn offers to its root, and those of the steps of a waiting plan from another chat context.

use crate::agents::{dump_agent, restore_agent, task, todo, websearch};
use crate::compose::{agent_declarations, declarations};
use crate::hooks::call;
use crate::journal::{DraftContext, PlanContext};
use crate::plan::{create, update};
use crate::ports::{Tool, Tools};
use crate::profiles::{ContextProfile, Limits};
use crate::toolbelt::{Reads, Rule, ToolPolicy, ToolSpec, client};
use crate::workflow::complete;
use wire::protocol::{ClientTool, Plan};

/// The part of a chat context that selects tools.
#[derive(Clone, Copy, Debug)]
pub struct InContext {
    pub profile: ContextProfile,
    /// Whether a plan waits for the user's decision, and the turn may act on it.
    pub has_draft: bool,
    /// Whether agents may make hooks.
    pub agent_hooks: bool,
    /// Whether the request asks for agents.
    pub agents: bool,
    /// Whether a hook of the turn speaks of the list of things to do, or may come to.
    pub todos: bool,
    /// Whether the turn works on the session of a workflow.
    pub session: bool,
    /// Whether the calls of the client's tools in one reply are asked at once.
    pub clients_at_once: bool,
}

impl InContext {
    fn has_call(self, name: &str) -> bool {
        match name {
            create::NAME => self.profile.plans,
            // The plan's own context had plans, whatever the turn's has.
            update::NAME => self.has_draft,
            _ => true,
        }
    }
}

/// The root's toolbelt in a stable order: the engine's own calls, the registered tools and those of the
/// client. The context must have each of them and the policy must allow it.
pub fn offered(
    tools: &dyn Tools,
    clients: &[ClientTool],
    policy: &ToolPolicy,
    context: InContext,
) -> Vec<ToolSpec> {
    let own = declarations().into_iter().filter(|spec| context.has_call(&spec.name));
    let own = own.chain(context.agent_hooks.then(call::spec)).chain(context.session.then(complete::spec));
    let of_agents = match (context.agents, context.todos) {
        (true, _) => agent_declarations(),
        (false, true) => vec![todo::spec()],
        (false, false) => Vec::new(),
    };
    let registered = tools
        .all()
        .iter()
        .filter(|tool| !tool.is_opt_in() || context.profile.tools.contains(&tool.spec().name.as_str()));
    let registered = registered.map(|tool| tool.spec().clone());
    let all = own
        .chain(of_agents)
        .chain(registered)
        .chain(clients.iter().map(|tool| client::spec(tool, context.clients_at_once)));
    let mut offered = allowed(all, policy);
    if !websearch::has_tools(offered.iter()) {
        offered.retain(|spec| spec.name != websearch::NAME);
    }
    without_files(tools, &mut offered);
    restored_as_made(policy, &mut offered);
    offered
}

/// The chat context of the plan that waits, for a turn that offers the tools `turn` in `context`. None where it is the turn's
/// own. `limits` gives the limits of a context that the turn keeps as well.
pub fn draft_context<E>(
    tools: &dyn Tools,
    turn: &[ToolSpec],
    (policy, context): (&ToolPolicy, InContext),
    draft: &Plan,
    limits: impl FnOnce(&ContextProfile) -> Result<Limits, E>,
) -> Result<Option<DraftContext>, E> {
    let (here, name) = (context.profile, draft.context_type.as_str());
    if name == here.name {
        return Ok(None);
    }
    let Some(there) = ContextProfile::named(name) else { return Ok(Some(DraftContext::Gone)) };
    let Limits { step_iterations, step_ms, plan_ms, .. } = limits(there)?;
    let has = |profile: &ContextProfile, spec: &ToolSpec| profile.tools.contains(&spec.name.as_str());
    let opt_in = || tools.all().iter().filter(|tool| tool.is_opt_in()).map(|tool| tool.spec());
    let more = opt_in().filter(|spec| has(there, spec) && turn.iter().all(|known| known.name != spec.name));
    let fewer = opt_in().filter(|spec| has(&here, spec) && !has(there, spec));
    Ok(Some(DraftContext::Found(Box::new(PlanContext {
        more_tools: allowed(more.cloned(), policy),
        fewer_tools: fewer.map(|spec| spec.name.clone()).collect(),
        planning: there.planning.to_owned(),
        plan_tools: there.plan_tools.iter().map(|name| (*name).to_owned()).collect(),
        step_iterations,
        step_ms,
        plan_ms,
    }))))
}

/// The tools that a policy allows, under its rules.
fn allowed(specs: impl Iterator<Item = ToolSpec>, policy: &ToolPolicy) -> Vec<ToolSpec> {
    let ruled = specs.map(|spec| (policy.rule(&spec), spec)).filter(|(rule, _)| *rule != Rule::Off);
    ruled.map(|(rule, spec)| ask(spec, rule, policy)).collect()
}

/// Takes the calls away that write and read dumps in files, where no tool does so.
fn without_files(tools: &dyn Tools, offered: &mut Vec<ToolSpec>) {
    let any = |does: fn(&dyn Tool) -> bool| {
        offered.iter().filter_map(|spec| tools.find(spec)).any(|tool| does(tool.as_ref()))
    };
    let writes = any(|tool| tool.writes_files());
    let reads = any(|tool| tool.spec().reads == Some(Reads::WorkspaceFile));
    offered.retain(|spec| match spec.name.as_str() {
        dump_agent::NAME => writes,
        restore_agent::NAME => reads,
        _ => true,
    });
}

/// Offers `restore_agent` where `task` is offered alone, and has it ask where that asks: both make agents.
fn restored_as_made(policy: &ToolPolicy, offered: &mut Vec<ToolSpec>) {
    let made = offered.iter().find(|spec| spec.name == task::NAME).map(|spec| spec.ask);
    offered.retain(|spec| spec.name != restore_agent::NAME || made.is_some());
    let asks = made == Some(true) && !policy.approved.contains(restore_agent::NAME);
    let restores = offered.iter_mut().filter(|spec| spec.name == restore_agent::NAME);
    restores.for_each(|spec| spec.ask |= asks);
}

/// Some tools ask under every rule, until a person has approved them for the whole thread.
fn ask(spec: ToolSpec, rule: Rule, policy: &ToolPolicy) -> ToolSpec {
    let asks = spec.ask && !policy.approved.contains(&spec.name);
    ToolSpec { ask: asks || rule == Rule::Ask, ..spec }
}
