//! The functions of the routes: one file for each resource. A request is admitted before anything else in it is read.
//! So a caller without a credential learns nothing, not even whether an id is well-formed.

mod answers;
mod chat;
mod credentials;
mod damper;
#[cfg(feature = "files")]
mod files;
mod health;
mod jwks;
mod keys;
#[cfg(feature = "knowledge")]
mod knowledge;
mod models;
mod object;
mod openapi;
#[cfg(feature = "projects")]
mod projects;
mod session;
mod threads;
#[cfg(any(feature = "files", feature = "knowledge"))]
mod uploads;
mod usage;

use wire::protocol::{QueueChange, QueuedChange, ThreadCommand};

use crate::auth::scope::Access;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query;
use crate::router::{Route, Row};

/// Admits a request by the row of its route, reads its body, and calls the route's function. The routes of a feature have their
/// arms in the feature's file.
// Long: an arm for each route.
pub async fn dispatch(call: &mut Call, row: &Row, route: Route<'_>) -> Result<Answer, Failure> {
    if row.access != Access::Unlimited {
        damper::check(call).await?;
    }
    let caller = credentials::admit(call, row).await?;
    let body = call.body(row.body).await?;
    let call = &*call;
    match route {
        Route::Health => Ok(health::report(call)),
        Route::OpenApi => openapi::description(call).await,
        Route::Session => session::open(call, &body).await,
        Route::SignOut => session::sign_out(call).await,
        Route::Chat => chat::start(call, caller.owner()?, &body).await,
        Route::Models => models::list(call),
        Route::Threads => threads::list(call, &caller.owner()?).await,
        Route::Thread { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Detail).await,
        Route::ChangeThread { id } => threads::change(call, caller.owner()?, id, &body).await,
        Route::DeleteThread { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Delete).await,
        Route::Messages { id } => threads::messages(call, caller.owner()?, id).await,
        Route::Sent { id, message } => {
            let command = ThreadCommand::Sent { message_id: message.to_owned() };
            threads::ask(call, caller.owner()?, id, command).await
        }
        Route::Stream { id } => {
            let after = query::after(call.query(), call.header("last-event-id").as_deref())?;
            threads::ask(call, caller.owner()?, id, ThreadCommand::Stream { after }).await
        }
        Route::Cancel { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Cancel).await,
        Route::ToolResults { id } => answers::tool_result(call, caller.owner()?, id, &body).await,
        Route::Approval { id, approval } => {
            answers::approval(call, caller.owner()?, id, approval, &body).await
        }
        Route::Approvals { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Approvals).await,
        Route::WithdrawApproval { id, approval } => {
            let command = ThreadCommand::WithdrawApproval { tool: approval.to_owned() };
            threads::ask(call, caller.owner()?, id, command).await
        }
        Route::Queue { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Queue).await,
        Route::HoldQueue { id } => {
            let QueueChange { held } = QueueChange::parse(&body)?;
            threads::ask(call, caller.owner()?, id, ThreadCommand::HoldQueue { held }).await
        }
        Route::EditQueued { id, message } => {
            let QueuedChange { content } = QueuedChange::parse(&body)?;
            let command = ThreadCommand::EditQueued { message_id: message.to_owned(), content };
            threads::ask(call, caller.owner()?, id, command).await
        }
        Route::RemoveQueued { id, message } => {
            let command = ThreadCommand::RemoveQueued { message_id: message.to_owned() };
            threads::ask(call, caller.owner()?, id, command).await
        }
        Route::Usage => usage::sums(call, &caller.owner()?).await,
        Route::Keys => keys::list(call, &caller.verified()?).await,
        Route::MintKey => keys::mint(call, &caller.verified()?, &body).await,
        Route::RevokeKey { prefix } => keys::revoke(call, &caller.verified()?, prefix).await,
        #[cfg(feature = "files")]
        Route::Files(route) => files::answer(call, caller.owner()?, route, body).await,
        #[cfg(feature = "projects")]
        Route::Projects(route) => projects::answer(call, &caller.owner()?, route).await,
        #[cfg(feature = "knowledge")]
        Route::Knowledge(route) => knowledge::answer(call, &caller.owner()?, route, body).await,
    }
}
