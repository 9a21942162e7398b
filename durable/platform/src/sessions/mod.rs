//! Sessions of workflows in a thread's object. The engine says how a session changes, or a client does by a token; the
//! code here decides whether it may, and keeps the rows.
//!
//! `advance.rs` is the only way from one step to the next, in both modes. `tokens.rs` makes and reads the tokens, `way.rs`
//! says whether a chat request works on a session, `judges.rs` which models judge its steps, `notice.rs` what the end of a session tells its address, `shown.rs`
//! what its user reads of it. These are pure. `working.rs` and `external.rs` carry them out for turns and for clients, `telling.rs` sends the notices.
//!
//! The engine's room `workflow` tells the storage of a session by `SessionChange`s in its entries. `TurnLog::commit`
//! applies them in the transaction of the entries (`sessions/working.rs`). So a kill leaves either both or neither,
//! and a replayed entry changes nothing, because its revision is not newer than the row's.
//!
//! The notice of a session's end has a table and a timer of its own (`sessions/telling.rs`): an address that does not
//! answer holds up neither D1 nor a turn.
//!
//! A turn's token is made from the row's nonce where the commit is written, and lives no longer than that function
//! call. A row has nonces and ids of keys, never a token; a client's token is made anew for each answer. The
//! end-to-end run searches all data and logs for tokens.

pub mod advance;
pub mod judges;
pub mod notice;
pub mod prompt;
pub mod shown;
pub mod tokens;
pub mod way;

#[cfg(target_arch = "wasm32")]
mod external;
#[cfg(target_arch = "wasm32")]
pub mod telling;
#[cfg(target_arch = "wasm32")]
pub mod working;

#[cfg(test)]
mod tests;
