//! The retention: a run deletes what is older than its limit, by the cron trigger, and nothing else. Its limits of the
//! instance: threads stay 365 days, all else as by default (`variables.rs`).
//!
//! Issue 23, 1

use espalier_test_support::stored::{change_at, change_object_at, d1, eventually};
use espalier_test_support::{Case, Client, Value, env, json, new_id, text};
use tokio::sync::Mutex;
use uuid::Uuid;
use wire::protocol::Owner;

use crate::upgrades::planted_at;

const MAIN: &str = "ESPALIER_STATE_DIR";
const DAY_MS: u64 = 86_400_000;

/// One run is open at a time in the instance.
static RUN: Mutex<()> = Mutex::const_new(());

fn now() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
    u64::try_from(since.as_millis()).expect("a time of our age")
}

/// A visitor with a thread of one turn, which D1 has.
struct Visitor {
    case: Case,
    user: String,
    thread: String,
}

impl Visitor {
    async fn new() -> Self {
        let case = Case::new().await;
        case.script("", [text("Hello.")]).await;
        let events = case.chat("Hello").await;
        let thread = events[0].text("thread_id").to_owned();
        let session = case.client.post("/api/session", &json!({})).await.expect(200).await.json().await;
        let user = session["user_id"].as_str().expect("a user").to_owned();
        let of_turn = "SELECT (SELECT count(*) FROM messages WHERE thread_id = ?1) AS messages, \
            (SELECT count(*) FROM llm_usage WHERE thread_id = ?1) AS calls, \
            (SELECT count(*) FROM sessions WHERE user_id = 'anonymous:' || ?2) AS sessions";
        eventually("D1 has the turn", || async {
            let rows = d1(of_turn, &[&thread, &user]).await;
            (rows == [json!({ "messages": 2, "calls": 1, "sessions": 1 })]).then_some(())
        })
        .await;
        Visitor { case, user, thread }
    }

    /// Makes the row of the thread in D1 so many days old.
    async fn age_row(&self, days: u64) {
        let at = now() - days * DAY_MS;
        change_at(MAIN, &format!("UPDATE threads SET updated_at = {at} WHERE id = '{}'", self.thread)).await;
    }

    /// Makes the thread in its object so many days old.
    async fn age_thread(&self, days: u64) {
        let owner =
            Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user: self.user.clone() };
        let object = owner.object_name(Uuid::try_parse(&self.thread).expect("an id"));
        let at = now() - days * DAY_MS;
        change_object_at(MAIN, &object, &format!("UPDATE messages SET created_at = {at}")).await;
    }

    /// Makes the session and the model calls so many days old.
    async fn age_session(&self, days: u64) {
        let at = now() - days * DAY_MS;
        let user = format!("anonymous:{}", self.user);
        let seen = format!("UPDATE sessions SET seen_at = {at} WHERE user_id = '{user}'");
        let calls = format!(
            "UPDATE llm_usage SET created_at = {at}, id = '{}' || substr(id, 9) WHERE user_id = '{user}'",
            format!("{at:012x}").get(..8).expect("twelve digits")
        );
        change_at(MAIN, &format!("{seen}; {calls}")).await;
    }

    async fn rows(&self, table: &str) -> u64 {
        let sql = format!("SELECT count(*) AS count FROM {table} WHERE user_id = 'anonymous:' || ?1");
        d1(&sql, &[&self.user]).await[0]["count"].as_u64().expect("a number")
    }
}

/// Old and new rows of a tenant in this table, whose ages in days are their ids.
async fn plant(table: &str, more: &str, values: &str, tenant: &str, ages: [u64; 2]) {
    for age in ages {
        let at = now() - age * DAY_MS - DAY_MS / 2;
        let sql = format!(
            "INSERT INTO {table} (tenant, user_id, id, created_at{more}) VALUES ('{tenant}', 'key:x', '{age}', {at}{values})"
        );
        change_at(MAIN, &sql).await;
    }
}

async fn left(table: &str, tenant: &str) -> Vec<Value> {
    let rows = d1(&format!("SELECT id FROM {table} WHERE tenant = ?1"), &[tenant]).await;
    rows.into_iter().map(|mut row| row["id"].take()).collect()
}

// Long: one run, and all that it may and may not delete.
#[tokio::test]
async fn a_run_deletes_what_is_too_old_and_nothing_else() {
    let _alone = RUN.lock().await;
    let (idle, live, young) = (Visitor::new().await, Visitor::new().await, Visitor::new().await);
    idle.age_row(366).await;
    idle.age_thread(366).await;
    // D1 lags behind: somebody wrote in this thread, and its object knows.
    live.age_row(366).await;
    young.age_row(364).await;
    young.age_thread(364).await;
    let (gone, back) = (Visitor::new().await, Visitor::new().await);
    let instructions = json!({ "content": "Briefly." });
    gone.case.client.put("/api/me/instructions", &instructions).await.expect(200).await;
    gone.age_row(31).await;
    gone.age_session(31).await;
    // This one wrote a message 29 days ago, though the session was not renewed since.
    back.age_row(29).await;
    back.age_session(31).await;

    // The object of this thread fails each time: a newer version has written to it. The run goes on without it.
    let tables = "CREATE TABLE meta (schema_version INTEGER NOT NULL); INSERT INTO meta VALUES (99)";
    let (newer, _) = planted_at(MAIN, &live.case.client, tables).await;
    let row = format!("'public', 'anonymous:{}', '{newer}', '', 1, 1", live.user);
    let columns = "tenant, user_id, id, title, created_at, updated_at";
    change_at(MAIN, &format!("INSERT INTO threads ({columns}) VALUES ({row})")).await;

    let tenant = format!("of {}", new_id());
    let usage = ", thread_id, turn_id, provider, model, operation_type, context_type, profile, execution_mode, \
        input_tokens, cached_tokens, output_tokens, duration_ms, outcome";
    plant("llm_usage", usage, ", '', '', '', '', '', '', '', '', 1, 0, 1, 1, ''", &tenant, [399, 400]).await;
    let tools =
        ", thread_id, turn_id, tool_name, duration_ms, is_error, outcome, context_type, execution_mode";
    plant("tool_usage", tools, ", '', '', '', 1, 0, '', '', ''", &tenant, [399, 400]).await;
    let errors = ", thread_id, turn_id, component, stage, code, message";
    plant("error_log", errors, ", '', '', '', '', '', ''", &tenant, [29, 30]).await;
    plant("audit", ", action, target", ", 'key_minted', ''", &tenant, [399, 400]).await;

    // The day of the next run has come.
    change_at(MAIN, "DELETE FROM retention_runs").await;
    let anybody = Client::nobody_at(&env("ESPALIER_URL"));
    let run = eventually("the run ends", || async {
        anybody.get("/cdn-cgi/handler/scheduled").await.expect(200).await;
        d1("SELECT removed, failures FROM retention_runs WHERE ended_at IS NOT NULL", &[]).await.pop()
    })
    .await;
    let removed: Value = serde_json::from_str(run["removed"].as_str().expect("JSON")).expect("numbers");
    for counted in ["visitors", "threads", "llm_usage", "tool_usage", "error_log", "audit"] {
        assert!(removed[counted].as_u64() >= Some(1), "{counted}: {removed}");
    }
    assert_eq!(run["failures"], 0);

    for table in ["llm_usage", "tool_usage", "audit"] {
        assert_eq!(left(table, &tenant).await, ["399"], "{table}");
    }
    assert_eq!(left("error_log", &tenant).await, ["29"]);

    let status = async |visitor: &Visitor| {
        visitor.case.client.get(&format!("/api/threads/{}", visitor.thread)).await.status
    };
    assert_eq!((status(&idle).await, status(&live).await, status(&young).await), (404, 200, 200));
    eventually("the rows of the idle thread are gone", || async {
        (idle.rows("messages").await + idle.rows("threads").await == 0).then_some(())
    })
    .await;
    let kept = d1("SELECT 1 FROM threads WHERE id = ?1", &[&newer]).await;
    assert_eq!(kept.len(), 1, "nothing of it is deleted");
    change_at(MAIN, &format!("DELETE FROM threads WHERE id = '{newer}'")).await;
    for visitor in [&live, &young, &back] {
        assert_eq!((visitor.rows("threads").await, visitor.rows("messages").await), (1, 2));
    }
    assert_eq!(idle.rows("sessions").await, 1, "the visitor of the idle thread was here today");

    // The visitor who is gone is erased whole. No credential of theirs is valid, so one sweep is enough, once each isolate
    // knows it.
    let user = format!("anonymous:{}", gone.user);
    change_at(
        MAIN,
        &format!(
            "UPDATE erasures SET started_at = started_at - 90000, lease_until = 0 WHERE user_id = '{user}'"
        ),
    )
    .await;
    eventually("the erasure ends", || async {
        anybody.get("/cdn-cgi/handler/scheduled").await.expect(200).await;
        let jobs = d1("SELECT 1 FROM erasures WHERE user_id = ?1 AND ended_at IS NOT NULL", &[&user]).await;
        (!jobs.is_empty()).then_some(())
    })
    .await;
    for table in ["threads", "messages", "instructions", "llm_usage", "sessions", "audit"] {
        assert_eq!(gone.rows(table).await, 0, "{table}");
    }
    assert_eq!(status(&back).await, 200);
}

// Issue 42, M4: each visit had so many requests for erasures, and the retention got none of them.
#[tokio::test]
async fn a_run_goes_on_however_many_erasures_there_are() {
    let _alone = RUN.lock().await;
    let crowd = new_id();
    let mut rows = Vec::new();
    for number in 0..60 {
        let user = format!("key:{crowd}-{number}");
        // They began a day ago, so each makes its second sweep too.
        rows.push(format!(
            "('crowd', '{user}', '{user}', {}, '{{\"sweep\":0,\"part\":\"threads\"}}', '{{}}')",
            now() - DAY_MS
        ));
    }
    let columns = "tenant, user_id, receipt, started_at, stage, removed";
    change_at(MAIN, &format!("INSERT INTO erasures ({columns}) VALUES {}", rows.join(", "))).await;
    change_at(MAIN, "DELETE FROM retention_runs").await;
    let anybody = Client::nobody_at(&env("ESPALIER_URL"));
    anybody.get("/cdn-cgi/handler/scheduled").await.expect(200).await;
    let open = "SELECT 1 FROM erasures WHERE tenant = 'crowd' AND user_id LIKE 'key:' || ?1 || '%' AND ended_at IS NULL";
    assert!(!d1(open, &[&crowd]).await.is_empty(), "one visit does not end them all");
    let run = d1("SELECT stage, ended_at FROM retention_runs", &[]).await.pop().expect("a run");
    let stage: Value = serde_json::from_str(run["stage"].as_str().expect("JSON")).expect("a stage");
    assert!(stage["part"] != "visitors" || !run["ended_at"].is_null(), "it has gone on: {run}");
    change_at(MAIN, &format!("DELETE FROM erasures WHERE tenant = 'crowd' AND user_id LIKE 'key:{crowd}%'"))
        .await;
}
