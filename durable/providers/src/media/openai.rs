//! OpenAI's routes for pictures, speech and transcripts, for OpenAI and all servers that have them
//! (<https://developers.openai.com/api/docs/api-reference/images>, <https://developers.openai.com/api/docs/api-reference/audio>).
//! OpenAI ended its API of videos on 2026-09-24 (<https://developers.openai.com/api/docs/deprecations>).

use serde::Serialize;
use serde_json::Value;

use wire::http::HttpRequest;
use wire::media::{Format, MediaFailure, MediaMode, MediaRequest, MediaUsage};
use wire::redact::Secret;

use super::answer::{AnswerRest, FileAnswer, JsonAnswer, number, transcript};
use super::json::{Members, no_head};
use super::multipart::Multipart;
use super::{MediaCodec, MediaDecoder, at_most, json_post, no_mode, refusal};
use crate::codec::address;

/// The most pictures of one request (`n`); ours is lower.
const MAX_N: u8 = 10;
/// The sides of a picture of OpenAI's models have a multiple of this many pixels, and so on (`size`).
const STEP: u32 = 16;
const MAX_EDGE: u32 = 3_840;
const MAX_PIXELS: u64 = 3_840 * 2_160;
const MAX_RATIO: u32 = 3;
/// The quality where a request names none. OpenAI's default, `auto`, may be the dearest one; this one has a price that is
/// known before.
const QUALITY: &str = "medium";
/// OpenAI requires a voice.
const VOICE: &str = "alloy";

/// A server with OpenAI's routes.
#[derive(Clone, Debug)]
pub struct OpenAiMedia {
    base_url: String,
    key: Option<Secret>,
    is_openais: bool,
}

#[derive(Serialize)]
struct ImageBody<'a> {
    model: &'a str,
    prompt: &'a str,
    n: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'static str>,
}

#[derive(Serialize)]
struct SpeechBody<'a> {
    model: &'a str,
    input: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    voice: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
}

impl OpenAiMedia {
    /// `base_url` means the same as in the official clients: the part before `/images` and `/audio`.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        OpenAiMedia { base_url: base_url.to_owned(), key, is_openais: false }
    }

    /// The same, of OpenAI's own server. It always answers with base64, and refuses the member that asks others for it.
    pub fn of_openai(self) -> Self {
        OpenAiMedia { is_openais: true, ..self }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        self.key.iter().map(|key| ("authorization", format!("Bearer {}", key.reveal()))).collect()
    }

    fn multipart(&self, path: &str, body: Multipart<'_>) -> HttpRequest {
        let (content_type, body) = body.finish();
        let mut headers = self.headers();
        headers.push(("content-type", content_type));
        HttpRequest::post(address(&self.base_url, path), headers, body)
    }

    fn json(&self, path: &str, body: &impl Serialize) -> Result<HttpRequest, MediaFailure> {
        json_post(address(&self.base_url, path), self.headers(), body)
    }

    fn image<'a>(&self, request: &'a MediaRequest) -> Result<ImageBody<'a>, MediaFailure> {
        request.only(&["width", "height", "quality", "variations", "format"], "OpenAI's routes of images")?;
        at_most(request, MAX_N)?;
        let size = request.width.zip(request.height);
        if let Some((width, height)) = size.filter(|_| self.is_openais) {
            check_size(width, height)?;
        }
        Ok(ImageBody {
            model: &request.model,
            prompt: &request.prompt,
            n: request.variations(),
            size: size.map(|(width, height)| format!("{width}x{height}")),
            quality: request.quality.as_deref().or(self.is_openais.then_some(QUALITY)),
            output_format: request.format.map(Format::as_str),
            response_format: (!self.is_openais).then_some("b64_json"),
        })
    }

    fn edit(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        let body = self.image(request)?;
        let mut parts = Multipart::default();
        parts.text("model", body.model);
        parts.text("prompt", body.prompt);
        parts.text("n", body.n.to_string());
        if let Some(size) = body.size {
            parts.text("size", size);
        }
        let words = [
            ("quality", body.quality),
            ("output_format", body.output_format),
            ("response_format", body.response_format),
        ];
        for (name, word) in words {
            if let Some(word) = word {
                parts.text(name, word);
            }
        }
        let name = if request.sources.len() > 1 { "image[]" } else { "image" };
        for source in &request.sources {
            parts.file(name, source.media_type, &source.bytes);
        }
        Ok(self.multipart("/images/edits", parts))
    }

    fn speech(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        request.only(&["voice", "speed", "format"], "OpenAI's route of speech")?;
        let body = SpeechBody {
            model: &request.model,
            input: &request.prompt,
            voice: request.voice.as_deref().or(self.is_openais.then_some(VOICE)),
            response_format: request.format.map(Format::as_str),
            speed: request.speed,
        };
        self.json("/audio/speech", &body)
    }

    fn transcription(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        request.only(&["language"], "OpenAI's route of transcripts")?;
        let mut parts = Multipart::default();
        parts.text("model", request.model.as_str());
        parts.text("response_format", "json");
        if !request.prompt.trim().is_empty() {
            parts.text("prompt", request.prompt.as_str());
        }
        if let Some(language) = request.language.as_deref() {
            parts.text("language", language);
        }
        let [source] = &*request.sources else {
            return Err(MediaFailure::member("sources", "A transcript has one source."));
        };
        parts.file("file", source.media_type, &source.bytes);
        Ok(self.multipart("/audio/transcriptions", parts))
    }
}

/// The sizes that OpenAI's models make.
fn check_size(width: u32, height: u32) -> Result<(), MediaFailure> {
    let wrong = |member, problem: String| Err(MediaFailure::member(member, problem));
    for (member, side) in [("width", width), ("height", height)] {
        if side % STEP != 0 || side > MAX_EDGE {
            return wrong(
                member,
                format!("A side is a multiple of {STEP} and has at most {MAX_EDGE} pixels."),
            );
        }
    }
    if width.max(height) > width.min(height).saturating_mul(MAX_RATIO) {
        return wrong("width", format!("One side is at most {MAX_RATIO} times the other."));
    }
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return wrong("width", format!("A picture has at most {MAX_PIXELS} pixels."));
    }
    Ok(())
}

impl MediaCodec for OpenAiMedia {
    fn encode(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        match request.mode {
            MediaMode::Image => self.json("/images/generations", &self.image(request)?),
            MediaMode::ImageEdit => self.edit(request),
            MediaMode::Audio => self.speech(request),
            MediaMode::Transcription => self.transcription(request),
            mode @ (MediaMode::Video | MediaMode::ImageToVideo) => {
                Err(no_mode(mode, "A provider with OpenAI's routes"))
            }
        }
    }

    fn decoder(&self, request: &MediaRequest) -> Box<dyn MediaDecoder> {
        match request.mode {
            MediaMode::Audio if request.format == Some(Format::Pcm) => {
                Box::new(FileAnswer::of_samples(request.mode))
            }
            MediaMode::Audio => Box::new(FileAnswer::new(request.mode)),
            MediaMode::Transcription => Box::new(JsonAnswer::new(NO_FILES, request, read_recording)),
            _ => Box::new(JsonAnswer::new(PICTURES, request, read_pictures)),
        }
    }

    fn refusal(&self, status: u16, body: &[u8]) -> MediaFailure {
        refusal(status, body)
    }
}

const PICTURES: Members = Members { files: &["b64_json"], dropped: &["revised_prompt"], head: no_head };
const NO_FILES: Members = Members { files: &[], dropped: &[], head: no_head };

fn read_pictures(answer: &Value) -> AnswerRest {
    let usage = answer.get("usage").filter(|usage| usage.is_object()).map(|usage| {
        let [input, output] = [usage.get("input_tokens_details"), usage.get("output_tokens_details")];
        let texts = number(input, "text_tokens").min(number(Some(usage), "input_tokens"));
        let output_texts = number(output, "text_tokens").min(number(Some(usage), "output_tokens"));
        // Without details all tokens count as those of pictures, which cost more.
        MediaUsage {
            text_tokens: texts,
            media_tokens: number(Some(usage), "input_tokens") - texts,
            output_text_tokens: output_texts,
            output_media_tokens: number(Some(usage), "output_tokens") - output_texts,
            seconds: 0.0,
        }
    });
    AnswerRest { usage, ..AnswerRest::default() }
}

fn read_recording(answer: &Value) -> AnswerRest {
    let usage = answer.get("usage").filter(|usage| usage.is_object()).map(|usage| {
        let input = number(Some(usage), "input_tokens");
        let texts = number(usage.get("input_token_details"), "text_tokens").min(input);
        MediaUsage {
            text_tokens: texts,
            media_tokens: input - texts,
            output_text_tokens: number(Some(usage), "output_tokens"),
            output_media_tokens: 0,
            seconds: seconds(usage.get("seconds")),
        }
    });
    AnswerRest { event: transcript(answer), usage, is_policy: false }
}

/// A number of seconds; zero where it is none.
pub(super) fn seconds(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).filter(|seconds| seconds.is_finite() && *seconds > 0.0).unwrap_or_default()
}
