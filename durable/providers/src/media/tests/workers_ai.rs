//! Cloudflare's documents: <https://developers.cloudflare.com/workers-ai/models/>, a page for each model, and the types
//! of the binding (`@cloudflare/workers-types` 5.20261117.1 on npm).

use wire::media::Format;

use super::*;
use crate::workers_ai::{as_stream, thrown};

fn of(mode: MediaMode, model: &str) -> MediaRequest {
    MediaRequest { model: model.to_owned(), ..request(mode) }
}

fn sent(request: &MediaRequest) -> String {
    let sent = WorkersAiMedia.encode(request).unwrap();
    assert_eq!(sent.url, request.model, "the address is the model's name");
    body(&sent)
}

// N-020
#[test]
fn each_family_has_its_inputs() {
    let flux = of(MediaMode::Image, "@cf/black-forest-labs/flux-1-schnell");
    assert_eq!(sent(&flux), r#"{"prompt":"A lighthouse."}"#);
    let steps = MediaRequest { num_inference_steps: Some(8), ..flux };
    assert_eq!(sent(&steps), r#"{"prompt":"A lighthouse.","steps":8}"#);
    let lucid = MediaRequest {
        width: Some(512),
        height: Some(640),
        ..of(MediaMode::Image, "@cf/leonardo/lucid-origin")
    };
    assert_eq!(sent(&lucid), r#"{"prompt":"A lighthouse.","width":512,"height":640}"#);
    let edit = MediaRequest {
        strength: Some(0.5),
        num_inference_steps: Some(20),
        sources: vec![source("image/png", PICTURE)],
        ..of(MediaMode::ImageEdit, "@cf/lykon/dreamshaper-8-lcm")
    };
    let json = format!(
        r#"{{"prompt":"A lighthouse.","num_steps":20,"strength":0.5,"image_b64":"{}"}}"#,
        in_base64(PICTURE)
    );
    assert_eq!(sent(&edit), json);
    let spoken = MediaRequest {
        voice: Some("luna".to_owned()),
        format: Some(Format::Wav),
        ..of(MediaMode::Audio, "@cf/deepgram/aura-2-en")
    };
    let json = r#"{"text":"A lighthouse.","speaker":"luna","encoding":"linear16","container":"wav"}"#;
    assert_eq!(sent(&spoken), json);
    assert_eq!(sent(&of(MediaMode::Audio, "@cf/myshell-ai/melotts")), r#"{"prompt":"A lighthouse."}"#);
    let heard = MediaRequest {
        prompt: String::new(),
        language: Some("en".to_owned()),
        sources: vec![source("audio/wav", b"RIFF")],
        ..of(MediaMode::Transcription, "@cf/openai/whisper-large-v3-turbo")
    };
    assert_eq!(sent(&heard), r#"{"audio":"UklGRg==","language":"en"}"#);
}

#[test]
fn what_a_model_cannot_make_is_refused_by_its_name() {
    let refused = |request: MediaRequest| member(WorkersAiMedia.encode(&request));
    let flux = || of(MediaMode::Image, "@cf/black-forest-labs/flux-1-schnell");
    assert_eq!(refused(MediaRequest { width: Some(64), height: Some(64), ..flux() }), "width");
    for (model, most) in [
        ("@cf/black-forest-labs/flux-1-schnell", 8),
        ("@cf/leonardo/lucid-origin", 40),
        ("@cf/leonardo/phoenix-1.0", 50),
        ("@cf/stabilityai/stable-diffusion-xl-base-1.0", 20),
    ] {
        let steps =
            |steps| MediaRequest { num_inference_steps: Some(steps), model: model.to_owned(), ..flux() };
        assert!(WorkersAiMedia.encode(&steps(most)).is_ok(), "{model}");
        assert_eq!(refused(steps(most + 1)), "num_inference_steps", "{model}");
    }
    assert_eq!(refused(MediaRequest { variations: Some(2), ..flux() }), "variations");
    assert!(WorkersAiMedia.encode(&MediaRequest { prompt: "a".repeat(2_048), ..flux() }).is_ok());
    assert_eq!(refused(MediaRequest { prompt: "a".repeat(2_049), ..flux() }), "prompt");
    assert_eq!(refused(MediaRequest { mode: MediaMode::Audio, ..flux() }), "mode");
    // Their inputs are streams, which are no JSON.
    for model in ["@cf/black-forest-labs/flux-2-dev", "@cf/deepgram/nova-3", "@cf/openai/whisper", "other"] {
        assert_eq!(refused(of(MediaMode::Image, model)), "model", "{model}");
    }
    let melo = of(MediaMode::Audio, "@cf/myshell-ai/melotts");
    assert_eq!(refused(MediaRequest { format: Some(Format::Mp3), ..melo }), "format");
}

#[test]
fn an_answer_is_a_stream_or_an_object() {
    let flux = of(MediaMode::Image, "@cf/black-forest-labs/flux-1-schnell");
    let read = |request: &MediaRequest, body: &[u8]| super::read(&WorkersAiMedia, request, body);
    assert_eq!(read(&flux, PICTURE), (file(PICTURE, None), Ok(())), "a stream of bytes");
    let object = format!(r#"{{"image":"{}"}}"#, in_base64(PICTURE));
    assert_eq!(read(&flux, object.as_bytes()), (file(PICTURE, None), Ok(())));
    assert_eq!(
        read(&flux, &as_stream(&object)),
        (file(PICTURE, None), Ok(())),
        "as the port of the binding has it"
    );
    let spoken = of(MediaMode::Audio, "@cf/myshell-ai/melotts");
    let sound = as_stream(r#"{"audio":"SUQzBAA="}"#);
    assert_eq!(read(&spoken, &sound), (file(b"ID3\x04\0", None), Ok(())));
    let heard = of(MediaMode::Transcription, "@cf/openai/whisper-large-v3-turbo");
    let answer = as_stream(
        r#"{"transcription_info":{"language":"en","duration":2.5,"duration_after_vad":2.0},"text":"Hello.","word_count":1,
        "segments":[{"start":0.0,"text":"Hello."}],"vtt":"WEBVTT\n\n00:00"}"#,
    );
    let usage = MediaUsage { seconds: 2.5, ..MediaUsage::default() };
    let expected = vec![MediaEvent::Text("Hello.".to_owned()), MediaEvent::Usage(usage)];
    assert_eq!(read(&heard, &answer), (expected, Ok(())));
    for nothing in
        [&b""[..], b"data: null\n\ndata: [DONE]\n\n", &as_stream("{}"), &as_stream(r#"{"image":null}"#)]
    {
        let (events, end) = read(&flux, nothing);
        assert_eq!((events, kind(end.unwrap_err())), (vec![], (ModelErrorKind::Protocol, true)));
    }
}

// The message of a blocked prompt as users of the binding report it.
#[test]
fn an_exception_is_a_refusal() {
    let refusal = |message| {
        let (status, body) = thrown(message);
        WorkersAiMedia.refusal(status, &body)
    };
    let blocked = "AiError: 3030: Input prompt contains NSFW content.";
    assert_eq!(refusal(blocked), MediaFailure::Policy { accepted: false });
    assert_eq!(
        refusal("3040: Capacity temporarily exceeded, please try again.").kind(),
        ModelErrorKind::RateLimited
    );
    assert_eq!(refusal("5007: No such model").kind(), ModelErrorKind::BadRequest);
}
