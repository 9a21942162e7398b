//! The storage port of the file tools.

use futures::future::LocalBoxFuture;
use wire::store::StoreError;

/// The files of all workspaces. A key is the root of a workspace and a path.
pub trait Files {
    /// Reads a file. A file with more than `max_bytes` comes without its content. None if the file does not exist.
    fn read(
        &self,
        key: &str,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Option<FileRead>, StoreError>>;
    /// Writes a whole file or nothing, and stores the operation with it.
    fn write(
        &self,
        key: &str,
        body: Vec<u8>,
        only_if: OnlyIf,
        operation: &str,
    ) -> LocalBoxFuture<'static, Result<Written, StoreError>>;
    /// Deletes the files that exist, at most a thousand.
    fn delete(&self, keys: Vec<String>) -> LocalBoxFuture<'static, Result<(), StoreError>>;
    /// The first thousand files with this prefix, sorted by key.
    fn list(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<FileInfo>, StoreError>>;
    /// The first thousand folders directly below a folder, sorted.
    fn folders(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<String>, StoreError>>;
}

/// A file, and its content if the caller asked for it.
pub type FileRead = (FileInfo, Option<Vec<u8>>);

/// A file without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    pub key: String,
    pub bytes: u64,
    /// The version, which changes with the content.
    pub version: String,
    /// The operation that wrote the file, if the storage knows it.
    pub operation: Option<String>,
    /// Milliseconds since 1970.
    pub updated_at: u64,
}

/// The condition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnlyIf {
    Absent,
    Version(String),
    /// Write in any case.
    Always,
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Written; the file's new version.
    Version(String),
    /// Not written; the present file, if there is one.
    Refused(Option<FileInfo>),
}

/// R2 takes no key of this length.
pub(super) fn too_long() -> StoreError {
    StoreError("a key is too long".to_owned())
}
