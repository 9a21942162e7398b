//! The stream of a provider, through each codec: any split gives the same events, and the reply repeats the announced
//! text. The second byte decides between the bytes as they are and one event a line, which reaches deeper.

#![no_main]

use std::rc::Rc;

use wire::model::{ModelChoice, ModelError, ModelEvent, ModelRequest};
use providers::Codec;
use providers::anthropic::Anthropic;
use providers::gemini::Gemini;
use providers::openai_chat::OpenAiChat;
use providers::openai_responses::OpenAiResponses;
use providers::workers_ai::WorkersAi;
use libfuzzer_sys::fuzz_target;

/// The codecs of all providers.
fn codecs() -> Vec<Box<dyn Codec>> {
    let url = "https://llm.example/v1";
    vec![
        Box::new(OpenAiChat::new(url, None)),
        Box::new(OpenAiResponses::new(url, None)),
        Box::new(Anthropic::new(url, None)),
        Box::new(Gemini::new(url, None)),
        Box::new(WorkersAi),
    ]
}

fn request() -> ModelRequest {
    ModelRequest::new(Rc::new(ModelChoice::new("fuzz", "fuzz")), "".into())
}

/// Joins texts, since the network decides where they are cut.
fn read<'a>(
    codec: &dyn Codec,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<ModelEvent>, Result<(), ModelError>) {
    let (mut decoder, mut events) = (codec.decoder(&request()), Vec::new());
    let mut result = Ok(());
    for piece in pieces {
        result = decoder.feed(piece, &mut events);
        if result.is_err() {
            break;
        }
    }
    let result = result.and_then(|()| decoder.finish(&mut events));
    let mut joined: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(ModelEvent::Text(last)), ModelEvent::Text(more))
            | (Some(ModelEvent::Reasoning(last)), ModelEvent::Reasoning(more)) => last.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    (joined, result)
}

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = espalier_fuzz::split(data) else { return };
    let Some((mode, rest)) = rest.split_first() else { return };
    let stream = match mode % 2 {
        0 => rest.to_vec(),
        _ => rest.split(|byte| *byte == b'\n').flat_map(|line| [b"data: ", line, b"\n\n"].concat()).collect(),
    };
    for codec in codecs() {
        let whole = read(&*codec, std::iter::once(&stream[..]));
        assert_eq!(read(&*codec, stream.chunks(length)), whole);
        let ends = whole.0.iter().filter(|event| matches!(event, ModelEvent::Finished(_))).count();
        assert_eq!(ends, usize::from(whole.1.is_ok()), "a reply is complete once, or it is an error");
        if let Some(ModelEvent::Finished(reply)) = whole.0.last() {
            let texts = whole.0.iter().filter_map(|event| match event {
                ModelEvent::Text(text) => Some(text.as_str()),
                ModelEvent::Reasoning(_) | ModelEvent::Finished(_) => None,
            });
            assert_eq!(texts.collect::<String>(), reply.text);
        }
        // A refusal's body is foreign as well.
        let _ = codec.refusal(400 + u16::from(*mode), rest);
    }
});
