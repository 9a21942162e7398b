//! Gemini's pictures and speech (`generateContent`, <https://ai.google.dev/gemini-api/docs/image-generation>,
//! <https://ai.google.dev/gemini-api/docs/speech-generation>) and videos of Veo (`predictLongRunning`,
//! <https://ai.google.dev/gemini-api/docs/veo>). A picture or a sound is a part of a reply. A video is a job, which is asked
//! about until it has ended.

use serde::Serialize;
use serde_json::Value;

use wire::http::HttpRequest;
use wire::media::{Format, InBase64, JobState, MediaFailure, MediaMode, MediaRequest, MediaUsage, Source};
use wire::redact::Secret;

use super::answer::{AnswerRest, JsonAnswer, is_job, job, number};
use super::json::Members;
use super::{MediaCodec, MediaDecoder, at_most, json_post, no_mode, protocol, refusal, refused};
use crate::codec::address;
use crate::gemini::{encoded, versioned};

/// The proportions of a picture (the page above, "Aspect ratios and image size").
const RATIOS: [&str; 14] =
    ["1:1", "1:4", "1:8", "2:3", "3:2", "3:4", "4:1", "4:3", "4:5", "5:4", "8:1", "9:16", "16:9", "21:9"];
/// The lengths of a video of Veo, in seconds.
const SECONDS: [u32; 3] = [4, 6, 8];
/// A voice of Gemini's, for a request without one.
const VOICE: &str = "Kore";
/// The samples of a second of Gemini's speech, of two bytes each, where its type does not say it.
const RATE: u32 = 24_000;
/// Where the address of a file may lead on to, without the key.
const FILE_HOSTS: [&str; 2] = [".googleapis.com", ".googleusercontent.com"];
/// The reasons to stop that are rules about contents
/// (<https://ai.google.dev/api/generate-content#FinishReason>).
const POLICY: [&str; 8] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

/// A server with the Gemini API.
#[derive(Clone, Debug)]
pub struct GeminiMedia {
    base_url: String,
    key: Option<Secret>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplyBody<'a> {
    contents: [Turn<'a>; 1],
    generation_config: ReplyConfig<'a>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a> {
    Text(&'a str),
    InlineData(InlineData<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'static str,
    data: InBase64<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplyConfig<'a> {
    response_modalities: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    image_config: Option<ImageConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speech_config: Option<SpeechConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_size: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpeechConfig<'a> {
    voice_config: VoiceConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VoiceConfig<'a> {
    prebuilt_voice_config: PrebuiltVoice<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrebuiltVoice<'a> {
    voice_name: &'a str,
}

#[derive(Serialize)]
struct VideoBody<'a> {
    instances: [Instance<'a>; 1],
    parameters: VideoParameters<'a>,
}

#[derive(Serialize)]
struct Instance<'a> {
    prompt: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<FirstFrame<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FirstFrame<'a> {
    bytes_base64_encoded: InBase64<'a>,
    mime_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VideoParameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_seconds: Option<u32>,
}

impl GeminiMedia {
    /// `base_url` means the same as for texts.
    pub fn new(base_url: &str, key: Option<Secret>) -> Self {
        GeminiMedia { base_url: versioned(base_url), key }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        self.key.iter().map(|key| ("x-goog-api-key", key.reveal().to_owned())).collect()
    }

    fn post(&self, model: &str, method: &str, body: &impl Serialize) -> Result<HttpRequest, MediaFailure> {
        let folder = if model.contains('/') { "" } else { "models/" };
        let url = address(&self.base_url, &format!("/{folder}{}:{method}", encoded(model)));
        json_post(url, self.headers(), body)
    }

    fn picture(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        request.only(&["aspect_ratio", "resolution", "variations"], "Gemini's pictures")?;
        at_most(request, 1)?;
        let (aspect_ratio, image_size) = (request.aspect_ratio.as_deref(), request.resolution.as_deref());
        if aspect_ratio.is_some_and(|ratio| !RATIOS.contains(&ratio)) {
            let problem = format!("Gemini knows {}.", RATIOS.join(", "));
            return Err(MediaFailure::member("aspect_ratio", problem));
        }
        let sources = request.sources.iter().map(|Source { media_type, bytes }| {
            Part::InlineData(InlineData { mime_type: media_type, data: InBase64(bytes) })
        });
        let parts = sources.chain([Part::Text(&request.prompt)]).collect();
        let has_config = aspect_ratio.is_some() || image_size.is_some();
        let body = ReplyBody {
            contents: [Turn { role: "user", parts }],
            generation_config: ReplyConfig {
                response_modalities: ["IMAGE"],
                image_config: has_config.then_some(ImageConfig { aspect_ratio, image_size }),
                speech_config: None,
                max_output_tokens: request.max_output_tokens,
            },
        };
        self.post(&request.model, "generateContent", &body)
    }

    fn speech(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        request.only(&["voice", "format"], "Gemini's speech")?;
        if request.format.is_some_and(|format| format != Format::Wav) {
            return Err(MediaFailure::member("format", "Gemini speaks WAV alone."));
        }
        let voice_name = request.voice.as_deref().unwrap_or(VOICE);
        let voice_config = VoiceConfig { prebuilt_voice_config: PrebuiltVoice { voice_name } };
        let body = ReplyBody {
            contents: [Turn { role: "user", parts: vec![Part::Text(&request.prompt)] }],
            generation_config: ReplyConfig {
                response_modalities: ["AUDIO"],
                image_config: None,
                speech_config: Some(SpeechConfig { voice_config }),
                max_output_tokens: request.max_output_tokens,
            },
        };
        self.post(&request.model, "generateContent", &body)
    }

    fn video(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        request.only(&["aspect_ratio", "resolution", "variations", "duration"], "Gemini's videos")?;
        at_most(request, 1)?;
        if request.duration.is_some_and(|seconds| !SECONDS.contains(&seconds)) {
            return Err(MediaFailure::member("duration", "A video has 4, 6 or 8 seconds."));
        }
        let image = match &*request.sources {
            [] => None,
            [Source { media_type, bytes }] => {
                Some(FirstFrame { bytes_base64_encoded: InBase64(bytes), mime_type: media_type })
            }
            _ => return Err(MediaFailure::member("sources", "A video begins with one picture.")),
        };
        let body = VideoBody {
            instances: [Instance { prompt: &request.prompt, image }],
            parameters: VideoParameters {
                aspect_ratio: request.aspect_ratio.as_deref(),
                resolution: request.resolution.as_deref(),
                duration_seconds: request.duration,
            },
        };
        self.post(&request.model, "predictLongRunning", &body)
    }
}

impl MediaCodec for GeminiMedia {
    fn encode(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        match request.mode {
            MediaMode::Image | MediaMode::ImageEdit => self.picture(request),
            MediaMode::Video | MediaMode::ImageToVideo => self.video(request),
            MediaMode::Audio => self.speech(request),
            mode @ MediaMode::Transcription => Err(no_mode(mode, "Gemini")),
        }
    }

    fn decoder(&self, request: &MediaRequest) -> Box<dyn MediaDecoder> {
        let reading = if request.mode.is_job() { read_job } else { read_reply };
        Box::new(JsonAnswer::new(PARTS, request, reading))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> MediaFailure {
        refusal(status, body)
    }

    fn poll(&self, job: &str) -> Result<HttpRequest, MediaFailure> {
        if !is_job(job) {
            return Err(protocol("The job has an id that is none."));
        }
        Ok(HttpRequest::get(address(&self.base_url, &format!("/{job}")), self.headers()))
    }

    fn job_state(&self, body: &[u8]) -> Result<JobState, MediaFailure> {
        let unclear = || protocol("The model provider does not say how the job stands.");
        let state: Value = wire::json::from_slice(body).map_err(|_| unclear())?;
        if state.get("error").is_some() {
            return Err(refused(body).unwrap_or_else(unclear));
        }
        if state.get("done").and_then(Value::as_bool) != Some(true) {
            return if state.get("name").is_some() { Ok(JobState::Running) } else { Err(unclear()) };
        }
        let answer = state.get("response").and_then(|response| response.get("generateVideoResponse"));
        let samples = answer.and_then(|answer| answer.get("generatedSamples")?.as_array());
        let address = |sample: &Value| sample.get("video")?.get("uri")?.as_str().map(str::to_owned);
        let files: Vec<String> = samples.into_iter().flatten().filter_map(address).collect();
        let filtered = number(answer, "raiMediaFilteredCount");
        match files.is_empty() {
            false => Ok(JobState::Done(files)),
            true if filtered > 0 => Err(MediaFailure::Policy { accepted: true }),
            true => Err(unclear()),
        }
    }

    /// An address of the maker's. A redirect's address is one as well. The key belongs to the configured host, which may be a
    /// gateway's.
    fn fetch(&self, file: &str) -> Result<HttpRequest, MediaFailure> {
        let foreign = || protocol("The model provider has the file on a host that is not its own.");
        let host = host(file).filter(|_| file.starts_with("https://") || file.starts_with(&self.base_url));
        let host = host.ok_or_else(foreign)?;
        if Some(host) == self::host(&self.base_url) {
            return Ok(HttpRequest::get(file.to_owned(), self.headers()));
        }
        match FILE_HOSTS.iter().any(|own| host.ends_with(own)) {
            true => Ok(HttpRequest::get(file.to_owned(), Vec::new())),
            false => Err(foreign()),
        }
    }
}

/// The host of an address that is plainly written, with its port.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte);
    let is_visible = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (!host.is_empty() && is_visible && host.bytes().all(is_plain)).then_some(host)
}

/// Signatures of thoughts may be as long as pictures.
const PARTS: Members = Members {
    files: &["data"],
    dropped: &["thoughtSignature", "thought_signature", "text"],
    head: head_of_samples,
};

/// Gemini's speech is samples without a head (`audio/L16;codec=pcm;rate=24000`). It gets that of a WAV whose length nobody
/// knows yet, with all bits of the lengths set, as others stream one.
fn head_of_samples(declared_type: Option<&str>) -> Vec<u8> {
    let Some(words) = declared_type.and_then(|declared| declared.strip_prefix("audio/L16")) else {
        return Vec::new();
    };
    let declared = words.split(';').find_map(|word| word.trim().strip_prefix("rate="));
    let rate = declared.and_then(|rate| rate.parse().ok()).unwrap_or(RATE);
    let bytes = rate.saturating_mul(2).to_le_bytes();
    let form = b"\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0";
    [b"RIFF", &form[..], &rate.to_le_bytes(), &bytes, b"\x02\0\x10\0data\xff\xff\xff\xff"].concat()
}

fn read_reply(answer: &Value) -> AnswerRest {
    let usage = answer.get("usageMetadata").filter(|usage| usage.is_object()).map(|usage| {
        let [input, output] =
            ["promptTokenCount", "candidatesTokenCount"].map(|member| number(Some(usage), member));
        let texts = of_modality(usage.get("promptTokensDetails"), "TEXT").min(input);
        // Without details all tokens count as those of pictures, which cost more.
        let details = usage.get("candidatesTokensDetails").filter(|details| details.is_array());
        let files = ["IMAGE", "AUDIO"].map(|modality| of_modality(details, modality));
        let files = details.map_or(output, |_| files.into_iter().fold(0, u64::saturating_add).min(output));
        MediaUsage {
            text_tokens: texts,
            media_tokens: input - texts,
            output_text_tokens: (output - files).saturating_add(number(Some(usage), "thoughtsTokenCount")),
            output_media_tokens: files,
            seconds: 0.0,
        }
    });
    let is_blocked =
        answer.get("promptFeedback").is_some_and(|feedback| feedback.get("blockReason").is_some());
    let candidates = answer.get("candidates").and_then(Value::as_array).into_iter().flatten();
    let mut reasons = candidates.filter_map(|candidate| candidate.get("finishReason")?.as_str());
    AnswerRest { event: None, usage, is_policy: is_blocked || reasons.any(|reason| POLICY.contains(&reason)) }
}

/// The tokens of a modality (`[{"modality": "TEXT", "tokenCount": 5}]`).
fn of_modality(details: Option<&Value>, modality: &str) -> u64 {
    let details = details.and_then(Value::as_array).into_iter().flatten();
    let of = details.filter(|detail| detail.get("modality").and_then(Value::as_str) == Some(modality));
    of.map(|detail| number(Some(detail), "tokenCount")).fold(0, u64::saturating_add)
}

fn read_job(answer: &Value) -> AnswerRest {
    AnswerRest { event: job(answer.get("name")), ..AnswerRest::default() }
}
