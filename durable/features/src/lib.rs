//! Espalier's features. Each has a folder that one can find, read and delete. This file composes them.
//! A feature declares its tools, has its own rules, and defines ports for the network and the storage. The cargo feature
//! of the same name compiles it; all are on by default (`scripts/without` tries a build without one).

mod calculate;
mod current_time;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "instructions")]
pub mod instructions;
#[cfg(feature = "knowledge")]
pub mod knowledge;
pub mod marks;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "projects")]
pub mod projects;
pub mod reader;
#[cfg(feature = "records")]
pub mod records;
#[cfg(feature = "shares")]
pub mod shares;
#[cfg(feature = "telemetry")]
pub mod telemetry;
#[cfg(feature = "titles")]
pub mod titles;
#[cfg(feature = "web")]
pub mod web;
#[cfg(feature = "workflows")]
pub mod workflows;

#[cfg(test)]
mod arguments_tests;
#[cfg(test)]
mod offered_tests;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use engine::compose::{agent_declarations, declarations};
use engine::ports::{Tool, Tools};
use engine::toolbelt::{ToolPolicy, ToolSpec, client};

/// The resources of a turn's tools. A missing resource registers no tools.
#[derive(Clone, Default)]
pub struct Resources {
    #[cfg(feature = "files")]
    pub files: Option<Rc<dyn files::Files>>,
    #[cfg(feature = "web")]
    pub web: Option<web::WebPorts>,
    #[cfg(feature = "knowledge")]
    pub knowledge: knowledge::Knowledge,
    #[cfg(feature = "projects")]
    pub projects: Option<Rc<dyn projects::Projects>>,
}

/// The tools of a deployment.
pub struct Standard(Vec<Rc<dyn Tool>>);

impl Standard {
    /// The tools of every deployment, and the tools of the given resources.
    pub fn new(resources: &Resources) -> Self {
        let mut tools: Vec<Rc<dyn Tool>> =
            vec![Rc::new(calculate::Calculate::default()), Rc::new(current_time::CurrentTime::default())];
        #[cfg(feature = "files")]
        tools.extend(resources.files.iter().flat_map(files::tools));
        #[cfg(feature = "web")]
        tools.extend(resources.web.iter().flat_map(web::tools));
        #[cfg(feature = "knowledge")]
        tools.extend(knowledge::tools(&resources.knowledge));
        #[cfg(feature = "projects")]
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
    let foreign = [
        client::PREFIX,
        #[cfg(feature = "mcp")]
        mcp::PREFIX,
    ];
    foreign.iter().any(|prefix| name.starts_with(prefix)) || specs().iter().any(|spec| spec.name == name)
}

/// The declarations of all our tools.
fn specs() -> Vec<ToolSpec> {
    let standard = Standard::new(&Resources::default());
    let own = declarations().into_iter().chain(agent_declarations());
    let mut specs: Vec<ToolSpec> = own.chain([engine::hooks::call::spec()]).collect();
    specs.extend(standard.all().iter().map(|tool| tool.spec().clone()));
    #[cfg(feature = "files")]
    specs.extend(files::specs());
    #[cfg(feature = "web")]
    specs.extend(web::specs());
    #[cfg(feature = "knowledge")]
    specs.extend(knowledge::specs());
    #[cfg(feature = "projects")]
    specs.extend(projects::specs());
    specs
}

/// The sections of the root's prompt that features bring.
const GUIDANCE: &[fn(&ToolPolicy) -> String] = &[
    #[cfg(feature = "knowledge")]
    knowledge::guidance,
];

/// The sections of the root's prompt on the features that its turn may use.
pub fn guidance(policy: &ToolPolicy) -> String {
    GUIDANCE.iter().map(|section| section(policy)).collect()
}

/// Whether a model names the threads of a deployment with these variables.
#[cfg(feature = "titles")]
pub fn names_threads(var: &dyn Fn(&str) -> Option<String>) -> bool {
    titles::is_on(var).unwrap_or(false)
}

/// No model does.
#[cfg(not(feature = "titles"))]
pub fn names_threads(_: &dyn Fn(&str) -> Option<String>) -> bool {
    false
}

/// The part of a deployment's configuration that features read.
pub struct Configuration<'a> {
    pub var: &'a dyn Fn(&str) -> Option<String>,
    /// The deployment has the bindings that embeddings need: `AI` and `VECTORS`.
    pub can_embed: bool,
}

/// Whether users may share conversations by a link. A wrong variable, which is one of the [`problems`], offers it to nobody.
#[cfg(feature = "shares")]
pub fn shares_are_offered(var: impl Fn(&str) -> Option<String>) -> bool {
    shares::offered(var).unwrap_or(false)
}

/// This build has no share links.
#[cfg(not(feature = "shares"))]
pub fn shares_are_offered(_: impl Fn(&str) -> Option<String>) -> bool {
    false
}

/// The problems of the features' configuration, in words for the operator.
pub fn problems(configuration: &Configuration<'_>) -> Vec<String> {
    let problems: &[Vec<String>] = &[
        #[cfg(feature = "mcp")]
        mcp::config::McpServers::from_env(configuration.var).err().into_iter().collect(),
        #[cfg(feature = "records")]
        records::kept(configuration.var).err().into_iter().collect(),
        #[cfg(feature = "shares")]
        shares::offered(configuration.var).err().into_iter().collect(),
        #[cfg(feature = "telemetry")]
        telemetry::Config::from_env(configuration.var).err().into_iter().collect(),
        #[cfg(feature = "titles")]
        titles::is_on(configuration.var).err().into_iter().collect(),
        #[cfg(feature = "web")]
        web::Config::from_env(configuration.var).err().unwrap_or_default(),
        #[cfg(feature = "knowledge")]
        knowledge::embeddings::problem(configuration.var, configuration.can_embed).into_iter().collect(),
    ];
    problems.concat()
}
