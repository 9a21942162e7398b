//! Titles: after the first answer of a thread a model names the conversation, where the operator allows it (`TITLES`).
//! The title is the first words of the first message until then, and stays that where no model's title comes.
//!
//! The call is made beside all turns, so no reader waits for it. `wish.rs` has what the thread keeps meanwhile, `call.rs`
//! the call with its bounds, `reply.rs` what counts as a title, `making.rs` the steps. The feature has no tools.
//!
//! The transaction of a turn's end writes the thread's wish for a title: a row with JSON (`wish.rs`), and a timer.
//! `making.rs` is the way from the wish to the title, over the port `Naming`, and native tests kill it at each step.
//! The call belongs to no turn: its budget is a `TurnBudget` of its own, its reservation one of `QUOTAS` without a
//! place (`Quotas::call_rules`), and D1 and the quotas hear of it as of usage that outlived its turn (`News::Spent`).
//!
//! The title is written there too, and only if the thread still has the title of before and no person has named it.

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
pub use wish::{Begun, EndedCall, Wish};

/// Reads `TITLES`: whether a model names threads.
pub fn is_on(var: impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    match var("TITLES").unwrap_or_default().trim() {
        "" | "off" => Ok(false),
        "on" => Ok(true),
        _ => Err("the variable TITLES must be on or off".to_owned()),
    }
}
