//! The decoders of answers: a file as the whole body, or JSON with files, a transcript or a job.

use serde_json::Value;

use wire::media::{MAX_JOB_BYTES, MediaEvent, MediaFailure, MediaMode, MediaRequest, MediaUsage};

use super::files::Files;
use super::json::{JsonFiles, MAX_REST_BYTES, Members};
use super::{MediaDecoder, protocol, refused, too_large};

/// What an answer says beside its files.
#[derive(Debug, Default)]
pub(super) struct AnswerRest {
    /// A transcript, or a job.
    pub event: Option<MediaEvent>,
    pub usage: Option<MediaUsage>,
    /// The provider made nothing, for its rules about contents.
    pub is_policy: bool,
}

/// Reads an answer without its files.
pub(super) type Reading = fn(&Value) -> AnswerRest;

/// An answer in JSON.
pub(super) struct JsonAnswer {
    reader: Option<JsonFiles>,
    reading: Reading,
}

impl JsonAnswer {
    pub fn new(members: Members, request: &MediaRequest, reading: Reading) -> Self {
        let reader = JsonFiles::new(members, request.mode, request.variations());
        JsonAnswer { reader: Some(reader), reading }
    }
}

impl MediaDecoder for JsonAnswer {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        self.reader.as_mut().map_or(Ok(()), |reader| reader.feed(bytes, events))
    }

    fn finish(&mut self, events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        let Some(reader) = self.reader.take() else { return Ok(()) };
        let (rest, files) = reader.finish()?;
        let AnswerRest { event, usage, is_policy } = (self.reading)(&rest);
        let is_empty = files == 0 && event.is_none();
        events.extend(event);
        events.extend(usage.map(MediaEvent::Usage));
        match is_empty {
            false => Ok(()),
            true if is_policy => Err(MediaFailure::Policy { accepted: true }),
            true => Err(refused(rest.to_string().as_bytes()).unwrap_or_else(|| {
                protocol("The model provider's answer has nothing of what was asked for.")
            })),
        }
    }
}

/// An answer that is a file, as that to [`MediaCodec::fetch`](super::MediaCodec::fetch) is.
pub struct FileAnswer {
    files: Files,
    /// Whether bytes have come, and whether they are JSON, which no file of ours begins with.
    is_json: Option<bool>,
    json: Vec<u8>,
}

impl FileAnswer {
    /// For a file that a request in this mode asked for.
    pub fn new(mode: MediaMode) -> Self {
        FileAnswer { files: Files::in_mode(mode), is_json: None, json: Vec::new() }
    }

    /// For samples without a header, which may begin like anything.
    pub(super) fn of_samples(mode: MediaMode) -> Self {
        FileAnswer { is_json: Some(false), ..FileAnswer::new(mode) }
    }
}

impl MediaDecoder for FileAnswer {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        let Some(first) = bytes.first() else { return Ok(()) };
        if *self.is_json.get_or_insert(*first == b'{') {
            self.json.extend_from_slice(bytes);
            let is_too_large = self.json.len() > MAX_REST_BYTES;
            return if is_too_large { Err(too_large(MAX_REST_BYTES)) } else { Ok(()) };
        }
        self.files.add(bytes, events)
    }

    fn finish(&mut self, events: &mut Vec<MediaEvent>) -> Result<(), MediaFailure> {
        self.files.end(None, events);
        match self.files.complete {
            0 => {
                Err(refused(&self.json).unwrap_or_else(|| protocol("The model provider sent an empty file.")))
            }
            _ => Ok(()),
        }
    }
}

/// The transcript of an answer.
pub(super) fn transcript(answer: &Value) -> Option<MediaEvent> {
    // An answer of Cloudflare's own API stands in `result`.
    let text = answer.get("text").or_else(|| answer.get("result")?.get("text"))?;
    Some(MediaEvent::Text(text.as_str()?.to_owned()))
}

/// A job by its id, which becomes a part of an address.
pub(super) fn job(id: Option<&Value>) -> Option<MediaEvent> {
    let id = id?.as_str().filter(|id| is_job(id))?;
    Some(MediaEvent::Job(id.to_owned()))
}

/// Whether a text can be the id of a job.
pub(super) fn is_job(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    (1..=MAX_JOB_BYTES).contains(&id.len())
        && id.bytes().all(is_plain)
        && id.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// A number of an object, zero where it has none.
pub(super) fn number(object: Option<&Value>, member: &str) -> u64 {
    object.and_then(|object| object.get(member)?.as_u64()).unwrap_or_default()
}
