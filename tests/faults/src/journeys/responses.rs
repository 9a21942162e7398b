//! A client of Responses whose answer is made in the background: it reads the events, and after each loss those that
//! follow the last one it has.

use std::collections::BTreeMap;

use espalier_test_support::{Step, Value, calls, json, text};
use tokio::time::{Instant, sleep};

use super::trip::{PATIENCE, PAUSE};
use super::{Journey, Trip, Work};

pub struct Responses;

const PATH: &str = "/v1/responses";

impl Journey for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let label = |place: usize| json!({ "label": format!("responses#{number}.{step}.{place}") });
        Some(match (path, step) {
            ("", 0) => {
                calls([("record_once", label(0)), ("record_again", label(1))]).saying("Let me do it. ")
            }
            ("", 1) => text("It is done, and these are the last words."),
            _ => return None,
        })
    }
}

/// The events by their numbers.
type Events = BTreeMap<u64, Value>;

async fn play(trip: &Trip) -> Result<Value, String> {
    let body = json!({
        "input": trip.message(""), "background": true, "metadata": { "thread_id": "mine" },
    });
    let key = trip.other_id(1);
    let begun = trip.ask("POST", PATH, &[("idempotency-key", &key)], &body).await?.json();
    let id = begun["id"].as_str().ok_or_else(|| format!("no id in {begun}"))?;
    let ours = read(trip, id, true).await?;
    let uncut = read(trip, id, false).await?;
    for (number, event) in &uncut {
        match ours.get(number) {
            Some(seen) if seen == event => {}
            seen => {
                return Err(format!("event {number} is {event}, and the client that came back has {seen:?}"));
            }
        }
    }
    // Text that a death took back has no place in the log: neither a piece of it, nor the beginning of its item.
    let in_log = |event: &Value| {
        uncut.values().any(|other| item_of(other).is_some() && item_of(other) == item_of(event))
    };
    let is_taken_back = |event: &Value| is_delta(event) || item_of(event).is_some() && !in_log(event);
    let extra = ours.iter().find(|(number, event)| !uncut.contains_key(number) && !is_taken_back(event));
    if let Some((number, event)) = extra {
        return Err(format!("only the client that came back has event {number}: {event}"));
    }
    let answer = trip.get(&format!("{PATH}/{id}")).await?;
    let thread = answer["metadata"]["thread_id"].as_str().unwrap_or_default().to_owned();
    // The ids of items come from that of the turn, and a call that a death cut off may have no result.
    let items = answer["output"].as_array().into_iter().flatten();
    let items: Vec<Value> =
        items.map(|item| json!([item["type"], item["name"], item["content"][0]["text"]])).collect();
    Ok(json!({ "status": answer["status"], "output": items, "messages": trip.messages(&thread, 2).await? }))
}

/// The item of an event.
fn item_of(event: &Value) -> Option<&str> {
    event["item"]["id"].as_str().or_else(|| event["item_id"].as_str())
}

fn is_delta(event: &Value) -> bool {
    event["type"].as_str().is_some_and(|kind| kind.ends_with(".delta"))
}

/// The events from the first to the last one. A client that comes back asks for those after the last that it has, any
/// other begins anew.
async fn read(trip: &Trip, id: &str, comes_back: bool) -> Result<Events, String> {
    let began = Instant::now();
    let mut events = Events::new();
    while began.elapsed() < PATIENCE {
        let after = events.keys().next_back().filter(|_| comes_back);
        let after = after.map(|after| format!("&starting_after={after}")).unwrap_or_default();
        let path = format!("{PATH}/{id}?stream=true{after}");
        if !comes_back {
            events.clear();
        }
        if let Some(frames) = trip.frames("GET", &path, &[], &json!(null)).await {
            if frames.status >= 400 && frames.status < 500 {
                return Err(format!("{path} was answered with {}", frames.status));
            }
            for event in frames.values() {
                let Some(number) = event["sequence_number"].as_u64() else { continue };
                if let Some(before) = events.insert(number, event.clone())
                    && before != event
                {
                    return Err(format!("the number {number} is that of {before} and of {event}"));
                }
            }
            if events.values().next_back().is_some_and(is_end) {
                return Ok(events);
            }
        }
        sleep(PAUSE).await;
    }
    Err(format!("the response has no end: {:?}", events.values().next_back()))
}

fn is_end(event: &Value) -> bool {
    ["response.completed", "response.failed", "response.incomplete"].iter().any(|end| event["type"] == *end)
}
