//! What the calls of a level know of files: the version that each of them saw last. A write is made on top of a version
//! that its own level has seen, or not at all.
//!
//! Each level keeps a record of its own, which starts empty and goes with it: what a subtask read, its parent has not
//! read. The record is part of each call's outcome, so that a replay has it again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The versions of files by their paths; none for a file that is known to be absent.
pub type Versions = BTreeMap<String, Option<String>>;

/// Adds what calls learnt of files, in their order.
pub fn learn<'a>(versions: &mut Rc<Versions>, learnt: impl IntoIterator<Item = &'a Versions>) {
    for (path, version) in learnt.into_iter().flatten() {
        Rc::make_mut(versions).insert(path.clone(), version.clone());
    }
}

/// What one call knows and learns.
#[derive(Debug, Default)]
pub struct Seen {
    before: Rc<Versions>,
    now: RefCell<Versions>,
}

impl Seen {
    /// What a call knows that its level knew.
    pub fn new(before: Rc<Versions>) -> Self {
        Seen { before, now: RefCell::default() }
    }

    /// The version that was seen last; none where the file was never looked at, `Some(None)` where it was absent.
    pub fn version(&self, path: &str) -> Option<Option<String>> {
        let now = self.now.borrow().get(path).cloned();
        now.or_else(|| self.before.get(path).cloned())
    }

    /// A file has this version, or is absent.
    pub fn saw(&self, path: &str, version: Option<String>) {
        self.now.borrow_mut().insert(path.to_owned(), version);
    }

    /// What the call has learnt.
    pub fn learnt(&self) -> Versions {
        self.now.take()
    }
}
