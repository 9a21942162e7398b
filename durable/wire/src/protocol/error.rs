//! Errors as callers see them: problem bodies before a stream starts, `error` events within one.

use std::ops::Deref;

use super::SignInWay;
use serde::{Deserialize, Serialize};

/// The stable codes of problem bodies, with their HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    InvalidJson,
    InvalidRequest,
    Unauthenticated,
    ForbiddenOrigin,
    InsufficientScope,
    SignInAgain,
    TooManyThreads,
    RouteNotFound,
    ThreadNotFound,
    MessageNotFound,
    QueuedMessageNotFound,
    MessageRemoved,
    NotWaiting,
    KeyNotFound,
    AgentNotFound,
    AgentExists,
    FileNotFound,
    ProjectNotFound,
    ProjectConflict,
    MemoryNotFound,
    CollectionNotFound,
    DocumentNotFound,
    RecordNotKept,
    WorkflowNotFound,
    SessionNotFound,
    ErasureNotFound,
    ErasureInProgress,
    BookmarkNotFound,
    TooManyBookmarks,
    ShareNotFound,
    SharesOff,
    TooManyShares,
    ShareTooLarge,
    WorkflowRunning,
    TokenRefused,
    TokenSpent,
    TooManyWorkflows,
    PreconditionFailed,
    WorkspaceFull,
    CollectionsFull,
    MethodNotAllowed,
    TurnInProgress,
    QueueFull,
    MessageBegun,
    StaleRequestSeq,
    IdempotencyKeyReused,
    TooManyVersions,
    TooManyPins,
    TooManyHooks,
    BodyTooLarge,
    UriTooLong,
    HeadersTooLarge,
    UnsupportedMediaType,
    RequestTimeout,
    TooManyTurns,
    TooManyStreams,
    RateLimited,
    QuotaExceeded,
    Misconfigured,
    IssuerUnavailable,
    Overloaded,
    TurnOnHold,
    ObjectTooNew,
    VersionsDiffer,
    Internal,
}

impl ErrorCode {
    /// The code on the wire, its HTTP status and its title.
    // Long: a row for each code.
    const fn row(self) -> (&'static str, u16, &'static str) {
        match self {
            ErrorCode::InvalidJson => ("invalid_json", 400, "The body is not valid JSON"),
            ErrorCode::InvalidRequest => ("invalid_request", 400, "The request is not valid"),
            ErrorCode::Unauthenticated => ("unauthenticated", 401, "A credential is needed"),
            ErrorCode::ForbiddenOrigin => ("forbidden_origin", 403, "The origin is not allowed"),
            ErrorCode::InsufficientScope => ("insufficient_scope", 403, "The credential may not do this"),
            ErrorCode::SignInAgain => ("sign_in_again", 403, "The sign-in is too old for this"),
            ErrorCode::TooManyThreads => {
                ("too_many_threads", 403, "The user has reached the limit of threads")
            }
            ErrorCode::RouteNotFound => ("route_not_found", 404, "There is no such route"),
            ErrorCode::ThreadNotFound => ("thread_not_found", 404, "There is no such thread"),
            ErrorCode::MessageNotFound => ("message_not_found", 404, "There is no such message"),
            ErrorCode::QueuedMessageNotFound => {
                ("queued_message_not_found", 404, "There is no such message in the queue")
            }
            ErrorCode::MessageRemoved => ("message_removed", 410, "The message was removed from the queue"),
            ErrorCode::NotWaiting => ("not_waiting", 404, "No call waits for this answer"),
            ErrorCode::KeyNotFound => ("key_not_found", 404, "There is no such API key"),
            ErrorCode::AgentNotFound => ("agent_not_found", 404, "There is no such agent"),
            ErrorCode::AgentExists => ("agent_exists", 409, "There is an agent of this name already"),
            ErrorCode::FileNotFound => ("file_not_found", 404, "There is no such file"),
            ErrorCode::ProjectNotFound => {
                ("project_not_found", 404, "There is no such project, task or document")
            }
            ErrorCode::ProjectConflict => ("project_conflict", 409, "The project does not allow this change"),
            ErrorCode::MemoryNotFound => ("memory_not_found", 404, "There is no such memory"),
            ErrorCode::CollectionNotFound => ("collection_not_found", 404, "There is no such collection"),
            ErrorCode::DocumentNotFound => ("document_not_found", 404, "There is no such document"),
            ErrorCode::RecordNotKept => ("record_not_kept", 404, "There is no such record"),
            ErrorCode::WorkflowNotFound => ("workflow_not_found", 404, "There is no such workflow"),
            ErrorCode::SessionNotFound => ("session_not_found", 404, "There is no such session"),
            ErrorCode::ErasureNotFound => ("erasure_not_found", 404, "There is no such erasure"),
            ErrorCode::ErasureInProgress => {
                ("erasure_in_progress", 409, "The data of the user is being erased")
            }
            ErrorCode::BookmarkNotFound => ("bookmark_not_found", 404, "There is no such bookmark"),
            ErrorCode::TooManyBookmarks => {
                ("too_many_bookmarks", 409, "The user has reached the limit of bookmarks")
            }
            ErrorCode::ShareNotFound => ("share_not_found", 404, "There is no such share link"),
            ErrorCode::SharesOff => ("shares_off", 403, "This deployment has no share links"),
            ErrorCode::TooManyShares => {
                ("too_many_shares", 409, "The user has reached the limit of share links")
            }
            ErrorCode::ShareTooLarge => ("share_too_large", 413, "The conversation is too long to share"),
            ErrorCode::WorkflowRunning => {
                ("workflow_running", 409, "A session of a workflow is open in this thread")
            }
            ErrorCode::TokenRefused => ("token_refused", 409, "The token is not that of the step"),
            ErrorCode::TokenSpent => ("token_spent", 409, "The token was used already"),
            ErrorCode::TooManyWorkflows => {
                ("too_many_workflows", 409, "The user has reached the limit of workflows")
            }
            ErrorCode::PreconditionFailed => ("precondition_failed", 412, "The file has changed"),
            ErrorCode::WorkspaceFull => ("workspace_full", 507, "The workspace is full"),
            ErrorCode::CollectionsFull => ("collections_full", 507, "The collections are full"),
            ErrorCode::MethodNotAllowed => ("method_not_allowed", 405, "The route does not have this method"),
            ErrorCode::TurnInProgress => ("turn_in_progress", 409, "A turn is running in this thread"),
            ErrorCode::QueueFull => ("queue_full", 409, "The queue of messages is full"),
            ErrorCode::MessageBegun => ("message_begun", 409, "The turn of the message has begun"),
            ErrorCode::StaleRequestSeq => ("stale_request_seq", 409, "A newer request was seen"),
            ErrorCode::IdempotencyKeyReused => {
                ("idempotency_key_reused", 409, "The key was used for another request")
            }
            ErrorCode::TooManyVersions => {
                ("too_many_versions", 409, "The message has reached the limit of versions")
            }
            ErrorCode::TooManyPins => {
                ("too_many_pins", 409, "The user has reached the limit of pinned threads")
            }
            ErrorCode::TooManyHooks => ("too_many_hooks", 409, "The thread has reached the limit of hooks"),
            ErrorCode::BodyTooLarge => ("body_too_large", 413, "The body is too large"),
            ErrorCode::UriTooLong => ("uri_too_long", 414, "The address is too long"),
            ErrorCode::HeadersTooLarge => ("headers_too_large", 431, "The headers are too large"),
            ErrorCode::UnsupportedMediaType => {
                ("unsupported_media_type", 415, "The media type is not supported")
            }
            ErrorCode::RequestTimeout => ("request_timeout", 408, "The body took too long"),
            ErrorCode::TooManyTurns => ("too_many_turns", 429, "Too many turns run at the same time"),
            ErrorCode::TooManyStreams => ("too_many_streams", 429, "Too many streams of the thread are open"),
            ErrorCode::RateLimited => ("rate_limited", 429, "Too many requests"),
            ErrorCode::QuotaExceeded => ("quota_exceeded", 429, "The day's quota is used up"),
            ErrorCode::Misconfigured => ("misconfigured", 503, "The service is not configured"),
            ErrorCode::IssuerUnavailable => {
                ("issuer_unavailable", 503, "The token cannot be verified just now")
            }
            ErrorCode::Overloaded => ("overloaded", 503, "The service has too much to read just now"),
            ErrorCode::TurnOnHold => ("turn_on_hold", 503, "The turn cannot go on at the moment"),
            ErrorCode::ObjectTooNew => {
                ("object_too_new", 503, "A newer version of the service wrote the thread")
            }
            ErrorCode::VersionsDiffer => ("versions_differ", 503, "Two versions of the service are running"),
            ErrorCode::Internal => ("internal", 500, "The service failed"),
        }
    }

    /// The code on the wire.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        self.row().1
    }

    /// The human-readable summary of this kind of problem.
    pub const fn title(self) -> &'static str {
        self.row().2
    }
}

/// A refusal, caused by the caller or the operator. The response is an RFC 9457 `application/problem+json`. It is one pointer,
/// because it stands in the result of so many functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError(Box<Refusal>);

/// The members of an [`ApiError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    /// A description of the problem for the caller. It contains no secret, no SQL and no upstream body.
    pub detail: String,
    /// The path of the offending member of the body.
    pub field: Option<String>,
    /// After how many seconds the client should try again: the header `Retry-After`.
    pub retry_after_s: Option<u64>,
}

impl Deref for ApiError {
    type Target = Refusal;

    fn deref(&self) -> &Refusal {
        &self.0
    }
}

impl ApiError {
    /// An error that no single member of the body caused.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        ApiError::of(code, detail.into(), None)
    }

    /// An `invalid_request` that names the offending member.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        ApiError::of(ErrorCode::InvalidRequest, detail.into(), Some(field.into()))
    }

    fn of(code: ErrorCode, detail: String, field: Option<String>) -> Self {
        ApiError(Box::new(Refusal { code, detail, field, retry_after_s: None }))
    }

    /// The same error with a `Retry-After` in seconds.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after_s = Some(seconds);
        self
    }

    /// The same error, caused by a member of the body.
    pub fn about(mut self, field: String) -> Self {
        self.0.field = Some(field);
        self
    }

    /// The same error, where the caller's body has another name for the beginning of the member's path.
    pub fn renamed(mut self, ours: &str, theirs: &str) -> Self {
        if let Some(rest) = self.field.as_deref().and_then(|field| field.strip_prefix(ours)) {
            self.0.field = Some([theirs, rest].concat());
        }
        self
    }

    /// The description alone.
    pub fn into_detail(self) -> String {
        self.0.detail
    }

    /// The body of the response.
    pub fn problem(&self) -> Problem {
        Problem {
            kind: "about:blank".to_owned(),
            title: self.code.title().to_owned(),
            status: self.code.status(),
            code: self.code.as_str().to_owned(),
            detail: self.detail.clone(),
            field: self.field.clone(),
            sign_in: Vec::new(),
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.detail)
    }
}

impl std::error::Error for ApiError {}

/// The body of an `application/problem+json` answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Problem {
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    pub code: String,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The identity providers at which people can sign in: where a session is refused, and there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sign_in: Vec<SignInWay>,
}
