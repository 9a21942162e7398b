//! Takes a request from the platform and returns the response: finds the route, turns every outcome into an answer, and
//! adds the headers that every answer has.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use bindings::env::var;
use platform::headers::ALWAYS;
use platform::storage::tell::tell;
use wire::protocol::{ApiError, ErrorCode};
use worker::js_sys::Uint8Array;
use worker::web_sys::{Response, ResponseInit};
use worker::{Context, Env, Headers, Request, console_error};

use crate::call::{Answer, Call};
use crate::head;
use crate::ids::uuid_v7;
use crate::origin;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::router::{self, Found};
use crate::routes::{self, foreign, mcp, openai};
use crate::settings::Settings;

thread_local! {
    static SETTINGS: OnceCell<Rc<Settings>> = const { OnceCell::new() };
    /// When this isolate last wrote a failure to `error_log`.
    static NOTED: Cell<u64> = const { Cell::new(0) };
}

/// Each isolate writes at most one failure to `error_log` in so many milliseconds, so that a service that is down does
/// not fill the database. The platform's log has all failures.
const NOTE_MS: u64 = 1_000;

/// Answers a request. Fails only when the platform refuses to build a response.
pub async fn answer(request: Request, env: Env, context: Context) -> worker::Result<Response> {
    let method = request.inner().method();
    let path = request.path();
    let mut call = Call::new(request, settings(&env), env, context);
    let found = head::bounded(call.url(), call.request.headers()).map(|()| router::find(&method, &path));
    let answer = match found {
        Ok(Found::Route(row, parameters)) => routes::dispatch(&mut call, row, parameters, &path).await,
        Ok(Found::Options { allow }) => Ok(Answer::Ours(options(&call, allow))),
        Ok(Found::WrongMethod { allow }) => Err(Failure::WrongMethod { allow }),
        Ok(Found::Nothing) => Err(ApiError::new(ErrorCode::RouteNotFound, "there is no such route").into()),
        Err(too_large) => Err(too_large.into()),
    };
    let answer = answer.unwrap_or_else(|failure| {
        report(&call, &failure);
        Answer::Ours(failure.reply())
    });
    let answer = match path.as_str() {
        router::MCP => mcp::translated(&call, answer).await,
        path if path.starts_with(router::OPENAI) => foreign::translated(answer, openai::error).await,
        _ => answer,
    };
    let mut cors = call.cors();
    match answer {
        Answer::Ours(reply) => ours(reply, &cors, method == "HEAD"),
        Answer::Object(response) => objects(response, &cors, method == "HEAD"),
        Answer::Warned(response, warning) => {
            cors.push(("warning", warning));
            objects(response, &cors, method == "HEAD")
        }
    }
}

/// Tells the operator of an internal failure, in the log and in `error_log`.
pub fn report(call: &Call, failure: &Failure) {
    let Some(line) = failure.log_line() else { return };
    console_error!("{line}");
    note(call, failure);
}

/// Writes an internal failure to `error_log`.
fn note(call: &Call, failure: &Failure) {
    if call.now.saturating_sub(NOTED.get()) < NOTE_MS {
        return;
    }
    let Some(row) = uuid_v7(call.now).ok().and_then(|id| failure.row(id.to_string(), call.now)) else {
        return;
    };
    NOTED.set(call.now);
    let env = call.env.clone();
    call.context.wait_until(async move {
        if let Err(error) = tell(&env, &[row]).await {
            console_error!("telling D1 of a failure: {error}");
        }
    });
}

fn settings(env: &Env) -> Rc<Settings> {
    SETTINGS
        .with(|settings| Rc::clone(settings.get_or_init(|| Rc::new(Settings::read(&|name| var(env, name))))))
}

fn options(call: &Call, allow: String) -> Reply {
    let mut reply = Reply::empty();
    if !call.cors().is_empty() {
        reply.headers.extend(origin::preflight(&allow));
    }
    reply.with("allow", allow)
}

fn ours(reply: Reply, cors: &[(&str, String)], head: bool) -> worker::Result<Response> {
    let headers = Headers::new();
    for (name, value) in ALWAYS {
        headers.set(name, value)?;
    }
    for (name, value) in reply.headers.iter().chain(cors) {
        match *name {
            // An answer may set one cookie and delete another.
            "set-cookie" => headers.append(name, value)?,
            _ => headers.set(name, value)?,
        }
    }
    let init = ResponseInit::new();
    init.set_status(reply.status);
    init.set_headers(&headers.0);
    let body = reply.body.filter(|_| !head).map(|body| Uint8Array::from(body.as_slice()));
    Ok(Response::new_with_opt_js_u8_array_and_init(body.as_ref(), &init)?)
}

/// Passes an object's response on. The platform pipes its stream to the client, past this Worker. The headers of a
/// fetched response cannot be changed, so where one is missing this builds a new response around the same stream.
fn objects(response: Response, cors: &[(&str, String)], head: bool) -> worker::Result<Response> {
    let given = Headers(response.headers());
    let missing: Vec<_> = ALWAYS.into_iter().filter(|(name, _)| !given.has(name).unwrap_or(false)).collect();
    if missing.is_empty() && cors.is_empty() && !head {
        return Ok(response);
    }
    let headers = given.clone();
    for (name, value) in missing {
        headers.set(name, value)?;
    }
    for (name, value) in cors {
        headers.set(name, value)?;
    }
    let init = ResponseInit::new();
    init.set_status(response.status());
    init.set_headers(&headers.0);
    let body = response.body();
    if head {
        // HEAD has no body: cancelling the stream tells the object.
        let _ = body.map(|body| body.cancel());
        return Ok(Response::new_with_opt_readable_stream_and_init(None, &init)?);
    }
    Ok(Response::new_with_opt_readable_stream_and_init(body.as_ref(), &init)?)
}
