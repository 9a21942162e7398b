//! WAV (<https://learn.microsoft.com/windows/win32/multimedia/resource-interchange-file-format-services>), MP3
//! (<https://www.iso.org/standard/22412.html>; tags: <https://id3.org/id3v2.4.0-structure>), Ogg
//! (<https://www.rfc-editor.org/rfc/rfc3533>; Opus: <https://www.rfc-editor.org/rfc/rfc7845>) and FLAC
//! (<https://www.rfc-editor.org/rfc/rfc9639>).

use super::{MediaFacts, MediaType, Parts, at, be32, le16, le32};

/// The most samples of a second.
const MAX_RATE: u32 = 384_000;
/// The frames that an MP3 has at least: fewer may be anything.
const MIN_FRAMES: u32 = 2;

fn sound(media_type: MediaType, bytes: usize, seconds: Option<f64>) -> Option<MediaFacts> {
    Some(MediaFacts { seconds, ..MediaFacts::whole(media_type, bytes) })
}

/// The lengths in a WAV are not believed: those who write one as a stream do not know them. Its samples end where the
/// bytes end, at the latest.
pub(super) fn wav(bytes: &[u8]) -> Option<MediaFacts> {
    let declared = usize::try_from(le32(bytes, 4)?).ok()?.saturating_add(8);
    let end = if declared < 12 { bytes.len() } else { declared.min(bytes.len()) };
    let (mut place, mut parts) = (12, Parts::new());
    let mut second: Option<u64> = None;
    loop {
        parts.next()?;
        let kind: [u8; 4] = at(bytes, place)?;
        let length = usize::try_from(le32(bytes, place + 4)?).ok()?;
        let from = place + 8;
        match &kind {
            b"fmt " => {
                let [form, channels] = [le16(bytes, from)?, le16(bytes, from + 2)?];
                let [frame, depth] = [le16(bytes, from + 12)?, le16(bytes, from + 14)?];
                let rate = le32(bytes, from + 4)?;
                // PCM, floating point, A-law, µ-law, and PCM with more words.
                let has_form = matches!(form, 1 | 3 | 6 | 7 | 0xfffe);
                let fits = (1..=32).contains(&channels)
                    && (1..=MAX_RATE).contains(&rate)
                    && depth > 0
                    && frame == channels * depth.div_ceil(8);
                if !has_form || !fits {
                    return None;
                }
                second = Some(u64::from(rate) * u64::from(frame));
            }
            b"data" => {
                let samples = length.min(end.checked_sub(from)?);
                let seconds = samples as f64 / second? as f64;
                let is_last = samples < length;
                let bytes = if is_last { from + samples } else { end };
                return (samples > 0).then(|| sound(MediaType::Wav, bytes, Some(seconds)))?;
            }
            _ => {}
        }
        place = from.checked_add(length)?.checked_add(length % 2)?;
    }
}

/// A frame of an MP3: its bytes, its samples, and the samples of a second.
fn frame(bytes: &[u8], place: usize) -> Option<(usize, u32, u32)> {
    const RATES: [u32; 3] = [44_100, 48_000, 32_000];
    const KILOBITS: [[u32; 14]; 2] = [
        [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ];
    let [0xff, version, form]: [u8; 3] = at(bytes, place)? else { return None };
    // Layer III of MPEG 1, 2 or 2.5.
    if version & 0xe6 != 0xe2 {
        return None;
    }
    let (slower, table) = match (version >> 3) & 3 {
        3 => (1, 0),
        2 => (2, 1),
        0 => (4, 1),
        _ => return None,
    };
    let rate = RATES.get(usize::from((form >> 2) & 3))? / slower;
    let kilobits = KILOBITS.get(table)?.get(usize::from(form >> 4).checked_sub(1)?)?;
    let samples = if table == 0 { 1_152 } else { 576 };
    let filling = u32::from((form >> 1) & 1);
    let length = samples / 8 * kilobits * 1_000 / rate + filling;
    Some((usize::try_from(length).ok()?, samples, rate))
}

/// Whether the bytes begin with a frame and go on with another.
pub(super) fn is_mp3(bytes: &[u8]) -> bool {
    frame(bytes, 0).and_then(|(length, ..)| frame(bytes, length)).is_some()
}

pub(super) fn mp3(bytes: &[u8]) -> Option<MediaFacts> {
    let mut place = match bytes {
        [b'I', b'D', b'3', _, _, flags, one, two, three, four, ..] => {
            let digits = [one, two, three, four];
            if digits.iter().any(|digit| **digit > 0x7f) {
                return None;
            }
            let length = digits.iter().fold(0_usize, |length, digit| (length << 7) | usize::from(**digit));
            10 + length + if flags & 0x10 == 0 { 0 } else { 10 }
        }
        _ => 0,
    };
    // Frames are small, and a file of them has no other parts: the bytes bound their number.
    let (mut frames, mut seconds) = (0_u32, 0.0);
    while let Some((length, samples, rate)) = frame(bytes, place) {
        let Some(end) = place.checked_add(length).filter(|end| *end <= bytes.len()) else { break };
        seconds += f64::from(samples) / f64::from(rate);
        (place, frames) = (end, frames.saturating_add(1));
    }
    (frames >= MIN_FRAMES).then(|| sound(MediaType::Mp3, place, Some(seconds)))?
}

pub(super) fn ogg(bytes: &[u8]) -> Option<MediaFacts> {
    let (mut place, mut parts) = (0, Parts::new());
    // The samples of a second, and those that are left out at the beginning.
    let mut form: Option<(u32, u64)> = None;
    let mut granule = 0;
    while let Some(page) = bytes.get(place..).filter(|page| page.starts_with(b"OggS\0")) {
        parts.next()?;
        let [flags]: [u8; 1] = at(page, 5)?;
        let position = u64::from_le_bytes(at(page, 6)?);
        let [segments]: [u8; 1] = at(page, 26)?;
        let Some(table) = page.get(27..27 + usize::from(segments)) else { break };
        let from = 27 + usize::from(segments);
        let length = table.iter().map(|length| usize::from(*length)).sum::<usize>();
        let Some(packet) = page.get(from..from + length) else { break };
        // One stream of sound begins the file, and nothing else begins after it.
        match (flags & 2 != 0, form) {
            (true, None) => form = Some(ogg_form(packet)?),
            (false, Some(_)) => {}
            _ => return None,
        }
        if position != u64::MAX {
            granule = position;
        }
        place += from + length;
    }
    let (rate, skipped) = form?;
    let seconds = granule.saturating_sub(skipped) as f64 / f64::from(rate);
    sound(MediaType::Ogg, place, Some(seconds))
}

fn ogg_form(packet: &[u8]) -> Option<(u32, u64)> {
    if packet.starts_with(b"OpusHead") {
        // Opus always counts 48,000 samples a second.
        return Some((48_000, u64::from(le16(packet, 10)?)));
    }
    let rate = packet.starts_with(b"\x01vorbis").then(|| le32(packet, 12))??;
    (1..=MAX_RATE).contains(&rate).then_some((rate, 0))
}

pub(super) fn flac(bytes: &[u8]) -> Option<MediaFacts> {
    let (mut place, mut parts) = (4, Parts::new());
    let mut seconds = None;
    loop {
        parts.next()?;
        let head = be32(bytes, place)?;
        let length = usize::try_from(head & 0xff_ffff).ok()?;
        let is_info = (head >> 24) & 0x7f == 0;
        if is_info != (place == 4) || (is_info && length != 34) {
            return None;
        }
        if is_info {
            let facts = u64::from_be_bytes(at(bytes, place + 14)?);
            let rate = u32::try_from(facts >> 44).ok()?;
            let samples = facts & 0xf_ffff_ffff;
            if !(1..=MAX_RATE).contains(&rate) {
                return None;
            }
            seconds = (samples > 0).then(|| samples as f64 / f64::from(rate));
        }
        place = place.checked_add(4)?.checked_add(length)?;
        if head >> 31 == 1 {
            // A frame follows.
            let [0xff, 0xf8 | 0xf9] = at(bytes, place)? else { return None };
            return sound(MediaType::Flac, bytes.len(), seconds);
        }
    }
}
