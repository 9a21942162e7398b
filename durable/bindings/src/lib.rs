//! The bindings of the Worker: variables, D1, and rows as a statement takes them. What stands in them belongs to others.

pub mod rows;

#[cfg(target_arch = "wasm32")]
pub mod d1;
#[cfg(target_arch = "wasm32")]
pub mod env;
