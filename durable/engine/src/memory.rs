//! AgentMemory: the keys and texts that the levels of one turn share, and when each call sees a write.
//!
//! All calls of a round read the memory as their level saw it when the round began. Each call writes to an
//! overlay of its own. The level merges the overlays when the round settles, in the model's order. So a live
//! run and a replay agree on each read and on the winner of two writes, whichever call was faster.
//!
//! Each call of a round starts from the memory (`memory.rs`) that its level saw when the round began, and writes to an
//! overlay. The round merges the overlays at its end, in the model's order. So speed decides neither what a call sees
//! nor which write wins, and a replay comes to the same steps. A turn writes at most 1 000 000 bytes: a subtask's
//! overlay is one row of the journal, and a row holds 2 MB. A write beyond that is refused, and a subtask's result
//! says that it is not kept.

use std::collections::BTreeMap;
use std::rc::Rc;

/// The memory writes of one call.
pub type Overlay = BTreeMap<String, String>;

/// The longest key in bytes: a name, not a text.
pub const MAX_KEY_BYTES: usize = 200;
/// The longest value in bytes. It equals the limit of a tool result, since most values are tool results.
pub const MAX_VALUE_BYTES: usize = 50_000;
/// The most bytes that a turn may write in all, as [`stored_bytes`] counts. The engine journals a subtask's
/// writes in one row with its result, and a row of SQLite in an object holds 2 MB.
pub const MAX_TURN_BYTES: usize = 1_000_000;

/// The key of a subtask's result, by the id of its call (N-058).
pub fn task_key(tool_call_id: &str) -> String {
    format!("task:{tool_call_id}")
}

/// The size of an overlay in the journal: its bytes as JSON.
pub fn stored_bytes(overlay: &Overlay) -> usize {
    // Texts always serialize. If one did not, the journal could not hold it either.
    if overlay.is_empty() { 0 } else { serde_json::to_vec(overlay).map_or(usize::MAX, |json| json.len()) }
}

/// The memory as one level sees it: the values at its start, then the writes of its own rounds.
#[derive(Clone, Debug, Default)]
pub struct AgentMemory {
    seen: Rc<BTreeMap<String, String>>,
    written: Overlay,
}

impl AgentMemory {
    /// A copy for one call of the current round. A child level starts from this copy and has no writes of its
    /// own.
    pub fn fork(&self) -> AgentMemory {
        AgentMemory { seen: Rc::clone(&self.seen), written: Overlay::new() }
    }

    /// The value of a key.
    pub fn read(&self, key: &str) -> Option<&str> {
        self.seen.get(key).map(String::as_str)
    }

    /// All keys with the lengths of their values in bytes, in order.
    pub fn list(&self) -> impl Iterator<Item = (&str, usize)> {
        self.seen.iter().map(|(key, value)| (key.as_str(), value.len()))
    }

    /// Merges the overlays of a settled round's calls, in the model's order.
    pub fn merge<'a>(&mut self, overlays: impl IntoIterator<Item = &'a Overlay>) {
        for (key, value) in overlays.into_iter().flatten() {
            Rc::make_mut(&mut self.seen).insert(key.clone(), value.clone());
            self.written.insert(key.clone(), value.clone());
        }
    }

    /// Consumes the level and returns its writes: the overlay of the call that opened it.
    pub fn into_written(self) -> Overlay {
        self.written
    }
}

/// Checks a write before the overlay accepts it. The model reads the error.
pub fn check_write(key: &str, value: &str) -> Result<(), String> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(format!("the key must have 1 to {MAX_KEY_BYTES} bytes"));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(format!("the value has {} bytes, the limit is {MAX_VALUE_BYTES}", value.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(key: &str, value: &str) -> Overlay {
        Overlay::from([(key.to_owned(), value.to_owned())])
    }

    // N-153 N-154
    #[test]
    fn writes_are_visible_once_their_round_settles() {
        let mut level = AgentMemory::default();
        let (first, second) = (level.fork(), level.fork());
        assert_eq!((first.read("a"), second.read("a")), (None, None));
        level.merge([&wrote("a", "first"), &wrote("a", "second")]);
        assert_eq!(level.read("a"), Some("second"), "the later call of the round wins");
        assert_eq!(first.read("a"), None, "what a call sees does not change under it");
        assert_eq!(level.fork().read("a"), Some("second"));
    }

    // N-152
    #[test]
    fn the_overlay_of_a_child_has_its_own_writes_alone() {
        let mut level = AgentMemory::default();
        level.merge([&wrote("old", "1")]);
        let mut child = level.fork();
        child.merge([&wrote("new", "2")]);
        assert_eq!(child.read("old"), Some("1"));
        assert_eq!(child.into_written(), wrote("new", "2"));
    }

    #[test]
    fn writes_are_bounded() {
        assert!(check_write("k", &"v".repeat(MAX_VALUE_BYTES)).is_ok());
        assert!(check_write("k", &"v".repeat(MAX_VALUE_BYTES + 1)).is_err());
        assert!(check_write("", "v").is_err());
        assert!(check_write(&"k".repeat(MAX_KEY_BYTES), "v").is_ok());
        assert!(check_write(&"k".repeat(MAX_KEY_BYTES + 1), "v").is_err());
    }

    #[test]
    fn stored_bytes_are_counted_as_json() {
        assert_eq!(stored_bytes(&Overlay::new()), 0);
        assert_eq!(stored_bytes(&wrote("k", "v")), r#"{"k":"v"}"#.len());
        assert_eq!(stored_bytes(&wrote("k", "\n")), r#"{"k":"\n"}"#.len());
    }
}
