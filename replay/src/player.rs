//! Runs a recorded turn once more. Whenever nothing in the turn can go on by itself, the player looks for the first
//! recorded entry that the replay has not written, and lets that happen: an outcome of a model or a tool, an answer, a
//! stop, the loss of a run, or the passing of time.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::task::{ArcWake, waker};

use engine::journal::{Answering, Entry, Fact, History, Shown, TurnSpec};
use engine::ports::{LogError, Ports};
use engine::turn::{Ran, Turn};
use wire::model::ModelRequest;
use wire::protocol::Awaited;

use crate::Unplayable;
use crate::compare::{self, Difference};
use crate::ports::{Written, ports};
use crate::record::Record;
use crate::script::Script;

/// The most things that happen in one replay. The largest turn has 60 model calls and 200 tool calls; a replay that goes
/// in a circle ends here.
const MAX_STEPS: usize = 100_000;

/// The outcome of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// None where the turn went as it went then.
    pub difference: Option<Difference>,
    pub model_calls: usize,
    pub tool_calls: usize,
    /// The verdicts of hooks that are taken from the record, which has no words of these hooks.
    pub given_verdicts: usize,
    /// Each request of each level, rebuilt, in the order in which the engine made them.
    pub requests: Vec<ModelRequest>,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl ArcWake for Flag {
    fn wake_by_ref(flag: &Arc<Self>) {
        flag.0.store(true, Ordering::Relaxed);
    }
}

/// The state of a turn that cannot go on by itself.
enum Stall {
    /// It runs, and all of its futures wait.
    Waits,
    Parked,
    Ended,
}

/// The outcome of one step of the player.
enum Next {
    Happened,
    /// The run is lost with all that it wrote from this entry of the record on.
    Lost(usize),
    /// The player found no entry of the record that can still happen.
    Nothing,
}

/// Replays a record.
pub fn replay(record: &Record) -> Result<Replayed, Unplayable> {
    let refuse = |why: &str| Err(Unplayable(why.to_owned()));
    if !record.header.is_whole() {
        return refuse("the record is shortened, so its requests cannot be rebuilt");
    }
    let Some(spec) = record.entries.iter().find_map(|entry| match &entry.fact {
        Fact::Started(spec) => Some(TurnSpec::clone(spec)),
        _ => None,
    }) else {
        return refuse("the record has no entry 0");
    };
    let unknown = record.entries.iter().find_map(|entry| match &entry.fact {
        Fact::Unknown(why) => Some(format!("the record has an entry that this program cannot read: {why}")),
        _ => None,
    });
    if let Some(why) = spec.unreadable().or(unknown) {
        return refuse(&why);
    }
    if record.end.is_none() {
        return refuse("the service gave the turn up, so its journal has no end");
    }
    let mut player = Player::new(record, &spec)?;
    player.play()?;
    let entries = player.written.entries.take();
    let count = |is: fn(&Fact) -> bool| entries.iter().filter(|entry| is(&entry.fact)).count();
    Ok(Replayed {
        difference: compare::first(record, &entries, player.written.end.borrow().as_ref()),
        model_calls: count(|fact| matches!(fact, Fact::ModelStarted { .. })),
        tool_calls: count(|fact| matches!(fact, Fact::ToolEnded(_))),
        given_verdicts: compare::given_verdicts(record),
        requests: player.written.requests.take(),
    })
}

struct Player<'r> {
    record: &'r Record,
    script: Rc<Script>,
    written: Rc<Written>,
    /// The entries that the replay begins with: entry 0, and what each level was opened with.
    frozen: Vec<Entry>,
    turn: Rc<Turn>,
}

impl<'r> Player<'r> {
    fn new(record: &'r Record, spec: &TurnSpec) -> Result<Self, Unplayable> {
        let script = Rc::new(Script::new(record.entries.clone(), &spec.limits));
        let written = Rc::new(Written::default());
        let frozen = record.entries.iter().filter(|entry| compare::is_frozen(&entry.fact));
        let frozen: Vec<Entry> = frozen.map(|entry| Entry { elapsed_ms: 0, ..entry.clone() }).collect();
        let turn = rebuilt(Turn::rebuild, record, frozen.clone(), &script, &written)?;
        Ok(Player { record, script, written, frozen, turn })
    }

    /// Runs the turn to its end, or until nothing of the record can happen any more.
    fn play(&mut self) -> Result<(), Unplayable> {
        let mut steps = 0;
        loop {
            let turn = Rc::clone(&self.turn);
            let mut running = async move { turn.run().await }.boxed_local();
            loop {
                steps += 1;
                if steps > MAX_STEPS {
                    return Err(Unplayable("the replay does not come to an end".to_owned()));
                }
                let next = match pump(&mut running).map_err(failed)? {
                    Stall::Waits => self.go_on()?,
                    // The recorded run may have been lost before it wrote its end.
                    Stall::Ended => self.next_loss().map_or(Next::Nothing, Next::Lost),
                    Stall::Parked => {
                        self.turn = self.rebuilt(Turn::rebuild)?;
                        match self.go_on()? {
                            Next::Happened => break,
                            next => next,
                        }
                    }
                };
                match next {
                    Next::Happened => {}
                    Next::Nothing => return Ok(()),
                    Next::Lost(from) => {
                        drop(running);
                        self.lose_run(from);
                        self.turn = self.rebuilt(Turn::resume)?;
                        if self.is_told_first() {
                            self.go_on()?;
                        }
                        break;
                    }
                }
            }
        }
    }

    /// The place in the record of the next resumption, if there is one.
    fn next_loss(&self) -> Option<usize> {
        let is_left = |entry: &Entry| !self.has(&entry.key());
        let is_loss = |entry: &Entry| matches!(entry.fact, Fact::Resumed { .. }) && is_left(entry);
        self.script.entries.iter().position(is_loss)
    }

    /// Keeps of the replay's entries those that the recorded run had written when it was lost.
    fn lose_run(&self, from: usize) {
        let kept: BTreeSet<String> = self.script.entries.iter().take(from).map(Entry::key).collect();
        let mut written = self.written.entries.borrow_mut();
        written.retain(|entry| kept.contains(&entry.key()));
        self.written.end.take();
        self.script.lose_run(written.iter().map(|entry| entry.elapsed_ms).max().unwrap_or(0));
    }

    /// Whether the next entry of the record is a stop or an answer. It took the turn up, so it comes before the new run acts.
    fn is_told_first(&self) -> bool {
        let is_left = |entry: &&Entry| !compare::is_left_out(&entry.fact) && !self.has(&entry.key());
        let next = self.script.entries.iter().find(is_left);
        next.is_some_and(|entry| matches!(entry.fact, Fact::Stopped(_) | Fact::Answered { .. }))
    }

    /// The turn from the entries that the replay has written: of a parked turn that goes on, or of one whose run was lost.
    fn rebuilt(&self, rebuild: Rebuild) -> Result<Rc<Turn>, Unplayable> {
        let entries = [self.frozen.clone(), self.written.entries.borrow().clone()].concat();
        rebuilt(rebuild, self.record, entries, &self.script, &self.written)
    }

    fn has(&self, key: &str) -> bool {
        self.written.entries.borrow().iter().any(|entry| entry.key() == key)
    }

    /// Lets the next recorded thing happen.
    fn go_on(&self) -> Result<Next, Unplayable> {
        let is_due = |entry: &Entry, key: &str| match entry.fact {
            Fact::Stopped(_) | Fact::Answered { .. } => true,
            _ => self.script.waits(key),
        };
        let left = self.script.entries.iter().enumerate().filter(|(_, entry)| !self.has(&entry.key()));
        for (index, entry) in left {
            let key = entry.key();
            match &entry.fact {
                // Timers that were due before this wake first.
                _ if is_due(entry, &key) && self.script.wake_next(entry.elapsed_ms) => {
                    return Ok(Next::Happened);
                }
                Fact::Resumed { .. } => return Ok(Next::Lost(index)),
                Fact::Stopped(why) => {
                    self.script.pass(entry.elapsed_ms);
                    self.turn.stop(why.clone()).map_err(failed)?;
                    return Ok(Next::Happened);
                }
                Fact::Answered { on, answer, reason, .. } => {
                    let Some(id) = self.script.id_of(&entry.at, *on) else { continue };
                    self.script.pass(entry.elapsed_ms);
                    // A person decides on a limit and a form as on a call.
                    let on = if *on == Awaited::Client { Awaited::Client } else { Awaited::Approval };
                    let given = Answering { answer: answer.clone(), reason: reason.clone() };
                    self.turn.answer(&id, on, given).map_err(failed)?;
                    if self.has(&key) {
                        return Ok(Next::Happened);
                    }
                }
                _ if self.script.waits(&key) => {
                    self.script.pass(entry.elapsed_ms);
                    self.script.open(&key);
                    return Ok(Next::Happened);
                }
                _ => {}
            }
        }
        Ok(if self.script.wake_next(u64::MAX) { Next::Happened } else { Next::Nothing })
    }
}

/// A way of the engine to take a turn up.
type Rebuild = fn(Vec<Entry>, Shown, History, Ports) -> Result<Rc<Turn>, LogError>;

fn rebuilt(
    rebuild: Rebuild,
    record: &Record,
    entries: Vec<Entry>,
    script: &Rc<Script>,
    written: &Rc<Written>,
) -> Result<Rc<Turn>, Unplayable> {
    let ports = ports(script, written);
    rebuild(entries, Shown::default(), record.history.clone(), ports).map_err(failed)
}

fn failed(error: LogError) -> Unplayable {
    Unplayable(format!("the engine refuses: {error:?}"))
}

/// Polls the turn until nothing in it is awake.
fn pump(running: &mut (impl Future<Output = Result<Ran, LogError>> + Unpin)) -> Result<Stall, LogError> {
    let flag = Arc::new(Flag::default());
    let waker = waker(Arc::clone(&flag));
    loop {
        flag.0.store(false, Ordering::Relaxed);
        match running.poll_unpin(&mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(Ran::Ended)) => return Ok(Stall::Ended),
            Poll::Ready(Ok(Ran::Parked)) => return Ok(Stall::Parked),
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending if flag.0.load(Ordering::Relaxed) => {}
            Poll::Pending => return Ok(Stall::Waits),
        }
    }
}
