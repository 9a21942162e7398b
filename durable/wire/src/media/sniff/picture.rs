//! PNG (<https://www.w3.org/TR/png-3/>), JPEG (<https://www.w3.org/Graphics/JPEG/itu-t81.pdf>), GIF
//! (<https://www.w3.org/Graphics/GIF/spec-gif89a.txt>) and WebP
//! (<https://developers.google.com/speed/webp/docs/riff_container>).

use memchr::memchr;

use super::{MediaFacts, MediaType, Parts, at, be16, be32, le16, le24, le32};

/// The file is a picture of this size that ends here.
fn picture(media_type: MediaType, bytes: usize, width: u32, height: u32) -> Option<MediaFacts> {
    Some(MediaFacts { size: Some((width, height)), ..MediaFacts::whole(media_type, bytes) })
}

pub(super) fn png(bytes: &[u8]) -> Option<MediaFacts> {
    let (mut place, mut parts) = (8, Parts::new());
    let (mut size, mut has_pixels) = (None, false);
    loop {
        parts.next()?;
        let length = be32(bytes, place)?;
        let kind: [u8; 4] = at(bytes, place + 4)?;
        // A length is at most 2³¹ − 1, and a checksum follows the chunk.
        let end = place.checked_add(12)?.checked_add(usize::try_from(length).ok()?)?;
        if length > i32::MAX as u32 || end > bytes.len() || !kind.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        match (&kind, size) {
            (b"IHDR", None) => {
                let [depth, colour, compression, filter, interlace]: [u8; 5] = at(bytes, place + 16)?;
                let has_form = matches!(
                    (colour, depth),
                    (0, 1 | 2 | 4 | 8 | 16) | (2 | 4 | 6, 8 | 16) | (3, 1 | 2 | 4 | 8)
                );
                if length != 13 || !has_form || compression != 0 || filter != 0 || interlace > 1 {
                    return None;
                }
                size = Some((be32(bytes, place + 8)?, be32(bytes, place + 12)?));
            }
            (b"IHDR", _) | (_, None) => return None,
            (b"IDAT", _) => has_pixels = true,
            (b"IEND", Some((width, height))) => {
                let is_whole = has_pixels && length == 0;
                return is_whole.then(|| picture(MediaType::Png, end, width, height))?;
            }
            _ => {}
        }
        place = end;
    }
}

pub(super) fn jpeg(bytes: &[u8]) -> Option<MediaFacts> {
    let (mut place, mut parts) = (2, Parts::new());
    let (mut size, mut has_scan) = (None, false);
    loop {
        parts.next()?;
        let [0xff, marker] = at(bytes, place)? else { return None };
        match marker {
            // A filling byte.
            0xff => {
                place += 1;
                continue;
            }
            0xd9 => {
                let (width, height) = size.filter(|_| has_scan)?;
                return picture(MediaType::Jpeg, place + 2, width, height);
            }
            // Markers without a length stand in scans alone.
            0x00 | 0x01 | 0xd0..=0xd8 => return None,
            _ => {}
        }
        let length = be16(bytes, place + 2)?;
        let end = place.checked_add(2)?.checked_add(usize::try_from(length).ok()?)?;
        if length < 2 || end > bytes.len() {
            return None;
        }
        match marker {
            // The size of the frame; the four left out are tables.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                if size.is_some() {
                    return None;
                }
                size = Some((be16(bytes, place + 7)?, be16(bytes, place + 5)?));
            }
            0xda => {
                has_scan = true;
                place = after_scan(bytes, end)?;
                continue;
            }
            _ => {}
        }
        place = end;
    }
}

/// The place of the next marker that does not belong to the data of a scan.
fn after_scan(bytes: &[u8], mut place: usize) -> Option<usize> {
    loop {
        place = place.checked_add(memchr(0xff, bytes.get(place..)?)?)?;
        match bytes.get(place + 1)? {
            0x00 | 0xd0..=0xd7 => place += 2,
            0xff => place += 1,
            _ => return Some(place),
        }
    }
}

pub(super) fn gif(bytes: &[u8]) -> Option<MediaFacts> {
    let (width, height) = (le16(bytes, 6)?, le16(bytes, 8)?);
    let [flags]: [u8; 1] = at(bytes, 10)?;
    let mut place = 13 + colours(flags);
    let (mut parts, mut has_pixels) = (Parts::new(), false);
    loop {
        parts.next()?;
        match bytes.get(place)? {
            0x21 => place = after_blocks(bytes, place + 2, &mut parts)?,
            0x2c => {
                let [left, top, across, down] = [
                    le16(bytes, place + 1)?,
                    le16(bytes, place + 3)?,
                    le16(bytes, place + 5)?,
                    le16(bytes, place + 7)?,
                ];
                // A browser would make the picture larger for such a frame.
                if left + across > width || top + down > height {
                    return None;
                }
                let [flags]: [u8; 1] = at(bytes, place + 9)?;
                let codes = place + 10 + colours(flags);
                if !(2..=8).contains(bytes.get(codes)?) {
                    return None;
                }
                has_pixels = true;
                place = after_blocks(bytes, codes + 1, &mut parts)?;
            }
            0x3b if has_pixels => return picture(MediaType::Gif, place + 1, width, height),
            _ => return None,
        }
    }
}

/// The bytes of a table of colours.
fn colours(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// The place behind blocks that begin with their length; the last one has none.
fn after_blocks(bytes: &[u8], mut place: usize, parts: &mut Parts) -> Option<usize> {
    loop {
        parts.next()?;
        let length = usize::from(*bytes.get(place)?);
        place += 1 + length;
        if length == 0 {
            return Some(place);
        }
    }
}

pub(super) fn webp(bytes: &[u8]) -> Option<MediaFacts> {
    let end = usize::try_from(le32(bytes, 4)?).ok()?.checked_add(8)?;
    let bytes = bytes.get(..end)?;
    let (mut place, mut parts) = (12, Parts::new());
    let (mut size, mut has_pixels) = (None, false);
    while place < end {
        parts.next()?;
        let kind: [u8; 4] = at(bytes, place)?;
        let length = usize::try_from(le32(bytes, place + 4)?).ok()?;
        let from = place + 8;
        let chunk = bytes.get(from..from.checked_add(length)?)?;
        match &kind {
            b"VP8X" => {
                size = Some((le24(chunk, 4)? + 1, le24(chunk, 7)? + 1));
            }
            b"VP8 " => {
                let [0x9d, 0x01, 0x2a] = at(chunk, 3)? else { return None };
                size = size.or(Some((le16(chunk, 6)? & 0x3fff, le16(chunk, 8)? & 0x3fff)));
                has_pixels = true;
            }
            b"VP8L" => {
                let [0x2f] = at(chunk, 0)? else { return None };
                let sides = le32(chunk, 1)?;
                size = size.or(Some(((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1)));
                has_pixels = true;
            }
            b"ANMF" => {
                let (width, height) = size?;
                let right = le24(chunk, 0)? * 2 + le24(chunk, 6)? + 1;
                if right > width || le24(chunk, 3)? * 2 + le24(chunk, 9)? + 1 > height {
                    return None;
                }
                has_pixels = true;
            }
            _ => {}
        }
        // A chunk of odd length has a byte of filling.
        place = from + length + length % 2;
    }
    let (width, height) = size.filter(|_| has_pixels && place == end)?;
    picture(MediaType::Webp, end, width, height)
}
