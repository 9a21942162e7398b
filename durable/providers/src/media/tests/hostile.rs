//! Answers that mean harm: too long, too deep, files in wrong places.

use proptest::prelude::*;
use wire::media::{MAX_IMAGE_BYTES, PIECE_BYTES};

use super::super::json::{MAX_DROPPED_BYTES, MAX_REST_BYTES};
use super::*;

fn codec() -> OpenAiMedia {
    OpenAiMedia::new("https://a.test/v1", None)
}

/// Feeds `{"data":[{"b64_json":"` and so many bytes of a file, in reads of 100,000 bytes, and the end.
fn large(bytes: usize) -> (usize, usize, Result<(), MediaFailure>) {
    let mut decoder = codec().decoder(&request(MediaMode::Image));
    let (mut sum, mut most_waiting) = (0, 0);
    let mut feed = |bytes: &[u8]| {
        let mut events = Vec::new();
        let fed = decoder.feed(bytes, &mut events);
        let mut pieces = events.iter().filter_map(|event| match event {
            MediaEvent::Bytes(piece) => Some(piece.len()),
            _ => None,
        });
        let in_read: usize = pieces.clone().sum();
        assert!(pieces.all(|piece| piece <= PIECE_BYTES));
        sum += in_read;
        most_waiting = most_waiting.max(in_read);
        fed
    };
    let end = (|| {
        feed(b"{\"data\":[{\"b64_json\":\"")?;
        let text = vec![b'A'; bytes.div_ceil(3) * 4];
        for read in text.chunks(100_000) {
            feed(read)?;
        }
        feed(b"\"}]}")
    })();
    (sum, most_waiting, end)
}

// N-020: a picture is decoded as it arrives, in pieces.
#[test]
fn a_file_is_never_held_whole() {
    let (bytes, most_waiting, end) = large(MAX_IMAGE_BYTES);
    assert_eq!((bytes, end), (MAX_IMAGE_BYTES, Ok(())));
    assert!(most_waiting <= 75_000 + PIECE_BYTES, "{most_waiting}");
    let (bytes, _, end) = large(MAX_IMAGE_BYTES + 3);
    assert!(bytes <= MAX_IMAGE_BYTES);
    assert_eq!(kind(end.unwrap_err()), (ModelErrorKind::ReplyTooLarge, true));
}

#[test]
fn what_is_no_file_has_a_limit() {
    let padded = |more: usize| {
        let answer = format!("{{\"data\":[{{\"b64_json\":\"aGk=\"}}]{}}}", " ".repeat(more));
        let empty = answer.len() - "aGk=".len() - more;
        (answer, empty)
    };
    let (_, empty) = padded(0);
    let read = |more| read_in(&codec(), &request(MediaMode::Image), &[padded(more).0.as_bytes()]).1;
    assert_eq!(read(MAX_REST_BYTES - empty), Ok(()));
    assert_eq!(kind(read(MAX_REST_BYTES - empty + 1).unwrap_err()), (ModelErrorKind::ReplyTooLarge, true));
    // A member that is dropped counts for itself.
    let dropped =
        |bytes: usize| format!("{{\"revised_prompt\":\"{}\",\"b64_json\":\"aGk=\"}}", "x".repeat(bytes));
    let end = |bytes| read_in(&codec(), &request(MediaMode::Image), &[dropped(bytes).as_bytes()]).1;
    assert_eq!(end(MAX_DROPPED_BYTES), Ok(()));
    assert_eq!(kind(end(MAX_DROPPED_BYTES + 1).unwrap_err()), (ModelErrorKind::ReplyTooLarge, true));
    let long = format!("{{\"revised_prompt\":\"{}\\\"\",\"b64_json\":\"aGk=\"}}", "x".repeat(MAX_REST_BYTES));
    let (events, end) = read_in(&codec(), &request(MediaMode::Image), &[long.as_bytes()]);
    assert_eq!((events, end), (file(b"hi", None), Ok(())));
    let deep = "[".repeat(10_000);
    let (_, end) = read_in(&codec(), &request(MediaMode::Image), &[format!("{{\"a\":{deep}").as_bytes()]);
    assert_eq!(kind(end.unwrap_err()), (ModelErrorKind::Protocol, true));
}

#[test]
fn a_file_stands_in_its_member_alone() {
    let read = |answer: &str| read(&codec(), &request(MediaMode::Image), answer.as_bytes());
    for (answer, is_file) in [
        (r#"{"b64_json":"aGk="}"#, true),
        ("{ \"b64_json\" \n:\t \"aGk=\" }", true),
        (r#"{"a":"b64_json","b":"aGk="}"#, false),
        (r#"{"b64_json":["aGk="]}"#, false),
        (r#"{"b64_json":{"a":"aGk="}}"#, false),
        (r#"{"b64_json":null,"a":"aGk="}"#, false),
        (r#"{"a":"\"b64_json\":\"aGk=\""}"#, false),
        (r#"{"B64_JSON":"aGk="}"#, false),
        (r#"["b64_json","aGk="]"#, false),
    ] {
        let (events, end) = read(answer);
        assert_eq!((events.len(), end.is_ok()), (if is_file { 3 } else { 0 }, is_file), "{answer}");
    }
    // What follows a whole answer makes it none.
    let (_, end) = read(r#"{"b64_json":"aGk="} {"b64_json":"aGk="}"#);
    assert!(end.is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_read(
        pieces in prop::collection::vec(
            prop::sample::select(vec!["{", "}", "\"", "\\", "b64_json", ":", "\"b64_json\":\"", "aGk=", ",", "[", "]", "u003d", "\u{e9}", " "]),
            0..24,
        ),
        at in any::<prop::sample::Index>(),
    ) {
        let answer = pieces.concat();
        let (one, two) = answer.as_bytes().split_at(at.index(answer.len() + 1));
        let whole = read_in(&codec(), &request(MediaMode::Image), &[answer.as_bytes()]);
        prop_assert_eq!(read_in(&codec(), &request(MediaMode::Image), &[one, two]), whole);
    }
}
