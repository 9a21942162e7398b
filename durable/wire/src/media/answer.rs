//! What comes back for a media request, and why nothing does.

use crate::model::{ModelError, ModelErrorKind};

/// The most bytes of one [`MediaEvent::Bytes`].
pub const PIECE_BYTES: usize = 64 << 10;
/// The longest id of a job, in bytes.
pub const MAX_JOB_BYTES: usize = 512;

/// A part of an answer. The files come one after the other: `Begin`, its `Bytes`, `End`, and then the next one.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaEvent {
    /// A file begins.
    Begin,
    /// Bytes of the file, 1 to [`PIECE_BYTES`].
    Bytes(Vec<u8>),
    /// The file is complete. The type is the provider's word for it, which nobody may believe (`sniff`).
    End { declared_type: Option<String> },
    /// A transcript.
    Text(String),
    /// The provider runs a job, and this is its id.
    Job(String),
    /// What the provider counted; at most once, and last.
    Usage(MediaUsage),
}

/// What a provider counted for an answer. A member is zero where the provider does not count it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediaUsage {
    /// Tokens of texts in the request.
    pub text_tokens: u64,
    /// Tokens of pictures and sounds in the request.
    pub media_tokens: u64,
    /// Tokens of texts and thoughts in the answer.
    pub output_text_tokens: u64,
    /// Tokens of pictures and sounds in the answer.
    pub output_media_tokens: u64,
    /// Seconds of a recording.
    pub seconds: f64,
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    Running,
    /// It has ended. Each text names a file for `MediaCodec::fetch`.
    Done(Vec<String>),
}

/// Why there is no answer. People read the message, so it contains neither a provider's text nor a secret.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaFailure {
    /// The request cannot be made so. Nothing was sent.
    Member { member: &'static str, problem: String },
    /// The provider refuses to make it, for its rules about contents. `accepted`: it may have cost something.
    Policy { accepted: bool },
    /// Anything else that a provider does.
    Provider(ModelError),
}

impl MediaFailure {
    /// A member that cannot be taken, and why.
    pub fn member(member: &'static str, problem: impl Into<String>) -> Self {
        MediaFailure::Member { member, problem: problem.into() }
    }

    /// The failure among those of models.
    pub fn kind(&self) -> ModelErrorKind {
        match self {
            MediaFailure::Member { .. } | MediaFailure::Policy { .. } => ModelErrorKind::BadRequest,
            MediaFailure::Provider(error) => error.kind,
        }
    }

    /// Whether the request may have cost something.
    pub fn may_have_cost(&self) -> bool {
        match self {
            MediaFailure::Member { .. } => false,
            MediaFailure::Policy { accepted } => *accepted,
            MediaFailure::Provider(error) => {
                error.accepted || matches!(error.kind, ModelErrorKind::Network | ModelErrorKind::Protocol)
            }
        }
    }

    /// The failure in words.
    pub fn message(&self) -> String {
        match self {
            MediaFailure::Member { member, problem } => format!("{member}: {problem}"),
            MediaFailure::Policy { .. } => {
                "The provider refuses this request for its rules about contents.".to_owned()
            }
            MediaFailure::Provider(error) => error.message.clone(),
        }
    }
}

impl From<ModelError> for MediaFailure {
    fn from(error: ModelError) -> Self {
        MediaFailure::Provider(error)
    }
}
