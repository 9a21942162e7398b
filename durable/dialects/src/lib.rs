//! The wires of clients that were written for other services. A folder is a dialect: it reads the client's request, and
//! writes our events as the client expects them. Pure; the engine, the log and its readers know nothing of it.
//!
//! A [`Translation`] stands behind a reader of the log. It takes the reader's bytes, so a dialect has the same cursor,
//! limits and order of events as our own wire.

pub mod ai_sdk;

use serde::Deserialize;
use wire::protocol::{ChunkKind, Dialect, Event, Numbered, Place, Seq};
use wire::sse::{SseDecoder, SseError, SseEvent};

/// The longest event, in bytes. The log's own limit is the platform's row of 2 MB; a list of messages in place of a
/// turn's events is larger.
const MAX_EVENT: usize = 16 << 20;
/// The comment with which our stream of a parked turn ends.
const PARKED: &[u8] = b": parked\n\n";
/// The comment that keeps a connection alive.
const HEARTBEAT: &[u8] = b": \n\n";

/// Why a stream cannot be translated.
#[derive(Debug)]
pub enum Broken {
    Framing(SseError),
    Event(serde_json::Error),
}

impl From<SseError> for Broken {
    fn from(error: SseError) -> Self {
        Broken::Framing(error)
    }
}

impl From<serde_json::Error> for Broken {
    fn from(error: serde_json::Error) -> Self {
        Broken::Event(error)
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Framing(error) => write!(f, "an event cannot be framed: {error:?}"),
            Broken::Event(error) => write!(f, "an event cannot be translated: {error}"),
        }
    }
}

/// Our stream of one turn, written in a dialect.
pub struct Translation {
    decoder: SseDecoder,
    encoder: ai_sdk::Encoder,
    is_parked: bool,
}

impl Translation {
    /// The turn from its first event on, for a client that has read it up to `known`.
    pub fn new(dialect: Dialect, known: Seq) -> Self {
        let encoder = match dialect {
            Dialect::AiSdk => ai_sdk::Encoder::new(known),
        };
        Translation { decoder: SseDecoder::new(MAX_EVENT), encoder, is_parked: false }
    }

    /// Translates the next bytes of our stream.
    pub fn feed(&mut self, bytes: &[u8], now_ms: u64, out: &mut Vec<u8>) -> Result<(), Broken> {
        let encoder = &mut self.encoder;
        self.decoder
            .feed(bytes, |event| Ok::<_, Broken>(encoder.encode(&numbered(&event)?, now_ms, out)?))?;
        self.is_parked = bytes.ends_with(PARKED);
        if out.is_empty() && bytes.ends_with(HEARTBEAT) {
            out.extend_from_slice(HEARTBEAT);
        }
        Ok(())
    }

    /// Our stream is over.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Broken> {
        Ok(self.encoder.end(self.is_parked, out)?)
    }

    /// The header of a stream in this dialect.
    pub fn header(&self) -> (&'static str, &'static str) {
        ai_sdk::HEADER
    }

    /// Whether the client has the end of the turn.
    pub fn is_over(&self) -> bool {
        self.encoder.is_over()
    }
}

/// Reads an event. Nearly all events are chunks, and these are read in one pass.
fn numbered(event: &SseEvent<'_>) -> Result<Numbered, serde_json::Error> {
    #[derive(Deserialize)]
    struct Chunk {
        seq: Seq,
        turn_id: String,
        content: String,
        part_id: String,
        model_call_id: String,
        parent_id: Option<String>,
        depth: u32,
        #[serde(default)]
        done: bool,
        #[serde(default)]
        kind: ChunkKind,
    }
    if event.event != "chunk" {
        return wire::json::from_str(event.data);
    }
    let Chunk { seq, turn_id, content, part_id, model_call_id, parent_id, depth, done, kind } =
        wire::json::from_str(event.data)?;
    let place = Place { parent_id, depth };
    Ok(Numbered { seq, turn_id, event: Event::Chunk { content, part_id, model_call_id, place, done, kind } })
}
