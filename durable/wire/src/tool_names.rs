//! The names of tools that others wrote.

use sha2::{Digest, Sha256};

/// The longest name of a tool, in characters of ASCII: providers take `^[a-zA-Z0-9_-]{1,64}$`.
pub const MAX_TOOL_NAME: usize = 64;
/// The characters of a digest.
const DIGEST: usize = 8;

/// A name of at most [`MAX_TOOL_NAME`] characters: the beginning of one in ASCII, and a digest of the tool's own name. So a
/// tool has the same name in each turn, and no other tool has it.
pub fn shortened(name: &str, own: &str) -> String {
    let kept: String = name.chars().take(MAX_TOOL_NAME - DIGEST - 1).collect();
    let digest = Sha256::digest(own).into_iter().take(DIGEST / 2).map(|byte| format!("{byte:02x}"));
    format!("{kept}_{}", digest.collect::<String>())
}
