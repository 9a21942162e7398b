//! Chat contexts as data: the subject of a turn decides its guidance, limits, models and toolbelt.

use super::models::Role;
use super::{Limits, PLANNER, SWARM, THREAD, WORKFLOW};
use wire::protocol::{ChatContext, ContextKind, ModeProfile};

include!(concat!(env!("OUT_DIR"), "/contexts.rs"));

/// The settings that a context gives to its turns. The values stand in `contexts/*.toml`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextProfile {
    /// The wire's `context_type`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    pub budget: Limits,
    /// The role whose models answer a request that names no model; the primary ones where the deployment has
    /// none for this role.
    pub role: Role,
    /// The `operation_type` of the root's model calls in the telemetry.
    pub operation: &'static str,
    /// Whether the root may make plans.
    pub plans: bool,
    /// The tools of the project domain that the context offers.
    pub tools: &'static [&'static str],
    /// The paragraph about the context in the system prompt.
    pub guidance: &'static str,
    /// The tool that a turn must call to reach its goal (B-013).
    pub goal: Option<&'static str>,
    /// The planner's guidance in this context.
    pub planning: &'static str,
    /// The tools that the steps of a plan must use, in this order; one that ends in `?` may be left out (B-080).
    pub plan_tools: &'static [&'static str],
}

/// The `context_type` and the `operation_type` of a turn that works on a session.
const SESSION: &str = "workflow";

impl ContextProfile {
    /// The profile of a request: by its context type, else by its kind. An unknown type means `general`
    /// (B-019).
    pub fn of(context: Option<&ChatContext>) -> &'static ContextProfile {
        let kind = context.map(|context| context.kind).unwrap_or_default();
        let named = context.and_then(|context| context.context_type.as_deref());
        let name = named.filter(|name| !name.is_empty()).unwrap_or(kind.as_str());
        ContextProfile::named(name).or_else(|| ContextProfile::named("general")).unwrap_or(&FALLBACK)
    }

    /// The profile of a turn that the request asks to route or to plan. It has a swarm's limits, and the mode
    /// alone makes its plans.
    pub fn in_mode(&self, mode: Option<ModeProfile>) -> ContextProfile {
        let operation = match mode {
            None => return *self,
            Some(ModeProfile::AutoRoute) => "auto_route",
            Some(ModeProfile::Swarm) => "swarm",
        };
        ContextProfile { budget: SWARM, operation, plans: false, goal: None, plan_tools: &[], ..*self }
    }

    /// The profile of a turn that works on the session of a workflow. The procedure is its plan.
    pub fn in_session(&self) -> ContextProfile {
        let (name, operation) = (SESSION, SESSION);
        ContextProfile {
            name,
            operation,
            budget: WORKFLOW,
            plans: false,
            goal: None,
            plan_tools: &[],
            ..*self
        }
    }

    /// The context of this name or alias.
    pub fn named(name: &str) -> Option<&'static ContextProfile> {
        CONTEXTS.iter().find(|profile| profile.name == name || profile.aliases.contains(&name))
    }
}

/// The profile for tables without `general`.
static FALLBACK: ContextProfile = ContextProfile {
    name: ContextKind::Thread.as_str(),
    aliases: &[],
    budget: THREAD,
    role: Role::Primary,
    operation: "chat",
    plans: false,
    tools: &[],
    guidance: "",
    goal: None,
    planning: "",
    plan_tools: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(name: &str) -> &'static ContextProfile {
        let context = ChatContext { context_type: Some(name.to_owned()), ..ChatContext::default() };
        ContextProfile::of(Some(&context))
    }

    // B-019 B-032
    #[test]
    fn each_context_has_its_budget_models_and_operation() {
        for (name, role, operation, plans, budget) in [
            ("thread", Role::Primary, "chat", false, THREAD),
            ("editor", Role::Primary, "chat", false, THREAD),
            ("general", Role::Balanced, "planner_stream", true, PLANNER),
            ("project", Role::Balanced, "planner_stream", true, PLANNER),
            ("project_create", Role::Balanced, "planner_stream", true, PLANNER),
            ("project_audit", Role::Quality, "planner_stream", true, PLANNER),
            ("task", Role::Speed, "planner_stream", true, PLANNER),
        ] {
            let profile = typed(name);
            assert_eq!((profile.name, profile.role, profile.operation), (name, role, operation));
            assert_eq!((profile.plans, profile.budget), (plans, budget), "{name}");
        }
        assert_eq!(CONTEXTS.len(), 7);
        assert_eq!((typed("task_update").name, typed("global").name), ("task", "general"));
        assert_eq!((typed("nobody's").name, typed("").name), ("general", "thread"));
        assert_eq!(ContextProfile::of(None).name, "thread");
        let editor = ChatContext { kind: ContextKind::Editor, ..ChatContext::default() };
        assert_eq!(ContextProfile::of(Some(&editor)).name, "editor");
    }

    // Only the request's `mode` starts a router or a swarm.
    #[test]
    fn only_a_mode_brings_the_limits_of_a_swarm() {
        for context in CONTEXTS {
            assert_eq!(context.in_mode(None), *context);
            let swarm = context.in_mode(Some(ModeProfile::Swarm));
            assert_eq!((swarm.budget, swarm.plans, swarm.operation), (SWARM, false, "swarm"));
            assert_eq!((swarm.tools, swarm.guidance), (context.tools, context.guidance));
            assert_eq!(context.in_mode(Some(ModeProfile::AutoRoute)).operation, "auto_route");
        }
    }

    // Issue 21: a request cannot ask for these limits by naming the context.
    #[test]
    fn only_a_session_brings_the_limits_of_a_workflow() {
        for context in CONTEXTS {
            let session = context.in_session();
            assert_eq!((session.budget, session.plans, session.name), (WORKFLOW, false, "workflow"));
            assert_eq!((session.tools, session.guidance), (context.tools, context.guidance));
        }
        assert_eq!(typed("workflow").name, "general");
    }

    // B-004 B-012 B-013 B-014 B-015 B-016 B-017 B-018
    #[test]
    fn each_context_has_its_guidance() {
        for (name, rule) in [
            ("editor", "workflow editor"),
            ("project_create", "must leave the user with a created project"),
            ("project_create", "template, then create_project, then publish_context_document"),
            ("project", "it is the default for every tool"),
            ("project", "Avoid destructive acts"),
            ("task", "Prefer the tools of tasks"),
            ("task", "which tasks are blocked"),
            ("project_audit", "audit tools"),
            ("project_audit", "make a plan"),
            ("general", "Rely on the tools that read"),
            ("general", "Escalate to a plan only"),
        ] {
            assert!(typed(name).guidance.contains(rule), "{name} does not say {rule:?}");
        }
        assert!(CONTEXTS.iter().all(|context| !context.guidance.contains("complexity")));
        assert_eq!(typed("thread").guidance, "");
        assert!(typed("project_audit").planning.contains("steps that evaluate"), "B-077");
        assert_eq!(typed("project_create").goal, Some("create_project"));
        assert_eq!(typed("project_create").plan_tools.len(), 4);
    }
}
