//! The knowledge of users in D1 and Vectorize.

pub mod collections;
pub mod conversion;
pub mod deletion;
mod intents;
pub mod memories;
pub mod vectors;
