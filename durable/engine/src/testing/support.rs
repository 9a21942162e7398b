//! A thread with one turn: its disk, a log that can die, and the loop that plays the turn.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::task::{ArcWake, waker};

pub use super::disk::Disk;
pub use super::kept::KeptAgents;
use super::lines::line;
pub use super::scripted::*;
use super::test_tools::TestTools;
use crate::hooks::speak_of_todos;
use crate::journal::{
    Commit, ESTIMATES, Entry, FORMAT, Fact, History, LEAST_READER, MARKS, Past, PastId, Setting, Summary,
    TextPart, TurnEnd, TurnSpec,
};
use crate::offer::{InContext, offered};
use crate::ports::*;
use crate::profiles::{Chain, ContextProfile, Limits, MostTokens, Price, PricedModel};
use crate::prompt;
use crate::toolbelt::ToolPolicy;
use crate::turn::{Ran, Turn};
use wire::model::*;
use wire::protocol::{ClientTool, ContextKind, CountedRequest, Decision, Event, Seq};

/// The moment at which a test kills a run.
#[derive(Clone, Copy, Debug)]
pub enum Kill {
    /// After this number of its own commits.
    AfterCommits(usize),
    /// The same, but the last commit reaches the disk while the run gets an error.
    Unheard(usize),
    /// At this step of the executor; the test drops the futures as they are.
    AtStep(usize),
}

/// One run's access to the disk. It can die, as a killed process does.
pub struct RunLog {
    disk: Rc<Disk>,
    /// The events that this run's clients saw, announced chunks included.
    pub seen: RefCell<BTreeMap<Seq, Event>>,
    kill: Option<Kill>,
    /// The number of commits left before the run dies.
    left: Cell<usize>,
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
                done: index == last && !part.more,
                kind: part.kind,
            };
            (*seq, chunk)
        })
    }
}

impl Log for RunLog {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        let disk = &self.disk;
        if self.left.get() == 0 {
            return Err(LogError::Fenced);
        }
        self.left.set(self.left.get() - 1);
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
        match self.kill {
            Some(Kill::Unheard(_)) if self.left.get() == 0 => Err(LogError::Storage("lost".to_owned())),
            _ => Ok(()),
        }
    }

    fn announce(&self, chunk: Event) -> Seq {
        let seq = self.seq();
        self.seen.borrow_mut().insert(seq, chunk);
        seq
    }

    fn warn(&self, text: &str) {
        self.disk.warned.borrow_mut().push(text.to_owned());
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
    /// The user's message, which is the root's instructions.
    pub content: String,
    pub history: Vec<Message>,
    /// How many turns of the history stand before a gap.
    pub before_gap: usize,
    /// The summary of the turns before the history.
    pub summary: Option<Summary>,
    pub retrieved: Option<String>,
    /// The events that the clients of all runs saw.
    pub seen: BTreeMap<Seq, Event>,
    pub capabilities: Capabilities,
    pub options: ModelOptions,
    /// The policy that selects the offered tools, and the one that the engine checks at each call.
    pub offered_by: ToolPolicy,
    pub policy: ToolPolicy,
    pub price: Option<Price>,
    pub client_tools: Vec<ClientTool>,
    /// Whether their calls of one reply are asked at once.
    pub clients_at_once: bool,
    /// How the last run ended.
    pub ran: Option<Result<Ran, LogError>>,
    /// Models after the first of the chain.
    pub then: Vec<PricedModel>,
    pub subtask_chain: Option<Chain>,
    /// The tokenizer of the first model.
    pub most_tokens: Option<MostTokens>,
    pub context: &'static str,
    pub setting: Setting,
    /// The turn's rules for estimates.
    pub estimates: u32,
    /// The turn's marks.
    pub marks: u32,
    /// The message that the turn is a version beside.
    pub replaces: Option<&'static str>,
    /// The last request of the turn before, as its provider counted it.
    pub last_request: Option<CountedRequest>,
    /// The agents of earlier turns.
    pub agents: Rc<KeptAgents>,
}

impl Case {
    pub fn new(script: Script) -> Self {
        Case::seeded(script, 0)
    }

    /// A case with random delays from this seed.
    pub fn seeded(script: Script, seed: u64) -> Self {
        let (pace, disk) = (Rc::new(Pace::new(seed)), Rc::<Disk>::default());
        let workspace_root = Some("/".to_owned());
        let policy = ToolPolicy { workspace_root, ..ToolPolicy::of(ContextKind::Thread) };
        Case {
            clock: Rc::clone(&pace.clock),
            tools: Rc::new(TestTools::new(&pace, &disk)),
            model: Rc::new(ScriptedModel::new(script, pace, Rc::clone(&disk))),
            disk,
            limits: Limits::default(),
            content: "go".to_owned(),
            history: Vec::new(),
            before_gap: 0,
            summary: None,
            last_request: None,
            retrieved: None,
            replaces: None,
            seen: BTreeMap::new(),
            capabilities: Capabilities::default(),
            options: ModelOptions::default(),
            offered_by: policy.clone(),
            policy,
            price: None,
            client_tools: Vec::new(),
            clients_at_once: false,
            ran: None,
            then: Vec::new(),
            subtask_chain: None,
            most_tokens: None,
            context: "thread",
            setting: Setting::default(),
            estimates: ESTIMATES,
            marks: MARKS,
            agents: Rc::default(),
        }
    }

    pub fn limits(mut self, change: impl Fn(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub fn spec(&self) -> TurnSpec {
        let profile = &ContextProfile::named(self.context).unwrap().in_mode(self.setting.mode);
        let draft = self.setting.draft.as_deref();
        let in_context = InContext {
            profile: *profile,
            has_draft: draft.is_some(),
            agent_hooks: self.setting.agent_hooks,
            agents: self.setting.agents.is_some(),
            todos: speak_of_todos(self.setting.hooks.iter()),
            session: self.setting.session.is_some(),
            clients_at_once: self.clients_at_once,
        };
        let about = prompt::About {
            context: profile,
            entity_id: None,
            has_tools: true,
            draft,
            browser: self.setting.browser.as_ref(),
            session: self.setting.session.as_deref(),
            shape: self.setting.shape.as_deref(),
        };
        let (price, most_tokens) = (self.price.clone(), self.most_tokens);
        let mut first = PricedModel { price, most_tokens, ..offer("m1", self.capabilities) };
        Rc::make_mut(&mut first.choice).options = self.options.clone();
        let chain = Chain { first, then: self.then.clone() };
        TurnSpec {
            format: FORMAT,
            least_reader: LEAST_READER,
            estimates: self.estimates,
            marks: self.marks,
            thread_id: "thread".to_owned(),
            turn_id: "turn".to_owned(),
            user_message_id: "user-message".to_owned(),
            assistant_message_id: "assistant-message".to_owned(),
            content: self.content.as_str().into(),
            context_type: self.context.to_owned(),
            setting: self.setting.clone(),
            profile: "primary".to_owned(),
            chain: if self.setting.mode.is_some() { chain.calling_in_text() } else { chain },
            subtask_chain: self.subtask_chain.clone(),
            limits: self.limits,
            policy: self.policy.clone(),
            tools: offered(&*self.tools, &self.client_tools, &self.offered_by, in_context),
            system: prompt::root(about, &self.limits),
            history_until: 0,
            summary: self.summary.clone(),
            last_request: self.last_request.clone(),
            retrieved: self.retrieved.clone(),
            replaces_message_id: self.replaces.map(str::to_owned),
            created_at: 0,
        }
        .with_least_reader()
    }

    /// The history in turns, each from a user message on. The first one has the row 1 and the id `past-1`.
    pub fn earlier(&self) -> History {
        let mut turns: Vec<Past> = Vec::new();
        for message in &self.history {
            if matches!(message, Message::User { .. }) || turns.is_empty() {
                let row = turns.len() as i64 + 1;
                turns.push(Past { id: PastId { row, turn_id: format!("past-{row}") }, messages: Vec::new() });
            }
            turns.last_mut().unwrap().messages.push(message.clone());
        }
        History { turns, before_gap: self.before_gap }
    }

    fn ports(&self, log: Rc<RunLog>) -> Ports {
        let model = Rc::clone(&self.model) as Rc<dyn Model>;
        let (tools, clock) = (Rc::clone(&self.tools) as _, Rc::clone(&self.clock) as _);
        Ports { model, tools, clock, log, agents: Rc::clone(&self.agents) as _ }
    }

    /// Begins the turn and lets `during` act on it between two steps of the executor, until it is over.
    pub fn run_with(&mut self, kill: Option<Kill>, during: impl FnMut(&Turn, usize)) {
        let log = self.log(kill);
        let turn = Turn::begin(self.spec(), self.earlier(), self.ports(Rc::clone(&log)));
        self.play(turn, &log, during);
    }

    /// Resumes the turn from the disk.
    pub fn resume(&mut self, kill: Option<Kill>) {
        self.resume_with(kill, |_, _| {});
    }

    /// Resumes the turn and lets `during` act on it between two steps of the executor.
    pub fn resume_with(&mut self, kill: Option<Kill>, during: impl FnMut(&Turn, usize)) {
        let log = self.log(kill);
        let (entries, shown) = self.disk.read();
        let turn = Turn::resume(entries, shown, self.earlier(), self.ports(Rc::clone(&log)));
        self.play(turn, &log, during);
    }

    /// Rebuilds a parked turn from the disk, gives it an answer and lets it go on.
    pub fn say<T>(&mut self, kill: Option<Kill>, say: impl FnOnce(&Turn) -> T) -> T {
        let log = self.log(kill);
        let (entries, shown) = self.disk.read();
        let turn = Turn::rebuild(entries, shown, self.earlier(), self.ports(Rc::clone(&log))).unwrap();
        let said = say(&turn);
        self.play(Ok(turn), &log, |_, _| {});
        said
    }

    pub fn run(mut self) -> Case {
        self.run_with(None, |_, _| {});
        self.check();
        self
    }

    fn log(&self, kill: Option<Kill>) -> Rc<RunLog> {
        let left = match kill {
            Some(Kill::AfterCommits(commits) | Kill::Unheard(commits)) => commits,
            Some(Kill::AtStep(_)) | None => usize::MAX,
        };
        let (disk, left) = (Rc::clone(&self.disk), Cell::new(left));
        Rc::new(RunLog { disk, seen: RefCell::default(), kill, left })
    }

    fn play(&mut self, turn: Result<Rc<Turn>, LogError>, log: &RunLog, mut during: impl FnMut(&Turn, usize)) {
        if let Ok(turn) = turn {
            let woken = Arc::new(Woken(AtomicBool::new(true)));
            let waker = waker(Arc::clone(&woken));
            let mut running = turn.run().boxed_local();
            let mut step = 0;
            loop {
                during(&turn, step);
                if matches!(log.kill, Some(Kill::AtStep(last)) if last == step) {
                    break;
                }
                step += 1;
                if !woken.0.swap(false, Ordering::SeqCst) {
                    assert!(self.clock.advance_to_next(), "the turn hangs");
                    continue;
                }
                if let Poll::Ready(ran) = running.poll_unpin(&mut Context::from_waker(&waker)) {
                    self.ran = Some(ran);
                    break;
                }
            }
        }
        self.seen.extend(log.seen.take());
    }

    /// Whether the turn is parked, as its journal says.
    pub fn is_parked(&self) -> bool {
        let entries = self.disk.entries.borrow();
        let facts = entries.iter().rev().map(|entry| &entry.fact);
        let mut lives = facts.filter(|fact| {
            matches!(fact, Fact::Parked { .. } | Fact::Unparked { .. } | Fact::Resumed { .. })
        });
        lives.next().is_some_and(|fact| matches!(fact, Fact::Parked { .. }))
    }

    pub fn events(&self) -> Vec<Event> {
        self.disk.events.borrow().values().cloned().collect()
    }

    pub fn end(&self) -> TurnEnd {
        self.disk.end.borrow().clone().expect("the turn has no end")
    }

    /// The decision on each tool call of the stored tree.
    pub fn decisions(&self) -> Vec<Option<Decision>> {
        let tree = self.end().message.execution_tree.unwrap();
        tree.nodes.iter().map(|node| node.decision).collect()
    }

    /// The events as short lines, for tests that compare the whole list.
    pub fn lines(&self) -> Vec<String> {
        self.events().iter().map(line).collect()
    }

    pub fn check(&self) {
        super::invariants::check(self);
    }
}
