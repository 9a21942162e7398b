//! The kinds of stored data: each table of D1 (`resources::TABLES`) and each folder of R2. A table or a folder belongs to
//! users, and then the export and the erasure read here how; or it does not, and the reason stands here. The tests compare
//! the list with the migrations and with the keys of R2.
//!
//! The data of a thread's object has no list here: the export asks the object, which has one (`storage/export_rows.rs`), and
//! the object deletes all of it.

use wire::protocol::Owner;

use super::store;
pub use crate::resources::TABLES;

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

/// The rows of most tables: they name their owner.
pub const ROWS: Rows = Rows {
    of_user: store::OWN,
    key: &[],
    line: None,
    columns: &[],
    withheld: OWNER,
    at_once: 0,
    stays: None,
};

/// A table of users.
pub const fn users(name: &'static str, rows: Rows, at_once: u32) -> Table {
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
