//! Titles on the platform. The transaction of a turn's end writes the thread's wish for a title, with a timer. The run's last
//! act makes the title; the alarm does it where that memory is lost. No reader waits for it.

use crate::respond::misconfigured;
use crate::storage::thread::is_unnamed;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::accounts::{self, LEASE_MARGIN_MS};
use crate::compose;
use crate::duties::driver::{After, Batch, Duty};
use crate::ids::new_id;
use crate::log::{About, AtEnd};
use crate::quota::{Ask, TurnKey};
use crate::storage::StoreError;
use crate::storage::outgoing::{Calls, News, Outgoing, ThreadRow};
use crate::storage::sql::Store;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::Reason;
use crate::thread::Thread;
use engine::journal::TurnEnd;
use engine::profiles::{ContextProfile, Grant, Role};
use features::titles::{
    CALL_MS, Call, Change, EndedCall, Exchange, House, Naming, Verdict, Wish, is_on, make,
};
use wire::protocol::{ANONYMOUS, ApiError, FinishReason, Owner};
use wire::store::StoreError as PortError;

/// The variable `TITLES`.
struct Titles(bool);

/// Whether this deployment has titles by the model. A wrong variable, which the health report names, allows none.
fn are_on(thread: &Thread) -> bool {
    thread.deployment.once(|var| is_on(var).map(Titles)).is_ok_and(|titles| titles.0)
}

/// The part of a turn's end that writes the wish; none where no model makes titles.
pub fn at_end(thread: &Thread) -> Option<AtEnd> {
    let write: AtEnd = wish_at_end;
    are_on(thread).then_some(write)
}

/// Writes the wish of a thread after its first finished turn. A thread that stands in no list wishes no title, nor one that
/// a person has named.
fn wish_at_end(store: &Store, about: &About, end: &TurnEnd, now: u64) -> Result<(), StoreError> {
    let is_answer =
        end.message.finish_reason == Some(FinishReason::Stop) && !end.message.content.trim().is_empty();
    if !is_answer || store.has_answer_beside(&about.turn_id)? || store.timer(Reason::Erase)?.is_some() {
        return Ok(());
    }
    let Some(before) = store.title()? else { return Ok(()) };
    let first = store.first_words(&store.path()?)?;
    if first.is_none_or(|words| !is_unnamed(&before, &words)) {
        return Ok(());
    }
    let wish = Wish::new(&about.turn_id, &about.context_type, &before);
    store.keep_wish(&serde_json::to_string(&wish)?)?;
    store.set_timer(Reason::Title, now)?;
    store.title_is_wished.set(true);
    Ok(())
}

/// A person names the thread: a title that is on its way does not come any more. Belongs into the transaction of the new
/// title.
pub fn named(store: &Store) -> Result<(), StoreError> {
    let Some(mut wish) = read(store)? else { return Ok(()) };
    wish.is_named = true;
    store.keep_wish(&serde_json::to_string(&wish)?)
}

/// The news of a call that has begun, for a thread that is about to be deleted.
pub fn lost(store: &Store, thread: &ThreadMeta, now: u64) -> Result<Option<Outgoing>, StoreError> {
    let lost = read(store)?.and_then(|mut wish| wish.lose());
    Ok(lost.map(|lost| spent(&thread.owner, &thread.thread_id, lost, now)))
}

fn read(store: &Store) -> Result<Option<Wish>, StoreError> {
    Ok(store.wish()?.map(|json| wire::json::from_str(&json)).transpose()?)
}

/// A call that has ended, for D1 and the quotas. Its own id stands in the place of a turn's, because it belongs to none.
fn spent(owner: &Owner, thread_id: &str, told: EndedCall, created_at: u64) -> Outgoing {
    let EndedCall { id, context_type, record, used } = told;
    let calls = Calls {
        turn_id: id.clone(),
        message_id: id,
        context_type,
        created_at,
        records: vec![record],
        used,
        execution_mode: None,
    };
    Outgoing::new(owner, thread_id, News::Spent { calls })
}

/// The title that the thread wishes.
pub struct WishedTitle<'t> {
    thread: &'t Rc<Thread>,
    /// Whether this run has tried to make it. The timer says when the next run does.
    is_tried: bool,
}

impl<'t> WishedTitle<'t> {
    pub fn new(thread: &'t Rc<Thread>) -> Self {
        WishedTitle { thread, is_tried: false }
    }
}

impl Duty for WishedTitle<'_> {
    const REASON: Reason = Reason::Title;
    type Content = ThreadMeta;

    fn next(&mut self) -> Result<Option<(Batch, ThreadMeta)>, StoreError> {
        if std::mem::replace(&mut self.is_tried, true) {
            return Ok(None);
        }
        let attempts = self.thread.duties.refusals(Reason::Title);
        let thread = self.thread.store.meta()?.and_then(|meta| meta.thread);
        Ok(thread.map(|thread| (Batch { ids: Vec::new(), attempts }, thread)))
    }

    async fn deliver(&mut self, thread: ThreadMeta) -> Result<(), StoreError> {
        let house = if are_on(self.thread) { self.thread.house() } else { Ok(None) };
        let house = house.unwrap_or_else(|error| {
            worker::console_error!("the models of titles: {error}");
            None
        });
        let naming = OfThread { at: Rc::clone(self.thread), thread };
        make(&naming, house.as_ref()).await.map_err(|PortError(error)| StoreError(error))
    }

    fn took(&mut self, _: &Batch) -> Result<(), StoreError> {
        self.thread.duties.count(Reason::Title, 0);
        self.thread.begin(Reason::Outbox, false);
        Ok(())
    }

    fn refused(&mut self, batch: &Batch, StoreError(error): &StoreError) -> Result<After, StoreError> {
        worker::console_error!("the title of a thread: {error}");
        self.thread.begin(Reason::Outbox, false);
        if self.thread.store.wish()?.is_none() {
            return Ok(After::Drop);
        }
        self.thread.duties.count(Reason::Title, batch.attempts.saturating_add(1));
        Ok(After::Again)
    }

    /// Each step of a title sets its timer and the alarm.
    fn rest(&mut self, _any: bool) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Thread {
    /// The models that make titles, and the limits: those of the role `speed`, as summaries have them, else the primary ones.
    /// None where money is limited and their price is not known.
    fn house(&self) -> Result<Option<House>, ApiError> {
        let configuration = compose::configuration(self)?;
        let limits = compose::limits(&self.deployment, ContextProfile::of(None))?;
        let quotas = accounts::quotas(&self.env).map_err(misconfigured)?;
        let speed = configuration.roles.of(Role::Speed);
        let (role, chain) = match speed.filter(|chain| compose::is_affordable(chain, &limits)) {
            Some(chain) => (Role::Speed, chain.clone()),
            None => (Role::Primary, configuration.roles.primary.clone()),
        };
        if quotas.limits_money() && chain.iter().any(|offer| offer.price.is_none())
            || !compose::is_affordable(&chain, &limits)
        {
            return Ok(None);
        }
        // The demo model is told the version of an answer; the call belongs to no turn.
        let version: Rc<dyn Fn() -> usize> = Rc::new(|| 1);
        let Thread { connections, clock, env, .. } = self;
        let model = crate::model::serving(&configuration, connections, clock, env, &version, "titles");
        Ok(Some(House { model, clock: Rc::clone(clock), chain, profile: role.as_str(), limits }))
    }
}

/// A thread and its object.
struct OfThread {
    at: Rc<Thread>,
    thread: ThreadMeta,
}

impl OfThread {
    fn key(&self, call: &Call) -> TurnKey {
        TurnKey {
            user_id: self.thread.owner.user_id(),
            thread_id: self.thread.thread_id.clone(),
            turn_id: call.begun.id.clone(),
        }
    }

    /// Whether the thread was deleted since.
    fn is_gone(&self) -> Result<bool, StoreError> {
        Ok(self.at.store.meta()?.is_none_or(|meta| meta.thread.is_none()))
    }

    fn change(&self, Change { wish, told, title }: Change<'_>) -> Result<(), StoreError> {
        let (store, now) = (&self.at.store, self.at.clock.now_ms());
        let ThreadMeta { owner, thread_id, created_at, .. } = &self.thread;
        store.transaction(|| {
            match wish {
                Some((wish, due_in)) => {
                    store.keep_wish(&serde_json::to_string(wish)?)?;
                    store.set_timer(Reason::Title, now + due_in)?;
                }
                None => {
                    store.forget_wish()?;
                    store.clear_timer(Reason::Title)?;
                }
            }
            if let Some(told) = told {
                store.post(&spent(owner, thread_id, told, now), now)?;
            }
            if let Some(title) = title {
                store.rename(&title)?;
                let updated_at = store.newest_message()?.map_or(*created_at, |(_, at)| at);
                let news = News::Renamed {
                    thread: ThreadRow { title, created_at: *created_at, updated_at, state: None },
                };
                store.post(&Outgoing::new(owner, thread_id.as_str(), news), now)?;
            }
            store.arm(now)
        })
    }
}

impl Naming for OfThread {
    fn wish(&self) -> Result<Option<Wish>, PortError> {
        Ok(read(&self.at.store)?)
    }

    fn title(&self) -> Result<Option<String>, PortError> {
        Ok(self.at.store.title()?)
    }

    fn exchange(&self, turn_id: &str) -> Result<Option<Exchange>, PortError> {
        let found = self.at.store.exchange(turn_id)?;
        Ok(found.map(|(question, answer)| Exchange { question, answer }))
    }

    fn new_id(&self) -> String {
        new_id(self.at.clock.now_ms())
    }

    fn write(&self, change: Change<'_>) -> Result<(), PortError> {
        if self.is_gone()? {
            return Ok(());
        }
        Ok(self.change(change)?)
    }

    fn written(&self) -> LocalBoxFuture<'_, Result<(), PortError>> {
        async { Ok(self.at.store.sync().await?) }.boxed_local()
    }

    /// Asks the quotas of tokens and money. Where those of an address limit them, a visitor's call is refused: nobody knows
    /// the address any more.
    fn reserve<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<Verdict, PortError>> {
        async move {
            let quotas = accounts::quotas(&self.at.env).map_err(PortError)?;
            let turn = self.key(call);
            let owner = &self.thread.owner;
            let Some(rules) = quotas.call_rules(&turn.user_id, owner.issuer == ANONYMOUS) else {
                return Ok(Verdict::Refused);
            };
            if rules.is_empty() {
                return Ok(Verdict::Reserved);
            }
            let amount = call.reserved();
            let ask = Ask {
                turn,
                rules,
                new_thread: None,
                lease_ms: CALL_MS + LEASE_MARGIN_MS,
                most: Grant { tokens: Some(amount.tokens), microusd: Some(amount.microusd) },
                least: amount,
                import: None,
            };
            let admitted = accounts::admit(&self.at.env, &self.at.clock, &owner.tenant, ask).await;
            Ok(if admitted?.is_ok() { Verdict::Reserved } else { Verdict::Refused })
        }
        .boxed_local()
    }

    fn release<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<(), PortError>> {
        async move {
            let Thread { env, clock, .. } = self.at.as_ref();
            let released = accounts::release(env, clock, &self.thread.owner.tenant, self.key(call)).await;
            Ok(released?)
        }
        .boxed_local()
    }
}
