//! The retention over D1 and the objects of threads, which the cron trigger drives (`crate::retention`).

use bindings::d1::{Statement, batch, number, text, unowned};
use platform::storage::outgoing::first_id;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;
use wire::protocol::{Owner, ThreadCommand, ThreadEnvelope};
use wire::store::StoreError;
use worker::wasm_bindgen::JsValue;
use worker::{Date, Env, console_error};

use super::job;
use crate::account::erasure::Stage as ErasureStage;
use crate::auth::sessions::visitor_hash;
use crate::job::{Job, LEASE_MS, Port};
use crate::retention::{
    EVERY_MS, Part, ROWS, Retention, Stage, THREADS, VISITORS, drive as drive_run, store,
};
use crate::visit::{AROUND, Driven, RETENTION_SHARE};

type Deleted = crate::job::Deleted<Vec<String>>;
type Result<T> = std::result::Result<T, StoreError>;

/// Drives the open run on, or begins one when the last is a day old, with at most so many requests.
pub async fn drive(env: &Env, requests: u32) -> Result<Driven> {
    if requests < RETENTION_SHARE {
        return Ok(Driven { left: requests, is_idle: false });
    }
    let retention = env.var("RETENTION").ok().map(|json| json.to_string());
    // Health tells the operator.
    let Ok(retention) = Retention::parse(retention.as_deref()) else {
        return Ok(Driven { left: requests, is_idle: true });
    };
    let now = Date::now().as_millis();
    let stage = serde_json::to_string(&Stage::default())?;
    let begun = now.saturating_sub(EVERY_MS);
    let begin = unowned::of_all(env, store::BEGIN, &[number(now), text(&stage), number(begun)])?;
    let take = unowned::of_all(env, store::TAKE, &[number(now), number(now + LEASE_MS)])?;
    let forget = unowned::of_all(env, store::FORGET, &[number(now.saturating_sub(retention.kept_ms()))])?;
    let results = batch(env, vec![begin, take, forget]).await?;
    let Some(mut run) = results.rows(1)?.pop() else {
        return Ok(Driven { left: requests.saturating_sub(1), is_idle: true });
    };
    let mut port = Stored { env, requests: AROUND };
    let driven = drive_run(&mut port, &retention, &mut run, requests, Stored::delete).await?;
    Ok(Driven { left: requests.saturating_sub(port.requests), is_idle: driven.is_none() })
}

/// The data of all users.
struct Stored<'a> {
    env: &'a Env,
    requests: u32,
}

impl Port for Stored<'_> {
    type Stage = Stage;
    type Error = StoreError;

    async fn save(&mut self, run: &Job<Stage>, from: u64) -> Result<()> {
        self.write(store::SAVE, run, &[number(from), run.failures.into()]).await
    }

    async fn end(&mut self, run: &Job<Stage>) -> Result<()> {
        self.write(store::END, run, &[number(self.now())]).await
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn now(&self) -> u64 {
        Date::now().as_millis()
    }
}

impl Stored<'_> {
    async fn delete(&mut self, stage: &Stage, until: u64) -> Result<Deleted> {
        match stage.part {
            Part::Visitors => self.visitors(stage, until).await,
            Part::VisitorsWithoutRow => self.visitors_without_row(stage, until).await,
            Part::Threads => self.threads(stage, until).await,
            Part::ModelCalls => self.page("llm_usage", stage, until).await,
            Part::ToolCalls => self.page("tool_usage", stage, until).await,
            Part::Errors => self.oldest(&store::delete_errors(), until).await,
            Part::Audit => self.oldest(&store::delete_audit(), until).await,
            Part::Index => self.merge(stage).await,
        }
    }

    fn statement(&self, sql: &str, values: &[JsValue]) -> Result<Statement> {
        unowned::of_all(self.env, sql, values)
    }

    async fn write(&mut self, sql: &str, run: &Job<Stage>, more: &[JsValue]) -> Result<()> {
        self.requests += 1;
        let values = job::values(run, &[number(run.started_at)], more)?;
        self.statement(sql, &values)?.run().await
    }

    /// The values with which erasures begin.
    fn begun(&self, until: u64) -> Result<[JsValue; 4]> {
        let stage = serde_json::to_string(&ErasureStage::of_expired())?;
        Ok([number(self.now()), number(until), text(&first_id(until)), text(&stage)])
    }

    async fn visitors(&mut self, stage: &Stage, until: u64) -> Result<Deleted> {
        self.requests += 1;
        let after = text(key(stage, 0));
        let values = [self.begun(until)?.as_slice(), std::slice::from_ref(&after)].concat();
        let erase = self.statement(&store::erase_visitors(), &values)?;
        let forget = self.statement(&store::forget_visitors(), &values)?;
        let end = self.statement(&store::end_of_sessions(), &[after])?;
        let results = batch(self.env, vec![erase, forget, end]).await?;
        Ok(Deleted { count: count(results.rows(0)?), next: keys(results.rows(2)?) })
    }

    async fn visitors_without_row(&mut self, stage: &Stage, until: u64) -> Result<Deleted> {
        self.requests += 2;
        let list = self.statement(&store::visitors_with_threads(), &[text(key(stage, 0))])?;
        let found: Vec<Value> = list.rows().await?;
        let ids: Vec<&str> = found.iter().filter_map(|row| row.get("id")?.as_str()).collect();
        let next = (ids.len() >= VISITORS as usize).then(|| ids.last().map(|id| vec![(*id).to_owned()]));
        let visitors: Vec<Value> =
            ids.iter().filter_map(|id| Some(json!([id, visitor_hash(id.split_once(':')?.1)]))).collect();
        let values = [self.begun(until)?.as_slice(), &[text(&json!(visitors).to_string())]].concat();
        let begun = self.statement(&store::erase_visitors_without_row(), &values)?.rows().await?;
        Ok(Deleted { count: count(begun), next: next.flatten() })
    }

    async fn threads(&mut self, stage: &Stage, until: u64) -> Result<Deleted> {
        #[derive(Deserialize)]
        struct Row {
            tenant: String,
            user_id: String,
            id: String,
            last: u8,
        }
        self.requests += 1;
        let own = [text(key(stage, 0)), text(key(stage, 1)), text(key(stage, 2)), number(until)];
        let found: Vec<Row> = self.statement(&store::idle_threads(), &own)?.rows().await?;
        let (mut idle, mut end): (Vec<_>, Vec<_>) = found.into_iter().partition(|row| row.last == 0);
        let mut count = 0;
        for row in &idle {
            match self.expire(row.tenant.clone(), &row.user_id, &row.id, until).await {
                Ok(gone) => count += u64::from(gone),
                // One object may fail every time, and the rest of the run must not wait for it. The next run asks again.
                Err(error) => console_error!("deleting the thread {} that is too old: {error}", row.id),
            }
        }
        // The rest of a page with many idle threads is the next step's.
        let last = if idle.len() >= THREADS as usize { idle.pop() } else { end.pop() };
        Ok(Deleted { count, next: last.map(|row| vec![row.tenant, row.user_id, row.id]) })
    }

    /// Deletes a thread, unless somebody used it. Its outbox tells D1, so its rows do not come back.
    async fn expire(&mut self, tenant: String, user_id: &str, id: &str, unused_since: u64) -> Result<bool> {
        let (Some((issuer, user)), Ok(thread_id)) = (user_id.split_once(':'), Uuid::try_parse(id)) else {
            return Ok(false);
        };
        self.requests += 1;
        let owner = Owner { issuer: issuer.to_owned(), tenant, user: user.to_owned() };
        let command = ThreadCommand::Expire { unused_since };
        job::delete_thread(self.env, &ThreadEnvelope { owner, thread_id, command }).await
    }

    async fn page(&mut self, table: &str, stage: &Stage, until: u64) -> Result<Deleted> {
        self.requests += 1;
        let own = [text(key(stage, 0)), text(key(stage, 1)), text(key(stage, 2))];
        let end = self.statement(&store::end_of_page(table), &own)?;
        let values = [own.as_slice(), &[number(until)]].concat();
        let delete = self.statement(&store::delete_page(table), &values)?;
        let results = batch(self.env, vec![end, delete]).await?;
        Ok(Deleted { count: count(results.rows(1)?), next: keys(results.rows(0)?) })
    }

    async fn oldest(&mut self, sql: &str, until: u64) -> Result<Deleted> {
        self.requests += 1;
        let count = count(self.statement(sql, &[number(until)])?.rows().await?);
        Ok(Deleted { count, next: (count >= ROWS.into()).then(Vec::new) })
    }

    async fn merge(&mut self, stage: &Stage) -> Result<Deleted> {
        let is_first = stage.steps == 0;
        if is_first && self.segments().await? <= 1 {
            return Ok(Deleted::default());
        }
        self.requests += 1;
        self.statement(&store::merge(is_first), &[])?.run().await?;
        let is_over = self.segments().await? <= 1;
        Ok(Deleted { count: 1, next: (!is_over).then(Vec::new) })
    }

    async fn segments(&mut self) -> Result<u64> {
        self.requests += 1;
        let found: Option<Value> = self.statement(store::SEGMENTS, &[])?.first().await?;
        Ok(found.and_then(|row| row.get("segments")?.as_u64()).unwrap_or_default())
    }
}

/// A part of the key after which a run goes on; empty at the beginning, which is before every key.
fn key(stage: &Stage, at: usize) -> &str {
    stage.after.get(at).map_or("", String::as_str)
}

fn count(rows: Vec<Value>) -> u64 {
    rows.len() as u64
}

/// The key that a statement found.
fn keys(mut rows: Vec<Value>) -> Option<Vec<String>> {
    let part = |row: &Value, name: &str| Some(row.get(name)?.as_str()?.to_owned());
    rows.pop().map(|row| ["k1", "k2", "k3"].iter().filter_map(|name| part(&row, name)).collect())
}
