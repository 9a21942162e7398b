//! The place of a turn among those that may run at the same time. A parked turn gives it up. Once it is answered it asks
//! for a place again, and is queued until it has one: the answer is journaled, nothing runs, and the alarm asks again.
//!
//! A queued turn is stored as running, with a mark beside it. A version of the service that knows no queue does not see
//! the mark, and takes the turn up at once.

use std::rc::Rc;

use crate::quota::{GoOn, back_off_ms};
use crate::storage::StoreError;
use crate::storage::turn::{Reason, TurnRow, TurnStatus};
use wire::protocol::ApiError;

use super::reservation::lease_ms;
use super::respond::not_logged;
use super::revive::{OpenTurn, retry_at_ms};
use super::thread::{Run, Thread};
use super::{accounts, attempts};

/// The time of the mark of a turn that was not refused yet: the year 2100, so that no alarm ever waits for it. Each refusal
/// moves it by one, and after a week of them the turn is given up.
const MARK: u64 = 4_102_444_800_000;

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
                self.ask_for_place();
            }
            // The alarm asks again.
            Err(error) => worker::console_error!("going on with a turn: {error}"),
        }
    }

    /// Asks for the place of the queued turn, which then goes on, or asks again later.
    pub fn ask_for_place(self: &Rc<Self>) {
        if self.asking.replace(true) {
            return;
        }
        let thread = Rc::clone(self);
        self.state.wait_until(async move {
            let asked = thread.asked_for_place().await;
            thread.asking.set(false);
            if let Err(error) = asked {
                // From here on it counts as a turn whose run was lost, and its attempts count.
                worker::console_error!("going on with a queued turn: {error}");
                thread.leave_queue();
                thread.idle.set(false);
            }
        });
    }

    async fn asked_for_place(self: &Rc<Self>) -> Result<(), ApiError> {
        let Some(run) = self.queued_run()? else { return Ok(()) };
        let Some((owner, turn)) = self.limited(&run) else {
            self.go_on(&run);
            return Ok(());
        };
        let turn_id = turn.turn_id.clone();
        let asked = match accounts::quotas(&self.env) {
            Err(error) => Err(StoreError(error)),
            Ok(quotas) => {
                let ask = GoOn { turn, parking: run.turn.parkings(), lease_ms: lease_ms(&run), quotas };
                accounts::go_on(&self.env, &self.clock, &owner.tenant, ask).await
            }
        };
        drop(run);
        // A request may have stopped it meanwhile. It may also have another answer, which the journal has.
        let Some(run) = self.queued_run()?.filter(|run| run.turn.spec().turn_id == turn_id) else {
            return Ok(());
        };
        let refusals = self.store.timer(Reason::Queued)?.unwrap_or(MARK).saturating_sub(MARK);
        if let Ok(Ok(())) = asked {
            if refusals > 0 {
                run.turn.tell_placed().map_err(not_logged)?;
            }
            self.go_on(&run);
            return Ok(());
        }
        if let Err(error) = asked {
            worker::console_error!("asking for the place of a turn: {error}");
        }
        let refusals = refusals + 1;
        self.store.transaction(|| {
            self.store.set_timer(Reason::Queued, MARK + refusals)?;
            let now = self.clock.now_ms();
            self.store.set_timer(Reason::Turn, now + back_off_ms(refusals))?;
            self.store.arm(now)
        })?;
        if attempts::queued_too_long(refusals) {
            return self.held()?.map_or(Ok(()), |held| self.abandon(&held));
        }
        run.turn.tell_queued().map_err(not_logged)
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
