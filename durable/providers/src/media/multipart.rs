//! Bodies of several parts (`multipart/form-data`, <https://www.rfc-editor.org/rfc/rfc7578>).

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// The parts of a body: the head of each, and what it has.
#[derive(Debug, Default)]
pub(super) struct Multipart<'a>(Vec<(String, Cow<'a, [u8]>)>);

impl<'a> Multipart<'a> {
    /// Adds a text. The names of parts are ours.
    pub fn text(&mut self, name: &str, text: impl Into<Cow<'a, str>>) {
        let head = format!("content-disposition: form-data; name=\"{name}\"\r\n\r\n");
        let text = match text.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        self.0.push((head, text));
    }

    /// Adds a file. Servers judge its type by the ending of its name, too.
    pub fn file(&mut self, name: &str, media_type: &str, bytes: &'a [u8]) {
        let ending = match media_type {
            "audio/mpeg" => "mp3",
            _ => media_type.split('/').next_back().unwrap_or_default(),
        };
        let head = format!(
            "content-disposition: form-data; name=\"{name}\"; filename=\"source.{ending}\"\r\ncontent-type: \
             {media_type}\r\n\r\n"
        );
        self.0.push((head, Cow::Borrowed(bytes)));
    }

    /// The value of the header `content-type`, and the body. The boundary is a digest of all parts, so nobody can write a
    /// part that has it inside.
    pub fn finish(self) -> (String, Vec<u8>) {
        let mut digest = Sha256::new();
        self.0.iter().for_each(|(head, part)| {
            digest.update(head);
            digest.update(part);
        });
        let boundary: String = digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let bytes: usize =
            self.0.iter().map(|(head, part)| head.len() + part.len() + boundary.len() + 6).sum();
        let mut body = Vec::with_capacity(bytes + boundary.len() + 6);
        for (head, part) in self.0 {
            body.extend_from_slice(format!("--{boundary}\r\n{head}").as_bytes());
            body.extend_from_slice(&part);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), body)
    }
}
