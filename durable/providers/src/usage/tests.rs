use std::rc::Rc;

use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::testing::{self, choice};
use crate::{Codec, Decoder};
use wire::model::{ModelRequest, Usage};

fn count(usage: &Value) -> u64 {
    unknown_members("chat", &to_raw_value(usage).unwrap(), &["input", "details.cached", "cost*"])
}

// Issue 43
#[test]
fn unknown_members_are_counted_and_named_once() {
    let usage = json!({
        "input": 5, "novel": 3, "none": 0, "word": "flex", "list": [1], "null": null, "cost": 0.1,
        "cost_details": {"a": 1}, "details": {"cached": 1, "written": 2, "deep": {"er": 1}, "input": 1},
    });
    assert_eq!((count(&usage), count(&usage)), (3, 3));
    assert_eq!(new_unknown_members(), ["chat: details.input", "chat: details.written", "chat: novel"]);
    count(&usage);
    assert_eq!(new_unknown_members(), [""; 0]);
    for strange in [json!(7), json!(null), json!([1]), json!({"x".repeat(200): 1}), json!({"\u{1b}[2J": 1})] {
        count(&strange);
    }
    assert_eq!(new_unknown_members(), [""; 0]);
    for name in 0..2 * MAX_NAMES {
        count(&json!({format!("n{name}"): 1}));
    }
    assert_eq!(new_unknown_members().len(), MAX_NAMES - 3);
}

#[test]
fn a_tier_that_costs_the_same_is_the_standard_one() {
    use ServiceTier::*;
    let tiers = ["flex", "priority", "fast", "default", "auto", ""].map(|word| service_tier(word, Standard));
    assert_eq!(tiers, [Flex, Priority, Priority, Standard, Standard, Standard]);
    // Issue 43: where the provider does not tell, it is the one that was asked.
    assert_eq!(["", "default"].map(|word| service_tier(word, Priority)), [Priority, Standard]);
}

/// The usage of a reply with these events.
fn usage(codec: &dyn Codec, events: &[Value]) -> Usage {
    let request = ModelRequest::new(Rc::new(choice()), "".into());
    let fresh = || -> Box<dyn Decoder> { codec.decoder(&request) };
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    testing::reply(&fresh, stream.as_bytes()).1.usage.unwrap()
}

// Issue 43: OpenAI bills what it writes to its cache at 1.25 times the input.
#[test]
fn openais_cache_writes_and_service_tiers_are_read() {
    let expected = Usage {
        input_tokens: 78,
        cached_tokens: 20,
        cache_write_tokens: 40,
        output_tokens: 9,
        service_tier: ServiceTier::Priority,
        ..Usage::default()
    };
    let chat = |details: Value| {
        let finish = json!({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]});
        let counts = json!({"prompt_tokens": 78, "completion_tokens": 9, "total_tokens": 87,
            "prompt_tokens_details": details, "completion_tokens_details": {"reasoning_tokens": 4}});
        let last = json!({"choices": [], "service_tier": "priority", "usage": counts});
        usage(&OpenAiChat::new("https://x.test", None), &[finish, last])
    };
    let responses = |details: Value| {
        let counts = json!({"input_tokens": 78, "output_tokens": 9, "total_tokens": 87,
            "input_tokens_details": details, "output_tokens_details": {"reasoning_tokens": 4}});
        let response = json!({"status": "completed", "service_tier": "priority", "usage": counts});
        let text = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "x"});
        let end = json!({"type": "response.completed", "response": response});
        usage(&OpenAiResponses::new("https://x.test", None), &[text, end])
    };
    for read in [&chat as &dyn Fn(Value) -> Usage, &responses] {
        assert_eq!(read(json!({"cached_tokens": 20, "cache_write_tokens": 40})), expected);
        let novel = read(json!({"cached_tokens": 20, "cache_write_tokens": 40, "audio_tokens": 3}));
        assert_eq!(novel, Usage { unknown_members: 1, ..expected });
        let none = Usage { cached_tokens: 0, cache_write_tokens: 0, ..expected };
        assert_eq!(read(json!(null)), none);
    }
    let named = ["chat: prompt_tokens_details.audio_tokens", "responses: input_tokens_details.audio_tokens"];
    assert_eq!(new_unknown_members(), named);
}

// Issue 43
#[test]
fn the_other_wires_count_unknown_members_too() {
    let counts = json!({
        "input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 0, "output_tokens": 1,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "service_tier": "standard", "server_tool_use": {"web_search_requests": 2},
    });
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "usage": counts}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let expected = Usage {
        input_tokens: 35,
        cache_write_tokens: 30,
        cache_write_1h_tokens: 20,
        output_tokens: 9,
        unknown_members: 1,
        ..Usage::default()
    };
    assert_eq!(usage(&Anthropic::new("https://x.test", None), &events), expected);

    let content = json!({"role": "model", "parts": [{"text": "x"}]});
    let counts = json!({"promptTokenCount": 5, "candidatesTokenCount": 1, "totalTokenCount": 6, "novelTokenCount": 1,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}]});
    let event =
        json!({"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": counts});
    let expected = Usage { input_tokens: 5, output_tokens: 1, unknown_members: 1, ..Usage::default() };
    assert_eq!(usage(&Gemini::new("https://x.test", None), &[event]), expected);
    let named = ["messages: server_tool_use.web_search_requests", "gemini: novelTokenCount"];
    assert_eq!(new_unknown_members(), named);
}
