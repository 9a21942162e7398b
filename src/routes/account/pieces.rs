//! The files of an export, piece by piece.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use wire::protocol::r2_key;
use worker::{Bucket, Conditional, Object, Range, Result};

use crate::account::export::{Line, PIECE_BYTES, Place, line};
use crate::account::kinds::Folder;

/// The next piece of a folder's files, and the place behind it. A file that changes while it is read begins anew, in its
/// new version.
pub async fn piece(bucket: &Bucket, folder: &Folder, place: &Place) -> Result<Option<(Line, Place)>> {
    // A cursor that somebody made up may name a file that cannot be; no file is behind it.
    let Some(last) = r2_key(&folder.prefix, place.name().unwrap_or_default()) else { return Ok(None) };
    let begun = match &place.piece {
        Some((version, from)) => {
            let found = bucket.head(&last).await?;
            found.map(|object| (if object.etag() == *version { *from } else { 0 }, object))
        }
        None => None,
    };
    let found = match begun {
        Some(begun) => Some(begun),
        None => {
            let list = bucket.list().prefix(folder.prefix.as_str()).limit(1);
            let list = match place.name() {
                Some(_) => list.start_after(last),
                None => list,
            };
            list.execute().await?.objects().into_iter().next().map(|object| (0, object))
        }
    };
    let Some((from, object)) = found else { return Ok(None) };
    let key = object.key();
    let name = key.strip_prefix(&folder.prefix).unwrap_or_default();
    let (bytes, version) = (object.size(), object.etag());
    let body = content(bucket, &object, from).await?;
    let piece = json!({
        "path": name,
        "version": version,
        "bytes": bytes,
        "updated_at": object.uploaded().as_millis(),
        "offset": from,
        "content_base64": BASE64_STANDARD.encode(&body),
    });
    let read = from + body.len() as u64;
    let next = Place { piece: (read < bytes).then_some((version, read)), ..place.after(vec![name.into()]) };
    Ok(Some((line(folder.line, piece), next)))
}

/// The bytes of a file from there on, as many as a line has.
async fn content(bucket: &Bucket, object: &Object, from: u64) -> Result<Vec<u8>> {
    if from >= object.size() {
        return Ok(Vec::new());
    }
    let range = Range::OffsetWithLength { offset: from, length: PIECE_BYTES };
    let same = Conditional { etag_matches: Some(object.etag()), ..Conditional::default() };
    let found = bucket.get(object.key()).range(range).only_if(same).execute().await?;
    match found.as_ref().and_then(Object::body) {
        Some(body) => body.bytes().await,
        None => Err("a file changed while it was read".into()),
    }
}
