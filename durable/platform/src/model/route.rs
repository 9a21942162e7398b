//! Chooses the models that a call asks: those of its chain, each as often as is sensible, until one answers.
//!
//! Routing ends at the first word: text, reasoning or a call. From then on the answer belongs to the caller, whether it
//! completes or fails.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::{LocalBoxStream, iter, unfold};

use engine::ports::{Clock, Heard, Model};
use engine::profiles::Chain;
use providers::breaker::Breaker;
use providers::retry::Persistence;
use providers::text_calls;
use wire::model::{ModelError, ModelErrorKind, ModelEvent, ModelReply, ModelRequest};

#[cfg(test)]
mod tests;

/// One provider: answers single requests.
pub trait Endpoint {
    /// Completes with the answer once its first word is there, or with the reason why there is none. Dropping the future,
    /// or the answer, ends the request upstream.
    fn ask(&self, request: &ModelRequest) -> LocalBoxFuture<'static, Result<Answer, Refusal>>;
}

/// A model's answer, read by read.
pub type Answer = LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub error: ModelError,
    pub again: Again,
    /// The provider's text, redacted, for the operator's log.
    pub said: String,
}

/// Whether the same request may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// No: the request would end in the same way, or took too long already.
    No,
    /// Yes, after so many milliseconds, where the provider asks for that.
    After(Option<u64>),
}

/// The ports that routing needs.
#[derive(Clone)]
pub struct RoutePorts {
    pub clock: Rc<dyn Clock>,
    /// 0 to 1, for the jitter of waits.
    pub random: Rc<dyn Fn() -> f64>,
    /// The operator's log.
    pub warn: Rc<dyn Fn(&str)>,
    /// The object's memory of which models are down.
    pub breaker: Breaker,
}

/// The providers of a deployment, as one model.
pub struct RoutedModel {
    route: Rc<Route>,
}

struct Route {
    endpoints: BTreeMap<String, Rc<dyn Endpoint>>,
    ports: RoutePorts,
    /// See [`ModelRequest::cache_key`].
    cache_key: Rc<str>,
}

impl RoutedModel {
    /// The providers by their names.
    pub fn new(endpoints: BTreeMap<String, Rc<dyn Endpoint>>, ports: RoutePorts, cache_key: Rc<str>) -> Self {
        RoutedModel { route: Rc::new(Route { endpoints, ports, cache_key }) }
    }
}

impl Model for RoutedModel {
    fn call(
        &self,
        request: &ModelRequest,
        chain: &Chain,
        until_ms: u64,
    ) -> LocalBoxStream<'static, Result<Heard, ModelError>> {
        let route = Rc::clone(&self.route);
        let places = route.order(chain);
        let asking = Asking {
            request: ModelRequest { cache_key: Some(Rc::clone(&route.cache_key)), ..request.clone() },
            route,
            chain: chain.clone(),
            until_ms,
            places,
            failed: 0,
            was_empty: false,
            wait_ms: 0,
        };
        unfold(Call::Begun(Box::new(asking)), Call::next).boxed_local()
    }
}

impl Route {
    /// The places of a chain in the order in which they are asked. Those that are known to be down come last, since
    /// asking them is better than giving up.
    fn order(&self, chain: &Chain) -> VecDeque<usize> {
        let now_ms = self.ports.clock.now_ms();
        let ready = |place: &usize| self.ports.breaker.is_ready(&chain.at(*place).choice.id(), now_ms);
        let (ready, resting): (Vec<usize>, Vec<usize>) = (0..chain.iter().count()).partition(ready);
        ready.into_iter().chain(resting).collect()
    }
}

type Item = Result<Heard, ModelError>;

/// How far a call has come.
enum Call {
    /// The call has not chosen its first model yet.
    Begun(Box<Asking>),
    Asking(Box<Asking>),
    Reading(Answer),
    Over,
}

impl Call {
    async fn next(self) -> Option<(Item, Call)> {
        match self {
            Call::Begun(asking) => {
                let place = asking.place();
                Some((Ok(Heard::Asking { place, after: None }), Call::Asking(asking)))
            }
            Call::Asking(asking) => Some(asking.ask().await),
            Call::Reading(mut answer) => match answer.next().await? {
                Ok(events) => Some((Ok(Heard::Events(events)), Call::Reading(answer))),
                Err(error) => Some((Err(error), Call::Over)),
            },
            Call::Over => None,
        }
    }
}

/// A call that no model has answered yet.
struct Asking {
    route: Rc<Route>,
    request: ModelRequest,
    chain: Chain,
    until_ms: u64,
    /// The places that are still to be asked; the first one is being asked.
    places: VecDeque<usize>,
    /// Requests to that model that failed.
    failed: u32,
    /// Whether a reply was empty. The next empty one is the answer.
    was_empty: bool,
    /// The wait before the next request.
    wait_ms: u64,
}

impl Asking {
    fn place(&self) -> usize {
        self.places.front().copied().unwrap_or(0)
    }

    async fn ask(mut self: Box<Self>) -> (Item, Call) {
        let RoutePorts { clock, breaker, .. } = self.route.ports.clone();
        if self.wait_ms > 0 {
            clock.sleep(self.wait_ms).await;
        }
        let place = self.place();
        // The raw messages in the request are addressed to their provider, and each wire leaves out those of others.
        self.request.model = Rc::clone(&self.chain.at(place).choice);
        let model = self.request.model.id();
        let asking = breaker.ask(&model);
        let asked = match self.route.endpoints.get(&self.request.model.provider) {
            Some(endpoint) => {
                let asked = endpoint.ask(&text_calls::with_calls_in_text(&self.request)).await;
                asked.map(|answer| text_calls::heard(&self.request, answer))
            }
            None => Err(Refusal::unknown()),
        };
        let refusal = match asked {
            Ok(answer) => {
                let (empty, answer) = looked_at(answer).await;
                asking.answered();
                let wait_ms = self.wait(Again::After(None), clock.now_ms());
                return match empty.zip(wait_ms) {
                    Some((reply, wait_ms)) if !self.was_empty => {
                        self.warn(&model, &ModelError::empty_reply(reply.usage), "");
                        (self.was_empty, self.wait_ms) = (true, wait_ms);
                        (Ok(Heard::Empty(reply)), Call::Asking(self))
                    }
                    _ => (Ok(Heard::Answering), Call::Reading(answer)),
                };
            }
            Err(refusal) => refusal,
        };
        self.warn(&model, &refusal.error, &refusal.said);
        let now_ms = clock.now_ms();
        self.failed += 1;
        if let Some(wait_ms) = self.wait(refusal.again, now_ms) {
            self.wait_ms = wait_ms;
            return self.again(refusal.error);
        }
        if !refusal.error.kind.may_be_answered_by_another() {
            asking.answered();
            return (Err(refusal.error), Call::Over);
        }
        let asked_ms = if let Again::After(asked_ms) = refusal.again { asked_ms } else { None };
        asking.failed(now_ms, asked_ms);
        self.places.pop_front();
        if self.places.is_empty() || now_ms >= self.until_ms {
            return (Err(refusal.error), Call::Over);
        }
        (self.failed, self.wait_ms) = (0, 0);
        self.again(refusal.error)
    }

    /// How long to wait until the same model is asked again; none where it is not.
    fn wait(&self, again: Again, now_ms: u64) -> Option<u64> {
        let Again::After(asked_ms) = again else { return None };
        let persistence = if self.places.len() > 1 { Persistence::ONE_OF_MANY } else { Persistence::LAST };
        let wait_ms = persistence.wait_ms(self.failed, asked_ms, (self.route.ports.random)())?;
        // There is no wait that the turn would not survive.
        (now_ms.saturating_add(wait_ms) < self.until_ms).then_some(wait_ms)
    }

    fn again(self: Box<Self>, after: ModelError) -> (Item, Call) {
        let place = self.place();
        (Ok(Heard::Asking { place, after: Some(after) }), Call::Asking(self))
    }

    fn warn(&self, model: &str, error: &ModelError, said: &str) {
        let said = if said.is_empty() { String::new() } else { format!(" It said: {said}") };
        (self.route.ports.warn)(&format!("{model}: {} {}{said}", error.kind.code(), error.message));
    }
}

/// The answer, and its reply if that is empty.
async fn looked_at(mut answer: Answer) -> (Option<Box<ModelReply>>, Answer) {
    let first = answer.next().await;
    let empty = match &first {
        Some(Ok(events)) => match &events[..] {
            [ModelEvent::Finished(reply)] if reply.is_empty() => Some(reply.clone()),
            _ => None,
        },
        Some(Err(_)) | None => None,
    };
    (empty, iter(first).chain(answer).boxed_local())
}

impl Refusal {
    /// The provider of a model that a turn began with is gone.
    fn unknown() -> Self {
        let message = "The model's provider is not configured any more.".to_owned();
        let error = ModelError::new(ModelErrorKind::Auth, message);
        Refusal { error, again: Again::No, said: String::new() }
    }
}
