//! The start of a turn that was admitted: one synchronous transaction. Nothing here awaits, so no other request of the
//! thread runs between the look at it, the charge and the start.

use crate::ids::new_id;
use crate::storage::thread::title;
use std::rc::Rc;

use crate::sessions::working::{self, Working};
use crate::storage::StoreError;
use crate::storage::keys::Keys;
use crate::storage::outgoing::Outgoing;
use crate::storage::thread::{Rules, ThreadMeta};
use crate::storage::turn::{TurnRow, TurnStatus};
use engine::calls::answer;
use engine::journal::{History, MAIN};
use engine::ports::Ports;
use engine::profiles::Grant;
use engine::turn::Turn;
use wire::protocol::{
    ApiError, ContextKind, Dialect, ErrorCode, Role, Seq, StoredMessage, VERSIONS_RETRY_S, WorkflowDetail,
};

use super::adapters::{self, Offered, Retrieved};
use super::admission::Manner;
use super::admission::TurnRequest;
use super::agents::KeptAgents;
use super::compose;
use super::live::LiveLog;
use super::log::{About, TurnLog, Written};
use super::numbers::Numbers;
use super::respond::not_logged;
use super::thread::{Run, Thread};
use super::versions::{Standing, changed_title};

/// The things that a request gathered before its turn starts.
pub struct Before<'a> {
    /// The amount that the quotas grant the turn.
    pub grant: Grant,
    pub retrieved: &'a Retrieved,
    pub offered: &'a Offered,
}

/// The rows of a turn that is about to start.
struct Opening {
    thread: ThreadMeta,
    /// The turn makes the thread.
    is_new: bool,
    /// The thread gets another title.
    is_retitled: bool,
    /// The turn makes the thread, or its client brought the conversation before it, and the thread stands in no list.
    is_unlisted: bool,
    turn: TurnRow,
    user_message: StoredMessage,
    standing: Standing,
    /// The session on which the turn works.
    working: Option<Working>,
    /// The row of the last message that the model may see.
    history_until: i64,
    now: u64,
}

impl Thread {
    /// Starts the turn of an admitted request. `thread`: the thread as it is now; none where the turn makes it.
    pub fn start(
        self: &Rc<Self>,
        ask: &TurnRequest<'_>,
        thread: Option<ThreadMeta>,
        before: Before<'_>,
    ) -> Result<TurnRow, ApiError> {
        let numbers = self.numbers()?;
        let reserved = numbers.reserved();
        // A conversation that a client brings comes with its first turn, or not at all: nothing would find it later.
        let started = self.store.transaction(|| {
            let is_unlisted = ask.chat.unlisted && thread.is_none();
            let thread = match thread {
                None if !ask.chat.history.is_empty() => Some(self.import(ask)?),
                thread => thread,
            };
            let workflow = before.retrieved.workflow.as_deref();
            let mut opening = self.opening(ask, thread, (numbers.next(), workflow))?;
            opening.is_unlisted = is_unlisted;
            let (mut spec, parts) = compose::compose(self, &self.frame(ask, &opening, &before)?)?;
            let history = match opening.is_new {
                true => History::default(),
                false => self.history(&opening.standing.path, &mut spec)?,
            };
            let Opening { thread, turn, .. } = &opening;
            let live = Rc::new(LiveLog::new(turn.turn_id.as_str(), turn.seq_first));
            let about = About::new(thread, turn, &spec.context_type);
            let agents = KeptAgents::new(self, opening.standing.path.clone());
            let ports = self.ports((parts, agents), about, &live, Rc::clone(&numbers), Keys::default());
            let was_queued = self.write_start(ask, &opening, &before)?;
            let turn = Turn::begin(spec, history, ports).map_err(not_logged)?;
            // The readers of the new turn learn of the messages that are left.
            let told = was_queued.then(|| self.write_queue(opening.turn.turn_id.clone())).transpose()?;
            Ok::<_, ApiError>((Rc::new(Run { turn, live }), told, opening.turn))
        });
        let (run, told, turn) = started.inspect_err(|_| numbers.set_reserved(reserved))?;
        self.launch(&run);
        told.map_or(Ok(()), |told| self.tell_queue(told))?;
        Ok(turn)
    }

    /// The rows of a turn whose first event has the number `seq_first`.
    fn opening(
        &self,
        ask: &TurnRequest<'_>,
        thread: Option<ThreadMeta>,
        (seq_first, workflow): (Seq, Option<&WorkflowDetail>),
    ) -> Result<Opening, ApiError> {
        let (is_new, now) = (thread.is_none(), self.clock.now_ms());
        let content = ask.chat.request.content.text().into_owned();
        let mut thread = thread.unwrap_or_else(|| ThreadMeta {
            owner: ask.owner.clone(),
            thread_id: ask.thread_id.to_string(),
            title: title(&content),
            created_at: now,
            request_seq: None,
        });
        self.check_continuation(ask, is_new)?;
        let standing = self.standing(&ask.chat.request)?;
        let working = self.working(ask, workflow, now)?;
        let history_until = match is_new {
            true => 0,
            false => self.store.newest_message()?.map_or(0, |(row, _)| row),
        };
        let title = if is_new { None } else { changed_title(&thread.title, self, &standing, &content)? };
        let is_retitled = title.is_some();
        thread.title = title.unwrap_or(thread.title);
        let user_message = StoredMessage {
            id: new_id(now),
            turn_id: ask.chat.turn_id.to_string(),
            role: Role::User,
            content,
            created_at: now,
            finish_reason: None,
            stop: None,
            usage: None,
            execution_tree: None,
            parts: Vec::new(),
        };
        let turn = TurnRow {
            turn_id: ask.chat.turn_id.to_string(),
            status: TurnStatus::Running,
            generation: 1,
            resumptions: 0,
            assistant_message_id: new_id(now),
            seq_first,
            seq_last: None,
            failing: None,
        };
        Ok(Opening {
            thread,
            is_new,
            is_retitled,
            is_unlisted: false,
            turn,
            user_message,
            standing,
            working,
            history_until,
            now,
        })
    }

    fn frame<'a>(
        &self,
        ask: &TurnRequest<'a>,
        opening: &'a Opening,
        before: &Before<'a>,
    ) -> Result<compose::Frame<'a>, ApiError> {
        let request = &ask.chat.request;
        if request.asks_for_media() {
            // A newer version took the message, before a rollback or in a rollout. No model of texts answers in its place.
            let detail = "a rollout is under way, and this thread's version makes no media";
            return Err(ApiError::new(ErrorCode::VersionsDiffer, detail).retry_after(VERSIONS_RETRY_S));
        }
        let rules = if opening.is_new { Rules::default() } else { self.store.rules()? };
        let agents = self.agent_setting(request, &opening.standing.path, opening.is_new)?;
        let answers = agents.as_ref().is_none_or(|agents| agents.root.is_none());
        let life = match rules.has_lives && answers {
            true => Some(self.store.life(&opening.standing.path, MAIN)?).filter(|life| !life.is_empty()),
            false => None,
        };
        Ok(compose::Frame {
            owner: ask.owner,
            retrieved: before.retrieved,
            thread_id: &opening.thread.thread_id,
            model: request.model.as_deref(),
            user_message: &opening.user_message,
            content: &request.content,
            instructions: request.instructions.as_deref(),
            time_zone: request.time_zone.as_deref(),
            workspace_root: match &request.workspace {
                Some(name) => format!("{}{name}/", ask.owner.workspaces_root()),
                None => ask.owner.workspace_root(ask.thread_id),
            },
            assistant_message_id: &opening.turn.assistant_message_id,
            context: request.chat_context.as_ref(),
            mode: request.mode_profile,
            browser: request.browser_context.as_ref(),
            draft: if opening.is_new { None } else { self.store.draft(&opening.standing.path)? },
            client_tools: request.client_tools.as_deref().unwrap_or_default(),
            clients_at_once: request.client_tools_at_once == Some(true)
                && request.kind() != ContextKind::Editor,
            shape: answer::shape(request.response_schema.as_ref(), request.must_call.as_deref()),
            is_foreign: ask.chat.dialect.is_some(),
            takes_forms: ask.chat.dialect.as_ref().is_none_or(Dialect::takes_forms),
            approved: rules.approved,
            hooks: rules.hooks,
            life,
            mcp: before.offered,
            history_until: opening.history_until,
            grant: before.grant,
            replaces_message_id: request.replaces_message_id.map(|id| id.to_string()),
            agents,
            session: opening.working.as_ref().map(|working| working.in_turn()),
        })
    }

    /// Writes the rows of a turn that starts, and its alarm, and takes its message out of the queue. D1 hears of the turn at
    /// its end, or at the first alarm. Belongs into the transaction in which the engine writes its first entry. Returns
    /// whether the message was queued.
    fn write_start(
        &self,
        ask: &TurnRequest<'_>,
        opening: &Opening,
        before: &Before<'_>,
    ) -> Result<bool, StoreError> {
        let Opening { thread, turn, user_message, standing, now, .. } = opening;
        let now = *now;
        let outgoing = |news| Outgoing::new(ask.owner, thread.thread_id.as_str(), news);
        if opening.is_new {
            self.store.create(thread, turn.seq_first)?;
        }
        if let Some(request_seq) = ask.chat.request.request_seq {
            self.store.saw_request(request_seq)?;
        }
        if opening.is_retitled {
            self.store.rename(&thread.title)?;
        }
        if let Some(left) = &standing.left {
            self.post_path(thread, &self.store.moved(left, &standing.path)?, now)?;
        }
        if standing.was_chosen {
            self.store.end_path(None)?;
        }
        self.store.insert_turn(turn, standing.apart, now)?;
        if let Some(digest) = ask.chat.request_digest.as_deref() {
            self.store.keep_request_digest(&turn.turn_id, digest)?;
        }
        self.store.insert_message(turn.seq_first, user_message, None)?;
        if let Some(working) = &opening.working {
            working::begin(&self.store, working, now)?;
        }
        for news in before.offered.failures(now) {
            self.store.post(&outgoing(news), now)?;
        }
        // A version of the service that knew no queue left the mark of its turn behind.
        self.store.clear_turn_timers()?;
        self.keep_unlisted(opening.is_unlisted, now)?;
        self.store.watch(now)?;
        self.keep_instructions(before.retrieved)?;
        if let Some(failure) = &before.retrieved.failure {
            self.report("thread", "looking up what is known", "internal", failure)?;
        }
        match ask.manner {
            Manner::Refuse => Ok(false),
            Manner::Supersede | Manner::Queue | Manner::Next => self.store.take_queued(&turn.turn_id),
        }
    }

    /// Refuses to continue any turn but the one with which the path ends, and only if a limit ended it. The history of the
    /// new turn then ends with that turn.
    pub fn check_continuation(&self, ask: &TurnRequest<'_>, is_new: bool) -> Result<(), ApiError> {
        let Some(id) = ask.chat.request.continued.map(|id| id.to_string()) else { return Ok(()) };
        let refused = |detail: &str| Err(ApiError::field("continue", detail));
        if is_new || self.store.turn(&id)?.is_none() {
            return refused("there is no turn with this id in this thread");
        }
        match self.store.last_answer(&self.store.path()?)? {
            Some((last, stop)) if last == id => match stop.is_some_and(|stop| stop.is_limit()) {
                true => Ok(()),
                false => refused("no limit ended this turn, so there is nothing to continue; send a message"),
            },
            _ => refused("this is not the last turn of this conversation; send a message"),
        }
    }

    /// The ports of a run. `keys`: those that its turn has on disk.
    pub fn ports(
        &self,
        (parts, agents): (compose::Parts, KeptAgents),
        about: About,
        live: &Rc<LiveLog>,
        numbers: Rc<Numbers>,
        keys: Keys,
    ) -> Ports {
        let log = TurnLog {
            store: Rc::clone(&self.store),
            numbers,
            live: Rc::clone(live),
            clock: Rc::clone(&self.clock),
            about,
            written: Written::of(keys),
            tokens: self.tokens(),
            ending: adapters::records::ending(self),
            at_end: adapters::titles::at_end(self),
        };
        let ports = Ports {
            model: parts.model,
            tools: parts.tools,
            clock: Rc::clone(&self.clock),
            log: Rc::new(log),
            agents: Rc::new(agents),
        };
        #[cfg(feature = "faults")]
        let ports = super::faults::struck(ports, &self.state, &self.env);
        ports
    }
}
