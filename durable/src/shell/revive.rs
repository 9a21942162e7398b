//! Takes up a turn whose run was lost: a crash, an eviction, a deploy. How often that may happen is the engine's to
//! say; here is only what the engine cannot see, a turn that cannot even be rebuilt.

use std::rc::Rc;

use crate::journal::{Commit, Entry, Fact, TurnEnd, TurnSpec};
use crate::model::Message;
use crate::ports::{Log, LogError, Ports};
use crate::protocol::{ApiError, CostSummary, Event, FinishReason, Role, StopNote, StoredMessage};
use crate::storage::StoreError;
use crate::storage::thread::{Reason, ThreadMeta, TurnRow};
use crate::turn::Turn;

use super::compose;
use super::live::LiveLog;
use super::log::{About, TurnLog};
use super::thread::{Run, Thread, WATCH_MS};

/// The engine gives up after 20 resumptions that it has journaled; those that fail before that end here.
const MAX_ATTEMPTS: u32 = 24;

impl Thread {
    /// Takes up the running turn if nobody in this memory runs it. Synchronous: whoever comes next finds it running.
    pub fn revive(self: &Rc<Self>) -> Result<(), ApiError> {
        if self.run().is_some() || self.idle.get() || !self.store.exists()? {
            return Ok(());
        }
        let Some(mut turn) = self.store.running_turn()? else {
            self.idle.set(true);
            return Ok(());
        };
        if self.is_queued()? {
            self.idle.set(true);
            return Ok(());
        }
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(()) };
        turn.generation += 1;
        turn.resumptions += 1;
        // Not within the transaction of the resumption: an attempt counts even if it takes the instance down.
        self.store.take_up(&turn)?;
        let now = self.clock.now_ms();
        self.store.set_timer(Reason::Turn, now + WATCH_MS)?;
        self.store.arm()?;
        if turn.resumptions > MAX_ATTEMPTS {
            return Ok(self.abandon(&thread, &turn)?);
        }
        self.resume(&thread, &turn)
    }

    fn resume(self: &Rc<Self>, thread: &ThreadMeta, turn: &TurnRow) -> Result<(), ApiError> {
        let live = Rc::new(LiveLog::new(turn.turn_id.as_str(), self.numbers()?.next()));
        let run = self.rebuilt(thread, turn, live, Turn::resume)?;
        worker::console_log!("turn {} resumed, attempt {}", turn.turn_id, turn.resumptions);
        self.keep_lease(&run);
        self.launch(&Rc::new(run));
        Ok(())
    }

    /// The run of the turn that has no end yet: the one in memory, else that of a parked turn, which does not run
    /// before something is said to it.
    pub fn run_or_parked(self: &Rc<Self>) -> Result<Option<Rc<Run>>, ApiError> {
        if let Some(run) = self.run() {
            return Ok(Some(run));
        }
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(None) };
        let Some(turn) = self.waiting_turn()? else { return Ok(None) };
        let Some(live) = self.live(&turn.turn_id)? else { return Ok(None) };
        Ok(Some(Rc::new(self.rebuilt(&thread, &turn, live, Turn::rebuild)?)))
    }

    /// The time of some of a parked turn's calls is over.
    pub fn expire(self: &Rc<Self>) -> Result<(), ApiError> {
        let Some(run) = self.run_or_parked()? else { return Ok(()) };
        let expired = self.store.transaction(|| {
            if run.turn.waits_until() <= self.clock.now_ms() {
                self.queue(&run)?;
            }
            run.turn.expire().map_err(ApiError::from)
        })?;
        match expired {
            true => self.go_on_in_its_place(&run),
            false => {
                self.store.set_timer(Reason::Parked, run.turn.waits_until())?;
                self.store.arm()?;
            }
        }
        Ok(())
    }

    fn rebuilt(
        &self,
        thread: &ThreadMeta,
        turn: &TurnRow,
        live: Rc<LiveLog>,
        rebuild: impl FnOnce(Vec<Entry>, Vec<Message>, Ports) -> Result<Rc<Turn>, LogError>,
    ) -> Result<Run, ApiError> {
        let numbers = self.numbers()?;
        let entries = self.store.entries(&turn.turn_id)?;
        let spec = spec(&entries).ok_or_else(|| StoreError("the journal has no entry 0".to_owned()))?;
        let about = About::new(thread, &turn.turn_id, turn.generation, &spec.context_type);
        let history = self.store.history(spec.history_until, compose::history_bytes(&spec.limits))?;
        let (parts, _) = compose::parts(self, &thread.owner, &thread.thread_id, &spec.policy)?;
        let reserved = numbers.reserved();
        let ports = self.ports(parts, about, &live, Rc::clone(&numbers));
        let rebuild = || rebuild(entries, history, ports).map_err(ApiError::from);
        let turn = self.store.transaction(rebuild).inspect_err(|_| numbers.set_reserved(reserved))?;
        Ok(Run { turn, live })
    }

    /// Ends a turn that cannot be rebuilt, so that the thread can go on. What it streamed stays in the log.
    fn abandon(&self, thread: &ThreadMeta, turn: &TurnRow) -> Result<(), StoreError> {
        let message = "The service lost this turn and could not take it up again. Send the message again.";
        let stop = StopNote { code: "interrupted".to_owned(), message: message.to_owned() };
        let content = self.store.user_content(&turn.turn_id)?.unwrap_or_default();
        let note = Message::Assistant {
            content: format!("[This turn was stopped: {message}]"),
            tool_calls: Vec::new(),
            raw: None,
        };
        let stored = StoredMessage {
            id: turn.assistant_message_id.clone(),
            turn_id: turn.turn_id.clone(),
            role: Role::Assistant,
            content: String::new(),
            created_at: self.clock.now_ms(),
            finish_reason: Some(FinishReason::Interrupted),
            stop: Some(stop.clone()),
            usage: Some(CostSummary::default()),
            execution_tree: None,
        };
        let done = Event::Done {
            message_id: turn.assistant_message_id.clone(),
            finish_reason: FinishReason::Interrupted,
        };
        let events = vec![
            ("error".to_owned(), Event::Error { code: stop.code, message: stop.message, retryable: true }),
            ("cost_summary".to_owned(), Event::CostSummary(CostSummary::default())),
            ("done".to_owned(), done),
        ];
        let history = vec![Message::User { content: content.into() }, note];
        let (calls, plans) = (Vec::new(), Vec::new());
        let end = Some(Box::new(TurnEnd { message: stored, history, calls, plans, used: None }));
        let numbers = self.numbers()?;
        let log = TurnLog {
            live: Rc::new(LiveLog::new(turn.turn_id.as_str(), numbers.next())),
            about: About::new(thread, &turn.turn_id, turn.generation, "thread"),
            store: Rc::clone(&self.store),
            clock: Rc::clone(&self.clock),
            numbers,
        };
        worker::console_error!("turn {} is given up after {} attempts", turn.turn_id, turn.resumptions);
        let ended = log.commit(Commit { events, end, ..Commit::default() });
        ended.map_err(|error| StoreError(format!("giving a turn up: {error:?}")))
    }
}

fn spec(entries: &[Entry]) -> Option<&TurnSpec> {
    entries.iter().find_map(|entry| match &entry.fact {
        Fact::Started(spec) => Some(spec.as_ref()),
        _ => None,
    })
}
