//! Google's document of Veo: <https://ai.google.dev/gemini-api/docs/veo>.

use wire::http::Method;
use wire::redact::Secret;

use super::gemini::gemini;
use super::*;
use wire::media::{JobState, MAX_JOB_BYTES};

const JOB: &str = "models/veo-3.1-generate-001/operations/abc123";

// N-020
#[test]
fn a_video_is_a_job() {
    let film = MediaRequest {
        aspect_ratio: Some("9:16".to_owned()),
        resolution: Some("1080p".to_owned()),
        duration: Some(8),
        ..request(MediaMode::Video)
    };
    let sent = gemini().encode(&film).unwrap();
    assert_eq!(
        sent.url,
        "https://generativelanguage.googleapis.com/v1beta/models/model-1:predictLongRunning"
    );
    let json = r#"{"instances":[{"prompt":"A lighthouse."}],"parameters":{"aspectRatio":"9:16","resolution":"1080p","durationSeconds":8}}"#;
    assert_eq!(body(&sent), json);
    let from =
        MediaRequest { sources: vec![source("image/png", PICTURE)], ..request(MediaMode::ImageToVideo) };
    let json = format!(
        r#"{{"instances":[{{"prompt":"A lighthouse.","image":{{"bytesBase64Encoded":"{}","mimeType":"image/png"}}}}],"parameters":{{}}}}"#,
        in_base64(PICTURE)
    );
    assert_eq!(body(&gemini().encode(&from).unwrap()), json);
    let refused = |request: MediaRequest| member(gemini().encode(&request));
    assert_eq!(refused(MediaRequest { duration: Some(5), ..film.clone() }), "duration");
    assert_eq!(refused(MediaRequest { variations: Some(2), ..film.clone() }), "variations");
    let two = vec![source("image/png", PICTURE), source("image/png", OTHER)];
    assert_eq!(refused(MediaRequest { sources: two, ..request(MediaMode::ImageToVideo) }), "sources");
    let answer = format!(r#"{{"name": "{JOB}"}}"#);
    assert_eq!(read(&gemini(), &film, answer.as_bytes()), (vec![MediaEvent::Job(JOB.to_owned())], Ok(())));
    // An id becomes a part of an address, so it must lead nowhere else.
    let long = format!("models/{}", "m".repeat(MAX_JOB_BYTES));
    for id in
        ["", "/models/a", "models/../../files", "https://a.test/", "a?b", "a b", "models//a", long.as_str()]
    {
        let (events, end) = read_in(&gemini(), &film, &[format!(r#"{{"name": "{id}"}}"#).as_bytes()]);
        assert_eq!((events, kind(end.unwrap_err())), (vec![], (ModelErrorKind::Protocol, true)), "{id}");
        assert!(gemini().poll(id).is_err());
    }
}

#[test]
fn a_job_is_asked_about_until_it_has_ended() {
    let poll = gemini().poll(JOB).unwrap();
    assert_eq!(poll.method, Method::Get);
    assert_eq!(poll.url, format!("https://generativelanguage.googleapis.com/v1beta/{JOB}"));
    assert_eq!(header(&poll, "x-goog-api-key"), Some("key-1"));
    let state = |body: &str| gemini().job_state(body.as_bytes());
    assert_eq!(state(&format!(r#"{{"name": "{JOB}"}}"#)), Ok(JobState::Running));
    assert_eq!(state(&format!(r#"{{"name": "{JOB}", "done": false}}"#)), Ok(JobState::Running));
    let uri = "https://generativelanguage.googleapis.com/v1beta/files/x1:download?alt=media";
    let done = format!(
        r#"{{"name": "{JOB}", "done": true, "response": {{"@type": "t", "generateVideoResponse": {{"generatedSamples":
           [{{"video": {{"uri": "{uri}"}}}}]}}}}}}"#
    );
    assert_eq!(state(&done), Ok(JobState::Done(vec![uri.to_owned()])));
    let filtered = r#"{"name": "n", "done": true, "response": {"generateVideoResponse": {"raiMediaFilteredCount": 1,
        "raiMediaFilteredReasons": ["We encountered an issue."]}}}"#;
    assert_eq!(state(filtered), Err(MediaFailure::Policy { accepted: true }));
    let failed = r#"{"name": "n", "done": true, "error": {"code": 13, "message": "Internal error."}}"#;
    assert_eq!(state(failed).unwrap_err().kind(), ModelErrorKind::Overloaded);
    for nothing in ["", "{}", "[]", r#"{"done": true}"#, r#"{"done": true, "response": {}}"#] {
        assert_eq!(state(nothing).unwrap_err().kind(), ModelErrorKind::Protocol, "{nothing}");
    }
}

#[test]
fn a_file_is_fetched_from_its_maker_alone() {
    let key =
        |file: &str| gemini().fetch(file).map(|sent| header(&sent, "x-goog-api-key").map(str::to_owned));
    let with_key = Some("key-1".to_owned());
    assert_eq!(
        key("https://generativelanguage.googleapis.com/v1beta/files/x1:download?alt=media"),
        Ok(with_key)
    );
    // The key of a gateway is not the maker's.
    let gateway = GeminiMedia::new("https://gateway.test/v1beta", Some(Secret::new("key-2".to_owned())));
    let sent = gateway.fetch("https://generativelanguage.googleapis.com/v1beta/files/x1").unwrap();
    assert_eq!(header(&sent, "x-goog-api-key"), None);
    // A redirect leads to where the bytes are, which needs no key.
    assert_eq!(key("https://storage.googleapis.com/bucket/x1?sign=1"), Ok(None));
    assert_eq!(key("https://a1.googleusercontent.com/x1"), Ok(None));
    for foreign in [
        "http://generativelanguage.googleapis.com/v1beta/files/x1",
        "https://generativelanguage.googleapis.com.a.test/x",
        "https://agoogleapis.com/x",
        "https://a.test/.googleapis.com",
        "https://user@storage.googleapis.com/x",
        "https://a.test\\.googleapis.com/x",
        "https://a.test#.googleapis.com/x",
        "https://169.254.169.254/x",
        "file:///etc/passwd",
        "",
    ] {
        assert!(key(foreign).is_err(), "{foreign}");
    }
    let body = read_in_file(b"\0\0\0\x18ftypisom");
    assert_eq!(body, (file(b"\0\0\0\x18ftypisom", None), Ok(())));
}

fn read_in_file(body: &[u8]) -> Read {
    let (mut decoder, mut events) = (FileAnswer::new(MediaMode::Video), Vec::new());
    let fed = body.chunks(3).try_for_each(|piece| decoder.feed(piece, &mut events));
    let end = fed.and_then(|()| decoder.finish(&mut events));
    (events, end)
}
