//! The statements that a thread's news for D1 become.

use serde_json::{Value, json};

use super::plan;
use uuid::{NoContext, Timestamp, Uuid};

use crate::storage::outgoing::{Calls, News, Outgoing, Present, ThreadRow, first_id, statements};
use engine::journal::{CallRecord, FailureRecord};
use wire::protocol::{
    FinishReason, LeftUndone, MessagePart, Owner, Plan, Role, StopNote, StoredMessage, ThreadState,
};

pub(super) fn owner() -> Owner {
    Owner { issuer: "anonymous".to_owned(), tenant: "tenant".to_owned(), user: "user".to_owned() }
}

fn message(id: &str, role: Role) -> StoredMessage {
    let said = MessagePart::Text { text: "text".to_owned(), parent_id: None, cut: false };
    StoredMessage {
        id: id.to_owned(),
        turn_id: "turn".to_owned(),
        role,
        content: "text".to_owned(),
        created_at: 1_700_000_000_123,
        finish_reason: (role == Role::Assistant).then_some(FinishReason::Stop),
        stop: None,
        usage: None,
        execution_tree: (role == Role::Assistant).then(Default::default),
        parts: if role == Role::Assistant { vec![said] } else { Vec::new() },
    }
}

pub(super) fn outbox() -> Vec<Outgoing> {
    let thread = |updated_at| ThreadRow { title: "title".to_owned(), created_at: 1, updated_at, state: None };
    let tool = |id: &str| CallRecord::Tool {
        id: id.to_owned(),
        tool_name: "calculate".to_owned(),
        duration_ms: 3,
        is_error: true,
        detail: Some("detail".to_owned()),
        refused: false,
    };
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m2".to_owned(),
        context_type: "thread".to_owned(),
        created_at: 7,
        records: vec![tool("c1"), tool("c2")],
        used: None,
        execution_mode: None,
    };
    let started = News::TurnStarted { thread: thread(1), message: message("m1", Role::User) };
    let ended =
        News::TurnEnded { thread: thread(2), question: None, message: message("m2", Role::Assistant), calls };
    vec![Outgoing::new(&owner(), "thread", started), Outgoing::new(&owner(), "thread", ended)]
}

#[test]
fn a_short_turn_is_one_batch_that_names_its_owner_everywhere() {
    let batch = statements(&outbox()).unwrap();
    let rows: Vec<Value> =
        batch.iter().map(|statement| serde_json::from_str(&statement.rows).unwrap()).collect();
    assert_eq!(batch.len(), 3, "threads, messages, tool_usage: {batch:?}");
    for row in rows.iter().flat_map(|rows| rows.as_array().unwrap()) {
        assert_eq!((&row[0], &row[1]), (&json!("tenant"), &json!("anonymous:user")));
    }
    assert_eq!(rows[0], json!([["tenant", "anonymous:user", "thread", "title", 1, 2, null]]));
    assert_eq!(rows[1][0][7], Value::Null, "a user's message has no tree");
    assert_eq!(rows[1][1][7], json!(r#"{"nodes":[],"version":1}"#), "a tree is a text");
    assert_eq!(rows[1][1][12], json!(0), "it is on the path");
    assert_eq!(rows[1][1][9], json!("stop"));
    assert_eq!((&rows[1][0][11], &rows[1][1][11]), (&Value::Null, &Value::Null), "it ended by itself");
    assert_eq!(rows[1][1][10], json!(1_700_000_000_123_u64));
    assert_eq!(rows[2][1][2], json!("m2/c2"), "call ids repeat across threads, message ids do not");
}

// Issue 19, 4: D1 knows the limit that ended a turn, and the work that it left.
#[test]
fn a_stop_is_told_as_a_text() {
    let mut ended = outbox().remove(1);
    let News::TurnEnded { message, .. } = &mut ended.news else { panic!() };
    let left = vec![LeftUndone {
        name: Some("run_subtask".to_owned()),
        title: Some("Pears".to_owned()),
        begun: true,
    }];
    message.stop = Some(StopNote { left, ..StopNote::new("budget_exceeded", "Enough.") });
    let batch = statements(&[ended]).unwrap();
    let rows: Value = serde_json::from_str(&batch[1].rows).unwrap();
    let told = r#"{"code":"budget_exceeded","left":[{"begun":true,"name":"run_subtask","title":"Pears"}],"message":"Enough."}"#;
    assert_eq!(rows[0][11], json!(told));
}

// The end of a turn that D1 has not heard of brings the user's message. News of the version before lack it.
#[test]
fn the_end_of_a_turn_tells_its_start_as_well() {
    let told = |news: &[Outgoing]| statements(news).unwrap();
    let (both, mut ended) = (outbox(), outbox().remove(1));
    let News::TurnEnded { question, .. } = &mut ended.news else { panic!() };
    *question = Some(Box::new(message("m1", Role::User)));
    assert_eq!(told(std::slice::from_ref(&ended)), told(&both));
    let mut older = serde_json::to_value(&ended).unwrap();
    older["news"].as_object_mut().unwrap().remove("question");
    let older: Outgoing = serde_json::from_value(older).unwrap();
    assert_eq!(told(&[both[0].clone(), older]), told(&both));
}

// Issue 22
#[test]
fn d1_hears_of_the_usage_of_an_unlisted_thread_alone() {
    let told: Vec<_> = outbox().into_iter().filter_map(Outgoing::unlisted).collect();
    let all = statements(&told).unwrap();
    let about = |table: &str| all.iter().any(|statement| statement.sql.contains(&format!("INTO {table} ")));
    assert!(about("tool_usage"));
    assert!(!about("threads") && !about("messages") && !about("plans"));
}

#[test]
fn a_deletion_comes_last_and_keeps_only_the_usage() {
    let mut news: Vec<_> = outbox().into_iter().filter_map(Outgoing::without_content).collect();
    news.push(Outgoing::new(
        &owner(),
        "thread",
        News::ThreadDeleted { workspace_root: None, records_root: None },
    ));
    let batch = statements(&news).unwrap();
    let verbs = [
        "INSERT INTO tool_usage ",
        "DELETE FROM shares ",
        "DELETE FROM bookmarks ",
        "DELETE FROM messages ",
        "UPDATE tool_usage SET detail = NULL ",
        "UPDATE error_log SET message = '' ",
        "DELETE FROM plans ",
        "DELETE FROM threads ",
    ];
    assert_eq!(batch.len(), verbs.len());
    for (statement, verb) in batch.iter().zip(verbs) {
        assert!(statement.sql.trim().starts_with(verb), "{}", statement.sql);
    }
    for blanked in &batch[2..] {
        assert_eq!(blanked.rows, r#"[["tenant","anonymous:user","thread"]]"#);
    }
    assert!(!batch[0].rows.contains("detail"), "the arguments of a call go with its thread");
}

fn failure(id: &str) -> FailureRecord {
    FailureRecord {
        id: id.to_owned(),
        component: "tool".to_owned(),
        stage: "run".to_owned(),
        tool_name: Some("calculate".to_owned()),
        code: "tool_failed".to_owned(),
        message: "because".to_owned(),
    }
}

// B-033 B-034 B-035 B-107 B-108
// Long: it names each column of the rows.
#[test]
fn calls_and_failures_are_rows() {
    let model = CallRecord::Model {
        id: "model".to_owned(),
        provider: "openai".to_owned(),
        model: "gpt".to_owned(),
        operation_type: "chat".to_owned(),
        profile: "speed".to_owned(),
        input_tokens: 10,
        cached_tokens: 4,
        output_tokens: 2,
        cost_usd: Some(0.5),
        first_byte_ms: None,
        duration_ms: 30,
        retries: 2,
        outcome: "provider_quota".to_owned(),
    };
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m2".to_owned(),
        context_type: "thread".to_owned(),
        created_at: 7,
        records: vec![model, CallRecord::Failure(failure("failure_0"))],
        used: None,
        execution_mode: None,
    };
    let failed =
        News::Failed { failure: FailureRecord { tool_name: None, ..failure("outbox_5") }, created_at: 5 };
    let spent = Outgoing::new(&owner(), "thread", News::Spent { calls });
    let batch = statements(&[spent.clone(), Outgoing::new(&owner(), "thread", failed)]).unwrap();
    let rows: Vec<Value> = batch.iter().map(|batch| serde_json::from_str(&batch.rows).unwrap()).collect();
    let user = "anonymous:user";
    assert_eq!(
        rows,
        [
            json!([[
                "tenant",
                user,
                "m2/model",
                "thread",
                "turn",
                "openai",
                "gpt",
                "chat",
                "thread",
                "speed",
                "agent",
                10,
                4,
                2,
                0.5,
                null,
                30,
                2,
                "provider_quota",
                7
            ]]),
            json!([
                [
                    "tenant",
                    user,
                    "m2/failure_0",
                    "thread",
                    "turn",
                    "tool",
                    "run",
                    "calculate",
                    "tool_failed",
                    "because",
                    "thread",
                    "agent",
                    7
                ],
                [
                    "tenant",
                    user,
                    "thread/outbox_5",
                    "thread",
                    "",
                    "tool",
                    "run",
                    null,
                    "tool_failed",
                    "because",
                    "",
                    "agent",
                    5
                ],
            ]),
        ]
    );
    for (statement, rows) in batch.iter().zip(&rows) {
        let columns = statement.sql.split(['(', ')']).nth(1).unwrap().split(',').count();
        let values = statement.sql.matches("value ->>").count();
        assert_eq!((columns, values), (rows[0].as_array().unwrap().len(), columns), "{}", statement.sql);
    }
    let Some(Outgoing { news: News::Spent { calls }, .. }) = spent.without_content() else { panic!() };
    assert_eq!(calls.records.len(), 1, "a failure may quote deleted text");
}

/// The thread as it is when it has these messages, one of them beside its path.
pub(super) fn present(messages: &[&str], beside: &[&str]) -> Present {
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    let (title, path) = ("mine".to_owned(), "[[1,9]]".to_owned());
    Present { title, state: Some(ThreadState::Running), messages: ids(messages), beside: ids(beside), path }
}

/// D1 may hear news in any order and late. It gets the present title, and no message that an older version deleted.
#[test]
fn late_news_have_the_present_title_and_no_deleted_message() {
    let here = present(&["m1", "m2"], &[]);
    let told: Vec<_> = outbox().into_iter().map(|out| out.told_now(&here)).collect();
    let batch = statements(&told).unwrap();
    let threads: Value = serde_json::from_str(&batch[0].rows).unwrap();
    let titles: Vec<_> = threads.as_array().unwrap().iter().map(|row| &row[3]).collect();
    assert_eq!(titles, ["mine"]);

    let deleted = outbox().into_iter().map(|out| out.told_now(&present(&[], &[])));
    let gone = News::MessagesReplaced { ids: vec!["m1".to_owned(), "m2".to_owned()] };
    let news: Vec<_> = [Outgoing::new(&owner(), "thread", gone)].into_iter().chain(deleted).collect();
    let batch = statements(&news).unwrap();
    let verbs = [
        "INSERT INTO threads ",
        "INSERT INTO tool_usage ",
        "DELETE FROM messages ",
        "UPDATE tool_usage SET detail = NULL ",
        "UPDATE error_log SET message = '' ",
    ];
    assert_eq!(batch.len(), verbs.len());
    for (statement, verb) in batch.iter().zip(verbs) {
        assert!(statement.sql.trim().starts_with(verb), "{}", statement.sql);
    }
    for gone in &batch[2..] {
        assert_eq!(gone.rows, r#"[["tenant","anonymous:user","m1"],["tenant","anonymous:user","m2"]]"#);
    }
    let kept: Vec<_> = news.into_iter().filter_map(Outgoing::without_content).map(|out| out.news).collect();
    assert!(matches!(kept[..], [News::Spent { .. }]), "of a deleted thread only the usage: {kept:?}");
}

#[test]
fn the_outbox_is_read_back_as_it_was_written() {
    for outgoing in outbox() {
        let json = serde_json::to_string(&outgoing).unwrap();
        assert_eq!(serde_json::from_str::<Outgoing>(&json).unwrap(), outgoing);
    }
}

// A thread that is told twice in one batch is one row: its last title, its newest time.
#[test]
fn a_batch_names_a_thread_once() {
    let thread = |title: &str, updated_at| {
        let state = (updated_at == 5).then_some(ThreadState::Waiting);
        ThreadRow { title: title.to_owned(), created_at: 1, updated_at, state }
    };
    let renamed = |id: &str, row| Outgoing::new(&owner(), id, News::Renamed { thread: row });
    let rows =
        [renamed("a", thread("first", 9)), renamed("b", thread("b", 3)), renamed("a", thread("last", 5))];
    let batch = statements(&rows).unwrap();
    let [statement] = batch.as_slice() else { panic!("{batch:?}") };
    let expected = json!([
        ["tenant", "anonymous:user", "a", "last", 1, 9, "waiting"],
        ["tenant", "anonymous:user", "b", "b", 1, 3, null],
    ]);
    assert_eq!(serde_json::from_str::<Value>(&statement.rows).unwrap(), expected);
}

// The sums of a time read the ids from here on.
#[test]
fn the_first_id_of_a_time_is_before_all_turns_that_may_have_ended_then() {
    let id = |ms: u64| Uuid::new_v7(Timestamp::from_unix(NoContext, ms / 1_000, 0)).to_string();
    let (since, day) = (1_800_000_000_000, 24 * 3_600_000);
    for days in [0, 1, 29] {
        assert!(first_id(since) <= id(since - days * day), "{days} days before");
    }
    assert!(first_id(since) > id(since - 31 * day));
    assert!(first_id(0) <= id(0));
}

// B-078 B-083 B-105 B-106 B-111: a plan is a row of the index, with the columns that metrics count by.
#[test]
fn a_plan_is_told_with_its_context_and_its_review() {
    let news = News::PlanChanged { turn_id: "turn".to_owned(), plan: Box::new(plan()), updated_at: 9 };
    let batch = statements(&[Outgoing::new(&owner(), "thread", news.clone())]).unwrap();
    let [statement] = batch.as_slice() else { panic!("{batch:?}") };
    assert!(statement.sql.trim().starts_with("INSERT INTO plans "));
    let rows: Value = serde_json::from_str(&statement.rows).unwrap();
    let expected =
        json!(["tenant", "anonymous:user", "thread", "plan_1", "turn", "o", "label", "project", "e"]);
    assert_eq!(rows[0].as_array().unwrap()[..9], expected.as_array().unwrap()[..]);
    assert_eq!(rows[0][9], json!("agent_review"));
    assert_eq!((&rows[0][10], &rows[0][11]), (&json!("pending_review"), &json!("needs_changes")));
    assert_eq!(serde_json::from_str::<Plan>(rows[0][12].as_str().unwrap()).unwrap(), plan());
    assert_eq!((&rows[0][13], &rows[0][14], &rows[0][15]), (&json!(3), &json!(4), &json!(9)));
    assert_eq!(Outgoing::new(&owner(), "thread", news).without_content(), None);
}

// B-071 B-072 B-089 B-107 B-108: all rows of a turn have the execution mode of its plan.
#[test]
fn a_turn_is_annotated_with_its_execution_mode() {
    let tool = CallRecord::Tool {
        id: "c".to_owned(),
        tool_name: "agent_create_plan".to_owned(),
        duration_ms: 3,
        is_error: false,
        detail: Some("objective".to_owned()),
        refused: false,
    };
    let calls = Calls {
        turn_id: "turn".to_owned(),
        message_id: "m2".to_owned(),
        context_type: "project".to_owned(),
        created_at: 7,
        records: vec![tool, CallRecord::Failure(failure("failure_0"))],
        used: None,
        execution_mode: Some("draft_only".to_owned()),
    };
    let batch = statements(&[Outgoing::new(&owner(), "thread", News::Spent { calls })]).unwrap();
    let rows: Vec<Value> = batch.iter().map(|batch| serde_json::from_str(&batch.rows).unwrap()).collect();
    assert_eq!(
        rows[0][0].as_array().unwrap()[6..],
        *json!([3, 0, "ok", 7, "project", "draft_only", "objective"]).as_array().unwrap()
    );
    assert_eq!((&rows[1][0][10], &rows[1][0][11]), (&json!("project"), &json!("draft_only")));
}
