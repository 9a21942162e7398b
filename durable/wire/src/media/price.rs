//! What an answer costs: before the call, at most; after it, by what the provider counted. In US dollars.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{MediaMode, MediaRequest, MediaUsage};

/// The price of a media model, in the way in which its maker prices it. A request of unknown price has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaPrice {
    /// Per picture, whatever it is.
    PerImage(f64),
    /// Per tile of a picture and per step.
    PerTile(TileRates),
    /// Per second of a video that is made.
    PerSecond(Cow<'static, [SecondRate]>),
    /// Per second of a recording that is read.
    PerSecondOfSource(f64),
    /// Per character that is spoken.
    PerCharacter(f64),
    /// Per token.
    Tokens(TokenRates),
}

/// The price of a diffusion model: a tile has 512 × 512 pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TileRates {
    pub per_tile: f64,
    pub per_step: f64,
    /// The sides of a picture whose size is not given.
    pub side: u32,
    /// The steps where a request names none.
    pub steps: u32,
}

/// The price of a second by the word for the resolution; an empty word is that of a request without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondRate {
    pub resolution: Cow<'static, str>,
    pub usd: f64,
    /// The seconds of a video where a request names none.
    pub seconds: u32,
}

/// Dollars per million tokens, and how many tokens there are at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenRates {
    /// Of texts in the request.
    pub text: f64,
    /// Of pictures and sounds in the request.
    pub media: f64,
    /// Of texts and thoughts in the answer.
    pub output_text: f64,
    /// Of pictures and sounds in the answer.
    pub output_media: f64,
    /// The most tokens of a source, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_of_source: Option<u64>,
    /// The most tokens of one file of an answer, by the request's words; none where no row fits.
    #[serde(default, skip_serializing_if = "no_rows")]
    pub outputs: Cow<'static, [OutputTokens]>,
}

/// The most tokens of one file of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputTokens {
    /// The request's `quality` or `resolution`; empty is a request without either.
    pub word: Cow<'static, str>,
    pub tokens: u64,
    /// More tokens for each million pixels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub per_megapixel: u64,
}

fn no_rows(rows: &[OutputTokens]) -> bool {
    rows.is_empty()
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The most pixels of a picture of OpenAI, which is the largest of the makers whose pictures cost by their pixels
/// (<https://developers.openai.com/api/docs/guides/image-generation>, "Size and quality options"). A request without a
/// size may get any.
const MOST_PIXELS: u64 = 3_840 * 2_160;
const TILE: u32 = 512;
const MILLION: f64 = 1e6;
/// Tokens that a maker adds to a prompt: around a message it counts a few.
const AROUND_PROMPT: u64 = 64;

impl MediaPrice {
    /// The most that this request costs, in millionths of a dollar; none if that is unknown. `source_seconds`: how long
    /// its recordings are, if that is known.
    pub fn most_microusd(&self, request: &MediaRequest, source_seconds: Option<f64>) -> Option<u64> {
        let usd = match self {
            MediaPrice::PerSecondOfSource(usd) => source_seconds?.ceil() * usd,
            MediaPrice::Tokens(rates) => {
                let sources = request.sources.len() as u64;
                let of_sources = if sources == 0 { 0 } else { rates.most_of_source?.checked_mul(sources)? };
                let usage = MediaUsage {
                    // A token has at least one byte.
                    text_tokens: request.prompt.len() as u64 + AROUND_PROMPT,
                    media_tokens: of_sources,
                    ..MediaUsage::default()
                };
                let output =
                    rates.most_output_tokens(request)? as f64 * rates.output_text.max(rates.output_media);
                rates.usd(usage) + output / MILLION
            }
            by_request => by_request.usd_by_request(request, request.variations())?,
        };
        microusd(usd)
    }

    /// The price of so many files, where the request says it; none where the answer does.
    fn usd_by_request(&self, request: &MediaRequest, files: u8) -> Option<f64> {
        let files = f64::from(files);
        match self {
            MediaPrice::PerImage(usd) => Some(files * usd),
            MediaPrice::PerTile(rates) => Some(files * rates.usd(request)),
            MediaPrice::PerSecond(rates) => {
                let word = request.resolution.as_deref().unwrap_or_default();
                let rate = rates.iter().find(|rate| rate.resolution == word)?;
                Some(files * f64::from(request.duration.unwrap_or(rate.seconds)) * rate.usd)
            }
            MediaPrice::PerCharacter(usd) => Some(request.prompt.chars().count() as f64 * usd),
            MediaPrice::PerSecondOfSource(_) | MediaPrice::Tokens(_) => None,
        }
    }

    /// The cost of the answer, in millionths of a dollar; none if that cannot be known. `files`: how many it has.
    pub fn microusd(&self, request: &MediaRequest, files: u8, usage: Option<MediaUsage>) -> Option<u64> {
        match self {
            MediaPrice::PerSecondOfSource(usd) => {
                let seconds = usage?.seconds;
                (seconds > 0.0).then(|| microusd(seconds * usd)).flatten()
            }
            MediaPrice::Tokens(rates) => microusd(rates.usd(usage?)),
            by_request => microusd(by_request.usd_by_request(request, files)?),
        }
    }
}

impl TileRates {
    /// One picture.
    fn usd(&self, request: &MediaRequest) -> f64 {
        let tiles = |side: Option<u32>| f64::from(side.unwrap_or(self.side).div_ceil(TILE));
        let steps = request.num_inference_steps.unwrap_or(self.steps);
        tiles(request.width) * tiles(request.height) * self.per_tile + f64::from(steps) * self.per_step
    }
}

impl TokenRates {
    /// The most tokens of an answer to this request; none if that is unknown.
    pub fn most_output_tokens(&self, request: &MediaRequest) -> Option<u64> {
        if request.mode == MediaMode::Transcription {
            return self.outputs.first().map(|output| output.tokens);
        }
        let word = request.quality.as_deref().or(request.resolution.as_deref()).unwrap_or_default();
        let output = self.outputs.iter().find(|output| output.word == word)?;
        let pixels = match (request.width, request.height) {
            (Some(width), Some(height)) => u64::from(width) * u64::from(height),
            _ => MOST_PIXELS,
        };
        let of_pixels = output.per_megapixel.checked_mul(pixels)?.div_ceil(1_000_000);
        output.tokens.checked_add(of_pixels)?.checked_mul(u64::from(request.variations()))
    }

    fn usd(&self, usage: MediaUsage) -> f64 {
        let each = [
            (usage.text_tokens, self.text),
            (usage.media_tokens, self.media),
            (usage.output_text_tokens, self.output_text),
            (usage.output_media_tokens, self.output_media),
        ];
        each.into_iter().map(|(tokens, rate)| tokens as f64 * rate).sum::<f64>() / MILLION
    }
}

/// Millionths of a dollar, rounded up; none where there is no such number.
fn microusd(usd: f64) -> Option<u64> {
    // The error of floating-point arithmetic must not add a millionth.
    let amount = (usd * MILLION - 1e-6).ceil();
    (amount.is_finite() && (0.0..1e15).contains(&amount.max(0.0))).then_some(amount.max(0.0) as u64)
}
