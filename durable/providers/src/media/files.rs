//! The files of an answer, in pieces.

use wire::media::{MediaEvent, MediaFailure, MediaMode, PIECE_BYTES};

use super::base64::{Base64, NoBase64};
use super::{protocol, too_large};

/// Makes events of the bytes of files. The pieces of a file are the same wherever the answer was split.
#[derive(Debug)]
pub(super) struct Files {
    /// The bytes that are not in an event yet, fewer than those of a piece.
    piece: Vec<u8>,
    /// How many bytes the file has so far.
    bytes: usize,
    most_bytes: usize,
    /// How many files are complete.
    pub complete: u8,
    /// The bytes that come before the first ones of the next file.
    pub head: Vec<u8>,
}

impl Files {
    /// For answers in this mode.
    pub fn in_mode(mode: MediaMode) -> Self {
        Files { piece: Vec::new(), bytes: 0, most_bytes: mode.most_bytes(), complete: 0, head: Vec::new() }
    }

    /// Adds base64 to the file.
    pub fn add_base64(
        &mut self,
        decoder: &mut Base64,
        text: &[u8],
        events: &mut Vec<MediaEvent>,
    ) -> Result<(), MediaFailure> {
        // In parts, so that the bytes which wait are never many.
        for part in text.chunks(PIECE_BYTES) {
            let before = self.piece.len();
            // The bytes before a fault count, wherever the answer was split.
            let fed = decoder.feed(part, &mut self.piece);
            self.count(self.piece.len().saturating_sub(before), events)?;
            fed.map_err(no_base64)?;
        }
        Ok(())
    }

    /// Adds bytes to the file.
    pub fn add(&mut self, bytes: &[u8], events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        for part in bytes.chunks(PIECE_BYTES) {
            self.piece.extend_from_slice(part);
            self.count(part.len(), events)?;
        }
        Ok(())
    }

    fn count(&mut self, mut more: usize, events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        if self.bytes == 0 && more > 0 {
            events.push(MediaEvent::Begin);
            let head = std::mem::take(&mut self.head);
            more = more.saturating_add(head.len());
            self.piece.splice(0..0, head);
        }
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.most_bytes {
            return Err(too_large(self.most_bytes));
        }
        while self.piece.len() >= PIECE_BYTES {
            let rest = self.piece.split_off(PIECE_BYTES);
            events.push(MediaEvent::Bytes(std::mem::replace(&mut self.piece, rest)));
        }
        Ok(())
    }

    /// Ends a file of base64.
    pub fn end_base64(
        &mut self,
        decoder: Base64,
        declared_type: Option<String>,
        events: &mut Vec<MediaEvent>,
    ) -> Result<(), MediaFailure> {
        let before = self.piece.len();
        decoder.finish(&mut self.piece).map_err(no_base64)?;
        self.count(self.piece.len().saturating_sub(before), events)?;
        self.end(declared_type, events);
        Ok(())
    }

    /// Ends the file. An empty one is none.
    pub fn end(&mut self, declared_type: Option<String>, events: &mut Vec<MediaEvent>) {
        if self.bytes == 0 {
            return;
        }
        if !self.piece.is_empty() {
            events.push(MediaEvent::Bytes(std::mem::take(&mut self.piece)));
        }
        events.push(MediaEvent::End { declared_type });
        self.bytes = 0;
        self.complete = self.complete.saturating_add(1);
    }
}

fn no_base64(_: NoBase64) -> MediaFailure {
    protocol("The model provider sent a file that is no base64.")
}
