//! The ports' implementations over the platform.

pub mod model;
