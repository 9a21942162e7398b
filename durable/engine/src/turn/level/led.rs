//! The ways in which the calls of a mode narrow their root: fewer model calls, other models, no more calls.

use std::rc::Rc;

use super::{AtLimit, Level};
use crate::profiles::Role;
use wire::model::{ModelChoice, ToolChoice};

impl Level {
    /// Allows the level at most this many more model calls; at that limit it returns its partial result.
    pub(crate) fn in_simple_loop(&mut self, iterations: u32) {
        self.limits.iterations = self.iterations.saturating_add(iterations);
        self.at_limit = AtLimit::Returns;
    }

    /// Sets the models that the level asks from here on.
    pub(crate) fn ask_models_of(&mut self, models: Option<Role>, first: &Rc<ModelChoice>) {
        (self.models, self.model) = (models, Rc::clone(first));
    }

    /// Forbids calls from here on: the model may only answer in text.
    pub(crate) fn only_speak(&mut self) {
        self.tool_choice = ToolChoice::None;
    }

    /// Whether the level refuses every call, even to tools that it has.
    pub(in crate::turn) fn only_speaks(&self) -> bool {
        self.tool_choice == ToolChoice::None
    }
}
