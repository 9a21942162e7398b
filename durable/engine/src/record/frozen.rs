//! The state that a turn's journal froze for its child levels: their openings, and the toolsets that they
//! share.

use crate::journal::LevelSpec;
use crate::toolbelt::Toolbelt;

/// The opening of a child level.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// Its toolset number is valid only if the opening came from the journal.
    pub(crate) spec: LevelSpec,
    /// The tools that the level shares with others; those of its own stand in `spec`.
    pub(crate) shared: Toolbelt,
}

/// The toolsets of a turn by their numbers. The root's is the first.
#[derive(Clone, Debug)]
pub(crate) struct Toolsets(Vec<Toolbelt>);

impl Toolsets {
    pub(crate) fn new(root: Toolbelt) -> Self {
        Toolsets(vec![root])
    }

    /// The toolset of this number. An unknown number gives an empty toolset, which allows nothing.
    pub(crate) fn get(&self, number: Option<u32>) -> Toolbelt {
        let found = number.and_then(|number| self.0.get(number as usize));
        found.cloned().unwrap_or_else(|| Toolbelt::new([]))
    }

    /// The number of an equal toolset.
    pub(crate) fn number_of(&self, belt: &Toolbelt) -> Option<u32> {
        self.0.iter().position(|known| known == belt).and_then(|at| u32::try_from(at).ok())
    }

    /// The number that the next new toolset will have.
    pub(crate) fn next(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn add(&mut self, belt: Toolbelt) {
        self.0.push(belt);
    }
}
