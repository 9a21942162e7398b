//! `GET /api/me/export`: reads the caller's data from D1, R2 and the objects of their threads, page by page. Each page
//! begins where the cursor says, so a client may stop and go on at any time.

use bindings::d1::{Owned, number, text};
use bindings::sql::OwnedSql;
use platform::storage::outgoing::first_id;
use serde_json::{Map, Value, json};
use uuid::Uuid;
use wire::protocol::{Owner, Role, ThreadCommand, ThreadEnvelope};
use wire::store::StoreError;
use worker::wasm_bindgen::JsValue;
use worker::{Env, console_error};

use super::pieces::piece;
use super::{BUCKET, UNLISTED_MS};
use crate::account::export::{
    FORMAT, Line, MESSAGES, Place, Refused, Section, Source, Step, line, page, refused,
};
use crate::account::kinds::{self, Folder, Rows};
use crate::account::store;
use crate::auth::scope::Scope;
use crate::auth::sessions::visit_of;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;
use crate::routes::credentials::Caller;
use crate::routes::{audit, object};

/// The end of the text that stands for an image or a file in a message.
const ATTACHED: &str = " kB]";

/// Answers with a page.
pub async fn export(call: &Call, caller: Caller) -> std::result::Result<Answer, Failure> {
    let whole = caller.has(Scope::Admin);
    let owner = caller.owner()?;
    let cursor = query::cursor(call.query());
    let place = Place::read(cursor.as_deref())?;
    // Anybody can make up a cursor that begins an export, so each page makes sure that the log has an entry.
    audit::record_export(call, &owner, cursor.is_some()).await?;
    let mut source = Stored {
        env: &call.env,
        owner: &owner,
        now: call.now,
        requests: 0,
        whole,
        may_repeat: false,
        fails: false,
    };
    let page = page(&mut source, place).await?;
    let reply = Reply::bytes(200, "application/x-ndjson", page).with("cache-control", "no-store");
    Ok(reply.with("content-disposition", "attachment; filename=\"export.jsonl\"").into())
}

/// The stored data of a user.
struct Stored<'a> {
    env: &'a Env,
    owner: &'a Owner,
    now: u64,
    requests: u32,
    /// Whether records have the words of the operator's hooks.
    whole: bool,
    /// Whether this step may repeat a request to an object that failed, and whether one failed for good.
    may_repeat: bool,
    fails: bool,
}

type Stepped = std::result::Result<Step, Failure>;

impl Source for Stored<'_> {
    type Error = Failure;

    async fn step(&mut self, place: &Place) -> Stepped {
        (self.may_repeat, self.fails) = (true, false);
        match self.read_on(place).await {
            Err(failure) if self.fails => {
                console_error!("{} ({})", failure.log_line().unwrap_or_default(), place.thread);
                Ok(unreadable(place))
            }
            step => step,
        }
    }

    fn requests(&self) -> u32 {
        self.requests
    }
}

impl Stored<'_> {
    async fn read_on(&mut self, place: &Place) -> Stepped {
        match place.section {
            Section::Head => Ok(self.head()),
            Section::Rows => self.rows(place).await,
            Section::Threads => self.thread(place).await,
            Section::Thread => self.detail(place).await,
            Section::Messages => self.messages(place).await,
            Section::Beside => self.beside(place).await,
            Section::Session => self.session(place).await,
            Section::Rules => self.rules(place).await,
            Section::Files => self.files(place).await,
        }
    }

    fn head(&self) -> Step {
        let Owner { issuer, tenant, user } = self.owner;
        let owner = json!({ "issuer": issuer, "tenant": tenant, "user": user });
        let head = line("export", json!({ "format": FORMAT, "owner": owner, "began_at": self.now }));
        Step { lines: vec![head], next: Some(Place::of(Section::Rows, "")) }
    }

    /// Some rows of a table, or the beginning of the next one.
    async fn rows(&mut self, place: &Place) -> Stepped {
        let exported = kinds::of_users().filter_map(|(table, rows)| Some((table, rows, rows.line?)));
        let Some((table, rows, kind)) = exported.into_iter().nth(place.at) else {
            return Ok(Step { next: Some(Place::of(Section::Threads, "")), ..Step::default() });
        };
        self.requests += 1;
        let found = read(self.env, self.owner, table, &rows, &place.after).await;
        let found = found.map_err(Failure::internal("exporting a table"))?;
        let next = match found.last() {
            Some(last) if found.len() >= rows.at_once as usize => {
                let key =
                    (0..rows.key.len()).filter_map(|at| last.get(&format!("{}{at}", store::KEY)).cloned());
                place.after(key.collect())
            }
            _ => Place::of(Section::Rows, "").numbered(place.at + 1),
        };
        let lines =
            found.into_iter().map(|row| line(kind, Value::Object(exported_row(row, &rows)))).collect();
        Ok(Step { lines, next: Some(next) })
    }

    /// The next thread, or the named workspaces behind the last one.
    async fn thread(&mut self, place: &Place) -> Stepped {
        self.requests += 1;
        let next = next_thread(self.env, self.owner, &place.thread, self.now).await;
        let Some((id, pinned_at)) = next.map_err(Failure::internal("exporting threads"))? else {
            return Ok(Step { next: Some(Place::of(Section::Files, "")), ..Step::default() });
        };
        Ok(Step { lines: Vec::new(), next: Some(Place::of(Section::Thread, &id).after(vec![pinned_at])) })
    }

    async fn detail(&mut self, place: &Place) -> Stepped {
        let id = place.thread.as_str();
        let Some(mut detail) = self.ask(id, ThreadCommand::Detail).await? else { return Ok(gone(id)) };
        if let Value::Object(detail) = &mut detail {
            detail.insert("pinned_at".to_owned(), place.after.first().cloned().unwrap_or_default());
        }
        Ok(Step { lines: vec![line("thread", detail)], next: Some(Place::of(Section::Messages, id)) })
    }

    /// A few messages of all versions, whole, with the pictures and files of those that have some.
    async fn messages(&mut self, place: &Place) -> Stepped {
        let id = place.thread.as_str();
        let cursor = place.name().map(str::to_owned);
        let Some(mut list) =
            self.ask(id, ThreadCommand::Messages { limit: MESSAGES, cursor, all: true }).await?
        else {
            return Ok(gone(id));
        };
        let (mut lines, messages) = (Vec::new(), member(&mut list, "messages"));
        for mut message in into_list(messages) {
            let is_users = message.get("role") == Some(&json!(Role::User));
            if is_users && text_of(&message, "content").contains(ATTACHED) {
                let message_id = text_of(&message, "id").to_owned();
                if let Some(mut sent) = self.ask(id, ThreadCommand::Sent { message_id }).await? {
                    let sent = member(&mut sent, "content");
                    message.as_object_mut().map(|message| message.insert("sent".to_owned(), sent));
                }
            }
            lines.push(of_thread("message", id, message));
        }
        for version in into_list(member(&mut list, "versions")) {
            lines.push(of_thread("version", id, version));
        }
        let next = match member(&mut list, "next_cursor") {
            Value::Null => Place::of(Section::Beside, id),
            cursor => place.after(vec![cursor]),
        };
        Ok(Step { lines, next: Some(next) })
    }

    /// Some rows of a thread that no other command tells, of all versions.
    async fn beside(&mut self, place: &Place) -> Stepped {
        let id = place.thread.as_str();
        let cursor = place.name().map(str::to_owned);
        let Some(mut page) = self.ask(id, ThreadCommand::Export { cursor }).await? else {
            return Ok(gone(id));
        };
        let mut lines = Vec::new();
        for mut row in into_list(member(&mut page, "lines")) {
            let kind = member(&mut row, "kind");
            lines.push(of_thread(kind.as_str().unwrap_or_default(), id, row));
        }
        let next = match member(&mut page, "next_cursor") {
            Value::Null => Place::of(Section::Session, id),
            cursor => place.after(vec![cursor]),
        };
        Ok(Step { lines, next: Some(next) })
    }

    /// The newest session of a workflow, and some of its ended steps.
    async fn session(&mut self, place: &Place) -> Stepped {
        let id = place.thread.as_str();
        let from = place.after.first().and_then(Value::as_u64).and_then(|from| u32::try_from(from).ok());
        let from = from.unwrap_or_default();
        let Some(mut kept) = self.ask(id, ThreadCommand::WorkflowSession { from }).await? else {
            return Ok(gone(id));
        };
        let session = Some(member(&mut kept, "session")).filter(Value::is_object);
        let session = session.map(|session| of_thread("workflow_session", id, session));
        let steps = into_list(member(&mut kept, "steps")).into_iter();
        let lines =
            session.into_iter().chain(steps.map(|step| of_thread("workflow_step", id, step))).collect();
        let next = match member(&mut kept, "next") {
            Value::Null => Place::of(Section::Rules, id),
            next => place.after(vec![next]),
        };
        Ok(Step { lines, next: Some(next) })
    }

    async fn rules(&mut self, place: &Place) -> Stepped {
        let id = place.thread.as_str();
        let mut lines = Vec::new();
        let asked =
            [("hook", "hooks", ThreadCommand::Hooks), ("approval", "approvals", ThreadCommand::Approvals)];
        for (kind, name, command) in asked {
            let Some(mut list) = self.ask(id, command).await? else { return Ok(gone(id)) };
            lines
                .extend(into_list(member(&mut list, name)).into_iter().map(|item| of_thread(kind, id, item)));
        }
        Ok(Step { lines, next: Some(Place::of(Section::Files, id)) })
    }

    /// A piece of a file, and behind the last folder of a thread the next thread.
    async fn files(&mut self, place: &Place) -> Stepped {
        let folders: Vec<Folder> = match Uuid::try_parse(&place.thread) {
            Ok(id) => kinds::of_thread(self.owner, id).into(),
            Err(_) => kinds::of_owner(self.owner).into(),
        };
        let behind = (!place.thread.is_empty()).then(|| Place::of(Section::Threads, &place.thread));
        // A deployment without the bucket has no files.
        let (Some(folder), Ok(bucket)) = (folders.get(place.at), self.env.bucket(BUCKET)) else {
            return Ok(Step { next: behind, ..Step::default() });
        };
        self.requests += 2;
        let piece =
            piece(&bucket, folder, place, self.whole).await.map_err(Failure::internal("exporting files"))?;
        Ok(match piece {
            None => Step { next: Some(place.clone().numbered(place.at + 1)), ..Step::default() },
            Some((mut piece, next)) => {
                if !place.thread.is_empty() {
                    piece.insert("thread_id".to_owned(), place.thread.as_str().into());
                }
                Step { lines: vec![piece], next: Some(next) }
            }
        })
    }

    /// An answer of a thread's object; none where the thread, or the item that was asked for, is gone. An object may fail
    /// once in a step.
    async fn ask(&mut self, id: &str, command: ThreadCommand) -> std::result::Result<Option<Value>, Failure> {
        let Ok(thread_id) = Uuid::try_parse(id) else { return Ok(None) };
        let envelope = ThreadEnvelope { owner: self.owner.clone(), thread_id, command };
        loop {
            self.requests += 1;
            let answer = async {
                let response = object::ask(self.env, &envelope).await?;
                Ok((response.status(), object::read(&response).await))
            };
            let failure = match answer.await {
                Ok((200, Ok(answer))) => return Ok(Some(answer)),
                Ok((200, Err(failure))) | Err(failure) => failure,
                // An answer without a problem in it is a failure by its status.
                Ok((status, problem)) => match refused(status, &problem.unwrap_or_default()) {
                    Refused::Gone => return Ok(None),
                    Refused::Told(error) => return Err(error.into()),
                    Refused::Failed(error) => Failure::internal("exporting a thread")(error),
                },
            };
            if !std::mem::take(&mut self.may_repeat) {
                self.fails = true;
                return Err(failure);
            }
        }
    }
}

/// The object of a thread fails. The export goes on with the next thread; the line's cursor reads on from here.
fn unreadable(place: &Place) -> Step {
    let line = of_thread("unreadable", &place.thread, json!({ "cursor": place.cursor() }));
    Step { lines: vec![line], ..gone(&place.thread) }
}

/// The thread was deleted while it was exported.
fn gone(id: &str) -> Step {
    Step { next: Some(Place::of(Section::Threads, id)), ..Step::default() }
}

fn of_thread(kind: &str, id: &str, value: Value) -> Line {
    let mut line = line(kind, value);
    line.insert("thread_id".to_owned(), id.into());
    line
}

/// Takes a member of an answer.
fn member(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}

fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn into_list(value: Value) -> Vec<Value> {
    if let Value::Array(items) = value { items } else { Vec::new() }
}

/// A row as the export tells it: without the key that only orders it, and with JSON as such.
fn exported_row(mut row: Line, rows: &Rows) -> Line {
    row.retain(|name, _| !name.starts_with(store::KEY));
    for column in rows.columns.iter().filter_map(|column| column.strip_suffix(":json")) {
        let parsed = row.get(column).and_then(Value::as_str).and_then(|text| wire::json::from_str(text).ok());
        if let Some(parsed) = parsed {
            row.insert(column.to_owned(), parsed);
        }
    }
    row
}

/// Some rows of a table, after a key.
async fn read(
    env: &Env,
    owner: &Owner,
    table: &str,
    rows_of: &Rows,
    after: &[Value],
) -> Result<Vec<Line>, StoreError> {
    // A cursor that somebody made up may have another number of members.
    let after = if after.len() == rows_of.key.len() { after } else { &[] };
    let sql = store::select(table, rows_of, !after.is_empty());
    let after = after.iter().map(|value| match value {
        Value::Number(at) => number(at.as_u64().unwrap_or_default()),
        value => text(value.as_str().unwrap_or_default()),
    });
    let values: Vec<JsValue> =
        [text(&visit_of(owner)), rows_of.at_once.into()].into_iter().chain(after).collect();
    Owned::new(env, owner).select(OwnedSql::composed(&sql)?, &values).await
}

/// The thread after this one, and when it was pinned.
async fn next_thread(
    env: &Env,
    owner: &Owner,
    after: &str,
    now: u64,
) -> Result<Option<(String, Value)>, StoreError> {
    let since = first_id(now.saturating_sub(UNLISTED_MS));
    let found = Owned::new(env, owner).first(store::THREADS, &[text(after), number(1), text(&since)]).await?;
    Ok(found.and_then(|mut row: Map<String, Value>| {
        let pinned_at = row.remove("pinned_at").unwrap_or_default();
        Some((row.remove("id")?.as_str()?.to_owned(), pinned_at))
    }))
}
