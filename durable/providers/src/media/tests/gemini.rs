//! Google's documents: <https://ai.google.dev/gemini-api/docs/image-generation>,
//! <https://ai.google.dev/api/generate-content>.

use wire::media::Format;
use wire::redact::Secret;

use super::*;

pub(super) fn gemini() -> GeminiMedia {
    GeminiMedia::new("https://generativelanguage.googleapis.com", Some(Secret::new("key-1".to_owned())))
}

// N-020
#[test]
fn a_picture_is_asked_for() {
    let request = MediaRequest {
        aspect_ratio: Some("16:9".to_owned()),
        resolution: Some("2K".to_owned()),
        max_output_tokens: Some(5_000),
        ..request(MediaMode::Image)
    };
    let sent = gemini().encode(&request).unwrap();
    assert_eq!(sent.url, "https://generativelanguage.googleapis.com/v1beta/models/model-1:generateContent");
    assert_eq!(header(&sent, "x-goog-api-key"), Some("key-1"));
    let json = r#"{"contents":[{"role":"user","parts":[{"text":"A lighthouse."}]}],"generationConfig":{"responseModalities":["IMAGE"],"imageConfig":{"aspectRatio":"16:9","imageSize":"2K"},"maxOutputTokens":5000}}"#;
    assert_eq!(body(&sent), json);
    let sources = vec![source("image/png", PICTURE), source("image/jpeg", OTHER)];
    let sent = gemini().encode(&MediaRequest { sources, ..super::request(MediaMode::ImageEdit) }).unwrap();
    let [one, two] = [PICTURE, OTHER].map(in_base64);
    let parts = format!(
        r#"{{"inlineData":{{"mimeType":"image/png","data":"{one}"}}}},{{"inlineData":{{"mimeType":"image/jpeg","data":"{two}"}}}},{{"text":"A lighthouse."}}"#
    );
    let json = format!(
        r#"{{"contents":[{{"role":"user","parts":[{parts}]}}],"generationConfig":{{"responseModalities":["IMAGE"]}}}}"#
    );
    assert_eq!(body(&sent), json);
}

#[test]
fn what_gemini_cannot_make_is_refused_by_its_name() {
    let image = || request(MediaMode::Image);
    let refused = |request: MediaRequest| member(gemini().encode(&request));
    assert_eq!(refused(MediaRequest { width: Some(64), height: Some(64), ..image() }), "width");
    assert_eq!(refused(MediaRequest { format: Some(Format::Png), ..image() }), "format");
    assert_eq!(refused(MediaRequest { aspect_ratio: Some("16x9".to_owned()), ..image() }), "aspect_ratio");
    let two = gemini().encode(&MediaRequest { variations: Some(2), ..image() }).unwrap_err();
    assert_eq!(two.message(), "variations: This model makes at most 1 in one call.");
    assert!(gemini().encode(&MediaRequest { variations: Some(1), ..image() }).is_ok());
    let spoken = MediaRequest { format: Some(Format::Mp3), ..request(MediaMode::Audio) };
    assert_eq!(refused(spoken), "format");
    assert_eq!(refused(request(MediaMode::Transcription)), "mode");
}

/// A reply with these parts and this end.
fn reply(parts: &str, finish: &str) -> String {
    format!(
        r#"{{"candidates": [{{"content": {{"parts": [{parts}], "role": "model"}}, "finishReason": "{finish}", "index": 0}}],
          "usageMetadata": {{"promptTokenCount": 8, "candidatesTokenCount": 1290, "thoughtsTokenCount": 70,
          "totalTokenCount": 1368, "promptTokensDetails": [{{"modality": "TEXT", "tokenCount": 5}}, {{"modality": "IMAGE",
          "tokenCount": 3}}], "candidatesTokensDetails": [{{"modality": "IMAGE", "tokenCount": 1120}}]}}, "modelVersion":
          "m", "responseId": "r"}}"#
    )
}

const USAGE: MediaUsage = MediaUsage {
    text_tokens: 5,
    media_tokens: 3,
    output_text_tokens: 240,
    output_media_tokens: 1_120,
    seconds: 0.0,
};

#[test]
fn a_picture_is_a_part_of_a_reply() {
    let data = in_base64(PICTURE).replace('=', "\\u003d");
    let parts = format!(
        r#"{{"text": "Here it is: \"data\":"}}, {{"inlineData": {{"mimeType": "image/png", "data": "{data}"}},
           "thoughtSignature": "{}"}}"#,
        "c2ln".repeat(20)
    );
    let answer = reply(&parts, "STOP");
    let expected = [file(PICTURE, Some("image/png")), vec![MediaEvent::Usage(USAGE)]].concat();
    assert_eq!(read(&gemini(), &request(MediaMode::Image), answer.as_bytes()), (expected, Ok(())));
    // An answer without details counts all as those of pictures.
    let plain = answer.replace("candidatesTokensDetails", "more").replace("promptTokensDetails", "others");
    let (events, _) = read_in(&gemini(), &request(MediaMode::Image), &[plain.as_bytes()]);
    let usage = MediaUsage {
        text_tokens: 0,
        media_tokens: 8,
        output_text_tokens: 70,
        output_media_tokens: 1_290,
        seconds: 0.0,
    };
    assert_eq!(events.last(), Some(&MediaEvent::Usage(usage)));
    // A second picture is one that nobody asked for.
    let twice = reply(&format!("{parts}, {parts}"), "STOP");
    let (events, end) = read_in(&gemini(), &request(MediaMode::Image), &[twice.as_bytes()]);
    assert_eq!((events.len(), end), (4, Ok(())));
}

#[test]
fn rules_about_contents_are_told_apart() {
    let end = |answer: &str| {
        let (events, end) = read(&gemini(), &request(MediaMode::Image), answer.as_bytes());
        assert!(events.iter().all(|event| matches!(event, MediaEvent::Usage(_))), "{events:?}");
        end.unwrap_err()
    };
    let words = r#"{"text": "I cannot."}"#;
    for reason in ["IMAGE_SAFETY", "PROHIBITED_CONTENT", "SAFETY", "IMAGE_RECITATION"] {
        assert_eq!(end(&reply("", reason)), MediaFailure::Policy { accepted: true }, "{reason}");
    }
    for reason in ["STOP", "NO_IMAGE", "MAX_TOKENS", "OTHER"] {
        assert_eq!(kind(end(&reply(words, reason))), (ModelErrorKind::Protocol, true), "{reason}");
    }
    let blocked = r#"{"promptFeedback": {"blockReason": "OTHER", "safetyRatings": []}, "usageMetadata": {"promptTokenCount": 9}}"#;
    assert_eq!(end(blocked), MediaFailure::Policy { accepted: true });
    let error = r#"{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}"#;
    assert_eq!(kind(end(error)), (ModelErrorKind::Overloaded, true));
    let refusal = |status, body: &str| gemini().refusal(status, body.as_bytes()).kind();
    let key = r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#;
    assert_eq!(refusal(400, key), ModelErrorKind::Auth);
    assert_eq!(refusal(429, r#"{"error":{"status":"RESOURCE_EXHAUSTED"}}"#), ModelErrorKind::RateLimited);
    let unsafe_prompt = r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"reason":"PUBLIC_ERROR_UNSAFE_GENERATION"}]}}"#;
    assert_eq!(gemini().refusal(400, unsafe_prompt.as_bytes()), MediaFailure::Policy { accepted: false });
}

// <https://ai.google.dev/gemini-api/docs/speech-generation>: samples of 16 bits, 24 000 a second.
#[test]
fn speech_becomes_a_file() {
    let spoken = MediaRequest {
        voice: Some("Puck".to_owned()),
        format: Some(Format::Wav),
        max_output_tokens: Some(8_192),
        ..request(MediaMode::Audio)
    };
    let json = r#"{"contents":[{"role":"user","parts":[{"text":"A lighthouse."}]}],"generationConfig":{"responseModalities":["AUDIO"],"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Puck"}}},"maxOutputTokens":8192}}"#;
    assert_eq!(body(&gemini().encode(&spoken).unwrap()), json);
    let samples = [0x10_u8, 0x20].repeat(2_400);
    let reply = |media_type: &str| {
        let part =
            format!(r#"{{"inlineData": {{"mimeType": "{media_type}", "data": "{}"}}}}"#, in_base64(&samples));
        let answer =
            reply(&part, "STOP").replace("IMAGE\", \"tokenCount\": 1120", "AUDIO\", \"tokenCount\": 1120");
        read_in(&gemini(), &spoken, &[answer.as_bytes()])
    };
    let (events, end) = reply("audio/L16;codec=pcm;rate=24000");
    assert_eq!((events.len(), end), (4, Ok(())));
    assert_eq!(events.last(), Some(&MediaEvent::Usage(USAGE)));
    let Some(MediaEvent::Bytes(wav)) = events.get(1) else { panic!("{events:?}") };
    let facts = wire::media::sniff::sniff(wav).unwrap();
    assert_eq!((facts.media_type.as_str(), facts.seconds, facts.bytes), ("audio/wav", Some(0.1), 44 + 4_800));
    assert_eq!(wav[44..], samples);
    // A file of another type is whole.
    let (events, _) = reply("audio/ogg");
    assert_eq!(events.get(1), Some(&MediaEvent::Bytes(samples.clone())));
}
