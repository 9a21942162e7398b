use proptest::prelude::*;

use super::*;

const PNG: &[u8] = include_bytes!("samples/picture.png");
const JPEG: &[u8] = include_bytes!("samples/picture.jpg");
const GIF: &[u8] = include_bytes!("samples/picture.gif");
const WEBP: &[u8] = include_bytes!("samples/lossy.webp");
const WAV: &[u8] = include_bytes!("samples/sound.wav");
const MP3: &[u8] = include_bytes!("samples/sound.mp3");
const FILM: &[u8] = include_bytes!("samples/film.mp4");

/// A file, its type, its size, its seconds.
type Sample = (&'static [u8], MediaType, Option<(u32, u32)>, Option<f64>);

/// Real files, which Pillow and FFmpeg wrote, and what these say of them.
const SAMPLES: [Sample; 19] = [
    (PNG, MediaType::Png, Some((20, 30)), None),
    (JPEG, MediaType::Jpeg, Some((20, 30)), None),
    (include_bytes!("samples/progressive.jpg"), MediaType::Jpeg, Some((20, 30)), None),
    (GIF, MediaType::Gif, Some((20, 30)), None),
    (include_bytes!("samples/moving.gif"), MediaType::Gif, Some((20, 30)), None),
    (WEBP, MediaType::Webp, Some((20, 30)), None),
    (include_bytes!("samples/lossless.webp"), MediaType::Webp, Some((20, 30)), None),
    (include_bytes!("samples/moving.webp"), MediaType::Webp, Some((20, 30)), None),
    (WAV, MediaType::Wav, None, Some(0.25)),
    // Seven frames: those of the encoder's own are silent.
    (MP3, MediaType::Mp3, None, Some(0.5)),
    (include_bytes!("samples/opus.ogg"), MediaType::Ogg, None, Some(0.25)),
    (include_bytes!("samples/vorbis.ogg"), MediaType::Ogg, None, Some(0.25)),
    (include_bytes!("samples/sound.flac"), MediaType::Flac, None, Some(0.25)),
    (include_bytes!("samples/sound.m4a"), MediaType::Mp4Sound, None, Some(0.25)),
    (FILM, MediaType::Mp4, Some((32, 16)), Some(0.5)),
    (include_bytes!("samples/pieces.mp4"), MediaType::Mp4, Some((32, 16)), None),
    (include_bytes!("samples/film.webm"), MediaType::Webm, Some((32, 16)), Some(0.5)),
    (include_bytes!("samples/sound.webm"), MediaType::WebmSound, None, Some(0.25)),
    (include_bytes!("samples/live.webm"), MediaType::WebmSound, None, Some(0.25)),
];

/// The bytes with others at a place.
fn with(bytes: &[u8], place: usize, others: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[place..place + others.len()].copy_from_slice(others);
    changed
}

/// The place of a word.
fn place(bytes: &[u8], word: &[u8]) -> usize {
    bytes.windows(word.len()).position(|part| part == word).unwrap()
}

// N-020
#[test]
fn real_files_are_known_by_their_bytes() {
    for (bytes, media_type, size, seconds) in SAMPLES {
        let facts = sniff(bytes).unwrap_or_else(|wrong| panic!("{media_type:?}: {wrong:?}"));
        assert_eq!((facts.media_type, facts.size, facts.bytes), (media_type, size, bytes.len()));
        match (facts.seconds, seconds) {
            (None, None) => {}
            // An encoder adds a little silence.
            (Some(ours), Some(theirs)) => {
                assert!((theirs - 0.03..theirs + 0.22).contains(&ours), "{media_type:?} {ours}")
            }
            other => panic!("{media_type:?}: {other:?}"),
        }
    }
}

#[test]
fn a_picture_that_is_cut_off_is_none() {
    for (bytes, media_type, ..) in SAMPLES.into_iter().filter(|(_, it, ..)| it.kind() == MediaKind::Image) {
        for length in 0..bytes.len() {
            assert!(sniff(&bytes[..length]).is_err(), "{media_type:?} of {length} bytes");
        }
    }
    // A sound that was cut off is a shorter one.
    let whole = sniff(MP3).unwrap();
    let half = sniff(&MP3[..MP3.len() / 2]).unwrap();
    assert!(half.seconds < whole.seconds && half.bytes <= MP3.len() / 2);
}

#[test]
fn a_file_that_is_two_things_loses_the_second() {
    let page = b"<!doctype html><script>alert(1)</script>";
    let archive = b"PK\x03\x04\x14\0\0\0\0\0";
    for bytes in [PNG, JPEG, GIF, WEBP, WAV, MP3] {
        for second in [&page[..], archive] {
            let facts = sniff(&[bytes, second].concat()).unwrap();
            assert_eq!(facts.bytes, bytes.len(), "{:?}", facts.media_type);
        }
    }
    // A script that begins like a GIF, and pages that begin like a picture or hide behind a tag.
    for both in [
        b"GIF89a/*\x0a\x00*/=1;alert(1)//".to_vec(),
        [b"\x89PNG\r\n\x1a\n", &page[..]].concat(),
        [b"\xff\xd8\xff\xe0", &page[..]].concat(),
        [b"ID3\x04\0\0\0\0\0\0", &page[..]].concat(),
        [b"RIFF\xff\xff\xff\xffWAVE", &page[..]].concat(),
    ] {
        assert!(matches!(sniff(&both), Err(NotMedia::Broken(_))), "{:?}", String::from_utf8_lossy(&both));
    }
}

#[test]
fn what_is_no_medium_of_ours_is_unknown() {
    for other in [
        &b""[..],
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
        b"<?xml version=\"1.0\"?><svg/>",
        b"%PDF-1.7",
        b"PK\x03\x04",
        b"\0\0\0\x18xxxxheic",
        b"BM\0\0\0\0",
        b"<html>",
        b"{}",
        b"\xff\xfb\x90\x00 one frame alone",
    ] {
        assert_eq!(sniff(other), Err(NotMedia::Unknown), "{:?}", String::from_utf8_lossy(other));
    }
    // A picture in the boxes of a film.
    let heic = with(FILM, 8, b"heic");
    assert_eq!(sniff(&heic), Err(NotMedia::Broken("MP4")));
}

#[test]
fn a_picture_is_refused_for_what_it_claims() {
    let side = |pixels: u32| pixels.to_be_bytes();
    let sized = |width, height| sniff(&with(PNG, 16, &[side(width), side(height)].concat()));
    assert_eq!(sized(4_096, 8_192).map(|facts| facts.size), Ok(Some((4_096, 8_192))));
    assert_eq!(sized(4_096, 8_193), Err(NotMedia::TooLarge("pixels")));
    assert_eq!(sized(MAX_EDGE, 1).map(|facts| facts.size), Ok(Some((MAX_EDGE, 1))));
    assert_eq!(sized(MAX_EDGE + 1, 1), Err(NotMedia::TooLarge("pixels")));
    assert_eq!(sized(u32::MAX, u32::MAX), Err(NotMedia::TooLarge("pixels")));
    assert_eq!(sized(0, 30), Err(NotMedia::Broken("a picture without pixels")));
    assert_eq!(sized(20, 0), Err(NotMedia::Broken("a picture without pixels")));
    let broken = Err(NotMedia::Broken("PNG"));
    assert_eq!(sniff(&with(PNG, 24, &[7])), broken, "a depth of seven bits");
    assert_eq!(sniff(&with(PNG, 33, &[0x7f, 0xff, 0xff, 0xff])), broken, "a chunk longer than the file");
    assert_eq!(sniff(&with(PNG, 33, &[0xff, 0xff, 0xff, 0xff])), broken, "a chunk longer than any");
    assert_eq!(sniff(&[&PNG[..33], &PNG[PNG.len() - 12..]].concat()), broken, "no pixels");
    assert_eq!(sniff(&[&PNG[..33], &PNG[8..]].concat()), broken, "two heads");
    let frame = place(JPEG, b"\xff\xc0");
    let no_lines = sniff(&with(JPEG, frame + 5, &[0, 0]));
    assert_eq!(no_lines, Err(NotMedia::Broken("a picture without pixels")));
    assert_eq!(
        sniff(&with(JPEG, 4, &[0, 1])),
        Err(NotMedia::Broken("JPEG")),
        "a segment shorter than its length"
    );
    assert_eq!(sniff(&with(WEBP, 4, &[0xff; 4])), Err(NotMedia::Broken("WebP")));
}

#[test]
fn the_lengths_of_a_sound_are_not_believed() {
    let data = place(WAV, b"data") + 4;
    let samples = WAV.len() - data - 4;
    let seconds = |bytes: &[u8]| sniff(bytes).map(|facts| (facts.bytes, facts.seconds));
    let whole = Ok((WAV.len(), Some(samples as f64 / 8_000.0)));
    // A stream does not know its length (OpenAI's and others' have all bits set).
    for false_length in [[0xff; 4], [0xff, 0xff, 0xff, 0x7f]] {
        let false_twice = with(&with(WAV, 4, &false_length), data, &false_length);
        assert_eq!(seconds(&false_twice), whole);
    }
    assert_eq!(seconds(&with(WAV, data, &[8, 0, 0, 0])), Ok((WAV.len(), Some(0.001))), "less than there is");
    let none = with(WAV, data, &[0; 4]);
    assert_eq!(sniff(&none), Err(NotMedia::Broken("WAV")));
    let form = place(WAV, b"fmt ") + 8;
    for (at, wrong) in [(0, [0x55, 0]), (2, [0, 0]), (12, [9, 0]), (14, [0, 0])] {
        assert_eq!(sniff(&with(WAV, form + at, &wrong)), Err(NotMedia::Broken("WAV")), "{at}");
    }
    assert_eq!(sniff(&with(WAV, form + 4, &[0; 4])), Err(NotMedia::Broken("WAV")), "no rate");
    // One sample of a second makes the sound too long, at the limit and beyond.
    let slow = |samples: usize| {
        let mut slow = with(WAV, form + 4, &1_u32.to_le_bytes());
        slow.truncate(data);
        slow.extend_from_slice(&[0xff; 4]);
        slow.resize(data + 4 + samples, 0);
        sniff(&with(&slow, 4, &[0xff; 4])).map(|facts| facts.seconds)
    };
    assert_eq!(slow(3_600), Ok(Some(3_600.0)));
    assert_eq!(slow(3_601), Err(NotMedia::TooLarge("seconds")));
}

#[test]
fn boxes_that_lead_nowhere_end_the_walk() {
    let movie = place(FILM, b"moov") - 4;
    // A box that ends before it begins, one within its own head, and one that goes on forever.
    for length in [1_u32, 4, 7, u32::MAX] {
        assert!(sniff(&with(FILM, movie, &length.to_be_bytes())).is_err(), "{length}");
    }
    let header = place(FILM, b"mvhd") - 4;
    assert!(sniff(&with(FILM, header, &[0; 4])).is_err(), "only the file's last box may go to its end");
    let mut long = b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x01moov".to_vec();
    long.extend_from_slice(&u64::MAX.to_be_bytes());
    assert!(sniff(&long).is_err());
    // Boxes inside of each other go no deeper than they do in a film.
    let mut nested = b"\0\0\0\x10ftypisom\0\0\0\0".to_vec();
    for left in (0..10_000_u32).rev() {
        nested.extend_from_slice(&(8 + left * 8).to_be_bytes());
        nested.extend_from_slice(b"moov");
    }
    assert!(sniff(&nested).is_err());
}

#[test]
fn a_file_has_a_number_of_parts_and_of_bytes() {
    let chunk = b"\0\0\0\0teXt\0\0\0\0";
    let chunks = |count: usize| [&PNG[..33], &chunk.repeat(count), &PNG[33..]].concat();
    let more = MAX_PARTS as usize;
    assert!(sniff(&chunks(more - 10)).is_ok());
    assert_eq!(sniff(&chunks(more)), Err(NotMedia::Broken("PNG")));
    let mut blocks = GIF[..13].to_vec();
    blocks.extend_from_slice(b"\x21\xfe");
    blocks.extend_from_slice(&b"\x01a".repeat(more));
    assert!(sniff(&blocks).is_err());
    // A picture of as many bytes as it may have, and of one more.
    let filled = |bytes: usize| {
        let left = bytes - PNG.len() - 12;
        let head = [&u32::try_from(left).unwrap().to_be_bytes()[..], b"fiLl"].concat();
        sniff(&[&PNG[..33], &head, &vec![0; left + 4], &PNG[33..]].concat()).map(|facts| facts.bytes)
    };
    assert_eq!(filled(MAX_IMAGE_BYTES), Ok(MAX_IMAGE_BYTES));
    assert_eq!(filled(MAX_IMAGE_BYTES + 1), Err(NotMedia::TooLarge("bytes")));
}

#[test]
fn a_recording_without_an_end_is_as_long_as_its_blocks() {
    let live = SAMPLES[18].0;
    for length in 0..live.len() {
        if let Ok(facts) = sniff(&live[..length]) {
            assert!(facts.bytes <= length && facts.seconds.unwrap_or_default() < 0.3);
        }
    }
    assert!(sniff(&with(live, place(live, b"webm"), b"matr")).is_err(), "another kind of the same container");
}

#[test]
fn each_type_has_its_words() {
    let kinds = SAMPLES.map(|(_, media_type, ..)| (media_type.as_str(), media_type.kind()));
    for (name, kind) in kinds {
        let folder = match kind {
            MediaKind::Image => "image/",
            MediaKind::Audio => "audio/",
            MediaKind::Video => "video/",
        };
        assert!(name.starts_with(folder), "{name}");
    }
    assert_eq!((MediaType::Jpeg.ending(), MediaType::WebmSound.ending()), ("jpg", "webm"));
}

proptest! {
    // Whatever the bytes are, the walk ends, and what it says is within the limits.
    #[test]
    fn any_bytes_are_walked(
        sample in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        tail in prop::collection::vec(any::<u8>(), 0..64),
        keep in any::<bool>(),
    ) {
        let mut bytes = SAMPLES[sample].0.to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if !keep {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes.extend(tail);
        if let Ok(facts) = sniff(&bytes) {
            prop_assert!(facts.bytes > 0 && facts.bytes <= bytes.len());
            prop_assert!(facts.seconds.is_none_or(|seconds| (0.0..=MAX_SOUND_SECONDS).contains(&seconds)));
            prop_assert!(facts.size.is_none_or(|(width, height)| u64::from(width) * u64::from(height) <= MAX_PIXELS));
            prop_assert_eq!(facts.size.is_some(), facts.media_type.kind() != MediaKind::Audio);
            // The file without what follows it is the same file.
            let alone = sniff(&bytes[..facts.bytes]).unwrap();
            prop_assert_eq!((alone.media_type, alone.bytes, alone.size), (facts.media_type, facts.bytes, facts.size));
        }
    }
}

// A browser makes a picture as large as its first frame, so a frame beyond the screen would pass the limit of pixels.
#[test]
fn a_frame_stays_within_its_picture() {
    let gif = include_bytes!("samples/moving.gif");
    let frame = gif.windows(10).position(|bytes| bytes.starts_with(&[0x2c, 0, 0, 0, 0])).unwrap();
    let webp = include_bytes!("samples/moving.webp");
    let moving = webp.windows(4).position(|bytes| bytes == b"ANMF").unwrap() + 8;
    for (file, place, name) in [
        (gif.to_vec(), frame + 1, "GIF"),
        (gif.to_vec(), frame + 3, "GIF"),
        (gif.to_vec(), frame + 6, "GIF"),
        (gif.to_vec(), frame + 8, "GIF"),
        (webp.to_vec(), moving, "WebP"),
        (webp.to_vec(), moving + 3, "WebP"),
        (webp.to_vec(), moving + 7, "WebP"),
        (webp.to_vec(), moving + 10, "WebP"),
    ] {
        let mut larger = file;
        larger[place] = 0x7f;
        assert_eq!(sniff(&larger), Err(NotMedia::Broken(name)), "{place}");
    }
}
