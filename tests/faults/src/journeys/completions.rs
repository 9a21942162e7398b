//! A client of Chat Completions that repeats a request by the same key: once for an answer in JSON, once for a stream.

use espalier_test_support::{Step, Value, calls, json, text};
use tokio::time::{Instant, sleep};

use super::trip::{PATIENCE, PAUSE};
use super::{Journey, Trip, Work};

pub struct Completions;

const PATH: &str = "/v1/chat/completions";

impl Journey for Completions {
    fn name(&self) -> &'static str {
        "completions"
    }

    fn stride(&self) -> u32 {
        2
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let marker = if path.is_empty() {
            format!("completions#{number}")
        } else {
            format!("completions/{path}#{number}")
        };
        let label = |place: usize| json!({ "label": format!("{marker}.{step}.{place}") });
        Some(match step {
            0 => calls([("record_once", label(0)), ("record_again", label(1))]).saying("Let me do it. "),
            1 => text("It is done."),
            _ => return None,
        })
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let metadata = json!({ "thread_id": "mine" });
    let user = |content: String| json!({ "role": "user", "content": content });
    let mut messages = vec![user(trip.message(""))];
    let body = json!({ "messages": messages, "metadata": metadata });
    let key = trip.other_id(1);
    let ask = || async {
        Ok::<_, String>(trip.ask("POST", PATH, &[("idempotency-key", &key)], &body).await?.json())
    };
    let mut first = ask().await?;
    let again = ask().await?;
    if first != again {
        return Err(format!("the same key was answered with {again}, and before with {first}"));
    }
    let thread = first["metadata"]["thread_id"].clone();
    let thread = thread.as_str().ok_or_else(|| format!("no thread in {first}"))?;
    messages.push(first["choices"][0]["message"].clone());
    messages.push(user(trip.message("more")));
    let body = json!({ "messages": messages, "metadata": metadata, "stream": true });
    let second = streamed(trip, &body).await?;
    // A repeated model call costs more.
    first["usage"].take();
    Ok(json!({ "first": first, "second": second, "messages": trip.messages(thread, 4).await? }))
}

/// The text and the finish reason of a stream that came to its end.
async fn streamed(trip: &Trip, body: &Value) -> Result<Value, String> {
    let key = trip.other_id(2);
    let began = Instant::now();
    let mut last = None;
    while began.elapsed() < PATIENCE {
        if let Some(frames) = trip.frames("POST", PATH, &[("idempotency-key", &key)], body).await {
            if frames.data.last().is_some_and(|last| last == "[DONE]") {
                let choices: Vec<Value> =
                    frames.values().into_iter().map(|frame| frame["choices"][0].clone()).collect();
                let text: String =
                    choices.iter().filter_map(|choice| choice["delta"]["content"].as_str()).collect();
                let finish = choices.iter().rev().find_map(|choice| choice["finish_reason"].as_str());
                return Ok(json!([text, finish]));
            }
            last = Some((frames.status, frames.data));
        }
        sleep(PAUSE).await;
    }
    Err(format!("the streamed answer has no end; last {last:?}"))
}
