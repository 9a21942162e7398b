//! Measures the memory of a turn while it streams: eight subtasks that say half a megabyte each in single deltas, and a
//! reader that does not read. It is alone in this file, because it counts every allocation of its process.

// A helper may fail as its test does; clippy allows that in `#[test]` functions only.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use engine::journal::{Commit, History, Setting, TurnSpec};
use engine::offer::{InContext, offered};
use engine::ports::{Agents, Clock, Heard, Log, LogError, Model, Ports, Recalled, Tool, Tools};
use engine::profiles::{Chain, ContextProfile, Limits, PricedModel};
use engine::toolbelt::ToolPolicy;
use engine::turn::{Ran, Turn};
use futures::future::{LocalBoxFuture, pending, poll_fn, ready};
use futures::stream::{LocalBoxStream, iter, once, unfold};
use futures::{FutureExt, StreamExt};
use platform::live::LiveLog;
use platform::reader::{Archive, Reader, Source};
use platform::storage::StoreError;
use platform::storage::page::{EventPage, Logged};
use platform::storage::rows::{Fresh, event_rows, journaled};
use serde_json::json;
use wire::model::{
    Message, ModelChoice, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyFinish, ToolCall, Usage,
};
use wire::protocol::{ContextKind, Event, Seq};

const SUBTASKS: usize = 8;
const DELTAS: usize = 100_000;
/// Five bytes, so that a reply is nearly as long as a reply may be (`MAX_REPLY_BYTES`).
const DELTA: &str = "word ";
const MOST: usize = 16 << 20;

/// Counts the allocated bytes, and the most that ever were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: it calls the system's allocator alone.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise holds for the system's allocator too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise holds for the system's allocator too.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The root asks for the subtasks and then says a word; each subtask says its half a megabyte.
struct Talker;

fn reply(tool_calls: Vec<ToolCall>) -> Result<Heard, ModelError> {
    let finish = if tool_calls.is_empty() { ReplyFinish::Stop } else { ReplyFinish::ToolCalls };
    let usage = Some(Usage::default());
    let reply = ModelReply { text: String::new(), tool_calls, finish, usage, raw: None };
    Ok(Heard::Events(vec![ModelEvent::Finished(Box::new(reply))]))
}

impl Model for Talker {
    fn call(
        &self,
        request: &ModelRequest,
        _: &Chain,
        _: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>> {
        let is_root = matches!(request.messages.first().map(|first| &**first), Some(Message::User { content }) if content.text() == "go");
        if is_root && request.messages.len() > 1 {
            return iter([Ok(Heard::Events(vec![ModelEvent::Text("Done.".to_owned())])), reply(Vec::new())])
                .boxed_local();
        }
        if is_root {
            let call = |index| ToolCall {
                call_id: format!("call{index}"),
                name: "run_subtask".to_owned(),
                arguments: json!({"title": "Talk", "instructions": "talk"}).to_string(),
            };
            return once(ready(reply((0..SUBTASKS).map(call).collect()))).boxed_local();
        }
        // Each delta is a read of its own, so the subtasks take turns.
        let deltas = unfold(0, |said| async move {
            let mut yielded = false;
            poll_fn(|context| {
                if std::mem::replace(&mut yielded, true) {
                    return Poll::Ready(());
                }
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            let delta = || Ok(Heard::Events(vec![ModelEvent::Text(DELTA.to_owned())]));
            (said < DELTAS).then(|| (delta(), said + 1))
        });
        deltas.chain(once(ready(reply(Vec::new())))).boxed_local()
    }
}

struct NoAgents;

impl Agents for NoAgents {
    fn recall(&self, _: &str) -> Result<Recalled, LogError> {
        Ok(Recalled::default())
    }
}

struct NoTools;

impl Tools for NoTools {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &[]
    }
}

/// Keeps nothing of a sleep, unlike the `FakeClock`, because this test counts what is kept.
struct StandsStill;

impl Clock for StandsStill {
    fn now_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, _: u64) -> LocalBoxFuture<'static, ()> {
        pending().boxed_local()
    }
}

/// Does the work of the object's log, with a storage that keeps nothing in memory.
struct Written {
    live: Rc<LiveLog>,
    next: Cell<Seq>,
    announced: Cell<usize>,
    written: Cell<usize>,
    /// The most bytes that the live log has had.
    most_live: Cell<usize>,
    ended: Cell<bool>,
}

impl Written {
    fn draw(&self) -> Seq {
        self.next.set(self.next.get() + 1);
        self.most_live.set(self.most_live.get().max(self.live.bytes()));
        self.next.get()
    }
}

impl Log for Written {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        let events = commit.events.into_iter();
        let fresh: Vec<Fresh> =
            events.map(|(key, event)| Fresh::new(self.draw(), key, event).unwrap()).collect();
        journaled(&commit.entries).unwrap();
        event_rows(&commit.texts, &fresh).unwrap();
        for text in &commit.texts {
            self.written.set(self.written.get() + text.text.len());
            self.live.settle(&text.model_call_id);
        }
        self.live.publish(&fresh);
        self.ended.set(self.ended.get() || commit.end.is_some());
        Ok(())
    }

    fn announce(&self, chunk: Event) -> Seq {
        let seq = self.draw();
        self.announced.set(self.announced.get() + 1);
        self.live.announce(seq, chunk, false).unwrap();
        seq
    }

    fn warn(&self, _text: &str) {}
}

/// An archive without a page: the reader does not read.
struct Unread;

impl Archive for Unread {
    fn page(&self, _: Seq, _: Seq) -> Result<EventPage, StoreError> {
        panic!("the reader does not read");
    }

    fn trimmed(&self, _: Seq) -> Result<Option<Logged>, StoreError> {
        panic!("the reader does not read");
    }

    fn sync(&self) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        ready(Ok(())).boxed_local()
    }
}

/// Made from its JSON, as a journal has it.
fn spec() -> TurnSpec {
    let policy = ToolPolicy::of(ContextKind::Thread);
    let profile = *ContextProfile::named("thread").unwrap();
    let in_context = InContext {
        profile,
        has_draft: false,
        agent_hooks: false,
        agents: false,
        todos: false,
        session: false,
        clients_at_once: false,
    };
    let tools = offered(&NoTools, &[], &policy, in_context);
    let mut choice = ModelChoice::new("scripted", "talker");
    choice.capabilities.tools = true;
    let limits = Limits { llm_calls: 64, ..Limits::default() };
    let spec = json!({
        "thread_id": "thread", "turn_id": "turn", "user_message_id": "user", "assistant_message_id": "assistant",
        "content": "go", "context_type": "thread", "setting": Setting::default(),
        "chain": Chain::of(PricedModel { choice: Rc::new(choice), price: None, most_tokens: None }),
        "limits": limits, "policy": policy, "tools": tools, "system": "", "history_until": 0, "created_at": 0,
    });
    serde_json::from_value(spec).unwrap()
}

#[test]
fn eight_subtasks_that_stream_and_a_silent_reader_stay_under_16_mb() {
    let live = Rc::new(LiveLog::new("turn", 1));
    let log = Rc::new(Written {
        live: Rc::clone(&live),
        next: Cell::new(0),
        announced: Cell::new(0),
        written: Cell::new(0),
        most_live: Cell::new(0),
        ended: Cell::new(false),
    });
    let clock: Rc<dyn Clock> = Rc::new(StandsStill);
    let ports = Ports {
        model: Rc::new(Talker),
        tools: Rc::new(NoTools),
        clock: Rc::clone(&clock),
        log: Rc::clone(&log) as Rc<dyn Log>,
        agents: Rc::new(NoAgents),
    };
    let turn = Turn::begin(spec(), History::default(), ports).unwrap();
    let reader =
        RefCell::new(Reader::new(Rc::new(Unread), clock, Source::Live(Rc::clone(&live)), 0).into_stream());
    assert!(reader.borrow_mut().next().now_or_never().is_some(), "the first events, and no more");

    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    assert_eq!(futures::executor::block_on(turn.run()), Ok(Ran::Ended));
    let peak = PEAK.load(Ordering::Relaxed) - before;

    println!("{} KB at most, of which {} KB in the live log", peak >> 10, log.most_live.get() >> 10);
    assert!(log.ended.get());
    assert!(log.announced.get() > SUBTASKS * DELTAS);
    assert_eq!(
        log.written.get(),
        SUBTASKS * DELTAS * DELTA.len() + "Done.".len(),
        "all of it is written, once"
    );
    assert!(peak < MOST, "{peak} bytes");
}
