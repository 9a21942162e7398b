//! Espalier's features: a folder each, that one can find, read and delete. This file is their composition.
//!
//! A feature declares its tools, decides by rules of its own, and names what it needs of the outside in a port.
//!
//! A line of a composition that belongs to one feature ends with `// feature: NAME`. Several lines stand between
//! `// feature: NAME` and `// end`. `scripts/without NAME` deletes these lines and the feature from a copy.

mod calculate;
mod current_time;
pub mod files; // feature: files
pub mod knowledge; // feature: knowledge
pub mod marks;
pub mod mcp; // feature: mcp
pub mod projects; // feature: projects
pub mod reader;
pub mod web; // feature: web

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

/// The resources that the tools of a turn work on. A missing resource registers no tools.
#[derive(Clone, Default)]
pub struct Resources {
    pub files: Option<Rc<dyn files::Files>>,           // feature: files
    pub web: Option<web::Outside>,                     // feature: web
    pub memories: Option<Rc<dyn knowledge::Memories>>, // feature: knowledge
    pub searchable: Option<knowledge::collections::Searchable>, // feature: knowledge
    pub projects: Option<Rc<dyn projects::Projects>>,  // feature: projects
}

/// The tools of a deployment.
pub struct Standard(Vec<Rc<dyn Tool>>);

impl Standard {
    /// The tools that every deployment has, and the tools of the given resources.
    pub fn new(resources: &Resources) -> Self {
        let mut tools: Vec<Rc<dyn Tool>> =
            vec![Rc::new(calculate::Calculate::default()), Rc::new(current_time::CurrentTime::default())];
        tools.extend(resources.files.iter().flat_map(files::tools)); // feature: files
        tools.extend(resources.web.iter().flat_map(web::tools)); // feature: web
        tools.extend(resources.memories.iter().flat_map(knowledge::memories::tools)); // feature: knowledge
        tools.extend(resources.searchable.iter().map(knowledge::collections::tool)); // feature: knowledge
        tools.extend(resources.projects.iter().flat_map(projects::tools)); // feature: projects
        Standard(tools)
    }
}

impl Tools for Standard {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.0
    }
}

/// Whether configuration may name this tool: one of ours, or any that a client or an MCP server brings.
pub fn is_known(name: &str) -> bool {
    let foreign = [
        client::PREFIX,
        mcp::PREFIX, // feature: mcp
    ];
    let standard = Standard::new(&Resources::default());
    let mut specs = calls::intercepted();
    specs.extend(standard.all().iter().map(|tool| tool.spec().clone()));
    specs.extend(files::specs()); // feature: files
    specs.extend(web::specs()); // feature: web
    specs.extend(knowledge::specs()); // feature: knowledge
    specs.extend(projects::specs()); // feature: projects
    foreign.iter().any(|prefix| name.starts_with(prefix)) || specs.iter().any(|spec| spec.name == name)
}
