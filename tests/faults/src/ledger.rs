//! The events that the outside world saw: deaths, model calls, side effects. The ledger judges each new event by the
//! earlier ones, so it finds a repetition without an excuse when it happens.
//!
//! Each life of the runtime gets another address, so a late request still shows its life.

mod holds;
mod summaries;
mod titles;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub use crate::death::Death;
use crate::death::Lost;
use crate::script;
use summaries::Summaries;

/// How long a death inside the runtime may take, from its announcement to its end. After a panic that includes the next
/// alarm of each object, at which the platform makes the object anew.
const STRUCK: Duration = Duration::from_secs(4);
/// The most violations that are kept: the first ones show enough.
const KEPT: usize = 40;

struct Call {
    at: Instant,
    life: u32,
    /// Whether the provider fails before the first word of its answer: the service may then try again by itself.
    refused: bool,
}

struct Effect {
    at: Instant,
    life: u32,
}

#[derive(Default)]
struct Turn {
    /// By marker: the steps that the service asked for.
    levels: HashMap<String, BTreeMap<usize, Vec<Call>>>,
    effects: HashMap<String, Vec<Effect>>,
    /// Operations by the step that they belong to, and those with a journaled outcome.
    operations: HashMap<(String, usize), Vec<String>>,
    /// The last step of each level whose model call is certainly journaled, and how the ledger knows it.
    journaled: HashMap<String, (usize, &'static str)>,
    sealed: HashMap<String, &'static str>,
    /// Whether no client asks for it, so that only the alarm can resume it.
    alone: bool,
    seen_in_life: u32,
    /// When it was asked for, or last called a model or a tool.
    acted_at: Option<Instant>,
}

/// Counts for the report.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub deaths: BTreeMap<Death, u32>,
    pub upstream: BTreeMap<&'static str, u32>,
    pub d1: BTreeMap<&'static str, u32>,
    pub r2: BTreeMap<&'static str, u32>,
    pub model_calls: u32,
    pub model_repeated: u32,
    /// The model calls that asked for a summary.
    pub summaries: u32,
    /// Levels whose model call was under way at a death, summed.
    pub under_way: u32,
    pub kills_over: u32,
    pub effects: u32,
    pub effects_again: u32,
    pub journaled_repeated: u32,
    pub once_repeated: u32,
    pub unexcused: u32,
    pub refused_histories: u32,
    /// Requests that met a turn on hold, with deaths that excuse it.
    pub holds: u32,
}

#[derive(Default)]
struct State {
    life: u32,
    /// The thread of each turn.
    threads: HashMap<u64, String>,
    /// The operation of each label. No two calls have the same label, unless a turn makes a call of another turn again.
    labels: HashMap<String, String>,
    turns: HashMap<u64, Turn>,
    lost: Vec<Lost>,
    killed_at: Option<Instant>,
    alive_at: Option<Instant>,
    by_alarm: Vec<(Duration, Duration)>,
    restarts: Vec<Duration>,
    counts: Counts,
    violations: Vec<String>,
    panicked: HashSet<String>,
    summaries: Summaries,
    /// By marker: how often a model was asked for a title.
    titles: HashMap<String, u32>,
}

/// See the module.
#[derive(Default)]
pub struct Ledger(Mutex<State>);

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a violation of the service's promises.
    pub fn violation(&self, what: String) {
        self.lock().violation(what);
    }

    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    pub fn counts(&self) -> Counts {
        let mut state = self.lock();
        let over = |lost: &&Lost| lost.under_way.is_some_and(|levels| lost.repeated > levels);
        let over = state.lost.iter().filter(over).count() as u32;
        let under_way = state.lost.iter().filter_map(|lost| lost.under_way).sum();
        (state.counts.kills_over, state.counts.under_way) = (over, under_way);
        state.counts.clone()
    }

    /// The times until a turn that no client asks for first acted again: from the kill, and from the runtime's first
    /// answer.
    pub fn resumed_by_alarm(&self) -> Vec<(Duration, Duration)> {
        self.lock().by_alarm.clone()
    }

    pub fn upstream(&self, fault: &'static str) {
        *self.lock().counts.upstream.entry(fault).or_default() += 1;
    }

    pub fn d1(&self, fault: &'static str) {
        *self.lock().counts.d1.entry(fault).or_default() += 1;
    }

    pub fn r2(&self, fault: &'static str) {
        *self.lock().counts.r2.entry(fault).or_default() += 1;
    }

    /// The number of the next life.
    pub fn born(&self) -> u32 {
        let mut state = self.lock();
        state.life += 1;
        state.life
    }

    /// Notes that a client is about to ask for a turn.
    pub fn ordered(&self, turn: u64, thread: &str) {
        let mut state = self.lock();
        state.threads.insert(turn, thread.to_owned());
        state.turns.entry(turn).or_default().acted_at = Some(Instant::now());
    }

    /// Notes that the runtime is killed now.
    pub fn killed(&self) {
        let mut state = self.lock();
        let life = state.life;
        state.killed_at = Some(Instant::now());
        state.die(Death::Kill, None, Some(life));
    }

    /// Notes that a life answers.
    pub fn restarted(&self, after: Duration) {
        let mut state = self.lock();
        state.alive_at = Some(Instant::now());
        state.restarts.push(after);
    }

    pub fn restarts(&self) -> Vec<Duration> {
        self.lock().restarts.clone()
    }

    /// The time of the last kill.
    pub fn last_kill(&self) -> Option<Instant> {
        self.lock().killed_at
    }

    /// Notes that a panic or an abort is about to happen inside the runtime.
    pub fn struck(&self, death: Death, turn: Option<u64>) {
        self.lock().die(death, turn, None);
    }

    /// Returns whether this operation has not panicked yet, and notes that it panics now.
    pub fn first_panic(&self, operation: &str) -> bool {
        self.lock().panicked.insert(operation.to_owned())
    }

    /// Notes that a commit of this turn will panic half-way, at an unknown moment.
    pub fn will_tear(&self, turn: u64) {
        let mut state = self.lock();
        *state.counts.deaths.entry(Death::Panic).or_default() += 1;
        let at = Instant::now();
        let (until, thread) = (at + Duration::from_secs(3600), Some(state.thread_of(turn)));
        state.lost.push(Lost { at, until, life: None, thread, under_way: None, repeated: 0 });
    }

    pub fn deaths(&self, death: Death) -> u32 {
        self.lock().counts.deaths.get(&death).copied().unwrap_or(0)
    }

    /// Notes a turn whose client will not ask for it until it is over.
    pub fn leave_alone(&self, turn: u64) {
        let mut state = self.lock();
        let life = state.life;
        let turn = state.turns.entry(turn).or_default();
        (turn.alone, turn.seen_in_life) = (true, life);
    }

    /// Forgets a turn that is over and was checked.
    pub fn forget(&self, turn: u64) {
        self.lock().turns.remove(&turn);
    }

    /// Notes that the service asks a model, and returns how often it asked the same before.
    pub fn model_called(&self, life: u32, marker: &str, step: usize) -> usize {
        let mut state = self.lock();
        let Some(number) = script::turn_of(marker) else { return 0 };
        state.counts.model_calls += 1;
        state.sign_of_life(number, life);
        let now = Instant::now();
        let lost = state.lost.clone();
        let turn = state.turns.entry(number).or_default();
        let steps = turn.levels.entry(marker.to_owned()).or_default();
        let calls = steps.entry(step).or_default();
        let before = calls.len();
        let previous = calls.last().map(|call| (call.at, call.life, call.refused));
        calls.push(Call { at: now, life, refused: false });
        let journaled = turn.journaled.get(marker).filter(|(last, _)| *last >= step).map(|(_, why)| *why);
        // A request for a step shows that the step before it is journaled, with all its tools.
        if let Some(done) = step.checked_sub(1) {
            let operations = turn.operations.get(&(marker.to_owned(), done)).cloned().unwrap_or_default();
            for operation in operations {
                turn.sealed.entry(operation).or_insert("its result was given to the model");
            }
            turn.journal(marker, done, "the step after it was asked");
        }
        let Some((at, in_life, refused)) = previous else { return before };
        let thread = state.threads.get(&number).map(String::as_str);
        let cause = lost.iter().position(|lost| lost.excuses(thread, at, in_life, life, now));
        if let Some(why) = journaled {
            state.counts.unexcused += 1;
            state.violation(format!("{marker}: step {step} was asked again although {why}"));
        } else if let Some(lost) = cause.and_then(|index| state.lost.get_mut(index)) {
            lost.repeated += 1;
            // The death was announced before it happened, so calls that came in between were under way as well.
            if at > lost.at {
                lost.under_way = lost.under_way.map(|levels| levels + 1);
            }
            state.counts.model_repeated += 1;
        } else if !refused {
            state.counts.unexcused += 1;
            state.violation(format!("{marker}: step {step} was asked again, and no death excuses it"));
        }
        before
    }

    /// Notes that a client saw the end of this model call.
    pub fn model_journaled(&self, turn: u64, marker: &str, step: usize) {
        let mut state = self.lock();
        state.turns.entry(turn).or_default().journal(marker, step, "a client had seen its end");
    }

    /// Notes that a request shows the end of this model call: an agent's, or one after a verdict.
    pub fn model_heard(&self, marker: &str, step: usize) {
        if let Some(number) = script::turn_of(marker) {
            self.lock().turns.entry(number).or_default().journal(marker, step, "a request had shown it");
        }
    }

    /// Notes that the provider fails before the first word of its answer.
    pub fn model_refused(&self, marker: &str, step: usize, attempt: usize) {
        let mut state = self.lock();
        let turn = script::turn_of(marker).and_then(|number| state.turns.get_mut(&number));
        let call = turn.and_then(|turn| turn.levels.get_mut(marker)?.get_mut(&step)?.get_mut(attempt));
        if let Some(call) = call {
            call.refused = true;
        }
    }

    /// Notes the effect of a tool.
    pub fn effect(&self, life: u32, operation: &str, tool: &str, label: &str) {
        let mut state = self.lock();
        let mut place = label.rsplitn(3, '.');
        let (_, step, marker) = (place.next(), place.next(), place.next().unwrap_or_default());
        let Some(number) = script::turn_of(marker) else { return };
        state.counts.effects += 1;
        state.sign_of_life(number, life);
        let made = state.labels.entry(label.to_owned()).or_insert_with(|| operation.to_owned()).clone();
        if made != operation {
            state.counts.journaled_repeated += 1;
            state.violation(format!("{label}: a turn made a call again that had run in the turn before it"));
        }
        let now = Instant::now();
        let lost = state.lost.clone();
        let turn = state.turns.entry(number).or_default();
        let step = step.and_then(|step| step.parse().ok()).unwrap_or(0);
        let known = turn.operations.entry((marker.to_owned(), step)).or_default();
        if !known.iter().any(|known| known == operation) {
            known.push(operation.to_owned());
        }
        turn.journal(marker, step, "its tools had run");
        let sealed = turn.sealed.get(operation).copied();
        let effects = turn.effects.entry(operation.to_owned()).or_default();
        let previous = effects.last().map(|effect| (effect.at, effect.life));
        effects.push(Effect { at: now, life });
        let Some((at, in_life)) = previous else { return };
        let thread = state.threads.get(&number).cloned();
        state.counts.effects_again += 1;
        if tool == "record_once" {
            state.counts.once_repeated += 1;
            state.violation(format!("{label}: a call that is not idempotent ran twice"));
        }
        if let Some(why) = sealed {
            state.counts.journaled_repeated += 1;
            state.violation(format!("{label}: ran again although {why}"));
        } else if !lost.iter().any(|lost| lost.excuses(thread.as_deref(), at, in_life, life, now)) {
            state.counts.unexcused += 1;
            state.violation(format!("{label}: ran again, and no death excuses it"));
        }
    }

    /// Notes that a client saw the end of this tool call, so that its outcome is journaled.
    pub fn seal(&self, turn: u64, operation: &str) {
        let mut state = self.lock();
        let turn = state.turns.entry(turn).or_default();
        turn.sealed.entry(operation.to_owned()).or_insert("a client had seen its end");
    }

    /// Notes that the provider refused a request for its history.
    pub fn bad_history(&self, message: String) {
        let mut state = self.lock();
        state.counts.refused_histories += 1;
        state.violation(format!("a provider would refuse this history: {message}"));
    }
}

impl Turn {
    fn journal(&mut self, marker: &str, step: usize, why: &'static str) {
        let last = self.journaled.entry(marker.to_owned()).or_insert((step, why));
        if last.0 < step {
            *last = (step, why);
        }
    }
}

impl State {
    fn violation(&mut self, what: String) {
        if self.violations.len() < KEPT {
            self.violations.push(what);
        }
    }

    /// The thread of a turn; empty where it is not known, so that no death excuses the turn.
    fn thread_of(&self, turn: u64) -> String {
        self.threads.get(&turn).cloned().unwrap_or_default()
    }

    fn die(&mut self, death: Death, turn: Option<u64>, life: Option<u32>) {
        *self.counts.deaths.entry(death).or_default() += 1;
        let at = Instant::now();
        let until = if life.is_some() { at } else { at + STRUCK };
        let thread = turn.map(|turn| self.thread_of(turn));
        let under_way = |(number, state): (&u64, &Turn)| {
            let concerned = thread.is_none() || self.threads.get(number) == thread.as_ref();
            let open = state.levels.iter().filter(|(marker, steps)| {
                let journaled = state.journaled.get(*marker).map(|(step, _)| *step);
                steps.keys().next_back().copied() > journaled
            });
            if concerned { open.count() as u32 } else { 0 }
        };
        let under_way = self.turns.iter().map(under_way).sum();
        self.lost.push(Lost { at, until, life, thread, under_way: Some(under_way), repeated: 0 });
    }

    /// Notes the first act of a turn in a life.
    fn sign_of_life(&mut self, number: u64, life: u32) {
        let killed_at = self.killed_at;
        let current = self.life;
        let Some(turn) = self.turns.get_mut(&number) else { return };
        let before = turn.seen_in_life;
        turn.seen_in_life = before.max(life);
        turn.acted_at = Some(Instant::now());
        if turn.alone
            && before + 1 == life
            && life == current
            && let Some(at) = killed_at
        {
            // The turn may act before the runtime first answers the harness.
            let alive =
                self.alive_at.filter(|alive| *alive > at).map_or(Duration::ZERO, |alive| alive.elapsed());
            self.by_alarm.push((at.elapsed(), alive));
        }
    }
}
