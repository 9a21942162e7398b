//! The answers of the routes of workflows.

use wire::protocol::{ErrorCode as E, SessionAnswer, WorkflowDetail, WorkflowList};

use super::contract::Contract;
use crate::router::WorkflowsRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    match route {
        Route::Workflows => row.gives::<WorkflowList>(200),
        Route::Workflow { .. } => row.gives::<WorkflowDetail>(200).refuses(&[E::WorkflowNotFound]),
        Route::PutWorkflow { .. } => {
            row.gives::<WorkflowDetail>(200).refuses(&[E::InvalidRequest, E::TooManyWorkflows])
        }
        Route::DeleteWorkflow { .. } => row.gives_nothing("It is deleted.").refuses(&[E::WorkflowNotFound]),
        Route::StartSession { .. } => row.gives::<SessionAnswer>(200).refuses(&[
            E::WorkflowNotFound,
            E::TooManyThreads,
            E::TooManyTurns,
            E::RateLimited,
            E::QuotaExceeded,
            E::Misconfigured,
            E::ObjectTooNew,
            E::VersionsDiffer,
        ]),
        Route::ContinueSession { .. } => row.gives::<SessionAnswer>(200).refuses(&[
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
