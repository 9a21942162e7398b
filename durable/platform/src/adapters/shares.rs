//! The snapshot of a conversation for a share link, made of the thread's own messages: those in D1 are cut.

use std::rc::Rc;

use worker::Response;

use crate::respond::json_response;
use crate::thread::Thread;
use features::shares::Cut;
use wire::protocol::{ApiError, ErrorCode, Owner, Role, Shown};

/// The messages that are read at once.
const MESSAGES: usize = 50;

impl Thread {
    /// A snapshot of the path, or of the path to a message. It awaits no other work, so no other request changes the path
    /// meanwhile.
    pub fn snapshot(
        self: &Rc<Self>,
        owner: &Owner,
        until: Option<&str>,
        shown: Shown,
    ) -> Result<Response, ApiError> {
        let thread = self.found(owner)?;
        let unknown = || ApiError::new(ErrorCode::MessageNotFound, "no message in this thread has this id");
        let path = match until {
            None => self.store.path()?,
            Some(id) => self.store.tree()?.path(self.store.turn_of_message(id)?.ok_or_else(unknown)?),
        };
        // The title of another path would tell words that are not in the snapshot.
        let first = self.store.first_words(&path)?.unwrap_or_default();
        let title = self.retitled(&thread.title, &self.store.path()?, &first)?.unwrap_or(thread.title);
        let mut cut = Cut::new(&title, shown, self.clock.now_ms());
        let mut after = 0;
        loop {
            let page = self.store.messages(Some(&path), after, MESSAGES)?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for (_, message) in &page {
                let sent = match message.role {
                    Role::User => self.store.sent_content(&message.id)?,
                    Role::Assistant => None,
                };
                cut.add(message, sent.as_ref())?;
                if until == Some(message.id.as_str()) {
                    return json_response(&cut.end()?);
                }
            }
        }
        match until {
            None => json_response(&cut.end()?),
            // The answer of the open turn has no row yet.
            Some(_) => Err(unknown()),
        }
    }
}
