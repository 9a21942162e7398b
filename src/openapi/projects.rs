//! The answers of the routes of projects.

use wire::protocol::{DocumentDetail, ErrorCode, ProjectDetail, ProjectList, TemplateList};

use super::contract::Contract;
use crate::router::ProjectsRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    match route {
        Route::Templates => row.gives::<TemplateList>(200),
        Route::Projects => row.gives::<ProjectList>(200),
        Route::Project { .. } => row.gives::<ProjectDetail>(200).refuses(&[ErrorCode::ProjectNotFound]),
        Route::ProjectDocument { .. } => {
            row.gives::<DocumentDetail>(200).refuses(&[ErrorCode::ProjectNotFound])
        }
    }
}
