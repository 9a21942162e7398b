//! The tables of the codecs, and a stream of our own for each, by the documentation of its API.

use super::*;

const CHAT: &str = r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"WORD1 ","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"error":null}

data: {"id":"c","choices":[{"index":0,"delta":{"content":"WORD2","reasoning":null,"reasoning_content":"THOUGHT","tool_calls":null},"finish_reason":null,"error":null}],"service_tier":"default"}

data: {"id":"c","choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"search","arguments":""},"extra":{"signature":"s"}}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"query\":"}}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"first\"}"}}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"write","arguments":"{}"}}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}

data: [DONE]

"#;

/// The older forms of a choice, and a whole message.
const OLD_CHAT: &str = r#"data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"THOUGHT"}]},{"type":"text","text":"WORD1 "}]}}]}

data: {"choices":[{"index":0,"message":{"role":"assistant","content":"WORD2","function_call":{"name":"search","arguments":"{}"}},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}

data: [DONE]

"#;

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"c","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":0},"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"THOUGHT"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"","citations":null}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"WORD1 "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"WORD2"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"char_location","start":1}}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_a","name":"search","input":{},"caller":{"type":"direct"}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"first\"}"}}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_b","name":"write","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

"#;

const GEMINI: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"THOUGHT","thought":true}],"role":"model"},"index":0}],"error":null}

data: {"candidates":[{"content":{"parts":[{"text":"WORD1 "}],"role":"model"},"index":0,"safetyRatings":[]}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":1},"promptFeedback":{"blockReason":null},"modelVersion":"g"}

data: {"candidates":[{"content":{"parts":[{"text":"WORD2","thought":false,"thoughtSignature":"s"}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"search","args":{"query":"first"}},"thoughtSignature":"s"}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"write","willContinue":true}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.text","stringValue":"second","willContinue":true}],"willContinue":true}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"trafficType":"ON_DEMAND"},"responseId":"r"}

"#;

const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","error":null,"output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","item_id":"rs","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs","output_index":0,"summary_index":0,"delta":"THOUGHT"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning","encrypted_content":"g","summary":[{"type":"summary_text","text":"THOUGHT"}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"id":"i","type":"message","status":"in_progress","content":[],"role":"assistant"}}

data: {"type":"response.output_text.delta","item_id":"i","output_index":1,"content_index":0,"delta":"WORD1 ","logprobs":[]}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"i","output_index":1,"content_index":0,"delta":"WORD2","logprobs":[]}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"i","type":"message","status":"completed","content":[{"type":"output_text","text":"WORD1 WORD2"}],"role":"assistant"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc","type":"function_call","call_id":"call_a","name":"search","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc","output_index":2,"delta":"{\"query\":\"first\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc","type":"function_call","status":"completed","call_id":"call_a","name":"search","arguments":"{\"query\":\"first\"}"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","status":"completed","error":null,"incomplete_details":null,"output":[],"service_tier":"default","usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":2}}}

"#;

/// The binding's own form.
const WORKERS_AI: &str = r#"data: {"response":"WORD1 ","p":"abcdef","error":null,"errors":[],"tool_calls":null}

data: {"response":"WORD2","tool_calls":[],"finish_reason":null}

data: {"response":"","tool_calls":[{"name":"search","arguments":{"query":"first"}},{"id":"call_b","type":"function","index":1,"function":{"name":"write","arguments":"{}"}}]}

data: {"response":null,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}

data: [DONE]

"#;

const URL: &str = "https://api.example";

/// The members that carry words in the chunks of Chat Completions.
const OF_CHAT: &[&str] =
    &["content", "reasoning", "reasoning_content", "refusal", "text", "thinking", "name", "arguments"];

const CHOICES: (&str, &str) = ("/choices/*/index", "it says which of several replies a choice belongs to");

#[test]
fn openai_chat() {
    Table {
        codec: Box::new(OpenAiChat::new(URL, None)),
        own: &[CHAT, OLD_CHAT],
        recorded: &["chat-", "local-"],
        carrying: OF_CHAT.to_vec(),
        required: &[CHOICES],
        kinds: &["/choices/*/delta/content/*/type"],
    }
    .run();
}

#[test]
fn workers_ai() {
    Table {
        codec: Box::new(WorkersAi),
        own: &[WORKERS_AI, CHAT],
        recorded: &["chat-02", "chat-04", "chat-11"],
        carrying: [OF_CHAT, &["response"]].concat(),
        required: &[CHOICES],
        kinds: &["/choices/*/delta/content/*/type"],
    }
    .run();
}

#[test]
fn anthropic() {
    Table {
        codec: Box::new(Anthropic::new(URL, None)),
        own: &[ANTHROPIC],
        recorded: &["anthropic-"],
        carrying: vec!["text", "thinking", "name", "input", "partial_json"],
        required: &[
            ("/type", "it tells the kind of the event"),
            ("/content_block/type", "it tells a call of ours from a call of a tool of Anthropic's own"),
        ],
        kinds: &["/type", "/content_block/type"],
    }
    .run();
}

#[test]
fn gemini() {
    Table {
        codec: Box::new(Gemini::new(URL, None)),
        own: &[GEMINI],
        recorded: &["gemini-"],
        carrying: vec!["text", "name", "args", "stringValue", "numberValue", "boolValue"],
        required: &[
            ("/candidates/*/finishReason", "it alone says that the reply is whole"),
            ("/promptFeedback/blockReason", "it is the reason to stop where no candidate comes"),
            ("/candidates/*/content/parts/*/thought", "it tells reasoning from text"),
            (
                "/candidates/*/content/parts/*/functionCall/partialArgs/*/jsonPath",
                "it is the place of an argument",
            ),
        ],
        kinds: &[],
    }
    .run();
}

#[test]
fn openai_responses() {
    Table {
        codec: Box::new(OpenAiResponses::new(URL, None)),
        own: &[RESPONSES],
        recorded: &["responses-"],
        carrying: vec!["delta", "text", "refusal", "name", "arguments"],
        required: &[("/type", "it tells the kind of the event")],
        kinds: &["/type", "/item/type"],
    }
    .run();
}
