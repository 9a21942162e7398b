//! AgentMemory: keys and texts that the levels of one turn share, and who sees what when.
//!
//! A round's calls all start from what its level saw when the round began and write to overlays of their own. The
//! overlays are merged when the round settles, in the model's order. So neither what a call sees nor which of two
//! writes wins depends on who was faster, live or in replay.

use std::collections::BTreeMap;
use std::rc::Rc;

/// What one call wrote.
pub type Overlay = BTreeMap<String, String>;

/// The longest key in bytes: a name, not a text.
pub const MAX_KEY_BYTES: usize = 200;
/// The longest value in bytes: that of a tool result, which is what is mostly kept here.
pub const MAX_VALUE_BYTES: usize = 50_000;
/// What a turn may write in all, as [`stored_bytes`] counts: what a subtask wrote is journaled with its result, and a
/// row of SQLite in an object holds 2 MB.
pub const MAX_TURN_BYTES: usize = 1_000_000;

/// The key under which a subtask's result stands, by the id of its call (N-058).
pub fn task_key(tool_call_id: &str) -> String {
    format!("task:{tool_call_id}")
}

/// What an overlay takes in the journal: its bytes as JSON.
pub fn stored_bytes(overlay: &Overlay) -> usize {
    // Texts always serialize; if they did not, nothing of them could be journaled either.
    if overlay.is_empty() { 0 } else { serde_json::to_vec(overlay).map_or(usize::MAX, |json| json.len()) }
}

/// What one level sees: what was there when it began, then what its own rounds brought.
#[derive(Clone, Debug, Default)]
pub struct AgentMemory {
    seen: Rc<BTreeMap<String, String>>,
    written: Overlay,
}

impl AgentMemory {
    /// What a call of this level's current round sees. A child level starts from it, with nothing written yet.
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

    /// Takes over what the calls of a settled round wrote, in the model's order.
    pub fn merge<'a>(&mut self, overlays: impl IntoIterator<Item = &'a Overlay>) {
        for (key, value) in overlays.into_iter().flatten() {
            Rc::make_mut(&mut self.seen).insert(key.clone(), value.clone());
            self.written.insert(key.clone(), value.clone());
        }
    }

    /// What this level wrote: the overlay of the call that it is.
    pub fn into_written(self) -> Overlay {
        self.written
    }
}

/// Checks a write before it is taken. The text goes to the model.
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
    fn a_round_is_blind_to_itself_and_seen_once_it_settles() {
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
    fn what_a_child_wrote_is_its_overlay() {
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
    fn what_is_stored_is_counted_as_json() {
        assert_eq!(stored_bytes(&Overlay::new()), 0);
        assert_eq!(stored_bytes(&wrote("k", "v")), r#"{"k":"v"}"#.len());
        assert_eq!(stored_bytes(&wrote("k", "\n")), r#"{"k":"\n"}"#.len());
    }
}
