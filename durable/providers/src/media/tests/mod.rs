//! Answers are built from the makers' documents, which each test names, and read whole and split at each byte.

mod gemini;
mod hostile;
mod openai;
mod video;
mod workers_ai;

use std::rc::Rc;

use wire::http::HttpRequest;
use wire::media::{MediaEvent, MediaFailure, MediaMode, MediaRequest, MediaUsage, Source, in_base64};
use wire::model::ModelErrorKind;

use super::*;

/// A picture as the decoders see one: they do not look into it.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nfir\xff\xff\xff\xff\xff";
const OTHER: &[u8] = b"\xff\xd8\xffsecond one";

fn request(mode: MediaMode) -> MediaRequest {
    MediaRequest::new(mode, "model-1", "A lighthouse.")
}

fn source(media_type: &'static str, bytes: &[u8]) -> Source {
    Source { media_type, bytes: Rc::from(bytes) }
}

type Read = (Vec<MediaEvent>, Result<(), MediaFailure>);

fn read_in(codec: &dyn MediaCodec, request: &MediaRequest, pieces: &[&[u8]]) -> Read {
    let (mut decoder, mut events) = (codec.decoder(request), Vec::new());
    for piece in pieces {
        if let Err(failure) = decoder.feed(piece, &mut events) {
            return (events, Err(failure));
        }
    }
    let end = decoder.finish(&mut events);
    (events, end)
}

/// What an answer says, which is the same wherever it is split.
fn read(codec: &dyn MediaCodec, request: &MediaRequest, body: &[u8]) -> Read {
    let whole = read_in(codec, request, &[body]);
    for at in 0..=body.len() {
        let (one, two) = body.split_at(at);
        assert_eq!(read_in(codec, request, &[one, two]), whole, "split at {at}");
    }
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(read_in(codec, request, &bytes), whole, "byte by byte");
    whole
}

/// The events of a file.
fn file(bytes: &[u8], declared_type: Option<&str>) -> Vec<MediaEvent> {
    let declared_type = declared_type.map(str::to_owned);
    vec![MediaEvent::Begin, MediaEvent::Bytes(bytes.to_vec()), MediaEvent::End { declared_type }]
}

/// The member that a codec refuses.
fn member(encoded: Result<HttpRequest, MediaFailure>) -> &'static str {
    match encoded {
        Err(MediaFailure::Member { member, .. }) => member,
        other => panic!("{other:?}"),
    }
}

/// The kind of a provider's failure, and whether the request may have cost something.
fn kind(failure: MediaFailure) -> (ModelErrorKind, bool) {
    assert!(matches!(failure, MediaFailure::Provider(_)), "{failure:?}");
    (failure.kind(), failure.may_have_cost())
}

fn body(request: &HttpRequest) -> String {
    String::from_utf8(request.body.clone()).unwrap()
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(header, _)| *header == name).map(|(_, value)| value.as_str())
}
