//! A model that plays scripts.

mod clock;
mod keys;
mod thinking;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Poll;

use futures::Stream;
use futures::future::poll_fn;
use futures::stream::{self, LocalBoxStream, StreamExt};
use serde_json::{Value, json};

pub use self::clock::FakeClock;
use self::keys::{judge_key, script_key, verdict_key};
use self::thinking::thought;
use super::support::Disk;
use crate::journal::Fact;
use crate::ports::*;
use crate::profiles::{Chain, PricedModel};
use crate::turn::asker;
use wire::model::*;

/// The model's behaviour in one step of a level.
#[derive(Clone, Debug)]
pub enum Reply {
    Text(&'static str),
    /// Reasoning, then text.
    Think(&'static str, &'static str),
    /// Text that ends with this finish reason.
    Ended(&'static str, ReplyFinish),
    /// Text whose stream then hangs.
    Hang(&'static str),
    Calls(Vec<(&'static str, Value)>),
    /// Calls with text before them.
    TextAndCalls(&'static str, Vec<(&'static str, Value)>),
    /// Some text, then a failure.
    Fail(&'static str, ModelErrorKind),
    /// Some text, then the end of the stream without its terminator.
    Cut(&'static str),
    /// Failed requests, each to the model at a place of the chain, then an answer by the one at `answers_at`.
    After(Vec<(usize, ModelErrorKind)>, &'static str),
    /// The same, where the provider had accepted each request.
    AfterAccepted(Vec<(usize, ModelErrorKind)>, &'static str),
    /// An empty reply with this usage, then text.
    Empty(Option<Usage>, &'static str),
    /// A refusal while the request has messages before the level's own, then calls.
    TooLongThen(Vec<(&'static str, Value)>),
}

/// The usage of a request as its provider counts it. The number: the bytes of the reply.
pub type Tokenizer = Rc<dyn Fn(&ModelRequest, usize) -> Usage>;

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
    pub script: Script,
    pub requests: RefCell<Vec<ModelRequest>>,
    /// Calls whose stream was dropped before its end.
    pub aborted: Rc<Cell<u32>>,
    /// The place in the chain of the model that answers in [`Reply::After`].
    pub answers_at: Cell<usize>,
    /// Tokens that each call writes to the provider's cache.
    pub writes_cache: Cell<u64>,
    /// The key of each request's model call.
    pub asked_at: RefCell<Vec<String>>,
    /// Whether each reply has a message of the provider's, as thinking models send.
    pub thinks: Cell<bool>,
    /// Whether the provider reports no usage.
    pub counts_nothing: Cell<bool>,
    /// The provider's tokenizer; none: each request uses the same few tokens.
    pub tokenizer: RefCell<Option<Tokenizer>>,
    /// The turn's deadline, as the last call got it.
    pub until_ms: Cell<u64>,
    pace: Rc<Pace>,
    disk: Rc<Disk>,
}

impl ScriptedModel {
    pub fn new(script: Script, pace: Rc<Pace>, disk: Rc<Disk>) -> Self {
        ScriptedModel {
            script,
            requests: RefCell::default(),
            aborted: Rc::default(),
            answers_at: Cell::default(),
            writes_cache: Cell::default(),
            asked_at: RefCell::default(),
            thinks: Cell::default(),
            counts_nothing: Cell::default(),
            tokenizer: RefCell::default(),
            until_ms: Cell::default(),
            pace,
            disk,
        }
    }
}

/// The name in a script of the level that answers an agent's words.
const ANOTHER: &str = "answer another";

impl ScriptedModel {
    /// The scripted reply to a request, with the place of its instructions among the messages and the number of
    /// the level's step.
    fn reply(&self, request: &ModelRequest) -> (&Reply, usize, usize) {
        // An agent goes by its instructions, and goes on in its script from one round to the next.
        let prompt = request.system.trim_end_matches("\nEdited.");
        if let Some(replies) = self.script.get(prompt) {
            let step = step(&request.messages);
            return (replies.get(step).unwrap_or_else(|| replies.last().unwrap()), 0, step);
        }
        // The newest message with scripted instructions; this skips the loop's own reminders.
        let instructions = |message: &Message| match message {
            Message::User { content } => {
                let text = content.text();
                // A question that has no script of its own is the words of an agent.
                let another = if text.starts_with("<question>") { ANOTHER } else { "" };
                let by_text = [verdict_key(&text), script_key(&text), another.to_owned()];
                let mut keys = [judge_key(&request.system, &text)].into_iter().chain(by_text);
                keys.find(|text| self.script.contains_key(text))
            }
            _ => None,
        };
        let found =
            request.messages.iter().enumerate().rev().find_map(|(at, m)| Some((at, instructions(m)?)));
        let (at, content) = found.unwrap_or_else(|| panic!("no script for {:?}", request.messages));
        let step = step(&request.messages[at..]);
        let replies = &self.script[&content];
        (replies.get(step).unwrap_or_else(|| replies.last().unwrap()), at, step)
    }

    /// The report that ends an answer.
    fn ended(
        &self,
        step: usize,
        calls: &[(&'static str, Value)],
        finish: ReplyFinish,
        counted: Option<Usage>,
    ) -> Heard {
        let tool_calls: Vec<ToolCall> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| ToolCall {
                call_id: format!("p{step}.{index}"),
                name: (*name).to_owned(),
                arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
            })
            .collect();
        let cache_write_tokens = self.writes_cache.get();
        let plain = Usage { input_tokens: 10, cached_tokens: 4, output_tokens: 2, ..Usage::default() };
        let usage = match cache_write_tokens {
            0 => plain,
            // All that a provider can report.
            written => Usage {
                cache_write_tokens: written,
                cache_write_1h_tokens: written,
                service_tier: ServiceTier::Priority,
                unknown_members: 1,
                ..plain
            },
        };
        // Some providers report no usage.
        let draws = self.pace.draw().is_none_or(|drawn| drawn % 8 != 0);
        let counts = counted.is_some() || (draws && !self.counts_nothing.get());
        Heard::Events(vec![ModelEvent::Finished(Box::new(ModelReply {
            text: String::new(),
            tool_calls,
            finish,
            usage: counts.then_some(counted.unwrap_or(usage)),
            raw: self.thinks.get().then(|| thought(step)),
        }))])
    }
}

impl Model for ScriptedModel {
    // Long: an arm for each reply.
    fn call(
        &self,
        request: &ModelRequest,
        _: &Chain,
        until_ms: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>> {
        self.until_ms.set(until_ms);
        self.requests.borrow_mut().push(request.clone());
        self.asked_at.borrow_mut().push(asker());
        let started = self.disk.count(|entry| matches!(entry.fact, Fact::ModelStarted { .. }));
        assert!(self.requests.borrow().len() <= started, "a model is asked before its call is on disk");
        let (reply, at, step) = self.reply(request);
        let words = |text: &str| -> Vec<Result<Heard, ModelError>> {
            let word = |word: &str| Ok(Heard::Events(vec![ModelEvent::Text(word.to_owned())]));
            text.split_inclusive(' ').map(word).collect()
        };
        // A provider counts a request whether or not its reply comes to an end, but none that it refuses.
        let is_refused =
            matches!(reply, Reply::Fail("", _)) || (at > 0 && matches!(reply, Reply::TooLongThen(_)));
        let tokenizer = self.tokenizer.borrow().clone().filter(|_| !is_refused);
        let counted = tokenizer.map(|tokenizer| tokenizer(request, bytes_of(reply)));
        let ended = |calls: &[(&'static str, Value)], finish| Ok(self.ended(step, calls, finish, counted));
        let accepted = matches!(reply, Reply::AfterAccepted(..));
        let error = |kind| ModelError { accepted, ..ModelError::new(kind, "the provider said no") };
        let asking =
            |place, after: Option<ModelErrorKind>| Ok(Heard::Asking { place, after: after.map(error) });
        let finished = |calls: &[(&'static str, Value)]| {
            ended(calls, if calls.is_empty() { ReplyFinish::Stop } else { ReplyFinish::ToolCalls })
        };
        let mut hangs = false;
        let items = match reply {
            Reply::Text(text) => [words(text), vec![finished(&[])]].concat(),
            Reply::Think(thought, text) => {
                let thought = Ok(Heard::Events(vec![ModelEvent::Reasoning((*thought).to_owned())]));
                [vec![thought], words(text), vec![finished(&[])]].concat()
            }
            Reply::Ended(text, finish) => [words(text), vec![ended(&[], *finish)]].concat(),
            Reply::Calls(calls) => vec![finished(calls)],
            Reply::TextAndCalls(text, calls) => [words(text), vec![finished(calls)]].concat(),
            Reply::Hang(text) => {
                hangs = true;
                words(text)
            }
            Reply::Cut(text) => words(text),
            Reply::Fail(text, kind) => [words(text), vec![Err(error(*kind))]].concat(),
            Reply::TooLongThen(_) if at > 0 => vec![Err(error(ModelErrorKind::ContextTooLong))],
            Reply::TooLongThen(calls) => vec![finished(calls)],
            Reply::Empty(usage, text) => {
                let empty = ModelReply {
                    text: String::new(),
                    tool_calls: Vec::new(),
                    finish: ReplyFinish::Stop,
                    usage: counted.or(*usage),
                    raw: None,
                };
                let begun = [asking(0, None), Ok(Heard::Empty(Box::new(empty))), Ok(Heard::Answering)];
                begun.into_iter().chain(words(text)).chain([finished(&[])]).collect()
            }
            Reply::After(failures, text) | Reply::AfterAccepted(failures, text) => {
                let first = failures.first().map_or(0, |(place, _)| *place);
                let next = failures.iter().skip(1).map(|(place, _)| *place).chain([self.answers_at.get()]);
                let retries = failures.iter().zip(next).map(|((_, kind), next)| asking(next, Some(*kind)));
                let begun = [asking(first, None)].into_iter().chain(retries).chain([Ok(Heard::Answering)]);
                begun.chain(words(text)).chain([finished(&[])]).collect()
            }
        };
        let guard = AbortGuard { aborted: Rc::clone(&self.aborted), finished: Cell::new(false) };
        paced(items, hangs, guard, Rc::clone(&self.pace)).boxed_local()
    }
}

/// The bytes of a reply that was not cut.
fn bytes_of(reply: &Reply) -> usize {
    let bytes = |calls: &Vec<(&'static str, Value)>| -> usize {
        calls.iter().map(|(name, arguments)| name.len() + arguments.to_string().len()).sum()
    };
    match reply {
        Reply::Calls(calls) | Reply::TooLongThen(calls) => bytes(calls),
        Reply::TextAndCalls(text, calls) => text.len() + bytes(calls),
        Reply::Think(thought, text) => thought.len() + text.len(),
        Reply::Text(text) | Reply::Ended(text, _) | Reply::Hang(text) | Reply::Cut(text) => text.len(),
        Reply::Fail(text, _) | Reply::Empty(_, text) => text.len(),
        Reply::After(_, text) | Reply::AfterAccepted(_, text) => text.len(),
    }
}

/// A planner's reply.
pub fn planned(steps: &[(&'static str, &[&'static str])]) -> Reply {
    let step = |(id, needs): &(&str, &[&str])| json!({"id": id, "title": format!("Step {id}"), "instructions": id, "depends_on": needs});
    let steps: Vec<Value> = steps.iter().map(step).collect();
    Reply::Calls(vec![("finish_subtask", json!({"reasoning": "because", "steps": steps}))])
}

/// A call for a plan.
pub fn plan(objective: &str, mode: &str) -> (&'static str, Value) {
    ("agent_create_plan", json!({"objective": objective, "execution_mode": mode}))
}

/// The speed of models and tools. Without a seed each poll of the executor yields one item, so that parallel
/// levels take turns. With a seed the delays are random, and the same for the same seed.
pub struct Pace {
    pub clock: Rc<FakeClock>,
    state: Cell<u64>,
}

impl Pace {
    pub fn new(seed: u64) -> Self {
        Pace { clock: Rc::default(), state: Cell::new(seed) }
    }

    /// A random number (xorshift64); none without a seed.
    fn draw(&self) -> Option<u64> {
        let mut x = self.state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.state.set(x);
        Some(x).filter(|x| *x != 0)
    }

    async fn pause(&self) {
        match self.draw() {
            None => yield_once().await,
            Some(drawn) => self.clock.sleep(drawn % 40).await,
        }
    }

    /// The running time of a tool.
    pub fn tool_ms(&self) -> u64 {
        self.draw().map_or(5, |drawn| drawn % 60)
    }
}

/// The index of a level's next reply. The loop may have pruned the level's oldest rounds; the ids of its
/// calls tell how many.
fn step(own: &[Rc<Message>]) -> usize {
    own.iter().fold(0, |step, message| match &**message {
        Message::Assistant { tool_calls, .. } => {
            let told = tool_calls.first().and_then(|call| call.call_id.strip_prefix('p')?.split('.').next());
            told.map_or(step, |told| told.parse().unwrap()) + 1
        }
        _ => step,
    })
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

fn paced<T: 'static>(items: Vec<T>, hangs: bool, guard: AbortGuard, pace: Rc<Pace>) -> impl Stream<Item = T> {
    stream::unfold((items.into_iter(), guard, pace), move |(mut items, guard, pace)| async move {
        pace.pause().await;
        match items.next() {
            Some(item) => {
                guard.finished.set(items.len() == 0 && !hangs);
                Some((item, (items, guard, pace)))
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

/// A model without a price.
pub fn offer(model: &str, capabilities: Capabilities) -> PricedModel {
    let choice = ModelChoice { capabilities, ..ModelChoice::new("scripted", model) };
    PricedModel { choice: Rc::new(choice), price: None, most_tokens: None }
}
