//! The answers of the routes of projects.

use serde_json::{Value, json};
use wire::protocol::{
    DocumentDetail, ErrorCode, ProjectDetail, ProjectEntry, ProjectList, ProjectTask, TemplateList,
};

use super::contract::Contract;
use crate::router::ProjectsRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    match route {
        Route::Templates => row.gives::<TemplateList>(200),
        Route::Projects => row.gives::<ProjectList>(200),
        Route::Project { .. } => row.of_project().gives::<ProjectDetail>(200),
        Route::ChangeProject { .. } => {
            row.of_project().changes(json!({ "description": "Roses and herbs." })).gives::<ProjectEntry>(200)
        }
        Route::ChangeTask { .. } => row
            .of_project()
            .changes(json!({ "notes": "Ask the neighbours first." }))
            .gives::<ProjectTask>(200),
        Route::ProjectDocument { .. } => row.of_project().gives::<DocumentDetail>(200),
        Route::ChangeProjectDocument { .. } => {
            row.of_project().changes(json!({ "content": "# Roses\n" })).gives::<DocumentDetail>(200)
        }
        Route::DeleteProject { .. } | Route::DeleteTask { .. } | Route::DeleteProjectDocument { .. } => {
            row.of_project().gives_nothing("It is deleted.")
        }
    }
}

impl Contract {
    /// A route of a project, or of a part of one.
    fn of_project(self) -> Self {
        self.refuses(&[ErrorCode::ProjectNotFound])
    }

    /// A route that changes it, for example so.
    fn changes(self, example: Value) -> Self {
        self.takes(example).refuses(&[ErrorCode::ProjectConflict])
    }
}
