//! The commands that the Worker sends to a thread's object. They stay within the service.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    AgentDump, ApiError, ChatRequest, ContinueSession, Decision, Dialect, ErrorCode, GivenAnswer, Hook,
    Owner, Seq, Shown, WorkflowDetail,
};
use crate::pace::Pace;

/// An anonymous user, as the quotas see one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visitor {
    pub address: Option<String>,
}

/// After how many seconds a client should repeat a request that met two versions of the service. In a gradual rollout
/// each request may meet another pair of versions.
pub const VERSIONS_RETRY_S: u64 = 10;

/// The units of work of a byte in one step of reading a request. Where it has so many values that a step takes long, a few
/// bytes make a value.
const STEP: usize = 20;

/// A request to a thread's object: its body, as JSON.
/// During a rollout the Worker and the object may be of different versions. A new member is an `Option`, or has a
/// default that means what older Workers meant. Older objects refuse a new command until the rollout replaces them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadEnvelope {
    pub owner: Owner,
    pub thread_id: Uuid,
    pub command: ThreadCommand,
}

impl ThreadEnvelope {
    /// Reads a request. It refuses a member that this object does not know, at any depth, because ignoring the member
    /// would change the request. The client may repeat the request. It reads a request in three steps; others may run between
    /// those of a long one.
    pub async fn read(body: &str, pace: &Pace<'_>) -> Result<ThreadEnvelope, ApiError> {
        let differs = |what: String| {
            let detail = format!("a rollout is under way, and this thread's version does not know {what}");
            ApiError::new(ErrorCode::VersionsDiffer, detail).retry_after(VERSIONS_RETRY_S)
        };
        let told = |error: serde_json::Error| differs(format!("the request: {error}"));
        let step = body.len().saturating_mul(STEP);
        let sent: Value = crate::json::from_str(body).map_err(told)?;
        pace.before(step).await?;
        let envelope = crate::json::from_str::<ThreadEnvelope>(body).map_err(told)?;
        pace.before(step).await?;
        match unread(&sent, &serde_json::to_value(&envelope).map_err(told)?) {
            Some(path) => Err(differs(path)),
            None => Ok(envelope),
        }
    }
}

/// The path of the first member in `sent` that `read` lacks. Null means absent.
fn unread(sent: &Value, read: &Value) -> Option<String> {
    match (sent, read) {
        (Value::Object(sent), Value::Object(read)) => {
            sent.iter().filter(|(_, value)| !value.is_null()).find_map(|(name, value)| match read.get(name) {
                None => Some(name.clone()),
                Some(read) => unread(value, read).map(|path| format!("{name}.{path}")),
            })
        }
        (Value::Array(sent), Value::Array(read)) => {
            let mut pairs = sent.iter().zip(read).enumerate();
            pairs.find_map(|(index, (sent, read))| unread(sent, read).map(|path| format!("{index}.{path}")))
        }
        _ => None,
    }
}

/// A message for a thread, as a door of the service has read it. It keeps this shape on its way to the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatCommand {
    pub turn_id: Uuid,
    pub request: ChatRequest,
    /// The address of an anonymous visitor; none for all others.
    pub visitor: Option<Visitor>,
    /// The form of the stream, where it is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The turn that a version follows, by one of its messages; the nil id is the beginning of the conversation. A
    /// client of a dialect knows the answer before its question, and not the question that it replaces. An id that no
    /// message has stands for the imported turn with which `history` ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Uuid>,
    /// The conversation before the message, as the client brings it: questions and answers in turn. A new thread imports
    /// it; any other one has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// The words of the user after the conversation and before the message. A new thread, and a
    /// message that follows a turn, take both as one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
    /// Whether a new thread stands in no list, and is deleted a day after its last message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlisted: bool,
    /// The digest of a request with an `Idempotency-Key`. Another request that finds its turn is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<String>,
}

impl ChatCommand {
    /// A message by itself, in our own form.
    pub fn new(turn_id: Uuid, request: ChatRequest, visitor: Option<Visitor>) -> Self {
        ChatCommand {
            turn_id,
            request,
            visitor,
            dialect: None,
            follows: None,
            history: Vec::new(),
            unanswered: None,
            unlisted: false,
            request_digest: None,
        }
    }
}

crate::tagged! {
    /// A command. The Worker passes the object's response on to the client.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ThreadCommand by "do" {
        /// Start a turn (or find it) and stream it.
        "chat" => Chat(Box<ChatCommand>),
        /// Take answers to waiting calls, then stream in a dialect the rest of the turn after the event up to which the client
        /// has read it. Without answers: the turn that is named, or the open one, from its start.
        "speak" => Speak {
            dialect: Dialect,
            answers: Vec<GivenAnswer>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            turn_id: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            read: Option<Seq>,
            /// Stop the turn first, if it has not ended.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            stop: bool,
            /// The HMAC of the client's address, for the audit log.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            address: Option<String>,
        },
        "detail" => Detail,
        "messages" => Messages {
            limit: u32,
            cursor: Option<String>,
            /// List the messages of all versions, and not of the path alone.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            all: bool,
        },
        /// Stream the log after this number.
        "stream" => Stream {
            after: u64,
        },
        "cancel" => Cancel,
        /// The result of a tool that the client carried out.
        "tool_result" => ToolResult {
            tool_call_id: String,
            content: String,
            is_error: bool,
        },
        /// The decision of a person on a request for approval.
        "approval" => Approval {
            approval_id: String,
            decision: Decision,
            /// The answer to a form.
            content: Option<Map<String, Value>>,
            /// Why a person denies the call.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            reason: Option<String>,
            /// The HMAC of the client's address, for the audit log.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            address: Option<String>,
        },
        /// List the tools that a person allowed for the whole thread.
        "approvals" => Approvals,
        /// Ask a person about this tool again.
        "withdraw_approval" => WithdrawApproval {
            tool: String,
        },
        /// List the thread's hooks.
        "hooks" => Hooks,
        /// Put a hook in place of the one with its name, or behind all.
        "put_hook" => PutHook {
            hook: Box<Hook>,
        },
        "delete_hook" => DeleteHook {
            name: String,
        },
        "rename" => Rename {
            title: String,
        },
        /// Make the path go through this turn.
        "choose" => Choose {
            turn_id: Uuid,
        },
        /// Return a user's message in its original form.
        "sent" => Sent {
            message_id: String,
        },
        /// Return the beginning of a message, for a bookmark.
        "excerpt" => Excerpt {
            message_id: String,
        },
        /// List the messages that wait for their turn.
        "queue" => Queue,
        /// Hold the queue, or let it go on.
        "hold_queue" => HoldQueue {
            held: bool,
        },
        /// Give a queued message other words.
        "edit_queued" => EditQueued {
            message_id: String,
            content: String,
        },
        /// Take a message out of the queue.
        "remove_queued" => RemoveQueued {
            message_id: String,
        },
        /// Return a snapshot of the path, or of the path to a message: what people who have a link to it read.
        "snapshot" => Snapshot {
            until: Option<String>,
            shown: Shown,
        },
        /// Return the record of a turn.
        "record" => Record {
            turn_id: Uuid,
            /// With the words of the operator's hooks, and not with digests in their place.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            whole: bool,
        },
        /// List the records of turns.
        "records" => Records {
            limit: u32,
            cursor: Option<String>,
        },
        /// Return what no other command tells of the thread, row by row, for the export of its owner's data.
        "export" => Export {
            cursor: Option<String>,
        },
        /// List the agents of the thread.
        "agents" => Agents,
        /// List the rounds of an agent.
        "agent_rounds" => AgentRounds {
            name: String,
            cursor: Option<String>,
        },
        /// Return an agent with all that it remembers.
        "dump_agent" => DumpAgent {
            name: String,
        },
        /// Make an agent of a dump, with the agents below it.
        "restore_agent" => RestoreAgent {
            /// Its rounds stand beside it; those of older Workers stand in it.
            dump: Box<AgentDump>,
            /// The rounds as the rows of an agent have them: each is the JSON of its messages.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            rounds: Vec<String>,
            /// The rounds of the agents below it, those of an agent before those of its own agents.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            below: Vec<Vec<String>>,
        },
        /// End an agent, with those that it made.
        "end_agent" => EndAgent {
            name: String,
        },
        /// Make the thread, with a session that the client carries out.
        "start_session" => StartSession {
            session_id: Uuid,
            workflow: Box<WorkflowDetail>,
            goal: Option<String>,
            visitor: Option<Visitor>,
        },
        /// End the step at which the session stands.
        "continue_session" => ContinueSession {
            session_id: Uuid,
            workflow_id: String,
            ended: Box<ContinueSession>,
        },
        /// Return the newest session of a workflow whole, a part at a time: its steps from this one on.
        "workflow_session" => WorkflowSession {
            from: u32,
        },
        /// End the session that is open.
        "end_session" => EndSession,
        "delete" => Delete {
            /// The HMAC of the client's address, for the audit log.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            address: Option<String>,
        },
        /// Delete the thread with all that D1 has not heard of it, its usage as well: its owner's data is erased.
        "erase" => Erase,
        /// Delete the thread, unless somebody used it after a time: the retention asks for it.
        "expire" => Expire {
            /// In milliseconds since 1970.
            unused_since: u64,
        },
    }
}
