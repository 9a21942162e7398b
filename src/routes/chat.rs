//! `POST /api/chat`: checks the request and hands it to its thread's object, which answers with the stream.

use engine::calls::answer as shape;
use engine::ports::Clock;
use engine::toolbelt::client;
use platform::clock::JsClock;
use wire::protocol::{ApiError, ChatCommand, ChatRequest, Owner, ThreadCommand, ThreadEnvelope, Visitor};
use worker::console_debug;

use super::sessions;
use crate::auth::session;
use crate::call::{ADDRESS, Answer, Call};
use crate::ids::uuid_v7;
use crate::problem::Failure;

/// Starts a turn, or finds the one that an earlier request with the same `turn_id` started.
pub async fn start(call: &Call, owner: Owner, body: &[u8]) -> Result<Answer, Failure> {
    let request = ChatRequest::parse(body)?;
    client::check(request.client_tools.as_deref().unwrap_or_default())?;
    shape::check(&request)?;
    check_time_zone(call, &request)?;
    for member in request.ignored() {
        console_debug!("{member} was sent and is ignored");
    }
    let turn_id = match request.turn_id {
        Some(turn_id) => turn_id,
        None => uuid_v7(call.now).map_err(Failure::internal("drawing a turn's id"))?,
    };
    let thread_id = request.thread_id.unwrap_or_else(|| owner.derived_thread(turn_id));
    let visitor = visitor(call, &owner);
    let command = ThreadCommand::Chat(Box::new(ChatCommand::new(turn_id, request, visitor)));
    sessions::begin_turn(call, ThreadEnvelope { owner, thread_id, command }).await.map(Answer::Object)
}

/// Refuses a time zone that the platform does not know.
pub fn check_time_zone(call: &Call, request: &ChatRequest) -> Result<(), ApiError> {
    match &request.time_zone {
        Some(zone) if JsClock.utc_offset_minutes(call.now, zone).is_none() => {
            let detail = "expected a name of the IANA time zone database, such as Europe/Berlin";
            Err(ApiError::field("time_zone", detail))
        }
        _ => Ok(()),
    }
}

/// The visitor who sends a request; none for a user with a name.
pub fn visitor(call: &Call, owner: &Owner) -> Option<Visitor> {
    (owner.issuer == session::ISSUER).then(|| Visitor { address: call.header(ADDRESS) })
}
