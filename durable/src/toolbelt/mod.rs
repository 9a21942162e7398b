//! The tools that a level may use: what a tool declares, who may have it.

mod spec;

pub use spec::{PermissionClass, ToolSpec};
