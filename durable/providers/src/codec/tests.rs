//! The rules that all codecs share: the beginning of a reply, and events that belong to no reply.

use std::rc::Rc;

use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::testing;
use crate::workers_ai::WorkersAi;
use crate::{Codec, Decoder};

/// Each codec, with the events before a call, the first event of a call, and a stream whose text is `x`.
fn codecs() -> [(Rc<dyn Codec>, &'static str, &'static str, &'static str); 5] {
    let url = "https://llm.test/v1";
    [
        (
            Rc::new(OpenAiChat::new(url, None)),
            r#"{"choices":[{"delta":{"role":"assistant","content":"","tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}]}"#,
            "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n",
        ),
        (
            Rc::new(OpenAiResponses::new(url, None)),
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"a"}}"#,
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"x\"}\n\n\
             data: {\"type\":\"response.completed\",\"response\":{}}\n\n",
        ),
        (
            Rc::new(Anthropic::new(url, None)),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f"}}"#,
            "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            Rc::new(Gemini::new(url, None)),
            r#"{"candidates":[{"content":{"parts":[{"text":""}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}"#,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
        (
            Rc::new(WorkersAi),
            r#"{"response":"","tool_calls":[]}"#,
            r#"{"tool_calls":[{"name":"f","arguments":{}}]}"#,
            "data: {\"response\":\"x\"}\n\ndata: [DONE]\n\n",
        ),
    ]
}

fn decoder(codec: &dyn Codec) -> Box<dyn Decoder> {
    codec.decoder(&testing::request(vec![testing::user("go")]))
}

// Issue 43: a call is told by the end of its reply, but an answer begins with it.
#[test]
fn a_decoder_knows_when_a_call_has_begun() {
    for (codec, before, call, _) in codecs() {
        let (mut decoder, mut events) = (decoder(&*codec), Vec::new());
        let mut feed = |data: &str| {
            decoder.feed(format!("data: {data}\n\n").as_bytes(), &mut events).unwrap();
            decoder.has_call()
        };
        assert_eq!((feed(before), feed(call)), (false, true), "{call}");
        assert_eq!(events, [], "{call}");
    }
}

// Issue 43
#[test]
fn an_event_that_is_no_json_object_is_skipped() {
    for (codec, .., text) in codecs() {
        for other in [": PROCESSING", "", "17", "[7]", "\"x\"", "null", "keep-alive"] {
            let stream = format!("data: {other}\n\n{text}");
            let (events, reply) = testing::reply(&|| decoder(&*codec), stream.as_bytes());
            assert_eq!((events, reply.text.as_str()), (vec![testing::text("x")], "x"), "{other}");
        }
        // An object that cannot be read may be a part of the reply.
        let broken = format!("data: {{\n\n{text}");
        testing::failure(&|| decoder(&*codec), broken.as_bytes());
    }
}
