//! Pictures, speech and video, without a provider: what a request asks for ([`MediaRequest`]), what an answer brings
//! ([`MediaEvent`]), why there is none ([`MediaFailure`]), what it costs ([`MediaPrice`]), and what a file is by its
//! bytes (`sniff`). The codecs in `providers/` translate requests and answers for each provider.

mod answer;
mod price;
mod request;

pub use answer::{JobState, MAX_JOB_BYTES, MediaEvent, MediaFailure, MediaUsage, PIECE_BYTES};
pub use price::{MediaPrice, OutputTokens, SecondRate, TileRates, TokenRates};
pub use request::{
    Format, MAX_PROMPT_CHARS, MAX_SIDE, MAX_SOURCE_BYTES, MAX_SOURCES, MAX_SOURCES_BYTES, MAX_SPOKEN_CHARS,
    MAX_VARIATIONS, MAX_VIDEO_SECONDS, MediaMode, MediaRequest, Source,
};

#[cfg(test)]
mod tests;
