//! Titles: after the first answer of a thread a model names the conversation, where the operator allows it (`TITLES`).
//! The title is the beginning of the first message until then, and stays that where no model's title comes.
//!
//! The call is made beside all turns, so no reader waits for it. `wish.rs` has what the thread keeps meanwhile, `call.rs`
//! the call with its bounds, `reply.rs` what counts as a title, `making.rs` the steps. The feature has no tools.

mod call;
mod making;
mod port;
mod reply;
mod wish;

#[cfg(test)]
mod in_memory;
#[cfg(test)]
mod tests;

pub use call::{Call, Exchange, House};
pub use making::{CALL_MS, make};
pub use port::{Change, Naming, Verdict};
pub use wish::{Begun, Told, Wish};

/// Reads `TITLES`: whether a model names threads.
pub fn is_on(var: impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    match var("TITLES").unwrap_or_default().trim() {
        "" | "off" => Ok(false),
        "on" => Ok(true),
        _ => Err("the variable TITLES must be on or off".to_owned()),
    }
}
