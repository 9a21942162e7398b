//! The tools, one file each. Those that the loop intercepts have only a declaration here.

pub mod agent_create_plan;
pub mod agent_update_plan;
mod arguments;
mod calculate;
pub mod client;
mod current_time;
pub mod files;
pub mod finish_subtask;
pub mod long_term_memory;
pub mod memory;
pub mod plan_step;
pub mod projects;
pub mod route_request;
pub mod run_subtask;
pub mod search_collection;
pub mod web;

use std::rc::Rc;

use serde_json::value::RawValue;

pub use arguments::arguments;

use crate::mcp;
use crate::model::RawValueEq;
use crate::ports::{Files, Memories, Projects, Tool, Tools};
use crate::profiles::ContextProfile;
use crate::protocol::ClientTool;
use crate::toolbelt::{PermissionClass, Rule, RunsAt, ToolPolicy, ToolSpec};

/// What the tools of a turn work on. What is not there has no tools.
#[derive(Clone, Default)]
pub struct Resources {
    pub files: Option<Rc<dyn Files>>,
    pub web: Option<web::Outside>,
    pub memories: Option<Rc<dyn Memories>>,
    pub searchable: Option<search_collection::Searchable>,
}

/// The tools of a deployment.
pub struct Standard(Vec<Rc<dyn Tool>>);

impl Standard {
    /// Those that every deployment has, and those of what there is.
    pub fn new(resources: &Resources) -> Self {
        let Resources { files, web, memories, searchable } = resources;
        let mut tools: Vec<Rc<dyn Tool>> =
            vec![Rc::new(calculate::Calculate::default()), Rc::new(current_time::CurrentTime::default())];
        tools.extend(files.iter().flat_map(files::tools));
        tools.extend(web.iter().flat_map(web::tools));
        tools.extend(memories.iter().flat_map(long_term_memory::tools));
        tools.extend(searchable.iter().map(search_collection::tool));
        Standard(tools)
    }

    /// The same with the tools of the project domain.
    pub fn with_projects(mut self, projects: &Rc<dyn Projects>) -> Self {
        self.0.extend(projects::tools(projects));
        self
    }
}

impl Tools for Standard {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.0
    }
}

/// The declarations of the tools that the loop intercepts (`turn::interceptors` runs them).
pub fn intercepted() -> Vec<ToolSpec> {
    vec![
        run_subtask::spec(),
        memory::list_spec(),
        memory::read_spec(),
        memory::write_spec(),
        agent_create_plan::spec(),
        agent_update_plan::spec(),
    ]
}

/// Whether calls of this name make plans or act on them.
pub fn makes_plans(name: &str) -> bool {
    [agent_create_plan::NAME, agent_update_plan::NAME].contains(&name)
}

/// Whether calls of this name are levels: other calls lie within them.
pub fn is_level(name: &str) -> bool {
    [run_subtask::NAME, plan_step::NAME, route_request::NAME].contains(&name) || makes_plans(name)
}

/// The label of a call that is a level, for people.
pub fn title(name: &str, arguments: &str) -> Option<String> {
    let is_titled = [run_subtask::NAME, plan_step::NAME].contains(&name);
    is_titled.then(|| run_subtask::title(arguments).unwrap_or_else(|| name.to_owned()))
}

/// What a chat context has of the tools that not all contexts have.
#[derive(Clone, Copy, Debug)]
pub struct InContext {
    pub profile: ContextProfile,
    /// Whether a plan waits for the user's word.
    pub has_draft: bool,
}

impl InContext {
    fn has(self, name: &str) -> bool {
        match name {
            agent_create_plan::NAME => self.profile.plans,
            agent_update_plan::NAME => self.profile.plans && self.has_draft,
            name if projects::has(name) => self.profile.tools.contains(&name),
            _ => true,
        }
    }
}

/// The root's toolbelt: what is registered, what the client brings, of both what is allowed and what the context has,
/// in a stable order.
pub fn offered(
    tools: &dyn Tools,
    clients: &[ClientTool],
    policy: &ToolPolicy,
    context: InContext,
) -> Vec<ToolSpec> {
    let registered = tools.all().iter().map(|tool| tool.spec().clone());
    let all = intercepted().into_iter().chain(registered).chain(clients.iter().map(client::spec));
    let all = all.filter(|spec| context.has(&spec.name));
    let ruled = all.map(|spec| (policy.rule(&spec), spec)).filter(|(rule, _)| *rule != Rule::Off);
    ruled.map(|(rule, spec)| ask(spec, rule, policy)).collect()
}

/// Some tools ask whatever the rules say, until a person has allowed them for good.
fn ask(spec: ToolSpec, rule: Rule, policy: &ToolPolicy) -> ToolSpec {
    let asks = spec.ask && !policy.approved.contains(&spec.name);
    ToolSpec { ask: asks || rule == Rule::Ask, ..spec }
}

/// Whether configuration may name this tool: one of ours, or any that a client or an MCP server brings.
pub fn is_known(name: &str) -> bool {
    let standard = Standard::new(&Resources::default());
    let registered = standard.all().iter().map(|tool| tool.spec().clone());
    let all = intercepted()
        .into_iter()
        .chain(registered)
        .chain(files::specs())
        .chain(projects::specs())
        .chain(web::specs())
        .chain(long_term_memory::specs())
        .chain([search_collection::spec()]);
    let is_foreign = [client::PREFIX, mcp::PREFIX].iter().any(|prefix| name.starts_with(prefix));
    is_foreign || all.into_iter().any(|spec| spec.name == name)
}

/// A declaration with the defaults: parallel-safe, idempotent, no lock, 30 s.
fn declare(name: &str, class: PermissionClass, description: &str, schema: serde_json::Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: Rc::new(RawValueEq(raw(&schema))),
        permission_class: Some(class),
        parallel_safe: true,
        exclusive_lock: None,
        idempotent: true,
        mcp_server: None,
        mcp_tool: None,
        timeout_ms: Some(30_000),
        runs_at: RunsAt::Service,
        ask: false,
    }
}

/// JSON that was built from a value is always valid JSON: the other arm never runs, but is an honest empty schema.
fn raw(schema: &serde_json::Value) -> Box<RawValue> {
    RawValue::from_string(schema.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
pub mod tests;
