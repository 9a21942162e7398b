//! The life of a turn: begun or rebuilt from its journal, run, stopped.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures::future::{Either, poll_fn, select};
use futures::lock::Mutex;
use futures::task::AtomicWaker;
use futures::{FutureExt, pin_mut};

use super::composite::Parts;
use super::drive::{drive, start_first};
use super::gathered::Gathered;
use super::level::{Earlier, Level, LevelEnd, LevelStart, MAX_SUMMARIES, Shape};
use super::{Halt, direct::Direct, ending};
use crate::journal::{Agent, Commit, Entry, Fact, History, Past, PastId, Shown, TurnSpec, TurnStop};
use crate::memory::AgentMemory;
use crate::ports::{LogError, Ports};
use crate::record::Record;
use crate::record::keys::{Digest, LevelPath, WireIds};
use crate::record::replay::Replay;
use crate::toolbelt::{OutputSchema, ToolSpec};
use wire::model::Message;
use wire::protocol::{Awaited, Event, HookPoint, Place};

/// The most resumptions of one turn without progress between them, and in all. Without these limits a turn that
/// dies in each of its runs would cost model calls forever.
const MAX_FRUITLESS_RESUMPTIONS: u32 = 3;
const MAX_RESUMPTIONS: u32 = 20;

/// One turn, from entry 0 to `done`.
pub struct Turn {
    pub(crate) spec: Rc<TurnSpec>,
    pub(crate) ids: WireIds,
    /// The messages of the turns before this one, and how many of them stand before a gap.
    pub(super) history: Vec<(PastId, Vec<Rc<Message>>)>,
    before_gap: usize,
    pub(crate) ports: Ports,
    pub(crate) replay: Replay,
    pub(crate) record: RefCell<Record>,
    /// The root as `begin` made it, until `run` takes it.
    begun: RefCell<Option<Level>>,
    /// Wakes `run` when the turn is stopped.
    pub(super) stopped: AtomicWaker,
    pub(super) ended: Cell<bool>,
    /// The reason why this code must not go on with the turn: newer code wrote its journal.
    pub(super) unreadable: Option<String>,
    pub(super) parts: Parts,
    /// When this run began, and the running time of earlier runs.
    pub(super) began_ms: u64,
    pub(super) earlier_ms: u64,
    /// Named locks, which hold over the whole tree, sibling subtasks included (N-095).
    pub(super) locks: RefCell<BTreeMap<String, Rc<Mutex<()>>>>,
    /// Schemas of MCP tools and client tools, compiled at first need; none for one that does not compile here.
    pub(super) schemas: RefCell<BTreeMap<String, Option<Rc<OutputSchema>>>>,
    /// How many calls run, how many wait for an answer from outside, and the wakers of those that wait.
    pub(super) busy: Cell<u32>,
    pub(super) waiting: Cell<u32>,
    pub(super) waiters: RefCell<Vec<Waker>>,
    /// How often the waiting calls were told to look again.
    pub(super) wakes: Cell<u64>,
    /// The question at a limit that lost runs left open, and the place of the level that asked it.
    pub(super) left_open: Option<(String, Place)>,
    /// The commits of levels that are not written yet. Empty between two polls of `run`.
    pub(super) gathered: Gathered,
}

/// The names of a client's tools that are shortened, with the client's own.
fn client_names(tools: &[ToolSpec]) -> BTreeMap<String, String> {
    tools.iter().filter_map(|tool| Some((tool.name.clone(), tool.client_name.clone()?))).collect()
}

/// The way in which a run of a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The turn's end is committed.
    Ended,
    /// The turn is parked: it waits for an answer from outside, and nothing runs.
    Parked,
}

impl Turn {
    /// [`Turn::begin`], with the parts of the engine above the loop.
    pub(crate) fn begin_with(
        parts: Parts,
        spec: TurnSpec,
        history: History,
        ports: Ports,
    ) -> Result<Rc<Turn>, LogError> {
        let session = Event::Session {
            thread_id: spec.thread_id.clone(),
            user_message_id: spec.user_message_id.clone(),
            assistant_message_id: spec.assistant_message_id.clone(),
            provider: spec.chain.first.choice.provider.clone(),
            model: spec.chain.first.choice.model.clone(),
            limits: Some(spec.limits.displayed()),
            replaces_message_id: spec.replaces_message_id.clone(),
            client_names: client_names(&spec.tools),
            resumed: None,
            messages: Vec::new(),
        };
        let started = Fact::Started(Box::new(spec.clone()));
        let turn = Turn::new(parts, Rc::new(spec), history, ports, Replay::default(), 0);
        let thinking = ("state".to_owned(), turn.agent_state(None));
        let events = vec![("session".to_owned(), session), thinking];
        turn.gather(Commit { entries: vec![turn.entry("", started)], events, ..Commit::default() });
        let mut root = turn.root()?;
        // A blank message is answered without any call; a mode makes its own calls before the root's, and hooks may comment
        // on the input.
        let comments = root.hooks().iter().any(|hook| turn.is_asked_on(hook, HookPoint::Input));
        let setting = &turn.spec.setting;
        let is_led = setting.mode.is_some() || setting.session.is_some();
        if !is_led && !turn.spec.is_canned() && !comments {
            start_first(&turn, &mut root)?;
        }
        turn.flush()?;
        turn.begun.replace(Some(root));
        Ok(Rc::new(turn))
    }

    /// [`Turn::resume`], with the parts of the engine above the loop.
    pub(crate) fn resume_with(
        parts: Parts,
        entries: Vec<Entry>,
        shown: Shown,
        history: History,
        ports: Ports,
    ) -> Result<Rc<Turn>, LogError> {
        let turn = Turn::rebuild_with(parts, entries, shown, history, ports)?;
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

    /// [`Turn::rebuild`], with the parts of the engine above the loop.
    pub(crate) fn rebuild_with(
        parts: Parts,
        entries: Vec<Entry>,
        shown: Shown,
        history: History,
        ports: Ports,
    ) -> Result<Rc<Turn>, LogError> {
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
        let mut record = Record::new(&spec, parts.facts);
        entries.iter().for_each(|entry| record.apply(entry));
        record.shown = shown;
        let left_open = record.open_question().and_then(|at| {
            let wait = record.waits.get(&(at.clone(), Awaited::Limit))?;
            Some((at, wait.place.clone()))
        });
        let mut turn = Turn::new(parts, spec, history, ports, Replay::new(entries), earlier_ms);
        turn.record = RefCell::new(record);
        turn.unreadable = unreadable;
        turn.left_open = left_open;
        Ok(Rc::new(turn))
    }

    fn new(
        parts: Parts,
        spec: Rc<TurnSpec>,
        history: History,
        ports: Ports,
        replay: Replay,
        earlier_ms: u64,
    ) -> Self {
        let ids = WireIds::new(&spec.turn_id);
        Turn {
            record: RefCell::new(Record::new(&spec, parts.facts)),
            before_gap: history.before_gap,
            history: history.turns.into_iter().map(shared).collect(),
            began_ms: ports.clock.now_ms(),
            earlier_ms,
            ids,
            replay,
            begun: RefCell::default(),
            stopped: AtomicWaker::new(),
            ended: Cell::new(false),
            unreadable: None,
            parts,
            locks: RefCell::default(),
            schemas: RefCell::default(),
            busy: Cell::new(0),
            waiting: Cell::new(0),
            waiters: RefCell::default(),
            wakes: Cell::default(),
            left_open: None,
            gathered: Gathered::default(),
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
        let begun = self.begun.take();
        let mut root = begun.map_or_else(|| self.root(), Ok)?;
        let end = {
            let mut driving = self.drive_root(&mut root).boxed_local();
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
                if self.only_waits() {
                    return Poll::Ready(None);
                }
                // All that this poll has committed, as one write.
                self.flush().map_or_else(|error| Poll::Ready(Some(Err(error.into()))), |()| Poll::Pending)
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

    /// Runs the root to its end.
    async fn drive_root(&self, root: &mut Level) -> Result<LevelEnd, Halt> {
        // A blank message is answered without any call, even where it asks for a mode.
        if !self.spec.is_blank() {
            Direct::begin(self, root).await?;
        }
        drive(self, root).await
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

    fn root(&self) -> Result<Level, LogError> {
        let Some(agent) = self.root_agent() else { return self.main() };
        self.recall(&agent.name, "")?;
        Ok(self.agent_as_root(&agent))
    }

    /// The level of an agent that the user talks to. It remembers its own conversation, not the thread's.
    fn agent_as_root(&self, agent: &Agent) -> Level {
        let record = self.record.borrow();
        let heard =
            self.heard_before(agent).map(|text| Rc::new(Message::User { content: text.as_str().into() }));
        let all = record.toolsets.get(Some(0));
        let callers = all.without(|name| self.facts().root_only(name));
        let start = LevelStart {
            system: agent.instructions.as_str().into(),
            history: record
                .agents
                .transcript(&agent.name)
                .into_iter()
                .chain(heard)
                .chain(self.retrieved())
                .collect(),
            belt: agent.belt(&callers, &all),
            hooked: self.own_hooked().with(&agent.hooks),
            life: Some(Rc::new(self.life_here(record.agents.life(&agent.name)))),
            ..self.root_start()
        };
        Level::new(start, self.spec.limits)
    }

    fn main(&self) -> Result<Level, LogError> {
        let may_summarise = self.spec.setting.summaries.is_some() && !self.spec.is_canned();
        let summaries = if may_summarise { MAX_SUMMARIES } else { 0 };
        let (mut history, earlier) =
            Earlier::new(&self.history, self.before_gap, self.spec.summary.as_ref(), summaries);
        let own = history.len();
        history.extend(self.retrieved());
        let life = self.life_of_main();
        let (hooked, life) = (self.own_hooked().with(&life.hooks), Some(Rc::new(life)));
        let start = LevelStart { history, earlier, life, hooked, ..self.root_start() };
        let start = start.shaped(self.spec.setting.shape.as_deref()).map_err(LogError::Storage)?;
        let mut main = Level::new(start, self.spec.limits);
        if let Some(last) = &self.spec.last_request {
            main.begin_after(last, own);
        }
        // A blank message is answered without a model, and the session stays at its step.
        if let Some(session) = self.spec.setting.session.as_deref().filter(|_| !self.spec.is_blank()) {
            main.follow(session.clone());
        }
        Ok(main)
    }

    /// The start of the root without the messages before the user's.
    fn root_start(&self) -> LevelStart {
        LevelStart {
            path: LevelPath::default(),
            place: Place::default(),
            nested: 0,
            models: None,
            model: Rc::clone(&self.spec.chain.first.choice),
            system: self.spec.system.as_str().into(),
            history: Vec::new(),
            earlier: Earlier::default(),
            preface: self.time(),
            life: None,
            hooked: self.own_hooked(),
            instructions: self.spec.content.clone(),
            belt: self.record.borrow().toolsets.get(Some(0)),
            schema: None,
            shape: Shape::default(),
            opening: None,
            memory: AgentMemory::default(),
            digest: Digest::new().with(&self.spec.turn_id).with(&self.spec.chain.to_string()),
            own: self.facts(),
            estimates: self.spec.estimates,
        }
    }

    /// The retrieved text for the user's message. It comes last before the message, and is no part of the
    /// history.
    fn retrieved(&self) -> Option<Rc<Message>> {
        let content = self.spec.retrieved.as_deref()?;
        Some(Rc::new(Message::User { content: content.into() }))
    }

    /// The time of the user's message, which stands before that one in this turn and in the history of later turns: then their
    /// requests begin like those of this turn, and providers read that part from their caches.
    pub(super) fn time(&self) -> Option<Rc<Message>> {
        self.spec.setting.local_time.as_ref().map(|time| Rc::new(time.message()))
    }

    /// Completes when the turn is stopped; at the turn's deadline, stops the turn itself.
    async fn ending_early(&self) -> Halt {
        let stopped = poll_fn(|context| {
            self.stopped.register(context.waker());
            if self.record.borrow().stop.is_some() { Poll::Ready(()) } else { Poll::Pending }
        });
        let deadline = async {
            loop {
                let left = self.wall_clock_ms().saturating_sub(self.elapsed_ms());
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
}

fn shared(past: Past) -> (PastId, Vec<Rc<Message>>) {
    (past.id, past.messages.into_iter().map(Rc::new).collect())
}
