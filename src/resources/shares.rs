//! Share links.

use super::words::*;
use wire::protocol::NewShare;

#[cfg(test)]
use crate::openapi::ID;
#[cfg(target_arch = "wasm32")]
use crate::routes::shares;
#[cfg(test)]
use wire::protocol::{CreatedShare, ShareList, SharedConversation};

routes! {
    /// Makes a share link: a snapshot that nothing changes. Only this answer has its `token` and `path`. A user has at most
    /// 100. See "Share links" in docs/wire-protocol.md.
    Post "/api/threads/{}/shares" => Share(id), Needs(Write), json::<NewShare>(), Uploads,
        |r| shares::create(r.call, r.caller.owner()?, id, r.body),
        |row| row
            .in_thread()
            .takes(json!({ "tools": false, "reasoning": false, "files": true, "expires_in_days": 30 }))
            .gives::<CreatedShare>(201)
            .refuses(&[E::MessageNotFound, E::SharesOff, E::TooManyShares, E::ShareTooLarge, E::QuotaExceeded]);
    /// Lists the user's share links, newest first: those of a thread, or all.
    Get "/api/shares" => Shares, Needs(Read), Nothing, Reads,
        |r| shares::list(r.call, r.caller.owner()?),
        |row| row.query(thread("The thread whose links to list.")).gives::<ShareList>(200);
    /// Revokes a share link. Its snapshot is deleted at once.
    Delete "/api/shares/{}" => RevokeShare(share), Needs(Write), Nothing, Removes,
        |r| shares::revoke(r.call, r.caller.owner()?, share),
        |row| row.gives_nothing("It is revoked.").refuses(&[E::ShareNotFound]);
    /// Returns the snapshot of a share link. The token is the only credential. See "Share links" in docs/wire-protocol.md.
    Get "/api/shared/{}" => Shared(token), Open, Nothing, Reads,
        |r| shares::snapshot(r.call, token),
        |row| row.gives::<SharedConversation>(200).refuses(&[E::ShareNotFound, E::SharesOff, E::Misconfigured]);
    /// Returns the public page of a share link. It answers 404 in plain text where no link has the token, where it has ended,
    /// and where the deployment has no share links.
    Get "/shared/{}" => SharedPage(token), Open, Nothing, Reads,
        |r| shares::public_page(r.call, token),
        |row| row
            .answers(200, "The page.", Some(Content::Page))
            .answers(404, "No link has this token, or it has ended.", Some(Content::Plain))
            .refuses(&[E::Misconfigured]);
}

/// The table `shares`.
pub const TABLE: Table = users(
    "shares",
    Rows {
        key: &["id"],
        line: Some("share"),
        columns: &[
            "id",
            "thread_id",
            "title",
            "created_at",
            "expires_at",
            "tools",
            "reasoning",
            "files",
            "messages",
            "bytes",
        ],
        // The snapshot is a copy of messages that the thread's object gives.
        withheld: &["tenant", "user_id", "hash", "content"],
        ..ROWS
    },
    20,
);

/// The thread to which a list is limited.
#[cfg(test)]
pub fn thread(what: &str) -> Parameter {
    // An empty value is the same as none.
    let schema =
        json!({ "type": "string", "pattern": "^([0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})?$" });
    Parameter::new("thread_id", what, schema).such_as(json!(ID))
}
