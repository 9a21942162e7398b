//! A model behind HTTP: a codec, a transport and the patience to have with both.

use std::rc::Rc;

use futures::StreamExt;
use futures::future::{Either, LocalBoxFuture, select};
use futures::stream::{LocalBoxStream, once, unfold};

use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::ports::{Clock, Model};
use crate::providers::failure::network;
use crate::providers::permits::Permits;
use crate::providers::{Codec, Decoder, HttpRequest, Secret};

#[cfg(test)]
mod tests;

/// How long a provider may take until the first byte of its answer, and between two reads of it. Providers send
/// comments or empty deltas while a model thinks, so silence of a minute is a lost connection. A turn has 180 s in all
/// (DESIGN §4).
const SILENCE_MS: u64 = 60_000;

/// The body of a refusal is read for so long and so far: it only helps to classify the error.
const REFUSAL_MS: u64 = 5_000;
const REFUSAL_BYTES: usize = 64 * 1024;

/// Sends requests. Dropping what it returns ends the request upstream.
pub trait Transport {
    /// Completes when the headers of the answer are there.
    fn send(&self, request: HttpRequest) -> LocalBoxFuture<'static, Result<Answer, Unreachable>>;
}

/// An answer whose body is still to come.
pub struct Answer {
    pub status: u16,
    /// One item per read. Its end says nothing: a connection that was cut ends like one that is complete.
    pub body: LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>,
}

/// The connection failed. Why, the platform does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

/// A provider over HTTP.
pub struct HttpModel {
    codec: Rc<dyn Codec>,
    /// Headers beside those of the codec.
    headers: Vec<(&'static str, Secret)>,
    transport: Rc<dyn Transport>,
    clock: Rc<dyn Clock>,
    /// Held until the headers are there; shared with all that fetches for the same object.
    permits: Permits,
}

impl HttpModel {
    pub fn new(
        codec: Rc<dyn Codec>,
        headers: Vec<(&'static str, Secret)>,
        transport: Rc<dyn Transport>,
        clock: Rc<dyn Clock>,
        permits: Permits,
    ) -> Self {
        HttpModel { codec, headers, transport, clock, permits }
    }
}

impl Model for HttpModel {
    fn call(&self, request: &ModelRequest) -> LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>> {
        let mut encoded = match self.codec.encode(request) {
            Ok(encoded) => encoded,
            Err(error) => return once(async { Err(error) }).boxed_local(),
        };
        let more = self.headers.iter().map(|(name, value)| (*name, value.reveal().to_owned()));
        encoded.headers.extend(more);
        let unsent = Unsent {
            request: encoded,
            codec: Rc::clone(&self.codec),
            decoder: self.codec.decoder(request),
            transport: Rc::clone(&self.transport),
            permits: self.permits.clone(),
            clock: Rc::clone(&self.clock),
        };
        unfold(Call::Unsent(unsent), Call::next).boxed_local()
    }
}

/// How far a call has come.
enum Call {
    Unsent(Unsent),
    Reading(Reading),
    /// What is left to say after the events of the last read.
    Failed(ModelError),
    Over,
}

type Item = Result<Vec<ModelEvent>, ModelError>;

impl Call {
    async fn next(mut self) -> Option<(Item, Call)> {
        loop {
            self = match self {
                Call::Unsent(unsent) => match unsent.send().await {
                    Ok(reading) => Call::Reading(reading),
                    Err(error) => Call::Failed(error),
                },
                Call::Reading(reading) => return Some(reading.read().await),
                Call::Failed(error) => return Some((Err(error), Call::Over)),
                Call::Over => return None,
            }
        }
    }
}

struct Unsent {
    request: HttpRequest,
    codec: Rc<dyn Codec>,
    decoder: Box<dyn Decoder>,
    transport: Rc<dyn Transport>,
    permits: Permits,
    clock: Rc<dyn Clock>,
}

impl Unsent {
    async fn send(self) -> Result<Reading, ModelError> {
        let permit = self.permits.acquire().await;
        let mut patience = Patience::new(self.clock);
        let sent = patience.wait(self.transport.send(self.request)).await;
        drop(permit);
        let mut answer = sent?.map_err(|Unreachable| network("The model provider could not be reached."))?;
        if !(200..300).contains(&answer.status) {
            let body = patience.read_refusal(&mut answer.body).await;
            return Err(self.codec.refusal(answer.status, &body));
        }
        Ok(Reading { body: answer.body, decoder: self.decoder, patience })
    }
}

struct Reading {
    body: LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>,
    decoder: Box<dyn Decoder>,
    patience: Patience,
}

impl Reading {
    /// Reads until there is something to tell. What came before an error is told before it.
    async fn read(mut self) -> (Item, Call) {
        let mut events = Vec::new();
        loop {
            let outcome = match self.patience.wait(self.body.next()).await {
                Ok(Some(Ok(bytes))) => self.decoder.feed(&bytes, &mut events),
                Ok(Some(Err(Unreachable))) => Err(network("The connection to the model provider broke.")),
                Ok(None) => self.decoder.finish(&mut events),
                Err(error) => Err(error),
            };
            let finished = matches!(events.last(), Some(ModelEvent::Finished(_)));
            match outcome {
                Err(error) if events.is_empty() => return (Err(error), Call::Over),
                Err(error) => return (Ok(events), Call::Failed(error)),
                Ok(()) if finished => return (Ok(events), Call::Over),
                Ok(()) if !events.is_empty() => return (Ok(events), Call::Reading(self)),
                Ok(()) => {}
            }
        }
    }
}

/// Waits, but not for ever. One timer serves many reads: when it goes off, it is set again for as long as the silence
/// has not lasted.
struct Patience {
    clock: Rc<dyn Clock>,
    timer: LocalBoxFuture<'static, ()>,
    heard_at_ms: u64,
}

impl Patience {
    /// The silence begins now.
    fn new(clock: Rc<dyn Clock>) -> Self {
        let timer = clock.sleep(SILENCE_MS);
        Patience { timer, heard_at_ms: clock.now_ms(), clock }
    }

    async fn wait<F: Future + Unpin>(&mut self, mut future: F) -> Result<F::Output, ModelError> {
        loop {
            match select(&mut future, &mut self.timer).await {
                Either::Left((output, _)) => {
                    self.heard_at_ms = self.clock.now_ms();
                    return Ok(output);
                }
                Either::Right(((), _)) => {
                    let silence_ms = self.clock.now_ms().saturating_sub(self.heard_at_ms);
                    let left_ms = SILENCE_MS.saturating_sub(silence_ms);
                    if left_ms == 0 {
                        return Err(network("The model provider did not answer in time."));
                    }
                    self.timer = self.clock.sleep(left_ms);
                }
            }
        }
    }

    /// As much of a refusal's body as comes soon.
    async fn read_refusal(
        &self,
        body: &mut LocalBoxStream<'static, Result<Vec<u8>, Unreachable>>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut timer = self.clock.sleep(REFUSAL_MS);
        while bytes.len() < REFUSAL_BYTES {
            match select(body.next(), &mut timer).await {
                Either::Left((Some(Ok(read)), _)) => bytes.extend(read),
                Either::Left((Some(Err(Unreachable)) | None, _)) | Either::Right(_) => break,
            }
        }
        bytes
    }
}
