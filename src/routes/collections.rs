//! Collections of documents. A user searches them, and lets turns search them.

use bindings::d1::text;
use features::knowledge::Collections;
use features::knowledge::charset::{self, BYTE_DECODED, Charset, NAMES};
use features::knowledge::chunks::{Chunk, chunks, rows};
use features::knowledge::statements::{COLLECTION_THERE, DOCUMENT_THERE};
use features::knowledge::store::collections::{
    D1Collections, MAX_BYTES, MAX_COLLECTIONS, MAX_DOCUMENTS, NewDocument, NotAdded,
};
use features::knowledge::store::conversion::{Unread, markdown_of_pdf, reads_pdfs};
use features::knowledge::structured::{csv, json};
use features::reader::markdown;
use platform::quota::Stored;
use wire::pace::Pace;
use wire::protocol::{
    ApiError, Collection, CollectionList, Document, DocumentList, ErrorCode, NewCollection, Owner,
    PassageList,
};
use wire::store::StoreError;

use crate::audit::store::Where;
use crate::body::{self, DocumentType, HeldBody, MAX_BODY_BYTES};
use crate::call::{Answer, Call};
use crate::cursor::{After, ListCursor};
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::reply::Reply;
use crate::routes::uploads::{self, Upload};
use crate::routes::{audit, pauses};
use worker::Date;

/// The most passages that a search answers with.
const MAX_RESULTS: u32 = 20;

/// `GET /api/collections`: newest first.
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let collections = store(call, &owner);
    let read = async |limit, after: After<'_>| collections.page(limit, after).await.map_err(unreachable);
    let (collections, next_cursor) =
        ListCursor::page(call.query(), read, |one| (one.created_at, &one.id)).await?;
    let list = CollectionList { collections, next_cursor, reads_pdfs: reads_pdfs(&call.env) };
    Ok(Reply::json(200, &list).into())
}

/// `POST /api/collections`.
pub async fn create(call: &Call, owner: Owner, body: &[u8]) -> Result<Answer, Failure> {
    let NewCollection { name, description } = NewCollection::parse(body)?;
    let new = Collection {
        id: new_id(call.now)?,
        name,
        description: description.unwrap_or_default(),
        documents: 0,
        bytes: 0,
        created_at: call.now,
        updated_at: call.now,
    };
    let collections = store(call, &owner);
    let creating = async { collections.create(&new).await.map_err(unreachable) };
    match uploads::within(call, &owner, body.len(), creating, |created| *created).await? {
        true => Ok(Reply::json(201, &new).into()),
        false => Err(full(format!("a user has at most {MAX_COLLECTIONS} collections"))),
    }
}

/// `GET /api/collections/{id}`.
pub async fn get(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    Ok(Reply::json(200, &existing(call, &owner, id).await?).into())
}

/// `DELETE /api/collections/{id}`, with all that is in it.
pub async fn delete(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let there = Where { condition: COLLECTION_THERE, values: vec![text(id)] };
    let log = audit::deletion(call, &owner, there)?;
    Answer::deleted(store(call, &owner).delete(id, log).await.map_err(unreachable)?, no_collection)
}

/// `GET …/documents`: newest first.
pub async fn documents(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    existing(call, &owner, id).await?;
    let collections = store(call, &owner);
    let read =
        async |limit, after: After<'_>| collections.documents(id, limit, after).await.map_err(unreachable);
    let (documents, next_cursor) =
        ListCursor::page(call.query(), read, |one| (one.created_at, &one.id)).await?;
    Ok(Reply::json(200, &DocumentList { documents, next_cursor }).into())
}

/// `POST …/documents?name=`: the body is the document.
pub async fn add(call: &Call, owner: Owner, id: &str, body: HeldBody) -> Result<Answer, Failure> {
    let (body, _permit) = body.into_parts();
    let content_type = call.header("content-type");
    let media_type = DocumentType::of(content_type.as_deref())?;
    let charset = body::charset(content_type.as_deref(), media_type)?;
    let name = query::name(call.query())?;
    let collection = existing(call, &owner, id).await?;
    if collection.documents >= MAX_DOCUMENTS {
        return Err(refused(NotAdded::TooMany));
    }
    let bytes = body.len() as u64;
    // The statement that writes the document has the last word. This check spares the cost of reading and embedding a
    // document that has no room.
    if store(call, &owner).bytes().await.map_err(unreachable)?.saturating_add(bytes) > MAX_BYTES {
        return Err(refused(NotAdded::Full));
    }
    let upload = Upload::of(call, &owner)?;
    upload.reserve(call, Stored::from_bytes(bytes)).await?;
    let mut used = Stored::default();
    let new = RawDocument { collection_id: &collection.id, name, media_type, charset, body };
    let added = add_sent(call, &owner, new, (&upload, &mut used)).await;
    upload.settle(call, used);
    added
}

/// A document as it was sent.
struct RawDocument<'a> {
    collection_id: &'a str,
    name: String,
    media_type: DocumentType,
    charset: Option<Charset>,
    body: Vec<u8>,
}

/// Reads, embeds and writes a document. Sets `used` to its usage: embeddings count even where the
/// document is not added.
async fn add_sent(
    call: &Call,
    owner: &Owner,
    RawDocument { collection_id, name, media_type, charset, body }: RawDocument<'_>,
    (upload, used): (&Upload, &mut Stored),
) -> Result<Answer, Failure> {
    let (bytes, stored) = (body.len() as u64, Stored::from_bytes(body.len() as u64));
    // The conversion takes up to 30 s, which are no work of this isolate.
    let converted = match media_type {
        DocumentType::Pdf => Some(markdown_of_pdf(&call.env, &body).await.map_err(unread)?),
        _ => None,
    };
    let pauses = pauses(Date::now().as_millis());
    let pace = Pace::new(&pauses);
    let sent = match converted {
        Some(text) => text,
        None => decoded(body, charset, media_type == DocumentType::Html, &pace).await?,
    };
    if sent.len() > MAX_BODY_BYTES {
        let detail = format!("the document has more than {MAX_BODY_BYTES} bytes of text");
        return Err(ApiError::new(ErrorCode::BodyTooLarge, detail).into());
    }
    let pieces = pieces(&sent, media_type, &pace).await?;
    let rows = rows(&pieces, &pace).await?;
    let document = Document {
        id: new_id(call.now)?,
        name,
        media_type: media_type.as_str().to_owned(),
        bytes,
        chunks: u32::try_from(pieces.len()).unwrap_or(u32::MAX),
        created_at: call.now,
    };
    let collections = store(call, owner);
    if collections.embeds() {
        let embeddings = pieces.len() as u64;
        upload.reserve(call, Stored { embeddings, ..stored }).await?;
        used.embeddings = embeddings;
    }
    let new = NewDocument { document: &document, collection_id, chunks: &pieces, rows: &rows };
    collections.add(&new).await.map_err(unreachable)?.map_err(refused)?;
    used.bytes = stored.bytes;
    Ok(Reply::json(201, &document).into())
}

/// The text of a document that is one.
async fn decoded(
    body: Vec<u8>,
    charset: Option<Charset>,
    is_html: bool,
    pace: &Pace<'_>,
) -> Result<String, ApiError> {
    pace.before(body.len() * BYTE_DECODED).await?;
    charset::text(body, charset, is_html).ok_or_else(|| {
        let detail = format!("the document is not UTF-8: name its charset in content-type ({NAMES})");
        ApiError::new(ErrorCode::InvalidRequest, detail)
    })
}

/// Cuts a document into pieces. A document without text is refused.
async fn pieces(text: &str, media_type: DocumentType, pace: &Pace<'_>) -> Result<Vec<Chunk>, Failure> {
    let pieces = match media_type {
        DocumentType::Plain => chunks(text, false, pace).await?,
        DocumentType::Markdown | DocumentType::Pdf => chunks(text, true, pace).await?,
        DocumentType::Html => chunks(&markdown(text, pace).await?, true, pace).await?,
        DocumentType::Csv => csv(text, pace).await?,
        DocumentType::Json => json(text, pace).await?,
    };
    match pieces.is_empty() {
        true => Err(ApiError::new(ErrorCode::InvalidRequest, "the document has no text").into()),
        false => Ok(pieces),
    }
}

/// `DELETE …/documents/{document_id}`.
pub async fn remove(call: &Call, owner: Owner, id: &str, document: &str) -> Result<Answer, Failure> {
    existing(call, &owner, id).await?;
    let there = Where { condition: DOCUMENT_THERE, values: vec![text(id), text(document)] };
    let log = audit::deletion(call, &owner, there)?;
    Answer::deleted(store(call, &owner).remove(id, document, log).await.map_err(unreachable)?, || {
        ApiError::new(ErrorCode::DocumentNotFound, "there is no document with this id")
    })
}

/// `GET …/search?q=`: the best passages, best first.
pub async fn search(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let wanted =
        query::wanted(call.query())?.ok_or_else(|| ApiError::field("q", "expected words to search for"))?;
    let Page { limit, .. } = query::page(call.query())?;
    let collection = existing(call, &owner, id).await?;
    let collections = store(call, &owner);
    if collections.embeds() {
        let question = Stored { bytes: 0, embeddings: 1 };
        let upload = Upload::of(call, &owner)?;
        upload.reserve(call, question).await?;
        upload.settle(call, question);
    }
    let found = collections.search(&[collection.id], &wanted, limit.min(MAX_RESULTS)).await;
    Ok(Reply::json(200, &PassageList { results: found.map_err(unreachable)? }).into())
}

fn unread(why: Unread) -> Failure {
    match why {
        Unread::NotHere => {
            let detail = "this deployment cannot read PDFs: send their text, or attach the file to a message";
            ApiError::new(ErrorCode::UnsupportedMediaType, detail).into()
        }
        Unread::Broken => {
            ApiError::new(ErrorCode::InvalidRequest, "the file is damaged or is not a PDF").into()
        }
        Unread::Failed(error) => Failure::internal("reading a PDF")(error),
    }
}

async fn existing(call: &Call, owner: &Owner, id: &str) -> Result<Collection, Failure> {
    store(call, owner).get(id).await.map_err(unreachable)?.ok_or_else(|| no_collection().into())
}

fn store(call: &Call, owner: &Owner) -> D1Collections {
    D1Collections::new(&call.env, owner)
}

fn new_id(now: u64) -> Result<String, Failure> {
    Ok(uuid_v7(now).map_err(Failure::internal("drawing an id"))?.to_string())
}

fn no_collection() -> ApiError {
    ApiError::new(ErrorCode::CollectionNotFound, "there is no collection with this id")
}

/// The refusal of a document.
fn refused(why: NotAdded) -> Failure {
    match why {
        NotAdded::NoCollection => no_collection().into(),
        NotAdded::TooMany => full(format!("a collection has at most {MAX_DOCUMENTS} documents")),
        NotAdded::Full => full(format!("the documents of a user have at most {MAX_BYTES} bytes in all")),
    }
}

fn full(why: String) -> Failure {
    ApiError::new(ErrorCode::CollectionsFull, format!("{why}: delete some")).into()
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading or writing collections")(error)
}
