//! Messages that wait for their turn. A request puts them into the queue, clients list and change them, and the end of a
//! turn, or the alarm, starts the turn of the next one. `queueing.rs` has the rules.
//!
//! The transaction that starts a turn takes its message out of the queue. So a kill leaves either the message or its turn.
//!
//! `platform/src/queue.rs` keeps the messages that a person sends while a turn runs (`queued_messages`, made with the
//! first of them). A row of `timers` says that the queue goes on: without it the queue is held, or empty. The
//! transaction of a turn's end sets the row again or leaves it out (`queueing.rs`, pure), and the run's last act
//! starts the next message. The alarm does it where that memory is lost. The start is a chat request like any other
//! (`admission.rs`, `Manner::Next`): it looks again after each step that awaits, and stays in the queue when another
//! turn came first or a person held the queue.
//!
//! The readers of the open turn get the queue as an event of that turn, written beside the change. It is no event of
//! the engine: the object writes it with a key of its own. Credentials are not stored; a visitor's address is, until
//! the turn has started, because the quotas judge it then.

use std::rc::Rc;
use std::slice;

use futures::FutureExt;
use futures::channel::oneshot;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use worker::Response;

use crate::storage::StoreError;
use crate::storage::queue::{QUEUE, Queueable, QueuedRow};
use crate::storage::rows::{Fresh, QUEUE_KEY};
use crate::storage::turn::{Reason, TurnRow};
use wire::protocol::{
    ApiError, ChatCommand, ChatRequest, ErrorCode, Event, MAX_QUEUED, MAX_REMOVED, MessageQueue, Owner,
    QueuedPreview, Visitor,
};

use super::admission::Manner;
use super::admission::TurnRequest;
use super::queueing::{AfterRefusal, MAX_PAYLOAD_BYTES, after_refusal, check_events};
use super::respond::{internal, json_response, no_content};
use super::thread::{Starting, Thread};

/// The payload of a queued message.
#[derive(Serialize, Deserialize)]
struct Queued {
    request: ChatRequest,
    visitor: Option<Visitor>,
}

impl Queued {
    /// The message as a row.
    fn row<'a>(&self, id: &'a str) -> Result<Queueable<'a>, ApiError> {
        let payload = serde_json::to_string(self).map_err(|error| internal(&error))?;
        if payload.len() > MAX_PAYLOAD_BYTES {
            let detail = format!("a queued request has at most {MAX_PAYLOAD_BYTES} bytes as JSON");
            return Err(ApiError::new(ErrorCode::BodyTooLarge, detail));
        }
        let (words, attachments) = self.request.content.words_and_labels();
        Ok(Queueable { id, payload, words, attachments })
    }
}

/// The queue as an event of the open turn tells it.
pub struct QueueEvent {
    turn_id: String,
    event: Fresh,
}

impl Thread {
    /// Puts the message of a request at the end of the queue, which goes on.
    pub fn put_in_queue(self: &Rc<Self>, ask: &TurnRequest<'_>) -> Result<(), ApiError> {
        // The number counts now: newer requests may come before the message has its turn.
        let request = ChatRequest { request_seq: None, if_running: None, ..ask.chat.request.clone() };
        let id = ask.chat.turn_id.to_string();
        let message = Queued { request, visitor: ask.chat.visitor.clone() }.row(&id)?;
        let now = self.clock.now_ms();
        self.change_queue(Beyond::Refused, || {
            if let Some(request_seq) = ask.chat.request.request_seq {
                self.store.saw_request(request_seq)?;
            }
            if !self.store.put_queued(&message, MAX_QUEUED, now)? {
                let detail = format!("{MAX_QUEUED} messages wait in this thread, and there can be no more");
                return Err(ApiError::new(ErrorCode::QueueFull, detail));
            }
            Ok(self.store.let_queue_go_on(now)?)
        })
    }

    /// The messages that wait.
    pub fn list_queue(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        self.found(owner)?;
        json_response(&self.store.queue()?)
    }

    /// Holds the queue, or lets it go on.
    pub fn hold_queue(self: &Rc<Self>, owner: &Owner, held: bool) -> Result<Response, ApiError> {
        self.found(owner)?;
        if self.store.has_table(QUEUE)? {
            let beyond = if held { Beyond::Untold } else { Beyond::Refused };
            self.change_queue(beyond, || match held {
                true => Ok(self.store.clear_timer(Reason::Messages)?),
                false => Ok(self.store.let_queue_go_on(self.clock.now_ms())?),
            })?;
            self.start_next();
        }
        json_response(&self.store.queue()?)
    }

    /// Gives a queued message other words.
    pub fn edit_queued(
        self: &Rc<Self>,
        owner: &Owner,
        id: &str,
        words: String,
    ) -> Result<Response, ApiError> {
        self.found(owner)?;
        let mut queued = read(&self.waiting_message(id)?)?;
        queued.request.content = queued.request.content.with_words(words);
        // The words may be too many beside the text of its files.
        queued.request.content.check()?;
        let message = queued.row(id)?;
        self.change_queue(Beyond::Refused, || Ok(self.store.edit_queued(&message)?))?;
        json_response(&self.store.queue()?)
    }

    /// Takes a message out of the queue.
    pub fn remove_queued(self: &Rc<Self>, owner: &Owner, id: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        self.waiting_message(id)?;
        self.change_queue(Beyond::Untold, || Ok(self.store.remove_queued(id, MAX_REMOVED)?))?;
        no_content()
    }

    /// A message whose turn has not begun.
    fn waiting_message(&self, id: &str) -> Result<QueuedRow, ApiError> {
        let begun = || ApiError::new(ErrorCode::MessageBegun, "the turn of this message has begun");
        let starting = self.starting.borrow().as_ref().map(|starting| starting.turn_id.to_string());
        if starting.is_some_and(|starting| starting == id) {
            return Err(begun());
        }
        if let Some(row) = self.store.queued_message(id)? {
            return Ok(row);
        }
        let none = || ApiError::new(ErrorCode::QueuedMessageNotFound, "no queued message has this id");
        Err(if self.store.turn(id)?.is_some() { begun() } else { none() })
    }

    /// Changes the queue, and tells the readers of the open turn, in one transaction. A change that leaves the queue as it
    /// was is no news, and a turn takes [`MAX_QUEUE_EVENTS`](super::queueing::MAX_QUEUE_EVENTS).
    fn change_queue(
        self: &Rc<Self>,
        beyond: Beyond,
        change: impl FnOnce() -> Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        let numbers = self.numbers()?;
        let reserved = numbers.reserved();
        let told = self.store.transaction(|| {
            let before = self.store.queue()?;
            change()?;
            self.store.arm(self.clock.now_ms())?;
            let Some(turn) = self.store.open_turn()? else { return Ok(None) };
            if self.store.queue()? == before {
                return Ok(None);
            }
            match (check_events(self.queue_events(&turn)?), beyond) {
                (Err(_), Beyond::Untold) => return Ok(None),
                (checked, _) => checked?,
            }
            self.write_queue(turn.turn_id).map(Some).map_err(ApiError::from)
        });
        match told.inspect_err(|_| numbers.set_reserved(reserved))? {
            Some(told) => {
                if let Some((_, count)) = self.queue_told.borrow_mut().as_mut() {
                    *count += 1;
                }
                self.tell_queue(told)
            }
            None => Ok(()),
        }
    }

    /// How many events of the open turn tell the queue. Asks the storage once in this memory.
    fn queue_events(&self, turn: &TurnRow) -> Result<u64, StoreError> {
        let mut known = self.queue_told.borrow_mut();
        let count = match known.as_ref().filter(|(turn_id, _)| *turn_id == turn.turn_id) {
            Some((_, count)) => *count,
            None => self.store.queue_events(turn)?,
        };
        *known = Some((turn.turn_id.clone(), count));
        Ok(count)
    }

    /// Writes the queue as an event of a turn. Belongs into the transaction that changes the queue.
    pub fn write_queue(&self, turn_id: String) -> Result<QueueEvent, StoreError> {
        let numbers = self.numbers()?;
        if let Some(reserve) = numbers.due(1) {
            self.store.reserve(reserve)?;
            numbers.set_reserved(reserve);
        }
        let MessageQueue { held, messages } = self.store.queue()?;
        let event = Event::QueueUpdate { held, messages: messages.iter().map(QueuedPreview::from).collect() };
        let seq = numbers.draw();
        let event = Fresh::new(seq, format!("{QUEUE_KEY}{seq}"), event)?;
        self.store.insert_events(&turn_id, &[], slice::from_ref(&event))?;
        Ok(QueueEvent { turn_id, event })
    }

    /// Sends the event to the readers of its turn. Readers of a turn that is on hold find it in the storage.
    pub fn tell_queue(&self, QueueEvent { turn_id, event }: QueueEvent) -> Result<(), ApiError> {
        if let Some(live) = self.live(&turn_id)? {
            live.publish(&[event]);
        }
        Ok(())
    }

    /// Starts the turn of the next message, if the queue goes on and no turn is open. Later requests come after it.
    pub fn start_next(self: &Rc<Self>) {
        if self.starting.borrow().is_some() || self.superseding.get().is_some() {
            return;
        }
        let next = match self.next_message() {
            Ok(Some(next)) => next,
            Ok(None) => return,
            Err(error) => return worker::console_error!("the next queued message: {error}"),
        };
        let (started, over) = oneshot::channel();
        self.starting.replace(Some(Starting { turn_id: next.turn_id, over: over.shared() }));
        let thread = Rc::clone(self);
        self.state.wait_until(async move {
            if let Err(error) = thread.start_message(next).await {
                worker::console_error!("starting a queued message: {error}");
            }
            drop(started);
        });
    }

    fn next_message(&self) -> Result<Option<Next>, ApiError> {
        if !self.store.has_table(QUEUE)? || self.store.timer(Reason::Messages)?.is_none() {
            return Ok(None);
        }
        if self.store.open_turn()?.is_some() {
            return Ok(None);
        }
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(None) };
        let Some(row) = self.store.next_queued()? else { return Ok(None) };
        let id = |text: &str| Uuid::try_parse(text).map_err(|error| internal(&error));
        let (thread_id, turn_id) = (id(&thread.thread_id)?, id(&row.id)?);
        Ok(Some(Next { owner: thread.owner, thread_id, turn_id, row }))
    }

    async fn start_message(self: &Rc<Self>, next: Next) -> Result<(), ApiError> {
        let Next { owner, thread_id, turn_id, row } = next;
        let started = match read(&row) {
            Ok(Queued { request, visitor }) => {
                let (owner, chat) = (&owner, &ChatCommand::new(turn_id, request, visitor));
                let ask = TurnRequest { owner, thread_id, chat, manner: Manner::Next };
                self.started(&ask).await.map(drop)
            }
            Err(error) => Err(error),
        };
        self.starting.replace(None);
        let Err(error) = started else { return Ok(()) };
        // The thread may be deleted by now.
        if self.store.queued_message(&row.id)?.is_none() {
            return Ok(());
        }
        match after_refusal(&error, row.attempts) {
            AfterRefusal::Leave => Ok(()),
            AfterRefusal::Again { wait_ms } => {
                worker::console_log!("a queued message waits: {error}");
                let now = self.clock.now_ms();
                self.change_queue(Beyond::Untold, || {
                    Ok(self.store.put_off_queued(&row.id, row.attempts + 1, now + wait_ms)?)
                })
            }
            AfterRefusal::Fail(failure) => {
                self.change_queue(Beyond::Untold, || Ok(self.store.fail_queued(&row.id, &failure)?))
            }
        }
    }
}

/// How a change of the queue ends that comes after the most events of a turn.
#[derive(Clone, Copy)]
enum Beyond {
    Refused,
    /// It is done all the same, and the turn's readers are not told: a person can always hold the queue or take a message out
    /// of it, and the service goes on with its own work.
    Untold,
}

/// The message whose turn starts.
struct Next {
    owner: Owner,
    thread_id: Uuid,
    turn_id: Uuid,
    row: QueuedRow,
}

fn read(row: &QueuedRow) -> Result<Queued, ApiError> {
    wire::json::from_str(&row.payload).map_err(|error| internal(&format!("a queued message: {error}")))
}
