//! MP4 (<https://www.iso.org/standard/83102.html>; boxes:
//! <https://developer.apple.com/documentation/quicktime-file-format>) and WebM
//! (<https://www.webmproject.org/docs/container/>, <https://www.rfc-editor.org/rfc/rfc8794>).

use super::{MediaFacts, MediaType, Parts, at, be32, be64};

/// What the walk of an MP4 has found.
#[derive(Default)]
struct Found {
    has_movie: bool,
    has_data: bool,
    has_track: bool,
    /// The largest size of a track with pictures.
    size: Option<(u32, u32)>,
    /// The size of the present track.
    track_size: Option<(u32, u32)>,
    seconds: Option<f64>,
}

/// The boxes inside which the walk goes on: each one only where it belongs, so the walk is at most this deep.
const INSIDE: [(&[u8; 4], &[u8; 4]); 3] = [(b"file", b"moov"), (b"moov", b"trak"), (b"trak", b"mdia")];

pub(super) fn mp4(bytes: &[u8]) -> Option<MediaFacts> {
    // Pictures have the same boxes.
    const FILMS: [&[u8]; 8] = [b"isom", b"iso", b"mp4", b"M4A ", b"M4V ", b"avc1", b"dash", b"MSNV"];
    let brand: [u8; 4] = at(bytes, 8)?;
    if !FILMS.iter().any(|film| brand.starts_with(film)) {
        return None;
    }
    let (mut found, mut parts) = (Found::default(), Parts::new());
    boxes(bytes, b"file", &mut found, &mut parts)?;
    let Found { has_movie, has_data, has_track, size, seconds, .. } = found;
    if !has_movie || !has_data || !has_track {
        return None;
    }
    let media_type = if size.is_some() { MediaType::Mp4 } else { MediaType::Mp4Sound };
    Some(MediaFacts { size, seconds, ..MediaFacts::whole(media_type, bytes.len()) })
}

/// Walks the boxes that are inside of one.
fn boxes(bytes: &[u8], outer: &[u8; 4], found: &mut Found, parts: &mut Parts) -> Option<()> {
    let mut place = 0;
    while place < bytes.len() {
        parts.next()?;
        let short = be32(bytes, place)?;
        let kind: [u8; 4] = at(bytes, place + 4)?;
        let (head, length) = match short {
            // It goes to the end, which only the last box of the file may.
            0 if outer == b"file" => (8, bytes.len().checked_sub(place)?),
            1 => (16, usize::try_from(be64(bytes, place + 8)?).ok()?),
            _ => (8, usize::try_from(short).ok()?),
        };
        let end = place.checked_add(length)?;
        let content = bytes.get(place.checked_add(head)?..end)?;
        match (outer, &kind) {
            (b"file", b"mdat") => found.has_data |= !content.is_empty(),
            (b"moov", b"mvhd") => found.seconds = duration(content),
            (b"trak", b"tkhd") => found.track_size = track_size(content),
            (b"mdia", b"hdlr") => {
                let handler: [u8; 4] = at(content, 8)?;
                if &handler == b"vide" {
                    let (width, height) = found.track_size?;
                    let (wider, higher) = found.size.unwrap_or_default();
                    found.size = Some((width.max(wider), height.max(higher)));
                }
                found.has_track |= [b"vide", b"soun"].contains(&&handler);
            }
            (outer, kind) if INSIDE.contains(&(outer, kind)) => {
                found.has_movie |= kind == b"moov";
                boxes(content, kind, found, parts)?;
            }
            _ => {}
        }
        place = end;
    }
    Some(())
}

/// The seconds of a film; none where it is written in pieces.
fn duration(header: &[u8]) -> Option<f64> {
    let [version]: [u8; 1] = at(header, 0)?;
    let (scale, ticks) = match version {
        0 => (be32(header, 12)?, u64::from(be32(header, 16)?)),
        _ => (be32(header, 20)?, be64(header, 24)?),
    };
    (scale > 0 && ticks > 0).then(|| ticks as f64 / f64::from(scale))
}

/// The size of a track, in whole pixels.
fn track_size(header: &[u8]) -> Option<(u32, u32)> {
    let [version]: [u8; 1] = at(header, 0)?;
    let from = if version == 0 { 76 } else { 88 };
    Some((be32(header, from)? >> 16, be32(header, from + 4)? >> 16))
}

/// The elements of a WebM by their ids.
mod id {
    pub const EBML: u32 = 0x1a45_dfa3;
    pub const DOC_TYPE: u32 = 0x4282;
    pub const SEGMENT: u32 = 0x1853_8067;
    pub const INFO: u32 = 0x1549_a966;
    pub const SCALE: u32 = 0x2a_d7b1;
    pub const DURATION: u32 = 0x4489;
    pub const TRACKS: u32 = 0x1654_ae6b;
    pub const TRACK: u32 = 0xae;
    pub const TRACK_TYPE: u32 = 0x83;
    pub const VIDEO: u32 = 0xe0;
    pub const WIDTH: u32 = 0xb0;
    pub const HEIGHT: u32 = 0xba;
    pub const CLUSTER: u32 = 0x1f43_b675;
    pub const TIME: u32 = 0xe7;
    pub const BLOCK_GROUP: u32 = 0xa0;
    pub const BLOCK: u32 = 0xa1;
    pub const SIMPLE_BLOCK: u32 = 0xa3;
}

/// The walk enters elements by stepping over their heads, so one without a length (a recording of a browser) needs none.
pub(super) fn webm(bytes: &[u8]) -> Option<MediaFacts> {
    let (mut place, mut parts) = (0, Parts::new());
    let (mut is_webm, mut has_sound, mut has_film, mut has_data) = (false, false, false, false);
    let (mut width, mut height) = (0, 0);
    let (mut scale, mut declared, mut cluster, mut last) = (1_000_000_u64, 0.0_f64, 0_u64, 0_u64);
    while place < bytes.len() {
        parts.next()?;
        let Some((id, size, from)) = element(bytes, place) else { break };
        if matches!(
            id,
            id::EBML
                | id::SEGMENT
                | id::INFO
                | id::TRACKS
                | id::TRACK
                | id::VIDEO
                | id::CLUSTER
                | id::BLOCK_GROUP
        ) {
            place = from;
            continue;
        }
        // The last block of a recording that was cut off is left out.
        let end = usize::try_from(size?).ok().and_then(|size| from.checked_add(size));
        let Some((content, end)) = end.and_then(|end| Some((bytes.get(from..end)?, end))) else { break };
        match id {
            id::DOC_TYPE => is_webm = content == b"webm",
            id::SCALE => scale = number(content)?,
            id::DURATION => declared = float(content)?,
            id::TRACK_TYPE => match number(content)? {
                1 => has_film = true,
                2 => has_sound = true,
                _ => {}
            },
            id::WIDTH => width = width.max(u32::try_from(number(content)?).ok()?),
            id::HEIGHT => height = height.max(u32::try_from(number(content)?).ok()?),
            id::TIME => cluster = number(content)?,
            id::BLOCK | id::SIMPLE_BLOCK => {
                has_data = true;
                // The number of the track, of one byte or two, and the time after that of the cluster.
                let skip = if content.first()? & 0x80 == 0 { 2 } else { 1 };
                let after = i16::from_be_bytes(at(content, skip)?);
                last = last.max(cluster.saturating_add_signed(i64::from(after)));
            }
            _ => {}
        }
        place = end;
    }
    if !is_webm || !has_data || !(has_film || has_sound) {
        return None;
    }
    let ticks = declared.max(last as f64);
    let seconds = (ticks > 0.0).then(|| ticks * scale as f64 / 1e9);
    let media_type = if has_film { MediaType::Webm } else { MediaType::WebmSound };
    let size = has_film.then_some((width, height));
    Some(MediaFacts { size, seconds, ..MediaFacts::whole(media_type, place.min(bytes.len())) })
}

/// The id of an element, its length if it has one, and the place of its content.
fn element(bytes: &[u8], place: usize) -> Option<(u32, Option<u64>, usize)> {
    let first = *bytes.get(place)?;
    let of_id = usize::try_from(first.leading_zeros()).ok()? + 1;
    let id = number(bytes.get(place..place.checked_add(of_id).filter(|_| of_id <= 4)?)?)?;
    let place = place + of_id;
    let first = *bytes.get(place)?;
    let of_size = usize::try_from(first.leading_zeros()).ok()? + 1;
    let size = number(bytes.get(place..place.checked_add(of_size).filter(|_| of_size <= 8)?)?)?;
    // The first one-bit is no part of the number; a number of ones alone is none.
    let ones = (1_u64 << (7 * of_size)) - 1;
    let size = Some(size & ones).filter(|size| *size != ones);
    Some((u32::try_from(id).ok()?, size, place + of_size))
}

/// A whole number of up to eight bytes.
fn number(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
}

fn float(bytes: &[u8]) -> Option<f64> {
    match bytes.len() {
        4 => at(bytes, 0).map(|four| f64::from(f32::from_be_bytes(four))),
        8 => at(bytes, 0).map(f64::from_be_bytes),
        _ => None,
    }
    .filter(|number| number.is_finite() && *number >= 0.0)
}
