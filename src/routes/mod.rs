//! The functions of the routes: one file for each resource. A request is admitted before anything else in it is read.
//! So a caller without a credential learns nothing, not even whether an id is well-formed.

pub mod account;
mod ai_sdk;
mod answers;
mod audit;
mod chat;
mod credentials;
mod damper;
mod fetched;
mod files;
pub mod foreign;
mod health;
mod instructions;
mod job;
mod jwks;
mod keys;
mod knowledge;
pub mod mcp;
mod models;
mod object;
mod oidc;
pub mod openai;
mod openapi;
mod projects;
mod records;
mod retention;
mod session;
mod sessions;
mod shares;
mod threads;
mod uploads;
mod usage;
mod workflows;

use std::future::ready;
use std::mem::take;

use engine::hooks;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use platform::clock;
use wire::pace::Pause;
use wire::protocol::{
    ApiError, ErrorCode, NewHook, OpenAiApi, Owner, QueueChange, QueuedChange, ThreadCommand,
};
use worker::{Date, Env, console_error};

use self::credentials::Caller;
use crate::audit::deletion;
use crate::auth::scope::Access;
use crate::body::{BODY_MS, HeldBody, WORK_MS};
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query;
use crate::router::{Route, Row};
use crate::visit::{Driven, Work, visit};

/// How often a visit of the cron trigger repeats a drive, where the plan allows more than the 50 requests of the free one.
/// The paid plan allows 10 000: <https://developers.cloudflare.com/workers/platform/limits/#subrequests>.
const DRIVES: u32 = 20;

/// Carries on the work that no request waits for: the erasures of users, and the retention.
pub async fn carry_on(env: &Env) {
    if let Err(error) = shares::expire(env).await {
        console_error!("deleting share links whose time is over: {error}");
    }
    let is_free = env.var("PROFILE").is_ok_and(|profile| profile.to_string() == "free");
    visit(if is_free { 1 } else { DRIVES }, async |work, requests| {
        let (doing, driven) = match work {
            Work::Retention => ("deleting what is too old", retention::drive(env, requests).await),
            Work::Erasures => ("taking an erasure", account::erasure::drive(env, requests).await),
        };
        driven.unwrap_or_else(|error| {
            console_error!("{doing}: {error}");
            Driven { left: 0, is_idle: true }
        })
    })
    .await;
}

/// The answer of a route, still to come.
type Answering<'a> = LocalBoxFuture<'a, Result<Answer, Failure>>;

/// After how many seconds a request may come again that the isolate had no time for.
const RETRY_S: u64 = 5;

/// Lets other requests run within the work on a body that began at a time. Refused where it has gone on for too long: the
/// isolate has too much to do.
pub fn pauses(began_at: u64) -> impl Fn() -> Pause {
    move || {
        Box::pin(async move {
            clock::pause().await?;
            match Date::now().as_millis() > began_at.saturating_add(WORK_MS) {
                true => {
                    let detail =
                        "the service has too much to do to read this request: send it again in a moment";
                    Err(ApiError::new(ErrorCode::Overloaded, detail).retry_after(RETRY_S))
                }
                false => Ok(()),
            }
        })
    }
}

/// Admits a request by the row of its route, reads its body, and calls the route's function.
pub async fn dispatch(call: &mut Call, row: &Row, route: Route<'_>, path: &str) -> Result<Answer, Failure> {
    if row.access != Access::Unlimited {
        damper::check(call).await?;
    }
    let mut caller = credentials::admit(call, row).await?;
    let user = caller.who().map(Owner::token).unwrap_or_default();
    let mut body = call.body(row.body, user).await?;
    let now = Date::now().as_millis();
    if now > call.now.saturating_add(BODY_MS) {
        call.now = now;
        caller = credentials::admit(call, row).await?;
    }
    carry_out(call, caller, &mut body, (row, route, path)).await
}

/// Calls the function of a route for a caller whom its row admits. A deletion writes its entry in the audit log itself, with
/// the target that its row gives it.
async fn carry_out(
    call: &Call,
    caller: Caller,
    body: &mut HeldBody,
    (row, route, path): (&Row, Route<'_>, &str),
) -> Result<Answer, Failure> {
    if let Some(target) = deletion(row, path) {
        // A call has one route, so nothing stands there.
        let _ = call.deletion.set(target);
    }
    answering(call, caller, body, route)?.await
}

/// Calls the function of a route. The routes of a feature have their arms in the feature's file. Each future is boxed: the
/// first request of an isolate would compile the code of all routes otherwise.
// Long: an arm for each route.
fn answering<'a>(
    call: &'a Call,
    caller: Caller,
    body: &'a mut HeldBody,
    route: Route<'a>,
) -> Result<Answering<'a>, Failure> {
    let ask = |owner, id, command| threads::ask(call, owner, id, command).boxed_local();
    let speak = |asked| foreign::ask(call, asked).boxed_local();
    Ok(match route {
        Route::Health => ready(Ok(health::report(call))).boxed_local(),
        Route::OpenApi => openapi::description(call).boxed_local(),
        Route::Session => session::open(call, body).boxed_local(),
        Route::StartSignIn { provider } => oidc::start(call, provider, body).boxed_local(),
        Route::EndOfSignIn { provider } => oidc::callback(call, provider).boxed_local(),
        Route::SignOut => session::sign_out(call).boxed_local(),
        Route::Chat => chat::start(call, caller.owner()?, body).boxed_local(),
        Route::AiSdkChat => ai_sdk::answer(call, caller.owner()?, take(body)).boxed_local(),
        Route::AiSdkStream { chat } => speak(ai_sdk::ask(caller.owner()?, chat, ai_sdk::replay())?),
        Route::AiSdkCancel { chat } => speak(ai_sdk::ask(caller.owner()?, chat, ThreadCommand::Cancel)?),
        Route::OpenAiModels => ready(openai::models(call)).boxed_local(),
        Route::ChatCompletion => {
            openai::answer(call, caller.owner()?, take(body), OpenAiApi::ChatCompletions).boxed_local()
        }
        Route::CreateResponse => {
            openai::answer(call, caller.owner()?, take(body), OpenAiApi::Responses).boxed_local()
        }
        Route::Response { response } => speak(openai::response(call, caller.owner()?, response, false)?),
        Route::CancelResponse { response } => speak(openai::response(call, caller.owner()?, response, true)?),
        Route::Mcp => mcp::answer(call, caller, take(body)).boxed_local(),
        Route::ProtectedResource | Route::ProtectedMcp => ready(mcp::protected_resource(call)).boxed_local(),
        Route::Models => ready(models::list(call)).boxed_local(),
        Route::Threads => threads::list(call, caller.owner()?).boxed_local(),
        Route::Thread { id } => ask(caller.owner()?, id, ThreadCommand::Detail),
        Route::ChangeThread { id } => threads::change(call, caller.owner()?, id, body).boxed_local(),
        Route::DeleteThread { id } => {
            ask(caller.owner()?, id, ThreadCommand::Delete { address: call.address_mark() })
        }
        Route::Messages { id } => threads::messages(call, caller.owner()?, id).boxed_local(),
        Route::Sent { id, message } => {
            ask(caller.owner()?, id, ThreadCommand::Sent { message_id: message.to_owned() })
        }
        Route::Stream { id } => {
            let after = query::after(call.query(), call.header("last-event-id").as_deref())?;
            ask(caller.owner()?, id, ThreadCommand::Stream { after })
        }
        Route::Cancel { id } => ask(caller.owner()?, id, ThreadCommand::Cancel),
        Route::ToolResults { id } => answers::tool_result(call, caller.owner()?, id, body).boxed_local(),
        Route::Approval { id, approval } => {
            answers::approval(call, caller.owner()?, id, approval, body).boxed_local()
        }
        Route::Approvals { id } => ask(caller.owner()?, id, ThreadCommand::Approvals),
        Route::WithdrawApproval { id, approval } => {
            ask(caller.owner()?, id, ThreadCommand::WithdrawApproval { tool: approval.to_owned() })
        }
        Route::Hooks { id } => ask(caller.owner()?, id, ThreadCommand::Hooks),
        Route::PutHook { id, hook } => {
            let hook = Box::new(hooks::define(hook, NewHook::parse(body)?)?);
            ask(caller.owner()?, id, ThreadCommand::PutHook { hook })
        }
        Route::DeleteHook { id, hook } => {
            hooks::check_name(hook)?;
            ask(caller.owner()?, id, ThreadCommand::DeleteHook { name: hook.to_owned() })
        }
        Route::Queue { id } => ask(caller.owner()?, id, ThreadCommand::Queue),
        Route::HoldQueue { id } => {
            let QueueChange { held } = QueueChange::parse(body)?;
            ask(caller.owner()?, id, ThreadCommand::HoldQueue { held })
        }
        Route::EditQueued { id, message } => {
            let QueuedChange { content } = QueuedChange::parse(body)?;
            ask(caller.owner()?, id, ThreadCommand::EditQueued { message_id: message.to_owned(), content })
        }
        Route::RemoveQueued { id, message } => {
            ask(caller.owner()?, id, ThreadCommand::RemoveQueued { message_id: message.to_owned() })
        }
        Route::Agents { id } => ask(caller.owner()?, id, ThreadCommand::Agents),
        Route::RestoreAgent { id } => threads::restore_agent(call, caller.owner()?, id, body).boxed_local(),
        Route::AgentRounds { id, agent } => {
            threads::agent_rounds(call, caller.owner()?, id, agent).boxed_local()
        }
        Route::DumpAgent { id, agent } => {
            ask(caller.owner()?, id, ThreadCommand::DumpAgent { name: agent.to_owned() })
        }
        Route::EndAgent { id, agent } => {
            ask(caller.owner()?, id, ThreadCommand::EndAgent { name: agent.to_owned() })
        }
        Route::EraseMe => account::erasure::begin(call, caller.owner()?, body).boxed_local(),
        Route::Erasure => account::erasure::progress(call).boxed_local(),
        Route::Export => account::export(call, caller).boxed_local(),
        Route::Sessions => sessions::list(call, caller.owner()?).boxed_local(),
        Route::EndOtherSessions => sessions::end_others(call, caller.owner()?).boxed_local(),
        Route::EndSignIn { sign_in } => sessions::end(call, caller.owner()?, sign_in).boxed_local(),
        Route::Usage => usage::sums(call, caller.owner()?).boxed_local(),
        Route::Audit => audit::list(call, caller.verified()?).boxed_local(),
        Route::Keys => keys::list(call, caller.verified()?).boxed_local(),
        Route::MintKey => keys::mint(call, caller.verified()?, body).boxed_local(),
        Route::RevokeKey { prefix } => keys::revoke(call, caller.verified()?, prefix).boxed_local(),
        Route::Files(route) => files::answer(call, caller.owner()?, route, take(body)).boxed_local(),
        Route::Projects(route) => projects::answer(call, caller.owner()?, route, body).boxed_local(),
        Route::Instructions(route) => instructions::answer(call, caller.owner()?, route, body).boxed_local(),
        Route::Records(route) => records::answer(call, caller, route).boxed_local(),
        Route::Shares(route) => shares::answer(call, caller, route, body).boxed_local(),
        Route::Knowledge(route) => knowledge::answer(call, caller.owner()?, route, take(body)).boxed_local(),
        Route::Workflows(route) => workflows::answer(call, caller.owner()?, route, body).boxed_local(),
    })
}
