//! The knowledge of users in D1 and Vectorize.

pub mod collections;
pub mod conversion;
pub mod deletion;
pub mod memories;
pub mod vectors;
