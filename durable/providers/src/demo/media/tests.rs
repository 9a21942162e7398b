use std::rc::Rc;

use wire::media::Source;
use wire::media::sniff::{MediaType, sniff};

use super::*;

fn request(mode: MediaMode) -> MediaRequest {
    MediaRequest::new(mode, "demo", "A lighthouse at night.")
}

fn files(request: &MediaRequest) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for event in make(request).unwrap() {
        match event {
            MediaEvent::Begin => files.push(Vec::new()),
            MediaEvent::Bytes(piece) => {
                assert!((1..=PIECE_BYTES).contains(&piece.len()));
                files.last_mut().unwrap().extend(piece);
            }
            MediaEvent::End { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    files
}

/// The pixels of a PNG of ours: its places in the palette, row by row.
fn pixels(png: &[u8]) -> Vec<Vec<u8>> {
    let (mut chunks, mut place, mut stream) = (Vec::new(), 8, Vec::new());
    while place < png.len() {
        let length = u32::from_be_bytes(png[place..place + 4].try_into().unwrap()) as usize;
        let body = &png[place + 4..place + 8 + length];
        let sum = u32::from_be_bytes(png[place + 8 + length..place + 12 + length].try_into().unwrap());
        assert_eq!(sum, !png::crc(body, u32::MAX));
        chunks.push(String::from_utf8(body[..4].to_vec()).unwrap());
        if &body[..4] == b"IDAT" {
            stream = body[4..].to_vec();
        }
        place += 12 + length;
    }
    assert_eq!(chunks, ["IHDR", "PLTE", "IDAT", "IEND"]);
    assert_eq!(&stream[..2], [0x78, 0x01]);
    let (mut bytes, mut place, mut is_last) = (Vec::new(), 2, false);
    while !is_last {
        is_last = stream[place] == 1;
        let length = u16::from_le_bytes([stream[place + 1], stream[place + 2]]);
        assert_eq!(!length, u16::from_le_bytes([stream[place + 3], stream[place + 4]]));
        bytes.extend_from_slice(&stream[place + 5..place + 5 + usize::from(length)]);
        place += 5 + usize::from(length);
    }
    assert_eq!(stream[place..], png::adler(&bytes).to_be_bytes());
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap()) as usize;
    bytes.chunks(width + 1).map(|row| row[1..].to_vec()).collect()
}

// N-020
#[test]
fn the_demo_makes_a_picture_of_its_prompt() {
    let one = files(&request(MediaMode::Image));
    assert_eq!(one, files(&request(MediaMode::Image)), "the same request gets the same picture");
    let facts = sniff(&one[0]).unwrap();
    assert_eq!((facts.media_type, facts.size, facts.bytes), (MediaType::Png, Some((256, 256)), one[0].len()));
    let rows = pixels(&one[0]);
    assert_eq!((rows.len(), rows[0].len()), (256, 256));
    let levels: std::collections::BTreeSet<u8> = rows.concat().into_iter().collect();
    assert!(levels.len() > 100, "a picture of {} colours", levels.len());
    let sized =
        MediaRequest { width: Some(512), height: Some(3), variations: Some(8), ..request(MediaMode::Image) };
    let eight = files(&sized);
    assert_eq!(eight.iter().map(|png| sniff(png).unwrap().size).collect::<Vec<_>>(), [Some((512, 3)); 8]);
    let different: std::collections::BTreeSet<&Vec<u8>> = eight.iter().collect();
    assert_eq!(different.len(), 8);
    let large = MediaRequest { width: Some(512), height: Some(512), ..request(MediaMode::Image) };
    assert_eq!(pixels(&files(&large)[0]).len(), 512, "more than one block");
    let source = |bytes: &[u8]| Source { media_type: "image/png", bytes: Rc::from(bytes) };
    let edit = |bytes| MediaRequest { sources: vec![source(bytes)], ..request(MediaMode::ImageEdit) };
    assert_ne!(files(&edit(b"a")), files(&edit(b"b")));
}

// The checksums that the standards give as examples: of "123456789", and of "Wikipedia" in the encyclopedia of that name.
#[test]
fn checksums_are_those_of_the_standards() {
    assert_eq!(!png::crc(b"123456789", u32::MAX), 0xcbf4_3926);
    assert_eq!(png::adler(b"Wikipedia"), 0x11e6_0398);
}

#[test]
fn the_demo_speaks_in_tones() {
    let [wav] = &files(&request(MediaMode::Audio))[..] else { panic!("one file") };
    let facts = sniff(wav).unwrap();
    assert_eq!((facts.media_type, facts.seconds, facts.bytes), (MediaType::Wav, Some(0.5), wav.len()));
    assert!(wav[44..].iter().max() > Some(&180) && wav[44..].iter().min() < Some(&80));
    let long = MediaRequest { prompt: "word ".repeat(900), ..request(MediaMode::Audio) };
    assert_eq!(sniff(&files(&long)[0]).unwrap().seconds, Some(5.0));
}

#[test]
fn the_demo_refuses_what_it_cannot_make() {
    let member = |request: &MediaRequest| match make(request) {
        Err(MediaFailure::Member { member, .. }) => member,
        other => panic!("{other:?}"),
    };
    let image = || request(MediaMode::Image);
    assert_eq!(member(&MediaRequest { width: Some(513), height: Some(1), ..image() }), "width");
    assert_eq!(member(&MediaRequest { quality: Some("high".to_owned()), ..image() }), "quality");
    assert_eq!(member(&MediaRequest { format: Some(Format::Webp), ..image() }), "format");
    assert_eq!(member(&MediaRequest { format: Some(Format::Mp3), ..request(MediaMode::Audio) }), "format");
    assert_eq!(member(&request(MediaMode::Video)), "mode");
    let heard = make(&request(MediaMode::Transcription)).unwrap();
    let text = "The demo understands no speech. The recording has 0 bytes.";
    assert_eq!(heard, [MediaEvent::Text(text.to_owned())]);
}
