//! The message of a bookmark, read where it is whole and there at once: D1 hears of it later.

use std::rc::Rc;

use worker::Response;

use crate::respond::json_response;
use crate::thread::Thread;
use wire::protocol::{ApiError, ErrorCode, Owner};

impl Thread {
    /// The beginning of a message, of any version.
    pub fn excerpt(self: &Rc<Self>, owner: &Owner, message_id: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        let none = || ApiError::new(ErrorCode::MessageNotFound, "no message in this thread has this id");
        json_response(&self.store.excerpt(message_id)?.ok_or_else(none)?)
    }
}
