//! Sessions of workflows in a thread's object. The engine says how a session changes, or a client does by a token; the
//! code here decides whether it may, and keeps the rows.
//!
//! `advance.rs` is the only way from one step to the next, in both modes. `tokens.rs` makes and reads the tokens, `way.rs`
//! says whether a chat request works on a session, `judges.rs` which models judge its steps, `notice.rs` what the end of a session tells its address, `shown.rs`
//! what its user reads of it. These are pure. `working.rs` and `external.rs` carry them out for turns and for clients, `telling.rs` sends the notices.

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
