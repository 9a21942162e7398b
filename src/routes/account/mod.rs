//! `/api/me`: all data of the caller, exported and erased as a whole.

pub mod erasure;
mod export;
mod pieces;

pub use export::export;

/// The bucket of workspaces and records (wrangler.toml).
const BUCKET: &str = "WORKSPACE";
/// A thread that stands in no list goes a day after its last message. Its newest model call is not older than that, and a
/// turn lasts less than a week.
const UNLISTED_MS: u64 = 8 * 86_400_000;
