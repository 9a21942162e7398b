//! Reads and changes the rows in D1 past the service, makes D1 refuse, and reads the files of R2 and of the threads'
//! objects.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::process::Command;

use crate::case::first;
use crate::{Event, http};

/// Node has SQLite built in, and wrangler needs Node anyway. The runtime locks a file for a moment when it opens or
/// closes it: each reader waits for it (`timeout`, in milliseconds).
const QUERY: &str = "
const { DatabaseSync } = require('node:sqlite');
const [file, sql, ...values] = process.argv.slice(1);
const rows = new DatabaseSync(file, { readOnly: true, timeout: 10_000 }).prepare(sql).all(...values);
console.log(JSON.stringify(rows));
";

const CHANGE: &str = "
const { DatabaseSync } = require('node:sqlite');
const [file, sql] = process.argv.slice(1);
const database = new DatabaseSync(file, { timeout: 10_000 });
database.exec(sql);
";

/// The variable of the main instance.
const MAIN: &str = "ESPALIER_STATE_DIR";

/// The path at which wrangler's own explorer takes statements for D1; the database has this id in `wrangler.toml`. The
/// runtime that has the database open runs the statement. A second process that wrote to the file would lock it, and
/// the runtime does not wait for a lock: it would answer requests of other tests with 500.
const D1: &str = "/cdn-cgi/local/explorer/api/d1/database/00000000-0000-0000-0000-000000000000/raw";

/// The runtime's name of an object, made from the class and the object's own name.
const OBJECT_ID: &str = "
const { createHash, createHmac } = require('node:crypto');
const [unique, name] = process.argv.slice(1);
const key = createHash('sha256').update(unique).digest();
const mac = (of) => createHmac('sha256', key).update(of).digest().subarray(0, 16);
const first = mac(name);
process.stdout.write(Buffer.concat([first, mac(first)]).toString('hex'));
";

/// The class of threads' objects, as the runtime names it: `wrangler.toml` names the Worker.
const THREADS: &str = "espalier-ThreadObject";

/// The rows of a query on the main instance's D1.
pub async fn d1(sql: &str, values: &[&str]) -> Vec<Value> {
    ask(MAIN, sql, values).await
}

/// The keys of all files in the main instance's R2.
pub async fn r2_keys() -> Vec<String> {
    r2_keys_at(MAIN).await
}

/// The keys of all files in an instance's R2.
pub async fn r2_keys_at(state: &str) -> Vec<String> {
    let folder = PathBuf::from(crate::env(state)).join("v3/r2/miniflare-R2BucketObject");
    let rows =
        node(QUERY, &one_database(&folder).await, "SELECT key FROM _mf_objects ORDER BY key", &[]).await;
    let rows: Vec<Value> = serde_json::from_slice(&rows).expect("rows as JSON");
    rows.iter().map(|row| row["key"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The rows of a turn in a table, without the columns that differ from run to run.
pub async fn rows(events: &[Event], table: &str, columns: &str) -> Vec<Value> {
    let turn = first(events, "session").text("turn_id").to_owned();
    let ended = "SELECT 1 FROM messages WHERE turn_id = ?1 AND role = 'assistant'";
    eventually("the turn is in D1", || async { (!d1(ended, &[&turn]).await.is_empty()).then_some(()) }).await;
    d1(&format!("SELECT {columns} FROM {table} WHERE turn_id = ?1 ORDER BY id"), &[&turn]).await
}

/// The rows of a query on the D1 of the instance whose state is in the folder that this variable names.
pub async fn d1_at(state: &str, sql: &str) -> Vec<Value> {
    ask(state, sql, &[]).await
}

/// Changes that D1.
pub async fn change_at(state: &str, sql: &str) {
    ask(state, sql, &[]).await;
}

async fn ask(state: &str, sql: &str, values: &[&str]) -> Vec<Value> {
    let url = crate::env(&state.replace("_STATE_DIR", "_URL")) + D1;
    let body = json!({ "sql": sql, "params": values }).to_string();
    let answer = http::send("POST", &url, &[("content-type", "application/json")], body).await.json().await;
    assert_eq!(answer["success"], true, "{sql}: {answer}");
    let found = &answer["result"][0]["results"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let columns = list(&found["columns"]);
    let named = |row: &Value| {
        let names = columns.iter().map(|name| name.as_str().unwrap_or_default().to_owned());
        Value::Object(names.zip(list(row)).collect::<Map<_, _>>())
    };
    list(&found["rows"]).iter().map(named).collect()
}

/// From now on D1 takes no message whose content has this text in it, until [`take`].
pub async fn refuse(text: &str) {
    let name = trigger(text);
    let sql = format!(
        "CREATE TRIGGER {name} BEFORE INSERT ON messages WHEN instr(NEW.content, '{text}')
         BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
    );
    change_at(MAIN, &sql).await;
}

/// Undoes [`refuse`].
pub async fn take(text: &str) {
    change_at(MAIN, &format!("DROP TRIGGER {}", trigger(text))).await;
}

fn trigger(text: &str) -> String {
    let name: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("refuse_{name}")
}

/// The rows of a query on the database of a thread's object, at the instance whose state is in the folder that this
/// variable names.
pub async fn object_at(state: &str, name: &str, sql: &str) -> Vec<Value> {
    serde_json::from_slice(&node(QUERY, &object(state, name).await, sql, &[]).await).expect("rows as JSON")
}

/// Changes that database behind the object's back. Makes it if the object was never used.
pub async fn change_object_at(state: &str, name: &str, sql: &str) {
    let file = object(state, name).await;
    if let Some(folder) = file.parent() {
        tokio::fs::create_dir_all(folder).await.expect("a folder for objects");
    }
    node(CHANGE, &file, sql, &[]).await;
}

async fn object(state: &str, name: &str) -> PathBuf {
    let id = node(OBJECT_ID, Path::new(THREADS), name, &[]).await;
    let id = String::from_utf8_lossy(&id).into_owned();
    PathBuf::from(crate::env(state)).join("v3/do").join(THREADS).join(format!("{id}.sqlite"))
}

async fn node(script: &str, database: &Path, sql: &str, values: &[&str]) -> Vec<u8> {
    let output = Command::new("node")
        .args(["--no-warnings", "-e", script])
        .arg(database)
        .arg(sql)
        .args(values)
        .output()
        .await
        .expect("node runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {complaint}");
    output.stdout
}

/// The file that wrangler keeps D1 in, of an instance whose state is here.
pub async fn database(state: &Path) -> PathBuf {
    one_database(&state.join("v3/d1/miniflare-D1DatabaseObject")).await
}

async fn one_database(folder: &Path) -> PathBuf {
    let mut files =
        tokio::fs::read_dir(folder).await.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    while let Some(file) = files.next_entry().await.expect("a readable folder") {
        let path = file.path();
        // Beside the one database lies the metadata of miniflare.
        if path.extension().is_some_and(|extension| extension == "sqlite")
            && !path.ends_with("metadata.sqlite")
        {
            return path;
        }
    }
    panic!("no database in {}", folder.display());
}

/// Asks until there is an answer, for states of which no event tells: the service writes D1 after the turn has ended,
/// for example. Everything else in these tests waits for an event.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, ask: impl Fn() -> F) -> T {
    for _ in 0..600 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("not within 60 s: {what}");
}

/// Looks for a text in the tables of each database and in each file of R2. A database whose bytes do not have it is not
/// opened, but for D1: its index of words shortens them. Of the rest it tells the table, or that only freed pages have it.
const SEARCH: &str = "
const { DatabaseSync } = require('node:sqlite');
const fs = require('node:fs');
const path = require('node:path');
const [state, text] = process.argv.slice(1);
const root = path.join(state, 'v3');
const has = (value) => typeof value === 'string' ? value.includes(text)
  : value instanceof Uint8Array && Buffer.from(value).includes(text);
const bytes = (file) => fs.existsSync(file) && fs.readFileSync(file).includes(text);
const found = new Set();
for (const entry of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  const folder = path.relative(root, entry.parentPath).split(path.sep)[0];
  if (!entry.isFile() || /-(wal|shm)$/.test(file)) continue;
  if (!file.endsWith('.sqlite')) {
    if (bytes(file)) found.add(`${folder} file`);
    continue;
  }
  const raw = bytes(file) || bytes(`${file}-wal`);
  if (!raw && folder !== 'd1') continue;
  const database = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
  const tables = database.prepare(\"SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'\");
  let inTable = false;
  for (const { name } of tables.all()) {
    const rows = database.prepare(`SELECT * FROM \"${name}\"`);
    rows.setReadBigInts(true);
    if (!rows.all().some((row) => Object.values(row).some(has))) continue;
    found.add(`${folder} ${name}`);
    inTable = true;
  }
  if (raw && !inTable) found.add(`${folder} freed`);
}
console.log(JSON.stringify([...found].sort()));
";

/// Where the state of an instance has this text: `d1 memories`, `do messages`, `r2 file`; `d1 freed` for pages of a file
/// that no table uses any more.
pub async fn places(state: &str, text: &str) -> Vec<String> {
    let state = PathBuf::from(crate::env(state));
    serde_json::from_slice(&node(SEARCH, &state, text, &[]).await).expect("a list as JSON")
}
