//! The body of a request: its type and its size. Reading stops at the limit, so a body of 100 MB costs no more than one
//! of 1 MiB. `budget` bounds the bodies that an isolate holds at one time, `reading` the time of one.

mod budget;
mod reading;

pub use budget::{Budget, Permit};
use features::knowledge::charset::{Charset, NAMES};
use features::reader::MediaType;
pub use reading::{HeldBody, Reading};
use wire::protocol::{ApiError, ErrorCode};

/// The largest body of most routes: well above the longest message, and small enough for an isolate to hold many.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// The largest body of a client that sends its whole chat again, with its files.
pub const MAX_CHAT_BYTES: usize = 16 << 20;

/// How long a body may take before its request is admitted anew, in milliseconds. A credential that ends meanwhile must
/// write nothing: the erasure of a user's data counts on it (`SETTLE_MS`).
pub const BODY_MS: u64 = 5_000;

/// How long the work on a body may go on behind its pauses, in milliseconds. The credential is not asked again after it, so
/// `SETTLE_MS` counts it too. Without other requests the longest work takes a second.
pub const WORK_MS: u64 = 5_000;

/// The body that a route takes, of at most [`Body::most`] bytes.
#[derive(Clone, Copy)]
pub enum Body {
    /// No body. The Worker leaves one that comes unread.
    Nothing,
    /// JSON of this type.
    Json(JsonType),
    /// JSON of this type, or no body.
    OptionalJson(JsonType),
    /// The bytes of a file. A file may be empty.
    File,
    /// A document of a collection, of one of the types of [`DocumentType`].
    Document,
}

/// The type of a JSON body. Only the tests, which write `openapi.json`, know its schema.
#[derive(Clone, Copy)]
pub struct JsonType {
    most: usize,
    #[cfg(test)]
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

/// A type that a JSON body may have.
pub trait InJson {
    const TYPE: JsonType;
}

#[cfg(not(test))]
impl<T> InJson for T {
    const TYPE: JsonType = JsonType { most: MAX_BODY_BYTES };
}

#[cfg(test)]
impl<T: schemars::JsonSchema> InJson for T {
    const TYPE: JsonType = JsonType { most: MAX_BODY_BYTES, schema: |types| types.subschema_for::<T>() };
}

/// A JSON body of this type.
pub const fn json<T: InJson>() -> Body {
    Body::Json(T::TYPE)
}

/// A JSON body of this type, of at most so many bytes.
pub const fn json_of<T: InJson>(most: usize) -> Body {
    let mut json = T::TYPE;
    json.most = most;
    Body::Json(json)
}

/// A JSON body of this type, or none.
pub const fn optional_json<T: InJson>() -> Body {
    Body::OptionalJson(T::TYPE)
}

impl Body {
    /// The most bytes that the route takes.
    pub fn most(self) -> usize {
        match self {
            Body::Json(JsonType { most, .. }) | Body::OptionalJson(JsonType { most, .. }) => most,
            Body::Nothing | Body::File | Body::Document => MAX_BODY_BYTES,
        }
    }

    /// Refuses a body of another type than the route takes.
    pub fn check_type(self, content_type: Option<&str>) -> Result<(), ApiError> {
        match self {
            Body::Nothing | Body::File => Ok(()),
            Body::Json(_) | Body::OptionalJson(_) => require_json(content_type),
            Body::Document => {
                DocumentType::of(content_type).and_then(|kind| charset(content_type, kind)).map(drop)
            }
        }
    }
}

/// The type of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentType {
    Plain,
    Markdown,
    Html,
    Csv,
    Json,
    Pdf,
}

impl DocumentType {
    /// The type that a `content-type` names.
    pub fn of(content_type: Option<&str>) -> Result<Self, ApiError> {
        match essence(content_type).to_ascii_lowercase().as_str() {
            "text/plain" => Ok(DocumentType::Plain),
            "text/markdown" => Ok(DocumentType::Markdown),
            "text/html" => Ok(DocumentType::Html),
            "text/csv" => Ok(DocumentType::Csv),
            "application/json" => Ok(DocumentType::Json),
            "application/pdf" => Ok(DocumentType::Pdf),
            _ => {
                let detail = "expected content-type: text/plain, text/markdown, text/html, text/csv, application/json or \
                              application/pdf";
                Err(ApiError::new(ErrorCode::UnsupportedMediaType, detail))
            }
        }
    }

    /// Its media type.
    pub const fn as_str(self) -> &'static str {
        match self {
            DocumentType::Plain => "text/plain",
            DocumentType::Markdown => "text/markdown",
            DocumentType::Html => "text/html",
            DocumentType::Csv => "text/csv",
            DocumentType::Json => "application/json",
            DocumentType::Pdf => "application/pdf",
        }
    }
}

/// The character set that the `content-type` of a document names.
pub fn charset(content_type: Option<&str>, kind: DocumentType) -> Result<Option<Charset>, ApiError> {
    let label = MediaType::parse(content_type.unwrap_or_default()).charset;
    // Tools name the one of a PDF `binary`.
    let Some(label) = label.filter(|_| kind != DocumentType::Pdf) else { return Ok(None) };
    Charset::named(&label).map(Some).ok_or_else(|| {
        let detail = format!("documents are not read in this character set: expected {NAMES}");
        ApiError::new(ErrorCode::UnsupportedMediaType, detail)
    })
}

/// A body that is being read.
#[derive(Debug)]
pub struct BoundedBody {
    most: usize,
    /// The bytes that its `content-length` declares.
    declared: Option<usize>,
    bytes: Vec<u8>,
}

impl BoundedBody {
    /// Begins a body of at most so many bytes with this `content-length`. A declared length can only refuse the body; the
    /// bytes are counted anyway.
    pub fn declared(most: usize, content_length: Option<&str>) -> Result<Self, ApiError> {
        // A length of 4 GiB and more is no `usize` in wasm.
        let declared = content_length.and_then(|text| text.trim().parse::<u64>().ok());
        let declared = match declared.map(usize::try_from) {
            Some(Ok(length)) if length <= most => Some(length),
            Some(_) => return Err(too_large(most)),
            None => None,
        };
        Ok(BoundedBody { most, declared, bytes: Vec::new() })
    }

    /// The bytes that it has with a further piece, if they are not too many.
    fn with(&self, piece: &[u8]) -> Result<usize, ApiError> {
        let bytes = self.bytes.len().saturating_add(piece.len());
        if bytes > self.most { Err(too_large(self.most)) } else { Ok(bytes) }
    }

    /// Takes the next piece. It keeps the first one without a copy, because most bodies come in one piece. With the second
    /// one it makes room for `expected` bytes in all.
    pub fn push(&mut self, piece: Vec<u8>, expected: usize) -> Result<(), ApiError> {
        self.with(&piece)?;
        if self.bytes.is_empty() {
            self.bytes = piece;
        } else {
            self.bytes.reserve_exact(expected.saturating_sub(self.bytes.len()));
            self.bytes.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// The whole body.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn too_large(most: usize) -> ApiError {
    ApiError::new(ErrorCode::BodyTooLarge, format!("the body is larger than {most} bytes"))
}

/// The refusal of a body that the client did not finish.
pub fn broken_off() -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, "the request ended before its body did")
}

/// Refuses every type but JSON. A page on another site can send some other types without a preflight (CORS).
pub fn require_json(content_type: Option<&str>) -> Result<(), ApiError> {
    if essence(content_type).eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, "expected content-type: application/json"))
}

/// A media type without its parameters.
fn essence(content_type: Option<&str>) -> &str {
    content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::{
        Body, BoundedBody, Charset, DocumentType, ErrorCode, MAX_BODY_BYTES, charset, json, json_of,
        optional_json, require_json,
    };

    /// The pieces of a body until it is refused, and how it ended.
    fn read(most: usize, content_length: Option<&str>, pieces: &[usize]) -> Result<usize, &'static str> {
        let mut body = BoundedBody::declared(most, content_length).map_err(|error| error.code.as_str())?;
        for &piece in pieces {
            body.push(vec![b'x'; piece], 0).map_err(|error| error.code.as_str())?;
        }
        Ok(body.into_bytes().len())
    }

    #[test]
    fn a_body_is_read_up_to_the_limit() {
        const REFUSED: Result<usize, &str> = Err("body_too_large");
        let over = (MAX_BODY_BYTES + 1).to_string();
        let exact = MAX_BODY_BYTES.to_string();
        let table: [(Option<&str>, &[usize], _); 11] = [
            (None, &[], Ok(0)),
            (Some("5"), &[2, 3], Ok(5)),
            (Some(&exact), &[MAX_BODY_BYTES], Ok(MAX_BODY_BYTES)),
            (Some(&over), &[], REFUSED),
            (Some("104857600"), &[], REFUSED),
            (Some("4294967296"), &[], REFUSED),
            (None, &[MAX_BODY_BYTES, 1], REFUSED),
            (Some("5"), &[MAX_BODY_BYTES, 1], REFUSED),
            (Some("nonsense"), &[7], Ok(7)),
            (None, &[MAX_BODY_BYTES + 1], REFUSED),
            (None, &[0, 0, 1, 0], Ok(1)),
        ];
        for (content_length, pieces, expected) in table {
            let found = read(MAX_BODY_BYTES, content_length, pieces);
            assert_eq!(found, expected, "{content_length:?} {pieces:?}");
        }
        // A route may take more.
        let most = json_of::<String>(2 * MAX_BODY_BYTES).most();
        assert_eq!(read(most, None, &[MAX_BODY_BYTES, MAX_BODY_BYTES]), Ok(2 * MAX_BODY_BYTES));
        assert_eq!(read(most, None, &[MAX_BODY_BYTES, MAX_BODY_BYTES, 1]), REFUSED);
        assert_eq!(json::<String>().most(), MAX_BODY_BYTES);
    }

    #[test]
    fn only_json_is_taken() {
        for json in
            ["application/json", "Application/JSON", "application/json; charset=utf-8", " application/json "]
        {
            assert!(require_json(Some(json)).is_ok(), "{json}");
        }
        let others =
            ["", "text/plain", "application/jsonp", "text/plain; application/json", "application/json,x"];
        for other in others.into_iter().map(Some).chain([None]) {
            assert_eq!(require_json(other).unwrap_err().code.as_str(), "unsupported_media_type", "{other:?}");
        }
    }

    #[test]
    fn a_document_is_text_or_a_pdf() {
        use DocumentType::{Csv, Html, Json, Markdown, Pdf, Plain};
        for kind in [Plain, Markdown, Html, Csv, Json, Pdf] {
            assert_eq!(DocumentType::of(Some(kind.as_str())), Ok(kind));
            let spelt = format!(" {} ; charset=utf-8", kind.as_str().to_uppercase());
            assert_eq!(DocumentType::of(Some(&spelt)), Ok(kind));
        }
        for other in [None, Some(""), Some("text"), Some("text/html5"), Some("application/csv")] {
            assert_eq!(
                DocumentType::of(other).unwrap_err().code.as_str(),
                "unsupported_media_type",
                "{other:?}"
            );
        }
    }

    // Issue 44
    #[test]
    fn a_document_may_name_its_character_set() {
        let csv = DocumentType::Csv;
        let named = |value: &str| charset(Some(&format!("text/csv; header=present; charset={value}")), csv);
        assert_eq!((charset(Some("text/csv"), csv), charset(None, csv)), (Ok(None), Ok(None)));
        assert_eq!(Body::Document.check_type(Some("application/pdf; charset=binary")), Ok(()));
        assert_eq!(named("\"UTF-16\""), Ok(Some(Charset::Utf16Le)));
        assert_eq!(named("iso-8859-1"), Ok(Some(Charset::Windows1252)));
        let refused = named("shift_jis").unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnsupportedMediaType);
        assert!(
            refused.detail.contains("iso-8859-1") && refused.detail.contains("utf-16le"),
            "{}",
            refused.detail
        );
        assert_eq!(Body::Document.check_type(Some("text/csv; charset=big5")), Err(refused));
    }

    #[test]
    fn a_route_takes_the_types_of_its_body() {
        const TYPES: [Option<&str>; 4] =
            [None, Some("application/json"), Some("text/plain"), Some("image/png")];
        let table: [(Body, [bool; 4]); 5] = [
            (Body::Nothing, [true; 4]),
            (json::<String>(), [false, true, false, false]),
            (optional_json::<String>(), [false, true, false, false]),
            (Body::File, [true; 4]),
            (Body::Document, [false, true, true, false]),
        ];
        for (body, expected) in table {
            assert_eq!(TYPES.map(|content_type| body.check_type(content_type).is_ok()), expected);
        }
    }
}
