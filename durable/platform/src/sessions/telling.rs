//! Sends the notices of sessions that have ended. The alarm sends them again, three times in all. Nothing depends on them.

use std::rc::Rc;

use super::notice::{TRIES, may_tell};
use crate::adapters::web;
use crate::compose::tool_users;
use crate::duties::driver::{After, Batch, Duty};
use crate::limits;
use crate::storage::StoreError;
use crate::storage::sessions::NoticeRow;
use crate::storage::turn::Reason;
use crate::thread::Thread;
use engine::toolbelt::PermissionClass;
use wire::protocol::Owner;

/// The notices that are to be sent.
pub struct Notices<'t> {
    thread: &'t Rc<Thread>,
    id: u64,
}

impl<'t> Notices<'t> {
    pub fn new(thread: &'t Rc<Thread>) -> Self {
        Notices { thread, id: 0 }
    }
}

impl Duty for Notices<'_> {
    const REASON: Reason = Reason::Notices;
    type Content = (Owner, NoticeRow);

    fn next(&mut self) -> Result<Option<(Batch, Self::Content)>, StoreError> {
        let (store, now) = (&self.thread.store, self.thread.clock.now_ms());
        if store.timer(Reason::Notices)?.is_none_or(|at| at > now) {
            return Ok(None);
        }
        let owner = store.meta()?.and_then(|meta| meta.thread).map(|thread| thread.owner);
        let Some(found) = owner.zip(store.next_notice()?) else {
            store.clear_timer(Reason::Notices)?;
            return Ok(None);
        };
        self.id = found.1.id;
        Ok(Some((Batch { ids: vec![self.id], attempts: found.1.attempts }, found)))
    }

    async fn deliver(&mut self, (owner, notice): Self::Content) -> Result<(), StoreError> {
        let sent = match self.thread.may_tell(&owner) {
            Ok(()) => web::post(self.thread, &owner, &notice.url, notice.payload.into_bytes()).await,
            Err(why) => Err(why),
        };
        sent.map_err(StoreError)
    }

    fn took(&mut self, _: &Batch) -> Result<(), StoreError> {
        self.thread.store.forget_notice(self.id)
    }

    fn refused(&mut self, batch: &Batch, StoreError(why): &StoreError) -> Result<After, StoreError> {
        if batch.attempts.saturating_add(1) >= TRIES {
            self.thread.store.forget_notice(self.id)?;
            self.thread.report("workflows", "notify", "notice_refused", why)?;
            return Ok(After::Drop);
        }
        worker::console_log!("a notice of a session is not taken: {why}");
        self.thread.store.count_notice(self.id)?;
        Ok(After::Again)
    }

    fn rest(&mut self, any: bool) -> Result<(), StoreError> {
        if any { self.thread.store.arm(self.thread.clock.now_ms()) } else { Ok(()) }
    }
}

impl Thread {
    fn may_tell(&self, owner: &Owner) -> Result<(), String> {
        let rules = self.deployment.once(|var| limits::tool_rules(var))?;
        let users = tool_users(&self.deployment).map_err(|error| error.into_detail())?;
        let may = may_tell(rules.as_ref().clone()) && users.may_have(PermissionClass::Network, owner);
        if may { Ok(()) } else { Err("the class `network` is not allowed without asking".to_owned()) }
    }
}
