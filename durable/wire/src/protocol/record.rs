//! The list of a thread's records. A record is the journal of an ended turn, in JSON lines.

use serde::Serialize;

/// The records of a thread, newest turn first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RecordList {
    pub records: Vec<RecordEntry>,
    pub next_cursor: Option<String>,
}

/// The record of one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RecordEntry {
    pub turn_id: String,
    pub bytes: u64,
    /// When it was stored (milliseconds since 1970).
    pub created_at: u64,
}
