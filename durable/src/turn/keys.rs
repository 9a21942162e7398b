//! Where in a turn something is: the keys of the journal, and the wire ids that are derived from them, so that a
//! replay comes to the same ids.

/// FNV-1a, 64 bit: stable across builds, which a replay after a deploy needs. Not for secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    pub(super) const fn new() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    /// The digest after one more part. A part is closed by a byte that UTF-8 never has, so that borders count.
    pub(super) fn with(self, part: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Digest(part.bytes().chain([0xff]).fold(self.0, step))
    }

    pub(super) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// A level: the call that it is, empty for the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LevelPath(String);

impl LevelPath {
    /// The key of one of the level's steps. A step is one model call with the tool calls of its reply.
    pub(super) fn step(&self, step: u32) -> String {
        if self.0.is_empty() { step.to_string() } else { format!("{}-{step}", self.0) }
    }

    /// The level that a `run_subtask` call is.
    pub(super) fn child(call_key: &str) -> Self {
        LevelPath(call_key.to_owned())
    }
}

/// The key of a call of a step: its place in the model's reply.
pub(super) fn call_key(step_key: &str, index: usize) -> String {
    format!("{step_key}.{index}")
}

/// Derives a turn's wire ids.
#[derive(Clone, Debug)]
pub(super) struct WireIds {
    tag: String,
}

impl WireIds {
    pub(super) fn new(turn_id: &str) -> Self {
        WireIds { tag: Digest::new().with(turn_id).hex() }
    }

    pub(super) fn tool_call(&self, call_key: &str) -> String {
        format!("call_{}_{call_key}", self.tag)
    }

    pub(super) fn approval(&self, call_key: &str) -> String {
        format!("approval_{}_{call_key}", self.tag)
    }

    pub(super) fn model_call(&self, step_key: &str) -> String {
        format!("model_{}_{step_key}", self.tag)
    }

    pub(super) fn part(&self, step_key: &str, index: usize) -> String {
        format!("part_{}_{step_key}.{index}", self.tag)
    }
}
