//! Espalier's engine, and the Durable Object that runs it.
//!
//! From the ground up: `projects`, `protocol`, `model`, `profiles`, `quota` ← `budget`, `memory`, `journal`, `plans`,
//! `toolbelt`, `providers` ← `ports` ← `turn`, `mcp`, `tools` ← `storage`, `shell`. No import runs back up. Only `shell` and `storage` name the platform, in
//! what exists on wasm32 alone.

pub mod budget;
pub mod chunks;
pub mod embeddings;
pub mod journal;
pub mod marks;
pub mod mcp;
pub mod memory;
pub mod model;
pub mod plans;
pub mod ports;
pub mod profiles;
pub mod projects;
pub mod protocol;
pub mod providers;
pub mod quota;
pub mod redact;
pub mod retrieved;
pub mod search;
pub mod shell;
pub mod storage;
pub mod toolbelt;
pub mod tools;
pub mod turn;
pub mod versions;
