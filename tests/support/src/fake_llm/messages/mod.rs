//! Anthropic's Messages.

mod bound;
mod check;
mod reply;

pub use bound::BOUND;
pub use check::{check, position};
pub use reply::reply;
