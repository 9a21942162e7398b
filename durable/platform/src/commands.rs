//! The Worker's commands to a thread other than chat: details, messages, the stream, cancel, rename, delete.

use std::rc::Rc;

use worker::Response;

use crate::storage::StoreError;
use crate::storage::export_rows;
use crate::storage::outgoing::{Audited, News, Outgoing, ThreadRow};
use crate::storage::queue::QUEUE;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::Reason;
use engine::journal::{Answer, Answering, TurnStop};
use engine::turn::{Asked, Receipt, form_fault};
use wire::protocol::{
    ApiError, ApprovalList, AuditAction, Awaited, CancelStatus, Cancelled, ErrorCode, MessageList, Owner,
    SentContent, Seq, StandingApproval, Taken, ThreadDetail, ThreadSummary,
};
use wire::title::shown_title;

use super::adapters::titles;
use super::reader::{PARKED_MS, Source};
use super::respond::{json_response, no_content, not_logged, nothing_yet, stream_response};
use super::revive::{OpenTurn, on_hold};
use super::thread::Thread;

/// The most messages of a page (docs/wire-protocol.md).
const MAX_LIMIT: usize = 200;
/// The seconds after which a client that waits for a parked turn asks again. People take longer to answer. Each request
/// wakes the object, which the platform evicts in between.
const PARKED_RETRY_S: u64 = 30;
/// The same between two turns, where the next message could not start at once.
const QUEUED_RETRY_S: u64 = 2;
/// How long a deletion or a new title waits for D1, so that lists show it. The outbox tells D1 in any case.
const INDEX_MS: u64 = 2_000;

impl Thread {
    /// The thread, with the facts that its object has about it.
    pub fn detail(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        let thread = self.found(owner)?;
        let newest = self.store.newest_message()?;
        let run = self.run();
        let live = run.as_ref().and_then(|run| run.live.last_seq());
        let turn = self.store.open_turn()?;
        // Reading a thread does not rebuild a turn that does not run: a reader needs no running turn.
        let running_ms = match (&run, &turn) {
            (Some(run), _) => Some(run.turn.elapsed_ms()),
            (None, Some(turn)) => self.store.elapsed_ms(&turn.turn_id)?,
            (None, None) => None,
        };
        let detail = ThreadDetail {
            summary: ThreadSummary {
                id: thread.thread_id,
                title: shown_title(&thread.title),
                created_at: thread.created_at,
                updated_at: newest.map_or(thread.created_at, |(_, at)| at),
                pinned_at: None,
                state: turn.as_ref().and_then(|turn| turn.status.thread_state()),
                snippet: None,
            },
            current_turn_id: self.store.turn_id(self.store.ends()?.of_path)?,
            last_seq: live.max(Some(self.store.last_seq()?)).unwrap_or(0),
            running_turn_id: turn.as_ref().map(|turn| turn.turn_id.clone()),
            running_turn_first_seq: turn.map(|turn| turn.seq_first),
            running_ms,
            queued: self.store.queued()?,
            workflow_session: self.session_detail()?,
        };
        json_response(&detail)
    }

    /// A page of messages, oldest first: those on the path, or all of them. The cursor is the row of the last message of the page before.
    pub fn list_messages(
        self: &Rc<Self>,
        owner: &Owner,
        limit: u32,
        cursor: Option<&str>,
        all: bool,
    ) -> Result<Response, ApiError> {
        self.found(owner)?;
        let after = match cursor.map(str::parse::<i64>) {
            None => 0,
            Some(Ok(row)) if row >= 0 => row,
            Some(_) => return Err(ApiError::field("cursor", "this is not a cursor of this list")),
        };
        let limit = usize::try_from(limit).unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT);
        let path = self.store.path()?;
        let listed = (!all).then_some(&path);
        let page = self.store.messages(listed, after, limit)?;
        let next_cursor = match page.last() {
            Some((row, _)) if self.store.has_messages_after(listed, *row)? => Some(row.to_string()),
            _ => None,
        };
        let messages: Vec<_> = page.into_iter().map(|(_, message)| message).collect();
        let versions = self.store.versions_on(&path, &messages, all)?;
        json_response(&MessageList { messages, next_cursor, versions })
    }

    /// A page of the rows that the owner's export has of this thread, and that no other command tells.
    pub fn export(self: &Rc<Self>, owner: &Owner, cursor: Option<&str>) -> Result<Response, ApiError> {
        self.found(owner)?;
        let none = || ApiError::field("cursor", "this is not a cursor of this list");
        json_response(&self.store.export(export_rows::place(cursor).ok_or_else(none)?)?)
    }

    /// A user's message as it was sent. The running turn knows its own message; the history has those of the other
    /// turns.
    pub fn sent(self: &Rc<Self>, owner: &Owner, message_id: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        let of_open_turn = match (self.run(), self.store.open_turn()?) {
            (Some(run), _) => {
                let spec = run.turn.spec();
                (spec.user_message_id == message_id).then(|| spec.content.clone())
            }
            (None, Some(turn)) => {
                let salvaged = self.store.salvaged(&turn, &[])?;
                salvaged.content.filter(|_| salvaged.user_message_id.as_deref() == Some(message_id))
            }
            (None, None) => None,
        };
        let content = match of_open_turn {
            Some(content) => Some(content),
            None => self.store.sent_content(message_id)?,
        };
        let none =
            || ApiError::new(ErrorCode::MessageNotFound, "no user's message in this thread has this id");
        json_response(&SentContent { content: content.ok_or_else(none)? })
    }

    /// Streams the events after a number until the running turn is done. The answer is 204 where there is no newer
    /// event and no turn runs. Where the turn is parked, the 204 says when to ask again.
    pub async fn stream(self: &Rc<Self>, owner: &Owner, after: Seq) -> Result<Response, ApiError> {
        self.found(owner)?;
        self.next_has_begun().await?;
        let through = self.store.last_seq()?;
        let open = self.store.open_turn()?;
        if let Some(turn) = &open
            && let Some(live) = self.live(&turn.turn_id)?
        {
            // All events of a parked turn are stored: no model is called.
            // A turn that was answered a moment ago mostly has its place at once.
            let answered =
                |at: u64| self.clock.now_ms() < at + PARKED_MS && self.is_queued().unwrap_or(false);
            if live.parked_at().is_some_and(|at| !answered(at)) && through <= after {
                return nothing_yet(PARKED_RETRY_S);
            }
            return stream_response(self.reader(self.admit_reader()?, Source::Live(live), after));
        }
        if through > after {
            return stream_response(self.reader(self.admit_reader()?, Source::Stored { through }, after));
        }
        match open {
            Some(turn) => Err(on_hold(&turn, self.clock.now_ms())),
            // The next message waits for its turn.
            None if self.starts_next()? => nothing_yet(QUEUED_RETRY_S),
            None => no_content(),
        }
    }

    /// Whether no turn is open, and the turn of a queued message comes next.
    fn starts_next(&self) -> Result<bool, StoreError> {
        Ok(self.run().is_none()
            && self.store.has_table(QUEUE)?
            && self.store.timer(Reason::Messages)?.is_some()
            && self.store.open_turn()?.is_none())
    }

    /// Between two turns: waits until the next queued message has its turn, or was refused.
    async fn next_has_begun(self: &Rc<Self>) -> Result<(), ApiError> {
        if !self.starts_next()? {
            return Ok(());
        }
        if self.store.timer(Reason::Messages)?.is_some_and(|at| at <= self.clock.now_ms()) {
            self.start_next();
        }
        let starting = self.starting.borrow().as_ref().map(|starting| starting.over.clone());
        if let Some(over) = starting {
            // The sender is dropped, so the wait ends with an error.
            let _ = over.await;
        }
        Ok(())
    }

    /// Stops the running turn and waits for its end.
    pub async fn cancel(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        self.found(owner)?;
        let turn_id = match self.open()? {
            OpenTurn::Run(run) => {
                self.stop(&run, TurnStop::Cancelled).await?;
                Some(run.turn.spec().turn_id.clone())
            }
            OpenTurn::OnHold(held) => {
                self.abandon(&held)?;
                Some(held.turn.turn_id)
            }
            OpenTurn::None => {
                // The person wants nothing to run.
                if self.store.has_table(QUEUE)? {
                    self.store.clear_timer(Reason::Messages)?;
                }
                None
            }
        };
        json_response(&Cancelled { status: CancelStatus::default(), turn_id })
    }

    /// Answers a call that waits for a client or a person. The first answer wins; a repeated one changes nothing.
    pub fn answer(
        self: &Rc<Self>,
        owner: &Owner,
        id: &str,
        on: Awaited,
        given: Answering,
        address: Option<String>,
    ) -> Result<Response, ApiError> {
        self.found(owner)?;
        match self.hand_in(id, on, given, address)? {
            Receipt::Unknown => Err(ApiError::new(ErrorCode::NotWaiting, "no call waits for this answer")),
            receipt => json_response(&Taken { taken: receipt != Receipt::Repeated }),
        }
    }

    /// Hands an answer to the open turn, which goes on with it.
    pub fn hand_in(
        self: &Rc<Self>,
        id: &str,
        on: Awaited,
        given: Answering,
        address: Option<String>,
    ) -> Result<Receipt, ApiError> {
        let run = match self.open()? {
            OpenTurn::Run(run) => run,
            OpenTurn::OnHold(held) => return Err(on_hold(&held.turn, self.clock.now_ms())),
            OpenTurn::None => return Ok(Receipt::Unknown),
        };
        let asked = run.turn.waiting(id, on);
        let Answering { answer, reason } = given;
        if reason.is_some() && asked.as_ref().is_some_and(|asked| !matches!(asked, Asked::Call(_))) {
            return Err(ApiError::field("reason", "only the question about a call takes a reason"));
        }
        let answer = fitting(asked.as_ref(), on, answer)?;
        let for_good = answer == Answer::ApproveForThread;
        let receipt = self.store.transaction(|| {
            if let (true, Some(Asked::Call(tool))) = (for_good, &asked) {
                self.store.approve_tool(tool)?;
            }
            if asked.is_some() {
                self.queue(&run)?;
                self.keep_unlisted(false, self.clock.now_ms())?;
            }
            let audited = asked.as_ref().and_then(|asked| self.decided(asked, id, &answer, address));
            let given = Answering { answer, reason };
            let receipt = run.turn.answer(id, on, given).map_err(not_logged)?;
            if let (true, Some(audited)) = (receipt == Receipt::Taken, audited) {
                self.audit(audited)?;
            }
            Ok::<_, ApiError>(receipt)
        })?;
        match receipt {
            Receipt::Unknown | Receipt::Repeated => {}
            // A turn that runs on has more time: other turns may not take its place.
            Receipt::Taken if asked == Some(Asked::Limit) && self.is_current(&run) => self.keep_lease(&run),
            Receipt::Taken => self.go_on_in_its_place(&run),
        }
        Ok(receipt)
    }

    /// A person's decision, for the audit log. The input of a form is none.
    fn decided(&self, asked: &Asked, id: &str, answer: &Answer, address: Option<String>) -> Option<Audited> {
        let detail = match asked {
            Asked::Call(tool) => Some(tool.clone()),
            Asked::Limit => Some("limit".to_owned()),
            Asked::Review => None,
            Asked::Form(_) => return None,
        };
        let action = match answer {
            Answer::Approve | Answer::ApproveForThread => AuditAction::ApprovalGranted,
            Answer::Deny => AuditAction::ApprovalDenied,
            Answer::Result { .. } | Answer::Expired => return None,
        };
        Some(Audited { key: id.to_owned(), action, at: self.clock.now_ms(), detail, address })
    }

    /// Posts a deed for the audit log. Belongs into the transaction of the deed.
    fn audit(&self, audited: Audited) -> Result<(), StoreError> {
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(()) };
        let now = audited.at;
        self.store.post(&Outgoing::new(&thread.owner, thread.thread_id, News::Audited { audited }), now)?;
        self.store.arm(now)
    }

    /// The tools that a person allowed in this thread for good.
    pub fn approvals(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        self.found(owner)?;
        let names = self.store.rules()?.approved.into_iter();
        json_response(&ApprovalList { approvals: names.map(|name| StandingApproval { name }).collect() })
    }

    /// From the thread's next turn on a person is asked about this tool again. A running turn keeps the policy that it
    /// began with. Repeating it changes nothing.
    pub fn withdraw_approval(self: &Rc<Self>, owner: &Owner, tool: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        self.store.transaction(|| self.store.withdraw_approval(tool))?;
        no_content()
    }

    /// Gives the thread another title, and answers with its details. A turn may be running.
    pub async fn rename(self: &Rc<Self>, owner: &Owner, title: &str) -> Result<Response, ApiError> {
        let thread = self.found(owner)?;
        let updated_at = self.store.newest_message()?.map_or(thread.created_at, |(_, at)| at);
        let row =
            ThreadRow { title: title.to_owned(), created_at: thread.created_at, updated_at, state: None };
        let renamed = Outgoing::new(&thread.owner, thread.thread_id, News::Renamed { thread: row });
        self.store.transaction(|| {
            self.store.rename(title)?;
            titles::named(&self.store)?;
            let now = self.clock.now_ms();
            self.store.post(&renamed, now)?;
            self.store.arm(now)
        })?;
        self.tell_index().await;
        self.detail(owner)
    }

    /// Tells D1 the news that it has not heard, and waits for that a little.
    pub async fn tell_index(self: &Rc<Self>) {
        let thread = Rc::clone(self);
        let (done, told) = futures::channel::oneshot::channel::<()>();
        self.state.wait_until(async move {
            thread.fulfil(Reason::Outbox, false).await;
            drop(done);
        });
        futures::future::select(told, self.clock.sleep(INDEX_MS)).await;
    }

    /// The thread. Takes up its turn if the run was lost. Somebody may read the thread even if its turn cannot be taken
    /// up.
    pub fn found(self: &Rc<Self>, owner: &Owner) -> Result<ThreadMeta, ApiError> {
        let thread = self.existing(owner)?;
        if let Err(error) = self.revive() {
            worker::console_error!("taking up a turn: {error}");
        }
        Ok(thread)
    }
}

/// An answer as the question wants it. A question that is not open takes any: its first answer stands.
fn fitting(asked: Option<&Asked>, on: Awaited, answer: Answer) -> Result<Answer, ApiError> {
    match (asked, answer) {
        (Some(Asked::Form(form)), answer @ (Answer::Approve | Answer::Result { .. })) => {
            let content = match answer {
                Answer::Result { content, .. } => content,
                _ => "{}".to_owned(),
            };
            match form_fault(form, &content) {
                Some((field, problem)) => Err(ApiError::field(field, problem)),
                None => Ok(Answer::Result { content, is_error: false }),
            }
        }
        (Some(asked), Answer::ApproveForThread) => match asked {
            Asked::Call(_) => Ok(Answer::ApproveForThread),
            Asked::Limit => {
                Err(ApiError::field("decision", "a limit is raised for this turn alone: `approve` or `deny`"))
            }
            Asked::Review => {
                Err(ApiError::field("decision", "a step is reviewed each time: `approve` or `deny`"))
            }
            Asked::Form(_) => {
                Err(ApiError::field("decision", "a form is filled in each time: `approve` or `deny`"))
            }
        },
        (Some(_), Answer::Result { .. }) if on == Awaited::Approval => {
            Err(ApiError::field("content", "this question has no form"))
        }
        (_, answer) => Ok(answer),
    }
}
