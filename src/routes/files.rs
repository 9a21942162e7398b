//! The files of a workspace, a thread's own or a named one. The agent's tools work on the same files.

use features::files::history::{self, Version};
use features::files::store::R2Files;
use features::files::{FileInfo, Files, OnlyIf, Written};
use features::files::{MAX_FILE_BYTES, path, room};
use uuid::Uuid;
use wire::protocol::{
    ApiError, ErrorCode, FileEntry, FileList, FileVersion, FileVersionList, Owner, ThreadCommand,
    WorkspaceList, check_workspace, r2_key,
};
use wire::store::StoreError;

use super::{audit, threads, uploads};
use crate::body::HeldBody;
use crate::call::{Answer, Call};
use crate::paths;
use crate::problem::Failure;
use crate::reply::Reply;

/// The operation id of a user's own write. No call of a tool has this id.
const UPLOAD: &str = "upload";

/// The workspace that a request names.
#[derive(Clone, Copy)]
pub enum WorkspaceName<'a> {
    /// The one of the thread with this id.
    OfThread(&'a str),
    /// The one with this name.
    Named(&'a str),
}

/// A workspace of the user.
struct Workspace {
    files: R2Files,
    root: String,
}

/// `GET /api/workspaces`: the names of those that contain files.
pub async fn workspaces(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let files = R2Files::new(&call.env);
    let workspaces = match &files {
        Some(files) => files.folders(&owner.workspaces_root()).await.map_err(unreachable)?,
        None => Vec::new(),
    };
    Ok(Reply::json(200, &WorkspaceList { workspaces }).into())
}

/// `DELETE /api/workspaces/{name}`: with all its files.
pub async fn delete_workspace(call: &Call, owner: Owner, name: &str) -> Result<Answer, Failure> {
    let own = owner.clone();
    let Workspace { files, root } = match Workspace::of(call, owner, WorkspaceName::Named(name)).await? {
        Ok(workspace) => workspace,
        Err(refusal) => return Ok(refusal),
    };
    let folders = [root.clone(), history::folder(&root)];
    let mut is_empty = true;
    for folder in &folders {
        is_empty = is_empty && files.list(folder).await.map_err(unreachable)?.is_empty();
    }
    if is_empty {
        return Ok(Reply::empty().into());
    }
    audit::record_deletion(call, &own).await?;
    for folder in &folders {
        files.delete_all(folder).await.map_err(unreachable)?;
    }
    Ok(Reply::empty().into())
}

/// `GET …/file-versions`: the earlier versions of all files, deleted ones included.
pub async fn versions(call: &Call, owner: Owner, name: WorkspaceName<'_>) -> Result<Answer, Failure> {
    let Workspace { files, root } = match Workspace::of(call, owner, name).await? {
        Ok(workspace) => workspace,
        Err(refusal) => return Ok(refusal),
    };
    let versions = history::list(&files, &root).await.map_err(unreachable)?.into_iter();
    let told = |Version { id, path, bytes, written_at, replaced_at, written_by }| FileVersion {
        id,
        path,
        bytes,
        written_at,
        replaced_at,
        written_by,
    };
    Ok(Reply::json(200, &FileVersionList { versions: versions.map(told).collect() }).into())
}

/// `GET …/files`: all of them, in the order of their paths.
pub async fn list(call: &Call, owner: Owner, name: WorkspaceName<'_>) -> Result<Answer, Failure> {
    let workspace = match Workspace::of(call, owner, name).await? {
        Ok(workspace) => workspace,
        Err(refusal) => return Ok(refusal),
    };
    let files = workspace.files.list(&workspace.root).await.map_err(unreachable)?;
    let entry = |file: FileInfo| FileEntry {
        path: file.key.strip_prefix(&workspace.root).unwrap_or_default().to_owned(),
        bytes: file.bytes,
        updated_at: file.updated_at,
        version: file.version,
    };
    Ok(Reply::json(200, &FileList { files: files.into_iter().map(entry).collect() }).into())
}

/// `GET …/files/{path}`: the file as it is stored, or the earlier version that the query names. A browser saves it, and
/// never shows it as a page of this origin.
pub async fn get(call: &Call, owner: Owner, name: WorkspaceName<'_>, path: &str) -> Result<Answer, Failure> {
    let path = named(path)?;
    let workspace = match Workspace::of(call, owner, name).await? {
        Ok(workspace) => workspace,
        Err(refusal) => return Ok(refusal),
    };
    // An id has no character that a query encodes.
    let wanted = call.query().split('&').find_map(|pair| pair.strip_prefix("version="));
    let Workspace { files, root } = &workspace;
    let found = match wanted.filter(|id| !id.is_empty()) {
        Some(id) => history::read(files, root, &path, id).await,
        None => files.read(&workspace.key(&path)?, MAX_FILE_BYTES).await,
    };
    let Some((info, Some(body))) = found.map_err(unreachable)? else { return Err(not_found()) };
    let last = path.rsplit('/').next().unwrap_or_default();
    let reply = Reply::bytes(200, "application/octet-stream", body)
        .with("content-disposition", format!("attachment; filename*=UTF-8''{}", paths::encoded(last)))
        .with("etag", format!("\"{}\"", info.version))
        .with("cache-control", "private, no-cache");
    Ok(reply.into())
}

/// `PUT …/files/{path}`: writes the body. `If-Match` and `If-None-Match: *` can keep it from replacing a file.
pub async fn put(
    call: &Call,
    owner: Owner,
    name: WorkspaceName<'_>,
    path: &str,
    body: HeldBody,
) -> Result<Answer, Failure> {
    let (body, _permit) = body.into_parts();
    let path = named(path)?;
    let only_if = condition(call)?;
    let own = owner.clone();
    let workspace = match Workspace::of(call, owner, name).await? {
        Ok(workspace) => workspace,
        Err(refusal) => return Ok(refusal),
    };
    let bytes = body.len();
    let writing = write(&workspace, &path, body, only_if);
    let is_stored = |written: &Written| matches!(written, Written::Version(_));
    match uploads::within(call, &own, bytes, writing, is_stored).await? {
        Written::Version(version) => {
            let entry =
                FileEntry { path, bytes: bytes as u64, updated_at: call.now, version: version.clone() };
            Ok(Reply::json(200, &entry).with("etag", format!("\"{version}\"")).into())
        }
        Written::Refused(found) => {
            let why = if found.is_some() { "the file has changed" } else { "there is no such file" };
            Err(ApiError::new(ErrorCode::PreconditionFailed, why).into())
        }
    }
}

async fn write(
    workspace: &Workspace,
    path: &str,
    body: Vec<u8>,
    only_if: OnlyIf,
) -> Result<Written, Failure> {
    let Workspace { files, root } = workspace;
    let room = room(files, root, &workspace.key(path)?, body.len()).await.map_err(unreachable)?;
    room.map_err(|why| ApiError::new(ErrorCode::WorkspaceFull, why))?;
    history::write(files, root, path, body, only_if, UPLOAD).await.map_err(unreachable)
}

/// `DELETE …/files/{path}`.
pub async fn delete(
    call: &Call,
    owner: Owner,
    name: WorkspaceName<'_>,
    path: &str,
) -> Result<Answer, Failure> {
    let (path, own) = (named(path)?, owner.clone());
    let workspace = match Workspace::of(call, owner, name).await? {
        Ok(workspace) => workspace,
        Err(refusal) => return Ok(refusal),
    };
    let Workspace { files, root } = &workspace;
    let found = files.read(&workspace.key(&path)?, MAX_FILE_BYTES).await.map_err(unreachable)?;
    let found = found.ok_or_else(not_found)?;
    audit::record_deletion(call, &own).await?;
    history::delete(files, root, &path, found).await.map_err(unreachable)?;
    Ok(Reply::empty().into())
}

impl Workspace {
    /// The workspace of this name; where it is a thread's and there is no such thread, the answer of the thread's object.
    async fn of(call: &Call, owner: Owner, name: WorkspaceName<'_>) -> Result<Result<Self, Answer>, Failure> {
        let files = R2Files::new(&call.env).ok_or_else(|| {
            ApiError::new(
                ErrorCode::Misconfigured,
                "this deployment has no workspace: its R2 binding is missing",
            )
        })?;
        let id = match name {
            WorkspaceName::OfThread(id) => id,
            WorkspaceName::Named(name) => {
                check_workspace(name).map_err(|why| ApiError::field("workspace", why))?;
                return Ok(Ok(Workspace { files, root: format!("{}{name}/", owner.workspaces_root()) }));
            }
        };
        let answer = threads::ask(call, owner.clone(), id, ThreadCommand::Detail).await?;
        match &answer {
            Answer::Object(response) if response.ok() => {}
            _ => return Ok(Err(answer)),
        }
        let thread_id = Uuid::try_parse(id).map_err(Failure::internal("reading a thread's id"))?;
        Ok(Ok(Workspace { files, root: owner.workspace_root(thread_id) }))
    }

    fn key(&self, path: &str) -> Result<String, Failure> {
        r2_key(&self.root, path).ok_or_else(not_found)
    }
}

/// Decodes and checks the path in a URL.
fn named(encoded: &str) -> Result<String, Failure> {
    let named = paths::decoded(encoded).and_then(|path| path::check(&path).map(|()| path));
    named.map_err(|why| ApiError::field("path", why).into())
}

fn condition(call: &Call) -> Result<OnlyIf, Failure> {
    // An empty header counts as none, as in the runtime.
    let sent = |name: &str| call.header(name).filter(|text| !text.trim().is_empty());
    match (sent("if-match"), sent("if-none-match")) {
        (None, None) => Ok(OnlyIf::Always),
        (Some(etag), None) => Ok(OnlyIf::Version(etag.trim().trim_matches('"').to_owned())),
        (None, Some(star)) if star.trim() == "*" => Ok(OnlyIf::Absent),
        _ => Err(ApiError::new(
            ErrorCode::InvalidRequest,
            "expected either If-Match: ETAG or If-None-Match: *",
        )
        .into()),
    }
}

fn not_found() -> Failure {
    ApiError::new(ErrorCode::FileNotFound, "there is no file with this path").into()
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading or writing files in R2")(error)
}
