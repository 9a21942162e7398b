//! Sends the notices of sessions that have ended. The alarm sends them again, three times in all. Nothing depends on them.

use std::rc::Rc;

use super::notice::{TRIES, may_tell};
use crate::adapters::web;
use crate::compose::tool_users;
use crate::limits;
use crate::storage::StoreError;
use crate::storage::outgoing::retry_after_ms;
use crate::storage::sessions::NoticeRow;
use crate::storage::turn::Reason;
use crate::thread::Thread;
use engine::toolbelt::PermissionClass;
use wire::protocol::Owner;

/// Sends what is due, without anybody waiting for it.
pub fn spawn(thread: &Rc<Thread>) {
    let thread = Rc::clone(thread);
    let sending = Rc::clone(&thread);
    thread.state.wait_until(async move { sending.send_notices().await });
}

impl Thread {
    /// Sends the notices that are due, one after another.
    pub async fn send_notices(&self) {
        if self.telling.replace(true) {
            return;
        }
        let sent = self.send_due().await;
        self.telling.set(false);
        let armed = match &sent {
            Ok(true) => self.store.arm(self.clock.now_ms()),
            _ => Ok(()),
        };
        if let Err(error) = sent.map(drop).and(armed) {
            worker::console_error!("notices of sessions: {error}");
        }
    }

    /// Returns whether there was anything to send.
    async fn send_due(&self) -> Result<bool, StoreError> {
        let mut any = false;
        while self.store.exists()?
            && let Some(owner) = self.store.meta()?.and_then(|meta| meta.thread).map(|thread| thread.owner)
            && self.store.timer(Reason::Notices)?.is_some_and(|at| at <= self.clock.now_ms())
        {
            any = true;
            let Some(NoticeRow { id, url, payload, attempts }) = self.store.next_notice()? else {
                self.store.clear_timer(Reason::Notices)?;
                break;
            };
            let sent = match self.may_tell(&owner) {
                Ok(()) => web::post(self, &owner, &url, payload.into_bytes()).await,
                Err(why) => Err(why),
            };
            // The thread may have been deleted meanwhile.
            if self.store.next_notice()?.is_none_or(|notice| notice.id != id) {
                continue;
            }
            match sent {
                Ok(()) => self.store.forget_notice(id)?,
                Err(why) if attempts.saturating_add(1) >= TRIES => {
                    self.store.forget_notice(id)?;
                    self.report("workflows", "notify", "notice_refused", &why)?;
                }
                Err(why) => {
                    worker::console_log!("a notice of a session is not taken: {why}");
                    self.store.count_notice(id)?;
                    let again_at = self.clock.now_ms() + retry_after_ms(attempts.saturating_add(1));
                    self.store.set_timer(Reason::Notices, again_at)?;
                }
            }
        }
        Ok(any)
    }

    fn may_tell(&self, owner: &Owner) -> Result<(), String> {
        let rules = self.deployment.once(|var| limits::tool_rules(var))?;
        let users = tool_users(&self.deployment).map_err(|error| error.into_detail())?;
        let may = may_tell(rules.as_ref().clone()) && users.may_have(PermissionClass::Network, owner);
        if may { Ok(()) } else { Err("the class `network` is not allowed without asking".to_owned()) }
    }
}
