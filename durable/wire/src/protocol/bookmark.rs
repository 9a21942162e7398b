//! Bookmarks: messages that a user wants to find again.

use serde::{Deserialize, Serialize};

use super::Role;

/// The most bookmarks of a user: a person finds nothing among more. The limit is ours.
pub const MAX_BOOKMARKS: u32 = 1_000;
/// The length of an excerpt, in characters: two lines of a list.
pub const EXCERPT_CHARS: i32 = 200;

/// The beginning of a message, as its thread's object gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    pub turn_id: String,
    pub role: Role,
    pub excerpt: String,
}

/// A bookmarked message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Bookmark {
    /// The message's id, which names the bookmark.
    pub message_id: String,
    pub thread_id: String,
    pub turn_id: String,
    pub role: Role,
    /// The beginning of the message, of at most 200 characters.
    pub excerpt: String,
    /// When the user made it.
    pub created_at: u64,
}

/// The answer to `GET /api/bookmarks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct BookmarkList {
    pub bookmarks: Vec<Bookmark>,
    /// Null on the last page.
    pub next_cursor: Option<String>,
}
