//! Decodes server-sent events by the WHATWG's "Interpreting an event stream", however the network splits them.
//! Owns the framing: lines, fields, events. The caller interprets `data` and decides whether the stream ended early.
//! The decoder drops an event that no blank line closed, as the standard says.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

#[cfg(test)]
mod tests;

/// One event. `data` of a single line borrows from the bytes of its read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event's type; empty if the stream names none (the standard's `message`).
    pub event: &'a str,
    /// The data lines, joined by LF.
    pub data: &'a str,
    /// The last id that the stream named.
    pub last_id: &'a str,
}

/// Why the decoder cannot read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SseError {
    /// A line, or the data of one event, is longer than the decoder's limit.
    TooLarge,
}

/// Reads an event stream piece by piece. The caller must stop feeding it after an error.
#[derive(Debug)]
pub struct SseDecoder {
    /// The most bytes of a line, and of the data of an event.
    limit: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// Data of the open event from earlier reads or lines.
    data: Vec<u8>,
    /// Whether `data` holds a line. The line may be empty.
    has_data: bool,
    event: String,
    last_id: String,
    /// The id of the last event that a blank line closed. A reconnecting client continues after it.
    closed_id: String,
    /// How long the stream asks a client to wait before it reconnects.
    retry_ms: Option<u64>,
    /// How many bytes of a byte order mark have arrived; its length once the decoder has decided.
    bom: usize,
    /// The last line ended with CR, so an LF that comes next belongs to it.
    after_cr: bool,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl SseDecoder {
    pub fn new(limit: usize) -> Self {
        SseDecoder {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            event: String::new(),
            last_id: String::new(),
            closed_id: String::new(),
            retry_ms: None,
            bom: 0,
            after_cr: false,
        }
    }

    /// The id of the event after which a cut stream continues; empty if the stream named none.
    pub fn resumes_after(&self) -> &str {
        &self.closed_id
    }

    /// How many milliseconds the stream asks a client to wait before it reconnects.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Reads the next bytes and calls `on_event` for every event that they complete. An error of `on_event` ends the
    /// reading.
    pub fn feed<E: From<SseError>>(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut failed = None;
        self.read(bytes, &mut |event| match on_event(event) {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// The same for all callers, whose errors differ: `on_event` says whether the reading goes on.
    fn read(&mut self, bytes: &[u8], on_event: &mut dyn FnMut(SseEvent<'_>) -> bool) -> Result<(), SseError> {
        let mut rest = self.skip_bom(bytes);
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        // The open event's only data line, borrowed from this read. This spares most events a copy.
        let mut borrowed: Option<&[u8]> = None;
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            rest = self.skip_line_end(tail);
            if self.line.is_empty() {
                match self.parse(line)? {
                    Line::Blank => {
                        if !self.dispatch(borrowed.take(), on_event) {
                            return Ok(());
                        }
                    }
                    Line::Data(value) if borrowed.is_none() && !self.has_data => borrowed = Some(value),
                    Line::Data(value) => {
                        self.keep(borrowed.take())?;
                        self.keep(Some(value))?;
                    }
                    Line::Event(value) => set_lossy(&mut self.event, value),
                    Line::Id(value) => set_lossy(&mut self.last_id, value),
                    Line::Retry(ms) => self.retry_ms = Some(ms),
                    Line::Ignored => {}
                }
            } else {
                // Only the first line of a read can have begun in an earlier read, so `borrowed` is still empty.
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                match self.parse(&whole)? {
                    Line::Blank | Line::Ignored => {}
                    Line::Data(value) => self.keep(Some(value))?,
                    Line::Event(value) => set_lossy(&mut self.event, value),
                    Line::Id(value) => set_lossy(&mut self.last_id, value),
                    Line::Retry(ms) => self.retry_ms = Some(ms),
                }
                whole.clear();
                self.line = whole;
            }
        }
        self.keep(borrowed)?;
        self.line.extend_from_slice(rest);
        if self.line.len() > self.limit {
            return Err(SseError::TooLarge);
        }
        Ok(())
    }

    /// Drops a byte order mark at the very beginning. The mark may arrive byte by byte.
    fn skip_bom<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((expected, (first, tail))) = BOM.get(self.bom).zip(rest.split_first()) {
            if first != expected {
                // These bytes are no mark: they begin the first line.
                self.line.extend_from_slice(BOM.get(..self.bom).unwrap_or_default());
                self.bom = BOM.len();
                break;
            }
            self.bom += 1;
            rest = tail;
        }
        rest
    }

    /// Steps over the line end that `tail` begins with: LF, CR, or CR LF, whose LF may come with the next read.
    fn skip_line_end<'a>(&mut self, tail: &'a [u8]) -> &'a [u8] {
        match tail {
            [b'\r', b'\n', rest @ ..] => rest,
            [b'\r'] => {
                self.after_cr = true;
                &[]
            }
            [_, rest @ ..] => rest,
            [] => &[],
        }
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Result<Line<'a>, SseError> {
        if line.len() > self.limit {
            return Err(SseError::TooLarge);
        }
        if line.is_empty() {
            return Ok(Line::Blank);
        }
        let (name, value) = match memchr(b':', line).and_then(|colon| line.split_at_checked(colon)) {
            None => (line, &[][..]),
            Some((name, tail)) => {
                let value = tail.strip_prefix(b":").unwrap_or(tail);
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
        };
        Ok(match name {
            b"data" => Line::Data(value),
            b"event" => Line::Event(value),
            b"id" if memchr(0, value).is_none() => Line::Id(value),
            b"retry" => milliseconds(value).map_or(Line::Ignored, Line::Retry),
            // Comments (an empty name) and unknown fields.
            _ => Line::Ignored,
        })
    }

    /// Copies a data line of the open event.
    fn keep(&mut self, value: Option<&[u8]>) -> Result<(), SseError> {
        let Some(value) = value else { return Ok(()) };
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        if self.data.len() > self.limit { Err(SseError::TooLarge) } else { Ok(()) }
    }

    /// A blank line: the open event, if it has data, is complete. False: the reading ends.
    fn dispatch(&mut self, borrowed: Option<&[u8]>, on_event: &mut dyn FnMut(SseEvent<'_>) -> bool) -> bool {
        self.closed_id.clone_from(&self.last_id);
        let data = match borrowed {
            Some(value) => Some(value),
            None if self.has_data => Some(self.data.as_slice()),
            None => None,
        };
        let goes_on = match data {
            // Line ends are ASCII, so decoding a value alone replaces the same bytes as decoding the whole stream.
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(data) => on_event(SseEvent { event: &self.event, data, last_id: &self.last_id }),
                Err(_) => {
                    let data = String::from_utf8_lossy(bytes);
                    on_event(SseEvent { event: &self.event, data: &data, last_id: &self.last_id })
                }
            },
            None => true,
        };
        self.data.clear();
        self.has_data = false;
        self.event.clear();
        goes_on
    }
}

/// One line.
enum Line<'a> {
    Blank,
    Data(&'a [u8]),
    Event(&'a [u8]),
    Id(&'a [u8]),
    Retry(u64),
    Ignored,
}

/// ASCII digits and nothing else.
fn milliseconds(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()
}

fn set_lossy(field: &mut String, value: &[u8]) {
    field.clear();
    match String::from_utf8_lossy(value) {
        Cow::Borrowed(text) => field.push_str(text),
        Cow::Owned(text) => *field = text,
    }
}
