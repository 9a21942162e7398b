//! Espalier's features. Each has a folder that one can find, read and delete. This file composes them.
//! A feature declares its tools, has its own rules, and defines ports for the network and the storage.

mod calculate;
mod current_time;
pub mod files;
pub mod knowledge;
pub mod marks;
pub mod mcp;
pub mod projects;
pub mod web;

#[cfg(test)]
mod arguments_tests;
#[cfg(test)]
mod offered_tests;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use engine::calls;
use engine::ports::{Tool, Tools};
use engine::toolbelt::client;

use files::Files;
use knowledge::{Memories, collections, memories};
use projects::Projects;

/// The resources of a turn's tools. A missing resource registers no tools.
#[derive(Clone, Default)]
pub struct Resources {
    pub files: Option<Rc<dyn Files>>,
    pub web: Option<web::WebPorts>,
    pub memories: Option<Rc<dyn Memories>>,
    pub searchable: Option<collections::Searchable>,
}

/// The tools of a deployment.
pub struct Standard(Vec<Rc<dyn Tool>>);

impl Standard {
    /// The tools of every deployment, and the tools of the given resources.
    pub fn new(resources: &Resources) -> Self {
        let Resources { files, web, memories, searchable } = resources;
        let mut tools: Vec<Rc<dyn Tool>> =
            vec![Rc::new(calculate::Calculate::default()), Rc::new(current_time::CurrentTime::default())];
        tools.extend(files.iter().flat_map(files::tools));
        tools.extend(web.iter().flat_map(web::tools));
        tools.extend(memories.iter().flat_map(knowledge::memories::tools));
        tools.extend(searchable.iter().map(collections::tool));
        Standard(tools)
    }

    /// Adds the tools of the project domain.
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

/// Whether configuration may name this tool: one of ours, or any tool of a client or an MCP server.
pub fn is_known(name: &str) -> bool {
    let standard = Standard::new(&Resources::default());
    let registered = standard.all().iter().map(|tool| tool.spec().clone());
    let all = calls::declarations()
        .into_iter()
        .chain(registered)
        .chain(files::specs())
        .chain(projects::specs())
        .chain(web::specs())
        .chain(memories::specs())
        .chain([collections::spec()]);
    let is_foreign = [client::PREFIX, mcp::PREFIX].iter().any(|prefix| name.starts_with(prefix));
    is_foreign || all.into_iter().any(|spec| spec.name == name)
}
