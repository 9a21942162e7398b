use super::*;

use ModelErrorKind::*;

#[test]
fn refusals_by_status() {
    let table = [
        (301, BadRequest),
        (400, BadRequest),
        (401, Auth),
        (402, Quota),
        (403, Auth),
        (404, BadRequest),
        (408, Overloaded),
        (409, Overloaded),
        (413, ContextTooLong),
        (422, BadRequest),
        (429, RateLimited),
        (500, Overloaded),
        (502, Overloaded),
        (503, Overloaded),
        (504, Overloaded),
        (529, Overloaded),
        (199, Protocol),
        (999, Protocol),
    ];
    for (status, kind) in table {
        for body in [&b""[..], b"<html>", b"null", b"[]", b"{}", b"\xff", br#"{"error":null}"#] {
            assert_eq!(Complaint::from_body(body).refused(status).kind, kind, "{status}");
        }
    }
}

// Gemini words them as faults of the request. Another model of the chain may answer.
#[test]
fn a_key_or_a_region_that_gemini_refuses() {
    let reason = r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]"#;
    for body in [
        format!(r#"{{"error":{{"code":400,"message":"…","status":"INVALID_ARGUMENT","details":{reason}}}}}"#),
        r#"[{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}]"#.to_owned(),
    ] {
        assert_eq!(Complaint::from_body(body.as_bytes()).refused(400).kind, Auth, "{body}");
    }
    let other = br#"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"FIELD"},{},7]}}"#;
    assert_eq!(Complaint::from_body(other).refused(400).kind, BadRequest);
}

#[test]
fn the_delay_of_gemini_stands_in_the_body() {
    let body = |details: &str| format!(r#"[{{"error":{{"code":429,"details":{details}}}}}]"#);
    let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"45.8s"}"#;
    assert_eq!(retry_delay(body(&format!("[{{}},{info}]")).as_bytes()).as_deref(), Some("45.8"));
    for other in ["[]", "7", r#"[{"retryDelay":45}]"#, r#"[{"retryDelay":"soon"}]"#] {
        assert_eq!(retry_delay(body(other).as_bytes()), None, "{other}");
    }
    assert_eq!(retry_delay(b"<html>"), None);
    let event = body(&format!("[{info}]"));
    assert_eq!(retry_delay(format!(": x\n\ndata: {event}\r\n\r\n").as_bytes()).as_deref(), Some("45.8"));
}

// The words of OpenAI, of Azure and of Groq.
#[test]
fn the_delay_of_others_stands_in_the_message() {
    let delay = |message: &str| {
        retry_delay(serde_json::json!({ "error": { "message": message } }).to_string().as_bytes())
    };
    for (message, seconds) in [
        (
            "Rate limit reached for gpt-5. Limit 30000, Used 29000. Please try again in 1.898s. Visit …",
            "1.898",
        ),
        ("Please try again in 28ms.", "0.028"),
        ("Requests have exceeded the rate limit. Please retry after 26 seconds.", "26"),
        ("Please try again in 7m12.5s.", "480"),
    ] {
        assert_eq!(delay(message).as_deref(), Some(seconds), "{message}");
    }
    let failed =
        br#"data: {"type":"response.failed","response":{"error":{"message":"Please try again in 20ms."}}}"#;
    assert_eq!(retry_delay(failed).as_deref(), Some("0.02"));
    for message in
        ["Please try again in a moment", "try again in 5", "retry after ..s", "try again in 2 hours"]
    {
        assert_eq!(delay(message), None, "{message}");
    }
}

// Issue 43: an error in an answer of status 200, where no decoder finds it.
#[test]
fn errors_in_place_of_a_reply() {
    for (body, kind) in [
        (r#"{"error":{"code":429}}"#, RateLimited),
        (r#"{"error":"context window exceeded"}"#, ContextTooLong),
        (r#"[{"error":{"status":"UNAVAILABLE"}}]"#, Overloaded),
        (r#"{"errors":[{"message":"no"}],"success":false}"#, Overloaded),
        (r#"{"code":"401","message":"no"}"#, Auth),
        (r#"{"detail":"Service unavailable"}"#, Overloaded),
        ("event: x\ndata: {\"type\":\"ping\"}\n\ndata:{\"error\":{\"code\":400}}\n\n", BadRequest),
    ] {
        let error = error_in_answer(body.as_bytes()).unwrap();
        assert_eq!(error.kind, kind, "{body}");
        assert!(error.message.ends_with(" in place of a reply."), "{error:?}");
    }
    for body in [
        "",
        "<html>",
        "{",
        r#""heartbeat""#,
        r#"{"choices":[],"error":null}"#,
        r#"{"id":"1","choices":[{"message":{"content":"error"}}]}"#,
        "data: {\"type\":\"message_start\"}\n\ndata: {\"error\":null}\n\ndata: [DONE]\n\n",
    ] {
        assert_eq!(error_in_answer(body.as_bytes()), None, "{body}");
    }
}

#[test]
fn too_long_in_the_words_of_each_provider() {
    let bodies = [
        r#"{"error":{"message":"…","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        r#"[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}]"#,
        r#"{"errors":[{"message":"AiError: exceeded this model context window limit","code":5021}],"success":false}"#,
        r#"{"error":"context window exceeded"}"#,
    ];
    for body in bodies {
        assert_eq!(Complaint::from_body(body.as_bytes()).refused(400).kind, ContextTooLong, "{body}");
    }
    let limited = br#"{"error":{"message":"Rate limit: tokens of this context length per minute"}}"#;
    assert_eq!(Complaint::from_body(limited).refused(429).kind, RateLimited);
    assert_eq!(Complaint::from_body(limited).refused(302).kind, BadRequest, "a page of somebody else");
}

#[test]
fn an_account_without_credit_in_the_words_of_each_provider() {
    for (status, body) in [
        (429, r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access"}}"#,
        ),
        (403, r#"{"error":{"code":"billing_hard_limit_reached"}}"#),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
    ] {
        let error = Complaint::from_body(body.as_bytes()).refused(status);
        assert_eq!((error.kind, error.kind.code()), (Quota, "provider_quota"), "{body}");
    }
    let rate = br#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#;
    assert_eq!(Complaint::from_body(rate).refused(429).kind, RateLimited, "Gemini's rates are quotas");
}

#[test]
fn errors_in_the_stream() {
    let table = [
        (r#"{"code":400,"message":"Token limit reached"}"#, BadRequest),
        (r#"{"code":500,"message":"…","type":"server_error"}"#, Overloaded),
        (r#"{"code":"400","message":"litellm.BadRequestError: …","type":null}"#, BadRequest),
        (r#"{"code":429}"#, RateLimited),
        (r#"{"type":"overloaded_error"}"#, Overloaded),
        (r#"{"type":"authentication_error"}"#, Auth),
        (r#"{"code":"invalid_api_key","type":"invalid_request_error"}"#, Auth),
        (r#"{"code":"rate_limit_exceeded"}"#, RateLimited),
        (r#"{"type":"insufficient_quota"}"#, Quota),
        (r#"{"type":"billing_error"}"#, Quota),
        (r#"{"type":"invalid_request_error"}"#, BadRequest),
        (r#"{"code":"context_length_exceeded"}"#, ContextTooLong),
        (r#""something""#, Overloaded),
        (r#"{"code":12}"#, Overloaded),
        ("17", Overloaded),
    ];
    for (body, kind) in table {
        assert_eq!(Complaint::from_body(body.as_bytes()).in_stream().kind, kind, "{body}");
    }
}

#[test]
fn errors_repeat_no_text_of_the_provider() {
    let body = br#"{"error":{"message":"key sk-SECRET is wrong","type":"SECRET","code":"SECRET"}}"#;
    for status in 100..=999 {
        let shown = format!("{:?}", Complaint::from_body(body).refused(status));
        assert!(!shown.to_lowercase().contains("secret"), "{shown}");
    }
    let shown = format!("{:?}", Complaint::from_body(body).in_stream());
    assert!(!shown.to_lowercase().contains("secret"), "{shown}");
}

// Issue 43: OpenAI names the API that a model needs. The operator learns under which name this service speaks it.
#[test]
fn a_refusal_that_names_the_other_api_says_what_to_configure() {
    let error = |message: &str, status| {
        let body = serde_json::json!({"error": {
            "message": message, "type": "invalid_request_error", "param": "reasoning_effort", "code": null,
        }});
        Complaint::from_body(body.to_string().as_bytes()).refused(status)
    };
    for (message, status, name) in [
        (
            "Function tools with reasoning_effort are not supported for gpt-6-luna in /v1/chat/completions. To use \
             function tools, use /v1/responses or set reasoning_effort to 'none'.",
            400,
            "openai-responses:MODEL",
        ),
        (
            "Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use \
             /v1/responses instead.",
            400,
            "openai-responses:MODEL",
        ),
        (
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            404,
            "openai-responses:MODEL",
        ),
        (
            "This model is only supported in v1/chat/completions and not in v1/responses.",
            404,
            "openai-chat:MODEL",
        ),
        ("The model `m` is not supported with the Responses API.", 400, "openai-chat:MODEL"),
    ] {
        let error = error(message, status);
        assert_eq!((error.kind, error.message.contains(name)), (BadRequest, true), "{error:?}");
        assert!(!error.message.contains("gpt-"), "it does not quote: {error:?}");
    }
    let plain = error("Unsupported value: 'temperature' does not support 0.5 with this model.", 400);
    assert_eq!(plain.message, "The model provider rejected the request (HTTP 400).");
    assert_eq!(error("use /v1/responses", 401).message, error("no", 401).message, "a bad key is a bad key");
}
