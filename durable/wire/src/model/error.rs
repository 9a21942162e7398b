//! The errors of model calls.

use serde::{Deserialize, Serialize};

use crate::sse::SseError;

/// Why a model call failed. People read the message, so it contains neither an upstream body nor a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
}

/// Classes of failures; each is an `error.code` on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    Auth,
    RateLimited,
    /// The account has no credit left.
    Quota,
    Overloaded,
    BadRequest,
    ContextTooLong,
    Network,
    Protocol,
    /// The reply exceeds this service's limit. A retry would produce as much again.
    ReplyTooLarge,
}

impl ModelErrorKind {
    /// The wire's `error.code`.
    pub const fn code(self) -> &'static str {
        match self {
            ModelErrorKind::Auth => "provider_auth",
            ModelErrorKind::RateLimited => "provider_rate_limited",
            ModelErrorKind::Quota => "provider_quota",
            ModelErrorKind::Overloaded => "provider_overloaded",
            ModelErrorKind::BadRequest => "provider_bad_request",
            ModelErrorKind::ContextTooLong => "provider_context_too_long",
            ModelErrorKind::Network => "provider_network",
            ModelErrorKind::Protocol => "provider_protocol",
            ModelErrorKind::ReplyTooLarge => "provider_reply_too_large",
        }
    }

    /// Whether another model may answer instead. True for failures of the provider, false for failures of the request.
    pub const fn may_be_answered_by_another(self) -> bool {
        matches!(
            self,
            ModelErrorKind::Auth
                | ModelErrorKind::RateLimited
                | ModelErrorKind::Quota
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Network
        )
    }

    /// Whether the provider reported that it refused the request, so the request used no tokens. A lost request may
    /// have used all the tokens that it was allowed.
    pub const fn used_nothing(self) -> bool {
        !matches!(self, ModelErrorKind::Network | ModelErrorKind::Protocol)
    }

    /// Whether the same request may succeed later.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            ModelErrorKind::RateLimited
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Network
                | ModelErrorKind::Protocol
        )
    }
}

impl From<SseError> for ModelError {
    fn from(error: SseError) -> Self {
        let message = match error {
            SseError::TooLarge => "The model provider sent an event that is too large.",
        };
        ModelError { kind: ModelErrorKind::Protocol, message: message.into() }
    }
}
