//! AgentMemory: keys and texts that the levels of one turn share, and who sees what when.
//!
//! A round's calls all start from what its level saw when the round began and write to overlays of their own. The
//! overlays are merged when the round settles, in the model's order. So neither what a call sees nor which of two
//! writes wins depends on who was faster, live or in replay.

use std::collections::BTreeMap;

/// What one call wrote.
pub type Overlay = BTreeMap<String, String>;
