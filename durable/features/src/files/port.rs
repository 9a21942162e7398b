//! What the file tools need of a storage.

use futures::future::LocalBoxFuture;

/// The files of all workspaces, by whole keys: root and path.
pub trait Files {
    /// The file and what it contains, up to so many bytes: a larger one comes without. None where there is none.
    fn read(
        &self,
        key: &str,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Option<FileRead>, FilesError>>;
    /// Writes a file whole, or not at all. The operation is kept with it.
    fn write(
        &self,
        key: &str,
        body: Vec<u8>,
        only_if: OnlyIf,
        operation: &str,
    ) -> LocalBoxFuture<'static, Result<Written, FilesError>>;
    /// Deletes a file, if it is there.
    fn delete(&self, key: &str) -> LocalBoxFuture<'static, Result<(), FilesError>>;
    /// The files whose keys begin so, in the order of their keys: the first thousand.
    fn list(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<FileInfo>, FilesError>>;
    /// The folders right below a folder in which there are files, in order: the first thousand.
    fn folders(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<String>, FilesError>>;
}

/// A file, and what it contains where that was asked for.
pub type FileRead = (FileInfo, Option<Vec<u8>>);

/// A file without what it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    pub key: String,
    pub bytes: u64,
    /// Another one for other contents.
    pub version: String,
    /// The operation that wrote it, where the storage tells.
    pub operation: Option<String>,
    /// Milliseconds since 1970.
    pub updated_at: u64,
}

/// What must hold for a write to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnlyIf {
    Absent,
    Version(String),
    /// Whatever is there.
    Always,
}

/// What a write came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file's new version.
    Version(String),
    /// Nothing was written. What is there instead, if anything.
    Refused(Option<FileInfo>),
}

/// The storage did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesError(pub String);
