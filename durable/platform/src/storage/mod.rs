//! The storage of a thread: SQLite in its object, which is the authority, and D1, the index across threads.
//!
//! This module has the tables, the statements, and the mapping between rows and our types. It decides nothing: the
//! modules above it decide who may write, when, and how work goes on. The modules that name the platform exist on
//! wasm32 only.
//!
//! The journal belongs to the running turn and goes with its end, or once R2 has its record. Events of old turns go
//! once D1 has the turn's messages (`EVENT_TURNS`). A reader with an older cursor gets one `session` per turn with its
//! messages, and asks again at each page, because a turn may be trimmed under a slow reader. The platform takes 2 MB
//! for a row or a parameter. So a long commit and a long text are split over rows (`storage/rows.rs`), and messages,
//! trees, telemetry, chunks and arguments are cut (`storage/fit.rs`).

pub mod agent_rows;
pub mod digest_rows;
pub mod event_json;
pub mod export_rows;
pub mod fit;
pub mod history;
pub mod import_rows;
pub mod instruction_rows;
pub mod keys;
pub mod outgoing;
pub mod page;
pub mod path;
pub mod remembered;
pub mod rows;
pub mod salvage;
pub mod schedule;
pub mod schema;
pub mod session_rows;
pub mod title_rows;
pub mod turn;

#[cfg(target_arch = "wasm32")]
pub mod agents;
#[cfg(target_arch = "wasm32")]
pub mod digests;
#[cfg(target_arch = "wasm32")]
pub mod export;
#[cfg(target_arch = "wasm32")]
pub mod index;
#[cfg(target_arch = "wasm32")]
pub mod instructions;
#[cfg(target_arch = "wasm32")]
pub mod log;
#[cfg(target_arch = "wasm32")]
pub mod messages;
#[cfg(target_arch = "wasm32")]
pub mod outbox;
#[cfg(target_arch = "wasm32")]
pub mod plans;
#[cfg(target_arch = "wasm32")]
pub mod queue;
#[cfg(target_arch = "wasm32")]
pub mod quota;
#[cfg(target_arch = "wasm32")]
pub mod sessions;
#[cfg(target_arch = "wasm32")]
pub mod sql;
#[cfg(target_arch = "wasm32")]
pub mod summaries;
#[cfg(target_arch = "wasm32")]
pub mod tell;
#[cfg(target_arch = "wasm32")]
pub mod thread;
#[cfg(target_arch = "wasm32")]
pub mod timers;
#[cfg(target_arch = "wasm32")]
pub mod titles;
#[cfg(target_arch = "wasm32")]
pub mod trim;
#[cfg(target_arch = "wasm32")]
pub mod versions;

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod migrations_tests;
#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod summaries_tests;
#[cfg(test)]
mod tests;

/// The failed attempts to rebuild a turn. They stand in the turn's row until an attempt succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failing {
    /// When the first attempt failed (milliseconds since 1970).
    pub since_ms: u64,
    /// The attempts that count.
    pub attempts: u32,
    /// When the next attempt is made.
    pub retry_at_ms: u64,
}

/// The storage refused, or holds a row that cannot be read. The text is for the operator, never for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        StoreError(format!("JSON: {error}"))
    }
}

/// D1 and R2 failed, behind the ports of features.
impl From<wire::store::StoreError> for StoreError {
    fn from(error: wire::store::StoreError) -> Self {
        StoreError(error.0)
    }
}

impl From<StoreError> for wire::store::StoreError {
    fn from(error: StoreError) -> Self {
        wire::store::StoreError(error.0)
    }
}

impl From<StoreError> for engine::ports::LogError {
    fn from(error: StoreError) -> Self {
        engine::ports::LogError::Storage(error.0)
    }
}

/// Whether the object of a test has a table.
#[cfg(test)]
fn has_table(thread: &rusqlite::Connection, name: &str) -> bool {
    let mut statement = thread.prepare(schema::TABLES).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    names.map(Result::unwrap).any(|table| table == name)
}
