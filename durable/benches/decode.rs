//! How fast a reply is decoded: megabytes of stream per second, in reads of 16 KiB. `cargo bench -p espalier-durable`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "a bench prints and measures"
)]

use std::rc::Rc;
use std::time::Instant;

use espalier_durable::model::ModelChoice;
use espalier_durable::providers::Decoder;
use espalier_durable::providers::openai_chat::ChatDecoder;
use espalier_durable::providers::sse::{SseDecoder, SseError};

const READ: usize = 16 * 1024;
const ROUNDS: usize = 400;

fn main() {
    // The framing of OpenAI's own stream, about 260 bytes for each word.
    let chunk = |delta: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-CYPS1lijGoK8gd9lYzY3r9Sx50nbt\",\"object\":\"chat.completion.chunk\",\
             \"created\":1762317021,\"model\":\"gpt-5-nano-2025-08-07\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_b28b39ffa8\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"D3WbtIxo1Q2j1Q\"}}\n\n"
        )
    };
    let stream_of = |delta: &str| {
        let mut stream = chunk(delta).repeat(3000);
        stream
            .push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
        stream
    };
    let text = stream_of("{\"content\":\" streaming\"}");
    let calls = stream_of("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\" piece\"}}]}");
    let escaped = stream_of("{\"content\":\"\\n\\\"quoted\\\" \\u00fc\"}");
    measure("framing alone", &text, |stream| {
        let mut decoder = SseDecoder::new(1 << 20);
        let mut bytes = 0;
        for read in stream.chunks(READ) {
            let fed: Result<(), SseError> = decoder.feed(read, |event| {
                bytes += event.data.len();
                Ok(())
            });
            fed.expect("a stream that can be read");
        }
        bytes
    });
    for (name, stream) in
        [("chat: text", &text), ("chat: escaped text", &escaped), ("chat: arguments", &calls)]
    {
        measure(name, stream, |stream| {
            let mut decoder = ChatDecoder::new(Rc::new(ModelChoice::new("openai", "m")), 0);
            let mut events = Vec::new();
            let mut count = 0;
            for read in stream.chunks(READ) {
                decoder.feed(read, &mut events).expect("a stream that can be read");
                count += events.len();
                events.clear();
            }
            count
        });
    }
}

fn measure(name: &str, stream: &str, decode: impl Fn(&[u8]) -> usize) {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        std::hint::black_box(decode(std::hint::black_box(stream.as_bytes())));
    }
    let megabytes = (stream.len() * ROUNDS) as f64 / 1e6;
    println!("{name:20} {:6.0} MB/s", megabytes / start.elapsed().as_secs_f64());
}
