//! The kinds of stored data: each table of D1 and each folder of R2. A table or a folder belongs to users, and then the
//! export and the erasure read here how; or it does not, and the reason stands here. The tests compare the list with the
//! migrations and with the keys of R2.
//!
//! The data of a thread's object has no list here: the export asks the object, which has one (`storage/export_rows.rs`), and
//! the object deletes all of it.

use wire::protocol::Owner;

use super::store;

/// A table of D1.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub name: &'static str,
    pub whose: Whose,
}

/// Whose the rows of a table are.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    Users(Rows),
    /// Not a user's, for this reason.
    Nobodys(&'static str),
}

/// How to find the rows of a user, and what of them a user gets.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The condition that holds for them. `?1` is the tenant, `?2` the user, `?3` the digest of a visitor's session.
    pub of_user: &'static str,
    /// The columns that order them, and tell one from the other.
    pub key: &'static [&'static str],
    /// The `kind` of their lines in the export; none where the threads' objects give the same, and all of it.
    pub line: Option<&'static str>,
    /// The columns that the export has; those that end with `:json` have JSON in them.
    pub columns: &'static [&'static str],
    /// The columns that it withholds: the owner, which the export's head tells; secrets; and copies of other columns.
    pub withheld: &'static [&'static str],
    /// The most rows that are read at once, so that they have at most about half a megabyte.
    pub at_once: u32,
    /// The rows that an erasure leaves, and says why.
    pub stays: Option<&'static str>,
}

/// The columns that name the owner of a row.
const OWNER: &[&str] = &["tenant", "user_id"];

/// The tables, in the order in which they are exported and erased.
// A document's row goes after its chunks: it tells how many vectors there are.
pub const TABLES: &[Table] = &[
    users(
        "instructions",
        Rows {
            key: &["project_id"],
            line: Some("instructions"),
            columns: &["project_id", "content", "updated_at"],
            ..ROWS
        },
        20,
    ),
    users(
        "memories",
        Rows {
            key: &["id"],
            line: Some("memory"),
            columns: &["id", "thread_id", "content", "created_at", "updated_at", "turn_seq", "beside"],
            withheld: &["number", "tenant", "user_id", "terms", "scope"],
            ..ROWS
        },
        100,
    ),
    users(
        "collections",
        Rows {
            key: &["id"],
            line: Some("collection"),
            columns: &["id", "name", "description", "created_at", "updated_at"],
            ..ROWS
        },
        100,
    ),
    users(
        "chunks",
        Rows {
            key: &["document_id", "place"],
            line: Some("passage"),
            columns: &["collection_id", "document_id", "place", "heading", "text"],
            withheld: &["number", "tenant", "user_id", "terms", "scope"],
            ..ROWS
        },
        100,
    ),
    users(
        "documents",
        Rows {
            key: &["id"],
            line: Some("document"),
            columns: &["id", "collection_id", "name", "media_type", "bytes", "chunks", "created_at"],
            ..ROWS
        },
        100,
    ),
    users(
        "project_items",
        Rows {
            key: &["kind", "id"],
            line: Some("project_item"),
            columns: &[
                "kind AS item",
                "id",
                "project_id",
                "title",
                "body:json",
                "version",
                "operation",
                "created_at",
                "updated_at",
            ],
            ..ROWS
        },
        10,
    ),
    users(
        "workflows",
        Rows {
            key: &["id"],
            line: Some("workflow"),
            columns: &["id", "version", "definition:json", "created_at", "updated_at"],
            ..ROWS
        },
        8,
    ),
    users(
        "plans",
        Rows {
            key: &["thread_id", "id"],
            line: Some("plan"),
            columns: &["thread_id", "id", "turn_id", "payload:json", "created_at", "updated_at"],
            withheld: &[
                "tenant",
                "user_id",
                "objective",
                "intent_label",
                "context_type",
                "entity_id",
                "execution_mode",
                "status",
                "review_verdict",
                "revision",
            ],
            ..ROWS
        },
        8,
    ),
    users(
        "shares",
        Rows {
            key: &["id"],
            line: Some("share"),
            columns: &[
                "id",
                "thread_id",
                "title",
                "created_at",
                "expires_at",
                "tools",
                "reasoning",
                "files",
                "messages",
                "bytes",
            ],
            // The snapshot is a copy of messages that the thread's object gives.
            withheld: &["tenant", "user_id", "hash", "content"],
            ..ROWS
        },
        20,
    ),
    users(
        "llm_usage",
        Rows {
            key: &["id"],
            line: Some("model_call"),
            columns: &[
                "id",
                "thread_id",
                "turn_id",
                "provider",
                "model",
                "operation_type",
                "context_type",
                "profile",
                "execution_mode",
                "input_tokens",
                "cached_tokens",
                "output_tokens",
                "cost_usd",
                "duration_ms",
                "first_byte_ms",
                "retries",
                "outcome",
                "created_at",
            ],
            ..ROWS
        },
        500,
    ),
    users(
        "tool_usage",
        Rows {
            key: &["id"],
            line: Some("tool_call"),
            columns: &[
                "id",
                "thread_id",
                "turn_id",
                "tool_name",
                "context_type",
                "execution_mode",
                "detail",
                "duration_ms",
                "is_error",
                "outcome",
                "created_at",
            ],
            ..ROWS
        },
        100,
    ),
    users(
        "error_log",
        Rows {
            key: &["id"],
            line: Some("error"),
            columns: &[
                "id",
                "thread_id",
                "turn_id",
                "component",
                "stage",
                "tool_name",
                "code",
                "message",
                "context_type",
                "execution_mode",
                "created_at",
            ],
            ..ROWS
        },
        100,
    ),
    // The objects give messages and threads whole; the rows here are cut.
    users(
        "messages",
        Rows {
            key: &["id"],
            withheld: &[
                "tenant",
                "user_id",
                "id",
                "thread_id",
                "turn_id",
                "role",
                "content",
                "execution_tree",
                "usage",
                "finish_reason",
                "created_at",
                "parts",
                "beside",
                "stop",
            ],
            ..ROWS
        },
        100,
    ),
    users(
        "threads",
        Rows {
            key: &["id"],
            withheld: &["tenant", "user_id", "id", "title", "created_at", "updated_at", "pinned_at"],
            ..ROWS
        },
        100,
    ),
    users(
        "sessions",
        Rows {
            of_user: store::OF_SESSIONS,
            key: &["substr(hash, 1, 32)"],
            line: Some("session"),
            columns: &[
                "substr(hash, 1, 32) AS id",
                "agent",
                "created_at",
                "seen_at",
                "expires_at",
                "revoked_at",
            ],
            withheld: &["hash", "key_prefix", "tenant", "user_id", "network"],
            // A visitor's: it refuses the cookie as long as one may be out there. It names nobody any more.
            stays: Some("hash = ?3"),
            ..ROWS
        },
        100,
    ),
    users(
        "api_keys",
        Rows {
            key: &["prefix"],
            line: Some("api_key"),
            columns: &[
                "prefix",
                "name",
                "scopes",
                "created_at",
                "created_by",
                "expires_at",
                "revoked_at",
                "last_used_at",
            ],
            withheld: &["hash", "tenant", "user_id"],
            // The next life's: somebody minted them while the erasure ran.
            stays: Some(store::NEXT_LIFE),
            ..ROWS
        },
        100,
    ),
    users(
        "audit",
        Rows {
            key: &["created_at", "id"],
            line: Some("audit_entry"),
            columns: &["id", "created_at", "action", "target", "detail", "address"],
            // The sign keeps SQLite from the primary key, which begins with the tenant alone.
            of_user: "+tenant = ?1 AND user_id = ?2",
            // All of them: the log answers for what a user did, and for the erasure. It has no text of theirs.
            stays: Some("true"),
            ..ROWS
        },
        100,
    ),
    Table { name: "erasures", whose: Whose::Nobodys("a row says for 30 days that a user's data is gone") },
    Table { name: "retention_runs", whose: Whose::Nobodys("a run of the retention has numbers alone") },
];

/// The rows of most tables: they name their owner.
const ROWS: Rows = Rows {
    of_user: store::OWN,
    key: &[],
    line: None,
    columns: &[],
    withheld: OWNER,
    at_once: 0,
    stays: None,
};

const fn users(name: &'static str, rows: Rows, at_once: u32) -> Table {
    Table { name, whose: Whose::Users(Rows { at_once, ..rows }) }
}

/// The users' tables, with the way to their rows.
pub fn of_users() -> impl Iterator<Item = (&'static str, Rows)> {
    TABLES.iter().filter_map(|table| match table.whose {
        Whose::Users(rows) => Some((table.name, rows)),
        Whose::Nobodys(_) => None,
    })
}

/// A folder of R2, and the `kind` of the lines of its files in the export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub prefix: String,
    pub line: &'static str,
}

/// The folder of all earlier versions of files, which has a folder for each workspace in it.
const VERSIONS: &str = "versions/";

/// The folders of a thread.
pub fn of_thread(owner: &Owner, thread_id: uuid::Uuid) -> [Folder; 3] {
    let root = owner.workspace_root(thread_id);
    [
        Folder { prefix: format!("{VERSIONS}{root}"), line: "file_version" },
        Folder { prefix: root, line: "file" },
        Folder { prefix: owner.records_root(thread_id), line: "record" },
    ]
}

/// The folders of a user that belong to no thread: all named workspaces.
pub fn of_owner(owner: &Owner) -> [Folder; 2] {
    let root = owner.workspaces_root();
    [
        Folder { prefix: format!("{VERSIONS}{root}"), line: "file_version" },
        Folder { prefix: root, line: "file" },
    ]
}

#[cfg(test)]
pub mod tests;
