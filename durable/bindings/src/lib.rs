//! The bindings of the Worker: variables, D1, and rows as the parameters of statements. Features define their own rows.

pub mod rows;
pub mod sql;

#[cfg(target_arch = "wasm32")]
pub mod d1;
#[cfg(target_arch = "wasm32")]
pub mod env;
