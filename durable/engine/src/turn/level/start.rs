//! The start of a level.

use std::rc::Rc;

use super::shape::Shape;
use super::{Earlier, Hooked, Level};
use crate::journal::{AgentLife, AnswerShape};
use crate::memory::AgentMemory;
use crate::own::OwnCalls;
use crate::profiles::{Limits, Role};
use crate::record::frozen::Opening;
use crate::record::keys::{Digest, LevelPath};
use crate::toolbelt::{OutputSchema, Toolbelt};
use wire::model::{Message, ModelChoice};
use wire::protocol::{Content, Place};

/// The parts that a level is made from.
pub(in crate::turn) struct LevelStart {
    pub(in crate::turn) path: LevelPath,
    pub(in crate::turn) place: Place,
    /// The levels around it that count towards the limit of depth.
    pub(in crate::turn) nested: u32,
    /// The role whose models the level asks, and the first of its models.
    pub(in crate::turn) models: Option<Role>,
    pub(in crate::turn) model: Rc<ModelChoice>,
    pub(in crate::turn) system: Rc<str>,
    /// The messages before the level's own.
    pub(in crate::turn) history: Vec<Rc<Message>>,
    /// The turns among them.
    pub(in crate::turn) earlier: Earlier,
    /// The level's own message before its instructions.
    pub(in crate::turn) preface: Option<Rc<Message>>,
    /// The life of the agent that the level is; none for a level that lives once.
    pub(in crate::turn) life: Option<Rc<AgentLife>>,
    /// The hooks that watch the level.
    pub(in crate::turn) hooked: Hooked,
    pub(in crate::turn) instructions: Content,
    pub(in crate::turn) belt: Toolbelt,
    /// The schema of the level's result; with one, the level ends only with `finish_subtask`.
    pub(in crate::turn) schema: Option<Rc<OutputSchema>>,
    pub(in crate::turn) shape: Shape,
    /// The journal records it with a child level's first model call. Absent at the root, which entry 0
    /// freezes.
    pub(in crate::turn) opening: Option<Rc<Opening>>,
    pub(in crate::turn) memory: AgentMemory,
    pub(in crate::turn) digest: Digest,
    /// The facts of the engine's own calls.
    pub(in crate::turn) own: OwnCalls,
    /// The turn's rules for estimates.
    pub(in crate::turn) estimates: u32,
}

impl LevelStart {
    /// A root whose answer has this shape, if any. The error says why its schema does not compile.
    pub(in crate::turn) fn shaped(self, wanted: Option<&AnswerShape>) -> Result<Self, String> {
        let Some(wanted) = wanted else { return Ok(self) };
        let shape = Shape::of_root(wanted);
        let Some(answer) = &wanted.answer else { return Ok(LevelStart { shape, ..self }) };
        let schema = OutputSchema::compile_frozen(Rc::clone(&answer.input_schema))?;
        let belt = self.belt.with([answer.clone()]);
        Ok(LevelStart { shape, belt, schema: Some(Rc::new(schema)), ..self })
    }
}

impl Level {
    /// A level that stands alone, without a history, a parent, a journal or calls of the engine: for code that steps the loop by hand
    /// (`examples/by_hand.rs`).
    pub fn alone(
        system: &str,
        instructions: &str,
        model: ModelChoice,
        belt: Toolbelt,
        limits: Limits,
    ) -> Self {
        let start = LevelStart {
            path: LevelPath::default(),
            place: Place::default(),
            nested: 0,
            models: None,
            model: Rc::new(model),
            system: system.into(),
            history: Vec::new(),
            earlier: Earlier::default(),
            preface: None,
            life: None,
            hooked: Hooked::default(),
            instructions: instructions.into(),
            belt,
            schema: None,
            shape: Shape::default(),
            opening: None,
            memory: AgentMemory::default(),
            digest: Digest::new(),
            own: OwnCalls::NONE,
            // Without a journal each request is pruned anew.
            estimates: 0,
        };
        Level::new(start, limits)
    }
}
