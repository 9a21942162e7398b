//! The content of a user's message: text, images, files. The stored conversation of the model keeps the same form.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::ApiError;
use super::words::wrong_member;

/// The longest message, in characters: about a fifth of the history's 128 000 tokens. The text files of a message
/// count.
pub const MAX_CONTENT_CHARS: usize = 100_000;
/// The most parts of a message: a client writes a text in a few, beside the attachments.
pub const MAX_PARTS: usize = 256;
/// Images and files of one message.
pub const MAX_ATTACHMENTS: usize = 8;
/// The most bytes of all attachments of a message, before base64. Base64 adds a third, and the result must fit into the
/// 900 000 bytes of history that a turn may store (`storage::history`), less than half of the platform's row of 2 MB.
pub const MAX_ATTACHED_BYTES: usize = 600_000;
/// The longest name of a file, in characters: the limit of common file systems.
const MAX_FILE_NAME_CHARS: usize = 255;

/// The user's message: plain text, or parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Content {
    Text(#[cfg_attr(feature = "openapi", schemars(length(max = MAX_CONTENT_CHARS)))] String),
    Parts(#[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_PARTS)))] Vec<ContentPart>),
}

// Written by hand, because the error of a derived enum does not name the wrong part of the message.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of parts")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Content, S::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }
        from.deserialize_any(ContentVisitor)
    }
}

impl<'de> Deserialize<'de> for ContentPart {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct PartVisitor;
        impl<'de> Visitor<'de> for PartVisitor {
            type Value = ContentPart;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            // The checks stand in here, so that the position of an error is that of the part.
            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ContentPart, A::Error> {
                let mut part = Map::new();
                while let Some((name, value)) = members.next_entry()? {
                    part.insert(name, value);
                }
                read_part(&part)
            }
        }
        from.deserialize_map(PartVisitor)
    }
}

fn read_part<E: Error>(part: &Map<String, Value>) -> Result<ContentPart, E> {
    let member = |name: &'static str| match part.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(wrong_member(name, "must be a string")),
        None => Err(E::missing_field(name)),
    };
    match member("type")?.as_str() {
        "text" => Ok(ContentPart::Text { text: member("text")? }),
        "image" => Ok(ContentPart::Image { data: DataUrl(member("data")?) }),
        "file" => Ok(ContentPart::File { name: member("name")?, data: DataUrl(member("data")?) }),
        _ => Err(wrong_member("type", "must be `text`, `image` or `file`")),
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    Text {
        text: String,
    },
    /// A PNG, JPEG, GIF or WebP.
    Image {
        data: DataUrl,
    },
    /// A PDF, or text in UTF-8.
    File {
        #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_FILE_NAME_CHARS), regex(pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")))]
        name: String,
        data: DataUrl,
    },
}

/// `data:MEDIA_TYPE;base64,DATA`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct DataUrl(
    #[cfg_attr(feature = "openapi", schemars(regex(pattern = r"^data:[^;,]+;base64,[A-Za-z0-9+/]*={0,2}$")))]
    String,
);

/// The medium of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Image,
    Pdf,
    Text,
}

impl Content {
    /// The message as text: the text of all parts, and a label in place of each image and file, with blank lines
    /// between them.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Parts(parts) => match parts.as_slice() {
                [ContentPart::Text { text }] => Cow::Borrowed(text),
                parts => Cow::Owned(parts.iter().map(ContentPart::words).collect::<Vec<_>>().join("\n\n")),
            },
        }
    }

    /// The parts; none if the message is plain text.
    pub fn parts(&self) -> &[ContentPart] {
        match self {
            Content::Text(_) => &[],
            Content::Parts(parts) => parts,
        }
    }

    /// Puts a text before the message, with a blank line between them.
    pub fn put_before(&mut self, words: String) {
        match self {
            Content::Text(text) => *text = [&*words, "\n\n", text].concat(),
            Content::Parts(parts) => parts.insert(0, ContentPart::Text { text: words }),
        }
    }

    /// Whether the message needs a model with vision.
    pub fn needs_vision(&self) -> bool {
        let medium = |part: &ContentPart| part.data().and_then(DataUrl::medium);
        self.parts().iter().any(|part| matches!(medium(part), Some(Medium::Image | Medium::Pdf)))
    }

    /// Whether the message has neither words nor attachments.
    pub fn is_blank(&self) -> bool {
        match self {
            Content::Text(text) => text.trim().is_empty(),
            Content::Parts(parts) => {
                parts.iter().all(|part| matches!(part, ContentPart::Text { text } if text.trim().is_empty()))
            }
        }
    }

    /// Refuses content that exceeds a limit or does not match its media type. The error names the offending part.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.parts().len() > MAX_PARTS {
            return Err(ApiError::field("content", format!("a message has at most {MAX_PARTS} parts")));
        }
        let files = self.check_parts()?;
        let words = match self {
            Content::Text(text) => text.chars().count(),
            Content::Parts(parts) => parts.iter().map(ContentPart::chars).sum(),
        };
        if words + files > MAX_CONTENT_CHARS {
            let detail = format!("the message is longer than {MAX_CONTENT_CHARS} characters");
            return Err(ApiError::field("content", detail));
        }
        Ok(())
    }

    /// The same for the parts alone: the words may be of any length. Returns how many characters the text files have.
    pub fn check_parts(&self) -> Result<usize, ApiError> {
        if matches!(self, Content::Parts(parts) if parts.is_empty()) {
            return Err(ApiError::field("content", "this member is required: a text, or at least one part"));
        }
        let (mut chars, mut attached, mut bytes) = (0, 0, 0);
        for (index, part) in self.parts().iter().enumerate() {
            let refusal = |(member, detail): (&str, String)| {
                ApiError::field(format!("content[{index}].{member}"), detail)
            };
            let Some(data) = part.attachment().map_err(refusal)? else { continue };
            attached += 1;
            // Counted before decoding, so that an oversized attachment costs no work.
            bytes += data.base64().len() / 4 * 3;
            if attached > MAX_ATTACHMENTS {
                return Err(ApiError::field(
                    "content",
                    format!("more than {MAX_ATTACHMENTS} images and files"),
                ));
            }
            if bytes > MAX_ATTACHED_BYTES {
                let detail =
                    format!("the images and files have more than {MAX_ATTACHED_BYTES} bytes together");
                return Err(ApiError::field("content", detail));
            }
            match data.decode() {
                Ok(text) => chars += text.map_or(0, |text| text.chars().count()),
                Err(what) => return Err(refusal(("data", what.to_owned()))),
            }
        }
        if chars > MAX_CONTENT_CHARS {
            let detail = format!("the text files are longer than {MAX_CONTENT_CHARS} characters together");
            return Err(ApiError::field("content", detail));
        }
        Ok(chars)
    }

    /// The message with labels in place of its images and files, if no request may have them. Agents that were restored by
    /// an earlier release may have such in their rows.
    pub fn with_allowed_parts(self) -> Content {
        match self.check_parts() {
            Ok(_) => self,
            Err(_) => Content::Text(self.text().into_owned()),
        }
    }
}

impl ContentPart {
    /// The data of an attachment whose name and media type are right. An error is the wrong member and its problem.
    fn attachment(&self) -> Result<Option<&DataUrl>, (&'static str, String)> {
        match self {
            ContentPart::Text { .. } => Ok(None),
            ContentPart::Image { data } if data.medium() == Some(Medium::Image) => Ok(Some(data)),
            ContentPart::Image { .. } => {
                let wanted = "must be a data URL in base64 of image/png, image/jpeg, image/gif or image/webp";
                Err(("data", wanted.to_owned()))
            }
            ContentPart::File { name, data } => {
                let chars = name.chars().count();
                if chars == 0 || chars > MAX_FILE_NAME_CHARS || name.chars().any(char::is_control) {
                    let wanted = format!("must have 1 to {MAX_FILE_NAME_CHARS} characters, none of control");
                    return Err(("name", wanted));
                }
                match data.medium() {
                    Some(Medium::Pdf | Medium::Text) => Ok(Some(data)),
                    Some(Medium::Image) | None => {
                        let wanted =
                            "must be a data URL in base64 of application/pdf, application/json or text/*";
                        Err(("data", wanted.to_owned()))
                    }
                }
            }
        }
    }

    /// The characters of a text.
    fn chars(&self) -> usize {
        match self {
            ContentPart::Text { text } => text.chars().count(),
            ContentPart::Image { .. } | ContentPart::File { .. } => 0,
        }
    }

    /// The data of an attachment.
    pub fn data(&self) -> Option<&DataUrl> {
        match self {
            ContentPart::Text { .. } => None,
            ContentPart::Image { data } | ContentPart::File { data, .. } => Some(data),
        }
    }

    /// The part as text, for a model that cannot read the part itself: `[image/png, 34 kB]`, `[report.pdf, 120 kB]`.
    pub fn words(&self) -> Cow<'_, str> {
        let mark = |what: &str, data: &DataUrl| {
            let kilobytes = (data.base64().len() / 4 * 3).div_ceil(1000);
            Cow::Owned(format!("[{what}, {kilobytes} kB]"))
        };
        match self {
            ContentPart::Text { text } => Cow::Borrowed(text),
            ContentPart::Image { data } if data.media_type().is_empty() => mark("image", data),
            ContentPart::Image { data } => mark(data.media_type(), data),
            ContentPart::File { name, data } => mark(name, data),
        }
    }
}

impl DataUrl {
    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `image/png`; empty if this is no data URL in base64.
    pub fn media_type(&self) -> &str {
        self.split().map_or("", |(head, _)| head.split(';').next().unwrap_or_default())
    }

    /// The text after the comma.
    pub fn base64(&self) -> &str {
        self.split().map_or("", |(_, data)| data)
    }

    fn split(&self) -> Option<(&str, &str)> {
        let (head, data) = self.0.strip_prefix("data:")?.split_once(',')?;
        Some((head.strip_suffix(";base64")?, data))
    }

    /// Which of the known media this is.
    pub fn medium(&self) -> Option<Medium> {
        match self.media_type() {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(Medium::Image),
            "application/pdf" => Some(Medium::Pdf),
            "application/json" => Some(Medium::Text),
            other if other.starts_with("text/") => Some(Medium::Text),
            _ => None,
        }
    }

    /// The text of a text file.
    pub fn file_text(&self) -> Option<String> {
        match self.medium() {
            Some(Medium::Text) => self.decode().ok().flatten(),
            _ => None,
        }
    }

    /// Decodes the data and checks that it matches its media type, because a provider would refuse a mismatch only in
    /// the middle of the turn. Returns the text of a text file.
    fn decode(&self) -> Result<Option<String>, &'static str> {
        let bytes = STANDARD.decode(self.base64()).map_err(|_| "is not base64")?;
        let begins = |magic: &[&[u8]]| magic.iter().any(|magic| bytes.starts_with(magic));
        let genuine = match self.media_type() {
            "image/png" => begins(&[b"\x89PNG"]),
            "image/jpeg" => begins(&[b"\xFF\xD8\xFF"]),
            "image/gif" => begins(&[b"GIF87a", b"GIF89a"]),
            "image/webp" => begins(&[b"RIFF"]) && bytes.get(8..12) == Some(b"WEBP"),
            "application/pdf" => begins(&[b"%PDF-"]),
            _ => return String::from_utf8(bytes).map(Some).map_err(|_| "is not text in UTF-8"),
        };
        if genuine { Ok(None) } else { Err("is not of the media type that it names") }
    }
}

impl Default for Content {
    fn default() -> Self {
        Content::Text(String::new())
    }
}

impl From<String> for DataUrl {
    fn from(url: String) -> Self {
        DataUrl(url)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Content::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content::Text(text.to_owned())
    }
}

impl PartialEq<str> for Content {
    fn eq(&self, other: &str) -> bool {
        self.text() == other
    }
}
