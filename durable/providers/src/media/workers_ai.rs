//! Workers AI by its binding, as `workers_ai` has it: the address of a request is the name of a model, its body the
//! inputs (<https://developers.cloudflare.com/workers-ai/models/>). An answer is a file, or JSON with one in base64.
//!
//! Each family of models has inputs of its own. A model whose inputs are no JSON (FLUX.2 and Nova take streams) is refused
//! by its name.

use serde::Serialize;
use serde_json::Value;

use wire::http::HttpRequest;
use wire::media::{Format, InBase64, MediaEvent, MediaFailure, MediaMode, MediaRequest, MediaUsage, Source};

use super::answer::{AnswerRest, FileAnswer, JsonAnswer, transcript};
use super::json::{Members, no_head};
use super::openai::seconds;
use super::{MediaCodec, MediaDecoder, at_most, json_post, refusal};

/// The longest prompt of FLUX.1 (<https://developers.cloudflare.com/workers-ai/models/flux-1-schnell/>).
const FLUX_CHARS: usize = 2_048;

/// The binding.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkersAiMedia;

/// Models with the same inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Flux,
    /// The most steps.
    Leonardo(u32),
    Diffusion,
    Aura,
    MeloTts,
    Whisper,
}

/// The families by the beginnings of their models' names.
const FAMILIES: [(&str, Family); 10] = [
    ("@cf/black-forest-labs/flux-1-", Family::Flux),
    ("@cf/leonardo/lucid-", Family::Leonardo(40)),
    ("@cf/leonardo/", Family::Leonardo(50)),
    ("@cf/stabilityai/stable-diffusion-", Family::Diffusion),
    ("@cf/bytedance/stable-diffusion-", Family::Diffusion),
    ("@cf/runwayml/stable-diffusion-v1-5-img2img", Family::Diffusion),
    ("@cf/lykon/dreamshaper-", Family::Diffusion),
    ("@cf/deepgram/aura-", Family::Aura),
    ("@cf/myshell-ai/melotts", Family::MeloTts),
    ("@cf/openai/whisper-large-v3-turbo", Family::Whisper),
];

/// The inputs of all families; each has some of them.
#[derive(Default, Serialize)]
struct Inputs<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strength: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_b64: Option<InBase64<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speaker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audio: Option<InBase64<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'a str>,
}

impl Family {
    /// The modes that the models have, and the members that they take.
    fn takes(self) -> (&'static [MediaMode], &'static [&'static str]) {
        match self {
            Family::Flux => (&[MediaMode::Image], &["variations", "num_inference_steps"]),
            Family::Leonardo(_) => {
                (&[MediaMode::Image], &["variations", "width", "height", "num_inference_steps"])
            }
            Family::Diffusion => (
                &[MediaMode::Image, MediaMode::ImageEdit],
                &["variations", "width", "height", "num_inference_steps", "strength"],
            ),
            Family::Aura => (&[MediaMode::Audio], &["voice", "format"]),
            Family::MeloTts => (&[MediaMode::Audio], &[]),
            Family::Whisper => (&[MediaMode::Transcription], &["language"]),
        }
    }

    fn check(self, request: &MediaRequest) -> Result<(), MediaFailure> {
        let (modes, members) = self.takes();
        if !modes.contains(&request.mode) {
            return Err(super::no_mode(request.mode, &request.model));
        }
        request.only(members, &request.model)?;
        at_most(request, 1)?;
        if request.sources.len() > 1 {
            return Err(MediaFailure::member("sources", "This model takes one source."));
        }
        // The pages of the models: 8 of FLUX.1, 20 of Stable Diffusion.
        let most_steps = match self {
            Family::Flux => 8,
            Family::Leonardo(steps) => steps,
            Family::Diffusion | Family::Aura | Family::MeloTts | Family::Whisper => 20,
        };
        if request.num_inference_steps.is_some_and(|steps| steps > most_steps) {
            let problem = format!("This model makes at most {most_steps} steps.");
            return Err(MediaFailure::member("num_inference_steps", problem));
        }
        if self == Family::Flux && request.prompt.chars().nth(FLUX_CHARS).is_some() {
            let problem = format!("This model takes at most {FLUX_CHARS} characters.");
            return Err(MediaFailure::member("prompt", problem));
        }
        Ok(())
    }

    fn inputs(self, request: &MediaRequest) -> Result<Inputs<'_>, MediaFailure> {
        let MediaRequest { prompt, width, height, num_inference_steps, .. } = request;
        let source = request.sources.first().map(|Source { bytes, .. }| InBase64(bytes));
        let words = Some(prompt.as_str());
        Ok(match self {
            Family::Flux => Inputs { prompt: words, steps: *num_inference_steps, ..Inputs::default() },
            Family::Leonardo(_) | Family::Diffusion => Inputs {
                prompt: words,
                width: *width,
                height: *height,
                num_steps: *num_inference_steps,
                strength: request.strength,
                image_b64: source,
                ..Inputs::default()
            },
            Family::Aura => {
                let (encoding, container) = sound(request.format)?;
                Inputs {
                    text: words,
                    speaker: request.voice.as_deref(),
                    encoding,
                    container,
                    ..Inputs::default()
                }
            }
            Family::MeloTts => Inputs { prompt: words, ..Inputs::default() },
            Family::Whisper => Inputs {
                audio: source,
                initial_prompt: words.filter(|prompt| !prompt.trim().is_empty()),
                language: request.language.as_deref(),
                ..Inputs::default()
            },
        })
    }
}

/// The encoding of a sound and its container; MP3 where none is asked for
/// (<https://developers.cloudflare.com/workers-ai/models/aura-2-en/>).
fn sound(format: Option<Format>) -> Result<(Option<&'static str>, Option<&'static str>), MediaFailure> {
    Ok(match format {
        None => (None, None),
        Some(Format::Mp3) => (Some("mp3"), None),
        Some(Format::Wav) => (Some("linear16"), Some("wav")),
        Some(Format::Pcm) => (Some("linear16"), Some("none")),
        Some(Format::Opus) => (Some("opus"), Some("ogg")),
        Some(Format::Flac) => (Some("flac"), None),
        Some(Format::Aac) => (Some("aac"), None),
        Some(Format::Png | Format::Jpeg | Format::Webp) => {
            return Err(MediaFailure::member("format", "A sound is no picture."));
        }
    })
}

fn family(model: &str) -> Result<Family, MediaFailure> {
    let family = FAMILIES.iter().find(|(beginning, _)| model.starts_with(beginning));
    let unknown = || MediaFailure::member("model", "Its inputs at Workers AI are not known, or are no JSON.");
    family.map(|(_, family)| *family).ok_or_else(unknown)
}

impl MediaCodec for WorkersAiMedia {
    fn encode(&self, request: &MediaRequest) -> Result<HttpRequest, MediaFailure> {
        let family = family(&request.model)?;
        family.check(request)?;
        json_post(request.model.clone(), Vec::new(), &family.inputs(request)?)
    }

    fn decoder(&self, request: &MediaRequest) -> Box<dyn MediaDecoder> {
        let json = JsonAnswer::new(FILES, request, read_object);
        Box::new(Answer { json, file: FileAnswer::new(request.mode), is_json: None })
    }

    fn refusal(&self, status: u16, body: &[u8]) -> MediaFailure {
        refusal(status, body)
    }
}

const FILES: Members = Members { files: &["image", "audio"], dropped: &["vtt"], head: no_head };

fn read_object(answer: &Value) -> AnswerRest {
    let info = answer.get("transcription_info");
    let seconds = seconds(info.and_then(|info| info.get("duration")));
    let usage = info.map(|_| MediaUsage { seconds, ..MediaUsage::default() });
    AnswerRest { event: transcript(answer), usage, is_policy: false }
}

/// An answer of the binding: a stream of a file, or an object.
struct Answer {
    json: JsonAnswer,
    file: FileAnswer,
    is_json: Option<bool>,
}

impl Answer {
    fn decoder(&mut self) -> &mut dyn MediaDecoder {
        if self.is_json == Some(true) { &mut self.json } else { &mut self.file }
    }
}

impl MediaDecoder for Answer {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        if let Some(first) = bytes.first() {
            // An object comes as `data: {…}` (`workers_ai::as_stream`), and no file of ours begins so.
            self.is_json.get_or_insert(*first == b'{' || *first == b'd');
        }
        self.decoder().feed(bytes, events)
    }

    fn finish(&mut self, events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        self.decoder().finish(events)
    }
}
