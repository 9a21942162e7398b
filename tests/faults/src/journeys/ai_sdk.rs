//! A client of the AI SDK: it sends a message, resumes a stream that broke off, and sends the same message again where
//! there is nothing to resume.

use espalier_test_support::{Step, Value, calls, json, text};
use tokio::time::{Instant, sleep};

use super::frames::Frames;
use super::trip::{PATIENCE, PAUSE};
use super::{Journey, Trip, Work};

pub struct AiSdk;

const PATH: &str = "/api/ai-sdk/chat";

impl Journey for AiSdk {
    fn name(&self) -> &'static str {
        "ai-sdk"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let label = |place: usize| json!({ "label": format!("ai-sdk#{number}.{step}.{place}") });
        Some(match (path, step) {
            ("", 0) => {
                calls([("record_once", label(0)), ("record_again", label(1))]).saying("Let me do it. ")
            }
            ("", 1) => text("It is done."),
            _ => return None,
        })
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let message =
        json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": trip.message("") }] });
    let body = json!({ "id": "chat", "messages": [message], "trigger": "submit-message" });
    let began = Instant::now();
    let stream = format!("{PATH}/chat/stream");
    let mut last = None;
    while began.elapsed() < PATIENCE {
        let mut frames = trip.frames("POST", PATH, &[], &body).await;
        while frames.as_ref().is_some_and(|frames| frames.status == 200 && !is_over(frames)) {
            sleep(PAUSE).await;
            frames = trip.frames("GET", &stream, &[], &json!(null)).await;
        }
        if let Some(frames) = frames {
            if frames.status == 200 {
                return outcome(trip, &frames.values()).await;
            }
            last = Some((frames.status, frames.data));
        }
        sleep(PAUSE).await;
    }
    Err(format!("the answer has no end; last {last:?}"))
}

fn is_over(frames: &Frames) -> bool {
    frames.is_whole && frames.values().iter().any(|frame| frame["type"] == "finish")
}

/// The parts of the message that the frames make, without those that a `reset-step` drops.
async fn outcome(trip: &Trip, frames: &[Value]) -> Result<Value, String> {
    let mut text = String::new();
    let mut at_step = 0;
    let mut tools = Vec::new();
    let mut thread = String::new();
    let mut finish = Value::Null;
    for frame in frames {
        match frame["type"].as_str().unwrap_or_default() {
            "start" => thread = frame["messageMetadata"]["threadId"].as_str().unwrap_or_default().to_owned(),
            "start-step" => at_step = text.len(),
            "reset-step" => text.truncate(at_step),
            "text-delta" => text += frame["delta"].as_str().unwrap_or_default(),
            "tool-output-available" => tools.push(frame["output"].clone()),
            "tool-output-error" => tools.push(json!("an error")),
            "finish" => finish = frame["finishReason"].clone(),
            _ => {}
        }
    }
    // A call that is not idempotent ends in an error where a death cut it off.
    tools.truncate(2);
    let messages = trip.messages(&thread, 2).await?;
    Ok(json!({ "text": text, "finish": finish, "tools": tools.len(), "messages": messages }))
}
