//! The bindings of the Worker: variables, D1, and rows as the parameters of statements. Features define what they store
//! there.

pub mod rows;

#[cfg(target_arch = "wasm32")]
pub mod d1;
#[cfg(target_arch = "wasm32")]
pub mod env;
