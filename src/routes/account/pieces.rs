//! The files of an export, piece by piece.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use features::records::{key, redacted};
use serde_json::json;
use wire::protocol::r2_key;
use worker::{Bucket, Conditional, Object, Range, Result};

use crate::account::export::{Line, PIECE_BYTES, Place, RECORD, line};
use crate::account::kinds::Folder;

/// The most objects of a page of R2.
const PAGE: u32 = 1_000;

/// The next piece of a folder's files, and the place behind it. A file that changes while it is read begins anew, in its
/// new version. `whole`: records have the words of the operator's hooks.
pub async fn piece(
    bucket: &Bucket,
    folder: &Folder,
    place: &Place,
    whole: bool,
) -> Result<Option<(Line, Place)>> {
    // A cursor that somebody made up may name a file that cannot be; no file is behind it.
    let Some(last) = r2_key(&folder.prefix, place.name().unwrap_or_default()) else { return Ok(None) };
    let is_withheld = |name: &str| folder.line == RECORD && key::is_withheld(name);
    let is_redacted = folder.line == RECORD && !whole;
    // An offset counts in one of the two forms of a record.
    let version_of = |object: &Object| object.etag() + if is_redacted { "-redacted" } else { "" };
    let begun = match &place.piece {
        // Somebody may make up a cursor that names a record which only the operator reads.
        Some((version, from)) if !is_withheld(&last) => {
            let found = bucket.head(&last).await?;
            found.map(|object| (if version_of(&object) == *version { *from } else { 0 }, object))
        }
        _ => None,
    };
    let found = match begun {
        Some(begun) => Some(begun),
        None => {
            // A page has all records of a thread (`RECORD_TURNS`), so the first one for the user is in it.
            let limit = if folder.line == RECORD { PAGE } else { 1 };
            let list = bucket.list().prefix(folder.prefix.as_str()).limit(limit);
            let list = match place.name() {
                Some(_) => list.start_after(last),
                None => list,
            };
            let mut found = list.execute().await?.objects().into_iter();
            found.find(|object| !is_withheld(&object.key())).map(|object| (0, object))
        }
    };
    let Some((from, object)) = found else { return Ok(None) };
    let key = object.key();
    let name = key.strip_prefix(&folder.prefix).unwrap_or_default();
    let version = version_of(&object);
    let (bytes, body) = match is_redacted {
        true => without_words(bucket, &object, from).await?,
        false => (object.size(), content(bucket, &object, from).await?),
    };
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

/// The size of a record without the words of the operator's hooks, and its bytes from there on, as many as a line has. The
/// record is read whole: it has at most 8 MiB, and only its lines tell which words these are.
async fn without_words(bucket: &Bucket, object: &Object, from: u64) -> Result<(u64, Vec<u8>)> {
    let same = Conditional { etag_matches: Some(object.etag()), ..Conditional::default() };
    let found = bucket.get(object.key()).only_if(same).execute().await?;
    let body = found.as_ref().and_then(Object::body).ok_or("a file changed while it was read")?;
    let record = redacted(&body.bytes().await?);
    let piece = record.iter().skip(from as usize).take(PIECE_BYTES as usize).copied().collect();
    Ok((record.len() as u64, piece))
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
