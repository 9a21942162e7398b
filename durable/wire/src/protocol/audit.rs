//! The audit log of a tenant.

use serde::{Deserialize, Serialize};

/// The deeds that the audit log has. A feature adds its deeds here, and to the table in docs/operations.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// Target: the prefix of the new key.
    KeyMinted,
    /// Target: the prefix of the key. The keys that it minted end with it.
    KeyRevoked,
    /// Somebody signed in, with an API key or at an identity provider. Target: the id of the session.
    SignedIn,
    /// Target: the id of the session.
    SessionEnded,
    /// All sessions of a user but their own. Target: the user.
    SessionsEnded,
    /// A person let a call run, or raised a limit. Target: the thread.
    ApprovalGranted,
    /// Target: the thread.
    ApprovalDenied,
    /// The policy or a hook refused a call of a model. Target: the thread.
    CallRefused,
    /// Target: the thread.
    ThreadDeleted,
    /// A person asked for the deletion of files, memories, documents or the like. Target: their path (`deletion` in
    /// `src/audit.rs`).
    DataDeleted,
    /// Target: the id of the share link. Detail: the thread.
    ShareCreated,
    /// Target: the id of the share link.
    ShareRevoked,
    /// A user asked for the first page of the export of their data. Target: the user.
    DataExported,
    /// The erasure of a user's data has ended. Target: the user.
    DataErased,
}

impl AuditAction {
    /// All of them.
    pub const ALL: [AuditAction; 14] = [
        AuditAction::KeyMinted,
        AuditAction::KeyRevoked,
        AuditAction::SignedIn,
        AuditAction::SessionEnded,
        AuditAction::SessionsEnded,
        AuditAction::ApprovalGranted,
        AuditAction::ApprovalDenied,
        AuditAction::CallRefused,
        AuditAction::ThreadDeleted,
        AuditAction::DataDeleted,
        AuditAction::ShareCreated,
        AuditAction::ShareRevoked,
        AuditAction::DataExported,
        AuditAction::DataErased,
    ];

    /// The word in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            AuditAction::KeyMinted => "key_minted",
            AuditAction::KeyRevoked => "key_revoked",
            AuditAction::SignedIn => "signed_in",
            AuditAction::SessionEnded => "session_ended",
            AuditAction::SessionsEnded => "sessions_ended",
            AuditAction::ApprovalGranted => "approval_granted",
            AuditAction::ApprovalDenied => "approval_denied",
            AuditAction::CallRefused => "call_refused",
            AuditAction::ThreadDeleted => "thread_deleted",
            AuditAction::DataDeleted => "data_deleted",
            AuditAction::ShareCreated => "share_created",
            AuditAction::ShareRevoked => "share_revoked",
            AuditAction::DataExported => "data_exported",
            AuditAction::DataErased => "data_erased",
        }
    }
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    pub id: String,
    pub created_at: u64,
    /// The user who did it.
    pub user_id: String,
    /// A word of [`AuditAction`]. A newer version of the service may have written another one.
    pub action: String,
    /// The id of the key, the session, the user, the thread or the share link, or the path of what was deleted.
    pub target: String,
    /// The tool of a call, the scopes of a key, the thread of a share link, or how much an erasure removed.
    pub detail: Option<String>,
    /// An HMAC of the client's address: the same for the same address and secret.
    pub address: Option<String>,
}

/// A page of the audit log, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    pub next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::AuditAction;

    #[test]
    fn the_words_of_the_log_are_those_of_the_wire() {
        for action in AuditAction::ALL {
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        }
    }
}
