//! A reader of the event log. Each open response has one, at its own cursor. It reads the stored log first and then the
//! live one, with no hole and no repetition where they meet. Pure; the platform pulls it.
//!
//! The platform pulls the reader, so a client that does not read costs only its cursor, and at most one write is in
//! flight. Reads and writes are the cost of a stream, so several events go into one write: the first event goes out at
//! once, the next ones keep a distance. Written events leave only after a sync: as far as we know, the platform's
//! output gate does not hold back response bodies until a write is durable, and a sync of durable data is free.
//!
//! The live log keeps 1 MB and the unwritten text, as the bytes that go out, and a thread has at most 32 readers. So
//! memory is bounded: eight subtasks with 100 000 deltas each take 10 MB (`durable/platform/tests/isolate_memory.rs`),
//! most of it their replies, which the journal needs whole.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, select};
use futures::stream::{LocalBoxStream, StreamExt, unfold};

use crate::storage::StoreError;
use crate::storage::page::{EventPage, Logged};
use engine::ports::Clock;
use wire::protocol::Seq;

use super::live::{LiveLog, Position};
use super::sse;

/// The distance between two writes: a burst of 51 chunks becomes two or three writes, and chunks that come one by one
/// do not wait.
const SPACING_MS: u64 = 5;
/// The longest silence (docs/wire-protocol.md).
const HEARTBEAT_MS: u64 = 15_000;
/// The same where the end of the stream stops a turn. The runtime tells nobody that a client has left: the first write after
/// that still succeeds, and the second one fails. So the turn is stopped within three seconds.
const ATTENTIVE_MS: u64 = 1_000;
/// How long a stream stays open after its turn was parked. A client that carries a tool out by itself answers within
/// that time and keeps its stream. A person takes longer, and an open stream would keep the object in memory meanwhile:
/// the platform evicts it after about 10 s without one.
pub const PARKED_MS: u64 = 5_000;
/// The most bytes of one write, give or take an event.
const WRITE_BYTES: usize = 64 << 10;
/// The most readers of a thread at once. A reader whose client does not read holds a write of [`WRITE_BYTES`] and the
/// platform's stream, so all of them hold about 2 MB of the isolate's 128 MB (measured in the runtime). A person with a
/// few tabs on a few devices stays far below it.
pub const MAX_READERS: usize = 32;

/// The count of a thread's readers.
#[derive(Default)]
pub struct Readers(Rc<Cell<usize>>);

/// The slot of one reader, free again when it is dropped.
pub struct ReaderSlot(Rc<Cell<usize>>);

impl Readers {
    /// A slot for one more reader; none where there are [`MAX_READERS`].
    pub fn admit(&self) -> Option<ReaderSlot> {
        let readers = self.0.get();
        if readers >= MAX_READERS {
            return None;
        }
        self.0.set(readers + 1);
        Some(ReaderSlot(Rc::clone(&self.0)))
    }
}

impl Drop for ReaderSlot {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// The stored log.
pub trait Archive {
    /// The next stored events numbered `after < seq < before`.
    fn page(&self, after: Seq, before: Seq) -> Result<EventPage, StoreError>;
    /// The event that replaces the next turn after this number whose events the thread no longer keeps.
    fn trimmed(&self, after: Seq) -> Result<Option<Logged>, StoreError>;
    /// Completes when everything that was written so far is durable.
    fn sync(&self) -> LocalBoxFuture<'static, Result<(), StoreError>>;
}

/// The part of the log to read.
pub enum Source {
    /// The stored events up to this number.
    Stored { through: Seq },
    /// The stored events, then the open turn until it ends or has been parked for a while.
    Live(Rc<LiveLog>),
}

/// One reader.
pub struct Reader {
    archive: Rc<dyn Archive>,
    clock: Rc<dyn Clock>,
    source: Source,
    /// The client has every event up to this number.
    cursor: Seq,
    written_at: Option<u64>,
    heartbeat: Option<LocalBoxFuture<'static, ()>>,
    /// How long it is silent at most.
    silence_ms: u64,
    /// How long it waits for a parked turn.
    patience_ms: u64,
    /// Dropped with the reader: so other parts of the object learn that the reader is gone.
    guards: Vec<Box<dyn std::any::Any>>,
}

impl Reader {
    /// A reader of the events after `after`.
    pub fn new(archive: Rc<dyn Archive>, clock: Rc<dyn Clock>, source: Source, after: Seq) -> Self {
        Reader {
            archive,
            clock,
            source,
            cursor: after,
            written_at: None,
            heartbeat: None,
            silence_ms: HEARTBEAT_MS,
            patience_ms: PARKED_MS,
            guards: Vec::new(),
        }
    }

    /// Ends as soon as the turn is parked and the client has all of it.
    pub fn leaving_at_once(self) -> Self {
        Reader { patience_ms: 0, ..self }
    }

    /// Reads what is stored up to this number, and ends.
    pub fn up_to(self, through: Seq) -> Self {
        Reader { source: Source::Stored { through }, ..self }
    }

    /// Finds soon that its client has left.
    pub fn attentive(self) -> Self {
        Reader { silence_ms: ATTENTIVE_MS, ..self }
    }

    /// Drops `guard` when the reader is dropped.
    pub fn guarded_by(mut self, guard: impl std::any::Any) -> Self {
        self.guards.push(Box::new(guard));
        self
    }

    /// The bytes to write, write by write.
    pub fn into_stream(self) -> LocalBoxStream<'static, Result<Vec<u8>, StoreError>> {
        let writes = unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            match reader.next().await {
                Ok(None) => None,
                Ok(Some(bytes)) => Some((Ok(bytes), Some(reader))),
                Err(error) => Some((Err(error), None)),
            }
        });
        writes.boxed_local()
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let mut out = Vec::new();
        while out.is_empty() {
            let position = match &self.source {
                Source::Stored { through } if self.cursor < *through => {
                    Position::Stored { before: through + 1 }
                }
                Source::Stored { .. } => Position::Over,
                Source::Live(live) => live.position(self.cursor),
            };
            match position {
                Position::Over => return Ok(None),
                Position::Waiting => self.wait(&mut out).await,
                Position::Stored { before } => self.read_stored(before, &mut out).await?,
                Position::Frames { .. } => {
                    self.pace().await;
                    self.read_live(&mut out).await?;
                }
            }
        }
        self.written_at = Some(self.clock.now_ms());
        Ok(Some(out))
    }

    async fn read_stored(&mut self, before: Seq, out: &mut Vec<u8>) -> Result<(), StoreError> {
        // The reader asks each time, because turns are trimmed while slow readers are on their way through them.
        if let Some(turn) = self.archive.trimmed(self.cursor)? {
            sse::encode(out, turn.seq, &turn.turn_id, &turn.event);
            self.cursor = turn.seq;
            return Ok(());
        }
        let page = self.archive.page(self.cursor, before)?;
        if !page.events.is_empty() {
            self.archive.sync().await?;
        }
        for event in &page.events {
            if out.len() >= WRITE_BYTES {
                return Ok(());
            }
            sse::encode(out, event.seq, &event.turn_id, &event.event);
            self.cursor = event.seq;
        }
        self.cursor = page.through;
        Ok(())
    }

    /// Takes all events that are there together, so that it waits for one sync; events that come meanwhile wait for the
    /// next.
    async fn read_live(&mut self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let Source::Live(live) = &self.source else { return Ok(()) };
        let Position::Frames { through, sync } = live.position(self.cursor) else { return Ok(()) };
        if sync {
            self.archive.sync().await?;
            live.mark_synced(through);
            // The log has dropped the events of a reader that lags too far behind: the reader finds them in storage.
            let Position::Frames { .. } = live.position(self.cursor) else { return Ok(()) };
        }
        self.cursor = live.read(self.cursor, through, WRITE_BYTES, out);
        Ok(())
    }

    /// Keeps the distance to the last write, unless the turn is over and the rest can leave.
    async fn pace(&self) {
        let Source::Live(live) = &self.source else { return };
        let Some(written_at) = self.written_at else { return };
        let gone = self.clock.now_ms().saturating_sub(written_at);
        if gone < SPACING_MS && !live.is_over() {
            select(self.clock.sleep(SPACING_MS - gone), Box::pin(live.over())).await;
        }
    }

    /// Waits for an event, or writes a comment when there was none for long.
    async fn wait(&mut self, out: &mut Vec<u8>) {
        let Source::Live(live) = &self.source else { return };
        let (live, clock) = (Rc::clone(live), Rc::clone(&self.clock));
        if let Some(parked_at) = live.parked_at() {
            return self.wait_parked(&live, parked_at, out).await;
        }
        // One timer serves many waits, because most of them are short.
        let (cursor, silence_ms) = (self.cursor, self.silence_ms);
        let mut heartbeat = self.heartbeat.take().unwrap_or_else(|| clock.sleep(silence_ms));
        let silent = poll_fn(|context| {
            if live.poll_beyond(cursor, false, context).is_ready() {
                return Poll::Ready(false);
            }
            heartbeat.poll_unpin(context).map(|()| true)
        })
        .await;
        if !silent {
            self.heartbeat = Some(heartbeat);
            return;
        }
        let gone = self.written_at.map_or(silence_ms, |at| clock.now_ms().saturating_sub(at));
        match silence_ms.checked_sub(gone) {
            None | Some(0) => {
                sse::heartbeat(out);
                self.heartbeat = Some(clock.sleep(silence_ms));
            }
            Some(rest) => self.heartbeat = Some(clock.sleep(rest)),
        }
    }

    /// Waits a short time for an event of a parked turn, then writes that the turn is parked, and ends.
    async fn wait_parked(&mut self, live: &LiveLog, parked_at: u64, out: &mut Vec<u8>) {
        self.heartbeat = None;
        let left = (parked_at + self.patience_ms).saturating_sub(self.clock.now_ms());
        let mut over = (left > 0).then(|| self.clock.sleep(left));
        let cursor = self.cursor;
        let silent = poll_fn(|context| {
            if live.poll_beyond(cursor, true, context).is_ready() {
                return Poll::Ready(false);
            }
            over.as_mut().map_or(Poll::Ready(()), |over| over.poll_unpin(context)).map(|()| true)
        });
        if silent.await {
            sse::parked(out);
            // Every event was sent. The platform may pull this reader, or drop it, after the turn runs again; so it
            // drops its guards now.
            self.source = Source::Stored { through: cursor };
            self.guards.clear();
        }
    }
}
