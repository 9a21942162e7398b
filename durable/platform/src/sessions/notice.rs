//! The notice that the end of a session sends to the address of its definition (W-102). Pure.

use serde::Serialize;
use serde_json::json;

use super::advance::SessionRow;
use engine::toolbelt::{PermissionClass, Rule, ToolPolicy, ToolRules, declare};
use wire::protocol::{ContextKind, SessionStatus};

/// The most characters of a goal in a notice.
pub const GOAL_CHARS: usize = 60;
/// How often a notice is sent before it is dropped.
pub const TRIES: u32 = 3;

/// The body of a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    pub event: &'static str,
    pub workflow_id: String,
    pub session_id: String,
    pub outcome: &'static str,
    pub detail: Option<String>,
    pub goal: String,
    /// Milliseconds since 1970.
    pub timestamp: u64,
}

/// The notice of a change, and its address; none where the change is no end, or nobody wants to hear of it.
pub fn notice(before: Option<&SessionRow>, row: &SessionRow) -> Option<(String, Notice)> {
    let is_end = row.status.is_over() || row.status == SessionStatus::Stuck;
    let was_it = before.is_some_and(|before| before.status == row.status);
    let url = row.definition.notify.as_ref().filter(|_| is_end && !was_it)?.url.clone();
    let notice = Notice {
        event: "workflow_session_ended",
        workflow_id: row.workflow_id.clone(),
        session_id: row.id.to_string(),
        outcome: row.status.as_str(),
        detail: row.reason.clone(),
        goal: row.goal.chars().take(GOAL_CHARS).collect(),
        timestamp: row.updated_at,
    };
    Some((url, notice))
}

/// Whether the operator's rules let notices out. A notice goes out as the calls of the class `network` do. Where a person must
/// approve them, none is sent: it has no person to ask.
pub fn may_tell(rules: ToolRules) -> bool {
    let policy = ToolPolicy::of(ContextKind::Thread).narrowed(rules, Default::default());
    policy.rule(&declare("workflow_notify", PermissionClass::Network, "", json!({}))) == Rule::On
}
