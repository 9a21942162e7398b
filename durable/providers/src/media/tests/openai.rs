//! OpenAI's documents: <https://developers.openai.com/api/docs/api-reference/images/create>, `…/images/createEdit`,
//! `…/audio/createSpeech`, `…/audio/createTranscription`, and the types of its library (`openai` 7.57.0 on npm).

use wire::media::Format;
use wire::redact::Secret;

use super::*;

fn openai() -> OpenAiMedia {
    OpenAiMedia::new("https://api.openai.com/v1", Some(Secret::new("key-1".to_owned()))).of_openai()
}

fn other() -> OpenAiMedia {
    OpenAiMedia::new("http://box.test:8000/v1?api-version=1", None)
}

// N-020
#[test]
fn a_picture_is_asked_for() {
    let request = MediaRequest {
        width: Some(1_536),
        height: Some(1_024),
        quality: Some("high".to_owned()),
        variations: Some(8),
        format: Some(Format::Webp),
        ..request(MediaMode::Image)
    };
    let sent = openai().encode(&request).unwrap();
    assert_eq!(sent.url, "https://api.openai.com/v1/images/generations");
    assert_eq!(header(&sent, "authorization"), Some("Bearer key-1"));
    assert_eq!(header(&sent, "content-type"), Some("application/json"));
    let json = r#"{"model":"model-1","prompt":"A lighthouse.","n":8,"size":"1536x1024","quality":"high","output_format":"webp"}"#;
    assert_eq!(body(&sent), json);
    let plain = openai().encode(&super::request(MediaMode::Image)).unwrap();
    assert_eq!(body(&plain), r#"{"model":"model-1","prompt":"A lighthouse.","n":1,"quality":"medium"}"#);
    let sent = other().encode(&super::request(MediaMode::Image)).unwrap();
    assert_eq!(sent.url, "http://box.test:8000/v1/images/generations?api-version=1");
    assert_eq!(header(&sent, "authorization"), None);
    assert_eq!(
        body(&sent),
        r#"{"model":"model-1","prompt":"A lighthouse.","n":1,"response_format":"b64_json"}"#
    );
}

#[test]
fn what_openai_cannot_make_is_refused_by_its_name() {
    let image = || request(MediaMode::Image);
    let refused = |request: MediaRequest| member(openai().encode(&request));
    assert_eq!(refused(MediaRequest { aspect_ratio: Some("1:1".to_owned()), ..image() }), "aspect_ratio");
    assert_eq!(refused(MediaRequest { num_inference_steps: Some(4), ..image() }), "num_inference_steps");
    let sized = |width, height| MediaRequest { width: Some(width), height: Some(height), ..image() };
    assert!(openai().encode(&sized(3_840, 2_160)).is_ok());
    assert!(openai().encode(&sized(3_072, 1_024)).is_ok());
    for (width, height, side) in [
        (1_000, 1_024, "width"),
        (1_024, 1_000, "height"),
        (3_856, 2_160, "width"),
        (3_088, 1_024, "width"),
        (3_840, 2_176, "width"),
    ] {
        assert_eq!(refused(sized(width, height)), side, "{width} × {height}");
    }
    assert!(other().encode(&sized(1_000, 1_000)).is_ok(), "other servers have other sizes");
    let edit = MediaRequest { sources: vec![source("image/png", PICTURE)], ..request(MediaMode::ImageEdit) };
    assert_eq!(refused(MediaRequest { strength: Some(0.5), ..edit }), "strength");
    for mode in [MediaMode::Video, MediaMode::ImageToVideo] {
        assert_eq!(refused(request(mode)), "mode", "the API of videos ended");
    }
    let two = vec![source("audio/wav", b"a"), source("audio/wav", b"b")];
    assert_eq!(refused(MediaRequest { sources: two, ..request(MediaMode::Transcription) }), "sources");
}

#[test]
fn sources_and_recordings_go_as_parts() {
    let sources = vec![source("image/png", PICTURE), source("image/webp", b"two")];
    let edit = MediaRequest { sources, variations: Some(2), ..request(MediaMode::ImageEdit) };
    let sent = openai().encode(&edit).unwrap();
    assert_eq!(sent.url, "https://api.openai.com/v1/images/edits");
    let boundary =
        header(&sent, "content-type").unwrap().strip_prefix("multipart/form-data; boundary=").unwrap();
    assert_eq!(boundary.len(), 32);
    let text = |name: &str, text: &str| {
        format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
            .into_bytes()
    };
    let file = |name: &str, media_type: &str, ending: &str, bytes: &[u8]| {
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"source.{ending}\"\r\n\
             content-type: {media_type}\r\n\r\n"
        );
        [head.as_bytes(), bytes, b"\r\n"].concat()
    };
    let end = format!("--{boundary}--\r\n").into_bytes();
    let expected = [
        text("model", "model-1"),
        text("prompt", "A lighthouse."),
        text("n", "2"),
        text("quality", "medium"),
        file("image[]", "image/png", "png", PICTURE),
        file("image[]", "image/webp", "webp", b"two"),
        end,
    ];
    assert_eq!(sent.body, expected.concat());
    let heard = MediaRequest {
        sources: vec![source("audio/mpeg", b"ID3")],
        language: Some("de".to_owned()),
        ..request(MediaMode::Transcription)
    };
    let sent = other().encode(&heard).unwrap();
    assert_eq!(sent.url, "http://box.test:8000/v1/audio/transcriptions?api-version=1");
    let sent = body(&sent);
    for part in [
        "name=\"response_format\"\r\n\r\njson",
        "name=\"prompt\"\r\n\r\nA lighthouse.",
        "name=\"language\"\r\n\r\nde",
    ] {
        assert!(sent.contains(part), "{part}");
    }
    assert!(
        sent.contains("name=\"file\"; filename=\"source.mp3\"\r\ncontent-type: audio/mpeg\r\n\r\nID3\r\n")
    );
}

// Nobody can put a part of their own into a body: its boundary depends on all that is in it.
#[test]
fn a_prompt_ends_no_part() {
    let edit = |prompt: String| {
        let sources = vec![source("image/png", PICTURE)];
        openai().encode(&MediaRequest { prompt, sources, ..request(MediaMode::ImageEdit) }).unwrap()
    };
    let boundary =
        |sent: &HttpRequest| header(sent, "content-type").unwrap().rsplit_once('=').unwrap().1.to_owned();
    let first = boundary(&edit("A".to_owned()));
    let second = edit(format!("A\r\n--{first}\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\n8"));
    assert_ne!(boundary(&second), first);
    let parts =
        String::from_utf8_lossy(&second.body).matches(&format!("--{}\r\n", boundary(&second))).count();
    assert_eq!(parts, 5);
}

#[test]
fn a_text_is_spoken() {
    let sent = openai().encode(&request(MediaMode::Audio)).unwrap();
    assert_eq!(sent.url, "https://api.openai.com/v1/audio/speech");
    assert_eq!(body(&sent), r#"{"model":"model-1","input":"A lighthouse.","voice":"alloy"}"#);
    let spoken = MediaRequest {
        voice: Some("af_heart".to_owned()),
        speed: Some(1.25),
        format: Some(Format::Opus),
        ..request(MediaMode::Audio)
    };
    let json = r#"{"model":"model-1","input":"A lighthouse.","voice":"af_heart","response_format":"opus","speed":1.25}"#;
    assert_eq!(body(&other().encode(&spoken).unwrap()), json);
    // The answer is the file.
    assert_eq!(read(&openai(), &spoken, b"OggS\0..."), (file(b"OggS\0...", None), Ok(())));
    let samples = MediaRequest { format: Some(Format::Pcm), ..spoken.clone() };
    assert_eq!(read(&openai(), &samples, b"{}"), (file(b"{}", None), Ok(())), "two samples");
    let (events, end) = read(&openai(), &spoken, b"");
    assert_eq!((events, kind(end.unwrap_err())), (vec![], (ModelErrorKind::Protocol, true)));
    let (events, end) =
        read(&openai(), &spoken, br#"{"error":{"message":"Slow down.","type":"rate_limit_exceeded"}}"#);
    assert_eq!((events, kind(end.unwrap_err())), (vec![], (ModelErrorKind::RateLimited, true)));
}

fn pictures(files: &[&str]) -> String {
    let data: Vec<String> = files.iter().map(|file| format!("{{\"b64_json\": \"{file}\"}}")).collect();
    format!(
        r#"{{"created": 1713833628, "data": [{}], "background": "transparent", "output_format": "png", "size":
           "1024x1024", "quality": "high", "usage": {{"total_tokens": 100, "input_tokens": 50, "output_tokens": 50,
           "input_tokens_details": {{"text_tokens": 10, "image_tokens": 40}}}}}}"#,
        data.join(", ")
    )
}

#[test]
fn pictures_come_one_after_the_other() {
    let two = MediaRequest { variations: Some(2), ..request(MediaMode::Image) };
    let answer = pictures(&[&in_base64(PICTURE), &in_base64(OTHER)]);
    let usage =
        MediaUsage { text_tokens: 10, media_tokens: 40, output_media_tokens: 50, ..MediaUsage::default() };
    let expected = [file(PICTURE, None), file(OTHER, None), vec![MediaEvent::Usage(usage)]].concat();
    assert_eq!(read(&openai(), &two, answer.as_bytes()), (expected, Ok(())));
    // Nobody asked for the second one.
    let one = read(&openai(), &request(MediaMode::Image), answer.as_bytes());
    assert_eq!(one, ([file(PICTURE, None), vec![MediaEvent::Usage(usage)]].concat(), Ok(())));
    // The details of the newest models.
    let detailed = answer.replace(
        r#""input_tokens_details""#,
        r#""output_tokens_details": {"text_tokens": 20, "image_tokens": 30}, "input_tokens_details""#,
    );
    let (events, _) = read_in(&openai(), &two, &[detailed.as_bytes()]);
    let detailed = MediaUsage { output_text_tokens: 20, output_media_tokens: 30, ..usage };
    assert_eq!(events.last(), Some(&MediaEvent::Usage(detailed)));
    // Characters of base64 that JSON may escape.
    let escaped = pictures(&[&in_base64(PICTURE).replace('/', "\\/").replace('=', "\\u003d")]);
    assert!(escaped.contains("\\/") && escaped.contains("\\u003d"), "the picture has such characters");
    assert_eq!(read(&openai(), &two, escaped.as_bytes()).0[..3], file(PICTURE, None));
}

#[test]
fn an_answer_without_a_picture_is_a_failure() {
    let failure =
        |answer: &str| read(&openai(), &request(MediaMode::Image), answer.as_bytes()).1.unwrap_err();
    for nothing in
        ["{}", "[]", r#"{"data":[]}"#, &pictures(&[""]), r#"{"data":[{"url":"https://a.test/1.png"}]}"#]
    {
        assert_eq!(kind(failure(nothing)), (ModelErrorKind::Protocol, true), "{nothing}");
    }
    let whole = pictures(&[&in_base64(PICTURE)]);
    for length in 0..whole.len() {
        let (_, end) = read_in(&openai(), &request(MediaMode::Image), &[&whole.as_bytes()[..length]]);
        assert_eq!(kind(end.unwrap_err()), (ModelErrorKind::Protocol, true), "cut off at {length}");
    }
    let broken = failure(&pictures(&["no base64!"]));
    assert_eq!(broken.message(), "The model provider sent a file that is no base64.");
    let blocked = r#"{"error":{"code":"content_filter","message":"No."}}"#;
    assert_eq!(failure(blocked), MediaFailure::Policy { accepted: true });
}

// The body of a blocked request as users of gpt-image-2 report it (openai/codex issue 40816 and others).
#[test]
fn refusals_have_a_kind() {
    let refusal = |status, body: &str| openai().refusal(status, body.as_bytes());
    let blocked = r#"{"error":{"message":"Your request was rejected by the safety system. safety_violations=[sexual].","type":"image_generation_user_error","param":null,"code":"moderation_blocked"}}"#;
    assert_eq!(refusal(400, blocked), MediaFailure::Policy { accepted: false });
    let of = |status, code: &str| {
        refusal(status, &format!(r#"{{"error":{{"message":"m","code":"{code}"}}}}"#)).kind()
    };
    assert_eq!(of(400, "content_policy_violation"), ModelErrorKind::BadRequest);
    assert_eq!(of(400, "invalid_value"), ModelErrorKind::BadRequest);
    assert_eq!(of(401, "invalid_api_key"), ModelErrorKind::Auth);
    assert_eq!(of(404, "model_not_found"), ModelErrorKind::BadRequest);
    assert_eq!(of(429, "rate_limit_exceeded"), ModelErrorKind::RateLimited);
    assert_eq!(of(429, "insufficient_quota"), ModelErrorKind::Quota);
    assert_eq!(of(503, "x"), ModelErrorKind::Overloaded);
    // Something on the way gave up, or the provider failed: it may still make the picture, and bill it.
    for (status, may_have_cost) in [
        (400, false),
        (401, false),
        (408, true),
        (429, false),
        (500, true),
        (503, false),
        (504, true),
        (529, false),
    ] {
        assert_eq!(refusal(status, "{}").may_have_cost(), may_have_cost, "{status}");
    }
    let words = refusal(400, r#"{"error":{"message":"secret words","code":"invalid_value"}}"#).message();
    assert!(!words.contains("secret"), "{words}");
}

#[test]
fn a_transcript_has_a_text_and_a_count() {
    let heard = request(MediaMode::Transcription);
    let tokens = r#"{"text": "Hello \ud83d\udc4b", "usage": {"type": "tokens", "input_tokens": 14, "input_token_details":
        {"text_tokens": 4, "audio_tokens": 10}, "output_tokens": 45, "total_tokens": 59}}"#;
    let usage =
        MediaUsage { text_tokens: 4, media_tokens: 10, output_text_tokens: 45, ..MediaUsage::default() };
    let text = MediaEvent::Text("Hello \u{1f44b}".to_owned());
    assert_eq!(read(&openai(), &heard, tokens.as_bytes()), (vec![text, MediaEvent::Usage(usage)], Ok(())));
    let seconds = r#"{"text": "", "languages": [], "usage": {"type": "duration", "seconds": 9.5}}"#;
    let usage = MediaUsage { seconds: 9.5, ..MediaUsage::default() };
    let silence = vec![MediaEvent::Text(String::new()), MediaEvent::Usage(usage)];
    assert_eq!(read(&openai(), &heard, seconds.as_bytes()), (silence, Ok(())));
    let (_, end) = read(&openai(), &heard, br#"{"usage":{}}"#);
    assert_eq!(kind(end.unwrap_err()), (ModelErrorKind::Protocol, true));
}
