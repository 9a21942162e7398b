//! The names of workspaces that users choose.

use super::WORKSPACE_NAME;

/// Checks the name of a workspace. The error describes the problem.
pub fn check_workspace(name: &str) -> Result<(), String> {
    match WORKSPACE_NAME.allows(name) {
        true => Ok(()),
        false => Err(format!("expected 1 to {} of a-z, 0-9, - and _", WORKSPACE_NAME.max)),
    }
}
