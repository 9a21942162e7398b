//! The demo makes media as well: a PNG whose pixels it computes from the prompt, a WAV with a tone for each word, and a
//! transcript that says what it heard: nothing. The same request gets the same answer.

mod png;
mod wav;

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

use wire::media::{Format, MediaEvent, MediaFailure, MediaMode, MediaRequest, PIECE_BYTES};

/// The sides of a picture where the request names none, and the longest: its pixels are not compressed.
const SIDE: u32 = 256;
const MAX_SIDE: u32 = 512;

/// The whole answer to a request.
pub fn make(request: &MediaRequest) -> Result<Vec<MediaEvent>, MediaFailure> {
    let wrong = MediaFailure::member;
    let mut events = Vec::new();
    match request.mode {
        MediaMode::Image | MediaMode::ImageEdit => {
            request.only(&["width", "height", "variations", "format"], "the demo's pictures")?;
            let sides = [("width", request.width), ("height", request.height)];
            if let Some((member, _)) = sides.iter().find(|(_, side)| side.is_some_and(|side| side > MAX_SIDE))
            {
                return Err(wrong(member, "The demo's pictures have at most 512 pixels a side."));
            }
            if request.format.is_some_and(|format| format != Format::Png) {
                return Err(wrong("format", "The demo makes PNG alone."));
            }
            let [width, height] = sides.map(|(_, side)| side.unwrap_or(SIDE));
            for variation in 0..request.variations() {
                file(png::encode(width, height, seed(request, variation)), "image/png", &mut events);
            }
        }
        MediaMode::Audio => {
            request.only(&["format"], "the demo's sounds")?;
            if request.format.is_some_and(|format| format != Format::Wav) {
                return Err(wrong("format", "The demo makes WAV alone."));
            }
            file(wav::encode(&request.prompt), "audio/wav", &mut events);
        }
        MediaMode::Transcription => {
            request.only(&["language"], "the demo's transcripts")?;
            let bytes: usize = request.sources.iter().map(|source| source.bytes.len()).sum();
            let text = format!("The demo understands no speech. The recording has {bytes} bytes.");
            events.push(MediaEvent::Text(text));
        }
        MediaMode::Video | MediaMode::ImageToVideo => return Err(wrong("mode", "The demo makes no videos.")),
    }
    Ok(events)
}

/// What the picture depends on: the prompt, its sources, and its number among the variations.
fn seed(request: &MediaRequest, variation: u8) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(&request.prompt);
    request.sources.iter().for_each(|source| digest.update(&source.bytes));
    digest.update([variation]);
    digest.finalize().into()
}

fn file(bytes: Vec<u8>, declared_type: &str, events: &mut Vec<MediaEvent>) {
    events.push(MediaEvent::Begin);
    events.extend(bytes.chunks(PIECE_BYTES).map(|piece| MediaEvent::Bytes(piece.to_vec())));
    events.push(MediaEvent::End { declared_type: Some(declared_type.to_owned()) });
}
