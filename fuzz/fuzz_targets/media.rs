//! Files by their bytes, and the answers of providers that make media, through each codec: any split gives the same
//! events. The second byte decides between the bytes as they are and an answer with a file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use providers::media::{GeminiMedia, MediaCodec, OpenAiMedia, WorkersAiMedia};
use wire::media::sniff::sniff;
use wire::media::{MediaEvent, MediaFailure, MediaMode, MediaRequest};

fn codecs() -> Vec<Box<dyn MediaCodec>> {
    let url = "https://media.example/v1";
    vec![
        Box::new(OpenAiMedia::new(url, None)),
        Box::new(GeminiMedia::new(url, None)),
        Box::new(WorkersAiMedia),
    ]
}

fn read<'a>(
    codec: &dyn MediaCodec,
    mode: MediaMode,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<MediaEvent>, Result<(), MediaFailure>) {
    let request = MediaRequest { variations: Some(2), ..MediaRequest::new(mode, "fuzz", "fuzz") };
    let (mut decoder, mut events) = (codec.decoder(&request), Vec::new());
    for piece in pieces {
        if let Err(failure) = decoder.feed(piece, &mut events) {
            return (events, Err(failure));
        }
    }
    let end = decoder.finish(&mut events);
    (events, end)
}

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = espalier_fuzz::split(data) else { return };
    let Some((form, rest)) = rest.split_first() else { return };
    if let Ok(facts) = sniff(rest) {
        let alone = sniff(&rest[..facts.bytes]).expect("the file without what follows it");
        assert_eq!((alone.media_type, alone.bytes), (facts.media_type, facts.bytes));
    }
    let answer = match form % 4 {
        0 => rest.to_vec(),
        1 => [b"{\"data\":[{\"b64_json\":\"", rest, b"\"}]}"].concat(),
        2 => [b"{\"inlineData\":{\"mimeType\":\"audio/L16\",\"data\":\"", rest, b"\"}}"].concat(),
        _ => [b"data: {\"image\":\"", rest, b"\"}\n\ndata: [DONE]\n\n"].concat(),
    };
    for codec in codecs() {
        for mode in MediaMode::ALL {
            let whole = read(&*codec, mode, std::iter::once(&answer[..]));
            assert_eq!(read(&*codec, mode, answer.chunks(length)), whole);
        }
        let _ = codec.refusal(400 + u16::from(*form), rest);
        let _ = codec.job_state(rest);
    }
});
