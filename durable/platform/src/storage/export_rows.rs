//! The tables of a thread that its owner's export reads row by row, because no other command tells all of them. The export
//! has every row: those of versions beside the thread's path too, and those of agents that have ended. Pure.

use serde::Serialize;
use serde_json::{Map, Value};

/// A table of which the export has each row.
pub struct Table {
    /// The `kind` of its lines.
    pub kind: &'static str,
    pub name: &'static str,
    /// The column that orders its rows, from 1 on.
    pub row: &'static str,
    /// The condition of the rows that have a line.
    pub which: &'static str,
    /// The members of a line, each with the expression that gives it. Those that end with `:json` have JSON in them.
    pub members: &'static [(&'static str, &'static str)],
}

/// A table whose rows all have a line, in the order of the column `row`.
const TABLE: Table = Table { kind: "", name: "", row: "row", which: "true", members: &[] };

/// The tables, in their order. A cursor names its table by its kind.
pub const TABLES: &[Table] = &[
    Table {
        kind: "history",
        name: "messages",
        which: "history IS NOT NULL",
        members: &[("turn_id", "turn_id"), ("messages:json", "history")],
        ..TABLE
    },
    Table {
        kind: "summary",
        name: "summaries",
        row: "covers",
        members: &[
            ("turn_id", "turn_id"),
            ("text", "text"),
            ("model", "model"),
            ("created_at", "created_at"),
        ],
        ..TABLE
    },
    Table {
        kind: "plan_state",
        name: "plans",
        row: "number",
        members: &[("turn_id", "turn_id"), ("plan:json", "payload")],
        ..TABLE
    },
    Table {
        kind: "agent",
        name: "agents",
        row: "rowid",
        // The members of its state are in the rows of its states.
        members: &[
            ("agent_id", "id"),
            ("agent:json", "json_remove(made, '$.id', '$.interlocutors', '$.missed')"),
        ],
        ..TABLE
    },
    Table {
        kind: "agent_state",
        name: "agent_states",
        members: &[("agent_id", "id"), ("turn_id", "turn_id"), ("state:json", "state")],
        ..TABLE
    },
    Table {
        kind: "agent_round",
        name: "agent_rounds",
        members: &[("agent_id", "id"), ("turn_id", "turn_id"), ("messages:json", "messages")],
        ..TABLE
    },
    Table {
        kind: "agent_life",
        name: "agent_lives",
        members: &[("agent_id", "id"), ("turn_id", "turn_id"), ("life:json", "life")],
        ..TABLE
    },
    Table {
        kind: "queued_message",
        name: "queued_messages",
        members: &[
            ("id", "id"),
            ("request:json", "json_extract(payload, '$.request')"),
            ("created_at", "created_at"),
            ("failure:json", "failure"),
        ],
        ..TABLE
    },
];

/// How many rows a statement reads. The longest, a message that waits or the history of a turn, has about a megabyte.
pub const ROWS: usize = 4;
/// The most bytes of a page's texts, but a page has at least one row.
pub const PAGE_BYTES: usize = 500_000;

/// The rows of a table after the row `?1`, at most `?2`: the row's number, then the members.
pub fn select(Table { name, row, which, members, .. }: &Table) -> String {
    let members: Vec<&str> = members.iter().map(|(_, expression)| *expression).collect();
    let members = members.join(", ");
    format!("SELECT {row}, {members} FROM {name} WHERE {row} > ?1 AND {which} ORDER BY {row} LIMIT ?2")
}

/// Some lines, and the cursor of the next page; none at the end.
#[derive(Debug, PartialEq, Serialize)]
pub struct Page {
    pub lines: Vec<Map<String, Value>>,
    pub next_cursor: Option<String>,
}

/// The number of the table and the row after which a page begins. None: this is no cursor.
pub fn place(cursor: Option<&str>) -> Option<(usize, i64)> {
    let Some(cursor) = cursor else { return Some((0, 0)) };
    let (kind, row) = cursor.split_once(':')?;
    let at = TABLES.iter().position(|table| table.kind == kind)?;
    Some((at, row.parse().ok()?))
}

/// Reads a page. `read` gives the next rows of a table after a row, at most [`ROWS`], and none of a table that is not
/// there: the row's number, and its members as texts, numbers and null.
pub fn page<E>(
    (at, mut after): (usize, i64),
    read: impl Fn(&Table, i64) -> Result<Vec<(i64, Vec<Value>)>, E>,
) -> Result<Page, E> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for table in TABLES.iter().skip(at) {
        loop {
            let rows = read(table, after)?;
            let is_last = rows.len() < ROWS;
            for (row, members) in rows {
                bytes += members.iter().filter_map(Value::as_str).map(str::len).sum::<usize>();
                if !lines.is_empty() && bytes > PAGE_BYTES {
                    let next_cursor = Some(format!("{}:{after}", table.kind));
                    return Ok(Page { lines, next_cursor });
                }
                lines.push(line(table, members));
                after = row;
            }
            if is_last {
                break;
            }
        }
        after = 0;
    }
    Ok(Page { lines, next_cursor: None })
}

fn line(table: &Table, members: Vec<Value>) -> Map<String, Value> {
    let names = table.members.iter().map(|(name, _)| *name);
    let told = |(name, value): (&str, Value)| match (name.strip_suffix(":json"), value) {
        (Some(name), Value::String(text)) => {
            (name.to_owned(), wire::json::from_str(&text).unwrap_or(Value::String(text)))
        }
        (name_of_json, value) => (name_of_json.unwrap_or(name).to_owned(), value),
    };
    let kind = ("kind".to_owned(), table.kind.into());
    names.zip(members).map(told).chain([kind]).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rusqlite::types::ValueRef;
    use rusqlite::{Connection, params};
    use serde_json::json;

    use super::*;
    use crate::storage::agent_rows::{
        CREATE_AGENTS, CREATE_LIVES, PUT_AGENT, PUT_AGENT_ROUNDS, PUT_AGENT_STATE, columns,
    };
    use crate::storage::schema::{
        CREATE, CREATE_PLANS, CREATE_QUEUE, CREATE_SUMMARIES, PUT_QUEUED, UPSERT_PLAN, UPSERT_SUMMARY,
    };
    use crate::storage::{digest_rows, instruction_rows, session_rows, title_rows};
    use engine::journal::Agent;

    /// The other tables of a thread, and why the export does not read them here. A column that is new in one of those with
    /// commands joins the command's answer, or `TABLES`.
    const ELSEWHERE: &[(&str, &str, &str)] = &[
        ("meta", "the thread itself, its hooks and its standing approvals have commands", META),
        ("messages", "they have a command, but for the history", MESSAGES),
        ("turns", "the versions among the messages tell them", TURNS),
        ("workflow_sessions", "they have a command", SESSIONS),
        ("workflow_steps", "they have a command", STEPS),
        ("events", "they repeat the messages, in a form for machines", ""),
        ("journal", "as the events; the record of an ended turn is a file", ""),
        ("timers", "the service's own", ""),
        ("outbox", "news for D1, which has it a moment later", ""),
        ("removed_messages", "ids alone", ""),
        ("kept_instructions", "a copy of those in D1", ""),
        ("title_wish", "the service's own", ""),
        ("workflow_repeats", "the service's own", ""),
        ("request_digests", "digests of requests, whose messages have a command", ""),
        ("workflow_notices", "a notice of the session's end, until it is sent", ""),
    ];
    const META: &str = "approved_tools created_at deleted_at hooks one owner path_seq request_seq schema_version \
        seq_reserved thread_id title trimmed_through";
    const MESSAGES: &str =
        "content created_at execution_tree finish_reason history id parts role row stop turn_id usage";
    const TURNS: &str = "assistant_message_id failed_attempts failing_since generation parent_seq resumptions retry_at \
        seq_first seq_last started_at status turn_id";
    const SESSIONS: &str = "context created_at definition goal id key_id mode nonce reason refused revision status \
        step updated_at version workflow_id";
    const STEPS: &str = "digest key_id nonce notes session_id step updates";
    /// The columns that are not in a line, or that an expression has in it.
    const WITHIN: &[(&str, &str)] = &[
        ("plans", "id"),
        ("plans", "status"),
        ("agents", "made"),
        ("queued_messages", "payload"),
        ("queued_messages", "words"),
        ("queued_messages", "attachments"),
        ("queued_messages", "attempts"),
    ];

    fn thread() -> Connection {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        thread
    }

    fn read(thread: &Connection, table: &Table, after: i64) -> Vec<(i64, Vec<Value>)> {
        if !crate::storage::has_table(thread, table.name) {
            return Vec::new();
        }
        let mut statement = thread.prepare(&select(table)).unwrap();
        let value = |value: ValueRef<'_>| match value {
            ValueRef::Text(text) => std::str::from_utf8(text).unwrap().into(),
            ValueRef::Integer(number) => number.into(),
            _ => Value::Null,
        };
        let members = table.members.len();
        let rows = statement.query_map(params![after, ROWS as i64], |row| {
            Ok((row.get(0)?, (1..=members).map(|at| row.get_ref(at).map(value).unwrap()).collect()))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn page_of(thread: &Connection, cursor: Option<&str>) -> Page {
        page(place(cursor).unwrap(), |table, after| Ok::<_, ()>(read(thread, table, after))).unwrap()
    }

    // Issue 23, 3: a new table of the object is in the export, or a reason stands here.
    #[test]
    fn each_table_and_column_of_a_thread_is_exported_here_or_elsewhere() {
        let thread = thread();
        let others = [CREATE_PLANS, CREATE_QUEUE, CREATE_SUMMARIES, CREATE_AGENTS, CREATE_LIVES];
        let more = [
            digest_rows::CREATE_DIGESTS,
            instruction_rows::CREATE_INSTRUCTIONS,
            session_rows::CREATE_SESSIONS,
            title_rows::CREATE_WISH,
        ];
        others.into_iter().chain(more).for_each(|create| thread.execute_batch(create).unwrap());
        let names = |sql: &str| {
            let mut statement = thread.prepare(sql).unwrap();
            let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            names.map(Result::unwrap).collect::<BTreeSet<_>>()
        };
        let all = names("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
        let here = TABLES.iter().map(|table| table.name);
        let known = here.chain(ELSEWHERE.iter().map(|(name, ..)| *name));
        assert_eq!(all, known.map(str::to_owned).collect());
        let columns = |name: &str| names(&format!("SELECT name FROM pragma_table_info('{name}')"));
        for (name, _, known) in ELSEWHERE.iter().filter(|(_, _, known)| !known.is_empty()) {
            assert_eq!(columns(name), known.split(' ').map(str::to_owned).collect(), "{name}");
        }
        for Table { name, row, members, .. } in TABLES.iter().filter(|table| table.name != "messages") {
            let within = WITHIN.iter().filter(|(table, _)| table == name).map(|(_, column)| *column);
            let told = members.iter().map(|(_, expression)| *expression).chain([*row]);
            let known: BTreeSet<_> = told.chain(within).filter(|known| *known != "rowid").collect();
            let told = known.into_iter().filter(|known| !known.contains('(')).map(str::to_owned);
            assert_eq!(columns(name), told.collect(), "{name}");
        }
    }

    #[test]
    fn a_thread_without_these_tables_has_no_lines() {
        assert_eq!(page_of(&thread(), None), Page { lines: Vec::new(), next_cursor: None });
    }

    // Issue 23, 3: rows of each table, an agent that has ended among them, and nothing of a visitor's address.
    #[test]
    fn a_line_has_a_row_whole() {
        let thread = thread();
        let tables = [CREATE_PLANS, CREATE_QUEUE, CREATE_SUMMARIES, CREATE_AGENTS, CREATE_LIVES];
        tables.into_iter().for_each(|create| thread.execute_batch(create).unwrap());
        let insert = "INSERT INTO messages (row, id, turn_id, role, content, created_at, history) VALUES (?1, ?2, 't1', ?3, '', 1, ?4)";
        thread.execute(insert, params![1, "m1", "user", None::<String>]).unwrap();
        thread.execute(insert, params![2, "m2", "assistant", r#"[{"role":"tool"}]"#]).unwrap();
        thread.execute(UPSERT_SUMMARY, params![7, "t1", "They talked.", "m", 9]).unwrap();
        thread.execute(UPSERT_PLAN, params!["p", "t1", "draft", r#"{"id":"p"}"#]).unwrap();
        let agent = Agent {
            id: "a".to_owned(),
            name: "critic".to_owned(),
            instructions: "Criticize.".to_owned(),
            heard: vec!["Hello.".to_owned()],
            missed: true,
            ..Agent::default()
        };
        let (made, state) = columns(&agent).unwrap();
        thread.execute(PUT_AGENT, params!["a", made]).unwrap();
        thread.execute(PUT_AGENT_STATE, params!["a", "t1", state]).unwrap();
        thread.execute(PUT_AGENT_STATE, params!["a", "t2", None::<String>]).unwrap();
        thread
            .execute(PUT_AGENT_ROUNDS, params!["a", "t1", r#"["[{\"role\":\"user\",\"content\":\"Hi\"}]"]"#])
            .unwrap();
        let payload =
            r#"{"request":{"content":[{"type":"image","data":"data:"}]},"visitor":{"address":"192.0.2.1"}}"#;
        thread.query_row(PUT_QUEUED, params!["q", payload, "", "[]", 11, 10], |_| Ok(())).unwrap();
        let lines = json!([
            { "kind": "history", "turn_id": "t1", "messages": [{ "role": "tool" }] },
            { "kind": "summary", "turn_id": "t1", "text": "They talked.", "model": "m", "created_at": 9 },
            { "kind": "plan_state", "turn_id": "t1", "plan": { "id": "p" } },
            { "kind": "agent", "agent_id": "a", "agent": { "name": "critic", "instructions": "Criticize." } },
            { "kind": "agent_state", "agent_id": "a", "turn_id": "t1", "state": {
                "interlocutors": { "speakers": [], "listeners": [] }, "heard": ["Hello."], "missed": true,
            } },
            { "kind": "agent_state", "agent_id": "a", "turn_id": "t2", "state": null },
            { "kind": "agent_round", "agent_id": "a", "turn_id": "t1", "messages": [{ "role": "user", "content": "Hi" }] },
            { "kind": "queued_message", "id": "q", "created_at": 11, "failure": null,
              "request": { "content": [{ "type": "image", "data": "data:" }] } },
        ]);
        let page = page_of(&thread, None);
        assert_eq!((json!(page.lines), page.next_cursor), (lines, None));
    }

    #[test]
    fn a_page_ends_at_its_bytes_and_the_next_goes_on_there() {
        let thread = thread();
        thread.execute_batch(CREATE_AGENTS).unwrap();
        // A row of so many bytes beside the text: one character of an id, one of a turn, and two quotes.
        let round = |text: usize| {
            let messages = json!([format!("\"{}\"", "x".repeat(text))]).to_string();
            thread.execute(PUT_AGENT_ROUNDS, params!["a", "t", messages]).unwrap();
        };
        let read = |cursor: Option<&str>| {
            let Page { lines, next_cursor } = page_of(&thread, cursor);
            (lines.len(), next_cursor)
        };
        round(PAGE_BYTES - 9);
        round(1);
        assert_eq!(read(None), (2, None), "exactly as many bytes as a page has");
        round(0);
        assert_eq!(read(None), (2, Some("agent_round:2".to_owned())));
        assert_eq!(read(Some("agent_round:2")), (1, None));
        round(2 * PAGE_BYTES);
        assert_eq!(read(Some("agent_round:2")), (1, Some("agent_round:3".to_owned())));
        assert_eq!(read(Some("agent_round:3")), (1, None), "a page has at least one row");
        // More rows than one statement reads; the queue comes after them, on a page of its own.
        (0..2 * ROWS).for_each(|_| round(1));
        assert_eq!(read(Some("agent_round:4")), (2 * ROWS, None));
        thread.execute_batch(CREATE_QUEUE).unwrap();
        let payload = format!(r#"{{"request":"{}"}}"#, "x".repeat(PAGE_BYTES));
        thread.query_row(PUT_QUEUED, params!["q", payload, "", "[]", 1, 10], |_| Ok(())).unwrap();
        assert_eq!(read(Some("agent_round:4")), (2 * ROWS, Some("queued_message:0".to_owned())));
        assert_eq!(read(Some("queued_message:0")), (1, None));
    }

    #[test]
    fn other_texts_are_no_cursors() {
        assert_eq!([place(None), place(Some("history:7"))], [Some((0, 0)), Some((0, 7))]);
        for text in ["", "agent", "agent:", "agent:x", "agents:1", "meta:1", "agent:9223372036854775808"] {
            assert_eq!(place(Some(text)), None, "{text}");
        }
    }
}
