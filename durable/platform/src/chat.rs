//! `POST /api/chat` in the object: whether a turn starts, and its start, which is one synchronous transaction.

use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

use futures::lock::MutexGuard;
use uuid::{NoContext, Timestamp, Uuid};
use worker::Response;

use crate::storage::outgoing::{DELETED_AGAIN_MS, News, Outgoing, ThreadRow};
use crate::storage::thread::{Reason, ThreadMeta, TurnRow, TurnStatus};
use engine::journal::TurnStop;
use engine::ports::Ports;
use engine::profiles::Grant;
use engine::turn::Turn;
use wire::protocol::{ApiError, ChatRequest, ErrorCode, Owner, Role, StoredMessage, Visitor};

use super::compose;
use super::live::LiveLog;
use super::log::{About, TurnLog};
use super::mcp::{self, Offered}; // feature: mcp
use super::reader::Source;
use super::respond::{not_logged, stream_response};
use super::retrieval::Retrieved; // feature: knowledge
use super::revive::{OpenTurn, on_hold};
use super::thread::{Run, Thread, WATCH_MS};

/// The longest title, in characters: it is the beginning of the first message.
const TITLE_CHARS: usize = 80;
/// The title of a thread whose first message says nothing.
const UNTITLED: &str = "New chat";

/// Who asks, where, for which turn.
pub struct Ask<'a> {
    pub owner: &'a Owner,
    pub visitor: Option<&'a Visitor>,
    pub thread_id: Uuid,
    pub turn_id: Uuid,
    pub request: &'a ChatRequest,
}

/// What was asked for before the turn starts.
struct Before<'a> {
    offered: &'a Offered,     // feature: mcp
    retrieved: &'a Retrieved, // feature: knowledge
}

/// The most messages that one request may take the place of: their ids go through the outbox in one row.
const MAX_REPLACED: usize = 1_000;

/// A request on its way to its turn.
#[derive(Default)]
struct Admitting<'a> {
    /// No other request of the thread is admitted meanwhile.
    alone: Option<MutexGuard<'a, ()>>,
    /// What the turn's quotas let it have, once they were asked.
    grant: Option<Grant>,
}

/// The end of a conversation that a new turn takes the place of.
struct Replaced {
    /// The first row of it.
    from: i64,
    ids: Vec<String>,
}

impl Thread {
    /// Starts a turn, or finds it, and streams it from its first event.
    pub async fn chat(self: &Rc<Self>, ask: Ask<'_>) -> Result<Response, ApiError> {
        // Before anything is reserved.
        let place = self.admit_reader()?;
        let answer = self.started(&ask).await;
        let waited = self.superseding.get();
        if waited.is_some_and(|(_, turn_id)| turn_id == ask.turn_id) {
            self.superseding.set(None);
        }
        let turn = answer?;
        let after = turn.seq_first.saturating_sub(1);
        let Some(live) = self.live(&turn.turn_id)? else {
            let Some(through) = turn.seq_last else { return Err(on_hold(&turn, self.clock.now_ms())) };
            return stream_response(self.reader(place, Source::Stored { through }, after));
        };
        let reader = self.reader(place, Source::Live(Rc::clone(&live)), after);
        match ask.request.cancel_on_disconnect {
            Some(true) => stream_response(reader.guarded_by(StopWhenDropped(Rc::downgrade(self), live))),
            _ => stream_response(reader),
        }
    }

    /// The turn, which may have run before. One that was admitted and did not start gives back what it had reserved while
    /// no other request of this thread can be admitted, a retry of this one included.
    async fn started(self: &Rc<Self>, ask: &Ask<'_>) -> Result<TurnRow, ApiError> {
        let mut admitting = Admitting::default();
        let started = self.admitted_and_started(ask, &mut admitting).await;
        if started.is_err() && admitting.grant.is_some() {
            self.release(ask).await;
        }
        started
    }

    /// All checks are made again after each wait.
    async fn admitted_and_started<'a>(
        self: &'a Rc<Self>,
        ask: &Ask<'_>,
        admitting: &mut Admitting<'a>,
    ) -> Result<TurnRow, ApiError> {
        let (mut asked, mut found) = (None, None); // feature: knowledge
        let mut offered = None; // feature: mcp
        loop {
            let thread = self.of(ask.owner)?;
            self.revive()?;
            if thread.is_some()
                && let Some(turn) = self.store.turn(&ask.turn_id.to_string())?
            {
                return Ok(turn);
            }
            self.check_order(ask, thread.as_ref())?;
            let open = if thread.is_some() { self.store.open_turn()? } else { None };
            if let Some(open) = open.as_ref().filter(|_| ask.request.request_seq.is_none()) {
                let detail = format!("the turn {} is running", open.turn_id);
                return Err(ApiError::new(ErrorCode::TurnInProgress, detail));
            }
            // Before it costs anything, and before it stops a turn.
            if admitting.grant.is_none() {
                self.check_request(ask, thread.is_none(), open.as_ref())?;
            }
            let Some(request_seq) = ask.request.request_seq.filter(|_| open.is_some()) else {
                // From admission to start one request at a time: of those that come together, one is charged.
                if admitting.alone.is_none() {
                    admitting.alone = Some(self.admitting.lock().await);
                    continue;
                }
                // feature: knowledge
                // Before it is charged: a collection that is not there refuses the request.
                let Some(asked) = &asked else {
                    asked = Some(self.collections(ask).await?);
                    continue;
                };
                // end
                let Some(grant) = admitting.grant else {
                    admitting.grant = Some(self.admission(ask, thread.is_none()).await?);
                    continue;
                };
                // feature: knowledge
                // Embedding a question costs money, so the request is charged first.
                let Some(retrieved) = &found else {
                    found = Some(self.retrieve(ask, asked).await);
                    continue;
                };
                // end
                // feature: mcp
                let Some(offered) = &offered else {
                    offered = Some(self.offered(ask.request.kind(), ask.owner).await?);
                    continue;
                };
                // end
                let before = Before {
                    offered,   // feature: mcp
                    retrieved, // feature: knowledge
                };
                return self.start(ask, thread, grant, before);
            };
            self.superseding.set(Some((request_seq, ask.turn_id)));
            match self.open()? {
                OpenTurn::Run(run) => self.stop(&run, TurnStop::Superseded).await?,
                OpenTurn::OnHold(held) => self.abandon(&held)?,
                OpenTurn::None => {}
            }
        }
    }

    /// Refuses a request that could never start a turn: its model, or the message that it replaces, is not there.
    fn check_request(&self, ask: &Ask<'_>, new: bool, open: Option<&TurnRow>) -> Result<(), ApiError> {
        compose::terms(&self.env, ask.request, false)?;
        // The answer that is being made has no row yet.
        let replaces = ask.request.replaces_message_id.map(|id| id.to_string());
        match open.zip(replaces) {
            Some((open, id)) if open.assistant_message_id == id => Ok(()),
            _ => self.replaced(ask, new).map(drop),
        }
    }

    /// Refuses a request that is older than one that was seen, be it answered or still waiting to start.
    fn check_order(&self, ask: &Ask<'_>, thread: Option<&ThreadMeta>) -> Result<(), ApiError> {
        let Some(request_seq) = ask.request.request_seq else { return Ok(()) };
        let seen = thread.and_then(|thread| thread.request_seq);
        let waiting = self.superseding.get().filter(|(_, turn_id)| *turn_id != ask.turn_id);
        let highest = seen.max(waiting.map(|(request_seq, _)| request_seq));
        match highest {
            Some(highest) if request_seq <= highest => {
                let detail = format!("request_seq must be greater than {highest}");
                Err(ApiError::new(ErrorCode::StaleRequestSeq, detail))
            }
            _ => Ok(()),
        }
    }

    fn start(
        self: &Rc<Self>,
        ask: &Ask<'_>,
        thread: Option<ThreadMeta>,
        grant: Grant,
        before: Before<'_>,
    ) -> Result<TurnRow, ApiError> {
        let now = self.clock.now_ms();
        let numbers = self.numbers()?;
        let new = thread.is_none();
        let content = ask.request.content.text().into_owned();
        let mut thread = thread.unwrap_or_else(|| ThreadMeta {
            owner: ask.owner.clone(),
            thread_id: ask.thread_id.to_string(),
            title: title(&content),
            created_at: now,
            request_seq: None,
        });
        let replaced = self.replaced(ask, new)?;
        let history_until = match &replaced {
            Some(replaced) => replaced.from - 1,
            None if new => 0,
            None => self.store.newest_message()?.map_or(0, |(row, _)| row),
        };
        if let Some(replaced) = &replaced
            && let Some((row, words)) = self.store.first_words()?
            && (row, &thread.title) == (replaced.from, &title(&words))
        {
            // It was never renamed: it is the beginning of the first message, whatever that is.
            thread.title = title(&content);
        }
        let user_message = StoredMessage {
            id: new_id(now),
            turn_id: ask.turn_id.to_string(),
            role: Role::User,
            content,
            created_at: now,
            finish_reason: None,
            stop: None,
            usage: None,
            execution_tree: None,
        };
        let turn = TurnRow {
            turn_id: ask.turn_id.to_string(),
            status: TurnStatus::Running,
            generation: 1,
            resumptions: 0,
            assistant_message_id: new_id(now),
            seq_first: numbers.next(),
            seq_last: None,
            failing: None,
        };
        let frame = compose::Frame {
            owner: ask.owner,
            retrieved: before.retrieved, // feature: knowledge
            thread_id: &thread.thread_id,
            model: ask.request.model.as_deref(),
            user_message: &user_message,
            content: &ask.request.content,
            workspace_root: match &ask.request.workspace {
                Some(name) => format!("{}{name}/", ask.owner.workspaces_root()),
                None => ask.owner.workspace_root(ask.thread_id),
            },
            assistant_message_id: &turn.assistant_message_id,
            context: ask.request.chat_context.as_ref(),
            mode: ask.request.mode_profile,
            browser: ask.request.browser_context.as_ref(),
            draft: if new {
                None
            } else {
                self.store.draft(replaced.as_ref().map(|replaced| replaced.from))?
            },
            client_tools: ask.request.client_tools.as_deref().unwrap_or_default(),
            approved: if new { BTreeSet::new() } else { self.store.approved_tools()? },
            mcp: before.offered, // feature: mcp
            history_until,
            grant,
            replaces_message_id: ask.request.replaces_message_id.map(|id| id.to_string()),
        };
        let (spec, parts) = compose::compose(self, &frame)?;
        let history = match new {
            true => Vec::new(),
            false => self.store.history(history_until, compose::history_bytes(&spec.limits))?,
        };
        let live = Rc::new(LiveLog::new(turn.turn_id.as_str(), turn.seq_first));
        let about = About::new(&thread, &turn.turn_id, turn.generation, &spec.context_type);
        let reserved = numbers.reserved();
        let ports = self.ports(parts, about, &live, Rc::clone(&numbers));
        let row = ThreadRow { title: thread.title.clone(), created_at: thread.created_at, updated_at: now };
        let news = News::TurnStarted { thread: row, message: user_message.clone() };
        let engine = self.store.transaction(|| {
            if new {
                self.store.create(&thread, turn.seq_first)?;
            }
            if let Some(request_seq) = ask.request.request_seq {
                self.store.saw_request(request_seq)?;
            }
            if let Some(Replaced { from, ids }) = replaced {
                self.store.cut_messages(from)?;
                self.store.rename(&thread.title)?;
                let replaced =
                    Outgoing::new(ask.owner, thread.thread_id.as_str(), News::MessagesReplaced { ids });
                self.store.post(&replaced, now)?;
                self.store.post(&replaced, now + DELETED_AGAIN_MS)?;
            }
            self.store.insert_turn(&turn, now)?;
            self.store.insert_message(&user_message, None)?;
            let news = std::iter::once(news);
            let news = news.chain(mcp::failures(&before.offered.listed.missing, now)); // feature: mcp
            for news in news {
                self.store.post(&Outgoing::new(ask.owner, thread.thread_id.as_str(), news), now)?;
            }
            self.store.set_timer(Reason::Turn, now + WATCH_MS)?;
            // A version that knows no queue leaves the mark of its turn behind.
            self.store.clear_timer(Reason::Queued)?;
            self.store.hasten_timer(Reason::Outbox, now + WATCH_MS)?;
            self.store.arm()?;
            // feature: knowledge
            if let Some(failure) = &before.retrieved.failure {
                self.report("thread", "looking up what is known", "internal", failure)?;
            }
            // end
            Turn::begin(spec, history, ports).map_err(not_logged)
        });
        let engine = engine.inspect_err(|_| numbers.set_reserved(reserved))?;
        let run = Rc::new(Run { turn: engine, live });
        self.launch(&run);
        Ok(turn)
    }

    /// What `replaces_message_id` takes away: the turn of that message, and all that came after it.
    fn replaced(&self, ask: &Ask<'_>, new: bool) -> Result<Option<Replaced>, ApiError> {
        let Some(id) = ask.request.replaces_message_id else { return Ok(None) };
        let refused = |detail: String| ApiError::field("replaces_message_id", detail);
        let messages = match new {
            true => Vec::new(),
            false => self.store.messages_from_turn_of(&id.to_string(), MAX_REPLACED + 1)?,
        };
        let Some((from, _)) = messages.first() else {
            return Err(refused("there is no message with this id in this thread".to_owned()));
        };
        if messages.len() > MAX_REPLACED {
            return Err(refused(format!("more than {MAX_REPLACED} messages would be replaced")));
        }
        Ok(Some(Replaced { from: *from, ids: messages.into_iter().map(|(_, id)| id).collect() }))
    }

    /// The ports of a run.
    pub fn ports(
        &self,
        parts: compose::Parts,
        about: About,
        live: &Rc<LiveLog>,
        numbers: Rc<super::numbers::Numbers>,
    ) -> Ports {
        let log = TurnLog {
            store: Rc::clone(&self.store),
            numbers,
            live: Rc::clone(live),
            clock: Rc::clone(&self.clock),
            about,
        };
        let ports = Ports {
            model: parts.model,
            tools: parts.tools,
            clock: Rc::clone(&self.clock),
            log: Rc::new(log),
        };
        #[cfg(feature = "faults")]
        let ports = super::faults::struck(ports, &self.state, &self.env);
        ports
    }
}

/// Stops the turn when the response's reader is gone while it runs. The stream of a parked turn ends by itself, so a
/// parked turn goes on waiting. Where it ended before, there is nothing to stop.
struct StopWhenDropped(Weak<Thread>, Rc<LiveLog>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let Some(thread) = self.0.upgrade().filter(|_| !self.1.is_over()) else { return };
        // A run that took the turn up later has a log of its own, and readers of its own.
        let Some(run) = thread.run().filter(|run| Rc::ptr_eq(&run.live, &self.1)) else { return };
        if let Err(error) = run.turn.stop(TurnStop::Cancelled) {
            worker::console_error!("stopping a turn whose reader is gone: {error:?}");
        }
    }
}

fn title(content: &str) -> String {
    let title: String = content.trim().chars().take(TITLE_CHARS).collect();
    if title.is_empty() { UNTITLED.to_owned() } else { title }
}

/// A UUIDv7: it sorts by its time.
fn new_id(now_ms: u64) -> String {
    let nanoseconds = u32::try_from(now_ms % 1_000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(NoContext, now_ms / 1_000, nanoseconds)).to_string()
}
