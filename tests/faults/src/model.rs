//! The model: plays its script, and fails as often as the weather says.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use espalier_test_support::fake_llm::{Act, Head, TITLE, check, end, reply_body};
use espalier_test_support::{Step, Value, json};
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::HeaderValue;
use tokio::sync::mpsc;

use crate::journeys;
use crate::rng::Rng;
use crate::script;
use crate::world::{Body, Moment, World, plain};

/// The failures of a provider.
#[derive(Clone, Copy)]
enum Fault {
    /// HTTP 500 or 503.
    Down(u16),
    /// 429 with `Retry-After: 1`.
    Busy,
    /// No byte for so many milliseconds, then the connection breaks.
    Silent(u64),
    /// So many pieces, then silence for so many milliseconds, then the connection breaks.
    Stuck(usize, u64),
    /// The connection breaks after so many pieces.
    Cut(usize),
    /// The body ends after so many pieces as if it were complete.
    Short(usize),
    /// So many pieces, then bytes that are no answer.
    Garbage(usize),
}

const GARBAGE: [&[u8]; 4] = [
    b"<html><body>502 Bad Gateway</body></html>\n\n",
    b"data: {\"choices\": [{\"delta\": {\"content\": \n\n",
    b"data: \xff\xfe\x00\n\n",
    b"data: [1, 2, 3]\n\n",
];

impl Fault {
    fn draw(rng: &mut Rng) -> Self {
        let pieces = rng.range(1, 8) as usize;
        match rng.range(0, 8) {
            0 => Fault::Down(*rng.pick(&[500, 502, 503])),
            1 => Fault::Busy,
            2 => Fault::Silent(rng.range(300, 2500)),
            3 => Fault::Stuck(pieces, rng.range(300, 2500)),
            4 | 5 => Fault::Cut(pieces),
            6 => Fault::Short(pieces),
            _ => Fault::Garbage(pieces - 1),
        }
    }

    /// Whether the service may meet it before the first word of the reply. The first piece has the role alone. A connection
    /// that breaks takes along what its receiver has not read yet.
    fn may_precede_the_first_word(self) -> bool {
        match self {
            Fault::Down(_) | Fault::Busy | Fault::Silent(_) | Fault::Cut(_) => true,
            Fault::Stuck(pieces, _) | Fault::Short(pieces) | Fault::Garbage(pieces) => pieces < 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Fault::Down(_) => "500",
            Fault::Busy => "429",
            Fault::Silent(_) | Fault::Stuck(..) => "hang",
            Fault::Cut(_) | Fault::Short(_) => "cut",
            Fault::Garbage(_) => "garbage",
        }
    }
}

/// Answers one request of the Chat Completions API.
pub async fn complete(world: Arc<World>, life: u32, body: &[u8]) -> Result<Response<Body>, io::Error> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let refuse = |message: String| {
        world.ledger.bad_history(message.clone());
        Ok(plain(400, &json!({ "error": { "message": message, "type": "invalid_request_error" } })))
    };
    if let Err(message) = check(&body) {
        return refuse(message);
    }
    let Asked { marker, step, script, attempt } = match asked(&world, life, &body) {
        Ok(asked) => asked,
        Err(message) => return refuse(message),
    };
    world.moment(Moment::ModelAsked);
    let mut rng = Rng::of(world.seed, &format!("{marker} {step} {attempt}"));
    let fault = if rng.chance(world.weather().upstream) { Some(Fault::draw(&mut rng)) } else { None };
    if let Some(fault) = fault {
        world.ledger.upstream(fault.name());
    }
    if fault.is_some_and(Fault::may_precede_the_first_word) {
        world.ledger.model_refused(&marker, step, attempt);
    }
    tokio::time::sleep(Duration::from_millis(rng.range(0, 25))).await;
    if let Some(refusal) = refusal(fault).await {
        return refusal;
    }
    let head = Head {
        marker: &marker,
        step,
        model: body["model"].as_str().unwrap_or_default(),
        include_usage: body["stream_options"]["include_usage"] == true,
        encrypted: false,
        body: &body,
    };
    let acts = reply_body(&head, &script).into_iter().chain(end(&head, &script));
    let pieces: Vec<Bytes> = acts
        .filter_map(|act| match act {
            Act::Send(bytes) => Some(bytes),
            Act::Wait(_) => None,
        })
        .collect();
    // One piece at a time: the client has taken each piece before the next.
    let (sender, receiver) = mpsc::channel(1);
    let playing = Arc::clone(&world);
    tokio::spawn(async move {
        if play(&playing, &sender, pieces, fault, rng).await {
            playing.moment(Moment::ModelAnswers);
        }
    });
    let frames = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// A request that the model understands.
struct Asked {
    marker: String,
    step: usize,
    script: Step,
    /// How often the service made the same request before.
    attempt: usize,
}

/// Notes the request in the ledger. A request for a summary has no marker of its own: its question has those of others.
fn asked(world: &World, life: u32, body: &Value) -> Result<Asked, String> {
    if let Some(words) = script::summary(body) {
        let text = words.concat();
        let attempt = world.ledger.summary_asked(&text);
        let script = Step { text: words, ..Step::default() };
        return Ok(Asked { marker: text, step: 0, script, attempt });
    }
    let (marker, step) = script::talk::place(body).ok_or("it has no marker")?;
    let script =
        script::reply_to(&marker, step, body).ok_or_else(|| format!("{marker} has no step {step}"))?;
    for untrue in script::untrue(&marker, body) {
        world.ledger.violation(untrue);
    }
    let (untrue, heard) = script::talk::judged(body);
    untrue.into_iter().for_each(|what| world.ledger.violation(what));
    for (marker, step) in heard {
        world.ledger.model_heard(&marker, step);
    }
    if let Some(shown) = journeys::journaled_level(&marker, step) {
        world.ledger.model_heard(&shown, 0);
    }
    if let Some(summary) = script::used_summary(body) {
        world.ledger.summary_used(&summary);
    }
    if marker.ends_with(TITLE) {
        world.ledger.title_asked(&marker);
    }
    let attempt = world.ledger.model_called(life, &marker, step);
    Ok(Asked { marker, step, script, attempt })
}

/// The answer of a provider that fails before the first byte of a reply.
async fn refusal(fault: Option<Fault>) -> Option<Result<Response<Body>, io::Error>> {
    let scripted = json!({ "error": { "message": "scripted" } });
    match fault? {
        Fault::Down(status) => Some(Ok(plain(status, &scripted))),
        Fault::Busy => {
            let mut response = plain(429, &scripted);
            response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
            Some(Ok(response))
        }
        Fault::Silent(ms) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Some(Err(io::Error::other("scripted")))
        }
        Fault::Stuck(..) | Fault::Cut(_) | Fault::Short(_) | Fault::Garbage(_) => None,
    }
}

type Sender = mpsc::Sender<Result<Frame<Bytes>, io::Error>>;

/// Sends the pieces of a reply. Returns whether it sent all of them.
async fn play(
    world: &World,
    sender: &Sender,
    pieces: Vec<Bytes>,
    fault: Option<Fault>,
    mut rng: Rng,
) -> bool {
    let count = pieces.len();
    for (index, piece) in pieces.into_iter().enumerate() {
        match fault {
            Some(Fault::Stuck(at, ms)) if at.min(count - 1) == index => {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(ms)) => {}
                    () = sender.closed() => return false,
                }
                let _ = sender.send(Err(io::Error::other("scripted"))).await;
                return false;
            }
            Some(Fault::Cut(at)) if at.min(count - 1) == index => {
                let _ = sender.send(Err(io::Error::other("scripted"))).await;
                return false;
            }
            Some(Fault::Short(at)) if at.min(count - 1) == index => return false,
            Some(Fault::Garbage(at)) if at.min(count - 1) == index => {
                let garbage = Bytes::from_static(rng.pick::<&[u8]>(&GARBAGE));
                let _ = sender.send(Ok(Frame::data(garbage))).await;
                return false;
            }
            _ => {}
        }
        // A burst now and then: several pieces in one read.
        if rng.chance(600) {
            tokio::time::sleep(Duration::from_millis(rng.range(1, 12))).await;
        }
        if index == 1 {
            world.moment(Moment::ModelAnswers);
        }
        if sender.send(Ok(Frame::data(piece))).await.is_err() {
            return false;
        }
    }
    true
}
