//! Issue 44: what the events of all providers have in common.

use std::rc::Rc;

use crate::anthropic::Anthropic;
use crate::codec::{Codec, Decoder};
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::testing::{calls, definition, failure, reasoning, reply, request, text, text_and_reasoning};
use wire::model::{ModelEvent, ModelReply};

/// The decoder of a request with the tool `calculate`.
fn fresh() -> Box<dyn Decoder> {
    let mut asked = request(vec![]);
    asked.tools = Rc::new([definition("calculate")]);
    OpenAiChat::new("https://api.example", None).decoder(&asked)
}

/// A stream with these members of the first choice, one chunk each.
fn stream(choices: &[&str]) -> Vec<u8> {
    let chunks = choices.iter().map(|choice| format!("data: {{\"choices\":[{{{choice}}}]}}\n\n"));
    chunks.chain(["data: [DONE]\n\n".to_owned()]).collect::<String>().into_bytes()
}

fn read(choices: &[&str]) -> (Vec<ModelEvent>, ModelReply) {
    reply(&fresh, &stream(choices))
}

/// Text and reasoning of a reply whose content comes in these pieces of JSON.
fn told_of(pieces: &[&str]) -> (String, String) {
    let deltas: Vec<String> =
        pieces.iter().map(|piece| format!("\"delta\":{{\"content\":\"{piece}\"}}")).collect();
    let mut choices: Vec<&str> = deltas.iter().map(String::as_str).collect();
    choices.push("\"delta\":{},\"finish_reason\":\"stop\"");
    let (events, reply) = read(&choices);
    assert_eq!(text_and_reasoning(&events).0, reply.text, "{pieces:?}");
    text_and_reasoning(&events)
}

#[test]
fn halves_of_a_pair_are_joined_over_the_deltas_of_a_text() {
    for (pieces, whole) in [
        (&[r"a\ud83d", r"\ude0bb"][..], "a\u{1f60b}b"),
        (&[r"\ud83d", "", r"\uDE0B"], "\u{1f60b}"),
        (&[r"a\ud83d", "b"], "a\u{fffd}b"),
        (&[r"a\ud83d"], "a\u{fffd}"),
        (&[r"\ude0b", r"\ud83d\ude0b"], "\u{fffd}\u{1f60b}"),
    ] {
        assert_eq!(told_of(pieces), (whole.to_owned(), String::new()), "{pieces:?}");
    }
}

#[test]
fn halves_of_a_pair_are_joined_in_reasoning_and_arguments() {
    let (events, answer) = read(&[
        r#""delta":{"reasoning_content":"r\ud83d"}"#,
        r#""delta":{"content":"t\ud83d"}"#,
        r#""delta":{"reasoning_content":"\ude0b"}"#,
        r#""delta":{"content":"\ude0c"}"#,
        r#""delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"calculate","arguments":"{\"x\":\"\ud83d"}}]}"#,
        r#""delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"calculate","arguments":"\ud83d"}}]}"#,
        r#""delta":{"tool_calls":[{"index":0,"function":{"arguments":"\ude0b\"}"}}]}"#,
        r#""finish_reason":"tool_calls""#,
    ]);
    assert_eq!(text_and_reasoning(&events), ("t\u{1f60c}".to_owned(), "r\u{1f60b}".to_owned()));
    assert_eq!(calls(&answer), [("a", "calculate", "{\"x\":\"\u{1f60b}\"}"), ("b", "calculate", "\u{fffd}")]);
    let raw = answer.raw.expect("reasoning goes back").json.0.get().to_owned();
    assert!(raw.contains("\"r\u{1f60b}\""), "{raw}");
}

#[test]
fn a_thought_in_tags_at_the_beginning_is_reasoning() {
    let (text, thought) = (|text: &str| text.to_owned(), |text: &str| text.to_owned());
    for (pieces, answer, reasoning) in [
        (
            &[r"<think>\nsecret thoughts\n</thi", r"nk>\n\nThe answer."][..],
            "The answer.",
            "secret thoughts\n",
        ),
        (&["<", "think", ">", "a</", "b</thin", "k", "> ", " c </think>"], "c </think>", "a</b"),
        (&[r"\n <think></think>\n", "x"], "x", ""),
        (&["<think>all"], "", "all"),
        (&["<think>all</thin"], "", "all</thin"),
        (&["<thinker>"], "<thinker>", ""),
        (&["<thi"], "<thi", ""),
        (&["a <think>b</think>"], "a <think>b</think>", ""),
        (&["  "], "  ", ""),
    ] {
        assert_eq!(told_of(pieces), (text(answer), thought(reasoning)), "{pieces:?}");
    }
}

#[test]
fn a_control_word_after_the_name_of_a_tool_is_cut() {
    let named = |name: &str| {
        let call = format!(r#""delta":{{"tool_calls":[{{"id":"a","function":{{"name":"{name}"}}}}]}}"#);
        let (_, reply) = read(&[&call, r#""finish_reason":"tool_calls""#]);
        reply.tool_calls[0].name.clone()
    };
    assert_eq!(named("calculate<|channel|>commentary"), "calculate");
    assert_eq!(named("other<|channel|>json"), "other<|channel|>json");
    assert_eq!(named("<|calculate"), "<|calculate");
}

#[test]
fn other_shapes_of_a_choice_are_read_as_what_they_are() {
    for shape in [
        r#""delta":{"content":"ok"}"#,
        r#""message":{"role":"assistant","content":"ok"}"#,
        r#""text":"ok""#,
        r#""index":"0","delta":{"content":[{"type":"text","text":"o"},{"type":"output_text","text":"k"}]}"#,
        r#""index":0.0,"delta":{"content":["o","k"]}"#,
        r#""delta":{"content":{"type":"text","text":"ok"}}"#,
        r#""delta":{"content":"ok","tool_calls":null,"refusal":{},"reasoning":7},"error":false"#,
        r#""delta":{"content":"ok"},"error":"""#,
        r#""delta":{"content":"ok"},"error":{}"#,
    ] {
        let (events, reply) = read(&[shape, r#""delta":{},"finish_reason":"STOP""#]);
        assert_eq!(
            (text_and_reasoning(&events).0, reply.text),
            ("ok".to_owned(), "ok".to_owned()),
            "{shape}"
        );
    }
    for shape in [
        r#""delta":{"tool_calls":[{"index":"0","id":"c","function":{"name":"calculate","arguments":"{\"a\":1}"}}]}"#,
        r#""delta":{"tool_calls":[{"id":"c","function":{"name":"calculate","arguments":{"a":1}}}]}"#,
        r#""delta":{"tool_calls":{"id":"c","function":{"name":"calculate","arguments":{"a":1}}}}"#,
        r#""message":{"tool_calls":[{"id":"c","function":{"name":"calculate","arguments":"{\"a\":1}"}}]}"#,
    ] {
        let (_, reply) = read(&[shape, r#""finish_reason":"Tool_Calls""#]);
        assert_eq!(calls(&reply), [("c", "calculate", r#"{"a":1}"#)], "{shape}");
    }
    let (_, reply) = read(&[
        r#""delta":{"function_call":{"name":"calculate","arguments":"{\"a\""}}"#,
        r#""delta":{"function_call":{"arguments":":1}"}}"#,
        r#""finish_reason":"function_call""#,
    ]);
    assert_eq!(calls(&reply), [("call_0", "calculate", r#"{"a":1}"#)]);
    let (events, _) =
        read(&[r#""delta":{"content":"ok"}"#, r#""message":{"content":"ok"},"finish_reason":"stop""#]);
    assert_eq!(events, [text("ok")], "the message repeats the deltas");
    let pieces = [r#""delta":{},"message":{"content":"ha"}"#; 2];
    assert_eq!(read(&pieces).1.text, "haha", "pieces of a message, beside empty deltas");
    let pieces = [r#""delta":{"content":null},"text":"ha""#; 2];
    assert_eq!(read(&pieces).1.text, "haha", "pieces of a text");
    let call =
        r#""tool_calls":[{"index":0,"id":"c","function":{"name":"calculate","arguments":"{\"a\":1}"}}]"#;
    let told = format!(r#""delta":{{"reasoning":"r",{call}}}"#);
    let whole = told.replace("delta", "message") + r#","finish_reason":"tool_calls""#;
    let (events, called) = read(&[&told, &whole]);
    assert_eq!((events, calls(&called)), (vec![reasoning("r")], vec![("c", "calculate", r#"{"a":1}"#)]));
    let (events, _) = read(&[r#""delta":{"reasoning":"r","content":"ok"},"finish_reason":"stop""#]);
    assert_eq!(events, [reasoning("r"), text("ok")]);
}

/// The decoder of a codec.
fn decoders(codec: &dyn Codec) -> impl Fn() -> Box<dyn Decoder> {
    || codec.decoder(&request(vec![]))
}

#[test]
fn a_whole_reply_is_read_where_a_stream_was_asked_for() {
    let url = "https://api.example";
    let whole = |codec: &dyn Codec, json: &str| {
        let (events, reply) = reply(&decoders(codec), json.as_bytes());
        (text_and_reasoning(&events).0, reply.finish.as_str(), reply.usage.map(|usage| usage.input_tokens))
    };
    let expected = ("ok".to_owned(), "stop", Some(3));
    let chat = r#" {"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":3}}"#;
    assert_eq!(whole(&OpenAiChat::new(url, None), chat), expected);
    let message = r#"{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":3}}"#;
    assert_eq!(whole(&Anthropic::new(url, None), message), expected);
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"o"}]}}]},
        {"candidates":[{"content":{"parts":[{"text":"k"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}]"#;
    assert_eq!(whole(&Gemini::new(url, None), list), expected);
    let response = r#"{"object":"response","status":"completed","error":null,
        "output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}],"usage":{"input_tokens":3}}"#;
    assert_eq!(whole(&OpenAiResponses::new(url, None), response), expected);
    let (events, error) = failure(&fresh, br#"{"error":{"message":"SECRET","code":429}}"#);
    assert_eq!((events, error.kind), (vec![], wire::model::ModelErrorKind::RateLimited));
    failure(&fresh, br#"{"choices":[{"message":{"content":"ok"}"#);
}

#[test]
fn only_an_error_counts_after_a_finish_reason() {
    let ended = r#"data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;
    for rest in ["{\"choices\":[{", "{\"error\":false}", "[1]", ": PROCESSING", "{\"choices\":7}"] {
        let (_, reply) = reply(&fresh, format!("{ended}\n\ndata: {rest}\n\n").as_bytes());
        assert_eq!(reply.text, "ok", "{rest}");
    }
    let stream = format!("{ended}\n\ndata: {{\"error\":{{\"code\":502}}}}\n\n");
    let (events, error) = failure(&fresh, stream.as_bytes());
    assert_eq!((events, error.kind), (vec![text("ok")], wire::model::ModelErrorKind::Overloaded));
}

// At the limit of what is held, and just beyond it.
#[test]
fn blanks_before_a_tag_are_bounded() {
    let said = |blanks: usize| {
        let blanks = format!("\"delta\":{{\"content\":\"{}\"}}", " ".repeat(blanks));
        let thought = r#""delta":{"content":"<think>x</think>y"}"#;
        let (events, reply) = read(&[&blanks, thought, r#""finish_reason":"stop""#]);
        (text_and_reasoning(&events), reply.text)
    };
    assert_eq!(said(super::MAX_BLANKS).1, "y");
    let beyond = said(super::MAX_BLANKS + 1);
    assert!(beyond.0.0.contains("<think>") && beyond.0.0 == beyond.1, "{beyond:?}");
}
