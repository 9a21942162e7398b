//! The tools that a level may use: their declarations, and the policy that selects them.
//!
//! Models, small ones above all, write arguments almost right. `toolbelt/arguments.rs` reads the arguments of our own
//! tools leniently by their schema: it ignores unknown members, and takes a value of another type where it has one
//! meaning. It refuses the rest in words, with the right call that the schema has in `examples`. Arguments of client
//! tools, MCP tools and `finish_subtask` must satisfy their schema. Client tools and MCP tools have schemas that
//! others wrote: `toolbelt/foreign.rs` is their one intake. It rewrites old drafts as 2020-12 for the models and the
//! validator, and entry 0 keeps the original (`given_schema`). A part that does not compile here is not checked here.

pub mod arguments;
mod charge;
pub mod client;
mod declared;
pub mod foreign;
mod policy;
mod schema;
mod spec;
mod users;

use std::rc::Rc;

pub use charge::{Charge, Paid};
pub use declared::{declaration, declarations};
pub use policy::{Rule, ToolPolicy, ToolRules};
pub use schema::{OutputSchema, is_object, not_json};
pub use spec::{PermissionClass, Reads, RunsAt, Serves, ToolError, ToolSpec, declare};
pub use users::{ToolUsers, Users};

use wire::model::ToolDefinition;

/// The tools of one level. Only ever narrows from parent to child.
#[derive(Clone, Debug, PartialEq)]
pub struct Toolbelt {
    specs: Rc<[Rc<ToolSpec>]>,
}

impl Toolbelt {
    /// The root's belt, as entry 0 froze it.
    pub fn new(specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        Toolbelt { specs: specs.into_iter().map(Rc::new).collect() }
    }

    /// The tool of that name, if the level has it.
    pub fn find(&self, name: &str) -> Option<&Rc<ToolSpec>> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// The tool that has this service for the engine's own calls, if the level has one.
    pub fn serving(&self, service: Serves) -> Option<&Rc<ToolSpec>> {
        self.specs.iter().find(|spec| spec.serves == Some(service))
    }

    /// The tools of these names that the level has, and the names that it lacks.
    pub fn narrowed(&self, names: &[String]) -> (Toolbelt, Vec<String>) {
        let kept = self.specs.iter().filter(|spec| names.contains(&spec.name)).map(Rc::clone).collect();
        let unknown = names.iter().filter(|name| self.find(name).is_none()).cloned().collect();
        (Toolbelt { specs: kept }, unknown)
    }

    /// The same belt with more tools.
    pub fn with(&self, specs: impl IntoIterator<Item = ToolSpec>) -> Toolbelt {
        Toolbelt { specs: self.specs.iter().map(Rc::clone).chain(specs.into_iter().map(Rc::new)).collect() }
    }

    /// The same belt with another tool in place of the one of that name, or without it.
    pub fn replacing(&self, name: &str, spec: Option<ToolSpec>) -> Toolbelt {
        let others = self.specs.iter().filter(|known| known.name != name).map(Rc::clone);
        Toolbelt { specs: others.chain(spec.map(Rc::new)).collect() }
    }

    /// The same belt without the tools of these names.
    pub fn without(&self, is_one: impl Fn(&str) -> bool) -> Toolbelt {
        Toolbelt { specs: self.specs.iter().filter(|spec| !is_one(&spec.name)).map(Rc::clone).collect() }
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &ToolSpec> {
        self.specs.iter().map(Rc::as_ref)
    }

    /// The definitions of the tools that the level offers to its model.
    pub fn definitions(&self, offers: impl Fn(&ToolSpec) -> bool) -> Rc<[ToolDefinition]> {
        self.specs.iter().filter(|spec| offers(spec)).map(|spec| spec.definition()).collect()
    }

    /// The message of a refused call, which names the tools that the level has.
    pub fn refusal(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        if names.is_empty() {
            return format!("the tool {name:?} is not available: there are no tools here, answer in text");
        }
        format!("the tool {name:?} is not available; the tools here are: {}", names.join(", "))
    }
}
