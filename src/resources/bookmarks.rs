//! Bookmarks: messages that a user wants to find again.

use super::words::*;
use wire::protocol::MAX_BOOKMARKS;

#[cfg(test)]
use super::shares::thread;
#[cfg(target_arch = "wasm32")]
use crate::routes::bookmarks;
#[cfg(test)]
use wire::protocol::{Bookmark, BookmarkList};

routes! {
    /// Lists the user's bookmarks, newest first: those of a thread, or all. A bookmark goes with its thread.
    Get "/api/bookmarks" => Bookmarks, Needs(Read), Nothing, Reads,
        |r| bookmarks::list(r.call, r.caller.owner()?),
        |row| row.pages().query(thread("The thread whose bookmarks to list.")).gives::<BookmarkList>(200);
    /// Bookmarks a message. The bookmark keeps the beginning of the message. A user has at most 1,000. One more is 409
    /// `too_many_bookmarks`. A repetition changes nothing.
    Put "/api/threads/{}/bookmarks/{}" => PutBookmark(id, message), Needs(Write), Nothing,
        Count(MAX_BOOKMARKS as u64, "bookmarks of a user"),
        |r| bookmarks::put(r.call, r.caller.owner()?, id, message),
        |row| row
            .in_thread()
            .gives::<Bookmark>(200)
            .refuses(&[E::MessageNotFound, E::TooManyBookmarks]);
    /// Deletes a bookmark. The message stays.
    Delete "/api/bookmarks/{}" => DeleteBookmark(message), Needs(Write), Nothing, Removes,
        |r| bookmarks::delete(r.call, r.caller.owner()?, message),
        |row| row.gives_nothing("It is deleted.").refuses(&[E::BookmarkNotFound]);
}

/// The table `bookmarks`.
pub const TABLE: Table = users(
    "bookmarks",
    Rows {
        key: &["message_id"],
        line: Some("bookmark"),
        columns: &["message_id", "thread_id", "turn_id", "role", "excerpt", "created_at"],
        ..ROWS
    },
    100,
);
