//! Pictures, speech and video, without a provider: what a request asks for ([`MediaRequest`]), what an answer brings
//! ([`MediaEvent`]), why there is none ([`MediaFailure`]), what it costs ([`MediaPrice`]), and what a file is by its
//! bytes ([`sniff`]). The codecs in `providers/` translate requests and answers for each provider.

mod answer;
mod base64;
mod price;
mod request;
pub mod sniff;

pub use answer::{JobState, MAX_JOB_BYTES, MediaEvent, MediaFailure, MediaUsage, PIECE_BYTES};
pub use base64::{InBase64, in_base64};
pub use price::{MediaPrice, OutputTokens, SecondRate, TileRates, TokenRates};
pub use request::{
    Format, MAX_AUDIO_BYTES, MAX_IMAGE_BYTES, MAX_PROMPT_CHARS, MAX_SIDE, MAX_SOURCE_BYTES, MAX_SOURCES,
    MAX_SOURCES_BYTES, MAX_SPOKEN_CHARS, MAX_VARIATIONS, MAX_VIDEO_BYTES, MAX_VIDEO_SECONDS, MediaMode,
    MediaRequest, Source,
};

#[cfg(test)]
mod tests;
