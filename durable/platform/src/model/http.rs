//! A provider over HTTP: a codec, the port that sends requests, and how long to wait for each.

use std::rc::Rc;

use futures::FutureExt;
use futures::StreamExt;
use futures::future::{Either, LocalBoxFuture, ready, select};
use futures::stream::{once, unfold};

use super::route::{Again, Answer, Endpoint, Refusal};
use wire::http::{Http, HttpBody, HttpReply, HttpRequest, Unreachable};
use wire::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};

use engine::ports::Clock;
use providers::config::Patience;
use providers::failure::{error_in_answer, network, protocol, retry_delay};
use providers::permits::Permits;
use providers::retry::RetryHints;
use providers::usage::new_unknown_members;
use providers::{Codec, Decoder};
use wire::redact::Secret;
use wire::redact::quoted;

#[cfg(test)]
mod tests;

/// The time and the bytes for which the body of a refusal is read: it only helps to classify the error.
const REFUSAL_MS: u64 = 5_000;
const REFUSAL_BYTES: usize = 64 * 1024;
/// The most bytes of an answer, its comments and empty events included: these belong to no reply, and could come for as
/// long as the turn may run. The longest reply (`MAX_REPLY_BYTES`), four bytes in each event, has less than half of
/// this.
const ANSWER_BYTES: usize = 128 << 20;

/// A provider over HTTP.
pub struct HttpEndpoint {
    pub codec: Rc<dyn Codec>,
    /// Headers beside those of the codec.
    pub headers: Vec<(&'static str, Secret)>,
    pub patience: Patience,
    pub http: Rc<dyn Http>,
    pub clock: Rc<dyn Clock>,
    /// A request holds a permit until the headers of its reply are there. All senders of the same object share the
    /// permits.
    pub permits: Permits,
    /// Writes a line of the log.
    pub warn: Rc<dyn Fn(&str)>,
}

impl Endpoint for HttpEndpoint {
    fn ask(&self, request: &ModelRequest) -> LocalBoxFuture<'static, Result<Answer, Refusal>> {
        let mut encoded = match self.codec.encode(request) {
            Ok(encoded) => encoded,
            Err(error) => return ready(Err(Refusal::plain(error, Again::No))).boxed_local(),
        };
        let more = self.headers.iter().map(|(name, value)| (*name, value.reveal().to_owned()));
        encoded.headers.extend(more);
        let unsent = Unsent {
            request: Rc::new(encoded),
            codec: Rc::clone(&self.codec),
            decoder: self.codec.decoder(request),
            patience: self.patience,
            http: Rc::clone(&self.http),
            permits: self.permits.clone(),
            clock: Rc::clone(&self.clock),
            warn: Rc::clone(&self.warn),
        };
        unsent.send().boxed_local()
    }
}

impl Refusal {
    fn plain(error: ModelError, again: Again) -> Self {
        Refusal { error, again, said: String::new() }
    }
}

/// The silence lasted too long.
struct TooLate;

impl From<TooLate> for ModelError {
    fn from(TooLate: TooLate) -> Self {
        network("The model provider did not answer in time.")
    }
}

impl From<TooLate> for Refusal {
    /// The request is not made again: the next one would take as long, and may cost as much.
    fn from(late: TooLate) -> Self {
        Refusal::plain(late.into(), Again::No)
    }
}

struct Unsent {
    request: Rc<HttpRequest>,
    codec: Rc<dyn Codec>,
    decoder: Box<dyn Decoder>,
    patience: Patience,
    http: Rc<dyn Http>,
    permits: Permits,
    clock: Rc<dyn Clock>,
    warn: Rc<dyn Fn(&str)>,
}

impl Unsent {
    async fn send(self) -> Result<Answer, Refusal> {
        let permit = self.permits.acquire().await;
        let mut silence = Silence::new(self.clock, self.patience.first_byte_ms);
        let sent = silence.wait(self.http.send(Rc::clone(&self.request))).await;
        drop(permit);
        let unreachable = |what| Refusal::plain(network(what), Again::After(None));
        let mut response =
            sent?.map_err(|Unreachable| unreachable("The model provider could not be reached."))?;
        if !(200..300).contains(&response.status) {
            let body = silence.read_refusal(&mut response.body).await;
            let error = self.codec.refusal(response.status, &body);
            let again = match error.kind {
                ModelErrorKind::RateLimited | ModelErrorKind::Overloaded => {
                    after(hints(&response), &body, silence.clock.now_ms())
                }
                _ => Again::No,
            };
            return Err(Refusal { error, again, said: said(&body, &self.request) });
        }
        let first = loop {
            match silence.wait(response.body.next()).await? {
                Some(Ok(bytes)) if bytes.is_empty() => {}
                Some(Ok(bytes)) => break bytes,
                Some(Err(Unreachable)) | None => {
                    return Err(unreachable("The model provider closed the connection without an answer."));
                }
            }
        };
        silence.broken(self.patience.idle_ms);
        let hints = hints(&response);
        let mut reading = Reading {
            body: response.body,
            decoder: self.decoder,
            warn: self.warn,
            silence,
            first: Some(first),
            left: ANSWER_BYTES,
            begun: Some(Vec::new()),
            end: None,
        };
        let begun = reading.begin().await;
        let events = begun.map_err(|(error, begun)| reading.refusal(error, hints, &begun, &self.request))?;
        Ok(once(ready(Ok(events))).chain(unfold(reading, Reading::next)).boxed_local())
    }
}

/// The headers of a reply that say when the provider may be asked again.
fn hints(reply: &HttpReply) -> RetryHints {
    RetryHints { retry_after: reply.header("retry-after"), retry_after_ms: reply.header("retry-after-ms") }
}

/// The next request, after the time that the provider asks for in its headers or in this body.
fn after(hints: RetryHints, body: &[u8], now_ms: u64) -> Again {
    let retry_after = hints.retry_after.or_else(|| retry_delay(body));
    Again::After(RetryHints { retry_after, ..hints }.wait_ms(now_ms))
}

type Item = Result<Vec<ModelEvent>, ModelError>;

struct Reading {
    body: HttpBody,
    decoder: Box<dyn Decoder>,
    silence: Silence,
    /// The bytes that were read before the stream began.
    first: Option<Vec<u8>>,
    /// How many bytes may still come.
    left: usize,
    warn: Rc<dyn Fn(&str)>,
    /// The first bytes of the body, until the reply has its first word: text, reasoning or a call.
    begun: Option<Vec<u8>>,
    /// The end of the answer, with the error that follows its last events.
    end: Option<Result<(), ModelError>>,
}

impl Reading {
    /// Reads up to the first word of the reply, or to the end of a reply without words. Fails with the first bytes.
    async fn begin(&mut self) -> Result<Vec<ModelEvent>, (ModelError, Vec<u8>)> {
        let read = self.read().await;
        let begun = self.begun.take().unwrap_or_default();
        let is_said =
            |events: &[ModelEvent]| !matches!(events, [ModelEvent::Finished(reply)] if reply.is_empty());
        match read {
            Ok(events) if is_said(&events) => Ok(events),
            // The decoder may not know the form of an error.
            Ok(events) => error_in_answer(&begun).map_or(Ok(events), |error| Err((error, begun))),
            Err(error) if error.kind == ModelErrorKind::Protocol => {
                Err((error_in_answer(&begun).unwrap_or(error), begun))
            }
            Err(error) => Err((error, begun)),
        }
    }

    /// The refusal that a failure before the first word is. The provider has accepted the request, and may charge for it.
    fn refusal(&self, error: ModelError, hints: RetryHints, begun: &[u8], request: &HttpRequest) -> Refusal {
        let again = match error.kind {
            // Another silence would cost as much.
            ModelErrorKind::Network if self.silence.is_over() => Again::No,
            kind if kind.retryable() => after(hints, begun, self.silence.clock.now_ms()),
            _ => Again::No,
        };
        Refusal { error: ModelError { accepted: true, ..error }, again, said: said(begun, request) }
    }

    async fn next(mut self) -> Option<(Item, Reading)> {
        let item = match self.end.take() {
            None => self.read().await,
            Some(Ok(())) => return None,
            Some(Err(error)) => Err(error),
        };
        if item.is_err() {
            self.end = Some(Ok(()));
        }
        Some((item, self))
    }

    /// Reads until there is an event or an error, or the first call has begun. Events that came before an error go out
    /// before it.
    async fn read(&mut self) -> Item {
        let mut events = Vec::new();
        loop {
            let outcome = self.feed(&mut events).await;
            if matches!(events.last(), Some(ModelEvent::Finished(_))) {
                self.end = Some(Ok(()));
                new_unknown_members().iter().for_each(|name| {
                    (self.warn)(&format!("a provider's usage has a member that no price knows: {name}"));
                });
            }
            match outcome {
                Err(error) if events.is_empty() => return Err(error),
                Err(error) => self.end = Some(Err(error)),
                Ok(()) => {}
            }
            if !events.is_empty() || (self.begun.is_some() && self.decoder.has_call()) {
                return Ok(events);
            }
        }
    }

    /// Reads once.
    async fn feed(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let read = match self.first.take() {
            Some(first) => Some(Ok(first)),
            None => self.silence.wait(self.body.next()).await?,
        };
        let Some(read) = read else { return self.decoder.finish(events) };
        let bytes = read.map_err(|Unreachable| network("The connection to the model provider broke."))?;
        self.silence.broken(self.silence.limit_ms);
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or_else(|| protocol("The model provider sent an answer that is too large."))?;
        if let Some(begun) = &mut self.begun {
            let room = REFUSAL_BYTES.saturating_sub(begun.len());
            begun.extend(bytes.iter().take(room));
        }
        self.decoder.feed(&bytes, events)
    }
}

/// The provider's text for the operator's log, without what the request says.
fn said(answer: &[u8], request: &HttpRequest) -> String {
    // The last word of each header: beside media types, headers hold keys.
    let headers = request.headers.iter().filter(|(name, _)| !["content-type", "accept"].contains(name));
    quoted(answer, &request.body, headers.filter_map(|(_, value)| value.split(' ').next_back()))
}

/// Waits, but not for ever. One timer serves many reads: when it goes off, it is set again for as long as the silence
/// has not lasted.
struct Silence {
    clock: Rc<dyn Clock>,
    timer: LocalBoxFuture<'static, ()>,
    since_ms: u64,
    limit_ms: u64,
}

impl Silence {
    /// The silence begins now.
    fn new(clock: Rc<dyn Clock>, limit_ms: u64) -> Self {
        Silence { timer: clock.sleep(limit_ms), since_ms: clock.now_ms(), limit_ms, clock }
    }

    /// Something was heard, so a new silence begins.
    fn broken(&mut self, limit_ms: u64) {
        if limit_ms < self.limit_ms {
            self.timer = self.clock.sleep(limit_ms);
        }
        self.limit_ms = limit_ms;
        self.since_ms = self.clock.now_ms();
    }

    /// Whether it has lasted too long.
    fn is_over(&self) -> bool {
        self.clock.now_ms().saturating_sub(self.since_ms) >= self.limit_ms
    }

    async fn wait<F: Future + Unpin>(&mut self, mut future: F) -> Result<F::Output, TooLate> {
        loop {
            match select(&mut future, &mut self.timer).await {
                Either::Left((output, _)) => return Ok(output),
                Either::Right(((), _)) => {
                    let silence_ms = self.clock.now_ms().saturating_sub(self.since_ms);
                    let left_ms = self.limit_ms.saturating_sub(silence_ms);
                    if left_ms == 0 {
                        return Err(TooLate);
                    }
                    self.timer = self.clock.sleep(left_ms);
                }
            }
        }
    }

    /// Reads the part of a refusal's body that comes soon.
    async fn read_refusal(&self, body: &mut HttpBody) -> Vec<u8> {
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
