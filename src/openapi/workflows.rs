//! The answers of the routes of workflows.

use serde_json::json;
use wire::protocol::{ErrorCode as E, SessionAnswer, WorkflowDetail, WorkflowList};

use super::contract::Contract;
use crate::router::WorkflowsRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    match route {
        Route::Workflows => row.gives::<WorkflowList>(200),
        Route::Workflow { .. } => row.gives::<WorkflowDetail>(200).refuses(&[E::WorkflowNotFound]),
        Route::PutWorkflow { .. } => row
            .takes(json!({
                "name": "Release",
                "steps": [{ "id": "notes", "title": "Notes", "instructions": "Write what changed." }],
            }))
            .gives::<WorkflowDetail>(200)
            .refuses(&[E::InvalidRequest, E::TooManyWorkflows, E::QuotaExceeded]),
        Route::DeleteWorkflow { .. } => row.gives_nothing("It is deleted.").refuses(&[E::WorkflowNotFound]),
        Route::StartSession { .. } => {
            row.takes(json!({ "goal": "Version 0.2" })).gives::<SessionAnswer>(200).refuses(&[
                E::WorkflowNotFound,
                E::TooManyThreads,
                E::TooManyTurns,
                E::RateLimited,
                E::QuotaExceeded,
                E::Misconfigured,
                E::ObjectTooNew,
                E::VersionsDiffer,
            ])
        }
        Route::ContinueSession { .. } => row
            .takes(json!({
                "continue_token": "a-token",
                "notesMarkdown": "The changelog has three new lines: deploy, description, examples.",
            }))
            .gives::<SessionAnswer>(200)
            .refuses(&[
                E::SessionNotFound,
                E::TokenRefused,
                E::TokenSpent,
                E::Misconfigured,
                E::ObjectTooNew,
                E::VersionsDiffer,
            ]),
        Route::EndSession { .. } => {
            row.in_thread().gives_nothing("It has ended.").refuses(&[E::SessionNotFound, E::TurnInProgress])
        }
    }
}
