//! What the routes do: one file a resource. A request is admitted before anything else in it is read. So a caller
//! without a credential learns nothing, not even whether an id is well-formed.

mod answers;
mod chat;
mod collections; // feature: knowledge
mod credentials;
mod damper;
mod files; // feature: files
mod health;
mod jwks;
mod keys;
mod memories; // feature: knowledge
mod models;
mod object;
mod projects; // feature: projects
mod session;
mod threads;
mod uploads;
mod usage;

use wire::protocol::{ThreadChange, ThreadCommand};

use crate::auth::scope::Access;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;
use crate::router::{Route, Row};
use files::WorkspaceName::{Named, OfThread}; // feature: files

/// The description of the API, as `make openapi` wrote it (`src/openapi`).
const OPENAPI: &[u8] = include_bytes!("../openapi/openapi.json");

/// Admits a request by the row of its route, reads its body, and does what the route is for. Longer than a function should
/// be, because it has one arm for each route.
pub async fn dispatch(call: &mut Call, row: &Row, route: Route<'_>) -> Result<Answer, Failure> {
    if row.access != Access::Unlimited {
        damper::check(call).await?;
    }
    let caller = credentials::admit(call, row).await?;
    let body = call.body(row.body).await?;
    let call = &*call;
    match route {
        Route::Health => Ok(health::report(call)),
        Route::OpenApi => Ok(Reply::bytes(200, "application/json", OPENAPI.to_vec()).into()),
        Route::Session => session::open(call, &body).await,
        Route::SignOut => session::sign_out(call).await,
        Route::Chat => chat::start(call, caller.owner()?, &body).await,
        Route::Models => models::list(call),
        Route::Threads => threads::list(call, &caller.owner()?).await,
        Route::Thread { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Detail).await,
        Route::RenameThread { id } => {
            let ThreadChange { title } = ThreadChange::parse(&body)?;
            threads::ask(call, caller.owner()?, id, ThreadCommand::Rename { title }).await
        }
        Route::DeleteThread { id } => threads::ask(call, caller.owner()?, id, ThreadCommand::Delete).await,
        Route::Messages { id } => {
            let query::Page { limit, cursor } = query::page(call.query())?;
            threads::ask(call, caller.owner()?, id, ThreadCommand::Messages { limit, cursor }).await
        }
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
        // feature: files
        Route::Files { id } => files::list(call, caller.owner()?, OfThread(id)).await,
        Route::File { id, path } => files::get(call, caller.owner()?, OfThread(id), path).await,
        Route::PutFile { id, path } => files::put(call, caller.owner()?, OfThread(id), path, body).await,
        Route::DeleteFile { id, path } => files::delete(call, caller.owner()?, OfThread(id), path).await,
        Route::Workspaces => files::workspaces(call, &caller.owner()?).await,
        Route::DeleteWorkspace { workspace } => {
            files::delete_workspace(call, caller.owner()?, workspace).await
        }
        Route::WorkspaceFiles { workspace } => files::list(call, caller.owner()?, Named(workspace)).await,
        Route::WorkspaceFile { workspace, path } => {
            files::get(call, caller.owner()?, Named(workspace), path).await
        }
        Route::PutWorkspaceFile { workspace, path } => {
            files::put(call, caller.owner()?, Named(workspace), path, body).await
        }
        Route::DeleteWorkspaceFile { workspace, path } => {
            files::delete(call, caller.owner()?, Named(workspace), path).await
        }
        // end
        // feature: knowledge
        Route::Collections => collections::list(call, &caller.owner()?).await,
        Route::NewCollection => collections::create(call, &caller.owner()?, &body).await,
        Route::Collection { collection } => collections::get(call, &caller.owner()?, collection).await,
        Route::DeleteCollection { collection } => {
            collections::delete(call, &caller.owner()?, collection).await
        }
        Route::Documents { collection } => collections::documents(call, &caller.owner()?, collection).await,
        Route::AddDocument { collection } => collections::add(call, &caller.owner()?, collection, body).await,
        Route::DeleteDocument { collection, document } => {
            collections::remove(call, &caller.owner()?, collection, document).await
        }
        Route::SearchCollection { collection } => {
            collections::search(call, &caller.owner()?, collection).await
        }
        Route::Memories => memories::list(call, &caller.owner()?).await,
        Route::ForgetMemories => memories::clear(call, &caller.owner()?).await,
        Route::ForgetMemory { memory } => memories::forget(call, &caller.owner()?, memory).await,
        // end
        // feature: projects
        Route::Templates => projects::templates(call, &caller.owner()?).await,
        Route::Projects => projects::list(call, &caller.owner()?).await,
        Route::Project { project } => projects::get(call, &caller.owner()?, project).await,
        Route::ProjectDocument { project, document } => {
            projects::document(call, &caller.owner()?, project, document).await
        }
        // end
        Route::Usage => usage::sums(call, &caller.owner()?).await,
        Route::Keys => keys::list(call, &caller.verified()?).await,
        Route::MintKey => keys::mint(call, &caller.verified()?, &body).await,
        Route::RevokeKey { prefix } => keys::revoke(call, &caller.verified()?, prefix).await,
    }
}
