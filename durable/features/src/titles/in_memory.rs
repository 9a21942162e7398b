//! A thread in memory, its quotas and its models, for tests. A test can kill the run at each step, and change the thread
//! while the models are asked.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use futures::FutureExt;
use futures::StreamExt;
use futures::future::{LocalBoxFuture, pending, ready};
use futures::stream::{self, LocalBoxStream};

use super::{Call, Change, EndedCall, Exchange, House, Naming, Verdict, Wish};
use engine::budget::Amount;
use engine::ports::{Clock, Heard, Model};
use engine::profiles::{Chain, Limits, Price, PricedModel};
use wire::model::{
    ModelChoice, ModelError, ModelErrorKind, ModelEvent, ModelReply, ModelRequest, ReplyFinish, ServiceTier,
    Usage,
};
use wire::store::StoreError;

/// The title that the thread has before a model makes one.
pub const BEFORE: &str = "How do I prune a pear?";

/// One report of a call.
pub type Item = Result<Heard, ModelError>;

/// All that outlives a kill, and where the run stands that may be killed.
pub struct World {
    pub wish: RefCell<Option<Wish>>,
    /// In how many milliseconds somebody looks at the wish again.
    pub due_in: Cell<Option<u64>>,
    pub title: RefCell<Option<String>>,
    pub exchange: RefCell<Option<Exchange>>,
    pub told: RefCell<Vec<EndedCall>>,
    /// The reservations that were not settled.
    pub reserved: RefCell<BTreeMap<String, Amount>>,
    pub verdict: RefCell<Result<Verdict, StoreError>>,
    /// The replies, one a call; the last one repeats.
    pub replies: RefCell<Vec<Vec<Item>>>,
    /// The requests that the models were asked.
    pub asked: RefCell<Vec<ModelRequest>>,
    /// An event while the quotas are asked.
    pub before: Cell<Option<fn(&World)>>,
    /// An event while the models are asked.
    pub meanwhile: Cell<Option<fn(&World)>>,
    /// Whether the time for a call is over at once.
    pub is_late: Cell<bool>,
    ids: Cell<u32>,
    steps: Cell<usize>,
    /// The step before or after which the run is killed.
    pub dies_at: Cell<Option<usize>>,
    is_dead: Cell<bool>,
}

impl World {
    /// A thread that wishes a title.
    pub fn new() -> Rc<Self> {
        let exchange = Exchange { question: BEFORE.to_owned(), answer: "In winter.".to_owned() };
        Rc::new(World {
            wish: RefCell::new(Some(Wish::new("turn", "thread", BEFORE))),
            due_in: Cell::new(Some(0)),
            title: RefCell::new(Some(BEFORE.to_owned())),
            exchange: RefCell::new(Some(exchange)),
            told: RefCell::default(),
            reserved: RefCell::default(),
            verdict: RefCell::new(Ok(Verdict::Reserved)),
            replies: RefCell::new(vec![said("<title>Pear pruning</title>")]),
            asked: RefCell::default(),
            before: Cell::default(),
            meanwhile: Cell::default(),
            is_late: Cell::default(),
            ids: Cell::default(),
            steps: Cell::default(),
            dies_at: Cell::default(),
            is_dead: Cell::default(),
        })
    }

    /// A deletion of the thread, which tells a call that has begun.
    pub fn delete(&self) {
        let lost = self.wish.borrow_mut().take().and_then(|mut wish| wish.lose());
        lost.into_iter().for_each(|lost| self.tell(lost));
        self.title.replace(None);
        self.exchange.replace(None);
        self.due_in.set(None);
    }

    fn tell(&self, told: EndedCall) {
        // The index and the quotas know a call by its id.
        self.reserved.borrow_mut().remove(&told.id);
        let is_known = self.told.borrow().iter().any(|known| known.id == told.id);
        assert!(!is_known, "a call is told twice");
        self.told.borrow_mut().push(told);
    }

    /// The steps so far.
    pub fn steps(&self) -> usize {
        self.steps.get()
    }

    /// A new run in a new memory.
    pub fn rise(&self) {
        self.is_dead.set(false);
        self.dies_at.set(None);
    }

    /// One step that a kill may come before.
    fn step(&self) -> Result<(), StoreError> {
        let step = self.steps.replace(self.steps.get() + 1);
        if self.dies_at.get() == Some(step) {
            self.is_dead.set(true);
        }
        if self.is_dead.get() { Err(StoreError("killed".to_owned())) } else { Ok(()) }
    }

    /// Runs an effect. A kill may come before it and after it.
    fn effect<T>(&self, effect: impl FnOnce() -> T) -> Result<T, StoreError> {
        self.step()?;
        let done = effect();
        self.step()?;
        Ok(done)
    }

    /// The way to these models.
    pub fn house(self: &Rc<Self>) -> House {
        House {
            model: Rc::new(Models(Rc::clone(self))),
            clock: Rc::new(Models(Rc::clone(self))),
            chain: Chain { first: model("small"), then: vec![model("other")] },
            profile: "speed",
            limits: Limits::default(),
        }
    }
}

fn model(name: &str) -> PricedModel {
    let price = Price::flat(1.0, 0.5, 4.0);
    PricedModel { choice: Rc::new(ModelChoice::new("house", name)), price: Some(price), most_tokens: None }
}

/// The usage of each reply.
pub const USAGE: Usage = Usage {
    input_tokens: 100,
    cached_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 10,
    service_tier: ServiceTier::Standard,
    unknown_members: 0,
    estimated: false,
};

/// A reply of this text.
pub fn said(text: &str) -> Vec<Item> {
    ended(text, ReplyFinish::Stop, Some(USAGE))
}

/// A reply that ends like this.
pub fn ended(text: &str, finish: ReplyFinish, usage: Option<Usage>) -> Vec<Item> {
    let reply = ModelReply { text: String::new(), tool_calls: Vec::new(), finish, usage, raw: None };
    let events = vec![ModelEvent::Text(text.to_owned()), ModelEvent::Finished(Box::new(reply))];
    vec![Ok(Heard::Asking { place: 0, after: None }), Ok(Heard::Answering), Ok(Heard::Events(events))]
}

/// The failure of a request.
pub fn failed(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "no")
}

impl Naming for World {
    fn wish(&self) -> Result<Option<Wish>, StoreError> {
        self.step()?;
        Ok(self.wish.borrow().clone())
    }

    fn title(&self) -> Result<Option<String>, StoreError> {
        self.step()?;
        Ok(self.title.borrow().clone())
    }

    fn exchange(&self, turn_id: &str) -> Result<Option<Exchange>, StoreError> {
        self.step()?;
        assert_eq!(turn_id, "turn");
        Ok(self.exchange.borrow().clone())
    }

    fn new_id(&self) -> String {
        let id = self.ids.replace(self.ids.get() + 1);
        format!("call-{id}")
    }

    fn write(&self, change: Change<'_>) -> Result<(), StoreError> {
        self.effect(|| {
            self.wish.replace(change.wish.map(|(wish, _)| wish.clone()));
            self.due_in.set(change.wish.map(|(_, due_in)| due_in));
            change.told.into_iter().for_each(|told| self.tell(told));
            if let Some(title) = change.title {
                self.title.replace(Some(title));
            }
        })
    }

    fn written(&self) -> LocalBoxFuture<'_, Result<(), StoreError>> {
        ready(self.step()).boxed_local()
    }

    fn reserve<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<Verdict, StoreError>> {
        let reserved = self.effect(|| {
            let verdict = self.verdict.borrow().clone();
            if verdict != Ok(Verdict::Refused) {
                self.reserved.borrow_mut().insert(call.begun.id.clone(), call.reserved());
            }
            self.before.take().into_iter().for_each(|change| change(self));
            verdict
        });
        ready(reserved.and_then(|verdict| verdict)).boxed_local()
    }

    fn release<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<(), StoreError>> {
        let released = self.effect(|| {
            self.reserved.borrow_mut().remove(&call.begun.id);
        });
        ready(released).boxed_local()
    }
}

/// The models and the clock of a world.
struct Models(Rc<World>);

impl Model for Models {
    fn call(&self, request: &ModelRequest, _: &Chain, until_ms: u64) -> LocalBoxStream<'static, Item> {
        assert_eq!(until_ms, self.0.now() + super::CALL_MS);
        let begun = self.0.wish.borrow().as_ref().is_some_and(|wish| wish.call.is_some());
        assert!(begun, "a model is asked before its call is written");
        if self.0.step().is_err() {
            return stream::pending().boxed_local();
        }
        let mut replies = self.0.replies.borrow_mut();
        self.0.asked.borrow_mut().push(request.clone());
        let reply = if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() };
        drop(replies);
        if let Some(happens) = self.0.meanwhile.take() {
            happens(&self.0);
        }
        match self.0.step() {
            Ok(()) if !self.0.is_late.get() => stream::iter(reply).boxed_local(),
            _ => stream::pending().boxed_local(),
        }
    }
}

impl World {
    fn now(&self) -> u64 {
        1_000
    }
}

impl Clock for Models {
    fn now_ms(&self) -> u64 {
        self.0.now()
    }

    fn sleep(&self, _: u64) -> LocalBoxFuture<'static, ()> {
        // A run that was killed hears nothing: its future is over.
        let world = Rc::clone(&self.0);
        async move {
            if !world.is_late.get() && !world.is_dead.get() {
                pending::<()>().await;
            }
        }
        .boxed_local()
    }
}
