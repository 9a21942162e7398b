//! The contexts of turns with limits of their own, and these limits.

/// The context of the long turns, whose requests are short, in tokens; and the filler of their messages: one of them fits
/// into a request, and two do not.
pub const LONG_CONTEXT: &str = "general";
pub const LONG_HISTORY_TOKENS: u32 = 24_000;
pub(super) const LONG_WORDS: usize = 3_200;

/// The context of the limited turns, which alone has few calls: with four, the subtask's last call is one too many.
pub const LIMITED_CONTEXT: &str = "task";
pub const LIMITED_CALLS: u32 = 4;
/// The context of the turns that ask at their limit. Each grant brings two calls more, so one of five asks twice.
pub const GROWING_CONTEXT: &str = "project_audit";
pub const GROWING_CALLS: u32 = 2;
/// The step of the model's first reply in a continuation: after one reply and the service's last words.
pub const CONTINUED_STEP: usize = 2;
