//! What the routes do: one file a resource. Whoever asks is known before anything else is looked at, so that without
//! a credential nothing can be learned, not even which ids are well-formed.

mod answers;
mod chat;
mod collections;
mod credentials;
mod damper;
mod files;
mod health;
mod jwks;
mod keys;
mod memories;
mod models;
mod object;
mod projects;
mod session;
mod threads;
mod uploads;
mod usage;

use wire::protocol::{ThreadChange, ThreadCommand};

use crate::body;
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;
use crate::router::Route;
use crate::serve::{Answer, Call};
use files::Place;

/// The description of the API, as `make openapi` wrote it (`src/openapi`).
const OPENAPI: &[u8] = include_bytes!("../openapi/openapi.json");

/// Does what a route asks for.
pub async fn dispatch(call: &mut Call, route: Route<'_>) -> Result<Answer, Failure> {
    // Whoever watches over the service asks often.
    if route != Route::Health {
        damper::check(call).await?;
    }
    match route {
        Route::Health => Ok(Answer::Ours(health::report(call))),
        Route::OpenApi => Ok(Answer::Ours(Reply::bytes(200, "application/json", OPENAPI.to_vec()))),
        Route::Session => session::open(call).await.map(Answer::Ours),
        Route::SignOut => session::sign_out(call).await.map(Answer::Ours),
        Route::Chat => {
            let owner = credentials::to_change(call).await?;
            chat::start(call, owner).await.map(Answer::Object)
        }
        Route::Models => {
            credentials::to_read(call).await?;
            models::list(call).map(Answer::Ours)
        }
        Route::Threads => {
            let owner = credentials::to_read(call).await?;
            threads::list(call, &owner).await.map(Answer::Ours)
        }
        Route::Thread { id } => {
            let owner = credentials::to_read(call).await?;
            threads::ask(call, owner, id, ThreadCommand::Detail).await
        }
        Route::RenameThread { id } => {
            let owner = credentials::to_change(call).await?;
            body::require_json(call.header("content-type").as_deref())?;
            let ThreadChange { title } = ThreadChange::parse(&call.body().await?)?;
            threads::ask(call, owner, id, ThreadCommand::Rename { title }).await
        }
        Route::DeleteThread { id } => {
            let owner = credentials::to_change(call).await?;
            threads::ask(call, owner, id, ThreadCommand::Delete).await
        }
        Route::Messages { id } => {
            let owner = credentials::to_read(call).await?;
            let query::Page { limit, cursor } = query::page(call.query())?;
            threads::ask(call, owner, id, ThreadCommand::Messages { limit, cursor }).await
        }
        Route::Sent { id, message } => {
            let owner = credentials::to_read(call).await?;
            threads::ask(call, owner, id, ThreadCommand::Sent { message_id: message.to_owned() }).await
        }
        Route::Stream { id } => {
            let owner = credentials::to_read(call).await?;
            let after = query::after(call.query(), call.header("last-event-id").as_deref())?;
            threads::ask(call, owner, id, ThreadCommand::Stream { after }).await
        }
        Route::Cancel { id } => {
            let owner = credentials::to_change(call).await?;
            threads::ask(call, owner, id, ThreadCommand::Cancel).await
        }
        Route::ToolResults { id } => {
            let owner = credentials::to_change(call).await?;
            answers::tool_result(call, owner, id).await
        }
        Route::Approval { id, approval } => {
            let owner = credentials::to_change(call).await?;
            answers::approval(call, owner, id, approval).await
        }
        Route::Approvals { id } => {
            let owner = credentials::to_read(call).await?;
            threads::ask(call, owner, id, ThreadCommand::Approvals).await
        }
        Route::WithdrawApproval { id, approval } => {
            let owner = credentials::to_change(call).await?;
            threads::ask(call, owner, id, ThreadCommand::WithdrawApproval { tool: approval.to_owned() }).await
        }
        Route::Files { id } => {
            let owner = credentials::to_read(call).await?;
            files::list(call, owner, Place::Thread(id)).await
        }
        Route::File { id, path } => {
            let owner = credentials::to_read(call).await?;
            files::get(call, owner, Place::Thread(id), path).await
        }
        Route::PutFile { id, path } => {
            let owner = credentials::to_change(call).await?;
            files::put(call, owner, Place::Thread(id), path).await
        }
        Route::DeleteFile { id, path } => {
            let owner = credentials::to_change(call).await?;
            files::delete(call, owner, Place::Thread(id), path).await
        }
        Route::Workspaces => {
            let owner = credentials::to_read(call).await?;
            files::workspaces(call, &owner).await.map(Answer::Ours)
        }
        Route::DeleteWorkspace { workspace } => {
            let owner = credentials::to_change(call).await?;
            files::delete_workspace(call, owner, workspace).await
        }
        Route::WorkspaceFiles { workspace } => {
            let owner = credentials::to_read(call).await?;
            files::list(call, owner, Place::Workspace(workspace)).await
        }
        Route::WorkspaceFile { workspace, path } => {
            let owner = credentials::to_read(call).await?;
            files::get(call, owner, Place::Workspace(workspace), path).await
        }
        Route::PutWorkspaceFile { workspace, path } => {
            let owner = credentials::to_change(call).await?;
            files::put(call, owner, Place::Workspace(workspace), path).await
        }
        Route::DeleteWorkspaceFile { workspace, path } => {
            let owner = credentials::to_change(call).await?;
            files::delete(call, owner, Place::Workspace(workspace), path).await
        }
        Route::Collections => {
            let owner = credentials::to_read(call).await?;
            collections::list(call, &owner).await.map(Answer::Ours)
        }
        Route::NewCollection => {
            let owner = credentials::to_change(call).await?;
            collections::create(call, &owner).await.map(Answer::Ours)
        }
        Route::Collection { collection } => {
            let owner = credentials::to_read(call).await?;
            collections::get(call, &owner, collection).await.map(Answer::Ours)
        }
        Route::DeleteCollection { collection } => {
            let owner = credentials::to_change(call).await?;
            collections::delete(call, &owner, collection).await.map(Answer::Ours)
        }
        Route::Documents { collection } => {
            let owner = credentials::to_read(call).await?;
            collections::documents(call, &owner, collection).await.map(Answer::Ours)
        }
        Route::AddDocument { collection } => {
            let owner = credentials::to_upload(call).await?;
            collections::add(call, &owner, collection).await.map(Answer::Ours)
        }
        Route::DeleteDocument { collection, document } => {
            let owner = credentials::to_change(call).await?;
            collections::remove(call, &owner, collection, document).await.map(Answer::Ours)
        }
        Route::SearchCollection { collection } => {
            let owner = credentials::to_read(call).await?;
            collections::search(call, &owner, collection).await.map(Answer::Ours)
        }
        Route::Memories => {
            let owner = credentials::to_read(call).await?;
            memories::list(call, &owner).await.map(Answer::Ours)
        }
        Route::ForgetMemories => {
            let owner = credentials::to_change(call).await?;
            memories::clear(call, &owner).await.map(Answer::Ours)
        }
        Route::ForgetMemory { memory } => {
            let owner = credentials::to_change(call).await?;
            memories::forget(call, &owner, memory).await.map(Answer::Ours)
        }
        Route::Templates => {
            let owner = credentials::to_read(call).await?;
            projects::templates(call, &owner).await.map(Answer::Ours)
        }
        Route::Projects => {
            let owner = credentials::to_read(call).await?;
            projects::list(call, &owner).await.map(Answer::Ours)
        }
        Route::Project { project: id } => {
            let owner = credentials::to_read(call).await?;
            projects::get(call, &owner, id).await.map(Answer::Ours)
        }
        Route::ProjectDocument { project: id, document } => {
            let owner = credentials::to_read(call).await?;
            projects::document(call, &owner, id, document).await.map(Answer::Ours)
        }
        Route::Usage => {
            let owner = credentials::to_read(call).await?;
            usage::sums(call, &owner).await.map(Answer::Ours)
        }
        Route::Keys => {
            let by = credentials::to_administer(call).await?;
            keys::list(call, &by).await.map(Answer::Ours)
        }
        Route::MintKey => {
            let by = credentials::to_administer(call).await?;
            keys::mint(call, &by).await.map(Answer::Ours)
        }
        Route::RevokeKey { prefix } => {
            let by = credentials::to_administer(call).await?;
            keys::revoke(call, &by, prefix).await.map(Answer::Ours)
        }
    }
}
