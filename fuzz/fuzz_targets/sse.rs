//! The decoder of server-sent events: any split gives the same events, and the same error where there is one.

#![no_main]

use wire::sse::{SseDecoder, SseError};
use libfuzzer_sys::fuzz_target;

/// Small, so that lines beyond it are found.
const LIMIT: usize = 256;

type Read = (Vec<[String; 3]>, Result<(), SseError>);

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let (mut decoder, mut events) = (SseDecoder::new(LIMIT), Vec::new());
    for piece in pieces {
        let fed = decoder.feed::<SseError>(piece, |event| {
            // The limit counts bytes as they arrive: an invalid byte becomes a character of three bytes.
            assert!(event.data.len() <= 3 * LIMIT);
            events.push([event.event, event.data, event.last_id].map(str::to_owned));
            Ok(())
        });
        if fed.is_err() {
            return (events, fed);
        }
    }
    (events, Ok(()))
}

fuzz_target!(|data: &[u8]| {
    let Some((length, stream)) = espalier_fuzz::split(data) else { return };
    assert_eq!(read(stream.chunks(length)), read(std::iter::once(stream)));
});
