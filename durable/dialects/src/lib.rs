//! The wires of clients that were written for other services. A folder is a dialect: it reads the client's request, and
//! writes our events as the client expects them. Pure; the engine, the log and its readers know nothing of it.
//!
//! A [`Translation`] stands behind a reader of the log. It takes the reader's bytes, so a dialect has the same cursor,
//! limits and order of events as our own wire.
//!
//! A client of another service (`durable/dialects`, docs/clients.md) gets the same turns in its own form. The Worker
//! reads its request into a `ChatRequest`, or into answers to waiting calls. The thread's object puts a `Translation`
//! behind the reader (`platform/src/translated.rs`): it reads the reader's bytes back into events and writes those of
//! the dialect. So the engine, the log and the reader know no dialect, and a reader of a dialect has the cursor and
//! the limits of any reader. It stands in the object because the Worker passes the object's stream on untouched: an
//! encoder there would take each write out of the platform's pipe and into wasm once more. A turn of 200 deltas takes
//! 1.01 times the CPU of the same turn in our own form (workerd, 2026-11-24), and its stream a third of the bytes.
//!
//! Chat Completions and Responses share a reader of events (`openai/encoder.rs`), which cuts a turn into answers at
//! its waits. The id of an answer, or of a call in it, names thread, turn and the number of waits before it, so the
//! client's next request finds its turn and no state is stored. It proves nothing: the object is found by its owner
//! and that id. An answer in JSON is collected in the object by the same encoder. A conversation that a client brings
//! becomes turns without events (`platform/src/brought.rs`). A timer (`erase`) marks a thread as unlisted: D1 hears of
//! its usage alone, and the alarm deletes it.
//!
//! MCP (`mcp/`) has one encoder for the turn behind `chat`, as a response or as the state of a task, and a table of
//! tools. Each other tool is a request to one of our own routes, which the Worker plays within the request
//! (`Call::within`, `routes/mcp.rs`): the route's row judges its scope, and its function its limits and its owner. So
//! a tool can do nothing that its route cannot. The Worker signs the state that names thread and turn
//! (`turn_state.rs`) before it asks the object, and the encoder only hands it out.
//!
//! The encoder keeps the little that its form needs: open parts, calls that have not ended, the work within a subtask.
//! A client that reads on in the middle of a turn gets the events from the turn's start, of which those that it has
//! write nothing (`known`). So no state of an encoder is stored. A client's tool runs once its input is told as
//! complete, so the AI SDK's encoder holds that back in a replay until the last event that was there when the client
//! asked (`past`). The stream of a parked turn ends at once, because such a client answers when its stream has ended.

pub mod ai_sdk;
mod by_id;
mod given;
pub mod ids;
mod instructions;
pub mod mcp;
mod names;
pub mod openai;
mod pieces;
#[cfg(test)]
mod recorded;
mod template;

pub use given::unanswered;
pub use instructions::Instructions;

use crate::template::Hole::{Number, Text};
use crate::template::filled;
use serde::Deserialize;
use serde::de::Error;
use serde_json::{Value, json};
use wire::protocol::{AnswerForm, BudgetReason, Dialect, Event, Numbered, Place, Seq};
use wire::sse::{SseDecoder, SseError, SseEvent};
use wire::tagged::Tagged;

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

/// The name and the value of a header.
pub type Header = (&'static str, &'static str);

/// Writes the events of a turn in a dialect.
pub trait Encode {
    /// Writes the frames of the next event.
    fn encode(&mut self, numbered: &Numbered, now_ms: u64, out: &mut Vec<u8>) -> serde_json::Result<()>;
    /// Our stream is over. A turn that waits for the client has the end of its answer for now; any other one that has not
    /// ended was cut off.
    fn end(&mut self, is_parked: bool, out: &mut Vec<u8>) -> serde_json::Result<()>;
    /// Whether the answer has ended. Later events write nothing.
    fn is_over(&self) -> bool;

    /// The calls of the turn have their answers, and it waits for its place.
    fn waits_for_place(&mut self) {}
    /// The status and the header of the answer. Those of JSON are known once it is over.
    fn head(&self) -> (u16, Header);
}

/// The tool that a question about the turn's budget looks like, so that a client asks a person as it does for any tool.
const RAISE_LIMIT: &str = "raise_limit";

/// The arguments of [`RAISE_LIMIT`].
fn raised(reason: BudgetReason, limit: u64, observed: u64, raised_to: u64, grants_left: u32) -> Value {
    let reason = json!(reason);
    let (reason, left) = (Text(reason.as_str().unwrap_or_default()), Number(grants_left.into()));
    let members = r#"{"reason":$,"limit":$,"observed":$,"raisedTo":$,"grantsLeft":$}"#;
    let arguments = filled(members, &[reason, Number(limit), Number(observed), Number(raised_to), left]);
    wire::json::from_slice(&arguments).unwrap_or_default()
}

/// Whether an event belongs to the root, whose text is the answer's.
fn is_root(place: &Place) -> bool {
    place.depth == 0 && place.parent_id.is_none()
}

/// Our stream of one turn, written in a dialect.
pub struct Translation {
    decoder: SseDecoder,
    encoder: Box<dyn Encode>,
    form: AnswerForm,
    is_parked: bool,
    /// The turn that is read; empty before its first event.
    turn_id: String,
}

impl Translation {
    /// The turn from its first event on, for a client that has read it up to `known`. Events up to `past` have happened
    /// before the client asked.
    pub fn new(dialect: Dialect, known: Seq, past: Seq) -> Self {
        let form = dialect.form();
        let encoder: Box<dyn Encode> = match dialect {
            Dialect::AiSdk => Box::new(ai_sdk::Encoder::new(known, past)),
            Dialect::OpenAi(how) => Box::new(openai::Encoder::new(how)),
            Dialect::Mcp(how) => Box::new(mcp::Encoder::new(*how)),
        };
        Translation {
            decoder: SseDecoder::new(MAX_EVENT),
            encoder,
            form,
            is_parked: false,
            turn_id: String::new(),
        }
    }

    /// The same for a turn whose calls have their answers, and which waits for its place.
    pub fn of_queued(mut self) -> Self {
        self.encoder.waits_for_place();
        self
    }

    /// Translates the next bytes of our stream.
    pub fn feed(&mut self, bytes: &[u8], now_ms: u64, out: &mut Vec<u8>) -> Result<(), Broken> {
        let (encoder, turn_id) = (&mut self.encoder, &mut self.turn_id);
        self.decoder.feed(bytes, |SseEvent { event, data, last_id }| {
            if turn_id.is_empty() {
                *turn_id = turn_of(data)?;
            }
            // The frame has the number and the kind, so the JSON is read once.
            let seq = last_id.parse().map_err(|_| serde_json::Error::custom("an event without a number"))?;
            let event = Event::variant(event, data)?;
            Ok::<_, Broken>(encoder.encode(
                &Numbered { seq, turn_id: turn_id.clone(), event },
                now_ms,
                out,
            )?)
        })?;
        self.is_parked = bytes.ends_with(PARKED);
        if out.is_empty() && self.form == AnswerForm::Stream && bytes.ends_with(HEARTBEAT) {
            out.extend_from_slice(HEARTBEAT);
        }
        Ok(())
    }

    /// Our stream is over.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), Broken> {
        Ok(self.encoder.end(self.is_parked, out)?)
    }

    /// How the client gets the answer.
    pub fn form(&self) -> AnswerForm {
        self.form
    }

    /// The status and the header of the answer. Those of JSON are known once it is over.
    pub fn head(&self) -> (u16, Header) {
        self.encoder.head()
    }

    /// Whether the client has the end of the answer.
    pub fn is_over(&self) -> bool {
        self.encoder.is_over()
    }
}

/// The turn of an event.
fn turn_of(data: &str) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct OfTurn {
        turn_id: String,
    }
    wire::json::from_str(data).map(|OfTurn { turn_id }| turn_id)
}
