//! `chat`, and the tasks that it may be: commands to a thread's object, which answers in the protocol's form.

use dialects::mcp::{self, Request};
use serde_json::{Map, Value, to_vec};
use uuid::Uuid;
use wire::pace::Pace;
use wire::protocol::{
    AnswerForm, ApiError, ChatCommand, ChatRequest, Dialect, McpGives, McpReply, Owner, ThreadCommand,
    ThreadEnvelope,
};
use worker::Date;

use super::{RouteAnswer, complete, error, invalid, member, read_answer, refused};
use crate::auth::scope::Scope;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::routes::credentials::Caller;
use crate::routes::{chat, foreign, object, pauses, sessions};

/// The request of `chat` to the thread's object, or an answer that needs none.
enum Asked {
    Of(Uuid, ThreadCommand),
    Answered(Answer),
}

/// `chat`: starts a turn, or goes on with the one that `requestState` names.
pub async fn converse(
    call: &Call,
    owner: Owner,
    request: &Request,
    arguments: &Map<String, Value>,
) -> Result<Answer, Failure> {
    let Some(message) = arguments.get("message").and_then(Value::as_str) else {
        return Ok(complete(request, &refused(&ApiError::field("message", "must be a text"))));
    };
    let accepts_events = call.header("accept").is_some_and(|accepted| accepted.contains("text/event-stream"));
    let (gives, form) = match (request.abilities().tasks, accepts_events) {
        (true, _) => (McpGives::NewTask, AnswerForm::Now),
        (false, true) => (McpGives::Answer, AnswerForm::Stream),
        (false, false) => (McpGives::Answer, AnswerForm::Whole),
    };
    let reply = reply(call, request, gives, form);
    let state = request.params.get("requestState").filter(|state| !state.is_null());
    let asked = match (state, request.params.contains_key("inputResponses")) {
        (Some(state), _) => goes_on(call, &owner, request, (message, state), reply),
        (None, true) => {
            Asked::Answered(invalid(request, "inputResponses needs the requestState of the question"))
        }
        (None, false) => begins(call, &owner, request, (message, arguments), reply).await?,
    };
    let (thread_id, command) = match asked {
        Asked::Of(thread_id, command) => (thread_id, command),
        Asked::Answered(answer) => return Ok(answer),
    };
    let response = sessions::begin_turn(call, ThreadEnvelope { owner, thread_id, command }).await?;
    if response.ok() {
        return Ok(Answer::Object(response));
    }
    let RouteAnswer { status, media_type, body } = read_answer(Answer::Object(response)).await?;
    Ok(complete(request, &mcp::tool_result(status, &media_type, &body, "")))
}

/// The rest of the turn that a state names, with a person's decisions.
fn goes_on(
    call: &Call,
    owner: &Owner,
    request: &Request,
    (message, state): (&str, &Value),
    mut reply: McpReply,
) -> Asked {
    let refused = |why: &str| Asked::Answered(invalid(request, why));
    let place = call.settings.turn_states.as_ref().zip(state.as_str());
    let place = place.and_then(|(states, state)| states.read(state, owner, message, call.now));
    let Some((thread_id, turn_id)) = place else {
        return refused("requestState is not valid for this message, or over");
    };
    let responses = request.params.get("inputResponses");
    let (answers, is_open) = match responses.map_or_else(|| Ok((Vec::new(), false)), mcp::decisions) {
        Ok(decisions) => decisions,
        Err(why) => return refused(&why),
    };
    // Somebody who dismissed a question is not asked it again at once.
    reply.state = state.as_str().filter(|_| !is_open).map(str::to_owned);
    let (turn_id, read, stop) = (Some(turn_id.to_string()), Some(0), false);
    let address = call.decides_from(&answers);
    Asked::Of(thread_id, ThreadCommand::Speak { dialect: of(reply), answers, turn_id, read, stop, address })
}

/// A new turn.
async fn begins(
    call: &Call,
    owner: &Owner,
    request: &Request,
    (message, arguments): (&str, &Map<String, Value>),
    mut reply: McpReply,
) -> Result<Asked, Failure> {
    let body = mcp::chat(message, arguments.get("thread_id"), reply.stops);
    let chat = match ChatRequest::parse(&body) {
        Ok(chat) => chat,
        Err(refusal) => {
            let refusal = refused(&refusal.renamed("content", "message"));
            return Ok(Asked::Answered(complete(request, &refusal)));
        }
    };
    let pauses = pauses(Date::now().as_millis());
    // The id of a repeated call is another one, so its arguments alone tell it from others.
    let sent = to_vec(arguments).map_err(Failure::internal("writing the arguments of a call"))?;
    let (turn_id, request_digest) = foreign::turn(call, owner, ("mcp", &sent), &Pace::new(&pauses)).await?;
    let thread_id = chat.thread_id.unwrap_or_else(|| owner.derived_thread(turn_id));
    let states = call.settings.turn_states.as_ref().filter(|_| request.abilities().forms);
    reply.state = states.map(|states| states.make(owner, thread_id, turn_id, message, call.now));
    let command = ChatCommand::new(turn_id, chat, chat::visitor(call, owner));
    let command = ChatCommand { dialect: Some(of(reply)), request_digest, ..command };
    let command = ThreadCommand::Chat(Box::new(command));
    Ok(Asked::Of(thread_id, command))
}

/// The response that a turn becomes.
fn reply(call: &Call, request: &Request, gives: McpGives, form: AnswerForm) -> McpReply {
    let is_modern = request.is_modern();
    McpReply {
        id: request.id.to_string(),
        progress: request.progress(),
        gives,
        form,
        is_modern,
        state: None,
        origin: call.own_origin().unwrap_or_default().to_owned(),
        // Earlier revisions say that a lost connection is no cancellation.
        stops: is_modern && form == AnswerForm::Stream,
    }
}

fn of(reply: McpReply) -> Dialect {
    Dialect::Mcp(Box::new(reply))
}

/// `tasks/get`, `tasks/update`, `tasks/cancel`: a task is a turn.
pub async fn task(call: &Call, caller: Caller, request: &Request) -> Result<Answer, Failure> {
    let abilities = request.abilities();
    if !abilities.tasks {
        let told = "this method needs the extension for tasks";
        return Ok(error(request, 400, mcp::MISSING_CAPABILITY, told, mcp::NEEDS_TASKS));
    }
    let place = request.params.get("taskId").and_then(Value::as_str).and_then(mcp::task);
    let Some(place) = place else { return Ok(invalid(request, "there is no task with this id")) };
    let (gives, stop) = match request.method.as_str() {
        "tasks/get" => (McpGives::Task, false),
        method => (McpGives::Nothing, method == "tasks/cancel"),
    };
    if gives == McpGives::Nothing {
        caller.needs(Scope::Write)?;
    }
    let answers = match request.params.get("inputResponses").filter(|_| request.method == "tasks/update") {
        None => Vec::new(),
        Some(responses) => match mcp::decisions(responses) {
            Ok((answers, _)) => answers,
            Err(why) => return Ok(invalid(request, &why)),
        },
    };
    let mut reply = reply(call, request, gives, AnswerForm::Now);
    reply.state = abilities.forms.then(String::new);
    let (turn_id, read) = (Some(place.turn.to_string()), Some(0));
    let address = call.decides_from(&answers);
    let command = ThreadCommand::Speak { dialect: of(reply), answers, turn_id, read, stop, address };
    let envelope = ThreadEnvelope { owner: caller.owner()?, thread_id: place.thread, command };
    let response = object::ask(&call.env, &envelope).await?;
    if response.ok() {
        return Ok(Answer::Object(response));
    }
    let problem: Value = object::read(&response).await?;
    let code = if response.status() < 500 { mcp::INVALID_PARAMS } else { mcp::INTERNAL };
    let detail = member(&problem, "detail").to_owned();
    Ok(error(request, 200, code, &detail, problem.to_string().as_bytes()))
}
