//! The object that keeps the accounts of one tenant. `quota::ledger` makes its decisions.

use std::cell::Cell;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use crate::clock::JsClock;
use crate::quota::{
    Admission, QuotaCommand, Verdict, admit, forget_thread, go_on, park, release, renew, reserve_upload,
    settle, settle_upload,
};
use crate::respond::{internal, json_response, no_content, problem_response};
use crate::storage::StoreError;
use crate::storage::quota::Accounts;
use crate::storage::sql::Store;
use engine::ports::Clock;
use wire::protocol::ApiError;

/// How long rows stay that have lost their meaning.
const SWEEP_MS: u64 = 86_400_000;

/// The Durable Object of a tenant's quotas. Threads' objects send it [`QuotaCommand`]s; the Worker sends those about
/// uploads.
#[durable_object(alarm)]
pub struct QuotaObject {
    state: State,
    store: Store,
    clock: JsClock,
    /// Whether the alarm is known to be set.
    armed: Cell<bool>,
}

impl DurableObject for QuotaObject {
    fn new(state: State, _env: Env) -> Self {
        QuotaObject { store: Store::new(&state), state, clock: JsClock, armed: Cell::new(false) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let body = request.text().await?;
        let answer = match wire::json::from_str(&body) {
            Ok(command) => {
                self.arm().await?;
                self.answer(command)
            }
            Err(error) => Err(internal(&format!("quota command: {error}"))),
        };
        answer.or_else(|error| problem_response(&error))
    }

    async fn alarm(&self) -> worker::Result<Response> {
        self.armed.set(false);
        if let Err(error) = self.sweep() {
            worker::console_error!("sweeping quotas: {error}");
        }
        Response::empty()
    }
}

impl QuotaObject {
    fn answer(&self, command: QuotaCommand) -> Result<Response, ApiError> {
        let now = self.clock.now_ms();
        match command {
            QuotaCommand::Admit(ask) => {
                let admission: Admission = self.change(|accounts| admit(accounts, &ask, now))?;
                json_response(&admission)
            }
            QuotaCommand::Release { turn } => {
                self.change(|accounts| release(accounts, &turn, now))?;
                no_content()
            }
            QuotaCommand::Renew { turn, lease_ms } => {
                self.change(|accounts| renew(accounts, &turn, lease_ms, now))?;
                no_content()
            }
            QuotaCommand::Park { turn, parking, wait_ms } => {
                self.change(|accounts| park(accounts, &turn, parking, wait_ms, now))?;
                no_content()
            }
            QuotaCommand::GoOn(ask) => {
                let verdict: Verdict = self.change(|accounts| go_on(accounts, &ask, now))?;
                json_response(&verdict)
            }
            QuotaCommand::ReserveUpload(ask) => {
                let verdict: Verdict = self.change(|accounts| reserve_upload(accounts, &ask, now))?;
                json_response(&verdict)
            }
            QuotaCommand::SettleUpload { key, used } => {
                self.change(|accounts| settle_upload(accounts, &key, used, now))?;
                no_content()
            }
            QuotaCommand::Settle { ended, deleted } => {
                self.change(|accounts| {
                    ended.iter().try_for_each(|ended| settle(accounts, ended, now))?;
                    deleted.iter().try_for_each(|thread| forget_thread(accounts, thread))
                })?;
                no_content()
            }
        }
    }

    /// Makes all changes of `body` or none. There is no await between reading and writing: turns are admitted one after
    /// the other.
    fn change<T>(&self, body: impl FnOnce(&mut Accounts) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.store.transaction(|| body(&mut Accounts::open(&self.store)?))
    }

    async fn arm(&self) -> worker::Result<()> {
        if !self.armed.get() && self.state.storage().get_alarm().await?.is_none() {
            self.set_alarm(self.clock.now_ms() + SWEEP_MS)?;
        }
        self.armed.set(true);
        Ok(())
    }

    /// Sets the alarm again only where rows are left: a tenant without users costs nothing.
    fn sweep(&self) -> worker::Result<()> {
        let now = self.clock.now_ms();
        let oldest = self.change(|accounts| {
            accounts.forget(now)?;
            accounts.oldest()
        });
        match oldest.map_err(|error| error.to_string())? {
            Some(oldest) => self.set_alarm(oldest.max(now + SWEEP_MS)),
            None => Ok(()),
        }
    }

    fn set_alarm(&self, at: u64) -> worker::Result<()> {
        self.store.set_alarm(at).map_err(|error| worker::Error::RustError(error.to_string()))
    }
}
