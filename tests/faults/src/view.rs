//! A client's view of a turn, by the rules of docs/wire-protocol.md, and its differences from another client's view.

use std::collections::BTreeMap;

use espalier_test_support::Event;

/// The events of one turn, from however many connections.
#[derive(Default)]
pub struct View {
    events: BTreeMap<u64, Event>,
    /// Events that a connection sent although the client had said that it has them.
    pub duplicates: u32,
    /// Numbers that were used for two different events.
    pub conflicts: u32,
}

/// The differences of a view from an uncut one.
#[derive(Default)]
pub struct Difference {
    pub other: Vec<String>,
    pub missing: Vec<String>,
}

impl View {
    /// Takes an event of a connection that was opened after `cursor`.
    pub fn take(&mut self, event: Event, cursor: u64) {
        self.duplicates += u32::from(event.seq <= cursor);
        match self.events.insert(event.seq, event.clone()) {
            Some(before) if before != event => self.conflicts += 1,
            _ => {}
        }
    }

    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.events.values()
    }

    /// The number of the last event.
    pub fn cursor(&self) -> u64 {
        self.events.keys().next_back().copied().unwrap_or(0)
    }

    pub fn is_done(&self) -> bool {
        self.events.values().next_back().is_some_and(|last| last.kind == "done")
    }

    /// The events without the parts of repeated calls.
    pub fn settled(&self) -> BTreeMap<u64, &Event> {
        let mut reset_at: BTreeMap<&str, u64> = BTreeMap::new();
        for event in self.events.values().filter(|event| event.kind == "model_call_reset") {
            reset_at.insert(event.text("model_call_id"), event.seq);
        }
        let dropped = |event: &Event| {
            event.kind == "chunk"
                && reset_at.get(event.text("model_call_id")).is_some_and(|at| event.seq < *at)
        };
        self.events.iter().filter(|(_, event)| !dropped(event)).map(|(seq, event)| (*seq, event)).collect()
    }

    /// Compares the view with that of an uncut client.
    pub fn compare(&self, uncut: &View) -> Difference {
        let (ours, theirs) = (self.settled(), uncut.settled());
        let mut difference = Difference::default();
        for (seq, event) in &ours {
            match theirs.get(seq) {
                Some(other) if other == event => {}
                other => difference.other.push(format!(
                    "{} instead of {}",
                    line(Some(event)),
                    line(other.copied())
                )),
            }
        }
        for (seq, event) in &theirs {
            if !ours.contains_key(seq) {
                difference.missing.push(line(Some(event)));
            }
        }
        difference
    }
}

fn line(event: Option<&Event>) -> String {
    event.map_or_else(|| "nothing".to_owned(), |event| format!("{}:{}", event.seq, event.data))
}
