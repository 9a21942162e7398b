//! The live log: the events of the running turn, append-only, in memory. Any number of readers read it at their own
//! cursors. Pure.
//!
//! The log holds the text that is announced and not stored yet, and enough stored events that most readers need no read
//! of the storage. A reader that lags below [`Position::Stored`] finds everything in storage, because the log keeps the
//! text of a call until it is written. The engine writes text before it grows long, so the size of the log is bounded
//! for any model and any reader. The log keeps events as the bytes that go out: their weight is known, while a tool's
//! arguments as a tree would weigh many times their text. The log never calls out while it is borrowed; waking a reader
//! only queues it.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use wire::protocol::{Event, Seq};

use super::sse;
use crate::storage::event_json::EventJson;
use crate::storage::rows::Fresh;

/// The most bytes that the log keeps for readers that lag (measured in the runtime: a socket that the client does not
/// read takes about 2 MB before it blocks, and an isolate has 128 MB for all its threads). A reader that lags more goes
/// on from storage.
const KEPT_BYTES: usize = 1 << 20;
/// The weight of a frame beside its bytes: its place in the queue and its allocation.
const FRAME_BYTES: usize = 32;

/// The log of one run of one turn.
pub struct LiveLog {
    turn_id: String,
    state: RefCell<State>,
}

struct State {
    frames: VecDeque<Frame>,
    bytes: usize,
    /// All events with smaller numbers are in storage.
    base: Seq,
    /// Model calls with announced text that is not written yet, each with the number of its first chunk.
    open: Vec<(String, Seq)>,
    /// The last number that must not leave before a sync, and the last number that a sync has covered.
    barrier: Seq,
    synced: Seq,
    over: bool,
    /// The time at which the turn was parked, in milliseconds since 1970.
    parked_at: Option<u64>,
    waiting: Vec<Waker>,
    waiting_for_end: Vec<Waker>,
}

struct Frame {
    seq: Seq,
    /// The event as it goes out.
    bytes: Box<[u8]>,
}

/// The position of a reader in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The next events are in storage, up to but without this number.
    Stored { before: Seq },
    /// There are frames up to this number. `sync`: they may leave only after the storage is synced.
    Frames { through: Seq, sync: bool },
    /// The reader waits for the next event.
    Waiting,
    /// The log is over: there is no further event.
    Over,
}

impl LiveLog {
    /// An empty log: all events before `next` are in storage.
    pub fn new(turn_id: impl Into<String>, next: Seq) -> Self {
        let state = State {
            frames: VecDeque::new(),
            bytes: 0,
            base: next,
            open: Vec::new(),
            barrier: 0,
            synced: 0,
            over: false,
            parked_at: None,
            waiting: Vec::new(),
            waiting_for_end: Vec::new(),
        };
        LiveLog { turn_id: turn_id.into(), state: RefCell::new(state) }
    }

    /// Events that were just written; they may leave once the write is durable.
    pub fn publish(&self, events: &[Fresh]) {
        let mut state = self.state.borrow_mut();
        for Fresh { seq, event, .. } in events {
            event.settled_call.iter().for_each(|call| state.settle(call));
            state.barrier = *seq;
            state.push(*seq, &self.turn_id, event);
        }
        state.trim();
        wake(state);
    }

    /// A chunk whose text is written later. `unreserved`: its number's reservation was written only now.
    pub fn announce(&self, seq: Seq, chunk: Event, unreserved: bool) -> Result<(), serde_json::Error> {
        let mut state = self.state.borrow_mut();
        if let Event::Chunk { model_call_id, .. } = &chunk
            && !state.open.iter().any(|(open, _)| open == model_call_id)
        {
            state.open.push((model_call_id.clone(), seq));
        }
        if unreserved {
            state.barrier = seq;
        }
        state.push(seq, &self.turn_id, &EventJson::new(chunk)?);
        wake(state);
        Ok(())
    }

    /// The text of a model call is now written.
    pub fn settle(&self, model_call_id: &str) {
        self.state.borrow_mut().settle(model_call_id);
    }

    /// Ends the log: no event follows.
    pub fn close(&self) {
        let mut state = self.state.borrow_mut();
        state.over = true;
        let waiting_for_end = std::mem::take(&mut state.waiting_for_end);
        wake(state);
        waiting_for_end.into_iter().for_each(Waker::wake);
    }

    /// Notes that the turn is parked since then: no event follows before somebody outside answers or stops it.
    pub fn park(&self, at_ms: u64) {
        let mut state = self.state.borrow_mut();
        state.parked_at = Some(at_ms);
        wake(state);
    }

    /// Notes that the turn runs again.
    pub fn go_on(&self) {
        let mut state = self.state.borrow_mut();
        if state.parked_at.take().is_some() {
            wake(state);
        }
    }

    /// Since when the turn is parked, in milliseconds since 1970; none where it is not.
    pub fn parked_at(&self) -> Option<u64> {
        self.state.borrow().parked_at
    }

    /// Whether the log has ended.
    pub fn is_over(&self) -> bool {
        self.state.borrow().over
    }

    /// Completes when the log ends.
    pub async fn over(&self) {
        poll_fn(|context| self.poll_over(context)).await;
    }

    fn poll_over(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        if state.over {
            return Poll::Ready(());
        }
        register(&mut state.waiting_for_end, context.waker());
        Poll::Pending
    }

    /// Completes when a reader at this cursor has something to do. `parked`: the reader knows that the turn is parked.
    pub fn poll_beyond(&self, cursor: Seq, parked: bool, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        let changed = state.over || state.parked_at.is_some() != parked;
        if changed || state.frames.back().is_some_and(|frame| frame.seq > cursor) {
            return Poll::Ready(());
        }
        register(&mut state.waiting, context.waker());
        Poll::Pending
    }

    /// The position of a reader that has every event up to `cursor`.
    pub fn position(&self, cursor: Seq) -> Position {
        let state = self.state.borrow();
        // The comparison saturates, because a client may claim any number.
        if cursor.saturating_add(1) < state.base {
            return Position::Stored { before: state.base };
        }
        match state.frames.back() {
            Some(last) if last.seq > cursor => {
                let sync = state.barrier > cursor.max(state.synced);
                Position::Frames { through: last.seq, sync }
            }
            _ if state.over => Position::Over,
            _ => Position::Waiting,
        }
    }

    /// A sync that began when `through` was the last number has covered all up to it.
    pub fn mark_synced(&self, through: Seq) {
        let mut state = self.state.borrow_mut();
        state.synced = state.synced.max(through);
    }

    /// Appends the frames after `cursor` up to `through`, as many as fit into `max_bytes`, at least one. Gives the
    /// number of the last.
    pub fn read(&self, cursor: Seq, through: Seq, max_bytes: usize, out: &mut Vec<u8>) -> Seq {
        let state = self.state.borrow();
        let first = state.frames.partition_point(|frame| frame.seq <= cursor);
        let mut last = cursor;
        for frame in state.frames.range(first..) {
            if frame.seq > through || out.len() >= max_bytes {
                break;
            }
            out.extend_from_slice(&frame.bytes);
            last = frame.seq;
        }
        last
    }

    /// The size of the log, in bytes.
    pub fn bytes(&self) -> usize {
        self.state.borrow().bytes
    }

    /// The number of the newest event here.
    pub fn last_seq(&self) -> Option<Seq> {
        self.state.borrow().frames.back().map(|frame| frame.seq)
    }
}

/// Wakes the readers, once nothing is borrowed.
fn wake(mut state: RefMut<'_, State>) {
    let waiting = std::mem::take(&mut state.waiting);
    drop(state);
    waiting.into_iter().for_each(Waker::wake);
}

fn register(waiting: &mut Vec<Waker>, waker: &Waker) {
    if !waiting.iter().any(|known| known.will_wake(waker)) {
        waiting.push(waker.clone());
    }
}

impl State {
    fn push(&mut self, seq: Seq, turn_id: &str, event: &EventJson) {
        let mut bytes = Vec::new();
        sse::encode(&mut bytes, seq, turn_id, event);
        let frame = Frame { seq, bytes: bytes.into_boxed_slice() };
        self.bytes += frame.weight();
        self.frames.push_back(frame);
    }

    fn settle(&mut self, model_call_id: &str) {
        self.open.retain(|(open, _)| open != model_call_id);
    }

    /// Drops the oldest frames that are in storage while there are too many.
    fn trim(&mut self) {
        let unwritten = self.open.iter().map(|(_, first)| *first).min().unwrap_or(Seq::MAX);
        while self.bytes > KEPT_BYTES
            && self.frames.front().is_some_and(|frame| frame.seq < unwritten)
            && let Some(frame) = self.frames.pop_front()
        {
            self.bytes -= frame.weight();
            self.base = frame.seq + 1;
        }
    }
}

impl Frame {
    fn weight(&self) -> usize {
        FRAME_BYTES + self.bytes.len()
    }
}
