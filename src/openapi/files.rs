//! The answers of the routes of files and workspaces.

use serde_json::json;
use wire::protocol::{ErrorCode, FileEntry, FileList, FileVersionList, WorkspaceList};

use super::contract::{Content, Contract, Parameter, header};
use crate::router::FilesRoute as Route;

const ABSENT: &str = "`*`: write only where there is no file. Empty is the same as none.";

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    match route {
        Route::Files { .. } => row.in_thread().gives::<FileList>(200),
        Route::File { .. } => row.in_thread().gives_file(),
        Route::PutFile { .. } => row.in_thread().writes_file(),
        Route::DeleteFile { .. } => row.in_thread().deletes_file(),
        Route::FileVersions { .. } => row.in_thread().gives::<FileVersionList>(200),
        Route::Workspaces => row.gives::<WorkspaceList>(200),
        Route::DeleteWorkspace { .. } => row.in_workspace().gives_nothing("It has no files."),
        Route::WorkspaceFiles { .. } => row.in_workspace().gives::<FileList>(200),
        Route::WorkspaceFile { .. } => row.in_workspace().gives_file(),
        Route::PutWorkspaceFile { .. } => row.in_workspace().writes_file(),
        Route::DeleteWorkspaceFile { .. } => row.in_workspace().deletes_file(),
        Route::WorkspaceFileVersions { .. } => row.in_workspace().gives::<FileVersionList>(200),
    }
}

impl Contract {
    /// A route of a named workspace.
    fn in_workspace(self) -> Self {
        self.refuses(&[ErrorCode::InvalidRequest])
    }

    /// A file of a workspace.
    fn gives_file(self) -> Self {
        let version = "The id of an earlier version, which comes in place of the present one. Empty is the same as none.";
        self.query(Parameter::text("version", version))
            .answers(200, "The file.", Some(Content::Bytes))
            .with_etag()
            .refuses(&[ErrorCode::InvalidRequest, ErrorCode::FileNotFound])
    }

    /// The same, as it is written.
    fn writes_file(self) -> Self {
        let absent = json!({ "type": "string", "enum": ["*", ""] });
        self.takes(json!("# Notes\n"))
            .header(Parameter::text("If-Match", "Write only over the version with this `ETag`."))
            .header(Parameter::new("If-None-Match", ABSENT, absent))
            .gives::<FileEntry>(200)
            .with_etag()
            .refuses(&[
                ErrorCode::InvalidRequest,
                ErrorCode::PreconditionFailed,
                ErrorCode::WorkspaceFull,
                ErrorCode::QuotaExceeded,
            ])
    }

    /// With the version of the file.
    fn with_etag(self) -> Self {
        self.with_header(200, "ETag", header("The version, for `If-Match`.", "string"))
    }

    fn deletes_file(self) -> Self {
        self.gives_nothing("It is deleted.").refuses(&[ErrorCode::InvalidRequest, ErrorCode::FileNotFound])
    }
}
