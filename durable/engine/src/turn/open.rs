//! Opens child levels. A level that the journal knows starts from its journaled opening. A new level starts
//! from the opening that the code builds now, which is journaled with the level's first model call. So a
//! deploy changes nothing of a level that has begun.

use std::rc::Rc;

use super::Turn;
use super::level::{Earlier, Level, LevelStart, Shape};
use crate::journal::{AgentLife, Entry, Fact, LevelSpec, Work};
use crate::ports::ToolError;
use crate::profiles::Limits;
use crate::record::frozen::Opening;
use crate::record::keys::{Digest, LevelPath, work};
use crate::toolbelt::OutputSchema;
use wire::model::Message;
use wire::protocol::Place;

/// The place of a child level in its turn.
struct Within {
    path: LevelPath,
    place: Place,
    nested: u32,
    digest: Digest,
    /// The messages that an agent remembers.
    history: Vec<Rc<Message>>,
    /// The life of an agent.
    life: Option<Rc<AgentLife>>,
}

impl Turn {
    /// Opens the level at `path` within the call `key` of its parent. `make` runs only for a level that the
    /// journal does not know. The error goes to the model that made the call.
    pub(crate) fn open(
        &self,
        parent: &Level,
        key: &str,
        path: LevelPath,
        make: impl FnOnce() -> Result<Opening, ToolError>,
    ) -> Result<Level, ToolError> {
        self.open_within(parent, self.within(parent, key, path), make)
    }

    /// Opens the level of an agent, which remembers `history`.
    pub(crate) fn open_agent(
        &self,
        parent: &Level,
        key: &str,
        (history, life): (Vec<Rc<Message>>, AgentLife),
        make: impl FnOnce() -> Opening,
    ) -> Result<Level, ToolError> {
        let life = Some(Rc::new(life));
        let within = Within { history, life, ..self.within(parent, key, LevelPath::child(key)) };
        self.open_within(parent, within, || Ok(make()))
    }

    fn open_within(
        &self,
        parent: &Level,
        within: Within,
        make: impl FnOnce() -> Result<Opening, ToolError>,
    ) -> Result<Level, ToolError> {
        let path = &within.path;
        let known = self.record.borrow().opening(path.as_str());
        let compile = match known {
            Some(_) => OutputSchema::compile_frozen,
            None => OutputSchema::compile,
        };
        let opening = match known {
            Some(known) => known,
            None => Rc::new(as_edited(make()?)),
        };
        let spec = &opening.spec;
        let finish = spec.own_tools.iter().find(|tool| self.facts().ends_level(&tool.name));
        let schema = finish.map(|tool| compile(Rc::clone(&tool.input_schema))).transpose();
        let schema =
            schema.map_err(|problem| ToolError(format!("invalid arguments at output_schema: {problem}")))?;
        Ok(self.child(parent, within, opening, schema.map(Rc::new)))
    }

    /// Opens a level that asks no model: the service makes its calls. Nothing of it is frozen.
    pub(crate) fn open_unasked(&self, parent: &Level, key: &str, path: LevelPath, opening: Opening) -> Level {
        self.child(parent, self.within(parent, key, path), Rc::new(opening), None)
    }

    /// Opens the level in which agents answer one after the other. It asks no model, and does not count towards the limit of
    /// depth: an agent nests as deep as a subtask.
    pub(crate) fn open_discussion(&self, parent: &Level, key: &str, opening: Opening) -> Level {
        let within = self.within(parent, key, LevelPath::discussion(key));
        self.child(parent, Within { nested: parent.nested, ..within }, Rc::new(opening), None)
    }

    /// Opens a level that no call contains. `make` runs only for a level that the journal does not know.
    pub(super) fn open_beside(
        &self,
        parent: &Level,
        path: LevelPath,
        make: impl FnOnce() -> Opening,
    ) -> Level {
        let known = self.record.borrow().opening(path.as_str());
        let opening = known.unwrap_or_else(|| Rc::new(as_edited(make())));
        let place = Place { parent_id: parent.place.parent_id.clone(), depth: parent.place.depth + 1 };
        let digest = parent.digest().with(path.as_str());
        let nested = parent.nested + 1;
        let within = Within { path, place, nested, digest, history: Vec::new(), life: None };
        self.child(parent, within, opening, None)
    }

    /// The place of a level within a call of its parent.
    fn within(&self, parent: &Level, key: &str, path: LevelPath) -> Within {
        let place = Place { parent_id: Some(self.ids.tool_call(key)), depth: parent.place.depth + 1 };
        let digest = parent.digest().with(key);
        Within { path, place, nested: parent.nested + 1, digest, history: Vec::new(), life: None }
    }

    /// Makes a child level; no other function does.
    fn child(
        &self,
        parent: &Level,
        Within { path, place, nested, digest, history, life }: Within,
        opening: Rc<Opening>,
        schema: Option<Rc<OutputSchema>>,
    ) -> Level {
        let spec = &opening.spec;
        let works_for_user = matches!(work(path.as_str()), Work::Subtask | Work::Step | Work::Plan);
        let start = LevelStart {
            // An agent remembers many messages of one turn.
            preface: self.time().filter(|_| works_for_user && spec.agent.is_none()),
            life,
            hooked: self.copied_hooks(parent, path.as_str()).with(&spec.hooks),
            path,
            place,
            nested,
            models: spec.models,
            model: Rc::clone(&self.spec.chain_of(spec.models).first.choice),
            system: spec.system.as_str().into(),
            history,
            earlier: Earlier::default(),
            instructions: spec.instructions.clone(),
            belt: opening.shared.with(spec.own_tools.iter().cloned()),
            schema,
            shape: Shape::of_child(&spec.reminder),
            memory: parent.memory.fork(),
            digest,
            opening: Some(Rc::clone(&opening)),
            own: self.facts(),
            estimates: self.spec.estimates,
        };
        Level::new(start, Limits { iterations: spec.iterations, ..self.spec.limits })
    }

    /// The entries that freeze a level which is not journaled yet: its opening, and its toolset if no other
    /// level had it before.
    pub(super) fn freezing(&self, level: &Level) -> Vec<Entry> {
        let record = self.record.borrow();
        let Some(opening) = level.opening().filter(|_| record.opening(level.path.as_str()).is_none()) else {
            return Vec::new();
        };
        let shared = Some(&opening.shared).filter(|shared| !shared.is_empty());
        let known = shared.and_then(|shared| record.toolsets.number_of(shared));
        let toolset = shared.map(|_| known.unwrap_or(record.toolsets.next()));
        let mut entries = Vec::new();
        if let (Some(shared), Some(number), None) = (shared, toolset, known) {
            let specs = shared.iter().cloned().collect();
            entries.push(self.entry(&number.to_string(), Fact::Toolset(specs)));
        }
        let spec = LevelSpec { toolset, ..opening.spec.clone() };
        entries.push(self.entry(level.path.as_str(), Fact::Opened(Box::new(spec))));
        entries
    }
}

/// Applies an edit of the prompts to the opening of a new level. Tests and `make faults` make such edits
/// between two runs of a turn.
fn as_edited(opening: Opening) -> Opening {
    #[cfg(any(test, feature = "faults"))]
    let opening = {
        let mut opening = opening;
        opening.spec.system.push_str(&super::edition::edition());
        opening
    };
    opening
}
