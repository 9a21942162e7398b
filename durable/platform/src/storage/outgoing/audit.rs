//! The rows of the audit log that a thread's object sends.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use super::{Calls, News, Outgoing};
use engine::journal::CallRecord;
use wire::protocol::AuditAction;
use wire::redact::redacted;

/// A row may be told twice: its key makes it one.
pub(super) const INSERT_AUDIT: &str = "
INSERT INTO audit (tenant, created_at, id, user_id, action, target, detail, address)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
FROM json_each(?1) WHERE true
ON CONFLICT (tenant, created_at, id) DO NOTHING";

/// The most refused calls of a turn that leave a row: a model may repeat such a call until the turn's limits end it, and
/// the first rows say which tools it tried. It is the number of rows that a page of the log shows without scrolling.
pub const MAX_REFUSED: usize = 20;

/// A deed in a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// Distinguishes the deed from all others of its thread.
    pub key: String,
    pub action: AuditAction,
    pub at: u64,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The HMAC of the client's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// The rows of a batch.
#[derive(Default)]
pub(super) struct Deeds(pub(super) Vec<Value>);

impl Deeds {
    pub(super) fn add(&mut self, out: &Outgoing, audited: &Audited) {
        let Audited { key, action, at, detail, address } = audited;
        let id = id(out, *action, key);
        let detail = detail.as_deref().filter(|name| is_tool_name(name)).map(redacted);
        self.0.push(json!([out.tenant, at, id, out.user_id, action, out.thread_id, detail, address]));
    }

    pub(super) fn add_refused(&mut self, out: &Outgoing, calls: &Calls) {
        for audited in refused(calls) {
            self.add(out, &audited);
        }
    }
}

/// The calls of a turn that the policy or a hook refused.
fn refused(calls: &Calls) -> impl Iterator<Item = Audited> {
    let refused = calls.records.iter().filter_map(|record| match record {
        CallRecord::Tool { id, tool_name, refused: true, .. } => Some((id, tool_name)),
        _ => None,
    });
    refused.take(MAX_REFUSED).map(|(id, tool_name)| Audited {
        key: format!("{}/{id}", calls.message_id),
        action: AuditAction::CallRefused,
        at: calls.created_at,
        detail: Some(tool_name.clone()),
        address: None,
    })
}

impl Outgoing {
    /// The part of it that survives the erasure of its user's data: the deeds, each as news of its own.
    pub fn deeds(&self) -> Vec<Outgoing> {
        let deeds = match &self.news {
            News::Audited { audited } => vec![audited.clone()],
            News::TurnEnded { calls, .. } | News::Spent { calls } => refused(calls).collect(),
            _ => Vec::new(),
        };
        let news = deeds.into_iter().map(|audited| News::Audited { audited });
        let of = |news| Outgoing {
            tenant: self.tenant.clone(),
            user_id: self.user_id.clone(),
            thread_id: self.thread_id.clone(),
            news,
            beside: self.beside,
        };
        news.map(of).collect()
    }
}

/// Whether a model may have called a tool by this name. A model may write any text there, and the log has none: these are
/// the names that providers take, <https://platform.openai.com/docs/api-reference/chat/create>.
fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The same for the same deed.
fn id(out: &Outgoing, action: AuditAction, key: &str) -> Uuid {
    let parts = [out.tenant.as_str(), &out.user_id, &out.thread_id, action.as_str(), key];
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest.finalize()).for_each(|(to, from)| *to = from);
    Builder::from_custom_bytes(bytes).into_uuid()
}
