//! The files of workspaces in R2.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use worker::{Bucket, Conditional, Data, Env, HttpMetadata, Object};

use crate::files::MAX_FILES;
use crate::files::{FileInfo, FileRead, Files, OnlyIf, Written};
use wire::store::StoreError;

/// The name of the binding (wrangler.toml).
const BINDING: &str = "WORKSPACE";
/// The key of the operation in a file's metadata.
const OPERATION: &str = "operation";

/// The bucket.
pub struct R2Files(Bucket);

impl R2Files {
    /// The bucket of this deployment; none without the binding.
    pub fn new(env: &Env) -> Option<Self> {
        env.bucket(BINDING).ok().map(R2Files)
    }

    /// Deletes all files with this prefix.
    pub async fn delete_all(&self, prefix: &str) -> Result<(), StoreError> {
        // Concurrent uploads may exceed one page. The next iteration finds the rest.
        loop {
            let files = self.list(prefix).await?;
            let keys: Vec<String> = files.into_iter().map(|file| file.key).collect();
            let whole = keys.len() < MAX_FILES;
            if !keys.is_empty() {
                self.0.delete_multiple(keys).await.map_err(failed)?;
            }
            if whole {
                return Ok(());
            }
        }
    }
}

impl Files for R2Files {
    fn read(
        &self,
        key: &str,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Option<FileRead>, StoreError>> {
        let (bucket, key) = (self.0.clone(), key.to_owned());
        async move {
            let found = match max_bytes {
                0 => bucket.head(key).await,
                _ => bucket.get(key).execute().await,
            };
            let Some(object) = found.map_err(failed)? else { return Ok(None) };
            let info = info(&object);
            let body = match object.body() {
                Some(body) if info.bytes <= max_bytes as u64 => Some(body.bytes().await.map_err(failed)?),
                // Dropping the unread body makes the platform cancel it.
                _ => None,
            };
            Ok(Some((info, body)))
        }
        .boxed_local()
    }

    fn write(
        &self,
        key: &str,
        body: Vec<u8>,
        only_if: OnlyIf,
        operation: &str,
    ) -> LocalBoxFuture<'static, Result<Written, StoreError>> {
        let (bucket, key, operation) = (self.0.clone(), key.to_owned(), operation.to_owned());
        async move {
            let condition = match only_if {
                // R2 treats the etag `*` as the etag of any object.
                OnlyIf::Absent => {
                    Some(Conditional { etag_does_not_match: Some("*".to_owned()), ..Conditional::default() })
                }
                OnlyIf::Version(version) => {
                    Some(Conditional { etag_matches: Some(version), ..Conditional::default() })
                }
                OnlyIf::Always => None,
            };
            let put = bucket
                .put(&key, Data::Bytes(body))
                .custom_metadata([(OPERATION.to_owned(), operation)])
                .http_metadata(HttpMetadata::default());
            let put = match condition {
                Some(condition) => put.only_if(condition),
                None => put,
            };
            match put.execute().await.map_err(failed)? {
                Some(object) => Ok(Written::Version(object.etag())),
                None => Ok(Written::Refused(bucket.head(key).await.map_err(failed)?.as_ref().map(info))),
            }
        }
        .boxed_local()
    }

    fn delete(&self, keys: Vec<String>) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        let bucket = self.0.clone();
        async move { bucket.delete_multiple(keys).await.map_err(failed) }.boxed_local()
    }

    fn list(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<FileInfo>, StoreError>> {
        let (bucket, prefix) = (self.0.clone(), prefix.to_owned());
        async move {
            let page = bucket.list().prefix(prefix).execute().await.map_err(failed)?;
            Ok(page.objects().iter().map(info).collect())
        }
        .boxed_local()
    }

    fn folders(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<String>, StoreError>> {
        let (bucket, prefix) = (self.0.clone(), prefix.to_owned());
        async move {
            let page =
                bucket.list().prefix(prefix.as_str()).delimiter("/").execute().await.map_err(failed)?;
            let name = |folder: String| Some(folder.strip_prefix(&prefix)?.strip_suffix('/')?.to_owned());
            Ok(page.delimited_prefixes().into_iter().filter_map(name).collect())
        }
        .boxed_local()
    }
}

fn info(object: &Object) -> FileInfo {
    FileInfo {
        key: object.key(),
        bytes: object.size(),
        version: object.etag(),
        operation: object.custom_metadata().ok().and_then(|mut metadata| metadata.remove(OPERATION)),
        updated_at: object.uploaded().as_millis(),
    }
}

fn failed(error: worker::Error) -> StoreError {
    worker::console_error!("R2: {error}");
    StoreError(format!("R2: {error}"))
}
