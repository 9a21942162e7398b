//! The deletion of a thread.

use std::rc::Rc;

use serde::Serialize;
use uuid::Uuid;
use worker::Response;

use crate::storage::StoreError;
use crate::storage::outgoing::{Audited, DELETED_AGAIN_MS, News, Outgoing};
use crate::storage::thread::ThreadMeta;
use engine::journal::TurnStop;
use wire::protocol::{ApiError, AuditAction, Owner};

use super::adapters::titles;
use super::idle::Use;
use super::respond::{json_response, no_content};
use super::revive::OpenTurn;
use super::thread::Thread;

/// By whom a thread is deleted.
#[derive(Debug)]
pub enum DeletedBy {
    Person {
        /// The HMAC of their address.
        address: Option<String>,
    },
    /// The service: its time is over.
    Service,
    /// The erasure of its owner's data, which leaves one entry for all threads. The usage that D1 has not heard of goes
    /// with it.
    Erasure,
}

impl DeletedBy {
    /// The deed of a person, for the audit log.
    fn audited(self, at: u64) -> Option<Audited> {
        let (action, key) = (AuditAction::ThreadDeleted, String::new());
        match self {
            DeletedBy::Person { address } => Some(Audited { key, action, at, detail: None, address }),
            DeletedBy::Service | DeletedBy::Erasure => None,
        }
    }
}

/// The answer for a thread that is in use.
#[derive(Serialize)]
struct Kept {
    kept: bool,
}

impl Thread {
    /// Deletes the thread for the erasure of its owner's data. A thread that was deleted before may still have usage that
    /// D1 has not heard of.
    pub async fn erase_all(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        if self.store.meta()?.is_some() {
            let now = self.clock.now_ms();
            self.store.transaction(|| self.store.forget_spent(now))?;
        }
        self.delete(owner, DeletedBy::Erasure).await
    }

    /// Deletes the thread if nobody has used it since a time. D1 may lag behind, so the object decides, and not the
    /// row by which the thread was found.
    pub async fn delete_unused(
        self: &Rc<Self>,
        owner: &Owner,
        unused_since: u64,
    ) -> Result<Response, ApiError> {
        let thread = self.existing(owner)?;
        let used = Use { has_open_turn: self.store.open_turn()?.is_some(), at: self.used_at(&thread)? };
        if !used.is_over(unused_since) {
            return json_response(&Kept { kept: true });
        }
        self.delete(owner, DeletedBy::Service).await
    }

    /// When somebody last used a thread: its newest message, or the newest step of its workflow session.
    fn used_at(&self, thread: &ThreadMeta) -> Result<u64, StoreError> {
        let message = self.store.newest_message()?.map_or(thread.created_at, |(_, at)| at);
        Ok(self.store.session()?.map_or(message, |session| session.updated_at.max(message)))
    }

    /// Deletes the thread for ever. It deletes the rows and fences the runs, the outbox says only that the thread was
    /// deleted, and the id stays taken. So no part of the thread comes back.
    pub async fn delete(self: &Rc<Self>, owner: &Owner, by: DeletedBy) -> Result<Response, ApiError> {
        let mut thread = self.found(owner)?;
        loop {
            let ended = match self.open() {
                Ok(OpenTurn::None) => break,
                Ok(OpenTurn::Run(run)) => {
                    let stopped = self.stop(&run, TurnStop::Cancelled).await;
                    stopped.inspect_err(|_| run.live.close())
                }
                Ok(OpenTurn::OnHold(held)) => self.abandon(&held),
                Err(error) => Err(error),
            };
            if let Err(error) = ended {
                // A thread whose turn does not end can still be deleted: from here on the turn's run writes nothing.
                worker::console_error!("deleting a thread whose turn does not end: {error}");
                break;
            }
            thread = self.existing(owner)?;
        }
        self.release_readers();
        self.bury(thread, by)?;
        self.tell_index().await;
        no_content()
    }

    fn bury(&self, thread: ThreadMeta, by: DeletedBy) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        let erased = matches!(by, DeletedBy::Erasure);
        self.store.transaction(|| {
            let id = Uuid::try_parse(&thread.thread_id).ok();
            let workspace_root = id.map(|id| thread.owner.workspace_root(id));
            let records_root = id.map(|id| thread.owner.records_root(id));
            let deleted = News::ThreadDeleted { workspace_root, records_root };
            let lost = if erased { None } else { titles::lost(&self.store, &thread, now)? };
            let audited = by.audited(now).map(|audited| {
                Outgoing::new(&thread.owner, thread.thread_id.as_str(), News::Audited { audited })
            });
            let deleted = Outgoing::new(&thread.owner, thread.thread_id, deleted);
            let lasting = self.store.lasting_news(erased)?;
            let newest = self.store.newest_news()?;
            self.store.bury(now)?;
            for outgoing in lasting.iter().chain(&lost).chain(&audited).chain([&deleted]) {
                self.store.post(outgoing, now)?;
            }
            self.store.post(&deleted, now + DELETED_AGAIN_MS)?;
            self.store.forget_news(newest)?;
            self.store.arm(now)
        })
    }
}
