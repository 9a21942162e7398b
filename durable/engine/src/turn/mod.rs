//! The turn engine: one loop, driven through ports, rebuilt from its journal.
//!
//! `machine` decides, `drive` awaits, `dispatch` runs a round's calls, `open` opens a level, `subtask` enters
//! the loop one level deeper, `reserve` asks the budget, `record` sums up the journal, `ending` ends the
//! turn. No file here knows SSE, SQL or the platform.

mod announcing;
mod canned;
mod closing;
mod composite;
mod dispatch;
mod drive;
mod ending;
mod frozen;
pub(crate) mod keys;
mod machine;
mod open;
mod opening;
mod order;
mod parking;
mod plan;
pub mod prompt;
mod prune;
mod record;
mod replay;
mod reserve;
mod results;
mod step;
mod subtask;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::future::{Either, poll_fn, select};
use futures::lock::Mutex;
use futures::task::AtomicWaker;
use futures::{FutureExt, pin_mut};

use self::composite::Composites;
use self::keys::{Digest, LevelPath, WireIds};
use self::machine::LevelStart;
use self::record::Record;
use self::replay::Replay;
use crate::calls::{agent_create_plan, agent_update_plan, plan_step, route_request, run_subtask};
use crate::journal::{Commit, Entry, Fact, Parking, TurnSpec, TurnStop};
use crate::memory::AgentMemory;
use crate::ports::{LogError, Ports};
use crate::toolbelt::{OutputSchema, ToolSpec};
use wire::model::Message;
use wire::protocol::{AgentState, Event, Place, TurnLimits};

pub use self::machine::{Level, LevelEnd, Step};
pub use self::parking::Heard;
#[cfg(any(test, feature = "testing"))]
pub use self::prune::request_tokens;

/// Resumptions of one turn without progress between them, and in all. Peers without a limit paid for ever.
const MAX_FRUITLESS_RESUMPTIONS: u32 = 3;
const MAX_RESUMPTIONS: u32 = 20;

/// The calls that contain levels. A new kind of such a call adds a file, and a line here.
const COMPOSITES: Composites = &[
    (run_subtask::NAME, &subtask::Subtask),
    (agent_create_plan::NAME, &plan::Create),
    (agent_update_plan::NAME, &plan::Update),
    (plan_step::NAME, &step::Step),
    (route_request::NAME, &plan::Route),
];

/// One turn, from entry 0 to `done`.
pub struct Turn {
    spec: Rc<TurnSpec>,
    ids: WireIds,
    history: Vec<Rc<Message>>,
    ports: Ports,
    replay: Replay,
    record: RefCell<Record>,
    /// Wakes `run` when the turn is stopped.
    stopped: AtomicWaker,
    ended: Cell<bool>,
    /// The reason why this code must not go on with the turn: newer code wrote its journal.
    unreadable: Option<String>,
    composites: Composites,
    /// When this run began, and the running time of earlier runs.
    began_ms: u64,
    earlier_ms: u64,
    /// Named locks, which hold over the whole tree, sibling subtasks included (N-095).
    locks: RefCell<BTreeMap<String, Rc<Mutex<()>>>>,
    /// Schemas of MCP tools and client tools, compiled at first need.
    schemas: RefCell<BTreeMap<String, Result<Rc<OutputSchema>, String>>>,
    /// How many calls run, how many wait for an answer from outside, and the wakers of those that wait.
    busy: Cell<u32>,
    waiting: Cell<u32>,
    waiters: RefCell<Vec<Waker>>,
}

/// The way in which a run of a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The turn's end is committed.
    Ended,
    /// The turn is parked: it waits for an answer from outside, and nothing runs.
    Parked,
}

/// The reason why a level does not go on. `ending` then ends the turn; the level does not.
#[derive(Clone, Debug, PartialEq)]
enum Halt {
    /// The turn was stopped; the reason stands in its record.
    Stopped,
    /// The log takes no more writes.
    Log(LogError),
}

impl From<LogError> for Halt {
    fn from(error: LogError) -> Self {
        Halt::Log(error)
    }
}

impl Turn {
    /// Commits entry 0 with the turn's first events. `history` is the conversation before this turn. Synchronous: the
    /// caller's own writes (the user's message, the running mark) are durable with it if no await stands between.
    pub fn begin(spec: TurnSpec, history: Vec<Message>, ports: Ports) -> Result<Rc<Turn>, LogError> {
        let session = Event::Session {
            thread_id: spec.thread_id.clone(),
            user_message_id: spec.user_message_id.clone(),
            assistant_message_id: spec.assistant_message_id.clone(),
            provider: spec.chain.first.choice.provider.clone(),
            model: spec.chain.first.choice.model.clone(),
            limits: Some(TurnLimits {
                subtasks: spec.limits.subtasks,
                llm_calls: spec.limits.llm_calls,
                tool_calls: spec.limits.tool_calls,
                wall_clock_ms: spec.limits.wall_clock_ms,
            }),
            replaces_message_id: spec.replaces_message_id.clone(),
            resumed: None,
            messages: Vec::new(),
        };
        let started = Fact::Started(Box::new(spec.clone()));
        let turn = Turn::new(Rc::new(spec), history, ports, Replay::default(), 0);
        let thinking = ("state".to_owned(), turn.agent_state(None));
        let events = vec![("session".to_owned(), session), thinking];
        turn.write(Commit { entries: vec![turn.entry("", started)], events, ..Commit::default() })?;
        Ok(Rc::new(turn))
    }

    /// Rebuilds a turn whose run was lost from its journal, in the order in which it was written. Stops a
    /// turn that was resumed too often. `run` goes on, or commits the end of the stopped turn.
    pub fn resume(entries: Vec<Entry>, history: Vec<Message>, ports: Ports) -> Result<Rc<Turn>, LogError> {
        let turn = Turn::rebuild(entries, history, ports)?;
        let (all, fruitless) = turn.replay.resumptions();
        turn.write(Commit {
            entries: vec![turn.entry("", Fact::Resumed { count: all + 1 })],
            ..Commit::default()
        })?;
        if all >= MAX_RESUMPTIONS || fruitless >= MAX_FRUITLESS_RESUMPTIONS {
            turn.stop(TurnStop::Interrupted { detail: format!("its run was lost {} times", all + 1) })?;
        }
        Ok(turn)
    }

    /// Rebuilds a parked turn and writes nothing. The caller answers or stops it, and it goes on with `run`.
    pub fn rebuild(entries: Vec<Entry>, history: Vec<Message>, ports: Ports) -> Result<Rc<Turn>, LogError> {
        let spec = entries.iter().find_map(|entry| match &entry.fact {
            Fact::Started(spec) => Some(TurnSpec::clone(spec)),
            _ => None,
        });
        let spec = spec.ok_or_else(|| LogError::Storage("the journal has no entry 0".to_owned()))?;
        let unknown = entries.iter().find_map(|entry| match &entry.fact {
            Fact::Unknown(why) => {
                Some(format!("its journal has an entry that this version cannot read: {why}"))
            }
            _ => None,
        });
        let unreadable = spec.unreadable().or(unknown);
        let spec = Rc::new(spec);
        let earlier_ms = entries.iter().map(|entry| entry.elapsed_ms).max().unwrap_or(0);
        let mut record = Record::new(&spec);
        entries.iter().for_each(|entry| record.apply(entry));
        let mut turn = Turn::new(spec, history, ports, Replay::new(entries), earlier_ms);
        turn.record = RefCell::new(record);
        turn.unreadable = unreadable;
        Ok(Rc::new(turn))
    }

    fn new(spec: Rc<TurnSpec>, history: Vec<Message>, ports: Ports, replay: Replay, earlier_ms: u64) -> Self {
        let ids = WireIds::new(&spec.turn_id);
        Turn {
            record: RefCell::new(Record::new(&spec)),
            history: history.into_iter().map(Rc::new).collect(),
            began_ms: ports.clock.now_ms(),
            earlier_ms,
            ids,
            replay,
            stopped: AtomicWaker::new(),
            ended: Cell::new(false),
            unreadable: None,
            composites: COMPOSITES,
            locks: RefCell::default(),
            schemas: RefCell::default(),
            busy: Cell::new(0),
            waiting: Cell::new(0),
            waiters: RefCell::default(),
            ports,
            spec,
        }
    }

    /// Runs until the turn's end, of any kind, is committed, or until only calls are left that wait for an
    /// answer from outside. An error means that a write failed: a newer run or a deletion owns the log, or
    /// the storage refused. The turn can be resumed from its journaled entries.
    pub async fn run(&self) -> Result<Ran, LogError> {
        if let Some(detail) = self.unreadable.clone() {
            self.stop(TurnStop::Interrupted { detail })?;
        }
        let mut root = self.root();
        let end = {
            let mut driving = opening::drive(self, &mut root).boxed_local();
            let ending = self.ending_early();
            pin_mut!(ending);
            // A stop or a parking drops every future that a level awaits here, which aborts it: one race
            // covers each await of the whole tree.
            poll_fn(|context| {
                if let Poll::Ready(end) = driving.poll_unpin(context) {
                    return Poll::Ready(Some(end));
                }
                if let Poll::Ready(halt) = ending.as_mut().poll(context) {
                    return Poll::Ready(Some(Err(halt)));
                }
                if self.only_waits() { Poll::Ready(None) } else { Poll::Pending }
            })
            .await
        };
        let end = match end {
            Some(end) => end,
            None => match self.park() {
                Ok(()) => return Ok(Ran::Parked),
                Err(halt) => Err(halt),
            },
        };
        // A journaled stop holds, even where the turn already has its whole answer.
        match end.and_then(|end| self.alive().map(|()| end)) {
            Err(Halt::Log(error)) => return Err(error),
            Err(Halt::Stopped) => ending::stopped(self, &root)?,
            Ok(end) => ending::finished(self, &root, end)?,
        }
        Ok(Ran::Ended)
    }

    /// Stops the turn: journaled at once, the first reason wins. `run` then commits the end and returns.
    pub fn stop(&self, why: TurnStop) -> Result<(), LogError> {
        if self.ended.get() || self.record.borrow().stop.is_some() {
            return Ok(());
        }
        self.write(Commit { entries: vec![self.entry("", Fact::Stopped(why))], ..Commit::default() })?;
        self.stopped.wake();
        Ok(())
    }

    /// The specification of the turn, which entry 0 froze.
    pub fn spec(&self) -> &TurnSpec {
        &self.spec
    }

    fn root(&self) -> Level {
        let start = LevelStart {
            path: LevelPath::default(),
            place: Place::default(),
            models: None,
            model: Rc::clone(&self.spec.chain.first.choice),
            system: self.spec.system.as_str().into(),
            history: self.history.iter().cloned().chain(self.retrieved()).collect(),
            instructions: self.spec.content.clone(),
            belt: self.record.borrow().toolsets.get(Some(0)),
            schema: None,
            opening: None,
            memory: AgentMemory::default(),
            digest: Digest::new().with(&self.spec.turn_id).with(&self.spec.chain.to_string()),
        };
        Level::new(start, self.spec.limits)
    }

    /// The retrieved text for the user's message. It comes last before the message, and is no part of the
    /// history.
    fn retrieved(&self) -> Option<Rc<Message>> {
        let content = self.spec.retrieved.as_deref()?;
        Some(Rc::new(Message::User { content: content.into() }))
    }

    /// Completes when the turn is stopped; at the turn's deadline, stops the turn itself.
    async fn ending_early(&self) -> Halt {
        let stopped = poll_fn(|context| {
            self.stopped.register(context.waker());
            if self.record.borrow().stop.is_some() { Poll::Ready(()) } else { Poll::Pending }
        });
        let deadline = async {
            loop {
                let left = self.spec.limits.wall_clock_ms.saturating_sub(self.elapsed_ms());
                self.ports.clock.sleep(left).await;
                if let Err(halt) = self.check() {
                    return halt;
                }
            }
        };
        match select(stopped, deadline.boxed_local()).await {
            Either::Left(_) => Halt::Stopped,
            Either::Right((halt, _)) => halt,
        }
    }

    /// How long the turn has been running, in milliseconds; outages between its runs are left out.
    pub fn elapsed_ms(&self) -> u64 {
        self.earlier_ms + self.ports.clock.now_ms().saturating_sub(self.began_ms)
    }

    /// When the turn's time is up, on the clock of this run.
    fn until_ms(&self) -> u64 {
        let left_ms = self.spec.limits.wall_clock_ms.saturating_sub(self.earlier_ms);
        self.began_ms.saturating_add(left_ms)
    }

    /// The provider has sent something of a model call's answer: notes the time of the first byte.
    fn answering(&self, at: &str) {
        let elapsed_ms = self.elapsed_ms();
        if let Some(open) = self.record.borrow_mut().models.get_mut(at) {
            open.first_byte_ms.get_or_insert(elapsed_ms.saturating_sub(open.since_ms));
        }
    }

    fn entry(&self, at: &str, fact: Fact) -> Entry {
        Entry { at: at.to_owned(), elapsed_ms: self.elapsed_ms(), fact }
    }

    /// Writes and applies, in any state of the turn.
    fn write(&self, mut commit: Commit) -> Result<(), LogError> {
        if self.record.borrow().parked {
            let count = self.record.borrow().parkings;
            commit.entries.insert(0, self.entry("", Fact::Unparked { count }));
            commit.parking = Some(Parking::Over);
        }
        let entries = commit.entries.clone();
        self.ports.log.commit(commit)?;
        let mut record = self.record.borrow_mut();
        entries.iter().for_each(|entry| record.apply(entry));
        Ok(())
    }

    /// Writes and applies, unless the turn was stopped: after a stop, levels write nothing.
    fn commit(&self, commit: Commit) -> Result<(), Halt> {
        self.alive()?;
        self.write(commit).map_err(Halt::from)
    }

    fn alive(&self) -> Result<(), Halt> {
        if self.record.borrow().stop.is_some() { Err(Halt::Stopped) } else { Ok(()) }
    }

    /// Refuses when the turn was stopped or its time is up (N-039, N-144).
    fn check(&self) -> Result<(), Halt> {
        self.alive()?;
        let exceeded = self.record.borrow().budget.wall_clock(self.elapsed_ms());
        exceeded.map_or(Ok(()), |exceeded| self.exceed(exceeded))
    }

    fn agent_state(&self, tool: Option<&str>) -> Event {
        self.in_state(AgentState::Thinking, tool)
    }

    fn in_state(&self, state: AgentState, tool: Option<&str>) -> Event {
        Event::AgentState {
            state,
            context_type: self.spec.context_type.clone(),
            details: tool.map(|name| format!("executing_tool:{name}")),
        }
    }

    /// Checks the arguments of an MCP tool or a client tool against its schema. The error goes to the model.
    fn check_arguments(&self, spec: &ToolSpec, arguments: &str) -> Result<(), String> {
        let known = self.schemas.borrow().get(&spec.name).cloned();
        let schema = known.unwrap_or_else(|| {
            let schema = OutputSchema::compile(Rc::clone(&spec.input_schema)).map(Rc::new);
            self.schemas.borrow_mut().insert(spec.name.clone(), schema.clone());
            schema
        });
        let schema = schema.map_err(|problem| format!("the schema of this tool is not usable: {problem}"))?;
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        schema.check(arguments).map_err(|problem| format!("invalid arguments: {problem}"))
    }

    fn lock(&self, name: &str) -> Rc<Mutex<()>> {
        Rc::clone(self.locks.borrow_mut().entry(name.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests;
