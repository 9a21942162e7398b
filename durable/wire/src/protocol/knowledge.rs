//! Knowledge that outlives a thread: memories of a user and collections of documents.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

use super::request::read;
use super::{ApiError, line};
#[cfg(feature = "openapi")]
use super::{LINE, MAX_LINE_CHARS};

/// The longest description of a collection, in characters.
pub(super) const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// A fact about a user that models remember across threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Memory {
    pub id: String,
    pub content: String,
    pub created_at: u64,
    /// When a model last remembered it.
    pub updated_at: u64,
}

/// A page of a user's memories, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MemoryList {
    pub memories: Vec<Memory>,
    pub next_cursor: Option<String>,
}

/// The body of `POST /api/collections`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct NewCollection {
    /// One line of at most 200 characters.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_LINE_CHARS), regex(pattern = LINE)))]
    pub name: String,
    /// At most 1,000 characters.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_DESCRIPTION_CHARS), regex(pattern = r"^[^\x00-\x09\x0b-\x1f\x7f-\x9f]*$")))]
    pub description: Option<String>,
}

impl NewCollection {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<NewCollection, ApiError> {
        let NewCollection { name, description } = read(body)?;
        let name = line("name", &name)?;
        let description = description.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let hidden = |c: char| c.is_control() && c != '\n';
        match &description {
            Some(text) if text.chars().nth(MAX_DESCRIPTION_CHARS).is_some() || text.contains(hidden) => {
                let detail =
                    format!("expected at most {MAX_DESCRIPTION_CHARS} characters without control characters");
                Err(ApiError::field("description", detail))
            }
            _ => Ok(NewCollection { name, description }),
        }
    }
}

/// A collection of documents. Turns that name it can search it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Collection {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The number of documents, and their bytes.
    pub documents: u32,
    pub bytes: u64,
    pub created_at: u64,
    /// The time of the last added document.
    pub updated_at: u64,
}

/// A page of a user's collections, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CollectionList {
    pub collections: Vec<Collection>,
    pub next_cursor: Option<String>,
    /// Whether this deployment reads PDFs as documents.
    pub reads_pdfs: bool,
}

/// A document of a collection. The service keeps its text in chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Document {
    pub id: String,
    pub name: String,
    pub media_type: String,
    /// The size of the upload.
    pub bytes: u64,
    pub chunks: u32,
    pub created_at: u64,
}

/// A page of a collection's documents, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DocumentList {
    pub documents: Vec<Document>,
    pub next_cursor: Option<String>,
}

/// A piece of a document that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Passage {
    pub collection_id: String,
    pub document_id: String,
    pub document_name: String,
    /// The number of the chunk in the document, from 1 on.
    pub chunk: u32,
    /// The headings above the passage: `Guide > Install`.
    pub heading: String,
    pub text: String,
    /// The score of the match, from 0 to 1.
    pub score: f64,
}

/// The results of a search, best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PassageList {
    pub results: Vec<Passage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-031
    #[test]
    fn a_collection_has_a_name() {
        let long = |count: usize| "ü".repeat(count);
        let parse = |name: &str, description: &str| {
            let body = serde_json::json!({ "name": name, "description": description }).to_string();
            NewCollection::parse(body.as_bytes()).map_err(|error| error.field.clone().unwrap_or_default())
        };
        let made = |name: &str, description: Option<&str>| {
            Ok(NewCollection { name: name.to_owned(), description: description.map(str::to_owned) })
        };
        assert_eq!(parse("  Handbook ", " "), made("Handbook", None));
        assert_eq!(parse(&long(200), &long(1_000)), made(&long(200), Some(&long(1_000))));
        for (name, description, field) in [
            ("", "", "name"),
            (" \t", "", "name"),
            ("a\nb", "", "name"),
            ("a\0b", "", "name"),
            (&long(201), "", "name"),
            ("a", &long(1_001), "description"),
            ("a", "b\0c", "description"),
        ] {
            assert_eq!(parse(name, description), Err(field.to_owned()), "{name:?} {description:?}");
        }
    }
}
