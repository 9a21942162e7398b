//! The routes of OpenAI's two APIs: their requests become commands to the thread's object, which answers in their form.

use dialects::openai::{self, Sent, Wants};
use engine::calls::answer as shape;
use engine::toolbelt::client;
use serde_json::Value;
use uuid::Uuid;
use wire::pace::Pace;
use wire::protocol::{
    AnswerForm, ApiError, ChatCommand, Dialect, OpenAi, OpenAiApi, Owner, ThreadCommand, ThreadEnvelope,
};

use super::foreign::{self, Asked};
use super::{chat, pauses};
use crate::body::HeldBody;
use crate::call::{Answer, Call};
use crate::models::{ModelList, configuration};
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;
use bindings::env::{AI, is_bound, var};
use worker::Date;

/// The header that names a thread, and the longest name, in bytes.
const THREAD: &str = "x-thread-id";
const MAX_THREAD: usize = 1_024;

/// `GET /v1/models`: what a request may name as its model.
pub fn models(call: &Call) -> Result<Answer, Failure> {
    let configuration =
        configuration(&|name| var(&call.env, name), is_bound(&call.env, AI), wire::time::day(call.now))?;
    let list = ModelList::of(&configuration);
    let mut models = openai::Models::default();
    models.add("espalier");
    for role in list.roles.keys() {
        models.add(role);
    }
    for model in &list.models {
        models.add(&model.id);
    }
    Ok(Reply::bytes(200, "application/json", models.list()).into())
}

/// `POST /v1/chat/completions`, `POST /v1/responses`. A turn may take minutes, so the body goes before it begins.
pub async fn answer(call: &Call, owner: Owner, body: HeldBody, api: OpenAiApi) -> Result<Answer, Failure> {
    let asked = create(call, owner, &body, api).await?;
    drop(body);
    foreign::ask(call, asked).await
}

/// A message, or answers to calls.
async fn create(call: &Call, owner: Owner, body: &[u8], api: OpenAiApi) -> Result<Asked, Failure> {
    let pauses = pauses(Date::now().as_millis());
    let pace = Pace::new(&pauses);
    // The thread's own id, or any name.
    let thread_of = |name: Option<String>| {
        let name = name.map_or_else(|| named(call), |name| Ok(Some(name)))?;
        let derived = |name: String| {
            Uuid::try_parse(&name).unwrap_or_else(|_| owner.dialect_thread(Dialect::OPENAI, &name))
        };
        Ok(name.map(derived))
    };
    let Sent { thread, wants, how, instructions, time_zone, mut ignored } =
        Sent::parse(body, api, &pace, &thread_of).await?;
    let dialect = Dialect::OpenAi(how);
    let (thread_id, command) = match wants {
        Wants::Answers { answers, place } => {
            let (turn_id, read) = (Some(place.turn.to_string()), Some(0));
            let address = call.decides_from(&answers);
            (place.thread, ThreadCommand::Speak { dialect, answers, turn_id, read, stop: false, address })
        }
        Wants::Turn { mut request, after, referred, mut history } => {
            ignored.extend(foreign::instruct(call, instructions, &mut request)?);
            client::check(request.client_tools.as_deref().unwrap_or_default()).map_err(of_tools)?;
            let (_, of_schema) = openai::shape_names(api);
            shape::check(&request).map_err(|error| error.renamed("response_schema", of_schema))?;
            chat::check_time_zone(call, &request).map_err(|error| error.renamed("time_zone", time_zone))?;
            let form = match api {
                OpenAiApi::ChatCompletions => "chat_completions",
                OpenAiApi::Responses => "responses",
            };
            let (turn_id, request_digest) = foreign::turn(call, &owner, (form, body), &pace).await?;
            let before = after.or(referred);
            let thread_id = thread.or(before.map(|place| place.thread));
            let thread_id = thread_id.unwrap_or_else(|| owner.derived_thread(turn_id));
            let unlisted = thread_id == owner.derived_thread(turn_id);
            let follows = before.filter(|place| place.thread == thread_id).map(|place| place.turn);
            if after.is_some() && follows.is_none() {
                return Err(ApiError::field("previous_response_id", "it belongs to another thread").into());
            }
            let (dialect, unanswered) = (Some(dialect), dialects::unanswered(&mut history));
            let chat = ChatCommand::new(turn_id, *request, chat::visitor(call, &owner));
            let chat =
                ChatCommand { dialect, follows, history, unanswered, unlisted, request_digest, ..chat };
            let command = ThreadCommand::Chat(Box::new(chat));
            (thread_id, command)
        }
    };
    Ok(Asked { envelope: ThreadEnvelope { owner, thread_id, command }, ignored })
}

/// `GET /v1/responses/{id}` and `POST /v1/responses/{id}/cancel`: an answer as it is now, or its events.
pub fn response(call: &Call, owner: Owner, id: &str, stop: bool) -> Result<Asked, ApiError> {
    let (place, background) = openai::response(id)?;
    let (is_stream, after) = query::response(call.query())?;
    let form = if is_stream && !stop { AnswerForm::Stream } else { AnswerForm::Now };
    let (api, segment) = (OpenAiApi::Responses, place.segment);
    let dialect = Dialect::OpenAi(OpenAi { api, form, usage: false, background, segment, after });
    let (turn_id, read, answers) = (Some(place.turn.to_string()), Some(0), Vec::new());
    let command = ThreadCommand::Speak { dialect, answers, turn_id, read, stop, address: None };
    Ok(Asked::of(ThreadEnvelope { owner, thread_id: place.thread, command }))
}

/// The thread that a header names.
fn named(call: &Call) -> Result<Option<String>, ApiError> {
    let name = call.header(THREAD).filter(|name| !name.is_empty());
    match &name {
        Some(name) if name.len() > MAX_THREAD => Err(ApiError::field(
            "X-Thread-Id",
            format!("the name of a thread has at most {MAX_THREAD} bytes"),
        )),
        _ => Ok(name),
    }
}

/// The refusal of a tool, with the member's name in this body.
fn of_tools(error: ApiError) -> ApiError {
    let error = error.renamed("client_tools", "tools");
    let tool =
        error.field.as_deref().and_then(|field| field.strip_suffix(".input_schema")).map(str::to_owned);
    match tool {
        Some(tool) => error.renamed(&format!("{tool}.input_schema"), &format!("{tool}.parameters")),
        None => error,
    }
}

/// The error that a problem is to these clients. Most libraries show its message alone, so that names the member too.
pub fn error(status: u16, problem: &Value) -> Vec<u8> {
    let member = |name: &str| problem.get(name).and_then(Value::as_str);
    let (code, detail, field) =
        (member("code").unwrap_or_default(), member("detail").unwrap_or_default(), member("field"));
    // The thread alone knows whether the model gets the functions of clients.
    let field = field.map(|field| if field == "must_call" { "tool_choice" } else { field });
    let message = field.map_or_else(|| detail.to_owned(), |field| format!("{field}: {detail}"));
    openai::error(status, code, &message, field)
}
