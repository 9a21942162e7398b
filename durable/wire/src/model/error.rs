//! The errors of model calls.

use serde::{Deserialize, Serialize};

use super::Usage;
use crate::sse::SseError;

/// Why a model call failed. People read the message, so it contains neither an upstream body nor a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
    /// The provider had accepted the request, so it may have cost something, whatever the kind.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// The tokens of an accepted request, if the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        ModelError { kind, message: message.into(), accepted: false, usage: None }
    }

    /// The error that an empty reply is where the request is made again.
    pub fn empty_reply(usage: Option<Usage>) -> Self {
        let error = ModelError::new(ModelErrorKind::Protocol, "The model sent an empty reply.");
        ModelError { accepted: true, usage, ..error }
    }

    /// The tokens that the request used; none where they are unknown. A request that the provider refused used no
    /// tokens. A lost request may have used all the tokens that it was allowed.
    pub fn used(&self) -> Option<Usage> {
        let was_refused =
            !self.accepted && !matches!(self.kind, ModelErrorKind::Network | ModelErrorKind::Protocol);
        self.usage.or_else(|| was_refused.then(Usage::default))
    }
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
    /// `Protocol` is a failure of the provider: it answered with something that is no reply.
    pub const fn may_be_answered_by_another(self) -> bool {
        matches!(
            self,
            ModelErrorKind::Auth
                | ModelErrorKind::RateLimited
                | ModelErrorKind::Quota
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Network
                | ModelErrorKind::Protocol
        )
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
        ModelError::new(ModelErrorKind::Protocol, message)
    }
}
