//! The answers of the routes of records.

use wire::protocol::{ErrorCode, RecordList};

use super::contract::{Content, Contract};
use crate::router::RecordsRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    let row = row.in_thread().refuses(&[ErrorCode::RecordNotKept]);
    match route {
        Route::Record { .. } => row.answers(200, "The record, in JSON lines.", Some(Content::Lines)),
        Route::Records { .. } => row.pages().gives::<RecordList>(200),
    }
}
