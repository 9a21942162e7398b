//! The version of each file that a level's calls saw last. A tool refuses a write to a version that its own
//! level has not seen.
//!
//! Each level keeps a record of its own: a file that a subtask read counts as unread for its parent. That of a subtask
//! starts empty and ends with it; that of an agent goes on from one answer to the next. Each call's outcome carries the
//! versions that the call saw, so a replay rebuilds the record.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The versions of files by their paths; none for a file that a call found absent.
pub type Versions = BTreeMap<String, Option<String>>;

/// Adds the versions that calls saw, in the order of the calls.
pub fn learn<'a>(versions: &mut Rc<Versions>, learnt: impl IntoIterator<Item = &'a Versions>) {
    for (path, version) in learnt.into_iter().flatten() {
        Rc::make_mut(versions).insert(path.clone(), version.clone());
    }
}

/// The versions that one call starts with, and those that it sees itself.
#[derive(Debug, Default)]
pub struct Seen {
    before: Rc<Versions>,
    now: RefCell<Versions>,
}

impl Seen {
    /// A call starts with its level's versions.
    pub fn new(before: Rc<Versions>) -> Self {
        Seen { before, now: RefCell::default() }
    }

    /// The version that the level or the call saw last: none for an unread file, `Some(None)` for an absent
    /// one.
    pub fn version(&self, path: &str) -> Option<Option<String>> {
        let now = self.now.borrow().get(path).cloned();
        now.or_else(|| self.before.get(path).cloned())
    }

    /// Records that the call saw a file at this version, or saw that it is absent.
    pub fn saw(&self, path: &str, version: Option<String>) {
        self.now.borrow_mut().insert(path.to_owned(), version);
    }

    /// Takes the versions that the call itself saw.
    pub fn learnt(&self) -> Versions {
        self.now.take()
    }
}
