//! The entries of deletions on real tables: each is written in the transaction of its deletion, and where there is something to
//! delete. Issue 42, M1: a loop of deletions of ids that nobody has filled the log.

use bindings::sql::OwnedSql;
use features::knowledge::statements as knowledge;
use features::{projects, shares, workflows};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{HAS_LEFT, HAS_SOMETHING, MAX_A_DAY, insert};
use crate::account::kinds::tests::{insert as insert_row, migrated, plan};
use crate::router;

const TENANT: &str = "acme";
const USER: &str = "key:ada";

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The values of a statement: the user, and more.
fn user_values(more: &[&str]) -> Vec<Value> {
    [TENANT, USER].iter().chain(more).copied().map(text).collect()
}

/// Writes an entry about a target where a condition holds, whose parameters from `?9` on are `more`. Whether there is one.
fn write(database: &Connection, target: &str, at: i64, condition: &str, more: &[&str]) -> bool {
    let id = text(&format!("{target} {at}"));
    let deed = [text(TENANT), text(USER), Value::Integer(at), text(target), id, text("data_deleted")];
    let values = deed.into_iter().chain([Value::Null, Value::Null]).chain(more.iter().copied().map(text));
    database.execute(&insert(condition), params_from_iter(values)).unwrap() == 1
}

fn count(database: &Connection, sql: &str, values: Vec<Value>) -> usize {
    let mut statement = database.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    statement.query_map(params_from_iter(values), |_| Ok(())).unwrap().map(Result::unwrap).count()
}

/// A deletion: its route, the table of its rows, its condition with the parameters from `?9` on, and its statements with
/// theirs from `?3` on.
struct Deletion {
    route: &'static str,
    table: &'static str,
    condition: &'static str,
    condition_values: &'static [&'static str],
    statements: &'static [OwnedSql<'static>],
    statement_values: &'static [&'static str],
}

impl Deletion {
    /// Does what a request does, in one transaction. Whether it leaves an entry.
    fn request(&self, database: &mut Connection, at: i64) -> bool {
        let transaction = database.transaction().unwrap();
        let is_logged = write(&transaction, self.route, at, self.condition, self.condition_values);
        for sql in self.statements {
            count(&transaction, sql, user_values(self.statement_values));
        }
        transaction.commit().unwrap();
        is_logged
    }
}

/// The id of the row, as `insert_row` makes it.
const ID: &str = "key:ada 1";

/// The deletions in D1, and the revocation of a share link. Those in R2 find their object first.
const IN_D1: [Deletion; 9] = [
    project_deletion("/api/projects/{}", &["project", ID]),
    project_deletion("/api/projects/{}/tasks/{}", &["task", ID]),
    project_deletion("/api/projects/{}/documents/{}", &["document", ID]),
    Deletion {
        route: "/api/memories",
        table: "memories",
        condition: knowledge::MEMORIES_THERE,
        condition_values: &[],
        statements: &[knowledge::CLEAR],
        statement_values: &[],
    },
    Deletion {
        route: "/api/memories/{}",
        table: "memories",
        condition: knowledge::MEMORY_THERE,
        condition_values: &[ID],
        statements: &[knowledge::FORGET],
        statement_values: &[ID],
    },
    Deletion {
        route: "/api/collections/{}",
        table: "collections",
        condition: knowledge::COLLECTION_THERE,
        condition_values: &[ID],
        statements: &knowledge::DELETE_COLLECTION,
        statement_values: &[ID],
    },
    Deletion {
        route: "/api/collections/{}/documents/{}",
        table: "documents",
        condition: knowledge::DOCUMENT_THERE,
        condition_values: &[ID, ID],
        statements: &knowledge::DELETE_DOCUMENTS,
        statement_values: &[ID, "[\"key:ada 1\"]"],
    },
    Deletion {
        route: "/api/workflows/{}",
        table: "workflows",
        condition: workflows::statements::THERE,
        condition_values: &[ID],
        statements: &[workflows::statements::DELETE],
        statement_values: &[ID],
    },
    Deletion {
        route: SHARE,
        table: "shares",
        // The target of the entry is the link.
        condition: shares::statements::THERE,
        condition_values: &[],
        statements: &[shares::statements::REVOKE],
        statement_values: &[SHARE],
    },
];

/// A share link, whose id is the target of its entry.
const SHARE: &str = "key:ada 1";

const fn project_deletion(route: &'static str, item: &'static [&'static str]) -> Deletion {
    Deletion {
        route,
        table: "project_items",
        condition: projects::statements::THERE,
        condition_values: item,
        statements: &[projects::statements::DELETE],
        statement_values: item,
    }
}

const IN_R2: [&str; 3] = ["/api/threads/{}/files/{*}", "/api/workspaces/{}", "/api/workspaces/{}/files/{*}"];

/// Makes the task that was inserted an item of another kind, in no project.
fn set_kind(database: &Connection, kind: &str) {
    let sql = "UPDATE project_items SET kind = ?1, project_id = '' WHERE user_id = ?2 AND id = ?3 AND kind = 'task'";
    database.execute(sql, [kind, USER, ID]).unwrap();
}

#[test]
fn a_deletion_leaves_an_entry_where_there_is_something_to_delete() {
    let tested: Vec<_> = IN_D1.iter().map(|deletion| deletion.route).chain(IN_R2).collect();
    let mut deletions = router::table().filter(|row| row.deletes);
    assert!(deletions.all(|row| tested.contains(&row.path)), "give each deletion a row here");
    for deletion in IN_D1 {
        let Deletion { route, table, condition_values, .. } = deletion;
        let mut database = migrated();
        insert_row(&database, table, "key:bob", 1);
        // All memories go at once; every other deletion leaves the user's other rows.
        let others = usize::from(route != "/api/memories");
        (0..others).for_each(|_| insert_row(&database, table, USER, 2));
        if table == "project_items" {
            insert_row(&database, table, USER, 1);
            set_kind(&database, "template");
        }
        assert!(!deletion.request(&mut database, 1), "{route}: it is not there");
        insert_row(&database, table, USER, 1);
        if table == "project_items" {
            set_kind(&database, condition_values[0]);
        }
        assert!(deletion.request(&mut database, 2), "{route}");
        assert!(!deletion.request(&mut database, 3), "{route}: it is gone");
        assert_eq!(count(&database, "SELECT 1 FROM audit", Vec::new()), 1, "{route}");
        let left = format!("SELECT 1 FROM {table} WHERE user_id = ?1");
        let [mine, of_bob] = [USER, "key:bob"].map(|user| count(&database, &left, vec![text(user)]));
        assert_eq!((mine, of_bob), (others + usize::from(table == "project_items"), 1), "{route}");
    }
}

// The deeds that cost nothing else: a loop of sign-ins filled the log.
#[test]
fn a_user_leaves_a_thousand_entries_of_an_action_in_a_day() {
    let database = migrated();
    let is_full = |since: i64, action: &str| {
        let more = [Value::Integer(since), text(action), Value::Integer(i64::from(MAX_A_DAY) - 1)];
        count(&database, &HAS_LEFT, user_values(&[]).into_iter().chain(more).collect()) == 1
    };
    for at in 1..i64::from(MAX_A_DAY) {
        assert!(write(&database, "t", at, "true", &[]));
    }
    insert_row(&database, "audit", "key:bob", 5_000);
    assert!(!is_full(0, "data_deleted"), "one less");
    assert!(write(&database, "t", 5_001, "true", &[]));
    assert!(is_full(0, "data_deleted") && !is_full(0, "signed_in") && !is_full(1, "data_deleted"));
    // All visitors are one tenant, whose log is long.
    assert!(plan(&database, &HAS_LEFT).contains("user_id=? AND created_at>?"));
}

// A visitor costs nothing: each export of one who has nothing left an entry.
#[test]
fn a_visitor_who_has_stored_nothing_leaves_no_entry_of_an_export() {
    let database = migrated();
    let leaves = |at: i64, visit: &str| write(&database, "x", at, HAS_SOMETHING, &[visit]);
    assert!(leaves(1, "") && !leaves(2, "a visit"));
    let row = "INSERT INTO sessions (hash, key_prefix, created_at, expires_at) VALUES ('a visit', '', 1, 9)";
    database.execute(row, []).unwrap();
    assert!(leaves(3, "a visit"));
}
