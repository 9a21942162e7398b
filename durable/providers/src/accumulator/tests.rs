//! Issue 44: the rules that the replies of all APIs share.

use std::rc::Rc;

use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::testing::{self, answered, body, calls, definition, failure, reply, request, text};
use crate::workers_ai::WorkersAi;
use crate::{Codec, Decoder};
use wire::model::{ModelErrorKind, ReplyFinish};

mod replaced_members;

const URL: &str = "https://api.example";

/// Each codec whose reply goes on after its reason to stop, with an event of the text `x` and one with the reason.
fn codecs() -> [(Rc<dyn Codec>, &'static str, &'static str); 4] {
    [
        (
            Rc::new(OpenAiChat::new(URL, None)),
            r#"{"choices":[{"delta":{"content":"x"}}]}"#,
            r#"{"choices":[{"finish_reason":"length"}]}"#,
        ),
        (Rc::new(WorkersAi), r#"{"response":"x"}"#, r#"{"response":"","finish_reason":"length"}"#),
        (
            Rc::new(Anthropic::new(URL, None)),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
        ),
        (
            Rc::new(Gemini::new(URL, None)),
            r#"{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}"#,
            r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#,
        ),
    ]
}

fn decoder(codec: &dyn Codec) -> impl Fn() -> Box<dyn Decoder> {
    || codec.decoder(&request(vec![]))
}

fn stream(events: &[&str]) -> Vec<u8> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

#[test]
fn a_reason_to_stop_makes_a_reply_whole_and_nothing_else_does() {
    for (codec, words, reason) in codecs() {
        let fresh = decoder(&*codec);
        let rests: [&[&str]; 4] =
            [&[], &["[DONE]"], &["{\"half"], &["{} {}", "[DONE]", "{\"error\":{\"code\":429}}"]];
        for rest in rests {
            let (events, reply) = reply(&fresh, &stream(&[&[words, reason], rest].concat()));
            assert_eq!((events, reply.text.as_str()), (vec![text("x")], "x"), "{reason} {rest:?}");
            assert_eq!(reply.finish, ReplyFinish::Length, "{reason} {rest:?}");
        }
        for rest in [&[words][..], &[words, "{\"half"], &["{\"half", words, reason]] {
            assert_eq!(failure(&fresh, &stream(rest)).1.kind, ModelErrorKind::Protocol, "{rest:?}");
        }
    }
}

#[test]
fn an_error_ends_the_reply_before_and_after_its_reason_to_stop() {
    let responses: Rc<dyn Codec> = Rc::new(OpenAiResponses::new(URL, None));
    let words = r#"{"type":"response.output_text.delta","output_index":0,"delta":"x"}"#;
    let end = r#"{"type":"response.completed","response":{}}"#;
    for (codec, words, reason) in codecs().into_iter().chain([(responses, words, end)]) {
        let fresh = decoder(&*codec);
        let error = "{\"error\":{\"code\":429,\"message\":\"SECRET\"}}";
        let named = [&stream(&[words])[..], b"event: error\ndata: {\"code\":429}\n\n"].concat();
        let before = [stream(&[words, error, reason]), named];
        // The end of a response is the end of its stream.
        let after = (reason != end).then(|| stream(&[words, reason, error]));
        for stream in before.into_iter().chain(after) {
            let (events, error) = failure(&fresh, &stream);
            assert_eq!((events, error.kind), (vec![text("x")], ModelErrorKind::RateLimited), "{reason}");
        }
        for error in ["null", "false", "true", "0", "\"\"", "[]", "{}"] {
            let error = format!("{{\"error\":{error}}}");
            let (_, reply) = testing::reply(&fresh, &stream(&[&error, words, &error, reason]));
            assert_eq!(reply.text, "x", "{error}");
        }
    }
}

#[test]
fn counts_may_be_texts_or_have_a_fraction_of_zero() {
    let of_openai = r#""usage":{"prompt_tokens":"12","completion_tokens":3.0}"#;
    let table: [(&dyn Codec, &str); 5] = [
        (&OpenAiChat::new(URL, None), &format!(r#"{{"choices":[{{"finish_reason":"stop"}}],{of_openai}}}"#)),
        (&WorkersAi, &format!(r#"{{"response":"","finish_reason":"stop",{of_openai}}}"#)),
        (
            &OpenAiResponses::new(URL, None),
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":"12","output_tokens":3.0}}}"#,
        ),
        (
            &Anthropic::new(URL, None),
            r#"{"type":"message","stop_reason":"end_turn","usage":{"input_tokens":"12","output_tokens":3.0}}"#,
        ),
        (
            &Gemini::new(URL, None),
            r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"12","candidatesTokenCount":3.0}}"#,
        ),
    ];
    for (codec, event) in table {
        let (_, reply) = reply(&decoder(codec), &stream(&[event]));
        let usage = reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
        assert_eq!(usage, Some((12, 3)), "{event}");
    }
}

// The provider would see a call of another tool than the one whose result it gets.
#[test]
fn the_raw_message_names_the_tool_as_the_call_does() {
    let chat = r#"{"choices":[{"delta":{"reasoning":"r","tool_calls":[{"index":0,"id":"a","function":
        {"name":"calculate<|channel|>json","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let table: [(&dyn Codec, &str); 5] = [
        (&OpenAiChat::new(URL, None), chat),
        (&WorkersAi, chat),
        (
            &OpenAiResponses::new(URL, None),
            r#"{"type":"response.completed","response":{"output":[{"type":"reasoning","encrypted_content":"e"},
                {"type":"function_call","id":"f","call_id":"a","name":"calculate<|channel|>json","arguments":"{}"}]}}"#,
        ),
        (
            &Anthropic::new(URL, None),
            r#"{"type":"message","content":[{"type":"redacted_thinking","data":"d"},
                {"type":"tool_use","id":"a","name":"calculate<|channel|>json","input":{}}],"stop_reason":"tool_use"}"#,
        ),
        (
            &Gemini::new(URL, None),
            r#"{"candidates":[{"content":{"parts":[{"thoughtSignature":"s","functionCall":
                {"id":"a","name":"calculate<|channel|>json","args":{}}}]},"finishReason":"STOP"}]}"#,
        ),
    ];
    for (codec, event) in table {
        let mut asked = request(vec![]);
        asked.tools = Rc::new([definition("calculate")]);
        let stream = format!("data: {}\n\n", event.replace('\n', " "));
        let (_, reply) = reply(&|| codec.decoder(&asked), stream.as_bytes());
        assert_eq!(calls(&reply), [("a", "calculate", "{}")]);
        let raw = reply.raw.as_ref().expect("something goes back").json.0.get().to_owned();
        assert!(raw.contains(r#""name":"calculate""#) && !raw.contains("<|"), "{raw}");
        let sent = body(codec, &answered(asked, reply)).to_string();
        assert!(sent.contains(r#""name":"calculate""#) && !sent.contains("<|"), "{sent}");
    }
}
