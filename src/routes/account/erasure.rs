//! `DELETE /api/me` and its progress. The request begins a job in D1 and ends the user's keys and sessions in the same
//! transaction; [`drive`] carries jobs on, by whatever wakes the Worker: the request that began one, those that ask for its
//! progress, and everybody who calls it with a budget of requests.

use std::collections::BTreeMap;

use bindings::d1::{Owned, Statement, batch, maybe, number, text, unowned};
use bindings::sql::OwnedSql;
use features::knowledge::store::collections::D1Collections;
use features::knowledge::store::deletion::REMOVALS;
use platform::storage::outgoing::first_id;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use wire::protocol::{AuditAction, Owner, ThreadCommand, ThreadEnvelope, hex};
use wire::store::StoreError;
use worker::wasm_bindgen::JsValue;
use worker::{Date, Env, console_error};

use super::{BUCKET, UNLISTED_MS};
use crate::account::erasure::{
    Begun, Confirmation, DRIVE_REQUESTS, Erasing, Erasure, KEPT_MS, MAX_LEFT, STEP_REQUESTS, Stage, THREADS,
    Threads, drive as drive_job, not_found, receipt,
};
use crate::account::kinds::{self, Rows};
use crate::account::store;
use crate::audit::Deed;
use crate::audit::store::{self as audit, Where};
use crate::auth::session::{AnonymousSession, clear_cookie};
use crate::auth::sessions::{visit_of, visitor_hash};
use crate::call::{Answer, Call};
use crate::job::{Job, LEASE_MS, Port};
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;
use crate::routes::{credentials, job};
use crate::visit::Driven;

type Deleted = crate::job::Deleted<String>;
type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Begins the erasure of the caller's data. From here on none of their keys and sessions opens anything: within a minute
/// everywhere.
pub async fn begin(call: &Call, owner: Owner, body: &[u8]) -> Result<Answer, Failure> {
    Confirmation::check(body)?;
    let mut drawn = [0_u8; 16];
    getrandom::fill(&mut drawn).map_err(Failure::internal("drawing a receipt"))?;
    let receipt = hex(&drawn);
    let begun = insert(call, &owner, &digest(&receipt)).await?;
    credentials::forget(&owner.tenant, &owner.user);
    let ended_at = match begun {
        Begun::Job => {
            go_on(call);
            None
        }
        Begun::Nothing => Some(call.now),
    };
    let (started_at, removed) = (call.now, BTreeMap::new());
    let erasure = Erasure { receipt: Some(receipt), started_at, ended_at, removed };
    Ok(Reply::json(202, &erasure).with("set-cookie", clear_cookie(call.is_https())).into())
}

/// Tells the progress of an erasure to whoever has its receipt, and drives it on.
pub async fn progress(call: &Call) -> Result<Answer, Failure> {
    let receipt = query::receipt(call.query());
    let digest = digest(receipt_of(receipt.as_deref())?);
    let env = &call.env;
    let taken = take(env, store::TAKE_ONE, call.now, Some(&digest)).await;
    if let Some((owner, job)) = taken.map_err(Failure::internal("taking an erasure"))? {
        run(env, &owner, job, DRIVE_REQUESTS).await;
    }
    let found = read(env, &digest).await.map_err(Failure::internal("reading an erasure"))?;
    Ok(Reply::json(200, &found.ok_or_else(not_found)?).with("cache-control", "no-store").into())
}

fn receipt_of(text: Option<&str>) -> Result<&str, Failure> {
    Ok(receipt(text)?)
}

/// Drives jobs on after the answer.
pub fn go_on(call: &Call) {
    let env = call.env.clone();
    call.context.wait_until(async move {
        if let Err(error) = drive(&env, DRIVE_REQUESTS).await {
            console_error!("erasing a user's data: {error}");
        }
    });
}

/// Drives the open jobs on, with at most so many requests, and forgets those that ended long ago.
pub async fn drive(env: &Env, requests: u32) -> Result<Driven> {
    let now = Date::now().as_millis();
    unowned::of_all(env, store::FORGET, &[number(now.saturating_sub(KEPT_MS))])?.run().await?;
    let mut left = requests.saturating_sub(1);
    while left > STEP_REQUESTS + 1 {
        left -= 1;
        match take(env, store::TAKE, Date::now().as_millis(), None).await {
            Ok(None) => return Ok(Driven { left, is_idle: true }),
            Ok(Some((owner, job))) => left = left.saturating_sub(run(env, &owner, job, left).await),
            // The row of another version, or D1 fails. The lease keeps the row back; other work goes on.
            Err(error) => console_error!("taking an erasure: {error}"),
        }
    }
    Ok(Driven { left, is_idle: false })
}

/// Whether the user's data is being erased.
pub async fn runs(env: &Env, owner: &Owner) -> Result<bool> {
    Owned::new(env, owner).any(store::RUNS, &[]).await
}

/// Writes the row of a job and ends the user's credentials, all or nothing.
async fn insert(call: &Call, owner: &Owner, receipt: &str) -> Result<Begun, Failure> {
    let failed = || Failure::internal::<StoreError>("beginning an erasure");
    let has_files = has_files(&call.env, owner).await.map_err(failed())?;
    let statements = beginning(call, owner, (receipt, has_files)).map_err(failed())?;
    let results = batch(&call.env, statements).await.map_err(failed())?;
    let (begun, runs) = (results.rows(0).map_err(failed())?, results.any(1).map_err(failed())?);
    Ok(Begun::from_row(begun.first(), runs)?)
}

/// The statements of [`insert`].
fn beginning(call: &Call, owner: &Owner, (receipt, has_files): (&str, bool)) -> Result<Vec<Statement>> {
    let (owned, now) = (Owned::new(&call.env, owner), call.now);
    let visitor = Uuid::try_parse(&owner.user).ok().filter(|_| owner.issuer == wire::protocol::ANONYMOUS);
    let network = maybe(visitor.and_then(|_| call.network_mark()), |mark| text(&mark));
    let stage = serde_json::to_string(&Stage { address: call.address_mark(), ..Stage::default() })?;
    let flag = |flag: bool| number(u64::from(flag));
    let job = [
        text(&visit_of(owner)),
        text(receipt),
        number(now),
        text(&stage),
        flag(has_files),
        network.clone(),
        flag(visitor.is_some()),
    ];
    let mut statements = vec![
        owned.statement(OwnedSql::composed(&store::begin())?, &job)?,
        owned.statement(store::RUNS, &[])?,
        owned.statement(store::REVOKE, &[number(now)])?,
        owned.statement(store::SIGN_OUT, &[])?,
    ];
    if let Some(user) = visitor {
        let over = AnonymousSession::begin(user, now).expires_at;
        let values = [text(&visitor_hash(&owner.user)), number(now), number(over), text(receipt), network];
        statements.push(unowned::by_secret(&call.env, store::END_VISIT, &values)?);
    }
    Ok(statements)
}

/// Whether there are files in the folders of a user that belong to no thread. Those of a thread come with it.
async fn has_files(env: &Env, owner: &Owner) -> Result<bool> {
    // A deployment without the bucket has no files.
    let Ok(bucket) = env.bucket(BUCKET) else { return Ok(false) };
    for folder in kinds::of_owner(owner) {
        if !bucket.list().prefix(folder.prefix).limit(1).execute().await.map_err(r2)?.objects().is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes a job that nobody owns.
async fn take(env: &Env, sql: &str, now: u64, receipt: Option<&str>) -> Result<Option<(Owner, Job<Stage>)>> {
    #[derive(Deserialize)]
    struct Taken {
        tenant: String,
        user_id: String,
        #[serde(flatten)]
        job: Job<Stage>,
    }
    let values: Vec<JsValue> =
        [number(now), number(now + LEASE_MS)].into_iter().chain(receipt.map(text)).collect();
    let taken = unowned::of_all(env, sql, &values)?.first().await?;
    let Some(Taken { tenant, user_id, job }) = taken else { return Ok(None) };
    let nobodys = || StoreError("an erasure of nobody".to_owned());
    let (issuer, user) = user_id.split_once(':').ok_or_else(nobodys)?;
    Ok(Some((Owner { issuer: issuer.to_owned(), tenant, user: user.to_owned() }, job)))
}

async fn read(env: &Env, receipt: &str) -> Result<Option<Erasure>> {
    #[derive(Deserialize)]
    struct Row {
        started_at: u64,
        ended_at: Option<u64>,
        #[serde(deserialize_with = "wire::json::column")]
        removed: BTreeMap<String, u64>,
    }
    let found = unowned::by_secret(env, store::PROGRESS, &[text(receipt)])?.first().await?;
    Ok(found.map(|Row { started_at, ended_at, removed }| Erasure {
        receipt: None,
        started_at,
        ended_at,
        removed,
    }))
}

fn digest(receipt: &str) -> String {
    hex(&Sha256::digest(receipt.to_ascii_lowercase().as_bytes()))
}

/// Drives one job, and tells how many requests it took. A job that fails waits, and holds up no other work.
async fn run(env: &Env, owner: &Owner, mut job: Job<Stage>, most: u32) -> u32 {
    let begun = DRIVE_REQUESTS.saturating_sub(most);
    let mut stored = Stored { env, owner, requests: begun };
    if let Err(error) = drive_job(&mut stored, &mut job).await {
        console_error!("erasing a user's data: {error}");
    }
    stored.requests - begun
}

/// All data of a deployment.
struct Stored<'a> {
    env: &'a Env,
    owner: &'a Owner,
    requests: u32,
}

impl Erasing for Stored<'_> {
    fn owner(&self) -> &Owner {
        self.owner
    }

    async fn threads(&mut self, after: &str, left: &[String]) -> Result<Threads> {
        self.requests += 1;
        let since = first_id(self.now().saturating_sub(UNLISTED_MS));
        let values = [text(after), THREADS.into(), text(&since)];
        let ids: Vec<Value> = self.owned().select(store::THREADS, &values).await?;
        let ids: Vec<&str> = ids.iter().filter_map(|row| row.get("id")?.as_str()).collect();
        let (mut count, mut failed) = (0, Vec::new());
        for id in ids.iter().filter(|id| !left.iter().any(|left| left == *id)) {
            match self.thread(id).await {
                Ok(was_there) => count += u64::from(was_there),
                Err(error) if left.len() + failed.len() >= MAX_LEFT => return Err(error),
                Err(error) => {
                    console_error!("erasing the thread {id}: {error}");
                    failed.push((*id).to_owned());
                }
            }
        }
        let next = (ids.len() == THREADS as usize).then(|| ids.last().map(|id| (*id).to_owned())).flatten();
        Ok(Threads { deleted: Deleted { count, next }, failed })
    }

    async fn thread(&mut self, id: &str) -> Result<bool> {
        // An id that is no UUID names no thread.
        let Ok(thread_id) = Uuid::try_parse(id) else { return Ok(false) };
        self.requests += 1;
        let erase = ThreadEnvelope { owner: self.owner.clone(), thread_id, command: ThreadCommand::Erase };
        let was_there = job::delete_thread(self.env, &erase).await?;
        for folder in kinds::of_thread(self.owner, thread_id) {
            while self.files(&folder.prefix).await?.next.is_some() {}
        }
        Ok(was_there)
    }

    async fn vectors(&mut self, after: &str) -> Result<Deleted> {
        self.requests += 1 + REMOVALS;
        let collections = D1Collections::new(self.env, self.owner);
        Ok(Deleted { count: 0, next: collections.erase_vectors(after).await? })
    }

    async fn files(&mut self, prefix: &str) -> Result<Deleted> {
        // A deployment without the bucket has no files.
        let Ok(bucket) = self.env.bucket(BUCKET) else { return Ok(Deleted::default()) };
        self.requests += 2;
        let list = bucket.list().prefix(prefix).execute().await.map_err(r2)?;
        let keys: Vec<String> = list.objects().iter().map(|object| object.key()).collect();
        let count = keys.len() as u64;
        if count > 0 {
            bucket.delete_multiple(keys).await.map_err(r2)?;
        }
        Ok(Deleted { count, next: list.truncated().then(String::new) })
    }

    async fn rows(&mut self, lease: u64, table: &str, rows_of: &Rows) -> Result<Deleted> {
        self.requests += 1;
        let (owned, visit) = (self.owned(), text(&visit_of(self.owner)));
        let delete = store::delete(table, rows_of);
        let values = [visit, rows_of.at_once.into(), number(lease)];
        let delete = owned.statement(OwnedSql::composed(&delete)?, &values)?;
        let of_index = |sql: &str| unowned::of_all(self.env, sql, &[]);
        let (before, after) = match table {
            "chunks" => (Some(of_index(store::SECURELY)?), Some(of_index(store::BY_MERGE)?)),
            "api_keys" => (Some(owned.statement(store::BEQUEATH, &[])?), None),
            _ => (None, None),
        };
        let place = usize::from(before.is_some());
        let results = batch(self.env, before.into_iter().chain([delete]).chain(after).collect()).await?;
        let count = results.rows::<Value>(place)?.len() as u64;
        Ok(Deleted { count, next: (count >= rows_of.at_once.into()).then(String::new) })
    }
}

impl Port for Stored<'_> {
    type Stage = Stage;
    type Error = StoreError;

    async fn save(&mut self, job: &Job<Stage>, from: u64) -> Result<()> {
        self.requests += 1;
        self.statement(job, store::SAVE, &[number(from), job.failures.into()])?.run().await
    }

    async fn end(&mut self, job: &Job<Stage>) -> Result<()> {
        self.requests += 1;
        let (now, user_id) = (self.now(), self.owner.user_id());
        let removed = json!(job.removed).to_string();
        let deed = Deed {
            owner: self.owner,
            action: AuditAction::DataErased,
            target: &user_id,
            detail: Some(&removed),
            address: job.stage.address.as_deref(),
        };
        // The row stands for the end: the driver that ends the job writes it, and no other.
        let which = Where { condition: store::ENDS, values: vec![number(job.lease)] };
        let entry =
            (!job.stage.expired).then(|| audit::row_where(self.env, &deed, now, which)).transpose()?;
        let end = self.statement(job, store::END, &[number(now)])?;
        batch(self.env, entry.into_iter().chain([end]).collect()).await.map(drop)
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn now(&self) -> u64 {
        Date::now().as_millis()
    }
}

impl Stored<'_> {
    fn owned(&self) -> Owned {
        Owned::new(self.env, self.owner)
    }

    fn statement(&self, job: &Job<Stage>, sql: OwnedSql<'_>, more: &[JsValue]) -> Result<Statement> {
        let of = [text(&visit_of(self.owner)), JsValue::NULL];
        self.owned().statement(sql, &job::values(job, &of, more)?)
    }
}

fn r2(error: worker::Error) -> StoreError {
    StoreError(format!("R2: {error}"))
}
