//! The live log: the events of the running turn, append-only, in memory, from which any number of readers read at their
//! own cursors. Pure.
//!
//! It holds what is not in storage yet (announced text) and as much of the rest as spares readers the storage. What a
//! reader needs below [`Position::Stored`] is in storage, all of it: a call's text is kept until it is written. The log
//! never calls out while it is borrowed; waking a reader only queues it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use crate::protocol::{CallStatus, Event, Seq};

use super::sse;

/// The most bytes that are kept for readers that lag (runtime's measure: a socket that nobody reads takes about 2 MB
/// before it blocks, and an isolate has 128 MB for all its threads). A reader that lags more goes on from storage.
const KEPT_BYTES: usize = 1 << 20;
/// What a frame weighs beside its text: its ids and the allocations that hold them.
const FRAME_BYTES: usize = 256;

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
    /// Model calls with announced text that is not written yet, and the number of their first chunk.
    open: Vec<(String, Seq)>,
    /// The last number that must not leave before a sync, and the last one that a sync has covered.
    barrier: Seq,
    synced: Seq,
    over: bool,
    waiting: Vec<Waker>,
    waiting_for_end: Vec<Waker>,
}

struct Frame {
    seq: Seq,
    event: Event,
    bytes: usize,
}

/// Where a reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// What comes next is in storage, up to but without this number.
    Stored { before: Seq },
    /// There are frames up to this number. `sync`: they may leave only after the storage is synced.
    Frames { through: Seq, sync: bool },
    /// Nothing yet.
    Waiting,
    /// Nothing any more.
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
            waiting: Vec::new(),
            waiting_for_end: Vec::new(),
        };
        LiveLog { turn_id: turn_id.into(), state: RefCell::new(state) }
    }

    /// Events that were just written; they may leave once the write is durable.
    pub fn publish(&self, events: impl IntoIterator<Item = (Seq, Event)>) {
        let mut state = self.state.borrow_mut();
        for (seq, event) in events {
            match &event {
                Event::ModelCallUpdate { model_call_id, status: CallStatus::End, .. }
                | Event::ModelCallReset { model_call_id, .. } => state.settle(model_call_id),
                _ => {}
            }
            state.barrier = seq;
            state.push(seq, event);
        }
        state.trim();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// A chunk whose text is written later. `unreserved`: its number's reservation was written only now.
    pub fn announce(&self, seq: Seq, chunk: Event, unreserved: bool) {
        let mut state = self.state.borrow_mut();
        if let Event::Chunk { model_call_id, .. } = &chunk
            && !state.open.iter().any(|(open, _)| open == model_call_id)
        {
            state.open.push((model_call_id.clone(), seq));
        }
        if unreserved {
            state.barrier = seq;
        }
        state.push(seq, chunk);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The text of a model call is written.
    pub fn settle(&self, model_call_id: &str) {
        self.state.borrow_mut().settle(model_call_id);
    }

    /// Nothing will follow.
    pub fn close(&self) {
        let mut state = self.state.borrow_mut();
        state.over = true;
        let waiting = std::mem::take(&mut state.waiting);
        let waiting_for_end = std::mem::take(&mut state.waiting_for_end);
        drop(state);
        waiting.into_iter().chain(waiting_for_end).for_each(Waker::wake);
    }

    /// Whether nothing will follow.
    pub fn is_over(&self) -> bool {
        self.state.borrow().over
    }

    /// Completes when nothing will follow.
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

    /// Completes when a reader at this cursor has something to do.
    pub fn poll_beyond(&self, cursor: Seq, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        if state.over || state.frames.back().is_some_and(|frame| frame.seq > cursor) {
            return Poll::Ready(());
        }
        register(&mut state.waiting, context.waker());
        Poll::Pending
    }

    /// What a reader that was sent everything up to `cursor` finds.
    pub fn position(&self, cursor: Seq) -> Position {
        let state = self.state.borrow();
        // A client may claim to have seen any number.
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

    /// Encodes the frames after `cursor` up to `through`, as many as fit into `max_bytes`, at least one. Gives the
    /// number of the last.
    pub fn encode(
        &self,
        cursor: Seq,
        through: Seq,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<Seq, serde_json::Error> {
        let state = self.state.borrow();
        let first = state.frames.partition_point(|frame| frame.seq <= cursor);
        let mut last = cursor;
        for frame in state.frames.range(first..) {
            if frame.seq > through || out.len() >= max_bytes {
                break;
            }
            sse::encode(out, frame.seq, &self.turn_id, &frame.event)?;
            last = frame.seq;
        }
        Ok(last)
    }

    /// The number of the newest event here.
    pub fn last_seq(&self) -> Option<Seq> {
        self.state.borrow().frames.back().map(|frame| frame.seq)
    }
}

fn register(waiting: &mut Vec<Waker>, waker: &Waker) {
    if !waiting.iter().any(|known| known.will_wake(waker)) {
        waiting.push(waker.clone());
    }
}

impl State {
    fn push(&mut self, seq: Seq, event: Event) {
        let text = match &event {
            Event::Chunk { content, .. } => content.len(),
            Event::ToolCallUpdate { result, .. } => result.as_ref().map_or(0, String::len),
            _ => 0,
        };
        let bytes = FRAME_BYTES + text;
        self.bytes += bytes;
        self.frames.push_back(Frame { seq, event, bytes });
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
            self.bytes -= frame.bytes;
            self.base = frame.seq + 1;
        }
    }
}
