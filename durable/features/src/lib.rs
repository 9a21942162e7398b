//! Espalier's features. Each has a folder that one can find, read and delete. This file composes them.
//! A feature declares its tools, has its own rules, and defines ports for the network and the storage.

#[cfg(target_arch = "wasm32")]
pub mod bookmarks;
mod calculate;
mod current_time;
pub mod files;
pub mod instructions;
pub mod knowledge;
pub mod marks;
pub mod mcp;
pub mod projects;
pub mod reader;
pub mod records;
pub mod shares;
pub mod telemetry;
pub mod titles;
pub mod web;
pub mod workflows;

#[cfg(test)]
mod arguments_tests;
#[cfg(test)]
mod draft_tests;
#[cfg(test)]
mod offered_tests;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use engine::compose::{agent_declarations, declarations};
use engine::declared;
use engine::ports::{Tool, Tools};
use engine::toolbelt::{ToolPolicy, ToolSpec, client};

/// The resources of a turn's tools. A missing resource registers no tools.
#[derive(Clone, Default)]
pub struct Resources {
    pub files: Option<Rc<dyn files::Files>>,
    pub web: Option<web::WebPorts>,
    pub knowledge: knowledge::Knowledge,
    pub projects: Option<Rc<dyn projects::Projects>>,
}

/// The tools of a deployment.
pub struct Standard(Vec<Rc<dyn Tool>>);

impl Standard {
    /// The tools of every deployment, and the tools of the given resources.
    pub fn new(resources: &Resources) -> Self {
        let mut tools: Vec<Rc<dyn Tool>> =
            vec![Rc::new(calculate::Calculate::default()), Rc::new(current_time::CurrentTime::default())];
        tools.extend(resources.files.iter().flat_map(files::tools));
        tools.extend(resources.web.iter().flat_map(web::tools));
        tools.extend(knowledge::tools(&resources.knowledge));
        tools.extend(resources.projects.iter().flat_map(projects::tools));
        Standard(tools)
    }
}

impl Tools for Standard {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.0
    }
}

/// Whether configuration may name this tool: one of ours, or any tool of a client or an MCP server.
pub fn is_known(name: &str) -> bool {
    let foreign = [client::PREFIX, mcp::PREFIX];
    foreign.iter().any(|prefix| name.starts_with(prefix)) || specs().iter().any(|spec| spec.name == name)
}

/// The declarations of all our tools.
fn specs() -> Vec<ToolSpec> {
    let standard = Standard::new(&Resources::default());
    let own = declarations().into_iter().chain(agent_declarations());
    let mut specs: Vec<ToolSpec> = own.chain([engine::hooks::call::spec()]).collect();
    specs.extend(standard.all().iter().map(|tool| tool.spec().clone()));
    specs.extend(files::specs());
    specs.extend(web::specs());
    specs.extend(knowledge::specs());
    specs.extend(projects::specs());
    specs
}

/// The declaration of a tool of no feature.
fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}

/// The sections of the root's prompt on the features that its turn may use.
pub fn guidance(policy: &ToolPolicy) -> String {
    knowledge::guidance(policy)
}

/// Whether a model names the threads of a deployment with these variables.
pub fn names_threads(var: &dyn Fn(&str) -> Option<String>) -> bool {
    titles::is_on(var).unwrap_or(false)
}

/// The part of a deployment's configuration that features read.
pub struct Configuration<'a> {
    pub var: &'a dyn Fn(&str) -> Option<String>,
    /// The deployment has the bindings that embeddings need: `AI` and `VECTORS`.
    pub can_embed: bool,
}

/// Whether users may share conversations by a link. A wrong variable, which is one of the [`problems`], offers it to nobody.
pub fn shares_are_offered(var: impl Fn(&str) -> Option<String>) -> bool {
    shares::offered(var).unwrap_or(false)
}

/// The problems of the features' configuration, in words for the operator.
pub fn problems(configuration: &Configuration<'_>) -> Vec<String> {
    [
        mcp::config::McpServers::from_env(configuration.var).err().into_iter().collect(),
        records::kept(configuration.var).err().into_iter().collect(),
        shares::offered(configuration.var).err().into_iter().collect(),
        telemetry::Config::from_env(configuration.var).err().into_iter().collect(),
        titles::is_on(configuration.var).err().into_iter().collect(),
        web::Config::from_env(configuration.var).err().unwrap_or_default(),
        knowledge::embeddings::problem(configuration.var, configuration.can_embed).into_iter().collect(),
    ]
    .concat()
}
