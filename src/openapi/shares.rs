//! The answers of the routes of share links.

use serde_json::json;
use wire::protocol::{CreatedShare, ErrorCode as E, ShareList, SharedConversation};

use super::contract::{Content, Contract, Parameter};
use crate::router::SharesRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    match route {
        Route::Share { .. } => row
            .in_thread()
            .takes(json!({ "tools": false, "reasoning": false, "files": true, "expires_in_days": 30 }))
            .gives::<CreatedShare>(201)
            .refuses(&[
                E::MessageNotFound,
                E::SharesOff,
                E::TooManyShares,
                E::ShareTooLarge,
                E::QuotaExceeded,
            ]),
        Route::Shares => row.query(thread()).gives::<ShareList>(200),
        Route::RevokeShare { .. } => row.gives_nothing("It is revoked.").refuses(&[E::ShareNotFound]),
        Route::Shared { .. } => {
            row.gives::<SharedConversation>(200).refuses(&[E::ShareNotFound, E::SharesOff, E::Misconfigured])
        }
        Route::SharedPage { .. } => row
            .answers(200, "The page.", Some(Content::Page))
            .answers(404, "No link has this token, or it has ended.", Some(Content::Plain))
            .refuses(&[E::Misconfigured]),
    }
}

fn thread() -> Parameter {
    // An empty value is the same as none.
    let schema =
        json!({ "type": "string", "pattern": "^([0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})?$" });
    Parameter::new("thread_id", "The thread whose links to list.", schema).such_as(json!(super::ID))
}
