//! The routes of the AI SDK: its requests become commands to the thread's object, which answers in the SDK's own form.

use dialects::ai_sdk::{MAX_CHAT_ID, Sent, Wants};
use engine::calls::answer as shape;
use engine::toolbelt::client;
use percent_encoding::percent_decode_str;
use wire::pace::{BYTE_READ, Pace};
use wire::protocol::{ApiError, ChatCommand, Dialect, ErrorCode, Owner, ThreadCommand, ThreadEnvelope};

use super::foreign::{self, Asked};
use super::{chat, pauses};
use crate::body::HeldBody;
use crate::call::{Answer, Call};
use crate::ids::uuid_v7;
use crate::problem::Failure;
use worker::Date;

const DIALECT: Dialect = Dialect::AiSdk;

/// `POST /api/ai-sdk/chat`. A turn may take minutes, so the body goes before it begins.
pub async fn answer(call: &Call, owner: Owner, body: HeldBody) -> Result<Answer, Failure> {
    let asked = chat(call, owner, &body).await?;
    drop(body);
    foreign::ask(call, asked).await
}

/// A message, a message in place of another one, or answers to calls.
async fn chat(call: &Call, owner: Owner, body: &[u8]) -> Result<Asked, Failure> {
    let pauses = pauses(Date::now().as_millis());
    let pace = Pace::new(&pauses);
    let Sent { chat_id, wants, instructions } = Sent::parse(body, &pace).await?;
    let thread_id = owner.dialect_thread(DIALECT.as_str(), &chat_id);
    let mut ignored = Vec::new();
    let command = match wants {
        Wants::Answers { answers, read } => {
            let (turn_id, read) = read.unzip();
            let address = call.decides_from(&answers);
            ThreadCommand::Speak { dialect: DIALECT, answers, turn_id, read, stop: false, address }
        }
        Wants::Turn { mut request, same, follows, mut history } => {
            ignored.extend(foreign::instruct(call, instructions, &mut request)?);
            client::check(request.client_tools.as_deref().unwrap_or_default()).map_err(of_tools)?;
            shape::check(&request)?;
            chat::check_time_zone(call, &request)?;
            let turn_id = match same {
                Some((id, message)) => {
                    pace.before(message.len().saturating_mul(BYTE_READ)).await?;
                    owner.dialect_turn(thread_id, &id, &message)
                }
                None => uuid_v7(call.now).map_err(Failure::internal("drawing a turn's id"))?,
            };
            let visitor = chat::visitor(call, &owner);
            let (dialect, unanswered) = (Some(DIALECT), dialects::unanswered(&mut history));
            let chat = ChatCommand::new(turn_id, *request, visitor);
            ThreadCommand::Chat(Box::new(ChatCommand { dialect, follows, history, unanswered, ..chat }))
        }
    };
    Ok(Asked { envelope: ThreadEnvelope { owner, thread_id, command }, ignored })
}

/// A command to the thread of a chat that a path names.
pub fn ask(owner: Owner, chat: &str, command: ThreadCommand) -> Result<Asked, ApiError> {
    let none = || ApiError::new(ErrorCode::ThreadNotFound, "there is no thread with this id");
    let chat = percent_decode_str(chat).decode_utf8().ok().filter(|chat| chat.len() <= MAX_CHAT_ID);
    let thread_id = owner.dialect_thread(DIALECT.as_str(), &chat.ok_or_else(none)?);
    Ok(Asked::of(ThreadEnvelope { owner, thread_id, command }))
}

/// `GET /api/ai-sdk/chat/{chat}/stream`: the running turn from its start.
pub fn replay() -> ThreadCommand {
    let (answers, address) = (Vec::new(), None);
    ThreadCommand::Speak { dialect: DIALECT, answers, turn_id: None, read: None, stop: false, address }
}

/// The refusal of a tool, with the member's name in this body.
fn of_tools(error: ApiError) -> ApiError {
    error.renamed("client_tools", "tools")
}
