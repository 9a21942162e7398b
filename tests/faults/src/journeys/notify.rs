//! The notice of a session's end to the address of its definition: it arrives, the same each time, and only a death sends it
//! again.

use std::io;
use std::sync::PoisonError;

use espalier_test_support::{Value, json};
use hyper::Response;

use super::{Call, Journey, Served, Trip, Work};
use crate::world::{Body, Moment, World, plain};

pub struct Notify;

impl Journey for Notify {
    fn name(&self) -> &'static str {
        "notify"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn vars(&self, world: &str) -> Vec<(&'static str, String)> {
        let host = world.split('/').nth(2).unwrap_or_default();
        vec![("FETCH_ALLOW", host.to_owned())]
    }

    fn serve<'a>(&'a self, world: &'a World, call: Call<'a>) -> Served<'a> {
        Box::pin(serve(world, call))
    }
}

async fn serve(world: &World, call: Call<'_>) -> io::Result<Response<Body>> {
    world.moment(Moment::ServerAsked);
    let notice = serde_json::from_slice(&call.body).unwrap_or_default();
    let mut got = world.got.lock().unwrap_or_else(PoisonError::into_inner);
    got.entry(call.path.to_owned()).or_default().push(notice);
    world.moment(Moment::ServerDone);
    Ok(plain(200, &json!({})))
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let deaths = || trip.world().ledger.counts().deaths.values().sum::<u32>() as usize;
    let before = deaths();
    let place = format!("notify/{}", trip.number);
    let url = format!("{}/life/0/{place}", trip.world().url);
    let steps = json!([{ "id": "a", "title": "a", "instructions": "Do a." }]);
    let path = "/api/workflows/notifying";
    let definition = json!({ "name": "Notifying", "steps": steps, "notify": { "url": url } });
    trip.ask("PUT", path, &[], &definition).await?;
    let path = format!("{path}/sessions");
    let started = trip.expect(200, "POST", &path, &json!({ "goal": "Find out" })).await?;
    let path = format!("{path}/{}/continue", started["session_id"].as_str().unwrap_or_default());
    let notes = "The step is done, and these are the notes of its client about it.";
    let body = json!({ "continue_token": started["continue_token"], "notesMarkdown": notes });
    let ended = trip.expect(200, "POST", &path, &body).await?;
    let notices = || {
        let got = trip.world().got.lock().unwrap_or_else(PoisonError::into_inner);
        got.get(&place).cloned().unwrap_or_default()
    };
    trip.until("the notice", async || (!notices().is_empty()).then_some(())).await?;
    let mut notices = notices();
    let most = 1 + deaths() - before;
    if notices.len() > most {
        return Err(format!("{} notices came, {most} are allowed", notices.len()));
    }
    notices.dedup();
    Ok(json!({ "ended": ended, "notices": notices }))
}
