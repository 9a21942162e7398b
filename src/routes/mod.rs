//! The functions of the routes: one file for each resource. A request is admitted before anything else in it is read.
//! So a caller without a credential learns nothing, not even whether an id is well-formed.

pub mod account;
pub mod ai_sdk;
pub mod answers;
pub mod audit;
pub mod bookmarks;
pub mod chat;
pub mod collections;
mod credentials;
mod damper;
mod fetched;
pub mod files;
pub mod foreign;
pub mod health;
pub mod instructions;
mod job;
mod jwks;
pub mod keys;
pub mod mcp;
pub mod memories;
pub mod models;
mod object;
pub mod oidc;
pub mod openai;
pub mod openapi;
pub mod projects;
pub mod records;
mod retention;
pub mod session;
pub mod sessions;
pub mod shares;
pub mod threads;
mod uploads;
pub mod usage;
pub mod workflows;

use futures::future::LocalBoxFuture;
use platform::clock;
use wire::pace::Pause;
use wire::protocol::{ApiError, ErrorCode, Owner, ThreadCommand};
use worker::{Date, Env, console_error};

use self::credentials::Caller;
use crate::audit::deletion;
use crate::auth::scope::Access;
use crate::body::{BODY_MS, HeldBody, WORK_MS};
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::router::{Parameters, Row};
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

/// The answer of a route, still to come. It is boxed: the first request of an isolate would compile the code of all routes
/// otherwise.
pub type Answering<'a> = LocalBoxFuture<'a, Result<Answer, Failure>>;

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

/// A request that its row admits, as the function of its route gets it.
pub struct Admitted<'a> {
    pub call: &'a Call,
    pub caller: Caller,
    pub body: &'a mut HeldBody,
}

impl Admitted<'_> {
    /// Asks the object of a thread. Its answer is the route's.
    pub async fn ask(self, id: &str, command: ThreadCommand) -> Result<Answer, Failure> {
        threads::ask(self.call, self.caller.owner()?, id, command).await
    }
}

/// Admits a request by the row of its route, reads its body, and calls the route's function.
pub async fn dispatch(
    call: &mut Call,
    row: &Row,
    parameters: Parameters<'_>,
    path: &str,
) -> Result<Answer, Failure> {
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
    carry_out(Admitted { call, caller, body: &mut body }, row, parameters, path).await
}

/// Calls the function of a route. A deletion writes its entry in the audit log itself, with the target that its row gives it.
async fn carry_out(
    request: Admitted<'_>,
    row: &Row,
    parameters: Parameters<'_>,
    path: &str,
) -> Result<Answer, Failure> {
    if let Some(target) = deletion(row, path) {
        // A call has one route, so nothing stands there.
        let _ = request.call.deletion.set(target);
    }
    (row.function)(request, parameters)?.await
}
