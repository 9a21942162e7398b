//! What a file is, by its bytes. Nobody believes the type that a client or a provider declares.
//!
//! A format is walked from its first byte to its end, by its own lengths. The walk decodes nothing, so a small file that
//! claims to be a huge picture costs nothing here, and the limit of pixels refuses it. Each step goes forward, and their
//! number is bounded, so any bytes take a bounded time. [`MediaFacts::bytes`] leaves out what follows the end of the
//! file, such as the archive or the page of a file that is two things at once. FLAC, MP4 and WebM do not say where they
//! end: all bytes belong to them.

mod picture;
mod sound;
mod video;

#[cfg(test)]
mod tests;

use super::{MAX_AUDIO_BYTES, MAX_IMAGE_BYTES, MAX_VIDEO_BYTES};

/// The most pixels of a picture: twice those of the largest that a maker of models makes, 4096 × 4096
/// (<https://ai.google.dev/gemini-api/docs/image-generation>). A browser needs four bytes for each of them.
pub const MAX_PIXELS: u64 = 2 * 4_096 * 4_096;
/// The longest side of a picture: that of WebP (<https://developers.google.com/speed/webp/faq>).
pub const MAX_EDGE: u32 = 16_383;
/// The longest sound, in seconds: a browser keeps its samples in memory, about a gigabyte of an hour.
pub const MAX_SOUND_SECONDS: f64 = 3_600.0;
/// The longest video, in seconds: what 48 MB are at a telephone's usual 600 kilobits.
pub const MAX_FILM_SECONDS: f64 = 600.0;
/// The most parts of a file (chunks, segments, pages, boxes, blocks): an hour of sound in blocks of 20 ms has 180,000.
const MAX_PARTS: u32 = 1 << 18;

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Png,
    Jpeg,
    Gif,
    Webp,
    Wav,
    Mp3,
    /// Opus or Vorbis.
    Ogg,
    Flac,
    /// An MP4 without pictures.
    Mp4Sound,
    /// A WebM without pictures.
    WebmSound,
    Mp4,
    Webm,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
}

impl MediaType {
    /// Its name in HTTP.
    pub const fn as_str(self) -> &'static str {
        match self {
            MediaType::Png => "image/png",
            MediaType::Jpeg => "image/jpeg",
            MediaType::Gif => "image/gif",
            MediaType::Webp => "image/webp",
            MediaType::Wav => "audio/wav",
            MediaType::Mp3 => "audio/mpeg",
            MediaType::Ogg => "audio/ogg",
            MediaType::Flac => "audio/flac",
            MediaType::Mp4Sound => "audio/mp4",
            MediaType::WebmSound => "audio/webm",
            MediaType::Mp4 => "video/mp4",
            MediaType::Webm => "video/webm",
        }
    }

    /// The ending of a file's name.
    pub const fn ending(self) -> &'static str {
        match self {
            MediaType::Png => "png",
            MediaType::Jpeg => "jpg",
            MediaType::Gif => "gif",
            MediaType::Webp => "webp",
            MediaType::Wav => "wav",
            MediaType::Mp3 => "mp3",
            MediaType::Ogg => "ogg",
            MediaType::Flac => "flac",
            MediaType::Mp4Sound => "m4a",
            MediaType::WebmSound | MediaType::Webm => "webm",
            MediaType::Mp4 => "mp4",
        }
    }

    pub const fn kind(self) -> MediaKind {
        match self {
            MediaType::Png | MediaType::Jpeg | MediaType::Gif | MediaType::Webp => MediaKind::Image,
            MediaType::Wav
            | MediaType::Mp3
            | MediaType::Ogg
            | MediaType::Flac
            | MediaType::Mp4Sound
            | MediaType::WebmSound => MediaKind::Audio,
            MediaType::Mp4 | MediaType::Webm => MediaKind::Video,
        }
    }
}

impl MediaKind {
    /// The most bytes of a file of this kind.
    pub const fn most_bytes(self) -> usize {
        match self {
            MediaKind::Image => MAX_IMAGE_BYTES,
            MediaKind::Audio => MAX_AUDIO_BYTES,
            MediaKind::Video => MAX_VIDEO_BYTES,
        }
    }
}

/// What the bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaFacts {
    pub media_type: MediaType,
    /// How many of the bytes are the file. Whoever keeps the file keeps these alone.
    pub bytes: usize,
    /// The pixels of a picture or a video.
    pub size: Option<(u32, u32)>,
    /// How long a sound or a video is, if the file says it.
    pub seconds: Option<f64>,
}

/// Why bytes are no file that this service keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMedia {
    /// They begin like no format that it knows.
    Unknown,
    /// They begin like one, and are none: cut off, or false.
    Broken(&'static str),
    /// They are one that exceeds a limit, which the text names.
    TooLarge(&'static str),
}

impl MediaFacts {
    /// A file of this type that has all the bytes.
    fn whole(media_type: MediaType, bytes: usize) -> Self {
        MediaFacts { media_type, bytes, size: None, seconds: None }
    }

    fn within_limits(self) -> Result<Self, NotMedia> {
        let kind = self.media_type.kind();
        if self.bytes > kind.most_bytes() {
            return Err(NotMedia::TooLarge("bytes"));
        }
        if let Some((width, height)) = self.size {
            if width == 0 || height == 0 {
                return Err(NotMedia::Broken("a picture without pixels"));
            }
            if u64::from(width) * u64::from(height) > MAX_PIXELS || width.max(height) > MAX_EDGE {
                return Err(NotMedia::TooLarge("pixels"));
            }
        }
        let most_seconds = if kind == MediaKind::Video { MAX_FILM_SECONDS } else { MAX_SOUND_SECONDS };
        if self.seconds.is_some_and(|seconds| !seconds.is_finite() || seconds > most_seconds) {
            return Err(NotMedia::TooLarge("seconds"));
        }
        Ok(self)
    }
}

/// What a whole file is.
pub fn sniff(bytes: &[u8]) -> Result<MediaFacts, NotMedia> {
    type Walk = fn(&[u8]) -> Option<MediaFacts>;
    let begins = |beginning: &[u8]| bytes.starts_with(beginning);
    let (name, walk): (&'static str, Walk) = match bytes {
        _ if begins(b"\x89PNG\r\n\x1a\n") => ("PNG", picture::png),
        _ if begins(b"\xff\xd8\xff") => ("JPEG", picture::jpeg),
        _ if begins(b"GIF87a") || begins(b"GIF89a") => ("GIF", picture::gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ("WebP", picture::webp),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => ("WAV", sound::wav),
        _ if begins(b"OggS") => ("Ogg", sound::ogg),
        _ if begins(b"fLaC") => ("FLAC", sound::flac),
        _ if begins(b"ID3") || sound::is_mp3(bytes) => ("MP3", sound::mp3),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => ("MP4", video::mp4),
        _ if begins(b"\x1a\x45\xdf\xa3") => ("WebM", video::webm),
        _ => return Err(NotMedia::Unknown),
    };
    walk(bytes).ok_or(NotMedia::Broken(name))?.within_limits()
}

/// The bytes from a place on, if there are so many.
fn at<const N: usize>(bytes: &[u8], from: usize) -> Option<[u8; N]> {
    bytes.get(from..from.checked_add(N)?)?.try_into().ok()
}

fn be16(bytes: &[u8], from: usize) -> Option<u32> {
    at(bytes, from).map(|two| u32::from(u16::from_be_bytes(two)))
}

fn be32(bytes: &[u8], from: usize) -> Option<u32> {
    at(bytes, from).map(u32::from_be_bytes)
}

fn be64(bytes: &[u8], from: usize) -> Option<u64> {
    at(bytes, from).map(u64::from_be_bytes)
}

fn le16(bytes: &[u8], from: usize) -> Option<u32> {
    at(bytes, from).map(|two| u32::from(u16::from_le_bytes(two)))
}

fn le24(bytes: &[u8], from: usize) -> Option<u32> {
    at(bytes, from).map(|[one, two, three]: [u8; 3]| u32::from_le_bytes([one, two, three, 0]))
}

fn le32(bytes: &[u8], from: usize) -> Option<u32> {
    at(bytes, from).map(u32::from_le_bytes)
}

/// Counts the parts of a walk: none once there are too many.
struct Parts(u32);

impl Parts {
    fn new() -> Self {
        Parts(MAX_PARTS)
    }

    fn next(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}
