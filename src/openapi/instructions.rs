//! The answers of the routes of custom instructions.

use serde_json::json;
use wire::protocol::{ErrorCode as E, Instructions};

use super::contract::Contract;
use crate::router::InstructionsRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    let example = json!({ "content": "Answer briefly, and in metric units." });
    match route {
        Route::Instructions => row.gives::<Instructions>(200),
        Route::PutInstructions => row.takes(example).gives::<Instructions>(200).refuses(&[E::QuotaExceeded]),
        Route::ProjectInstructions { .. } => row.gives::<Instructions>(200).refuses(&[E::ProjectNotFound]),
        Route::PutProjectInstructions { .. } => {
            row.takes(example).gives::<Instructions>(200).refuses(&[E::ProjectNotFound, E::QuotaExceeded])
        }
    }
}
