//! The resources of the API. Each file declares the routes of one, with all that the service knows of each route
//! (`router::Row`), and the tables of D1 that have its rows, with all that the export and the erasure need
//! (`account::kinds::Table`). The functions of the routes stand in `routes`, in a file of the same name, or belong to the
//! thread's object.

use crate::account::kinds::{Table, Whose};
use crate::router::Row;

/// The words of which rows are made.
mod words {
    pub use crate::account::kinds::{ROWS, Rows, Table, users};
    pub use crate::auth::scope::Access::{Erases, KnownOrigin, Needs, NeedsAtOrigin, Open, Unlimited};
    pub use crate::auth::scope::Scope::{Admin, Read, Write};
    pub use crate::body::Body::{self, Nothing};
    pub use crate::body::{json, json_of, optional_json};
    #[cfg(test)]
    pub use crate::openapi::contract::{Content, Contract, Parameter};
    pub use crate::router::Bound::{
        Count, Deletes, EndsOnce, OtherRoutes, Reads, Removes, Replaces, Turns, Uploads,
    };
    pub(crate) use crate::router::routes;
    #[cfg(test)]
    pub use serde_json::{Map, Value, json};
    #[cfg(target_arch = "wasm32")]
    pub use std::{future::ready, mem::take};
    #[cfg(test)]
    pub use wire::protocol::ErrorCode as E;
    #[cfg(target_arch = "wasm32")]
    pub use wire::protocol::ThreadCommand;
}

/// Lists the resources.
macro_rules! resources {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// The routes of all resources, in the order in which they are matched.
        pub const ROUTES: &[&[Row]] = &[$($name::ROUTES),+];

        /// The names of the resources, in the same order.
        #[cfg(test)]
        pub const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

resources! {
    service, sessions, chat, dialects, threads, approvals, hooks, queue, agents, account, usage,
    audit, keys, files, projects, instructions, records, memories, collections, shares, bookmarks,
    workflows,
}

/// The tables of D1, in the order in which they are exported and erased.
// A document's row goes after its chunks: it tells how many vectors there are.
pub const TABLES: &[Table] = &[
    instructions::TABLE,
    memories::TABLE,
    collections::COLLECTIONS,
    collections::CHUNKS,
    collections::DOCUMENTS,
    projects::TABLE,
    workflows::TABLE,
    threads::PLANS,
    shares::TABLE,
    bookmarks::TABLE,
    usage::LLM_USAGE,
    usage::TOOL_USAGE,
    usage::ERROR_LOG,
    // The objects give messages and threads whole; the rows here are cut.
    threads::MESSAGES,
    threads::THREADS,
    sessions::TABLE,
    keys::TABLE,
    audit::TABLE,
    Table { name: "erasures", whose: Whose::Nobodys("a row says for 30 days that a user's data is gone") },
    Table { name: "retention_runs", whose: Whose::Nobodys("a run of the retention has numbers alone") },
];
