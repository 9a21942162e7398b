//! A thread in memory: its storage, its numbers, the turn that runs.
//!
//! Memory can be lost at any moment, so the object rebuilds all of it from the storage. No borrow of it is held across
//! an await, or while the object calls code that could come back here.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::{Either, LocalBoxFuture, Shared, join_all, select};
use futures::lock::Mutex;
use futures::{FutureExt, pin_mut};
use uuid::Uuid;
use worker::{Env, State};

use crate::storage::page::{EventPage, Logged};
use crate::storage::schema::NEWEST_READ;
use crate::storage::sql::Store;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::Reason;
use crate::storage::{Failing, StoreError};
use engine::journal::TurnStop;
use engine::ports::{Clock, LogError};
use engine::turn::{Ran, Turn};
use wire::protocol::{ApiError, ErrorCode, Owner, Seq};

use super::adapters::known_instructions::Known;
use super::clock::JsClock;
use super::deployment::Deployment;
use super::duties::driver::Duties;
use super::live::LiveLog;
use super::model::Connections;
use super::numbers::Numbers;
use super::reader::{Archive, MAX_READERS, Reader, ReaderSlot, Readers, Source};
use super::respond::internal;
use super::respond::not_logged;

/// How long a request that stopped a turn waits for its end. The engine ends a stopped turn without awaiting anything,
/// so this time passes only when the storage refuses.
const END_MS: u64 = 10_000;
/// The seconds after which a client that found no slot among the readers asks again. The heartbeat, which finds out
/// that a client is gone, comes every 15 s.
const READERS_RETRY_S: u64 = 15;
/// When an object asks again that cannot work at all, because its tables are newer than the code, or cannot be brought
/// up to date. A rollback takes minutes at least.
pub const PUT_OFF_MS: u64 = 60_000;

/// One thread.
pub struct Thread {
    pub state: State,
    pub env: Env,
    /// The configuration that all objects of the isolate share.
    pub deployment: Rc<Deployment>,
    pub store: Rc<Store>,
    pub clock: Rc<dyn Clock>,
    /// The way to the providers.
    pub connections: Connections,
    numbers: OnceCell<Rc<Numbers>>,
    run: RefCell<Option<Rc<Run>>>,
    /// The log at which the readers of a parked turn wait, which has no run.
    parked: RefCell<Option<Rc<LiveLog>>>,
    readers: Readers,
    /// No turn is stored as running, or its run is in this memory and has not failed.
    pub idle: Cell<bool>,
    /// An attempt to take up the open turn that the alarm has counted and no code has made yet: the failures that the
    /// turn's row has now, and those that it had before.
    pub announced: Cell<Option<(Failing, Option<Failing>)>>,
    /// The newest request that waits for the turn that it supersedes to end, and its `request_seq`.
    pub superseding: Cell<Option<(Option<u64>, Uuid)>>,
    /// The queued message whose turn is about to start.
    pub starting: RefCell<Option<Starting>>,
    /// How many events of a turn tell the queue, and the turn; none where this memory has not counted them.
    pub queue_told: RefCell<Option<(String, u64)>>,
    /// Held by the request that asks for a turn to be admitted, until that turn has started.
    pub admitting: Mutex<()>,
    /// The deliveries that are under way, and how often each side has refused.
    pub duties: Duties,
    /// The custom instructions that this memory read last.
    pub known_instructions: Known,
}

/// A queued message whose turn is about to start.
pub struct Starting {
    pub turn_id: Uuid,
    /// Completes when the turn has started, or was refused.
    pub over: Shared<oneshot::Receiver<()>>,
}

/// The run of a turn, in this memory.
pub struct Run {
    pub turn: Rc<Turn>,
    pub live: Rc<LiveLog>,
}

impl Thread {
    /// The thread of an object. Reads nothing.
    pub fn new(state: State, env: Env) -> Rc<Self> {
        let store = Rc::new(Store::new(&state));
        Rc::new(Thread {
            state,
            deployment: Deployment::of(&env),
            env,
            store,
            clock: Rc::new(JsClock),
            connections: Connections::default(),
            numbers: OnceCell::new(),
            run: RefCell::new(None),
            parked: RefCell::new(None),
            readers: Readers::default(),
            idle: Cell::new(false),
            announced: Cell::new(None),
            superseding: Cell::new(None),
            starting: RefCell::new(None),
            queue_told: RefCell::new(None),
            admitting: Mutex::new(()),
            duties: Duties::default(),
            known_instructions: Known::default(),
        })
    }

    /// Brings the tables up to date at the first touch in this memory. Refuses a thread that newer code has written to.
    pub fn up_to_date(&self) -> Result<(), ApiError> {
        let Some(version) = self.store.newer_version()? else { return Ok(()) };
        let detail = format!(
            "its tables have version {version}, and this version of the service reads up to {NEWEST_READ}"
        );
        Err(ApiError::new(ErrorCode::ObjectTooNew, detail).retry_after(PUT_OFF_MS / 1_000))
    }

    /// The thread, if it is this owner's; none where the object was never written to. A deleted thread and another
    /// owner's thread are not found, in any request.
    pub fn owned_by(&self, owner: &Owner) -> Result<Option<ThreadMeta>, ApiError> {
        let Some(meta) = self.store.meta()? else { return Ok(None) };
        match meta.thread {
            Some(thread) if thread.owner == *owner => Ok(Some(thread)),
            _ => Err(not_found()),
        }
    }

    /// The thread, which must be there.
    pub fn existing(&self, owner: &Owner) -> Result<ThreadMeta, ApiError> {
        self.owned_by(owner)?.ok_or_else(not_found)
    }

    /// The numbers of the thread's events.
    pub fn numbers(&self) -> Result<Rc<Numbers>, StoreError> {
        if let Some(numbers) = self.numbers.get() {
            return Ok(Rc::clone(numbers));
        }
        let reserved = self.store.meta()?.map_or(1, |meta| meta.seq_reserved);
        Ok(Rc::clone(self.numbers.get_or_init(|| Rc::new(Numbers::after(reserved)))))
    }

    /// The run that is going on in this memory.
    pub fn run(&self) -> Option<Rc<Run>> {
        self.run.borrow().as_ref().filter(|run| !run.live.is_over()).cloned()
    }

    /// Lets a run go on by itself: no request waits for it, and closing a connection does not stop it.
    pub fn launch(self: &Rc<Self>, run: &Rc<Run>) {
        // The former run is dropped after the borrow: its turn may be long over, but its future still exists.
        let _before = self.run.replace(Some(Rc::clone(run)));
        self.parked.replace(None);
        run.live.go_on();
        self.idle.set(true);
        let (thread, run) = (Rc::clone(self), Rc::clone(run));
        self.state.wait_until(async move {
            match run.turn.run().await {
                Ok(Ran::Ended) => run.live.close(),
                // Its readers stay for a moment: a client may answer at once.
                Ok(Ran::Parked) => {
                    run.live.park(thread.clock.now_ms());
                    drop(thread.parked.replace(Some(Rc::clone(&run.live))));
                    thread.give_up_place(&run);
                }
                Err(error) => {
                    // The alarm or the next request resumes the turn from its journal.
                    worker::console_error!("the run of {} ended: {error:?}", run.turn.spec().turn_id);
                    thread.idle.set(false);
                    run.live.close();
                    if let Err(error) = thread.store.watch(thread.clock.now_ms()) {
                        worker::console_error!("no alarm: {error}");
                    }
                }
            }
            thread.forget(&run);
            if thread.store.next_is_due.take() {
                thread.start_next();
            }
            if thread.store.title_is_wished.take() {
                thread.begin(Reason::Title, true);
            }
            let told = [Reason::Outbox, Reason::Records, Reason::Notices];
            join_all(told.map(|reason| thread.fulfil(reason, false))).await;
        });
    }

    fn forget(&self, run: &Rc<Run>) {
        let mut current = self.run.borrow_mut();
        if current.as_ref().is_some_and(|current| Rc::ptr_eq(current, run)) {
            let gone = current.take();
            drop(current);
            drop(gone);
        }
    }

    /// Where the readers of the turn that has no end yet wait.
    pub fn live(&self, turn_id: &str) -> Result<Option<Rc<LiveLog>>, StoreError> {
        if let Some(run) = self.run().filter(|run| run.turn.spec().turn_id == turn_id) {
            return Ok(Some(Rc::clone(&run.live)));
        }
        if self.waiting_turn()?.is_none_or(|turn| turn.turn_id != turn_id) {
            return Ok(None);
        }
        let next = self.numbers()?.next();
        let mut parked = self.parked.borrow_mut();
        let live = parked.get_or_insert_with(|| {
            let live = LiveLog::new(turn_id, next);
            // The turn was parked long ago, in an earlier life of the object.
            live.park(0);
            Rc::new(live)
        });
        Ok(Some(Rc::clone(live)))
    }

    /// Sends the readers of a parked turn away: they have nothing left to wait for.
    pub fn release_readers(&self) {
        let waiting = self.parked.take();
        if let Some(live) = waiting {
            live.close();
        }
    }

    /// Whether this is the run that is going on in this memory.
    pub fn is_current(&self, run: &Rc<Run>) -> bool {
        self.run().is_some_and(|current| Rc::ptr_eq(&current, run))
    }

    /// Goes on at once with a parked turn: it was stopped, so that only its end is left, or it has its place.
    pub fn go_on(self: &Rc<Self>, run: &Rc<Run>) {
        if !self.is_current(run) {
            self.leave_queue();
            self.launch(run);
        }
    }

    /// Stops a run, also that of a parked turn, and waits until its end is committed.
    pub async fn stop(self: &Rc<Self>, run: &Rc<Run>, why: TurnStop) -> Result<(), ApiError> {
        match run.turn.stop(why) {
            Ok(()) | Err(LogError::Fenced) => {}
            Err(error) => return Err(not_logged(error)),
        }
        self.go_on(run);
        let over = run.live.over();
        pin_mut!(over);
        match select(over, self.clock.sleep(END_MS)).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(internal(&"a stopped turn did not end")),
        }
    }

    /// A slot for one more reader of this thread's log.
    pub fn admit_reader(&self) -> Result<ReaderSlot, ApiError> {
        self.readers.admit().ok_or_else(|| {
            let detail =
                format!("{MAX_READERS} streams of this thread are open, and there can be no more; close one");
            ApiError::new(ErrorCode::TooManyStreams, detail).retry_after(READERS_RETRY_S)
        })
    }

    /// A reader of this thread's log.
    pub fn reader(&self, slot: ReaderSlot, source: Source, after: Seq) -> Reader {
        let archive = Rc::new(StoredLog(Rc::clone(&self.store)));
        Reader::new(archive, Rc::clone(&self.clock), source, after).guarded_by(slot)
    }
}

/// The answer for a thread that this owner does not have.
pub fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ThreadNotFound, "there is no thread with this id")
}

/// The stored log as readers see it.
struct StoredLog(Rc<Store>);

impl Archive for StoredLog {
    fn page(&self, after: Seq, before: Seq) -> Result<EventPage, StoreError> {
        self.0.event_page(after, before)
    }

    fn trimmed(&self, after: Seq) -> Result<Option<Logged>, StoreError> {
        self.0.trimmed_after(after)
    }

    fn sync(&self) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        let store = Rc::clone(&self.0);
        async move { store.sync().await }.boxed_local()
    }
}
