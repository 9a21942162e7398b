//! The fake LLM's state: scripts, every request, the barriers. One lock, and one signal that something changed.
//!
//! A logical clock stamps the requests instead of the time. So `arrived` and `ended` of any two requests can be
//! compared, and "one after the other" is a fact instead of a guess about milliseconds.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use super::history::{TITLE, text_of};
use super::script::{Barrier, Refusal, Script, Step};

/// One request to the fake.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its number.
    pub id: usize,
    /// The marker that it carried; empty when it had none.
    pub marker: String,
    /// The step of the script that it asked for.
    pub step: usize,
    /// The header fields, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
    /// When it came, on the logical clock.
    pub arrived: u64,
    /// When it ended. Stamped before the last byte goes out, so that the client's next request has a later stamp.
    pub ended: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// The mistake in a refused request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Record {
    /// The conversation in the request, over Chat Completions.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The role of the message.
    pub fn roles(&self) -> Vec<&str> {
        self.messages().iter().map(|message| message["role"].as_str().unwrap_or_default()).collect()
    }

    /// Its text, tool results included.
    pub fn contents(&self) -> Vec<String> {
        self.messages().iter().map(|message| text_of(&message["content"])).collect()
    }

    /// The results of its last round, in their order.
    pub fn results(&self) -> Vec<String> {
        let last = self.roles().iter().rposition(|role| *role != "tool").map_or(0, |index| index + 1);
        self.contents().split_off(last)
    }

    /// The offered tools.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        // Gemini has them in one list.
        let tools = match tools.first().and_then(|first| first["functionDeclarations"].as_array()) {
            Some(declared) => declared,
            None => tools,
        };
        // Only Chat Completions wraps them.
        let names = tools.iter().map(|tool| tool["function"]["name"].as_str().or(tool["name"].as_str()));
        names.map(Option::unwrap_or_default).collect()
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Not yet.
    Running,
    /// With everything that the script wanted, up to `[DONE]`.
    Finished,
    /// The client went away.
    Aborted,
    /// The script cut the connection.
    Cut,
    /// The script wanted an error, by HTTP or in the stream.
    Failed,
    /// The request was wrong (see `error`).
    Refused,
}

/// See the module.
pub struct Ledger {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    clock: u64,
    scripts: HashMap<String, Script>,
    requests: Vec<Record>,
    gates: HashMap<String, Gate>,
    failures: HashMap<(String, usize), u32>,
    documents: HashMap<String, Value>,
}

#[derive(Default)]
struct Gate {
    reached: usize,
    open: bool,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: watch::channel(()).0 }
    }
}

impl Ledger {
    /// Puts a document where it can be fetched.
    pub fn publish(&self, path: &str, document: Value) {
        self.lock().documents.insert(path.to_owned(), document);
    }

    /// The document at this path.
    pub fn published(&self, path: &str) -> Option<Value> {
        self.lock().documents.get(path).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock means that a test's own thread panicked; the records are still right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        self.changed.send_replace(());
    }

    /// Adds scripts, or replaces them.
    pub fn register(&self, scripts: HashMap<String, Script>) {
        self.lock().scripts.extend(scripts);
    }

    /// The step to play for a request; `Err` names the missing part.
    pub fn step(&self, marker: &str, step: usize) -> Result<Step, String> {
        let state = self.lock();
        if marker.ends_with(TITLE) && !state.scripts.contains_key(marker) {
            return Ok(super::script::text("No title."));
        }
        let script =
            state.scripts.get(marker).ok_or_else(|| format!("no script is registered for '{marker}'"))?;
        let last = script.steps.last().filter(|_| script.repeat);
        Ok(script.steps.get(step).or(last).cloned().unwrap_or_else(|| {
            let steps = script.steps.len();
            super::script::text(&format!(
                "THE FAKE LLM'S SCRIPT '{marker}' IS EXHAUSTED: it has {steps} steps, this is step {}",
                step + 1
            ))
        }))
    }

    /// Whether this attempt at a step must fail.
    pub fn fails(&self, marker: &str, step: usize, refusal: &Refusal) -> bool {
        let Some(times) = refusal.times else { return true };
        let mut state = self.lock();
        let failures = state.failures.entry((marker.to_owned(), step)).or_default();
        *failures += 1;
        *failures <= times
    }

    /// Notes a request and returns its number, which names it from now on.
    pub fn arrive(&self, marker: &str, step: usize, headers: BTreeMap<String, String>, body: Value) -> usize {
        let mut state = self.lock();
        state.clock += 1;
        let (id, arrived, marker) = (state.requests.len(), state.clock, marker.to_owned());
        let outcome = Outcome::Running;
        state.requests.push(Record {
            id,
            marker,
            step,
            headers,
            body,
            arrived,
            ended: None,
            outcome,
            error: None,
        });
        drop(state);
        self.announce();
        id
    }

    /// Notes how a request ended. The first note counts: a client that hangs up after `[DONE]` did not abort.
    pub fn end(&self, id: usize, outcome: Outcome, error: Option<String>) {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        if let Some(record) = state.requests.get_mut(id).filter(|record| record.ended.is_none()) {
            record.ended = Some(now);
            record.outcome = outcome;
            record.error = error;
        }
        drop(state);
        self.announce();
    }

    /// Waits at a barrier.
    pub async fn pass(&self, barrier: &Barrier) {
        let mut changed = self.changed.subscribe();
        {
            let mut state = self.lock();
            let gate = state.gates.entry(barrier.name.clone()).or_default();
            gate.reached += 1;
            gate.open |= barrier.count.is_some_and(|count| gate.reached >= count);
        }
        self.announce();
        while !self.lock().gates.get(&barrier.name).is_some_and(|gate| gate.open) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Opens a barrier for good.
    pub fn release(&self, name: &str) {
        self.lock().gates.entry(name.to_owned()).or_default().open = true;
        self.announce();
    }

    /// Forgets the requests whose marker begins so, to keep a long benchmark's memory small. Their numbers stay taken.
    pub fn forget(&self, prefix: &str) {
        for record in self.lock().requests.iter_mut().filter(|record| record.marker.starts_with(prefix)) {
            record.body = Value::Null;
            record.marker = String::from("(forgotten)");
        }
    }

    /// The requests whose marker begins so, in the order of their arrival.
    pub fn requests(&self, prefix: &str) -> Vec<Record> {
        self.lock().requests.iter().filter(|record| record.marker.starts_with(prefix)).cloned().collect()
    }

    /// Waits until `count` requests have come whose marker begins so and, where `outcome` is given, that ended so.
    pub async fn wait(&self, prefix: &str, count: usize, outcome: Option<Outcome>) {
        let mut changed = self.changed.subscribe();
        let reached = || {
            let state = self.lock();
            let fits = |record: &&Record| {
                record.marker.starts_with(prefix) && outcome.is_none_or(|outcome| record.outcome == outcome)
            };
            state.requests.iter().filter(fits).count() >= count
        };
        while !reached() {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}

/// The most requests that were under way at once.
pub fn peak(requests: &[Record]) -> usize {
    let mut steps: Vec<(u64, i64)> = Vec::new();
    for record in requests {
        steps.push((record.arrived, 1));
        steps.extend(record.ended.map(|ended| (ended, -1)));
    }
    steps.sort_unstable();
    let mut now = 0;
    let mut peak = 0;
    for (_, step) in steps {
        now += step;
        peak = peak.max(now);
    }
    usize::try_from(peak).unwrap_or_default()
}
