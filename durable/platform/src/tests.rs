//! Readers of the event log: live, stored and both.

mod limits;
mod live;
mod parked;
mod translated;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::executor::LocalPool;
use futures::future::LocalBoxFuture;
use futures::stream::{LocalBoxStream, StreamExt};
use futures::task::LocalSpawnExt;
use futures::{FutureExt, channel::oneshot};

use super::live::LiveLog;
use super::reader::{Archive, Reader, Source};
use crate::storage::StoreError;
use crate::storage::event_json::EventJson;
use crate::storage::page::{EventPage, Logged};
use crate::storage::rows::Fresh;
use engine::ports::Clock;
use engine::testing::FakeClock;
use wire::protocol::{CallStatus, ChunkKind, Event, Place, Seq};

fn fact(code: &str) -> Event {
    Event::Error { code: code.to_owned(), message: String::new(), retryable: false }
}

fn chunk(model_call_id: &str, content: &str) -> Event {
    Event::Chunk {
        content: content.to_owned(),
        part_id: "part".to_owned(),
        model_call_id: model_call_id.to_owned(),
        place: Place::default(),
        done: false,
        kind: ChunkKind::Text,
    }
}

fn call_ended(model_call_id: &str) -> Event {
    Event::ModelCallUpdate {
        model_call_id: model_call_id.to_owned(),
        status: CallStatus::End,
        model: "m".to_owned(),
        agent: None,
        place: Place::default(),
        started_ms: Some(1),
        first_byte_ms: None,
        duration_ms: Some(2),
        usage: None,
        cost_usd: None,
        finish_reason: None,
    }
}

fn logged(seq: Seq, turn_id: &str, event: Event) -> Logged {
    Logged { seq, turn_id: turn_id.to_owned(), event: EventJson::new(event).unwrap() }
}

fn publish(live: &LiveLog, events: impl IntoIterator<Item = (Seq, Event)>) {
    let fresh = events.into_iter().map(|(seq, event)| Fresh::new(seq, String::new(), event).unwrap());
    live.publish(&fresh.collect::<Vec<_>>());
}

/// A stored log of facts, in pages of two, that counts its syncs and can hold them back.
#[derive(Default)]
struct Shelf {
    stored: RefCell<Vec<Seq>>,
    /// Turns whose events are gone: first and last number.
    trimmed: RefCell<Vec<(Seq, Seq)>>,
    syncs: Cell<u32>,
    held: Cell<bool>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
    /// How long the messages of its facts are.
    length: Cell<usize>,
}

impl Shelf {
    fn release(&self) {
        self.held.set(false);
        self.waiting.take().into_iter().for_each(|sync| sync.send(()).unwrap_or(()));
    }
}

impl Archive for Shelf {
    fn page(&self, after: Seq, before: Seq) -> Result<EventPage, StoreError> {
        let stored = self.stored.borrow();
        let found: Vec<Seq> =
            stored.iter().copied().filter(|seq| after < *seq && *seq < before).take(2).collect();
        let through = if found.len() == 2 { found[1] } else { before - 1 };
        let event = Event::Error {
            code: "stored".to_owned(),
            message: "x".repeat(self.length.get()),
            retryable: false,
        };
        Ok(EventPage {
            events: found.into_iter().map(|seq| logged(seq, "old", event.clone())).collect(),
            through,
        })
    }

    fn trimmed(&self, after: Seq) -> Result<Option<Logged>, StoreError> {
        let turn = self.trimmed.borrow().iter().copied().find(|(_, last)| after < *last);
        Ok(turn.map(|(_, seq)| logged(seq, "trimmed", fact("truncated"))))
    }

    fn sync(&self) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        self.syncs.set(self.syncs.get() + 1);
        let (sync, done) = oneshot::channel();
        if self.held.get() {
            self.waiting.borrow_mut().push(sync);
            return done.map(|_| Ok(())).boxed_local();
        }
        async { Ok(()) }.boxed_local()
    }
}

struct Story {
    pool: LocalPool,
    live: Rc<LiveLog>,
    clock: Rc<FakeClock>,
    shelf: Rc<Shelf>,
}

/// The numbers of each write; a heartbeat is an empty one.
type Writes = Rc<RefCell<Vec<Vec<Seq>>>>;

impl Story {
    fn new(next: Seq) -> Self {
        Story {
            pool: LocalPool::new(),
            live: Rc::new(LiveLog::new("turn", next)),
            clock: Rc::default(),
            shelf: Rc::default(),
        }
    }

    fn stream(&self, source: Source, after: Seq) -> LocalBoxStream<'static, Result<Vec<u8>, StoreError>> {
        let clock = Rc::clone(&self.clock) as Rc<dyn Clock>;
        Reader::new(Rc::clone(&self.shelf) as Rc<dyn Archive>, clock, source, after).into_stream()
    }

    /// A client that reads as soon as bytes come.
    fn read(&self, source: Source, after: Seq) -> Writes {
        self.read_from(self.stream(source, after))
    }

    fn read_from(&self, mut stream: LocalBoxStream<'static, Result<Vec<u8>, StoreError>>) -> Writes {
        let writes = Writes::default();
        let seen = Rc::clone(&writes);
        let reading = async move {
            while let Some(write) = stream.next().await {
                let text = String::from_utf8(write.unwrap()).unwrap();
                let ids =
                    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(|id| id.parse().unwrap());
                seen.borrow_mut().push(ids.collect());
            }
            seen.borrow_mut().push(vec![Seq::MAX]);
        };
        self.pool.spawner().spawn_local(reading).unwrap();
        writes
    }

    fn live(&self) -> Source {
        Source::Live(Rc::clone(&self.live))
    }

    fn settle(&mut self) {
        self.pool.run_until_stalled();
    }
}

const END: Seq = Seq::MAX;

#[test]
fn the_first_event_goes_out_at_once_and_a_burst_goes_out_together() {
    let mut story = Story::new(1);
    let writes = story.read(story.live(), 0);
    story.live.announce(1, chunk("a", "x"), false).unwrap();
    story.settle();
    assert_eq!(*writes.borrow(), [vec![1]]);
    for seq in 2..=50 {
        story.live.announce(seq, chunk("a", "x"), false).unwrap();
        story.settle();
    }
    assert_eq!(writes.borrow().len(), 1, "the burst waits");
    story.clock.pass(5);
    story.settle();
    assert_eq!(writes.borrow()[1..], [(2..=50).collect::<Vec<_>>()]);
    story.clock.pass(5);
    story.live.announce(51, chunk("a", "x"), false).unwrap();
    story.settle();
    assert_eq!(writes.borrow()[2..], [vec![51]], "an event after the distance goes out at once");
    publish(&story.live, [(52, fact("done"))]);
    story.live.close();
    story.settle();
    assert_eq!(writes.borrow()[3..], [vec![52], vec![END]], "the end waits for nothing");
}

#[test]
fn facts_leave_only_after_a_sync_and_one_sync_is_enough() {
    let mut story = Story::new(1);
    story.shelf.held.set(true);
    publish(&story.live, [(1, fact("a")), (2, fact("b"))]);
    let writes = [story.read(story.live(), 0), story.read(story.live(), 1)];
    story.settle();
    assert!(
        writes.iter().all(|writes| writes.borrow().is_empty()),
        "nothing left before the write was durable"
    );
    story.live.announce(3, chunk("a", "x"), false).unwrap();
    story.shelf.release();
    story.settle();
    assert_eq!(*writes[0].borrow(), [vec![1, 2]], "the events that were there when the sync began");
    story.clock.pass(5);
    story.settle();
    assert_eq!(writes[0].borrow()[1..], [vec![3]]);
    let syncs = story.shelf.syncs.get();
    let late = story.read(story.live(), 0);
    story.settle();
    assert_eq!(*late.borrow(), [vec![1, 2, 3]]);
    assert_eq!(story.shelf.syncs.get(), syncs, "one sync serves all readers");
}

#[test]
fn stored_and_live_events_meet_without_hole_or_repetition() {
    for after in 0..9 {
        let mut story = Story::new(8);
        story.shelf.stored.replace(vec![1, 2, 3, 5, 6]);
        publish(&story.live, [(8, fact("a"))]);
        story.live.announce(9, chunk("a", "x"), false).unwrap();
        let writes = story.read(story.live(), after);
        story.settle();
        story.clock.pass(5);
        story.live.close();
        story.settle();
        let read: Vec<Seq> = writes.borrow().concat();
        let expected: Vec<Seq> = [1, 2, 3, 5, 6, 8, 9, END].into_iter().filter(|seq| *seq > after).collect();
        assert_eq!(read, expected, "after {after}");
    }
}

#[test]
fn a_turn_with_trimmed_events_is_one_event() {
    // Turns 1–3 and 5–7 are gone, 8 and 9 are stored, 10 is live.
    for (after, expected) in [
        (0, vec![3, 7, 8, 9, 10]),
        (2, vec![3, 7, 8, 9, 10]),
        (3, vec![7, 8, 9, 10]),
        (6, vec![7, 8, 9, 10]),
        (7, vec![8, 9, 10]),
        (9, vec![10]),
    ] {
        let mut story = Story::new(10);
        story.shelf.trimmed.replace(vec![(1, 3), (5, 7)]);
        story.shelf.stored.replace(vec![8, 9]);
        publish(&story.live, [(10, fact("a"))]);
        let writes = story.read(story.live(), after);
        for _ in 0..5 {
            story.settle();
            story.clock.pass(5);
        }
        assert_eq!(writes.borrow().concat(), expected, "after {after}");
    }
}

#[test]
fn a_turn_that_is_trimmed_under_a_slow_reader_leaves_no_hole() {
    let mut story = Story::new(1);
    story.shelf.stored.replace((1..=6).collect());
    let mut stream = story.stream(Source::Stored { through: 6 }, 0);
    let mut next = || {
        let write = story.pool.run_until(stream.next());
        write.map(|write| {
            String::from_utf8(write.unwrap()).unwrap().lines().next().unwrap_or_default().to_owned()
        })
    };
    assert_eq!(next().as_deref(), Some("id: 1"));
    story.shelf.stored.replace(vec![5, 6]);
    story.shelf.trimmed.replace(vec![(1, 4)]);
    assert_eq!([next(), next(), next()].map(Option::unwrap_or_default), ["id: 4", "id: 5", ""]);
}

#[test]
fn a_reader_that_lags_behind_the_log_goes_on_from_storage() {
    let mut story = Story::new(1);
    let writes = story.read(story.live(), 0);
    publish(&story.live, [(1, fact("a"))]);
    story.settle();
    let big = |seq| {
        let result = Some("x".repeat(900_000));
        let event = Event::ToolCallUpdate {
            tool_call_id: "c".to_owned(),
            name: "t".to_owned(),
            status: CallStatus::End,
            started_ms: None,
            usage: None,
            decision: None,
            cost_usd: None,
            args: None,
            result,
            is_error: false,
            duration_ms: None,
            sources: Vec::new(),
            awaits: None,
            expires_at: None,
            place: Place::default(),
        };
        (seq, event)
    };
    story.shelf.stored.replace(vec![1, 2, 3, 4]);
    (2..=4).for_each(|seq| publish(&story.live, [big(seq)]));
    story.live.close();
    story.clock.pass(5);
    story.settle();
    assert_eq!(writes.borrow().concat(), [1, 2, 3, 4, END]);
}

#[test]
fn stored_events_are_written_in_pieces() {
    for (length, expected) in [
        (32_000, vec![vec![1, 2], vec![3, 4], vec![END]]),
        (64 << 10, vec![vec![1], vec![2], vec![3], vec![4], vec![END]]),
    ] {
        let mut story = Story::new(1);
        story.shelf.stored.replace((1..=4).collect());
        story.shelf.length.set(length);
        let writes = story.read(Source::Stored { through: 4 }, 0);
        story.settle();
        assert_eq!(*writes.borrow(), expected, "{length}");
    }
}

#[test]
fn a_finished_turn_is_read_to_its_last_event() {
    let mut story = Story::new(1);
    story.shelf.stored.replace((1..=9).collect());
    let writes = story.read(Source::Stored { through: 7 }, 2);
    story.settle();
    assert_eq!(writes.borrow().concat(), [3, 4, 5, 6, 7, END]);
}

#[test]
fn silence_is_broken_every_fifteen_seconds() {
    let mut story = Story::new(1);
    let writes = story.read(story.live(), 0);
    story.settle();
    story.clock.pass(10_000);
    story.live.announce(1, chunk("a", "x"), false).unwrap();
    story.settle();
    assert_eq!(*writes.borrow(), [vec![1]]);
    story.clock.pass(14_999);
    story.settle();
    assert_eq!(writes.borrow().len(), 1);
    story.clock.pass(1);
    story.settle();
    assert_eq!(writes.borrow()[1..], [Vec::<Seq>::new()]);
    story.clock.pass(15_000);
    story.settle();
    assert_eq!(writes.borrow()[2..], [Vec::<Seq>::new()]);
}

#[test]
fn a_dropped_reader_drops_its_guards() {
    struct Tell(Rc<Cell<bool>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let story = Story::new(1);
    let gone = Rc::new(Cell::new(false));
    let clock = Rc::clone(&story.clock) as Rc<dyn Clock>;
    let reader = Reader::new(Rc::clone(&story.shelf) as Rc<dyn Archive>, clock, story.live(), 0)
        .guarded_by(Tell(Rc::clone(&gone)));
    let mut stream = reader.into_stream();
    assert!(stream.next().now_or_never().is_none(), "it waits");
    assert!(!gone.get());
    drop(stream);
    assert!(gone.get());
    assert_eq!(Rc::strong_count(&story.live), 1, "the log has no other owner");
}
