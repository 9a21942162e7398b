//! The earlier contents of files. A content that a write replaces, or a deletion removes, stays as a version of its file.
//!
//! The content is copied before it goes, so a crash between both loses nothing. The copy's key names the content, so a
//! repeated call makes no second copy. A version is an object like any, beside the workspaces: no list of files has it.

use wire::protocol::r2_key;
use wire::store::StoreError;

use super::port::too_long;
use super::{FileInfo, FileRead, Files, MAX_FILE_BYTES, MAX_WORKSPACE_BYTES, OnlyIf, Written};

/// The most earlier versions of one file.
pub const MAX_VERSIONS_OF_FILE: usize = 20;
/// The most earlier versions of a workspace: far below a page of R2's list, so each list is whole.
pub const MAX_VERSIONS: usize = 200;
/// The most bytes of all earlier versions of a workspace: as many as its files may have.
pub const MAX_VERSIONS_BYTES: u64 = MAX_WORKSPACE_BYTES;

/// The folder of all versions.
const FOLDER: &str = "versions/";
/// Stands between a path and the id of a version: no path has a colon.
const MARK: char = ':';
/// The longest name of a writer that an id has: a key of R2 has at most 1,024 bytes, and a path has 512 of them.
const MAX_WRITER_BYTES: usize = 200;
/// How often a write without a condition begins again, because the file has changed since its content was copied.
const MOST_ATTEMPTS: u32 = 5;
/// R2 takes this for the version of any file.
const ANY: &str = "*";

/// An earlier version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub id: String,
    pub path: String,
    pub bytes: u64,
    /// When the content was written, and when it was replaced or deleted (milliseconds since 1970).
    pub written_at: u64,
    pub replaced_at: u64,
    /// The operation that wrote it, if the storage knows it.
    pub written_by: Option<String>,
}

impl Version {
    fn of(folder: &str, info: &FileInfo) -> Option<Version> {
        let (path, id) = info.key.strip_prefix(folder)?.split_once(MARK)?;
        let (written_at, rest) = id.split_once('-')?;
        let written_by = rest.split_once('-').map(|(_, writer)| writer.to_owned());
        Some(Version {
            id: id.to_owned(),
            path: path.to_owned(),
            bytes: info.bytes,
            written_at: written_at.parse().ok()?,
            replaced_at: info.updated_at,
            written_by,
        })
    }
}

/// The folder of a workspace's versions.
pub fn folder(root: &str) -> String {
    format!("{FOLDER}{root}")
}

/// The versions of a workspace, the last replaced one first.
pub async fn list(files: &dyn Files, root: &str) -> Result<Vec<Version>, StoreError> {
    let folder = folder(root);
    let known = files.list(&folder).await?;
    let mut versions: Vec<Version> = known.iter().filter_map(|info| Version::of(&folder, info)).collect();
    versions.sort_by(|one, other| (other.replaced_at, &other.id).cmp(&(one.replaced_at, &one.id)));
    Ok(versions)
}

/// Reads a version of a file. None if it is not kept.
pub async fn read(
    files: &dyn Files,
    root: &str,
    path: &str,
    id: &str,
) -> Result<Option<FileRead>, StoreError> {
    match version_key(root, path, id).filter(|_| is_id(id)) {
        Some(key) => files.read(&key, MAX_FILE_BYTES).await,
        None => Ok(None),
    }
}

/// Writes a file under a condition, and keeps the content that it replaces.
pub async fn write(
    files: &dyn Files,
    root: &str,
    path: &str,
    body: Vec<u8>,
    only_if: OnlyIf,
    operation: &str,
) -> Result<Written, StoreError> {
    let key = r2_key(root, path).ok_or_else(too_long)?;
    let mut attempts = 0;
    loop {
        let (condition, is_any) = match &only_if {
            OnlyIf::Absent => (OnlyIf::Absent, false),
            OnlyIf::Version(version) if version != ANY => {
                keep_present(files, root, path, Some(version), &body).await?;
                (only_if.clone(), false)
            }
            // The copy must be of the very content that goes.
            OnlyIf::Version(_) | OnlyIf::Always => {
                let present = keep_present(files, root, path, None, &body).await?;
                (present.map_or(only_if_absent(&only_if), OnlyIf::Version), true)
            }
        };
        let written = files.write(&key, body.clone(), condition, operation).await?;
        attempts += 1;
        if !is_any || matches!(written, Written::Version(_)) || attempts == MOST_ATTEMPTS {
            return Ok(written);
        }
    }
}

/// The condition where there is no file.
fn only_if_absent(only_if: &OnlyIf) -> OnlyIf {
    match only_if {
        OnlyIf::Always => OnlyIf::Absent,
        OnlyIf::Absent | OnlyIf::Version(_) => only_if.clone(),
    }
}

/// Deletes a file that the caller has read, and keeps its content.
pub async fn delete(
    files: &dyn Files,
    root: &str,
    path: &str,
    (info, body): FileRead,
) -> Result<(), StoreError> {
    if let Some(body) = body {
        keep(files, root, path, &info, body).await?;
    }
    files.delete(vec![info.key]).await
}

/// Keeps the present content of a file, where it has this version and another content than the one that comes. Returns the
/// present version.
async fn keep_present(
    files: &dyn Files,
    root: &str,
    path: &str,
    version: Option<&str>,
    next: &[u8],
) -> Result<Option<String>, StoreError> {
    let Some(key) = r2_key(root, path) else { return Ok(None) };
    let Some((info, body)) = files.read(&key, MAX_FILE_BYTES).await? else { return Ok(None) };
    // Only an object that somebody else put into the bucket is larger than a file may be.
    if let Some(body) = body
        && version.is_none_or(|version| version == info.version)
        && body != next
    {
        keep(files, root, path, &info, body).await?;
    }
    Ok(Some(info.version))
}

async fn keep(
    files: &dyn Files,
    root: &str,
    path: &str,
    info: &FileInfo,
    body: Vec<u8>,
) -> Result<(), StoreError> {
    let operation = info.operation.clone().unwrap_or_default();
    // A copy that is there is the same: its key has the content's version and time.
    let key = version_key(root, path, &id_of(info)).ok_or_else(too_long)?;
    files.write(&key, body, OnlyIf::Absent, &operation).await?;
    let surplus = surplus(root, path, files.list(&folder(root)).await?);
    match surplus.is_empty() {
        true => Ok(()),
        false => files.delete(surplus).await,
    }
}

/// The keys of the versions that must go, the oldest ones, after one of this file was added.
fn surplus(root: &str, path: &str, mut known: Vec<FileInfo>) -> Vec<String> {
    known.sort_by(|one, other| (one.updated_at, &one.key).cmp(&(other.updated_at, &other.key)));
    let of_file = format!("{}{path}{MARK}", folder(root));
    let mut of_this = known.iter().filter(|info| info.key.starts_with(&of_file)).count();
    let mut all = known.len();
    let mut bytes: u64 = known.iter().map(|info| info.bytes).sum();
    let mut surplus = Vec::new();
    for info in known {
        let is_of_this = info.key.starts_with(&of_file);
        let too_many = all > MAX_VERSIONS || bytes > MAX_VERSIONS_BYTES;
        if too_many || (is_of_this && of_this > MAX_VERSIONS_OF_FILE) {
            all -= 1;
            of_this -= usize::from(is_of_this);
            bytes -= info.bytes;
            surplus.push(info.key);
        }
    }
    surplus
}

fn version_key(root: &str, path: &str, id: &str) -> Option<String> {
    r2_key(&folder(root), &format!("{path}{MARK}{id}"))
}

/// The id of a content: when it was written, its version and who wrote it.
fn id_of(info: &FileInfo) -> String {
    let FileInfo { version, operation, updated_at, .. } = info;
    let fits = |writer: &&str| !writer.is_empty() && writer.len() <= MAX_WRITER_BYTES && is_id(writer);
    let writer = operation.as_deref().filter(fits).map(|writer| format!("-{writer}")).unwrap_or_default();
    format!("{updated_at:013}-{version}{writer}")
}

/// Whether an id has only characters that ids have, so that it names no other place.
fn is_id(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use wire::protocol::Owner;

    use super::*;
    use crate::files::path::MAX_BYTES;

    fn version(path: &str, at: u64, bytes: u64) -> FileInfo {
        let key = format!("versions/threads/t/{path}:{at:013}-v");
        FileInfo { key, bytes, version: String::new(), operation: None, updated_at: at }
    }

    // Issue 19, item 2.
    #[test]
    fn the_oldest_versions_go_first_beyond_each_limit() {
        let gone = |known: Vec<FileInfo>| surplus("threads/t/", "a", known);
        let key = |path: &str, at: u64| version(path, at, 0).key;
        let of_file = |count: usize| (0..count as u64).map(|at| version("a", at, 1)).collect::<Vec<_>>();
        assert_eq!(gone(of_file(MAX_VERSIONS_OF_FILE)), [""; 0]);
        let beyond = of_file(MAX_VERSIONS_OF_FILE + 2).into_iter().rev().collect();
        assert_eq!(gone(beyond), [key("a", 0), key("a", 1)]);
        // A file below a folder of the same name is another one.
        let others = (0..MAX_VERSIONS_OF_FILE as u64).map(|at| version("a/b", at, 1));
        assert_eq!(gone(others.chain(of_file(MAX_VERSIONS_OF_FILE)).collect()), [""; 0]);
        let of_all = |count: u64| (0..count).map(|at| version(&format!("f{at}"), at, 1)).collect::<Vec<_>>();
        assert_eq!(gone(of_all(MAX_VERSIONS as u64)), [""; 0]);
        assert_eq!(gone(of_all(MAX_VERSIONS as u64 + 1)), [key("f0", 0)]);
        let full = |last: u64| vec![version("x", 1, MAX_VERSIONS_BYTES - 10), version("a", 2, last)];
        assert_eq!(gone(full(10)), [""; 0]);
        assert_eq!(gone(full(11)), [key("x", 1)]);
    }

    // N-103
    #[test]
    fn the_longest_path_has_room_for_the_id_of_its_version() {
        let owner = Owner { issuer: "key".to_owned(), tenant: "t".to_owned(), user: "u".to_owned() };
        // A workspace has a name of at most 64 characters (`check_workspace`).
        let root = format!("{}{}/", owner.workspaces_root(), "w".repeat(64));
        let path = "a".repeat(MAX_BYTES);
        let info = FileInfo {
            // R2's etag of an object is its MD5.
            version: "0".repeat(32),
            operation: Some("x".repeat(MAX_WRITER_BYTES)),
            ..version("a", 1_700_000_000_000, 1)
        };
        assert!(version_key(&root, &path, &id_of(&info)).is_some());
        assert_eq!(version_key(&root, &path, &"0".repeat(MAX_BYTES)), None);
    }

    #[test]
    fn an_id_names_no_other_place() {
        let info = |operation: &str| FileInfo {
            operation: Some(operation.to_owned()),
            version: "0f".to_owned(),
            ..version("a", 7, 1)
        };
        assert_eq!(id_of(&info("call_1_0.2-1")), "0000000000007-0f-call_1_0.2-1");
        assert_eq!(id_of(&info(&"x".repeat(MAX_WRITER_BYTES))).len(), 17 + MAX_WRITER_BYTES);
        for odd in ["", "a/b", "a:b", &"x".repeat(MAX_WRITER_BYTES + 1)] {
            assert_eq!(id_of(&info(odd)), "0000000000007-0f", "{odd}");
        }
        for odd in ["../a", "a/b", "a:b", "a%2f", "ä"] {
            assert!(!is_id(odd), "{odd}");
        }
    }
}
