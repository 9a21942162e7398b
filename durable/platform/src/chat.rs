//! `POST /api/chat` in the object: the request's way to its turn, whose steps `admission.rs` decides, and the stream of
//! that turn. `start.rs` starts it.

use std::rc::{Rc, Weak};

use uuid::Uuid;
use worker::Response;

use crate::storage::thread::ThreadMeta;
use crate::storage::turn::TurnRow;
use engine::journal::TurnStop;
use wire::protocol::{ApiError, ChatRequest, Owner, Visitor};

use super::admission::{Admission, Looked, Step};
use super::compose;
use super::live::LiveLog;
use super::reader::Source;
use super::respond::stream_response;
use super::revive::{OpenTurn, on_hold};
use super::start::Before;
use super::thread::Thread;

/// A chat request: its user, its thread and its turn.
pub struct Ask<'a> {
    pub owner: &'a Owner,
    pub visitor: Option<&'a Visitor>,
    pub thread_id: Uuid,
    pub turn_id: Uuid,
    pub request: &'a ChatRequest,
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

    /// Starts the turn of the request, or finds it. Carries out the steps of an [`Admission`]. Other requests run only
    /// while a step awaits: until the next such step the thread stays as the last look found it.
    async fn started(self: &Rc<Self>, ask: &Ask<'_>) -> Result<TurnRow, ApiError> {
        let mut admission = Admission::new(ask.request.request_seq);
        // The lock is held until this request has its turn, or has given back what it was granted.
        let mut _alone = None;
        // The thread and its open turn as the last look found them.
        let (mut thread, mut open) = (None, None);
        loop {
            let done = match admission.next() {
                Step::Look => self.look(ask).map(|(found, looked)| {
                    thread = found;
                    admission.looked(looked);
                }),
                Step::LookForOpen => self.open_turn_of(thread.as_ref()).map(|found| {
                    admission.found(found.as_ref().map(|turn| turn.turn_id.as_str()));
                    open = found;
                }),
                Step::Check => {
                    self.check_request(ask, thread.is_none(), open.as_ref()).map(|()| admission.checked())
                }
                Step::Supersede(request_seq) => {
                    self.supersede(ask, request_seq).await.map(|()| admission.superseded())
                }
                Step::Lock => {
                    _alone = Some(self.admitting.lock().await);
                    admission.locked();
                    Ok(())
                }
                Step::LookUpCollections => self.collections(ask).await.map(|asked| admission.asked(asked)),
                Step::Admit => {
                    self.admission(ask, thread.is_none()).await.map(|grant| admission.granted(grant))
                }
                Step::Retrieve(asked) => {
                    let retrieved = self.retrieve(ask, asked).await;
                    admission.retrieved(retrieved);
                    Ok(())
                }
                Step::Offer => {
                    let offered = self.offered(ask.request.kind(), ask.owner).await;
                    offered.map(|offered| admission.offered(offered))
                }
                Step::Start { grant, retrieved, offered } => {
                    let before = Before { grant, retrieved, offered };
                    self.start(ask, thread.take(), before).map(|turn| admission.started(turn))
                }
                Step::Release => {
                    self.release(ask).await;
                    admission.released();
                    Ok(())
                }
                Step::Answer(turn) => return Ok(turn.clone()),
                Step::Refuse(error) => return Err(error.clone()),
            };
            if let Err(error) = done {
                admission.failed(error);
            }
        }
    }

    /// The thread, with what the machine must know of it. Takes up a turn whose run was lost.
    fn look(self: &Rc<Self>, ask: &Ask<'_>) -> Result<(Option<ThreadMeta>, Looked), ApiError> {
        let thread = self.of(ask.owner)?;
        self.revive()?;
        let turn = match &thread {
            Some(_) => self.store.turn(&ask.turn_id.to_string())?,
            None => None,
        };
        let seen = thread.as_ref().and_then(|thread| thread.request_seq);
        let waiting = self.superseding.get().filter(|(_, turn_id)| *turn_id != ask.turn_id);
        let highest_seq = seen.max(waiting.map(|(request_seq, _)| request_seq));
        Ok((thread, Looked { turn, highest_seq }))
    }

    fn open_turn_of(&self, thread: Option<&ThreadMeta>) -> Result<Option<TurnRow>, ApiError> {
        match thread {
            Some(_) => Ok(self.store.open_turn()?),
            None => Ok(None),
        }
    }

    /// Ends the open turn, and waits until its end is committed.
    async fn supersede(self: &Rc<Self>, ask: &Ask<'_>, request_seq: u64) -> Result<(), ApiError> {
        self.superseding.set(Some((request_seq, ask.turn_id)));
        match self.open()? {
            OpenTurn::Run(run) => self.stop(&run, TurnStop::Superseded).await,
            OpenTurn::OnHold(held) => self.abandon(&held),
            OpenTurn::None => Ok(()),
        }
    }

    /// Refuses a request that could never start a turn, because its model or the message that it replaces is missing.
    fn check_request(&self, ask: &Ask<'_>, new: bool, open: Option<&TurnRow>) -> Result<(), ApiError> {
        compose::terms(&self.env, ask.request, false)?;
        // The answer of the open turn has no row yet.
        let replaces = ask.request.replaces_message_id.map(|id| id.to_string());
        match open.zip(replaces) {
            Some((open, id)) if open.assistant_message_id == id => Ok(()),
            _ => self.replaced(ask, new).map(drop),
        }
    }
}

/// Stops a running turn when the reader of its response is gone. A parked turn goes on waiting, because its stream ends
/// by itself. A turn that has ended needs no stop.
struct StopWhenDropped(Weak<Thread>, Rc<LiveLog>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        let Some(thread) = self.0.upgrade().filter(|_| !self.1.is_over()) else { return };
        // A run that took the turn up later has its own log and its own readers.
        let Some(run) = thread.run().filter(|run| Rc::ptr_eq(&run.live, &self.1)) else { return };
        if let Err(error) = run.turn.stop(TurnStop::Cancelled) {
            worker::console_error!("stopping a turn whose reader is gone: {error:?}");
        }
    }
}
