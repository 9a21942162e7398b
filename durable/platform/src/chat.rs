//! `POST /api/chat` in the object: the request's way to its turn, whose steps `admission.rs` decides, and the stream of
//! that turn. `start.rs` starts it.

use crate::admission::TurnRequest;
use std::future::poll_fn;
use std::mem::take;
use std::rc::{Rc, Weak};

use futures::future::join;
use futures::pin_mut;
use uuid::Uuid;
use worker::Response;

use crate::storage::StoreError;
use crate::storage::digest_rows::may_repeat;
use crate::storage::queue::QUEUE;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::{Reason, TurnRow};
use engine::journal::TurnStop;
use wire::protocol::{ApiError, ChatCommand, ErrorCode, Owner};

use super::adapters::instructions::Read;
use super::admission::{Admission, Looked, Manner, Step};
use super::compose;
use super::live::LiveLog;
use super::reader::Source;
use super::respond::{accepted, stream_response};
use super::revive::{OpenTurn, on_hold};
use super::start::Before;
use super::thread::Thread;

/// The outcome of an admitted request.
pub enum Admitted {
    Turn(TurnRow),
    /// The message waits in the queue.
    Queued,
}

impl Thread {
    /// Starts a turn, or finds it, and streams it from its first event. A message that waits is answered with the queue.
    pub async fn chat(
        self: &Rc<Self>,
        owner: &Owner,
        thread_id: Uuid,
        mut chat: ChatCommand,
    ) -> Result<Response, ApiError> {
        self.check_repetition(chat.turn_id, chat.request_digest.as_deref())?;
        let manner = Manner::of(&chat.request);
        if let Some(follows) = chat.follows {
            chat.request.replaces_message_id =
                self.replaced(owner, chat.dialect.as_ref(), follows, &chat.history)?;
        }
        self.begin_with(owner, &mut chat)?;
        let ask = TurnRequest { owner, thread_id, chat: &chat, manner };
        // The request takes its reader's slot before it reserves anything.
        let slot = self.admit_reader()?;
        let answer = self.started(&ask).await;
        let waited = self.superseding.get();
        if waited.is_some_and(|(_, turn_id)| turn_id == ask.chat.turn_id) {
            self.superseding.set(None);
        }
        let Admitted::Turn(turn) = answer? else { return accepted(&self.store.queue()?) };
        let after = turn.seq_first.saturating_sub(1);
        let respond = async |reader| match ask.chat.dialect.clone() {
            None => stream_response(reader),
            Some(dialect) => self.spoken(dialect, reader, 0).await,
        };
        let Some(live) = self.live(&turn.turn_id)? else {
            let Some(through) = turn.seq_last else { return Err(on_hold(&turn, self.clock.now_ms())) };
            return respond(self.reader(slot, Source::Stored { through }, after)).await;
        };
        let reader = self.reader(slot, Source::Live(Rc::clone(&live)), after);
        match ask.chat.request.cancel_on_disconnect {
            Some(true) => respond(reader.attentive().guarded_by(StopWhenDropped::of(self, live))).await,
            _ => respond(reader).await,
        }
    }

    /// Starts the turn of the request, or finds it. Carries out the steps of an [`Admission`]. Other requests run only
    /// while a step waits: until one does the thread stays as the last look found it.
    pub async fn started(self: &Rc<Self>, ask: &TurnRequest<'_>) -> Result<Admitted, ApiError> {
        let mut admission = Admission::new(ask.manner, ask.chat.request.request_seq);
        // The lock is held until this request has its turn, or has given its grant back.
        let mut _alone = None;
        let (mut seen, mut instructions) = (Seen::default(), Read::default());
        loop {
            let done = match admission.next() {
                Step::Look => self.look(ask, &mut seen).map(|looked| admission.looked(looked)),
                Step::LookForOpen => self.open_turn_of(&mut seen).map(|open| {
                    admission.found(open.map(|turn| turn.turn_id.as_str()));
                }),
                Step::Check => self.check_request(ask, &mut seen).map(|()| admission.checked()),
                Step::Supersede(request_seq) => {
                    seen.forget();
                    self.supersede(ask, request_seq).await.map(|()| admission.superseded())
                }
                Step::Queue => self.put_in_queue(ask).map(|()| admission.queued()),
                Step::Lock => {
                    _alone = Some(seen.until(self.admitting.lock()).await);
                    admission.locked();
                    Ok(())
                }
                Step::LookUpCollections => {
                    let found = async { Ok((self.workflow(ask).await?, self.collections(ask).await?)) };
                    seen.until(found).await.map(|found| admission.asked(found))
                }
                Step::Admit => {
                    let asked = join(self.admission(ask, seen.thread.is_none()), self.instructions(ask));
                    let (granted, found) = seen.until(asked).await;
                    instructions = found;
                    granted.map(|grant| admission.granted(grant))
                }
                Step::Retrieve((workflow, asked)) => {
                    let retrieved = seen.until(self.retrieve(ask, asked)).await;
                    admission.retrieved(retrieved.with(workflow.clone(), take(&mut instructions)));
                    Ok(())
                }
                Step::Offer => {
                    let offered = seen.until(self.offered(ask.chat.request.kind(), ask.owner)).await;
                    offered.map(|offered| admission.offered(offered))
                }
                Step::Start { grant, retrieved, offered } => {
                    let before = Before { grant, retrieved, offered };
                    self.start(ask, seen.thread.take(), before).map(|turn| admission.started(turn))
                }
                Step::Release => {
                    self.release(ask).await;
                    admission.released();
                    Ok(())
                }
                Step::Answer(turn) => return Ok(Admitted::Turn(turn.clone())),
                Step::AnswerQueued => return Ok(Admitted::Queued),
                Step::Refuse(error) => return Err(error.clone()),
            };
            if let Err(error) = done {
                admission.failed(error);
            }
        }
    }

    /// The thread, with the facts for the machine, unless it is as it was at the last look. Takes up a turn whose run was
    /// lost.
    fn look(self: &Rc<Self>, ask: &TurnRequest<'_>, last: &mut Seen) -> Result<Looked, ApiError> {
        if let Some(looked) = &last.looked {
            return Ok(looked.clone());
        }
        let thread = self.owned_by(ask.owner)?;
        self.revive()?;
        let turn = match &thread {
            Some(_) => self.store.turn(&ask.chat.turn_id.to_string())?,
            None => None,
        };
        if turn.is_some() {
            self.check_repetition(ask.chat.turn_id, ask.chat.request_digest.as_deref())?;
        }
        let seen = thread.as_ref().and_then(|thread| thread.request_seq);
        let waiting = self.superseding.get().filter(|(_, turn_id)| *turn_id != ask.chat.turn_id);
        let highest_seq = seen.max(waiting.and_then(|(request_seq, _)| request_seq));
        let (is_queued, queue_goes_on) = self.look_at_queue(ask)?;
        let is_removed =
            ask.manner == Manner::Queue && self.store.was_removed(&ask.chat.turn_id.to_string())?;
        let looked = Looked { turn, highest_seq, is_queued, is_removed, queue_goes_on };
        *last = Seen { thread, looked: Some(looked.clone()), ..Seen::default() };
        Ok(looked)
    }

    /// Refuses a request whose key another request of this thread has used.
    pub fn check_repetition(&self, turn_id: Uuid, digest: Option<&str>) -> Result<(), ApiError> {
        if digest.is_none() {
            return Ok(());
        }
        match may_repeat(self.store.request_digest(&turn_id.to_string())?.as_deref(), digest) {
            true => Ok(()),
            false => Err(ApiError::new(
                ErrorCode::IdempotencyKeyReused,
                "another request came with this Idempotency-Key: send this one with a key of its own",
            )),
        }
    }

    /// Whether the message is in the queue, and whether the queue goes on. A request that names no queue asks nothing.
    fn look_at_queue(&self, ask: &TurnRequest<'_>) -> Result<(bool, bool), StoreError> {
        if !matches!(ask.manner, Manner::Queue | Manner::Next) || !self.store.has_table(QUEUE)? {
            return Ok((false, false));
        }
        let is_queued = self.store.queued_message(&ask.chat.turn_id.to_string())?.is_some();
        Ok((is_queued, self.store.timer(Reason::Messages)?.is_some()))
    }

    fn open_turn_of<'s>(&self, seen: &'s mut Seen) -> Result<Option<&'s TurnRow>, ApiError> {
        if seen.open.is_none() {
            let open = if seen.thread.is_some() { self.store.open_turn()? } else { None };
            seen.open = Some(open);
        }
        Ok(seen.open.as_ref().and_then(Option::as_ref))
    }

    /// Ends the open turn, and waits until its end is committed.
    async fn supersede(
        self: &Rc<Self>,
        ask: &TurnRequest<'_>,
        request_seq: Option<u64>,
    ) -> Result<(), ApiError> {
        self.superseding.set(Some((request_seq, ask.chat.turn_id)));
        match self.open()? {
            OpenTurn::Run(run) => self.stop(&run, TurnStop::Superseded).await,
            OpenTurn::OnHold(held) => self.abandon_for_another(&held),
            OpenTurn::None => Ok(()),
        }
    }

    /// Refuses a request that could never start a turn, because its model, the message that it names or the turn that it
    /// continues is missing, or because that message has too many versions.
    fn check_request(&self, ask: &TurnRequest<'_>, seen: &mut Seen) -> Result<(), ApiError> {
        if seen.is_checked {
            return Ok(());
        }
        compose::terms(self, &ask.chat.request, false)?;
        self.check_continuation(ask, seen.thread.is_none())?;
        self.standing(&ask.chat.request)?;
        seen.is_checked = true;
        Ok(())
    }
}

/// The thread as a request last saw it.
#[derive(Default)]
struct Seen {
    thread: Option<ThreadMeta>,
    looked: Option<Looked>,
    /// The turn that has no end yet, where it was looked for.
    open: Option<Option<TurnRow>>,
    is_checked: bool,
}

impl Seen {
    /// Awaits a step. A step that is done at once lets nothing else run, so that the thread stays as it was seen.
    async fn until<T>(&mut self, step: impl Future<Output = T>) -> T {
        pin_mut!(step);
        poll_fn(|context| {
            let polled = step.as_mut().poll(context);
            if polled.is_pending() {
                self.forget();
            }
            polled
        })
        .await
    }

    /// Forgets the findings, because the thread may have changed: the next step looks again.
    fn forget(&mut self) {
        (self.looked, self.open, self.is_checked) = (None, None, false);
    }
}

/// Stops a running turn when the reader of its response is gone. A parked turn goes on waiting, because its stream ends
/// by itself. A turn that has ended needs no stop.
pub struct StopWhenDropped(Weak<Thread>, Rc<LiveLog>);

impl StopWhenDropped {
    /// For a reader of this log.
    pub fn of(thread: &Rc<Thread>, live: Rc<LiveLog>) -> Self {
        StopWhenDropped(Rc::downgrade(thread), live)
    }
}

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let goes_on = !self.1.is_over() && self.1.parked_at().is_none();
        let Some(thread) = self.0.upgrade().filter(|_| goes_on) else { return };
        // A run that took the turn up later has its own log and its own readers.
        let Some(run) = thread.run().filter(|run| Rc::ptr_eq(&run.live, &self.1)) else { return };
        if let Err(error) = run.turn.stop(TurnStop::Cancelled) {
            worker::console_error!("stopping a turn whose reader is gone: {error:?}");
        }
    }
}
