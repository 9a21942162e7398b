//! The knowledge of a user: memories and collections.

mod collections;
mod memories;

use wire::protocol::Owner;

use crate::body::HeldBody;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::router::KnowledgeRoute as Route;

/// Does what a route of memories or collections is for.
pub async fn answer(call: &Call, owner: Owner, route: Route<'_>, body: HeldBody) -> Result<Answer, Failure> {
    let owner = &owner;
    match route {
        Route::Memories => memories::list(call, owner).await,
        Route::ForgetMemories => memories::clear(call, owner).await,
        Route::ForgetMemory { memory } => memories::forget(call, owner, memory).await,
        Route::Collections => collections::list(call, owner).await,
        Route::NewCollection => collections::create(call, owner, &body).await,
        Route::Collection { collection } => collections::get(call, owner, collection).await,
        Route::DeleteCollection { collection } => collections::delete(call, owner, collection).await,
        Route::Documents { collection } => collections::documents(call, owner, collection).await,
        Route::AddDocument { collection } => collections::add(call, owner, collection, body).await,
        Route::DeleteDocument { collection, document } => {
            collections::remove(call, owner, collection, document).await
        }
        Route::SearchCollection { collection } => collections::search(call, owner, collection).await,
    }
}
