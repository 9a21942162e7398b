//! The servers around the runtime, on one port: the model, the recorder of side effects, D1. It outlives every kill.
//!
//! | path | |
//! |---|---|
//! | `/life/N/v1/chat/completions` | the model |
//! | `/life/N/record` | a tool's side effect |
//! | `/life/N/strike` | a build with faults says that it is about to end |
//! | `/life/N/JOURNEY/…` | the server of a journey |
//! | `/query`, `/execute` | D1, as its binding speaks to it |
//! | any, with the headers of its binding | R2; Workers AI and Vectorize |

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::d1::Database;
use crate::journeys::Call;
use crate::ledger::{Death, Ledger};
use crate::model;
use crate::r2::{self, Bucket};
use crate::rng::Rng;
use crate::script;
use crate::vectors::{self, Index};

pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The failure rates of the world. Each request draws its faults, so that the same seed draws the same ones.
#[derive(Clone, Copy, Default)]
pub struct Weather {
    /// Model calls that fail in some way, in a thousand.
    pub upstream: u64,
    /// D1 batches that fail in some way, in a thousand.
    pub d1: u64,
    /// Requests to R2 that fail in some way, in a thousand.
    pub r2: u64,
    /// Side effects after which the tool panics, in a thousand.
    pub panics: u64,
}

/// A request at which the runtime can be killed, or which can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    ModelAsked,
    ModelAnswers,
    EffectAsked,
    EffectDone,
    D1Asked,
    D1Done,
    R2Asked,
    R2Done,
    /// A server of a journey.
    ServerAsked,
    ServerDone,
    /// Workers AI and Vectorize.
    VectorsAsked,
    VectorsDone,
}

impl Moment {
    pub const ALL: [Moment; 12] = [
        Moment::ModelAsked,
        Moment::ModelAnswers,
        Moment::EffectAsked,
        Moment::EffectDone,
        Moment::D1Asked,
        Moment::D1Done,
        Moment::R2Asked,
        Moment::R2Done,
        Moment::ServerAsked,
        Moment::ServerDone,
        Moment::VectorsAsked,
        Moment::VectorsDone,
    ];
}

/// The act of a trap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Kill,
    /// D1 and R2 refuse the request, or lose its answer.
    Fail,
}

/// Acts at the moment's nth time from now.
#[derive(Clone, Copy, Debug)]
pub struct Trap {
    pub moment: Moment,
    pub nth: u32,
    pub act: Act,
}

/// The state that all requests share.
pub struct World {
    pub ledger: Arc<Ledger>,
    pub database: Database,
    pub bucket: Bucket,
    pub index: Index,
    pub seed: u64,
    /// Its address.
    pub url: String,
    pub weather: watch::Sender<Weather>,
    /// Each message asks for a kill.
    pub kill: tokio::sync::mpsc::UnboundedSender<()>,
    pub trap: Mutex<Option<Trap>>,
    /// How often each moment came.
    pub came: Mutex<BTreeMap<Moment, u32>>,
    /// The bodies that the servers of journeys got, by the play that they belong to.
    pub got: Mutex<BTreeMap<String, Vec<Value>>>,
}

impl World {
    pub fn weather(&self) -> Weather {
        *self.weather.borrow()
    }

    /// Notes that a moment has come, and asks for a kill where a trap waits for it. Returns whether the request fails.
    pub fn moment(&self, moment: Moment) -> bool {
        *self.came.lock().unwrap_or_else(PoisonError::into_inner).entry(moment).or_default() += 1;
        let mut trap = self.trap.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Trap { nth, act, .. }) = trap.as_mut().filter(|trap| trap.moment == moment) else {
            return false;
        };
        *nth = nth.saturating_sub(1);
        if *nth > 0 {
            return false;
        }
        let act = *act;
        *trap = None;
        if act == Act::Kill {
            // The receiver is gone only after the run.
            let _ = self.kill.send(());
        }
        act == Act::Fail
    }

    /// How often a moment came.
    pub fn times(&self, moment: Moment) -> u32 {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).get(&moment).copied().unwrap_or(0)
    }
}

/// Serves for as long as the process runs.
pub async fn serve(listener: TcpListener, world: Arc<World>) {
    loop {
        // An error of `accept` concerns one connection that was never made.
        let Ok((socket, _)) = listener.accept().await else { continue };
        let _ = socket.set_nodelay(true);
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&world), request));
            // Broken connections are the purpose here.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

/// An error closes the connection without an answer.
async fn answer(world: Arc<World>, request: Request<Incoming>) -> Result<Response<Body>, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let path = head.uri.path();
    if r2::is_asked(&head.headers) {
        return r2::answer(&world, &head.headers, &body).await;
    }
    if head.headers.contains_key(vectors::HEADER) {
        return vectors::answer(&world, &head, &body);
    }
    if matches!(path, "/query" | "/execute") {
        return crate::d1::answer(&world, head.uri.query().unwrap_or_default(), &body).await;
    }
    let mut parts = path.trim_start_matches("/life/").splitn(2, '/');
    let life = parts.next().and_then(|life| life.parse().ok()).unwrap_or(0);
    let read = || serde_json::from_slice::<Value>(&body).unwrap_or_default();
    match parts.next().unwrap_or_default() {
        "v1/chat/completions" => model::complete(world, life, &body).await,
        "record" => record(&world, life, &read()).await,
        "strike" => {
            let news = read();
            match news["kind"].as_str() {
                Some("kill") => drop(world.kill.send(())),
                Some("abort") => {
                    world.ledger.struck(Death::Abort, news["turn_id"].as_str().and_then(script::number))
                }
                _ => world.ledger.struck(Death::Panic, None),
            }
            Ok(plain(200, &json!({})))
        }
        path => crate::journeys::serve(world, Call { life, path, head: &head, body }).await,
    }
}

async fn record(world: &World, life: u32, mark: &Value) -> Result<Response<Body>, io::Error> {
    let operation = mark["operation_id"].as_str().unwrap_or_default();
    let tool = mark["tool"].as_str().unwrap_or_default();
    let arguments: Value =
        serde_json::from_str(mark["arguments"].as_str().unwrap_or_default()).unwrap_or_default();
    let label = arguments["label"].as_str().unwrap_or_default();
    world.moment(Moment::EffectAsked);
    let mut rng = Rng::of(world.seed, operation);
    tokio::time::sleep(Duration::from_millis(rng.range(0, 30))).await;
    world.ledger.effect(life, operation, tool, label);
    world.moment(Moment::EffectDone);
    let panic = rng.chance(world.weather().panics);
    // A tool panics once at most: a turn that takes the isolate down each time is given up, by design.
    if panic && world.ledger.first_panic(operation) {
        world.ledger.struck(Death::Panic, None);
        return Ok(plain(200, &json!({ "panic": true })));
    }
    tokio::time::sleep(Duration::from_millis(rng.range(0, 60))).await;
    Ok(plain(200, &json!({ "result": format!("marked {label}") })))
}

/// JSON.
pub fn plain(status: u16, body: &Value) -> Response<Body> {
    let full = Full::new(Bytes::from(body.to_string())).map_err(|never: Infallible| match never {});
    let mut response = Response::new(BodyExt::boxed_unsync(full));
    *response.status_mut() =
        hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    let json = hyper::header::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", json);
    response
}
