//! The names of workspaces that users choose.

/// Checks the name of a workspace, which is a segment of a URL and of a key. The error describes the problem.
pub fn check_workspace(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    match (1..=MAX_WORKSPACE_NAME).contains(&name.len()) && name.bytes().all(plain) {
        true => Ok(()),
        false => Err(format!("expected 1 to {MAX_WORKSPACE_NAME} of a-z, 0-9, - and _")),
    }
}

/// The same rule as a pattern, without the limit of its length.
#[cfg(feature = "openapi")]
pub const WORKSPACE_NAME: &str = "^[a-z0-9_-]+$";

/// The longest name of a workspace, in bytes.
pub const MAX_WORKSPACE_NAME: usize = 64;
