//! The records in R2.

use worker::{Bucket, Data, Env, HttpMetadata, Object};

use super::key;
use wire::protocol::r2_key;

/// The name of the binding (wrangler.toml); the files of workspaces lie in the same bucket.
const BINDING: &str = "WORKSPACE";
/// The most keys of a page.
const PAGE: u32 = 1_000;
/// The type of a record.
pub const TYPE: &str = "application/x-ndjson";

/// The records of one thread.
pub struct R2Records {
    bucket: Bucket,
    /// The folder of the thread.
    root: String,
}

/// One page of a list: name, bytes and time of each record, and whether there are more.
pub type Page = (Vec<(String, u64, u64)>, bool);

impl R2Records {
    /// The records below this folder; none without the binding.
    pub fn new(env: &Env, root: String) -> Option<Self> {
        env.bucket(BINDING).ok().map(|bucket| R2Records { bucket, root })
    }

    /// Stores a record. A repeated one takes the place of the first.
    pub async fn put(&self, name: &str, text: String) -> worker::Result<()> {
        let metadata = HttpMetadata { content_type: Some(TYPE.to_owned()), ..HttpMetadata::default() };
        let key = r2_key(&self.root, name).ok_or("the key of a record is too long")?;
        let put = self.bucket.put(key, Data::Text(text));
        put.http_metadata(metadata).execute().await.map(drop)
    }

    /// A record.
    pub async fn get(&self, name: &str) -> worker::Result<Option<Object>> {
        match r2_key(&self.root, name) {
            Some(key) => self.bucket.get(key).execute().await,
            None => Ok(None),
        }
    }

    /// The records after a name, newest turn first.
    pub async fn list(&self, after: Option<&str>, limit: u32) -> worker::Result<Page> {
        let list = self.bucket.list().prefix(self.root.as_str()).limit(limit);
        let list = match after.and_then(|name| r2_key(&self.root, name)) {
            Some(key) => list.start_after(key),
            None => list,
        };
        let page = list.execute().await?;
        let entry = |object: &Object| {
            let name = object.key().strip_prefix(&self.root).unwrap_or_default().to_owned();
            (name, object.size(), object.uploaded().as_millis())
        };
        Ok((page.objects().iter().map(entry).collect(), page.truncated()))
    }

    /// Deletes all but the newest records.
    pub async fn keep(&self, newest: u32) -> worker::Result<()> {
        let (records, _) = self.list(None, PAGE).await?;
        let older = records.into_iter().skip(newest as usize);
        self.delete(older.map(|(name, ..)| name)).await
    }

    /// Deletes all of them.
    pub async fn delete_all(&self) -> worker::Result<()> {
        loop {
            let (records, more) = self.list(None, PAGE).await?;
            self.delete(records.into_iter().map(|(name, ..)| name)).await?;
            if !more {
                return Ok(());
            }
        }
    }

    async fn delete(&self, names: impl Iterator<Item = String>) -> worker::Result<()> {
        let keys: Vec<String> = names.filter_map(|name| r2_key(&self.root, &name)).collect();
        if keys.is_empty() { Ok(()) } else { self.bucket.delete_multiple(keys).await }
    }
}

/// The turn of a record in a list.
pub fn turn_id(name: &str) -> String {
    key::turn_id(name).unwrap_or_default().to_owned()
}
