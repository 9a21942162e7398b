//! Journeys: fixed conversations of several requests through any door of the service, a file each.
//!
//! `harness/journeys.rs` plays a journey undisturbed and then with one fault at each of its boundaries: a strike at each
//! commit of each of its turns, a kill at each request that the world gets, a request of D1 or R2 that fails. A client
//! repeats each request until it has an answer (`trip.rs`), and the outcome must be that of the undisturbed one.
//! `normal.rs` makes outcomes comparable. The ledger judges model calls and effects, as in every turn.
//!
//! A new journey is a file here and a line of [`ALL`].

mod ai_sdk;
mod chat;
mod completions;
mod deletion;
mod documents;
mod erasure;
mod external;
mod frames;
mod instructions;
mod lasting;
mod limits;
mod mcp;
mod mcp_server;
mod normal;
mod notify;
mod responses;
mod restore;
mod retention;
mod shares;
mod stored;
mod titles;
mod trip;
mod verifier;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use espalier_test_support::{Step, Value, json};
use hyper::Response;
use hyper::http::request::Parts;

use crate::world::{Body, World, plain};

pub use normal::normal;
pub use trip::{Answer, Strike, Trip};

/// A play, which stays on the harness' own task.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;
/// The answer of a server.
pub type Served<'a> = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send + 'a>>;

/// A request to the server of a journey.
pub struct Call<'a> {
    pub life: u32,
    /// The path behind `/life/N/`, which begins with the journey's name.
    pub path: &'a str,
    pub head: &'a Parts,
    pub body: Bytes,
}

/// A conversation with a comparable outcome.
pub trait Journey: Send + Sync {
    /// Its name on the command line, and the beginning of its markers (`NAME/PATH#NUMBER`) and of its server's paths.
    fn name(&self) -> &'static str;

    /// Plays it to its end, also where D1 hears of it later. The outcome is what its client saw, and what D1, R2 and the
    /// service say at the end.
    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>>;

    /// The model's reply to a step of the level at this path of a marker.
    fn reply(&self, _path: &str, _number: &str, _step: usize, _body: &Value) -> Option<Step> {
        None
    }

    /// The level whose verdict a step of the level at this path shows: its model call is in the journal.
    fn journaled_level(&self, _path: &str, _step: usize) -> Option<&'static str> {
        None
    }

    /// Variables of the runtime; `world` is the address of the world for one life.
    fn vars(&self, _world: &str) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Variables of the runtime while this journey is played.
    fn own_vars(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Whether its user has an API key, which all plays of the run share, in place of a visitor's cookie.
    fn has_key(&self) -> bool {
        false
    }

    /// The outcome in place of this one that is right as well, where D1 refused a request or lost its answer.
    fn without_d1(&self, outcome: Value) -> Value {
        outcome
    }

    /// Its server in the world.
    fn serve<'a>(&'a self, _world: &'a World, _call: Call<'a>) -> Served<'a> {
        Box::pin(async { Ok(plain(404, &json!({}))) })
    }

    /// One of so many of its boundaries is tried, where the run tries all of the others.
    fn stride(&self) -> u32 {
        1
    }
}

/// The journeys of a run, in the order in which they are played.
pub const ALL: [&dyn Journey; 18] = [
    &external::External,
    &verifier::Verifier,
    &mcp::Mcp,
    &mcp_server::McpServer,
    &completions::Completions,
    &responses::Responses,
    &ai_sdk::AiSdk,
    &instructions::Instructions,
    &documents::Documents,
    &restore::Restore,
    &shares::Shares,
    &lasting::Lasting,
    &limits::Limits,
    &notify::Notify,
    &titles::Titles,
    &deletion::Deletion,
    &retention::Retention,
    &erasure::Erasure,
];

/// Those of a run, or the one of this name.
pub fn wanted(only: Option<&str>) -> Vec<&'static dyn Journey> {
    match only {
        None => ALL.to_vec(),
        Some(name) => ALL.into_iter().filter(|journey| journey.name() == name).collect(),
    }
}

/// The model's reply to a step of a journey.
pub fn reply(marker: &str, step: usize, body: &Value) -> Option<Step> {
    let (place, number) = marker.rsplit_once('#')?;
    let (name, path) = place.split_once('/').unwrap_or((place, ""));
    named(name)?.reply(path, number, step, body)
}

/// The marker of the level whose model call is in the journal, as a request of a journey shows.
pub fn journaled_level(marker: &str, step: usize) -> Option<String> {
    let (place, number) = marker.rsplit_once('#')?;
    let (name, path) = place.split_once('/')?;
    named(name)?.journaled_level(path, step).map(|level| format!("{name}/{level}#{number}"))
}

/// The variables of all journeys.
pub fn vars(world: &str) -> Vec<(&'static str, String)> {
    ALL.into_iter().flat_map(|journey| journey.vars(world)).collect()
}

/// Answers a request to the server of a journey.
pub async fn serve(world: Arc<World>, call: Call<'_>) -> io::Result<Response<Body>> {
    match named(call.path.split('/').next().unwrap_or_default()) {
        Some(journey) => journey.serve(&world, call).await,
        None => Ok(plain(404, &json!({ "error": call.path }))),
    }
}

/// The journey with this name.
pub fn named(name: &str) -> Option<&'static dyn Journey> {
    ALL.into_iter().find(|journey| journey.name() == name)
}
