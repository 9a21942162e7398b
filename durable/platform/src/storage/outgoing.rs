//! The news of a thread for D1: the payloads of its outbox and the statements that they become. Pure.
//!
//! Every statement is an upsert or a deletion that names tenant and user, so it may arrive late or twice. Each takes
//! its rows as one JSON array, which keeps a batch of any size within D1's 100 bound parameters.

mod audit;
mod moves;
mod present;
mod telemetry;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::audit::{Audited, MAX_REFUSED};
use self::audit::{Deeds, INSERT_AUDIT};
use self::moves::Moves;
pub use self::present::Present;
pub use self::telemetry::first_id;
use self::telemetry::{
    BLANK_DETAILS, BLANK_ERRORS, CallRows, INSERT_ERROR_LOG, INSERT_LLM_USAGE, INSERT_TOOL_USAGE,
};
use engine::budget::Amount;
use engine::journal::{CallRecord, FailureRecord};
use wire::protocol::{Owner, Plan, StoredMessage, ThreadState};

use super::{StoreError, fit};
use bindings::rows::arrays;

/// One row of the outbox: the thread and its news.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    pub tenant: String,
    pub user_id: String,
    pub thread_id: String,
    pub news: News,
    /// Whether the messages of these news are beside the path; known when they are told.
    #[serde(skip)]
    pub beside: bool,
}

wire::tagged! {
    /// A change that D1 must learn.
    #[derive(Clone, Debug, PartialEq)]
    pub enum News by "kind" {
        "turn_started" => TurnStarted {
            thread: ThreadRow,
            message: StoredMessage,
        },
        "renamed" => Renamed {
            thread: ThreadRow,
        },
        /// Messages that other messages have replaced. Versions up to 4 of the object's tables posted this, and deleted the
        /// messages.
        "messages_replaced" => MessagesReplaced {
            ids: Vec<String>,
        },
        /// Another path is the conversation.
        "path_changed" => PathChanged {
            /// The messages that came to the path, or left it, and whether each is beside the path now.
            messages: BTreeMap<String, bool>,
            /// The path, as ranges of turns.
            path: String,
        },
        "turn_ended" => TurnEnded {
            thread: ThreadRow,
            /// The user's message: D1 hears of a short turn only now.
            #[serde(default)]
            question: Option<Box<StoredMessage>>,
            message: StoredMessage,
            calls: Calls,
        },
        /// A plan as it is after a turn.
        "plan_changed" => PlanChanged {
            turn_id: String,
            plan: Box<Plan>,
            updated_at: u64,
        },
        /// Usage without messages: of a turn whose thread was deleted before D1 heard of the turn, since usage must add up, or of
        /// a call beside the turns.
        "spent" => Spent {
            calls: Calls,
        },
        /// A failure outside of a turn.
        "failed" => Failed {
            failure: FailureRecord,
            created_at: u64,
        },
        /// A deed for the audit log. It outlives the thread.
        "audited" => Audited {
            audited: Audited,
        },
        "thread_deleted" => ThreadDeleted {
            /// The folder of its files.
            #[serde(default)]
            workspace_root: Option<String>,
            /// The folder of its records.
            #[serde(default)]
            records_root: Option<String>,
        },
    }
}

impl News {
    /// The messages that these news bring, in their order.
    fn messages(&self) -> impl Iterator<Item = &StoredMessage> {
        let (question, message) = match self {
            News::TurnStarted { message, .. } => (None, Some(message)),
            News::TurnEnded { question, message, .. } => (question.as_deref(), Some(message)),
            _ => (None, None),
        };
        question.into_iter().chain(message)
    }
}

/// The thread as the list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    pub title: String,
    pub created_at: u64,
    pub updated_at: u64,
    /// Known when it is told.
    #[serde(skip)]
    pub state: Option<ThreadState>,
}

/// The calls of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    pub turn_id: String,
    /// The assistant message's id, which makes the ids of the rows unique. Turn ids do not, since clients choose them.
    pub message_id: String,
    pub context_type: String,
    pub created_at: u64,
    pub records: Vec<CallRecord>,
    /// The amounts that the quotas charge; none where they are not known.
    #[serde(default)]
    pub used: Option<Amount>,
    /// How the turn's plan was to be carried out; none where the turn had no plan.
    #[serde(default)]
    pub execution_mode: Option<String>,
}

impl Calls {
    /// The usage alone, without the arguments of tools and the messages of failures: both may repeat deleted text.
    fn without_content(mut self) -> Self {
        self.records.retain(|record| !matches!(record, CallRecord::Failure(_)));
        for record in &mut self.records {
            if let CallRecord::Tool { detail, .. } = record {
                *detail = None;
            }
        }
        self
    }
}

impl Outgoing {
    /// News of an owner's thread.
    pub fn new(owner: &Owner, thread_id: impl Into<String>, news: News) -> Self {
        let (tenant, user_id) = (owner.tenant.clone(), owner.user_id());
        Outgoing { tenant, user_id, thread_id: thread_id.into(), news, beside: false }
    }

    /// The turn whose message these news bring.
    pub fn turn_id(&self) -> Option<&str> {
        match &self.news {
            News::TurnStarted { message, .. } | News::TurnEnded { message, .. } => Some(&message.turn_id),
            _ => None,
        }
    }

    /// The part of it that D1 hears of a thread that stands in no list.
    pub fn unlisted(self) -> Option<Self> {
        match self.news {
            News::Failed { .. }
            | News::ThreadDeleted { .. }
            | News::PathChanged { .. }
            | News::Audited { .. } => Some(self),
            _ => self.without_content(),
        }
    }

    /// The part of it that survives the deletion of its thread.
    pub fn without_content(self) -> Option<Self> {
        match self.news {
            News::TurnEnded { calls, .. } | News::Spent { calls } => {
                let news = News::Spent { calls: calls.without_content() };
                Some(Outgoing { news, ..self })
            }
            News::Audited { .. } => Some(self),
            News::TurnStarted { .. }
            | News::Renamed { .. }
            | News::MessagesReplaced { .. }
            | News::PathChanged { .. }
            | News::PlanChanged { .. }
            | News::Failed { .. }
            | News::ThreadDeleted { .. } => None,
        }
    }
}

/// A statement with its one parameter, a JSON array of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub sql: &'static str,
    pub rows: String,
}

const UPSERT_THREADS: &str = "
INSERT INTO threads (tenant, user_id, id, title, created_at, updated_at, state)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?1)
WHERE true
ON CONFLICT (tenant, user_id, id) DO UPDATE SET
  title = excluded.title, updated_at = max(updated_at, excluded.updated_at), state = excluded.state";

const UPSERT_MESSAGES: &str = "
INSERT INTO messages (tenant, user_id, id, thread_id, turn_id, role, content, execution_tree, usage, finish_reason,
  created_at, stop, beside)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO UPDATE SET
  content = excluded.content, execution_tree = excluded.execution_tree, usage = excluded.usage,
  finish_reason = excluded.finish_reason, stop = excluded.stop, beside = excluded.beside";

/// The thread's newest news of a plan win, in whatever order they arrive. The revisions of two versions of a turn may be
/// equal.
const UPSERT_PLANS: &str = "
INSERT INTO plans (tenant, user_id, thread_id, id, turn_id, objective, intent_label, context_type, entity_id,
  execution_mode, status, review_verdict, payload, revision, created_at, updated_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, value ->> 15
FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, thread_id, id) DO UPDATE SET
  turn_id = excluded.turn_id, intent_label = excluded.intent_label, status = excluded.status,
  review_verdict = excluded.review_verdict, payload = excluded.payload, revision = excluded.revision,
  updated_at = excluded.updated_at
WHERE (excluded.updated_at, excluded.revision) > (plans.updated_at, plans.revision)";

const DELETE_PLANS: &str = "
DELETE FROM plans WHERE (tenant, user_id, thread_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?1))";

const DELETE_SHARES: &str = "
DELETE FROM shares WHERE (tenant, user_id, thread_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?1))";

const DELETE_BOOKMARKS: &str = "
DELETE FROM bookmarks WHERE (tenant, user_id, thread_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?1))";

const DELETE_MESSAGES: &str = "
DELETE FROM messages WHERE (tenant, user_id, thread_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?1))";

const DELETE_THREADS: &str = "
DELETE FROM threads WHERE (tenant, user_id, id) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1))";

/// The statements about threads that were deleted.
const OF_DELETED: [&str; 7] = [
    DELETE_SHARES,
    DELETE_BOOKMARKS,
    DELETE_MESSAGES,
    BLANK_DETAILS,
    BLANK_ERRORS,
    DELETE_PLANS,
    DELETE_THREADS,
];

/// The statements of one D1 batch for these rows of the outbox, in the order in which they were written. Deletions come
/// last. A thread's object writes no row after its own deletion, and none about a message after that message's
/// deletion, so no deleted row comes back.
pub fn statements(outbox: &[Outgoing]) -> Result<Vec<Statement>, StoreError> {
    // A thread once, with its last title: a turn that ends soon tells of its thread twice in one batch.
    let mut threads = BTreeMap::new();
    let (mut messages, mut plans, mut deeds) = (Vec::new(), Vec::new(), Deeds::default());
    let mut rows = CallRows::default();
    let (mut moves, mut deleted) = (Moves::default(), Vec::new());
    for out in outbox {
        let Outgoing { tenant, user_id, thread_id, news, .. } = out;
        if let News::TurnStarted { thread, .. } | News::TurnEnded { thread, .. } | News::Renamed { thread } =
            news
        {
            let ThreadRow { title, created_at, updated_at, state } = thread;
            let row = (title, created_at, updated_at, state);
            let told = threads.entry((tenant, user_id, thread_id)).or_insert(row);
            *told = (title, created_at, updated_at.max(told.2), state);
        }
        for message in news.messages() {
            messages.push(message_row(out, message)?);
        }
        match news {
            News::MessagesReplaced { .. } | News::PathChanged { .. } => moves.add(out),
            News::ThreadDeleted { .. } => deleted.push((tenant, user_id, thread_id)),
            News::Audited { audited } => deeds.add(out, audited),
            News::Failed { failure, created_at } => {
                rows.add_failure(out, failure, *created_at);
            }
            News::PlanChanged { turn_id, plan, updated_at } => {
                plans.push(plan_row(out, turn_id, plan, *updated_at)?);
            }
            News::TurnEnded { calls, .. } | News::Spent { calls } => {
                rows.add(out, calls);
                deeds.add_refused(out, calls);
            }
            News::TurnStarted { .. } | News::Renamed { .. } => {}
        }
    }
    let mut all = Vec::new();
    let mut add = |sql: &'static str, rows: Vec<String>| {
        all.extend(arrays(&rows).into_iter().map(|rows| Statement { sql, rows }));
    };
    let threads =
        threads.into_iter().map(|((tenant, user_id, id), (title, created_at, updated_at, state))| {
            (tenant, user_id, id, title, created_at, updated_at, state)
        });
    add(UPSERT_THREADS, json_rows(&threads.collect::<Vec<_>>())?);
    add(UPSERT_MESSAGES, json_rows(&messages)?);
    add(INSERT_LLM_USAGE, json_rows(&rows.llm_usage)?);
    add(INSERT_TOOL_USAGE, json_rows(&rows.tool_usage)?);
    add(INSERT_ERROR_LOG, json_rows(&rows.failures)?);
    add(INSERT_AUDIT, json_rows(&deeds.0)?);
    add(UPSERT_PLANS, json_rows(&plans)?);
    for (sql, rows) in moves.statements()? {
        add(sql, rows);
    }
    for sql in OF_DELETED {
        add(sql, json_rows(&deleted)?);
    }
    Ok(all)
}

fn json_rows<T: Serialize>(rows: &[T]) -> Result<Vec<String>, StoreError> {
    rows.iter().map(|row| Ok(serde_json::to_string(row)?)).collect()
}

fn message_row(out: &Outgoing, message: &StoredMessage) -> Result<Value, StoreError> {
    Ok(json!([
        out.tenant,
        out.user_id,
        message.id,
        out.thread_id,
        message.turn_id,
        message.role,
        message.content,
        fit::json_text(&message.execution_tree)?,
        fit::json_text(&message.usage)?,
        message.finish_reason,
        message.created_at,
        fit::json_text(&message.stop)?,
        u8::from(out.beside),
    ]))
}

fn plan_row(out: &Outgoing, turn_id: &str, plan: &Plan, updated_at: u64) -> Result<Value, StoreError> {
    Ok(json!([
        out.tenant,
        out.user_id,
        out.thread_id,
        plan.id,
        turn_id,
        plan.objective,
        plan.intent_label,
        plan.context_type,
        plan.entity_id,
        plan.execution_mode,
        plan.status,
        plan.review.as_ref().map(|review| review.verdict),
        serde_json::to_string(plan)?,
        plan.revision,
        plan.created_at,
        updated_at,
    ]))
}

/// How long after a deletion D1 is told of it again: a batch that was given up without an answer may still arrive, and
/// D1 ends a query after 30 s.
pub const DELETED_AGAIN_MS: u64 = 60_000;
