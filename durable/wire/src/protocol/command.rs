//! The commands that the Worker sends to a thread's object. They stay within the service.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    AgentDump, ApiError, ChatRequest, ContinueSession, Decision, Dialect, ErrorCode, GivenAnswer, Hook, Seq,
    Shown, WorkflowDetail,
};

/// The issuer of visitors, who have neither a key nor a token.
pub const ANONYMOUS: &str = "anonymous";

/// The owner of data. Clients choose their ids, so an id identifies data only together with its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The issuer that vouches for the user: `anonymous`, `key`, or a JWT issuer's configured name. It contains no
    /// colon.
    pub issuer: String,
    pub tenant: String,
    /// The issuer's own name of the user.
    pub user: String,
}

impl Owner {
    /// The `user_id` of D1's keys: unambiguous, because an issuer contains no colon.
    pub fn user_id(&self) -> String {
        format!("{}:{}", self.issuer, self.user)
    }

    /// The name of a thread's object: a digest over length-prefixed parts, so any two owners have different names,
    /// whatever ids they choose.
    pub fn object_name(&self, thread_id: Uuid) -> String {
        hex(&self.digest(&["thread", &thread_id.to_string()]))
    }

    /// The prefix of the keys of all files of a thread.
    pub fn workspace_root(&self, thread_id: Uuid) -> String {
        format!("{THREADS}{}/", self.object_name(thread_id))
    }

    /// The prefix of the keys of all records of a thread.
    pub fn records_root(&self, thread_id: Uuid) -> String {
        format!("{RECORDS}{}/", self.object_name(thread_id))
    }

    /// The prefix of the keys of the user's named workspaces, one folder each.
    pub fn workspaces_root(&self) -> String {
        format!("{WORKSPACES}{}/", hex(&self.digest(&["workspaces"])))
    }

    /// The thread of a request that names none. A blind retry of the same turn gets the same thread.
    pub fn derived_thread(&self, turn_id: Uuid) -> Uuid {
        self.derived(&["derived thread", &turn_id.to_string()])
    }

    /// The thread of a session that a client carries out. Who knows the session's id has the thread's.
    pub fn session_thread(&self, session_id: Uuid) -> Uuid {
        self.derived(&["session thread", &session_id.to_string()])
    }

    /// The thread that a client of a dialect calls by this name.
    pub fn dialect_thread(&self, dialect: &Dialect, name: &str) -> Uuid {
        self.derived(&["dialect thread", dialect.as_str(), name])
    }

    /// The turn of a client's message in a thread. The same message again gets the same turn.
    pub fn dialect_turn(&self, thread_id: Uuid, id: &str, message: &str) -> Uuid {
        self.derived(&["dialect turn", &thread_id.to_string(), id, message])
    }

    /// The word that limits a search in an index of all users to this user.
    pub fn token(&self) -> String {
        self.token_of(&[])
    }

    /// The same word for one item of this user.
    pub fn token_of(&self, rest: &[&str]) -> String {
        hex(self.digest(&[&["indexed"], rest].concat()).get(..16).unwrap_or_default())
    }

    /// The id of the memory that a call writes. A repeated call gets the same id. Call ids are unique within a thread.
    pub fn memory_id(&self, thread_id: &str, operation_id: &str) -> Uuid {
        self.derived(&["memory", thread_id, operation_id])
    }

    fn derived(&self, rest: &[&str]) -> Uuid {
        let mut bytes = [0_u8; 16];
        for (to, from) in bytes.iter_mut().zip(self.digest(rest)) {
            *to = from;
        }
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    fn digest(&self, rest: &[&str]) -> [u8; 32] {
        digest([self.issuer.as_str(), &self.tenant, &self.user].into_iter().chain(rest.iter().copied()))
    }
}

/// The prefixes of the keys of all files of threads, of all records, and of all files in named workspaces.
const THREADS: &str = "threads/";
const RECORDS: &str = "records/";
const WORKSPACES: &str = "workspaces/";
/// All of them.
pub const FOLDERS: [&str; 3] = [THREADS, RECORDS, WORKSPACES];

/// The folder of all named workspaces of the user, found from one of them. None for a thread's own workspace.
pub fn workspaces_beside(root: &str) -> Option<&str> {
    let owners = root.strip_prefix(WORKSPACES)?;
    let end = owners.find('/')? + 1;
    root.get(..WORKSPACES.len() + end)
}

/// The name of the object that keeps a tenant's quotas. It digests two parts and a thread's name digests five, so the
/// two never collide.
pub fn quota_object_name(tenant: &str) -> String {
    hex(&digest(["quota", tenant].into_iter()))
}

fn digest<'a>(parts: impl Iterator<Item = &'a str>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An anonymous user, as the quotas see one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visitor {
    pub address: Option<String>,
}

/// After how many seconds a client should repeat a request that met two versions of the service. In a gradual rollout
/// each request may meet another pair of versions.
const RETRY_AFTER_S: u64 = 10;

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
    /// would change the request. The client may repeat the request.
    pub fn read(body: &str) -> Result<ThreadEnvelope, ApiError> {
        let differs = |what: String| {
            let detail = format!("a rollout is under way, and this thread's version does not know {what}");
            ApiError::new(ErrorCode::VersionsDiffer, detail).retry_after(RETRY_AFTER_S)
        };
        let told = |error: serde_json::Error| differs(format!("the request: {error}"));
        let sent: Value = crate::json::from_str(body).map_err(told)?;
        let envelope = crate::json::from_str::<ThreadEnvelope>(body).map_err(told)?;
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

/// A command. The Worker passes the object's response on to the client.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ThreadCommand {
    /// Start a turn (or find it) and stream it.
    Chat {
        turn_id: Uuid,
        request: Box<ChatRequest>,
        /// The address of an anonymous visitor; none for all others.
        visitor: Option<Visitor>,
        /// The form of the stream, where it is not ours.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dialect: Option<Dialect>,
        /// The turn that a version follows, by one of its messages; the nil id is the beginning of the conversation. A
        /// client of a dialect knows the answer before its question, and not the question that it replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Uuid>,
        /// The conversation before the message, as the client brings it: questions and answers in turn. A new thread imports
        /// it; any other one has its own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        history: Vec<String>,
        /// Whether a new thread stands in no list, and is deleted a day after its last message.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unlisted: bool,
    },
    /// Take answers to waiting calls, then stream in a dialect the rest of the turn after the event up to which the client
    /// has read it. Without answers: the turn that is named, or the open one, from its start.
    Speak {
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
    Detail,
    Messages {
        limit: u32,
        cursor: Option<String>,
        /// List the messages of all versions, and not of the path alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// Stream the log after this number.
    Stream {
        after: u64,
    },
    Cancel,
    /// The result of a tool that the client carried out.
    ToolResult {
        tool_call_id: String,
        content: String,
        is_error: bool,
    },
    /// The decision of a person on a request for approval.
    Approval {
        approval_id: String,
        decision: Decision,
        /// The answer to a form.
        content: Option<Map<String, Value>>,
        /// The HMAC of the client's address, for the audit log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
    },
    /// List the tools that a person allowed for the whole thread.
    Approvals,
    /// Ask a person about this tool again.
    WithdrawApproval {
        tool: String,
    },
    /// List the thread's hooks.
    Hooks,
    /// Put a hook in place of the one with its name, or behind all.
    PutHook {
        hook: Box<Hook>,
    },
    DeleteHook {
        name: String,
    },
    Rename {
        title: String,
    },
    /// Make the path go through this turn.
    Choose {
        turn_id: Uuid,
    },
    /// Return a user's message in its original form.
    Sent {
        message_id: String,
    },
    /// List the messages that wait for their turn.
    Queue,
    /// Hold the queue, or let it go on.
    HoldQueue {
        held: bool,
    },
    /// Give a queued message other words.
    EditQueued {
        message_id: String,
        content: String,
    },
    /// Take a message out of the queue.
    RemoveQueued {
        message_id: String,
    },
    /// Return a snapshot of the path, or of the path to a message: what people who have a link to it read.
    Snapshot {
        until: Option<String>,
        shown: Shown,
    },
    /// Return the record of a turn.
    Record {
        turn_id: Uuid,
    },
    /// List the records of turns.
    Records {
        limit: u32,
        cursor: Option<String>,
    },
    /// List the agents of the thread.
    Agents,
    /// List the rounds of an agent.
    AgentRounds {
        name: String,
        cursor: Option<String>,
    },
    /// Return an agent with all that it remembers.
    DumpAgent {
        name: String,
    },
    /// Make an agent of a dump.
    RestoreAgent {
        dump: Box<AgentDump>,
    },
    /// End an agent, with those that it made.
    EndAgent {
        name: String,
    },
    /// Make the thread, with a session that the client carries out.
    StartSession {
        session_id: Uuid,
        workflow: Box<WorkflowDetail>,
        goal: Option<String>,
        visitor: Option<Visitor>,
    },
    /// End the step at which the session stands.
    ContinueSession {
        session_id: Uuid,
        workflow_id: String,
        ended: Box<ContinueSession>,
    },
    /// End the session that is open.
    EndSession,
    Delete {
        /// The HMAC of the client's address, for the audit log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
    },
    /// Delete the thread with all that D1 has not heard of it, its usage as well: its owner's data is erased.
    Erase,
    /// Delete the thread, unless somebody used it after a time: the retention asks for it.
    Expire {
        /// In milliseconds since 1970.
        unused_since: u64,
    },
}

crate::tagged!(ThreadCommand by "do" {
    "chat" => Chat { turn_id, request, visitor, dialect, follows, #[serde(default)] history, #[serde(default)] unlisted },
    "speak" => Speak { dialect, answers, turn_id, read, #[serde(default)] stop, #[serde(default)] address },
    "detail" => Detail,
    "messages" => Messages { limit, cursor, #[serde(default)] all },
    "stream" => Stream { after },
    "cancel" => Cancel,
    "tool_result" => ToolResult { tool_call_id, content, is_error },
    "approval" => Approval { approval_id, decision, content, #[serde(default)] address },
    "approvals" => Approvals,
    "withdraw_approval" => WithdrawApproval { tool },
    "hooks" => Hooks,
    "put_hook" => PutHook { hook },
    "delete_hook" => DeleteHook { name },
    "rename" => Rename { title },
    "choose" => Choose { turn_id },
    "sent" => Sent { message_id },
    "queue" => Queue,
    "hold_queue" => HoldQueue { held },
    "edit_queued" => EditQueued { message_id, content },
    "remove_queued" => RemoveQueued { message_id },
    "snapshot" => Snapshot { until, shown },
    "record" => Record { turn_id },
    "records" => Records { limit, cursor },
    "agents" => Agents,
    "agent_rounds" => AgentRounds { name, cursor },
    "dump_agent" => DumpAgent { name },
    "restore_agent" => RestoreAgent { dump },
    "end_agent" => EndAgent { name },
    "start_session" => StartSession { session_id, workflow, goal, visitor },
    "continue_session" => ContinueSession { session_id, workflow_id, ended },
    "end_session" => EndSession,
    "delete" => Delete { #[serde(default)] address },
    "erase" => Erase,
    "expire" => Expire { unused_since },
});
