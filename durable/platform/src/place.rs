//! The place of a turn among those that may run at the same time. A parked turn gives it up. Once it is answered it asks
//! for a place again, and is queued until it has one: the answer is journaled, nothing runs, and the alarm asks again.
//!
//! A queued turn is stored as running, with a mark beside it. A version of the service that knows no queue does not see
//! the mark, and takes the turn up at once.

use std::rc::Rc;

use crate::duties::driver::{After, Batch, Duty, place_ms};
use crate::quota::GoOn;
use crate::storage::StoreError;
use crate::storage::turn::{Reason, TurnRow, TurnStatus};
use wire::protocol::{ApiError, Owner};

use super::reservation::lease_ms;
use super::respond::not_logged;
use super::revive::{OpenTurn, retry_at_ms};
use super::thread::{Run, Thread};
use super::{accounts, attempts};

/// The time of the mark of a turn that was not refused yet: the year 2100, so that no alarm ever waits for it. Each refusal
/// moves it by one, and after a week of them the turn is given up.
const MARK: u64 = 4_102_444_800_000;

/// The place of the queued turn, which goes on when it has one.
pub struct Place<'t> {
    thread: &'t Rc<Thread>,
    turn_id: String,
}

impl<'t> Place<'t> {
    pub fn new(thread: &'t Rc<Thread>) -> Self {
        Place { thread, turn_id: String::new() }
    }

    /// The turn that was asked for. A request may have stopped it meanwhile. It may also have another answer, which the
    /// journal has.
    fn still_queued(&self) -> Result<Option<Rc<Run>>, StoreError> {
        let run = self.thread.queued_run().map_err(not_stored)?;
        Ok(run.filter(|run| run.turn.spec().turn_id == self.turn_id))
    }

    /// How often the turn was refused a place.
    fn refusals(&self) -> Result<u64, StoreError> {
        Ok(self.thread.store.timer(Reason::Queued)?.unwrap_or(MARK).saturating_sub(MARK))
    }
}

impl Duty for Place<'_> {
    const REASON: Reason = Reason::Turn;
    type Content = Result<(Owner, GoOn), StoreError>;

    fn next(&mut self) -> Result<Option<(Batch, Self::Content)>, StoreError> {
        let Some(run) = self.thread.queued_run().map_err(not_stored)? else { return Ok(None) };
        let Some((owner, turn)) = self.thread.limited(&run) else {
            self.thread.go_on(&run);
            return Ok(None);
        };
        self.turn_id.clone_from(&turn.turn_id);
        let asked = accounts::quotas(&self.thread.env).map_err(StoreError).map(|quotas| {
            (owner, GoOn { turn, parking: run.turn.parkings(), lease_ms: lease_ms(&run), quotas })
        });
        let attempts = u32::try_from(self.refusals()?).unwrap_or(u32::MAX);
        Ok(Some((Batch { ids: Vec::new(), attempts }, asked)))
    }

    async fn deliver(&mut self, asked: Self::Content) -> Result<(), StoreError> {
        let Thread { env, clock, .. } = self.thread.as_ref();
        let verdict = match asked {
            Ok((owner, ask)) => accounts::go_on(env, clock, &owner.tenant, ask).await,
            Err(error) => Err(error),
        };
        let verdict = verdict.inspect_err(|error| {
            worker::console_error!("asking for the place of a turn: {error}");
        });
        verdict?.map_err(|_| StoreError("no place is free".to_owned()))
    }

    fn took(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let Some(run) = self.still_queued()? else { return Ok(()) };
        if batch.attempts > 0 {
            run.turn.tell_placed().map_err(|error| not_stored(not_logged(error)))?;
        }
        self.thread.go_on(&run);
        Ok(())
    }

    fn refused(&mut self, _: &Batch, _: &StoreError) -> Result<After, StoreError> {
        let Some(run) = self.still_queued()? else { return Ok(After::Drop) };
        let refusals = self.refusals()? + 1;
        self.thread.store.set_timer(Reason::Queued, MARK + refusals)?;
        if attempts::queued_too_long(refusals) {
            if let Some(held) = self.thread.held()? {
                self.thread.abandon(&held).map_err(not_stored)?;
            }
            return Ok(After::Drop);
        }
        run.turn.tell_queued().map_err(|error| not_stored(not_logged(error)))?;
        Ok(After::Again)
    }

    fn rest(&mut self, _any: bool) -> Result<(), StoreError> {
        Ok(())
    }

    fn wait_ms(refusals: u32) -> u64 {
        place_ms(refusals.into())
    }
}

fn not_stored(error: ApiError) -> StoreError {
    StoreError(error.into_detail())
}

impl Thread {
    /// The open turn, where it does not run: it waits for somebody outside, or for its place.
    pub fn waiting_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        let Some(turn) = self.store.open_turn()? else { return Ok(None) };
        let waits = turn.status == TurnStatus::Parked || self.is_queued()?;
        Ok(Some(turn).filter(|_| waits))
    }

    /// Whether the turn that is stored as running is queued.
    pub fn is_queued(&self) -> Result<bool, StoreError> {
        Ok(self.store.timer(Reason::Queued)?.is_some())
    }

    /// Gives up the place of a turn that was parked, so that others may run. Should that fail, the place comes free
    /// with the turn's lease.
    pub fn give_up_place(self: &Rc<Self>, run: &Run) {
        let Some((owner, turn)) = self.limited(run) else { return };
        let wait_ms = run.turn.waits_until().saturating_sub(self.clock.now_ms());
        let parked = (turn, run.turn.parkings(), wait_ms);
        let thread = Rc::clone(self);
        self.state.wait_until(async move {
            if let Err(error) = accounts::park(&thread.env, &thread.clock, &owner.tenant, parked).await {
                worker::console_error!("giving up the place of a parked turn: {error}");
            }
        });
    }

    /// Queues a parked turn that is about to be answered. Belongs into the transaction of the answer, so that no restart
    /// in between takes the turn up without a place.
    pub fn queue(&self, run: &Rc<Run>) -> Result<(), StoreError> {
        if self.is_current(run) || self.is_queued()? || self.limited(run).is_none() {
            return Ok(());
        }
        self.store.set_timer(Reason::Queued, MARK)
    }

    /// Goes on with a parked turn that was answered: at once where nothing is limited.
    pub fn go_on_in_its_place(self: &Rc<Self>, run: &Rc<Run>) {
        if self.is_current(run) {
            return;
        }
        match self.is_queued() {
            Ok(false) => self.go_on(run),
            Ok(true) => {
                // A client that reads on at once finds the turn running, unless its place takes long.
                run.live.park(self.clock.now_ms());
                self.begin(Reason::Turn, true);
            }
            // The alarm asks again.
            Err(error) => worker::console_error!("going on with a turn: {error}"),
        }
    }

    /// The object could not go on with the queued turn. From here on it counts as a turn whose run was lost, and its
    /// attempts count.
    pub fn lose_place(&self) {
        self.leave_queue();
        self.idle.set(false);
    }

    fn queued_run(self: &Rc<Self>) -> Result<Option<Rc<Run>>, ApiError> {
        if self.run().is_some() || !self.is_queued()? {
            return Ok(None);
        }
        match self.open()? {
            OpenTurn::Run(run) => Ok(Some(run)),
            OpenTurn::OnHold(held) => {
                self.store.set_timer(Reason::Turn, retry_at_ms(&held.turn))?;
                self.store.arm(self.clock.now_ms())?;
                Ok(None)
            }
            OpenTurn::None => Ok(None),
        }
    }

    /// The turn is no longer queued: the alarm watches over its run as over any.
    pub fn leave_queue(&self) {
        let left = self.store.transaction(|| {
            if self.is_queued()? {
                self.store.clear_turn_timers()?;
                self.store.watch(self.clock.now_ms())?;
            }
            Ok::<_, StoreError>(())
        });
        if let Err(error) = left {
            worker::console_error!("a turn leaves the queue: {error}");
        }
    }
}
