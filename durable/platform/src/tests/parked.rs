//! A parked turn keeps nothing awake in its object: no timer, no reader.

use super::*;
use crate::reader::{MAX_READERS, Readers};

/// The text of each write.
type Texts = Rc<RefCell<Vec<String>>>;

const OVER: &str = "over";
const PARKED: &str = ": parked\n\n";

impl Story {
    fn open(&self, after: Seq) -> Texts {
        let texts = Texts::default();
        let (mut stream, seen) = (self.stream(self.live(), after), Rc::clone(&texts));
        let reading = async move {
            while let Some(write) = stream.next().await {
                seen.borrow_mut().push(String::from_utf8(write.unwrap()).unwrap());
            }
            seen.borrow_mut().push(OVER.to_owned());
        };
        self.pool.spawner().spawn_local(reading).unwrap();
        texts
    }

    /// Timers that somebody still waits for.
    fn timers(&self) -> usize {
        self.clock.timers()
    }

    /// A turn that has said two facts and is parked.
    fn parked() -> Self {
        let story = Story::new(1);
        story.clock.set(1_000_000);
        publish(&story.live, [(1, fact("a")), (2, fact("waits"))]);
        story.live.park(story.clock.now_ms());
        story
    }
}

fn last(texts: &Texts) -> [String; 2] {
    let texts = texts.borrow();
    [texts[texts.len() - 2].clone(), texts[texts.len() - 1].clone()]
}

#[test]
fn some_seconds_after_parking_no_timer_and_no_response_is_left() {
    let mut story = Story::new(1);
    story.clock.set(1_000_000);
    let early = [story.open(0), story.open(0)];
    story.settle();
    assert_eq!(story.timers(), 2, "while it runs each has its heartbeat");
    publish(&story.live, [(1, fact("a")), (2, fact("waits"))]);
    story.live.park(story.clock.now_ms());
    let late = story.open(1);
    story.settle();
    story.clock.pass(4_999);
    story.settle();
    let open = |texts: &Texts| !texts.borrow().iter().any(|text| text == OVER);
    assert!(early.iter().chain([&late]).all(open));
    story.clock.pass(1);
    story.settle();
    for texts in early.iter().chain([&late]) {
        assert_eq!(last(texts), [PARKED, OVER]);
    }
    assert_eq!(story.timers(), 0);
    assert_eq!(Rc::strong_count(&story.live), 1, "no reader holds the log");
}

#[test]
fn a_late_reader_of_a_parked_turn_reads_the_rest_and_sets_no_timer() {
    let mut story = Story::parked();
    story.clock.pass(5_000);
    let texts = story.open(0);
    story.settle();
    assert_eq!(texts.borrow().len(), 3, "{texts:?}");
    assert!(texts.borrow()[0].starts_with("id: 1\n") && texts.borrow()[0].contains("id: 2\n"));
    assert_eq!(last(&texts), [PARKED, OVER]);
    assert_eq!(story.timers(), 0);
}

#[test]
fn an_answer_in_time_goes_on_in_the_open_stream() {
    let mut story = Story::parked();
    let texts = story.open(0);
    story.settle();
    story.clock.pass(4_999);
    story.settle();
    publish(&story.live, [(3, fact("goes on"))]);
    story.live.go_on();
    story.settle();
    story.clock.pass(14_999);
    story.settle();
    assert!(texts.borrow().last().unwrap().starts_with("id: 3\n"), "{texts:?}");
    story.clock.pass(1);
    story.settle();
    assert_eq!(texts.borrow().last().unwrap(), ": \n\n", "it has its heartbeat again");
    publish(&story.live, [(4, fact("done"))]);
    story.live.close();
    story.settle();
    assert_eq!(texts.borrow().last().unwrap(), OVER);
    assert!(!texts.borrow().iter().any(|text| text == PARKED), "{texts:?}");
}

#[test]
fn guards_of_a_parked_turns_reader_are_dropped_before_the_turn_goes_on() {
    struct Tell(Rc<Cell<bool>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let story = Story::parked();
    story.clock.pass(5_000);
    let gone = Rc::new(Cell::new(false));
    let clock = Rc::clone(&story.clock) as Rc<dyn Clock>;
    let reader = Reader::new(Rc::clone(&story.shelf) as Rc<dyn Archive>, clock, story.live(), 2)
        .guarded_by(Tell(Rc::clone(&gone)));
    let mut stream = reader.into_stream();
    let comment = stream.next().now_or_never().flatten().unwrap().unwrap();
    assert_eq!(comment, PARKED.as_bytes());
    // The platform may pull the reader, or drop it, long after the answer.
    assert!(gone.get());
}

#[test]
fn a_thread_has_so_many_readers_and_no_more() {
    let readers = Readers::default();
    let mut places: Vec<_> = (0..MAX_READERS).map(|_| readers.admit().unwrap()).collect();
    assert!(readers.admit().is_none());
    places.pop();
    places.push(readers.admit().unwrap());
    assert!(readers.admit().is_none());
    drop(places);
    assert!(readers.admit().is_some());
}

// Issue 22
#[test]
fn a_reader_without_patience_ends_once_the_client_has_all_of_a_parked_turn() {
    let mut story = Story::new(1);
    let texts = Texts::default();
    let clock = Rc::clone(&story.clock) as Rc<dyn Clock>;
    let reader = Reader::new(Rc::clone(&story.shelf) as Rc<dyn Archive>, clock, story.live(), 0);
    let (mut stream, seen) = (reader.leaving_at_once().into_stream(), Rc::clone(&texts));
    let reading = async move {
        while let Some(write) = stream.next().await {
            seen.borrow_mut().push(String::from_utf8(write.unwrap()).unwrap());
        }
        seen.borrow_mut().push(OVER.to_owned());
    };
    story.pool.spawner().spawn_local(reading).unwrap();
    publish(&story.live, [(1, fact("a")), (2, fact("waits"))]);
    story.settle();
    assert_eq!(texts.borrow().len(), 1, "a turn that runs is awaited: {texts:?}");
    story.live.park(story.clock.now_ms());
    story.settle();
    assert_eq!(last(&texts), [PARKED, OVER]);
}

// Issue 51, 3: a client that has left is found by the second write to it, so within three seconds.
#[test]
fn a_stream_whose_end_stops_a_turn_is_silent_for_a_second() {
    let mut story = Story::new(1);
    let clock = Rc::clone(&story.clock) as Rc<dyn Clock>;
    let reader = Reader::new(Rc::clone(&story.shelf) as Rc<dyn Archive>, clock, story.live(), 0).attentive();
    let writes = story.read_from(reader.into_stream());
    story.settle();
    story.live.announce(1, chunk("a", "x"), false).unwrap();
    story.settle();
    story.clock.pass(999);
    story.settle();
    assert_eq!(*writes.borrow(), [vec![1]]);
    for silent in 1..=3 {
        story.clock.pass(1_000);
        story.settle();
        assert_eq!(writes.borrow()[1..], vec![Vec::<Seq>::new(); silent], "{silent}");
    }
}
