//! Anthropic's Messages.

mod check;
mod reply;

pub use check::{check, position};
pub use reply::reply;
