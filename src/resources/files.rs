//! Files: the workspace of a thread, and named workspaces.

use super::words::*;
use crate::body::Body::File;

#[cfg(test)]
use crate::openapi::contract::header;
#[cfg(target_arch = "wasm32")]
use crate::routes::files;
#[cfg(target_arch = "wasm32")]
use crate::routes::files::WorkspaceName::{Named, OfThread};
#[cfg(test)]
use wire::protocol::{FileEntry, FileList, FileVersionList, WorkspaceList};

routes! {
    /// Lists the files of a thread's workspace, by path. The list has all of them.
    Get "/api/threads/{}/files" => Files(id), Needs(Read), Nothing, Reads,
        |r| files::list(r.call, r.caller.owner()?, OfThread(id)),
        |row| row.in_thread().gives::<FileList>(200);
    /// Returns a file as it is stored, for saving. It comes as `application/octet-stream`, and its version is the `ETag`.
    Get "/api/threads/{}/files/{*}" => File(id, path), Needs(Read), Nothing, Reads,
        |r| files::get(r.call, r.caller.owner()?, OfThread(id), path),
        |row| row.in_thread().gives_file();
    /// Writes a file. It replaces the file that is there, unless a condition forbids that. The body is the file.
    /// `If-Match: ETAG` writes only over that version, and `If-None-Match: *` only where there is no file; else the answer
    /// is 412 `precondition_failed`. Without either header it replaces any version. The answer is the file's entry of the
    /// list, with its `ETag`.
    Put "/api/threads/{}/files/{*}" => PutFile(id, path), Needs(Write), File, Uploads,
        |r| files::put(r.call, r.caller.owner()?, OfThread(id), path, take(r.body)),
        |row| row.in_thread().writes_file();
    /// Deletes a file.
    Delete "/api/threads/{}/files/{*}" => DeleteFile(id, path), Needs(Write), Nothing, Deletes,
        |r| files::delete(r.call, r.caller.owner()?, OfThread(id), path),
        |row| row.in_thread().deletes_file();
    /// Lists the earlier versions of the files of a thread's workspace, the last replaced one first. Files that are
    /// deleted have versions too. The list has those of all files.
    Get "/api/threads/{}/file-versions" => FileVersions(id), Needs(Read), Nothing, Reads,
        |r| files::versions(r.call, r.caller.owner()?, OfThread(id)),
        |row| row.in_thread().gives::<FileVersionList>(200);
    /// Lists the user's named workspaces that contain files, by name.
    Get "/api/workspaces" => Workspaces, Needs(Read), Nothing, Reads,
        |r| files::workspaces(r.call, r.caller.owner()?),
        |row| row.gives::<WorkspaceList>(200);
    /// Deletes all files of a named workspace, and their earlier versions. The next file creates the workspace again.
    Delete "/api/workspaces/{}" => DeleteWorkspace(workspace), Needs(Write), Nothing, Deletes,
        |r| files::delete_workspace(r.call, r.caller.owner()?, workspace),
        |row| row.in_workspace().gives_nothing("It has no files.");
    /// Lists the files of a named workspace, by path. The list is as for a thread's files.
    Get "/api/workspaces/{}/files" => WorkspaceFiles(workspace), Needs(Read), Nothing, Reads,
        |r| files::list(r.call, r.caller.owner()?, Named(workspace)),
        |row| row.in_workspace().gives::<FileList>(200);
    /// Returns a file of a named workspace as it is stored, for saving. The answer is as for a thread's file.
    Get "/api/workspaces/{}/files/{*}" => WorkspaceFile(workspace, path), Needs(Read), Nothing, Reads,
        |r| files::get(r.call, r.caller.owner()?, Named(workspace), path),
        |row| row.in_workspace().gives_file();
    /// Writes a file of a named workspace. It replaces the file that is there, unless a condition forbids that. The
    /// body is the file. The first file creates the workspace. Conditions and answer are as for a thread's file.
    Put "/api/workspaces/{}/files/{*}" => PutWorkspaceFile(workspace, path), Needs(Write), File, Uploads,
        |r| files::put(r.call, r.caller.owner()?, Named(workspace), path, take(r.body)),
        |row| row.in_workspace().writes_file();
    /// Deletes a file of a named workspace.
    Delete "/api/workspaces/{}/files/{*}" => DeleteWorkspaceFile(workspace, path), Needs(Write), Nothing, Deletes,
        |r| files::delete(r.call, r.caller.owner()?, Named(workspace), path),
        |row| row.in_workspace().deletes_file();
    /// Lists the earlier versions of the files of a named workspace, the last replaced one first. The list is as for a
    /// thread's files.
    Get "/api/workspaces/{}/file-versions" => WorkspaceFileVersions(workspace), Needs(Read), Nothing, Reads,
        |r| files::versions(r.call, r.caller.owner()?, Named(workspace)),
        |row| row.in_workspace().gives::<FileVersionList>(200);
}

#[cfg(test)]
const ABSENT: &str = "`*`: write only where there is no file. Empty is the same as none.";

#[cfg(test)]
impl Contract {
    /// A route of a named workspace.
    fn in_workspace(self) -> Self {
        self.refuses(&[E::InvalidRequest])
    }

    /// A file of a workspace.
    fn gives_file(self) -> Self {
        let version = "The id of an earlier version, which comes in place of the present one. Empty is the same as none.";
        self.query(Parameter::text("version", version))
            .answers(200, "The file.", Some(Content::Bytes))
            .with_etag()
            .refuses(&[E::InvalidRequest, E::FileNotFound])
    }

    /// The same, as it is written.
    fn writes_file(self) -> Self {
        let absent = json!({ "type": "string", "enum": ["*", ""] });
        self.takes(json!("# Notes\n"))
            .header(Parameter::text("If-Match", "Write only over the version with this `ETag`."))
            .header(Parameter::new("If-None-Match", ABSENT, absent))
            .gives::<FileEntry>(200)
            .with_etag()
            .refuses(&[E::InvalidRequest, E::PreconditionFailed, E::WorkspaceFull, E::QuotaExceeded])
    }

    /// With the version of the file.
    fn with_etag(self) -> Self {
        self.with_header(200, "ETag", header("The version, for `If-Match`.", "string"))
    }

    fn deletes_file(self) -> Self {
        self.gives_nothing("It is deleted.").refuses(&[E::InvalidRequest, E::FileNotFound])
    }
}
