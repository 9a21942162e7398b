//! The disk of a thread, which outlives the runs of its turn.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::journal::{Entry, PartChange, Shown, TurnEnd};
use wire::protocol::{Event, Seq};

/// The content of the disk, which outlives the runs of a turn.
#[derive(Default)]
pub struct Disk {
    pub entries: RefCell<Vec<Entry>>,
    pub events: RefCell<BTreeMap<Seq, Event>>,
    pub(super) keys: RefCell<BTreeSet<String>>,
    pub(super) rows: RefCell<BTreeSet<String>>,
    pub end: RefCell<Option<TurnEnd>>,
    pub(super) next_seq: Cell<Seq>,
    pub commits: Cell<usize>,
    /// The lines for the operator.
    pub warned: RefCell<Vec<String>>,
}

impl Disk {
    /// Puts the journal of another run on the disk.
    pub fn found(&self, entries: Vec<Entry>) {
        self.rows.borrow_mut().extend(entries.iter().map(Entry::key));
        *self.entries.borrow_mut() = entries;
    }

    /// Takes the turn's end away: older code wrote the last outcome and the end apart, and its run may be lost between
    /// the two.
    pub fn lose_end(&self) {
        assert!(self.end.take().is_some());
        self.events
            .borrow_mut()
            .retain(|_, event| !matches!(event, Event::CostSummary(_) | Event::Done { .. }));
        self.keys.borrow_mut().retain(|key| !["cost_summary", "done"].contains(&key.as_str()));
    }

    /// The number of such entries.
    pub fn count(&self, is: impl Fn(&Entry) -> bool) -> usize {
        self.entries.borrow().iter().filter(|entry| is(entry)).count()
    }

    /// The journal, and the parts that the events have shown.
    pub(super) fn read(&self) -> (Vec<Entry>, Shown) {
        let events = self.events.borrow();
        let told = events.iter().filter_map(|(seq, event)| Some((*seq, PartChange::event(event)?))).collect();
        (self.entries.borrow().clone(), Shown::read(told))
    }
}
