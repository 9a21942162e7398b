//! The fakes: a model that plays scripts, a clock that only tests advance, a log that can die.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::future::{LocalBoxFuture, poll_fn};
use futures::stream::{self, LocalBoxStream, StreamExt};
use futures::task::{ArcWake, waker};
use futures::{FutureExt, Stream};
use serde_json::{Value, json};

use super::test_tools::TestTools;
use crate::journal::{Commit, Entry, TextPart, TurnEnd, TurnSpec};
use crate::model::*;
use crate::ports::*;
use crate::profiles::{Chain, Limits, Offer, Price};
use crate::protocol::{ContextKind, Event, Seq};
use crate::toolbelt::ToolPolicy;
use crate::tools;
use crate::turn::{Turn, prompt};

/// What the model does in one step of a level.
#[derive(Clone, Debug)]
pub enum Reply {
    Text(&'static str),
    /// Text that does not come to its end.
    Hang(&'static str),
    Calls(Vec<(&'static str, Value)>),
    /// Calls with text before them.
    TextAndCalls(&'static str, Vec<(&'static str, Value)>),
    /// Some text, then a failure.
    Fail(&'static str, ModelErrorKind),
    /// Some text, then the end of the stream without its terminator.
    Cut(&'static str),
}

/// Replies by the instructions of a level; the last one repeats.
pub type Script = BTreeMap<String, Vec<Reply>>;

/// The script of a turn: each level's instructions with its replies.
pub fn script(levels: &[(&str, Vec<Reply>)]) -> Script {
    levels.iter().map(|(instructions, replies)| ((*instructions).to_owned(), replies.clone())).collect()
}

/// A `run_subtask` call.
pub fn subtask(instructions: &str) -> (&'static str, Value) {
    ("run_subtask", json!({"title": format!("do {instructions}"), "instructions": instructions}))
}

pub struct ScriptedModel {
    script: Script,
    pub requests: RefCell<Vec<ModelRequest>>,
    /// Calls whose stream was dropped before its end.
    pub aborted: Rc<Cell<u32>>,
}

impl Model for ScriptedModel {
    fn call(&self, request: &ModelRequest) -> LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>> {
        self.requests.borrow_mut().push(request.clone());
        // The newest message that is somebody's instructions; the loop's own reminders are not.
        let instructions = |message: &Message| match message {
            Message::User { content } if self.script.contains_key(content) => Some(content.clone()),
            _ => None,
        };
        let found =
            request.messages.iter().enumerate().rev().find_map(|(at, m)| Some((at, instructions(m)?)));
        let (at, content) = found.unwrap_or_else(|| panic!("no script for {:?}", request.messages));
        let step =
            request.messages[at..].iter().filter(|m| matches!(***m, Message::Assistant { .. })).count();
        let replies = &self.script[&content];
        let reply = replies.get(step).unwrap_or_else(|| replies.last().unwrap());
        let words = |text: &str| -> Vec<Result<Vec<ModelEvent>, ModelError>> {
            text.split_inclusive(' ').map(|word| Ok(vec![ModelEvent::Text(word.to_owned())])).collect()
        };
        let finished = |calls: &[(&'static str, Value)]| {
            let tool_calls: Vec<ToolCall> = calls
                .iter()
                .enumerate()
                .map(|(index, (name, arguments))| ToolCall {
                    call_id: format!("p{step}.{index}"),
                    name: (*name).to_owned(),
                    arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
                })
                .collect();
            let finish = if tool_calls.is_empty() { ReplyFinish::Stop } else { ReplyFinish::ToolCalls };
            let usage = Some(Usage { input_tokens: 10, cached_tokens: 4, output_tokens: 2 });
            Ok(vec![ModelEvent::Finished(Box::new(ModelReply {
                text: String::new(),
                tool_calls,
                finish,
                usage,
                raw: None,
            }))])
        };
        let mut hangs = false;
        let items = match reply {
            Reply::Text(text) => [words(text), vec![finished(&[])]].concat(),
            Reply::Calls(calls) => vec![finished(calls)],
            Reply::TextAndCalls(text, calls) => [words(text), vec![finished(calls)]].concat(),
            Reply::Hang(text) => {
                hangs = true;
                words(text)
            }
            Reply::Cut(text) => words(text),
            Reply::Fail(text, kind) => {
                let message = "the provider said no".to_owned();
                [words(text), vec![Err(ModelError { kind: *kind, message })]].concat()
            }
        };
        let guard = AbortGuard { aborted: Rc::clone(&self.aborted), finished: Cell::new(false) };
        paced(items, hangs, guard).boxed_local()
    }
}

struct AbortGuard {
    aborted: Rc<Cell<u32>>,
    finished: Cell<bool>,
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        if !self.finished.get() {
            self.aborted.set(self.aborted.get() + 1);
        }
    }
}

/// One item per turn of the executor, so that levels that run in parallel take turns.
fn paced<T: 'static>(items: Vec<T>, hangs: bool, guard: AbortGuard) -> impl Stream<Item = T> {
    stream::unfold((items.into_iter(), guard), move |(mut items, guard)| async move {
        yield_once().await;
        match items.next() {
            Some(item) => {
                guard.finished.set(items.len() == 0 && !hangs);
                Some((item, (items, guard)))
            }
            None if hangs => futures::future::pending().await,
            None => None,
        }
    })
}

pub async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[derive(Default)]
pub struct FakeClock {
    now: Cell<u64>,
    sleepers: RefCell<Vec<(u64, futures::channel::oneshot::Sender<()>)>>,
}

impl FakeClock {
    /// Goes to the earliest moment at which something wakes; false when nobody sleeps.
    pub fn advance_to_next(&self) -> bool {
        self.sleepers.borrow_mut().retain(|(_, sender)| !sender.is_canceled());
        let next = self.sleepers.borrow().iter().map(|(due, _)| *due).min();
        let Some(next) = next else { return false };
        self.now.set(self.now.get().max(next));
        let sleepers = std::mem::take(&mut *self.sleepers.borrow_mut());
        for (due, sender) in sleepers {
            if due <= self.now.get() {
                let _ = sender.send(());
            } else {
                self.sleepers.borrow_mut().push((due, sender));
            }
        }
        true
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> u64 {
        self.now.get()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        let (sender, receiver) = futures::channel::oneshot::channel();
        self.sleepers.borrow_mut().push((self.now.get() + ms, sender));
        receiver.map(|_| ()).boxed_local()
    }
}

/// What is on disk: it outlives the runs of a turn.
#[derive(Default)]
pub struct Disk {
    pub entries: RefCell<Vec<Entry>>,
    pub events: RefCell<BTreeMap<Seq, Event>>,
    keys: RefCell<BTreeSet<String>>,
    rows: RefCell<BTreeSet<String>>,
    pub end: RefCell<Option<TurnEnd>>,
    next_seq: Cell<Seq>,
    pub commits: Cell<usize>,
}

/// One run's way to the disk. Dies after so many commits, as a killed process does.
pub struct RunLog {
    disk: Rc<Disk>,
    /// What this run's clients saw: announced chunks included.
    pub seen: RefCell<BTreeMap<Seq, Event>>,
    dies_after: Option<usize>,
}

impl RunLog {
    fn seq(&self) -> Seq {
        self.disk.next_seq.set(self.disk.next_seq.get() + 1);
        self.disk.next_seq.get()
    }

    fn expand(part: &TextPart) -> impl Iterator<Item = (Seq, Event)> {
        let mut at = 0;
        let last = part.chunks.len() - 1;
        part.chunks.iter().enumerate().map(move |(index, (seq, length))| {
            let content = part.text.get(at..at + *length as usize).unwrap().to_owned();
            at += *length as usize;
            let chunk = Event::Chunk {
                content,
                part_id: part.part_id.clone(),
                model_call_id: part.model_call_id.clone(),
                place: part.place.clone(),
                done: index == last,
                kind: part.kind,
            };
            (*seq, chunk)
        })
    }
}

impl Log for RunLog {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        let disk = &self.disk;
        if self.dies_after.is_some_and(|limit| disk.commits.get() >= limit) {
            return Err(LogError::Fenced);
        }
        assert!(disk.end.borrow().is_none(), "a write after the end: {commit:?}");
        disk.commits.set(disk.commits.get() + 1);
        for entry in &commit.entries {
            assert!(disk.rows.borrow_mut().insert(entry.key()), "{} was journaled twice", entry.key());
        }
        // As storage does: entries go through JSON.
        let json = serde_json::to_string(&commit.entries).unwrap();
        disk.entries.borrow_mut().extend(serde_json::from_str::<Vec<Entry>>(&json).unwrap());
        disk.events.borrow_mut().extend(commit.texts.iter().flat_map(RunLog::expand));
        for (key, event) in commit.events {
            if !disk.keys.borrow_mut().insert(key) {
                continue;
            }
            let seq = self.seq();
            disk.events.borrow_mut().insert(seq, event.clone());
            self.seen.borrow_mut().insert(seq, event);
        }
        if let Some(end) = commit.end {
            *disk.end.borrow_mut() = Some(*end);
        }
        Ok(())
    }

    fn announce(&self, chunk: Event) -> Seq {
        let seq = self.seq();
        self.seen.borrow_mut().insert(seq, chunk);
        seq
    }
}

struct Woken(AtomicBool);

impl ArcWake for Woken {
    fn wake_by_ref(woken: &Arc<Self>) {
        woken.0.store(true, Ordering::SeqCst);
    }
}

/// A thread with one turn, over all its runs.
pub struct Case {
    pub model: Rc<ScriptedModel>,
    pub tools: Rc<TestTools>,
    pub clock: Rc<FakeClock>,
    pub disk: Rc<Disk>,
    pub limits: Limits,
    pub history: Vec<Message>,
    /// What the client of each run saw.
    pub seen: BTreeMap<Seq, Event>,
    pub capabilities: Capabilities,
    pub price: Option<Price>,
}

impl Case {
    pub fn new(script: Script) -> Self {
        Case {
            model: Rc::new(ScriptedModel { script, requests: RefCell::default(), aborted: Rc::default() }),
            tools: Rc::default(),
            clock: Rc::default(),
            disk: Rc::default(),
            limits: Limits::default(),
            history: Vec::new(),
            seen: BTreeMap::new(),
            capabilities: Capabilities::default(),
            price: None,
        }
    }

    pub fn limits(mut self, change: impl Fn(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    fn spec(&self) -> TurnSpec {
        TurnSpec {
            thread_id: "thread".to_owned(),
            turn_id: "turn".to_owned(),
            user_message_id: "user-message".to_owned(),
            assistant_message_id: "assistant-message".to_owned(),
            content: "go".to_owned(),
            context_type: "thread".to_owned(),
            chain: Chain::of(Offer {
                choice: Rc::new(ModelChoice {
                    provider: "scripted".to_owned(),
                    model: "m1".to_owned(),
                    capabilities: self.capabilities,
                }),
                price: self.price,
            }),
            subtask_chain: None,
            limits: self.limits,
            tools: tools::offered(&*self.tools, &ToolPolicy::of(ContextKind::Thread)),
            system: prompt::root(ContextKind::Thread, &self.limits),
            history_until: 0,
            created_at: 0,
        }
    }

    fn ports(&self, log: Rc<RunLog>) -> Ports {
        let model = Rc::clone(&self.model) as Rc<dyn Model>;
        Ports { model, tools: Rc::clone(&self.tools) as _, clock: Rc::clone(&self.clock) as _, log }
    }

    /// Begins the turn and lets `during` act on it between two steps of the executor, until it is over.
    pub fn run_with(&mut self, dies_after: Option<usize>, during: impl FnMut(&Turn, usize)) {
        let log = self.log(dies_after);
        let turn = Turn::begin(self.spec(), self.history.clone(), self.ports(Rc::clone(&log)));
        self.play(turn, &log, during);
    }

    /// Takes the turn up from what is on disk.
    pub fn resume(&mut self, dies_after: Option<usize>) {
        let log = self.log(dies_after);
        let entries = self.disk.entries.borrow().clone();
        let turn = Turn::resume(entries, self.history.clone(), self.ports(Rc::clone(&log)));
        self.play(turn, &log, |_, _| {});
    }

    pub fn run(mut self) -> Case {
        self.run_with(None, |_, _| {});
        self.check();
        self
    }

    fn log(&self, dies_after: Option<usize>) -> Rc<RunLog> {
        let dies_after = dies_after.map(|more| self.disk.commits.get() + more);
        Rc::new(RunLog { disk: Rc::clone(&self.disk), seen: RefCell::default(), dies_after })
    }

    fn play(&mut self, turn: Result<Rc<Turn>, LogError>, log: &RunLog, mut during: impl FnMut(&Turn, usize)) {
        if let Ok(turn) = turn {
            let woken = Arc::new(Woken(AtomicBool::new(true)));
            let waker = waker(Arc::clone(&woken));
            let mut running = turn.run().boxed_local();
            let mut step = 0;
            loop {
                during(&turn, step);
                step += 1;
                if !woken.0.swap(false, Ordering::SeqCst) {
                    assert!(self.clock.advance_to_next(), "the turn hangs");
                    continue;
                }
                if running.poll_unpin(&mut Context::from_waker(&waker)).is_ready() {
                    break;
                }
            }
        }
        self.seen.extend(log.seen.take());
    }

    pub fn events(&self) -> Vec<Event> {
        self.disk.events.borrow().values().cloned().collect()
    }

    pub fn end(&self) -> TurnEnd {
        self.disk.end.borrow().clone().expect("the turn has no end")
    }

    /// The events as short lines: what tests compare whole.
    pub fn lines(&self) -> Vec<String> {
        self.events().iter().map(line).collect()
    }

    pub fn check(&self) {
        super::property::check(self);
    }
}

/// One event as a short line, in which ids are the keys that they are derived from.
pub fn line(event: &Event) -> String {
    let short = |id: &str| id.rsplit('_').next().unwrap_or_default().to_owned();
    let place = |place: &crate::protocol::Place| match &place.parent_id {
        Some(parent) => format!(" in {} depth {}", short(parent), place.depth),
        None => String::new(),
    };
    match event {
        Event::AgentState { details, .. } => format!("state {}", details.as_deref().unwrap_or("thinking")),
        Event::ModelCallUpdate { model_call_id, status, place: at, finish_reason, .. } => {
            let why = finish_reason.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
            format!("model {} {status:?}{why}{}", short(model_call_id), place(at)).replace("Start", "start")
        }
        Event::Chunk { content, part_id, place: at, done, .. } => {
            let done = if *done { " done" } else { "" };
            format!("chunk {} {content:?}{done}{}", short(part_id), place(at))
        }
        Event::ToolCallUpdate { tool_call_id, name, status, result, is_error, place: at, .. } => {
            let result = result.as_deref().map(|text| format!(" {text:?}")).unwrap_or_default();
            let error = if *is_error { " error" } else { "" };
            format!("tool {} {name} {status:?}{error}{result}{}", short(tool_call_id), place(at))
        }
        Event::ModelCallReset { model_call_id, place: at, .. } => {
            format!("reset {}{}", short(model_call_id), place(at))
        }
        Event::BudgetExceeded { reason, limit, observed } => {
            format!("budget {reason:?} {observed} of {limit}")
        }
        Event::Error { code, .. } => format!("error {code}"),
        Event::CostSummary(costs) => {
            format!("cost {} llm {} tools {} subtasks", costs.llm_calls, costs.tool_calls, costs.subtasks)
        }
        Event::Done { finish_reason, .. } => format!("done {finish_reason:?}"),
        Event::Session { .. } => "session".to_owned(),
    }
}
