use proptest::prelude::*;

use super::*;

type Owned = (String, String, String);

fn feed(decoder: &mut SseDecoder, bytes: &[u8], into: &mut Vec<Owned>) -> Result<(), SseError> {
    decoder.feed(bytes, |event| {
        into.push((event.event.into(), event.data.into(), event.last_id.into()));
        Ok(())
    })
}

fn decode(pieces: &[&[u8]], limit: usize) -> (Vec<Owned>, Result<(), SseError>) {
    let mut decoder = SseDecoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(error) = feed(&mut decoder, piece, &mut events) {
            return (events, Err(error));
        }
    }
    (events, Ok(()))
}

fn whole(stream: &[u8]) -> Vec<Owned> {
    let (events, end) = decode(&[stream], 1 << 20);
    assert_eq!(end, Ok(()));
    events
}

fn byte_by_byte(stream: &[u8]) -> Vec<Owned> {
    let pieces: Vec<&[u8]> = stream.chunks(1).collect();
    decode(&pieces, 1 << 20).0
}

fn data(stream: &str) -> Vec<String> {
    assert_eq!(whole(stream.as_bytes()), byte_by_byte(stream.as_bytes()));
    whole(stream.as_bytes()).into_iter().map(|(_, data, _)| data).collect()
}

/// The standard's algorithm, word by word, over the whole stream.
fn reference(stream: &[u8]) -> Vec<Owned> {
    let text = String::from_utf8_lossy(stream.strip_prefix(BOM).unwrap_or(stream)).into_owned();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let Some((lines, _)) = text.rsplit_once('\n') else { return vec![] };
    let (mut event, mut data, mut last_id) = (String::new(), String::new(), String::new());
    let mut events = vec![];
    for line in lines.split('\n') {
        if line.is_empty() {
            if let Some(data) = data.strip_suffix('\n') {
                events.push((event.clone(), data.into(), last_id.clone()));
            }
            event.clear();
            data.clear();
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => event = value.into(),
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            "id" if !value.contains('\0') => last_id = value.into(),
            _ => {}
        }
    }
    events
}

#[test]
fn the_examples_of_the_standard() {
    assert_eq!(data("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
    assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"], "the last block has no blank line");
    assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
    let stream =
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
    let expected = [("first event", "1"), ("second event", ""), (" third event", "")];
    let events = whole(stream.as_bytes());
    assert_eq!(events, expected.map(|(data, id)| (String::new(), data.to_string(), id.to_string())));
}

#[test]
fn line_ends_may_be_mixed_and_cut() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = format!("event: a{end}data: 1{end}data: 2{end}{end}data: 3{end}{end}");
        let expected = [("a", "1\n2"), ("", "3")].map(|(e, d)| (e.into(), d.into(), String::new()));
        assert_eq!(whole(stream.as_bytes()), expected);
        assert_eq!(byte_by_byte(stream.as_bytes()), expected);
    }
    assert_eq!(data("data: 1\r\n\rdata: 2\n\r\n"), ["1", "2"]);
}

#[test]
fn a_cr_completes_an_event_without_waiting_for_the_next_byte() {
    let (events, _) = decode(&[b"data: 1\r\r"], 100);
    assert_eq!(events.len(), 1);
    let (events, _) = decode(&[b"data: 1\r\n\r", b"\ndata: 2\n\n"], 100);
    assert_eq!(events.len(), 2);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_beginning() {
    assert_eq!(data("\u{feff}data: 1\n\n"), ["1"]);
    assert_eq!(data("\u{feff}\u{feff}data: 1\n\ndata: 2\n\n"), ["2"]);
    for prefix in [&b"\xEF"[..], b"\xEF\xBB", b"\xEF\xBBx"] {
        let stream = [prefix, b"data: 1\n\ndata: 2\n\n"].concat();
        assert_eq!(byte_by_byte(&stream), [(String::new(), "2".into(), String::new())]);
    }
}

#[test]
fn ids_with_a_null_and_unknown_fields_are_ignored() {
    let events = whole(b"id: 7\nretry: 10\nnonsense\nDATA: x\ndata: 1\n\nid: \0\ndata: 2\n\n");
    assert_eq!(events, [("1", "7"), ("2", "7")].map(|(d, i)| (String::new(), d.into(), i.into())));
}

#[test]
fn characters_may_be_cut_and_broken_ones_are_replaced() {
    assert_eq!(data("data: grüße 🌍\n\n"), ["grüße 🌍"]);
    assert_eq!(whole(b"data: a\xF0\x9F\n\n")[0].1, "a\u{fffd}");
    assert_eq!(byte_by_byte(b"data: a\xF0\x9F\n\n")[0].1, "a\u{fffd}");
}

#[test]
fn too_large_is_an_error_however_it_comes() {
    let long = format!("data: ok\n\ndata: {}\n\ndata: never\n\n", "x".repeat(100));
    let many = format!("data: ok\n\n{}\ndata: never\n\n", "data: 12345678\n".repeat(8));
    let comment = format!("data: ok\n\n:{}\ndata: never\n\n", "x".repeat(100));
    let endless = format!("data: ok\n\n{}", "x".repeat(100));
    for stream in [long, many, comment, endless] {
        for size in [1, 7, 1000] {
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
            let (events, end) = decode(&pieces, 64);
            assert_eq!(end, Err(SseError::TooLarge), "{stream}");
            assert_eq!(events.len(), 1);
        }
    }
}

#[test]
fn the_callers_error_ends_the_reading() {
    #[derive(Debug, PartialEq)]
    struct Enough;
    impl From<SseError> for Enough {
        fn from(_: SseError) -> Self {
            Enough
        }
    }
    let mut seen = 0;
    let end = SseDecoder::new(100).feed(b"data: 1\n\ndata: 2\n\n", |_| {
        seen += 1;
        Err(Enough)
    });
    assert_eq!((end, seen), (Err(Enough), 1));
}

/// Bytes that are likely to mean something to the decoder.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 18] = [
        b"data: ",
        b"data:",
        b"data",
        b"event: ",
        b"id: ",
        b":",
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b" ",
        b"x",
        b"\0",
        "ü🌍".as_bytes(),
        b"\xEF\xBB\xBF",
        b"\xEF\xBB",
        b"\x9F",
    ];
    let piece = prop::sample::select(pieces.to_vec());
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_events_of_the_standard(stream in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.push(stream.len());
        cuts.sort_unstable();
        let mut from = 0;
        let pieces: Vec<&[u8]> = cuts.iter().map(|&to| &stream[std::mem::replace(&mut from, to)..to]).collect();
        prop_assert_eq!(decode(&pieces, 1 << 20).0, reference(&stream));
        prop_assert_eq!(whole(&stream), reference(&stream));
        prop_assert_eq!(byte_by_byte(&stream), reference(&stream));
    }

    #[test]
    fn random_bytes_never_panic(stream in prop::collection::vec(any::<u8>(), 0..300), limit in 0usize..64) {
        let pieces: Vec<&[u8]> = stream.chunks(5).collect();
        let _ = decode(&pieces, limit);
        prop_assert_eq!(whole(&stream), reference(&stream));
    }
}

#[test]
fn a_stream_says_where_and_when_it_goes_on() {
    let after = |stream: &[u8]| {
        let mut split = SseDecoder::new(100);
        for byte in stream.chunks(1) {
            feed(&mut split, byte, &mut Vec::new()).unwrap();
        }
        let mut whole = SseDecoder::new(100);
        feed(&mut whole, stream, &mut Vec::new()).unwrap();
        let said = |decoder: &SseDecoder| (decoder.resumes_after().to_owned(), decoder.retry_ms());
        assert_eq!(said(&split), said(&whole));
        said(&whole)
    };
    assert_eq!(after(b"data: 1\n\n"), (String::new(), None));
    assert_eq!(after(b"id: 7\nretry: 250\n\n"), ("7".to_owned(), Some(250)));
    // An event without its blank line did not arrive.
    assert_eq!(after(b"id: 7\n\nid: 8\ndata: 1\n"), ("7".to_owned(), None));
    assert_eq!(after(b"id: 7\n\nid:\n\n"), (String::new(), None));
    for nonsense in ["", "-1", "1.5", "x", "99999999999999999999", "+1"] {
        assert_eq!(after(format!("retry: {nonsense}\n\n").as_bytes()).1, None);
    }
}
