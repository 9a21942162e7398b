//! The outcomes that a record has for the turn's ports, and the order in which they came.
//!
//! A port that needs an outcome waits at its gate. The player opens one gate after another, in the record's order: so
//! parallel levels take turns as they did.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::{Poll, Waker};

use futures::future::poll_fn;

use engine::journal::{Asking, Entry, Fact, ModelOutcome, ToolEnd};
use engine::profiles::Limits;
use engine::toolbelt::Charge;
use engine::versions::Versions;
use wire::model::ModelError;
use wire::protocol::{Awaited, Content};

/// A request of a model call that failed: the key of its entry, the error, and the model that was asked next.
#[derive(Clone)]
pub struct Retry {
    pub key: String,
    pub failed: usize,
    pub error: ModelError,
    pub asked: usize,
}

/// The recorded course of one attempt at a model call.
#[derive(Clone, Default)]
pub struct Course {
    pub retries: Vec<Retry>,
    /// The key of its end, the outcome, and the model that answered; none where a stop or the loss of its run cut the call
    /// off.
    pub end: Option<(String, ModelOutcome, usize)>,
}

/// The record of a turn, as its ports ask for it.
pub struct Script {
    /// All entries, in the order in which they were written.
    pub entries: Vec<Entry>,
    /// By the place of the call, and the number of the attempt: each run that is lost begins its open calls anew.
    courses: BTreeMap<(String, u32), Course>,
    tools: BTreeMap<String, (String, ToolEnd)>,
    /// The keys of outcomes that no port gives: a stop or the end of a step's time made them.
    cut_off: BTreeSet<String>,
    /// The first words of each level, by its path: system prompt and instructions.
    levels: BTreeMap<String, (String, Content)>,
    /// Model calls that have begun and have not asked their port yet, by their places and attempts.
    pub begun: RefCell<VecDeque<(String, u32)>>,
    /// The wire ids that the turn has told.
    pub ids: RefCell<BTreeSet<String>>,
    open: RefCell<BTreeSet<String>>,
    waiting: RefCell<BTreeMap<String, Waker>>,
    /// The clock of the replay: the turn's running time in milliseconds.
    pub now_ms: Cell<u64>,
    sleepers: RefCell<Vec<(u64, futures::channel::oneshot::Sender<()>)>>,
}

impl Script {
    pub fn new(entries: Vec<Entry>, limits: &Limits) -> Self {
        let (mut courses, mut tools) = (BTreeMap::<_, Course>::new(), BTreeMap::new());
        let (mut levels, mut attempts) = (BTreeMap::new(), BTreeMap::<String, u32>::new());
        for entry in &entries {
            let (at, key) = (entry.at.clone(), entry.key());
            let attempt = attempts.get(&at).copied().unwrap_or(0);
            match &entry.fact {
                Fact::Started(spec) => {
                    levels.insert(String::new(), (spec.system.clone(), spec.content.clone()));
                }
                Fact::Opened(spec) => {
                    levels.insert(at, (spec.system.clone(), spec.instructions.clone()));
                }
                Fact::ModelStarted { attempt, .. } => {
                    attempts.insert(at, *attempt);
                }
                Fact::ModelRetried { failed, error, asked, .. } => {
                    let retry = Retry { key, failed: *failed, error: error.clone(), asked: *asked };
                    courses.entry((at, attempt)).or_default().retries.push(retry);
                }
                Fact::ModelEnded { outcome, asked, .. } => {
                    courses.entry((at, attempt)).or_default().end = Some((key, outcome.clone(), *asked));
                }
                Fact::ToolEnded(end) => {
                    tools.insert(at, (key, end.clone()));
                }
                _ => {}
            }
        }
        let cut_off = cut_off(&entries, limits);
        Script {
            entries,
            courses,
            tools,
            cut_off,
            levels,
            begun: RefCell::default(),
            ids: RefCell::default(),
            open: RefCell::default(),
            waiting: RefCell::default(),
            now_ms: Cell::new(0),
            sleepers: RefCell::default(),
        }
    }

    /// The course of the model call that begins with this prompt and has these messages.
    pub fn course(&self, system: &str, says: impl Fn(&Content) -> bool) -> Course {
        let mut begun = self.begun.borrow_mut();
        let fits = |(at, _): &(String, u32)| {
            let level = at.trim_end_matches(|digit: char| digit.is_ascii_digit());
            self.levels.get(level).is_some_and(|(prompt, words)| prompt == system && says(words))
        };
        let place = begun.iter().position(fits).unwrap_or(0);
        let course =
            begun.remove(place).and_then(|call| self.courses.get(&call).cloned()).unwrap_or_default();
        let cut = |(key, ..): &(String, ModelOutcome, usize)| self.cut_off.contains(key);
        Course { end: course.end.filter(|end| !cut(end)), ..course }
    }

    /// The result of a tool call, by its operation id, with the key of its entry.
    pub fn result(&self, operation_id: &str) -> Option<(String, ToolEnd)> {
        let call = operation_id.splitn(3, '_').nth(2)?;
        self.tools.get(call).filter(|(key, _)| !self.cut_off.contains(key)).cloned()
    }

    /// The files that had changed before a step, or why they could not be compared, with the key of the entry.
    pub fn compared(&self, step_id: &str) -> Option<(String, Versions, Option<String>)> {
        let step = step_id.splitn(3, '_').nth(2)?;
        self.entries.iter().filter(|entry| entry.at == step).find_map(|entry| match &entry.fact {
            Fact::FilesCompared { changed, failure } => Some((entry.key(), changed.clone(), failure.clone())),
            _ => None,
        })
    }

    /// The next form of a tool call that has written these entries, with the key of its entry.
    pub fn next_form(&self, operation_id: &str, written: &[Entry]) -> Option<(String, Box<Asking>)> {
        let call = operation_id.splitn(3, '_').nth(2)?;
        let form = |entry: &&Entry| entry.at.strip_prefix(call).is_some_and(|rest| rest.starts_with('~'));
        let forms = self.entries.iter().filter(form);
        let mut left = forms.filter(|entry| !written.iter().any(|known| known.key() == entry.key()));
        left.find_map(|entry| match &entry.fact {
            Fact::Waiting { asking: Some(asking), .. } => Some((entry.key(), asking.clone())),
            _ => None,
        })
    }

    /// The answer of the service in a model's place.
    pub fn answer_in_place(&self) -> Option<String> {
        self.entries.iter().find_map(|entry| match &entry.fact {
            Fact::Canned { text, .. } => Some(text.clone()),
            _ => None,
        })
    }

    /// The most that a call of a tool with these arguments may cost.
    pub fn charge(&self, name: &str, arguments: &str) -> Option<Charge> {
        let calls = self.entries.iter().filter_map(|entry| {
            let calls = match &entry.fact {
                Fact::ModelEnded { outcome, .. } => &outcome.reply()?.tool_calls,
                Fact::Called { calls, .. } => calls,
                _ => return None,
            };
            let index = calls.iter().position(|call| call.name == name && call.arguments == arguments)?;
            Some(format!("{}.{index}", entry.at))
        });
        let called: BTreeSet<String> = calls.collect();
        self.entries.iter().filter(|entry| called.contains(&entry.at)).find_map(|entry| match &entry.fact {
            Fact::Priced(charge) => Some(charge.clone()),
            _ => None,
        })
    }

    /// The addresses of a search whose result is this text.
    pub fn addresses(&self, result: &str) -> Vec<String> {
        let ends = self.tools.values().map(|(_, end)| end);
        let found = ends.into_iter().find(|end| !end.addresses.is_empty() && end.content == result);
        found.map(|end| end.addresses.clone()).unwrap_or_default()
    }

    /// The wire id of a call that waits.
    pub fn id_of(&self, at: &str, on: Awaited) -> Option<String> {
        let (begins, ends) = match on {
            Awaited::Client => ("call_", format!("_{at}")),
            Awaited::Approval | Awaited::Limit | Awaited::Input => ("approval_", format!("_{at}")),
        };
        self.ids.borrow().iter().find(|id| id.starts_with(begins) && id.ends_with(&ends)).cloned()
    }

    /// Completes when the player opens the gate of the entry with this key.
    pub async fn gate(&self, key: &str) {
        poll_fn(|context| {
            if self.open.borrow().contains(key) {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().insert(key.to_owned(), context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Whether a port waits at this gate.
    pub fn waits(&self, key: &str) -> bool {
        self.waiting.borrow().contains_key(key)
    }

    /// Opens a gate.
    pub fn open(&self, key: &str) {
        self.open.borrow_mut().insert(key.to_owned());
        let waiting = self.waiting.borrow_mut().remove(key);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// A timer.
    pub fn sleep(&self, ms: u64) -> futures::channel::oneshot::Receiver<()> {
        let (sender, receiver) = futures::channel::oneshot::channel();
        self.sleepers.borrow_mut().push((self.now_ms.get().saturating_add(ms), sender));
        receiver
    }

    /// Lets the time pass up to the next timer, unless that is later than `until_ms`. Returns whether there was one.
    pub fn wake_next(&self, until_ms: u64) -> bool {
        let mut sleepers = self.sleepers.borrow_mut();
        sleepers.retain(|(_, sender)| !sender.is_canceled());
        let next = sleepers.iter().map(|(at, _)| *at).min().filter(|at| *at <= until_ms);
        let Some(place) = next.and_then(|next| sleepers.iter().position(|(at, _)| *at == next)) else {
            return false;
        };
        let (at, sender) = sleepers.swap_remove(place);
        drop(sleepers);
        self.pass(at);
        // A timer that was dropped a moment ago wakes nobody.
        sender.send(()).is_ok()
    }

    /// Forgets all that the run was about to do, because it is lost. The clock goes on from the last entry that the run
    /// wrote.
    pub fn lose_run(&self, last_ms: u64) {
        self.begun.borrow_mut().clear();
        self.open.borrow_mut().clear();
        self.waiting.borrow_mut().clear();
        self.sleepers.borrow_mut().clear();
        self.now_ms.set(last_ms);
    }

    /// Sets the clock to a time that is not in its past.
    pub fn pass(&self, to_ms: u64) {
        self.now_ms.set(self.now_ms.get().max(to_ms));
    }
}

/// The keys of the outcomes that stand in the record because the turn was stopped, or because the time of a step or of a
/// plan was over: the engine made them, and no port did.
fn cut_off(entries: &[Entry], limits: &Limits) -> BTreeSet<String> {
    let stopped = entries.iter().position(|entry| matches!(entry.fact, Fact::Stopped(_)));
    let after = entries.iter().skip(stopped.unwrap_or(entries.len()));
    let mut keys: BTreeSet<String> = after.map(Entry::key).collect();
    let began = |key: &str| {
        let is_start = |entry: &&Entry| matches!(entry.fact, Fact::ToolStarted { .. }) && entry.at == key;
        entries.iter().find(is_start).map(|entry| entry.elapsed_ms)
    };
    for (index, step) in entries.iter().enumerate() {
        let is_partial = matches!(&step.fact, Fact::ToolEnded(end) if end.partial);
        let ran = |key: &str| began(key).map_or(0, |began| step.elapsed_ms.saturating_sub(began));
        let plan = step.at.rsplit_once("-w").map_or("", |(plan, _)| plan);
        if !is_partial || (ran(&step.at) < limits.step_ms && ran(plan) < limits.plan_ms) {
            continue;
        }
        let within = format!("{}-", step.at);
        let with_it = entries.iter().take(index).rev().take_while(|entry| {
            entry.at.starts_with(&within)
                && entry.elapsed_ms == step.elapsed_ms
                && match &entry.fact {
                    Fact::ToolEnded(end) => end.is_error,
                    fact => matches!(fact, Fact::ModelDropped),
                }
        });
        keys.extend(with_it.map(Entry::key));
    }
    keys
}
