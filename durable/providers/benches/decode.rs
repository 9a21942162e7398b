//! Measures how fast each codec decodes a reply: bytes of stream per second, in reads of 16 KiB. The target is 200
//! MB/s. `cargo bench -p providers --bench decode`

#![allow(clippy::expect_used, reason = "a bench may fail")]

use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use providers::Codec;
use providers::anthropic::Anthropic;
use providers::gemini::Gemini;
use providers::openai_chat::OpenAiChat;
use providers::openai_responses::OpenAiResponses;
use providers::workers_ai::WorkersAi;
use wire::model::{ModelChoice, ModelRequest};
use wire::sse::{SseDecoder, SseError};

const READ: usize = 16 * 1024;
/// A long reply, of about 10 000 tokens.
const DELTAS: usize = 10_000;

/// A word, one with escapes, and a piece of arguments, as JSON strings.
const PIECES: [(&str, &str); 3] =
    [("text", r#"" streaming""#), ("escaped text", r#""\n\"quoted\" \u00fc""#), ("arguments", r#"" piece""#)];

/// A stream with the framing of OpenAI's own, about 260 bytes for each word.
fn chat(kind: &str, piece: &str) -> String {
    let delta = match kind {
        "arguments" => format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{piece}}}}}]}}"#),
        _ => format!(r#"{{"content":{piece}}}"#),
    };
    let chunk = format!(
        "data: {{\"id\":\"chatcmpl-CYPS1lijGoK8gd9lYzY3r9Sx50nbt\",\"object\":\"chat.completion.chunk\",\
         \"created\":1762317021,\"model\":\"gpt-5-nano-2025-08-07\",\"service_tier\":\"default\",\
         \"system_fingerprint\":\"fp_b28b39ffa8\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\
         \"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"D3WbtIxo1Q2j1Q\"}}\n\n"
    );
    chunk.repeat(DELTAS)
        + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
}

fn responses(kind: &str, piece: &str) -> String {
    let event = match kind {
        "arguments" => "response.function_call_arguments.delta",
        _ => "response.output_text.delta",
    };
    let begin = "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\
                 \"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"f\",\"arguments\":\"\"}}\n\n";
    let delta = format!(
        "event: {event}\ndata: {{\"type\":\"{event}\",\"content_index\":0,\"delta\":{piece},\"item_id\":\
         \"msg_0fabc13af1ee0049006a691dfebdc881a1ae18d027c313d8ce\",\"logprobs\":[],\"obfuscation\":\
         \"RvoJ43TaUvnCS8e\",\"output_index\":0,\"sequence_number\":6}}\n\n"
    );
    begin.to_owned()
        + &delta.repeat(DELTAS)
        + "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"
}

fn anthropic(kind: &str, piece: &str) -> String {
    let (block, delta) = match kind {
        "arguments" => (
            r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{}}"#,
            ("input_json_delta", "partial_json"),
        ),
        _ => (r#"{"type":"text","text":""}"#, ("text_delta", "text")),
    };
    let begin = format!(
        "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{block}}}\n\n"
    );
    let delta = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"{}\",\
         \"{}\":{piece}}}      }}\n\n",
        delta.0, delta.1
    );
    begin + &delta.repeat(DELTAS) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
}

fn gemini(kind: &str, piece: &str) -> String {
    let (begin, part) = match kind {
        "arguments" => {
            let piece = format!("{{\"jsonPath\":\"$.a\",\"stringValue\":{piece},\"willContinue\":true}}");
            let call = format!("{{\"functionCall\":{{\"partialArgs\":[{piece}],\"willContinue\":true}}}}");
            ("{\"functionCall\":{\"name\":\"f\",\"willContinue\":true}}", call)
        }
        _ => ("{\"text\":\"\"}", format!("{{\"text\":{piece}}}")),
    };
    let event = |part: &str, rest: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}],\"role\":\"model\"}},\"index\":0{rest}}}],\
             \"usageMetadata\":{{\"promptTokenCount\":34,\"totalTokenCount\":102,\"promptTokensDetails\":[{{\"modality\":\
             \"TEXT\",\"tokenCount\":34}}]}},\"modelVersion\":\"gemini-2.5-pro\",\"responseId\":\"beHBaJfEMIi-qtsP3769\"}}\r\n\r\n"
        )
    };
    let end = if kind == "arguments" { "{\"functionCall\":{}}" } else { "{\"text\":\"\"}" };
    event(begin, "") + &event(&part, "").repeat(DELTAS) + &event(end, ",\"finishReason\":\"STOP\"")
}

fn workers_ai(kind: &str, piece: &str) -> String {
    let chunk = match kind {
        "arguments" => format!(
            "data: {{\"response\":\"\",\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{piece}}}}}]}}\n\n"
        ),
        _ => format!("data: {{\"response\":{piece},\"p\":\"abcdefghijklmnopqrstuvwxyz01\"}}\n\n"),
    };
    chunk.repeat(DELTAS) + "data: [DONE]\n\n"
}

/// A codec with a stream of its own.
type ReplyCase = (&'static str, Box<dyn Codec>, fn(&str, &str) -> String);

fn wires() -> [ReplyCase; 5] {
    let url = "https://example.com/v1";
    [
        ("chat", Box::new(OpenAiChat::new(url, None)), chat),
        ("responses", Box::new(OpenAiResponses::new(url, None)), responses),
        ("anthropic", Box::new(Anthropic::new(url, None)), anthropic),
        ("gemini", Box::new(Gemini::new(url, None)), gemini),
        ("workers_ai", Box::new(WorkersAi), workers_ai),
    ]
}

fn framing(criterion: &mut Criterion) {
    let stream = chat("text", "\" streaming\"");
    let mut group = criterion.benchmark_group("framing");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    group.bench_function("sse", |bencher| {
        bencher.iter(|| {
            let mut decoder = SseDecoder::new(1 << 20);
            let mut bytes = 0;
            for read in black_box(stream.as_bytes()).chunks(READ) {
                let fed: Result<(), SseError> = decoder.feed(read, |event| {
                    bytes += event.data.len();
                    Ok(())
                });
                fed.expect("a stream that can be read");
            }
            bytes
        });
    });
    group.finish();
}

fn decoding(criterion: &mut Criterion) {
    let request = ModelRequest::new(Rc::new(ModelChoice::new("here", "m")), "".into());
    for (name, codec, stream) in wires() {
        let mut group = criterion.benchmark_group(name);
        for (kind, piece) in PIECES {
            let stream = stream(kind, piece);
            group.throughput(Throughput::Bytes(stream.len() as u64));
            group.bench_function(kind, |bencher| {
                bencher.iter(|| {
                    let mut decoder = codec.decoder(&request);
                    let mut events = Vec::new();
                    let mut count = 0;
                    for read in black_box(stream.as_bytes()).chunks(READ) {
                        decoder.feed(read, &mut events).expect("a stream that can be read");
                        count += events.len();
                        events.clear();
                    }
                    decoder.finish(&mut events).expect("a whole stream");
                    count + events.len()
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, framing, decoding);
criterion_main!(benches);
