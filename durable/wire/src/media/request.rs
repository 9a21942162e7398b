//! A request for a picture, a sound, a transcript or a video. The members have the names of `media_generation` on a
//! message.

use std::ops::RangeInclusive;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::MediaFailure;

/// The most variations of a request, as clients of `media_generation` know it.
pub const MAX_VARIATIONS: u8 = 8;
/// The most characters of a prompt: OpenAI's limit for its image models
/// (<https://developers.openai.com/api/docs/api-reference/images/create>).
pub const MAX_PROMPT_CHARS: usize = 32_000;
/// The most characters that one request speaks: OpenAI's limit
/// (<https://developers.openai.com/api/docs/api-reference/audio/createSpeech>).
pub const MAX_SPOKEN_CHARS: usize = 4_096;
/// The longest side of a picture that a request may ask for: Gemini's 4K of 1:8
/// (<https://ai.google.dev/gemini-api/docs/image-generation>).
pub const MAX_SIDE: u32 = 12_288;
/// The longest video that a request may ask for, in seconds: Gemini Omni's
/// (<https://ai.google.dev/gemini-api/docs/video>).
pub const MAX_VIDEO_SECONDS: u32 = 15;
/// The most sources of a request: OpenAI's limit of an edit
/// (<https://developers.openai.com/api/docs/api-reference/images/createEdit>).
pub const MAX_SOURCES: usize = 16;
/// The most bytes of one source. An isolate has 128 MB for all that it does
/// (<https://developers.cloudflare.com/workers/platform/limits/>), and it holds a source twice: as it is, and in the body.
pub const MAX_SOURCE_BYTES: usize = 8 << 20;
/// The most bytes of all sources of a request, for the same reason.
pub const MAX_SOURCES_BYTES: usize = 12 << 20;
/// The most bytes of a picture that is made: as PNG, one of 3840 × 2160 pixels takes up to 24 MB when it is noise.
pub const MAX_IMAGE_BYTES: usize = 24 << 20;
/// The most bytes of a sound that is made: eight minutes of 24 000 samples a second, as WAV.
pub const MAX_AUDIO_BYTES: usize = 24 << 20;
/// The most bytes of a video that is made: 15 seconds of 25 megabits.
pub const MAX_VIDEO_BYTES: usize = 48 << 20;

/// The speeds of speech (OpenAI's, as [`MAX_SPOKEN_CHARS`]).
const SPEEDS: RangeInclusive<f64> = 0.25..=4.0;
/// The strengths by which a picture may leave its source behind.
const STRENGTHS: RangeInclusive<f64> = 0.0..=1.0;
/// The most steps of a diffusion model
/// (<https://developers.cloudflare.com/workers-ai/models/stable-diffusion-xl-base-1.0/>: 20; others take up to 50).
const MAX_STEPS: u32 = 50;
/// The longest name of a voice, a quality, a resolution or an aspect ratio.
const MAX_WORD: usize = 64;

/// What a request makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MediaMode {
    /// A picture of a prompt.
    Image,
    /// A picture of a prompt and other pictures.
    ImageEdit,
    /// A text, spoken.
    Audio,
    /// The text of a recording.
    Transcription,
    /// A video of a prompt.
    Video,
    /// A video that begins with a picture.
    ImageToVideo,
}

impl MediaMode {
    pub const ALL: [MediaMode; 6] = [
        MediaMode::Image,
        MediaMode::ImageEdit,
        MediaMode::Audio,
        MediaMode::Transcription,
        MediaMode::Video,
        MediaMode::ImageToVideo,
    ];

    /// The mode as requests spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            MediaMode::Image => "image",
            MediaMode::ImageEdit => "image_edit",
            MediaMode::Audio => "audio",
            MediaMode::Transcription => "transcription",
            MediaMode::Video => "video",
            MediaMode::ImageToVideo => "image_to_video",
        }
    }

    /// Whether it makes something of files that the request has.
    pub const fn has_sources(self) -> bool {
        matches!(self, MediaMode::ImageEdit | MediaMode::Transcription | MediaMode::ImageToVideo)
    }

    /// Whether a provider makes it in a job, which is asked about until it has ended.
    pub const fn is_job(self) -> bool {
        matches!(self, MediaMode::Video | MediaMode::ImageToVideo)
    }

    /// The most bytes of a file that is made.
    pub const fn most_bytes(self) -> usize {
        match self {
            MediaMode::Image | MediaMode::ImageEdit => MAX_IMAGE_BYTES,
            MediaMode::Audio | MediaMode::Transcription => MAX_AUDIO_BYTES,
            MediaMode::Video | MediaMode::ImageToVideo => MAX_VIDEO_BYTES,
        }
    }

    /// The members of a request that mean something in this mode, beside model, prompt and sources.
    fn members(self) -> Vec<&'static str> {
        const SHAPE: [&str; 5] = ["width", "height", "aspect_ratio", "resolution", "variations"];
        const PICTURE: [&str; 3] = ["quality", "format", "num_inference_steps"];
        match self {
            MediaMode::Image => [&SHAPE[..], &PICTURE].concat(),
            MediaMode::ImageEdit => [&SHAPE[..], &PICTURE, &["strength"]].concat(),
            MediaMode::Audio => vec!["voice", "speed", "format"],
            MediaMode::Transcription => vec!["language"],
            MediaMode::Video | MediaMode::ImageToVideo => [&SHAPE[..], &["duration"]].concat(),
        }
    }
}

/// The form of a file that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Png,
    Jpeg,
    Webp,
    Mp3,
    Wav,
    /// Samples without a header. Nothing in the bytes says what they are, so no asset can be made of them.
    Pcm,
    Opus,
    Flac,
    Aac,
}

impl Format {
    /// The word for it in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Jpeg => "jpeg",
            Format::Webp => "webp",
            Format::Mp3 => "mp3",
            Format::Wav => "wav",
            Format::Pcm => "pcm",
            Format::Opus => "opus",
            Format::Flac => "flac",
            Format::Aac => "aac",
        }
    }

    /// Whether the bytes of a file say that it has this format, so that an asset can be made of it.
    pub const fn is_known_by_bytes(self) -> bool {
        !matches!(self, Format::Pcm | Format::Aac)
    }

    pub const fn is_picture(self) -> bool {
        matches!(self, Format::Png | Format::Jpeg | Format::Webp)
    }
}

/// A file that a request is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The type that its bytes have (`sniff`), such as `image/png`; never the type that a client declared.
    pub media_type: &'static str,
    pub bytes: Rc<[u8]>,
}

/// A request. A codec refuses each member that its provider cannot take, by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaRequest {
    pub mode: MediaMode,
    /// As the provider spells it.
    pub model: String,
    /// What to make, or the text to speak. For a transcript, words that may occur in it; it may be empty there.
    pub prompt: String,
    pub width: Option<u32>,
    pub height: Option<u32>,
    /// Such as `16:9`.
    pub aspect_ratio: Option<String>,
    /// A word of the provider, such as `2K` or `720p`.
    pub resolution: Option<String>,
    /// A word of the provider, such as `low`.
    pub quality: Option<String>,
    /// One where none is given.
    pub variations: Option<u8>,
    /// In seconds.
    pub duration: Option<u32>,
    pub voice: Option<String>,
    pub speed: Option<f64>,
    /// The language of a recording, such as `en`.
    pub language: Option<String>,
    pub format: Option<Format>,
    /// How far a picture may leave its source behind, from 0 to 1.
    pub strength: Option<f64>,
    pub num_inference_steps: Option<u32>,
    /// The most tokens of the answer, where it costs by tokens (`TokenRates::most_output_tokens`). A codec sends it where
    /// the provider takes it.
    pub max_output_tokens: Option<u64>,
    pub sources: Vec<Source>,
}

impl MediaRequest {
    /// A request with a prompt and nothing else.
    pub fn new(mode: MediaMode, model: impl Into<String>, prompt: impl Into<String>) -> Self {
        MediaRequest {
            mode,
            model: model.into(),
            prompt: prompt.into(),
            width: None,
            height: None,
            aspect_ratio: None,
            resolution: None,
            quality: None,
            variations: None,
            duration: None,
            voice: None,
            speed: None,
            language: None,
            format: None,
            strength: None,
            num_inference_steps: None,
            max_output_tokens: None,
            sources: Vec::new(),
        }
    }

    /// The number of files that it asks for.
    pub fn variations(&self) -> u8 {
        self.variations.unwrap_or(1)
    }

    /// Checks the rules that hold for each provider.
    pub fn check(&self) -> Result<(), MediaFailure> {
        self.only(&self.mode.members(), &format!("the mode {}", self.mode.as_str()))?;
        let most_chars = if self.mode == MediaMode::Audio { MAX_SPOKEN_CHARS } else { MAX_PROMPT_CHARS };
        if self.prompt.trim().is_empty() && self.mode != MediaMode::Transcription {
            return Err(MediaFailure::member("prompt", "The prompt is empty."));
        }
        if self.prompt.chars().nth(most_chars).is_some() {
            return Err(MediaFailure::member(
                "prompt",
                format!("The prompt has more than {most_chars} characters."),
            ));
        }
        self.check_sources()?;
        if !(1..=MAX_VARIATIONS).contains(&self.variations()) {
            return Err(MediaFailure::member(
                "variations",
                format!("There are 1 to {MAX_VARIATIONS} variations."),
            ));
        }
        if self.width.is_some() != self.height.is_some() {
            let member = if self.width.is_some() { "height" } else { "width" };
            return Err(MediaFailure::member(member, "A picture's size has a width and a height."));
        }
        for (member, side) in [("width", self.width), ("height", self.height)] {
            if side.is_some_and(|side| !(1..=MAX_SIDE).contains(&side)) {
                return Err(MediaFailure::member(member, format!("A side has 1 to {MAX_SIDE} pixels.")));
            }
        }
        if self.duration.is_some_and(|seconds| !(1..=MAX_VIDEO_SECONDS).contains(&seconds)) {
            return Err(MediaFailure::member(
                "duration",
                format!("A video has 1 to {MAX_VIDEO_SECONDS} seconds."),
            ));
        }
        if self.speed.is_some_and(|speed| !SPEEDS.contains(&speed)) {
            return Err(MediaFailure::member("speed", "The speed is from 0.25 to 4."));
        }
        if self.strength.is_some_and(|strength| !STRENGTHS.contains(&strength)) {
            return Err(MediaFailure::member("strength", "The strength is from 0 to 1."));
        }
        if self.num_inference_steps.is_some_and(|steps| !(1..=MAX_STEPS).contains(&steps)) {
            return Err(MediaFailure::member(
                "num_inference_steps",
                format!("There are 1 to {MAX_STEPS} steps."),
            ));
        }
        if self.format.is_some_and(|format| format.is_picture() == (self.mode == MediaMode::Audio)) {
            return Err(MediaFailure::member("format", "The format does not fit the mode."));
        }
        self.check_words()
    }

    fn check_sources(&self) -> Result<(), MediaFailure> {
        let wrong = |problem: String| Err(MediaFailure::member("sources", problem));
        if self.sources.is_empty() == self.mode.has_sources() {
            let needs = if self.mode.has_sources() { "needs a source" } else { "takes no source" };
            return wrong(format!("The mode {} {needs}.", self.mode.as_str()));
        }
        if self.sources.len() > MAX_SOURCES {
            return wrong(format!("There are at most {MAX_SOURCES} sources."));
        }
        let sizes = || self.sources.iter().map(|source| source.bytes.len());
        if sizes().any(|bytes| bytes == 0 || bytes > MAX_SOURCE_BYTES) {
            return wrong(format!("A source has 1 to {MAX_SOURCE_BYTES} bytes."));
        }
        if sizes().sum::<usize>() > MAX_SOURCES_BYTES {
            return wrong(format!("All sources together have at most {MAX_SOURCES_BYTES} bytes."));
        }
        let kind = if self.mode == MediaMode::Transcription { "audio/" } else { "image/" };
        // A recording may come with pictures.
        let fits = |source: &Source| {
            source.media_type.starts_with(kind)
                || (self.mode == MediaMode::Transcription && source.media_type.starts_with("video/"))
        };
        match self.sources.iter().find(|source| !fits(source)) {
            Some(source) => wrong(format!("The mode {} takes no {}.", self.mode.as_str(), source.media_type)),
            None => Ok(()),
        }
    }

    /// Words go into bodies of several parts, so they have no control characters.
    fn check_words(&self) -> Result<(), MediaFailure> {
        let words = [
            ("aspect_ratio", &self.aspect_ratio),
            ("resolution", &self.resolution),
            ("quality", &self.quality),
            ("voice", &self.voice),
            ("language", &self.language),
        ];
        let is_word = |word: &str| {
            (1..=MAX_WORD).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let bad = words.into_iter().find(|(_, word)| word.as_deref().is_some_and(|word| !is_word(word)));
        match bad {
            Some((member, _)) => {
                let problem = format!("It has 1 to {MAX_WORD} visible ASCII characters.");
                Err(MediaFailure::member(member, problem))
            }
            None => Ok(()),
        }
    }

    /// The members that it has beside mode, model, prompt and sources.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("width", self.width.is_some()),
            ("height", self.height.is_some()),
            ("aspect_ratio", self.aspect_ratio.is_some()),
            ("resolution", self.resolution.is_some()),
            ("quality", self.quality.is_some()),
            ("variations", self.variations.is_some()),
            ("duration", self.duration.is_some()),
            ("voice", self.voice.is_some()),
            ("speed", self.speed.is_some()),
            ("language", self.language.is_some()),
            ("format", self.format.is_some()),
            ("strength", self.strength.is_some()),
            ("num_inference_steps", self.num_inference_steps.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(member, _)| member)
    }

    /// Refuses a member that is not among these. `who` takes no other.
    pub fn only(&self, members: &[&str], who: &str) -> Result<(), MediaFailure> {
        match self.given().find(|member| !members.contains(member)) {
            Some(member) => Err(MediaFailure::member(member, format!("It means nothing to {who}."))),
            None => Ok(()),
        }
    }
}
