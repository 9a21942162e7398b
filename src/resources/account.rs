//! A user's account as a whole.

use super::words::*;
use crate::account::erasure::Confirmation;
use crate::account::store::MAX_ENDED;
use crate::audit::statements::MAX_A_DAY;

#[cfg(test)]
use crate::account::erasure::Erasure;
#[cfg(test)]
use crate::openapi::cursor;
#[cfg(target_arch = "wasm32")]
use crate::routes::account;

routes! {
    /// Erases all data of the user for ever: threads, files, documents, memories, projects, agents, workflows, usage and
    /// records. It begins at once, and takes a minute and a half at least. All keys and sessions of the user end with its
    /// beginning; the answer has a receipt, with which the progress can be read. When it is done, the same user may begin
    /// anew. A visitor may ask, an API key with the scope `erase`, and everybody else within ten minutes of signing in. The
    /// answer has `ended_at: null`, but for a visitor who has stored nothing. A refusal is 403 `sign_in_again` where the
    /// sign-in is older, 409 `erasure_in_progress` while an erasure of the user runs, and 429 `rate_limited` where too many
    /// visitors of one network have ended their sessions. See "All data of a user" in docs/wire-protocol.md.
    Delete "/api/me" => EraseMe, Erases, json::<Confirmation>(),
        Count(MAX_ENDED as u64, "visitors of a network in an hour; one job of a user"),
        |r| account::erasure::begin(r.call, r.caller.owner()?, r.body),
        |row| row
            .takes(json!({ "confirm": "erase" }))
            .gives::<Erasure>(202)
            .refuses(&[E::ErasureInProgress, E::SignInAgain]);
    /// Returns the progress of an erasure, and carries it on. The receipt is the only credential. See "All data of a user"
    /// in docs/wire-protocol.md.
    Get "/api/me/erasure" => Erasure, Open, Nothing, Reads,
        |r| account::erasure::progress(r.call),
        |row| row.query(receipt()).gives::<Erasure>(200).refuses(&[E::ErasureNotFound]);
    /// Exports all data of the user, a page at a time: a JSON object a line, each with its `kind`. The last line of a page
    /// is of the kind `page` and has the `next_cursor`, or of the kind `end`: then the export is complete. Without the
    /// scope `admin` the records of turns have digests in the place of the words of the operator's hooks. See "All data of
    /// a user" in docs/wire-protocol.md.
    Get "/api/me/export" => Export, Needs(Read), Nothing,
        Count(MAX_A_DAY as u64, "entries of exports of a user in a day"),
        |r| account::export(r.call, r.caller),
        |row| row
            .query(cursor())
            .answers(200, "The lines, the last of which tells where the next page begins.", Some(Content::Lines));
}

#[cfg(test)]
fn receipt() -> Parameter {
    let schema = json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{32}$" });
    Parameter::new("receipt", "The `receipt` of the answer to `DELETE /api/me`.", schema)
        .such_as(json!("0123456789abcdef".repeat(2)))
        .needed()
}
