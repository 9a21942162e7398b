//! The keys of a turn's journal entries and events, which are used once. A run holds them in memory, so the tables need
//! no index of them. Pure.
//!
//! A run holds the keys of its turn in memory (`storage/keys.rs`), and a resumed run reads them from the rows.

use std::collections::BTreeSet;

use engine::journal::Entry;
use wire::protocol::Event;

use super::StoreError;
use super::rows::{Item, TEXT, items, readable_items};

/// The keys that a turn has on disk.
#[derive(Debug, Default)]
pub struct Keys {
    entries: BTreeSet<String>,
    events: BTreeSet<String>,
}

/// The keys of a commit.
#[derive(Debug)]
pub struct NewKeys {
    entries: Vec<String>,
    events: Vec<String>,
}

impl Keys {
    /// The keys of a turn's entries; [`Self::read`] adds those of its events.
    pub fn of(entries: &[Entry]) -> Self {
        Keys { entries: entries.iter().map(Entry::key).collect(), ..Keys::default() }
    }

    /// Adds the keys of a stored row of events.
    pub fn read(&mut self, payload: &str) -> Result<(), StoreError> {
        self.take(items(payload)?);
        Ok(())
    }

    /// The keys of the events that can be read: for a turn that is given up.
    pub fn readable(events: &[String]) -> Self {
        let mut keys = Keys::default();
        events.iter().for_each(|payload| keys.take(readable_items(payload)));
        keys
    }

    fn take(&mut self, items: Vec<Item<'_>>) {
        let keyed = items.into_iter().filter(|Item(_, _, kind, _)| kind != TEXT);
        self.events.extend(keyed.map(|Item(_, key, ..)| key.into_owned()));
    }

    /// Checks a commit, and takes the events out of it whose key the turn has already. A key of the journal that the
    /// turn has already is an error: a fact happens once, and a second one under the same key would be lost in silence.
    pub fn check(&self, entries: &[Entry], events: &mut Vec<(String, Event)>) -> Result<NewKeys, StoreError> {
        let mut new = NewKeys { entries: Vec::with_capacity(entries.len()), events: Vec::new() };
        for entry in entries {
            let key = entry.key();
            if self.entries.contains(&key) || new.entries.contains(&key) {
                return Err(StoreError(format!("the journal has an entry {key} already")));
            }
            new.entries.push(key);
        }
        events.retain(|(key, _)| {
            let is_new = !self.events.contains(key) && !new.events.contains(key);
            if is_new {
                new.events.push(key.clone());
            }
            is_new
        });
        Ok(new)
    }

    /// The commit is written.
    pub fn add(&mut self, new: NewKeys) {
        self.entries.extend(new.entries);
        self.events.extend(new.events);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rows::{Fresh, event_rows};
    use engine::journal::{Fact, TextPart};
    use wire::protocol::{ChunkKind, Place};

    fn entry(count: u32) -> Entry {
        Entry { at: String::new(), elapsed_ms: 0, fact: Fact::Parked { count } }
    }

    fn events(keys: &[&str]) -> Vec<(String, Event)> {
        let event = Event::Error { code: "x".to_owned(), message: String::new(), retryable: false };
        keys.iter().map(|key| ((*key).to_owned(), event.clone())).collect()
    }

    fn kept(keys: &Keys, offered: &[&str]) -> Vec<String> {
        let mut events = events(offered);
        keys.check(&[], &mut events).unwrap();
        events.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn a_repeated_journal_key_is_an_error_and_a_repeated_event_key_is_dropped() {
        let mut keys = Keys::default();
        let mut said = events(&["session", "a", "session"]);
        let new = keys.check(&[entry(1), entry(2)], &mut said).unwrap();
        assert_eq!(said.len(), 2, "a key is used once within a commit as well");
        assert!(keys.check(&[entry(3), entry(3)], &mut Vec::new()).is_err());

        // A commit that was not written has used no key.
        assert_eq!(kept(&keys, &["a", "b"]), ["a", "b"]);
        keys.add(new);
        assert_eq!(kept(&keys, &["a", "b", "session"]), ["b"]);
        assert!(keys.check(&[entry(3), entry(2)], &mut Vec::new()).is_err());
        assert!(keys.check(&[entry(3)], &mut Vec::new()).is_ok());
    }

    #[test]
    fn the_keys_of_a_stored_turn_are_found_in_its_rows() {
        let text = TextPart {
            part_id: "p".to_owned(),
            model_call_id: "m".to_owned(),
            kind: ChunkKind::Text,
            place: Place::default(),
            chunks: vec![(1, 1)],
            text: "x".to_owned(),
            more: false,
        };
        let fresh: Vec<Fresh> = events(&["a", "quoted \"b\""])
            .into_iter()
            .zip(2..)
            .map(|((key, event), seq)| Fresh::new(seq, key, event).unwrap())
            .collect();
        let rows = event_rows(&[text], &fresh).unwrap();
        let payloads: Vec<String> = rows.into_iter().map(|row| row.payload).collect();
        let mut keys = Keys::of(&[entry(1)]);
        keys.read(&payloads[0]).unwrap();
        assert_eq!(kept(&keys, &["a", "quoted \"b\"", "c", ""]), ["c", ""]);
        assert!(keys.check(&[entry(1)], &mut Vec::new()).is_err());

        // A row that cannot be read keeps a turn from being rebuilt, and costs a turn that is given up its keys alone.
        let broken = [payloads[0].clone(), "[[7,".to_owned(), r#"[["seven"],[7,"c","error",{}]]"#.to_owned()];
        assert!(broken[1..].iter().all(|payload| keys.read(payload).is_err()));
        assert_eq!(kept(&Keys::readable(&broken), &["a", "c", "d"]), ["d"]);
    }
}
