//! The parts of a user's message that providers' APIs know, and a text form of a tool's error for APIs without one.

use std::borrow::Cow;

use wire::model::Capabilities;
use wire::protocol::{Content, ContentPart, DataUrl, Medium};

/// A part of a message on its way to a provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece<'a> {
    Text(Cow<'a, str>),
    Image(&'a DataUrl),
    Pdf { name: &'a str, data: &'a DataUrl },
}

/// The parts of a message. The codec sends a text file as text, because some APIs have no files and the others convert
/// them to text. A model that does not read images, or PDFs, gets a label in their place, which an earlier model of the
/// conversation may have seen. So does a part that is no data URL of a picture or a PDF: a provider would fetch an address
/// from its own network, and rows of earlier releases may have one.
pub fn pieces<'a>(content: &'a Content, able: &Capabilities) -> Vec<Piece<'a>> {
    match content {
        Content::Text(text) => vec![Piece::Text(Cow::Borrowed(text))],
        Content::Parts(parts) => parts.iter().map(|part| piece(part, able)).collect(),
    }
}

fn piece<'a>(part: &'a ContentPart, able: &Capabilities) -> Piece<'a> {
    let blind = || Piece::Text(format!("{} (you cannot see it)", part.words()).into());
    match part {
        ContentPart::Text { text } => Piece::Text(Cow::Borrowed(text)),
        ContentPart::Image { data } if able.vision && data.medium() == Some(Medium::Image) => {
            Piece::Image(data)
        }
        ContentPart::File { name, data } => match (data.medium(), data.file_text()) {
            (_, Some(text)) => Piece::Text(format!("File {name}:\n\n{text}").into()),
            (Some(Medium::Pdf), None) if able.reads_pdfs() => Piece::Pdf { name, data },
            _ => blind(),
        },
        ContentPart::Image { .. } => blind(),
    }
}

/// The text of a message whose parts are all text, joined by blank lines.
pub fn plain(pieces: &[Piece<'_>]) -> Option<String> {
    let texts: Option<Vec<&str>> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Some(&**text),
            Piece::Image(_) | Piece::Pdf { .. } => None,
        })
        .collect();
    texts.map(|texts| texts.join("\n\n"))
}

/// A tool's result for an API without a member for errors: the text names the error.
pub fn told_error(content: &str, is_error: bool) -> Cow<'_, str> {
    let says_so = content.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    match is_error && !says_so {
        true => Cow::Owned(format!("Error: {content}")),
        false => Cow::Borrowed(content),
    }
}
