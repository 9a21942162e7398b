//! Clients that come and go. A client asks for each turn until the service accepts it, reads the turn with cuts at
//! random events, and at its end compares the events with those that an uncut client gets. `reading` has the
//! connections of one turn, `queued` the messages that wait for one.

mod body;
mod draw;
mod queued;
mod reading;
mod versions;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use espalier_test_support::http::Reply;
use espalier_test_support::{Event, json, wire};
use tokio::time::{Instant, sleep};

use self::body::body_of;
use self::draw::draw;
use crate::rng::Rng;
use crate::script::{self, Shape};
use crate::stream::{Stream, User};
use crate::view::View;
use crate::world::World;

/// How long a client waits for the next event before it connects anew: a panic can leave a stream open for ever.
pub const SILENCE: Duration = Duration::from_secs(3);
/// The same where only the fault can be the cause: one turn at a time, in good weather.
const SHORT_SILENCE: Duration = Duration::from_millis(600);
/// How long a client stays away from a turn that is struck, so that the strike comes first.
const STRIKE: Duration = Duration::from_millis(120);

/// The sums over all clients.
#[derive(Default)]
pub struct Seen {
    /// Turns whose `session` event a client has had.
    pub accepted: u32,
    /// Turns with exactly one terminal event, at the end.
    pub ended: u32,
    pub cuts: u32,
    pub cancels: u32,
    pub superseded: u32,
    /// Messages that waited for a turn to end.
    pub queued: u32,
    /// Turns that stand beside another one, and choices of a path.
    pub versions: u32,
    pub choices: u32,
    /// Answers of somebody outside that the service took, and calls that waited for one when the runtime was killed.
    pub answers: u32,
    pub killed_waiting: u32,
    /// Turns that continued one that a limit ended.
    pub continued: u32,
    pub differences: u32,
    pub duplicates: u32,
    pub holes: u32,
    pub malformed: u32,
    pub errors_5xx: u32,
    /// The times from a kill to the next event of a client that was reading.
    pub back: Vec<Duration>,
    pub finishes: BTreeMap<String, u32>,
    /// The turns whose text must stand in D1.
    pub turns: Vec<Ended>,
}

/// A turn that ended.
pub struct Ended {
    pub number: u64,
    pub shape: Shape,
    pub thread_id: String,
    pub turn_id: String,
    pub user_message_id: String,
    pub message_id: String,
    pub finish_reason: String,
}

/// All clients.
pub struct Clients {
    pub world: Arc<World>,
    pub url: String,
    /// The address at which each request is a visit of the cron trigger.
    pub cron: String,
    /// The folder of the objects' databases.
    pub objects: PathBuf,
    pub seen: Mutex<Seen>,
    pub stop: AtomicBool,
    /// The shapes that turns may have.
    pub shapes: &'static [Shape],
    /// How many calls wait for somebody outside.
    pub waiting: AtomicU32,
    /// After this long a turn without an end counts as lost: its own clock is 15 s, and outages come on top.
    pub lost_after: Duration,
}

/// A turn, and the behaviour of its client.
#[derive(Clone)]
pub struct Order {
    pub number: u64,
    pub thread_id: String,
    pub shape: Shape,
    pub reader: Reader,
    /// Cancel after so many milliseconds.
    pub cancel: Option<u64>,
    /// A strike from inside: `abort@3`.
    pub strike: Option<String>,
    pub request_seq: u64,
    /// The number of the turn that it continues.
    pub continues: Option<u64>,
    /// The message beside whose turn it stands.
    pub beside: Option<String>,
    /// Whether a newer request may be there before it.
    pub may_be_late: bool,
    /// Whether it is the only turn at its time, in good weather.
    pub alone: bool,
    /// Whether its message waits for the turns before it.
    pub queued: bool,
}

/// The difference between the numbers of a turn and of the one that continues it. A slot has fewer turns.
const CONTINUATIONS: u64 = 50_000;

impl Order {
    /// Whether this answer says that a newer request was there first. A continuation then has no turn to continue.
    fn is_late(&self, status: u16) -> bool {
        self.may_be_late && (status == 409 || (status == 400 && self.continues.is_some()))
    }

    /// The number by which the model and the ledger know the turn's calls: a continuation makes those of another turn.
    pub fn marked(&self) -> u64 {
        self.continues.unwrap_or(self.number)
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Reader {
    /// Reads, and comes back at once when it is cut off.
    Steady,
    /// Goes away at random events and comes back after a random time.
    Restless,
    /// Goes away after the first event and looks at D1 until the turn is there.
    Alone,
}

impl Clients {
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seed(&self) -> u64 {
        self.world.seed
    }

    /// A new anonymous user.
    pub async fn user(&self) -> User {
        let nobody = User { url: self.url.clone(), credential: ("cookie", String::new()) };
        loop {
            match nobody.send("POST", "/api/session", &[], &json!({})).await {
                Some(reply) if reply.status == 200 => {
                    let cookie = reply.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
                    let user = User { credential: ("cookie", cookie), ..nobody };
                    self.define(&user).await;
                    return user;
                }
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(30)).await;
        }
    }

    /// Plays threads one after the other, until it is told to stop.
    pub async fn slot(&self, slot: u64) {
        let user = self.user().await;
        let mut next = slot * 100_000;
        while !self.stop.load(Ordering::Relaxed) {
            let mut rng = Rng::of(self.seed(), &format!("thread {next}"));
            let thread_id = format!("fa017500-0000-4000-9000-{next:012x}");
            let (shapes, turns) = match rng.range(0, 1000) {
                0..300 => (&script::LONG_SHAPES[..], rng.range(3, 6)),
                300..400 => (&script::STEPS_SHAPES[..], rng.range(2, 5)),
                _ => (self.shapes, rng.range(1, 4)),
            };
            let mut shapes = shapes.to_vec();
            for request_seq in 1..=turns {
                next += 2;
                let mut order = draw(&mut rng, &mut shapes, next, &thread_id, request_seq * 2);
                if order.shape == Shape::Steps {
                    self.turn(&user, &order).await;
                    continue;
                }
                order.beside = self.version(&user, &thread_id, &mut rng).await;
                if rng.chance(100) {
                    let waiting: Vec<Order> = (0..rng.range(1, 4))
                        .map(|_| {
                            next += 2;
                            let drawn = draw(&mut rng, &mut shapes, next, &thread_id, 0);
                            Order { queued: true, strike: None, ..drawn }
                        })
                        .collect();
                    self.queue(&user, &order, &waiting).await;
                } else if rng.chance(80) {
                    order.may_be_late = true;
                    let later = Order {
                        cancel: None,
                        ..draw(&mut rng, &mut shapes, next + 1, &thread_id, request_seq * 2 + 1)
                    };
                    let wait = rng.range(0, 1200);
                    let newer = async {
                        sleep(Duration::from_millis(wait)).await;
                        self.seen().superseded += 1;
                        self.turn(&user, &later).await;
                    };
                    tokio::join!(self.turn(&user, &order), newer);
                } else {
                    self.turn(&user, &order).await;
                }
            }
            next += 2;
        }
    }

    /// Plays a turn, and the turn that continues it if a limit ended it.
    pub async fn turn(&self, user: &User, order: &Order) -> Option<View> {
        let view = self.one_turn(user, order).await?;
        let done = view.events().last();
        if order.shape == Shape::Limited && done.is_some_and(|done| done.text("finish_reason") == "budget") {
            let continuation = Order {
                number: order.number + CONTINUATIONS,
                continues: Some(order.number),
                cancel: None,
                strike: None,
                ..order.clone()
            };
            if self.one_turn(user, &continuation).await.is_some() {
                self.seen().continued += 1;
            }
        }
        Some(view)
    }

    /// Plays a turn from the first request to the comparison. No other turn continues it: among messages that wait, the
    /// next one's turn may begin first.
    pub(super) async fn one_turn(&self, user: &User, order: &Order) -> Option<View> {
        let began = Instant::now();
        self.world.ledger.ordered(order.number, &order.thread_id);
        let cancel = async {
            if let Some(after) = order.cancel {
                sleep(Duration::from_millis(after)).await;
                self.cancel(user, &order.thread_id).await;
            }
        };
        let read = async {
            tokio::select! {
                read = tokio::time::timeout(self.lost_after, self.read(user, order)) => read,
                never = self.person(user, order), if order.shape.waits() => match never {},
            }
        };
        let (read, ()) = tokio::join!(read, cancel);
        let Ok(read) = read else {
            let waited = began.elapsed().as_secs();
            let (number, shape) = (order.number, order.shape.name());
            self.violation(format!("turn {number} ({shape}) has no end after {waited} s"));
            return None;
        };
        // The service may have refused a request that was late.
        let view = read?;
        let uncut = self.uncut(user, order, &view).await?;
        self.judge(order, &view, &uncut);
        self.world.ledger.forget(order.marked());
        Some(uncut)
    }

    fn violation(&self, what: String) {
        self.world.ledger.violation(what);
    }

    async fn cancel(&self, user: &User, thread_id: &str) {
        let path = format!("/api/threads/{thread_id}/cancel");
        for _ in 0..50 {
            if let Some(reply) = user.send("POST", &path, &[], &json!({})).await
                && reply.status == 200
            {
                self.seen().cancels += 1;
                return;
            }
            sleep(Duration::from_millis(40)).await;
        }
    }

    /// Asks for the turn again and again, with the same id, until the service accepts it. None where a newer request
    /// was there first.
    async fn ask(&self, user: &User, order: &Order, first: bool) -> Option<Stream> {
        let mut body = body_of(order);
        if let Some(strike) = order.strike.as_ref().filter(|_| first) {
            // Only the first request asks for the strike: a strike that leaves no turn behind would strike each new
            // request.
            body["content"] = json!(format!("{} [[faults:{strike}]]", order.shape.message(order.number)));
            if strike.starts_with("tear") {
                self.world.ledger.will_tear(order.number);
            }
        }
        loop {
            match user.send("POST", "/api/chat", &[], &body).await {
                Some(reply) if reply.status == 200 => return Some(Stream::new(reply, 0)),
                Some(reply) if order.is_late(reply.status) => return None,
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(30)).await;
            if order.continues.is_none() {
                body["content"] = json!(order.shape.message(order.number));
            }
        }
    }

    pub async fn refused(&self, mut reply: Reply) {
        let status = reply.status;
        if status >= 500 && status != 503 {
            // The request was under way when its object ended.
            self.seen().errors_5xx += 1;
            return;
        }
        let mut text = Vec::new();
        while let Ok(Some(bytes)) = reply.read().await {
            text.extend_from_slice(&bytes);
        }
        match script::turn_on_hold(&text) {
            Some(turn) => self.world.ledger.on_hold(turn),
            None => {
                let text = String::from_utf8_lossy(&text);
                self.violation(format!("a request was refused with {status}: {text}"));
            }
        }
    }

    /// Compares the reader's view with the log, and the log with the wire's rules.
    fn judge(&self, order: &Order, view: &View, uncut: &View) {
        let events: Vec<Event> = uncut.events().cloned().collect();
        if let Err(error) = wire::check_turn(&events) {
            self.seen().malformed += 1;
            self.violation(format!("turn {}: {error}", order.number));
        }
        let mut seen = self.seen();
        seen.duplicates += view.duplicates + uncut.duplicates;
        seen.differences += view.conflicts;
        if order.reader != Reader::Alone {
            let difference = view.compare(uncut);
            seen.differences += difference.other.len() as u32;
            seen.holes += difference.missing.len() as u32;
            let both = difference.other.iter().map(|line| ("differs", line));
            let both = both.chain(difference.missing.iter().map(|line| ("is missing", line)));
            for (how, line) in both.take(3) {
                self.violation(format!("turn {}: {how}: {line}", order.number));
            }
        }
        let (Some(session), Some(done)) = (events.first(), events.last()) else { return };
        seen.ended += u32::from(events.iter().filter(|event| event.kind == "done").count() == 1);
        *seen.finishes.entry(done.text("finish_reason").to_owned()).or_default() += 1;
        seen.turns.push(Ended {
            number: order.number,
            shape: order.shape,
            thread_id: order.thread_id.clone(),
            turn_id: script::turn_id(order.number),
            user_message_id: session.text("user_message_id").to_owned(),
            message_id: done.text("message_id").to_owned(),
            finish_reason: done.text("finish_reason").to_owned(),
        });
    }
}
