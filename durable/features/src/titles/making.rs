//! The steps from a wish to a title. What is on disk after each of them says how another run goes on: a call is written
//! before it is made, and a call that no run has is lost.

use futures::StreamExt;
use futures::future::{Either, select};
use futures::pin_mut;

use super::call::{Call, House};
use super::port::{Change, Naming, Verdict};
use super::reply::title;
use super::wish::{ABORTED, Spent};
use engine::budget::Spending;
use engine::ports::Heard;
use wire::model::{ModelError, ModelErrorKind, ModelEvent, ModelReply, ReplyFinish};
use wire::store::StoreError;

/// How long the models may take for the call.
pub const CALL_MS: u64 = 30_000;
/// How long a call may be without a run before it is lost: its own time, that of the quotas before it, and some more.
const LEASE_MS: u64 = CALL_MS + 30_000;
/// The wait after a failed call before the next one.
const RETRY_MS: u64 = 10_000;
/// The most bytes of a reply that are read: a title with its marks has less than a tenth of them.
const REPLY_BYTES: usize = 4_096;

/// Makes the title that a thread wishes. `house`: none where this deployment makes no titles, or cannot pay for one.
/// One run at a time makes it, so a call that has begun before was lost.
pub async fn make(naming: &dyn Naming, house: Option<&House>) -> Result<(), StoreError> {
    let Some(mut wish) = naming.wish()? else { return Ok(()) };
    if let Some(lost) = wish.lose() {
        naming.write(Change { wish: Some((&wish, 0)), told: Some(lost), title: None })?;
    }
    let is_free = naming.title()?.as_ref() == Some(&wish.before);
    let planned = house.filter(|_| wish.may_try() && is_free).map(|house| {
        let exchange = naming.exchange(&wish.turn_id)?;
        Ok::<_, StoreError>(
            exchange.and_then(|exchange| Call::new(naming.new_id(), house, &exchange)).zip(Some(house)),
        )
    });
    let Some((call, house)) = planned.transpose()?.flatten() else {
        return naming.write(Change::default());
    };
    let wish = wish.begins(call.begun.clone());
    naming.write(Change { wish: Some((&wish, LEASE_MS)), ..Change::default() })?;
    naming.written().await?;
    match naming.reserve(&call).await {
        // A deleted text goes to no provider, and a thread that a person named needs no title.
        Ok(Verdict::Reserved) if !is_wished(naming, &call)? => {
            let released = naming.release(&call).await;
            end(naming, &call, None)?;
            released
        }
        Ok(Verdict::Reserved) => end(naming, &call, Some(ask(house, &call).await)),
        Ok(Verdict::Refused) => end(naming, &call, None),
        Err(error) => {
            // The quotas may have reserved it before their answer was lost.
            let released = naming.release(&call).await;
            end(naming, &call, None)?;
            released.and(Err(error))
        }
    }
}

/// Whether the thread still wishes this call.
fn is_wished(naming: &dyn Naming, call: &Call) -> Result<bool, StoreError> {
    let wish = naming.wish()?.filter(|wish| !wish.is_named);
    Ok(wish.and_then(|wish| wish.call).is_some_and(|begun| begun.id == call.begun.id))
}

/// Writes the end of a call, unless another run has counted it as lost, or the thread is deleted: then that has told all
/// of it. `said`: none where the call was not made.
fn end(naming: &dyn Naming, call: &Call, said: Option<Said>) -> Result<(), StoreError> {
    let Some(mut wish) = naming.wish()? else { return Ok(()) };
    let Some(begun) = wish.call.take_if(|begun| begun.id == call.begun.id) else { return Ok(()) };
    let Some(said) = said else { return naming.write(Change::default()) };
    let is_free = !wish.is_named && naming.title()?.as_ref() == Some(&wish.before);
    let title = said.title.filter(|_| is_free);
    let again = said.may_try_again && is_free && wish.may_try();
    let begun = super::Begun { provider: said.provider, model: said.model, ..begun };
    let told = Some(begun.ended(&wish.context_type, said.spent));
    naming.write(Change { wish: again.then_some((&wish, RETRY_MS)), told, title })
}

/// The outcome of a call.
struct Said {
    title: Option<String>,
    /// The call failed, and the next one may not.
    may_try_again: bool,
    provider: String,
    model: String,
    spent: Spent,
}

/// The part of a reply that has come.
#[derive(Default)]
struct Hearing {
    /// The place of the model that is asked.
    place: usize,
    retries: u32,
    first_byte_at: Option<u64>,
    text: String,
}

/// Makes the call.
async fn ask(house: &House, call: &Call) -> Said {
    let began_at = house.clock.now_ms();
    let mut hearing = Hearing::default();
    let heard = {
        let listening = listen(house, call, began_at + CALL_MS, &mut hearing);
        let patience = house.clock.sleep(CALL_MS);
        pin_mut!(listening, patience);
        match select(listening, patience).await {
            Either::Left((heard, _)) => heard,
            Either::Right(_) => Err(End::CutOff),
        }
    };
    let asked = house.chain.at(hearing.place);
    let usage = match &heard {
        Ok(reply) => {
            // Some providers report zeros where they do not count.
            let reported = reply.usage.filter(|usage| *usage != Default::default());
            reported.or_else(|| call.estimated(hearing.text.len()))
        }
        // The provider refused the request before it did anything.
        Err(End::Failed(error)) if hearing.first_byte_at.is_none() => error.used(),
        Err(_) => None,
    };
    let spending = usage.map(|usage| Spending::of(usage, asked.price.as_ref()));
    let cost_usd = usage.and_then(|usage| asked.cost_usd(usage));
    let counted = usage.unwrap_or_default();
    let (outcome, may_try_again) = match &heard {
        Ok(_) => ("ok", false),
        Err(End::CutOff) => (ABORTED, false),
        Err(End::Failed(error)) => (error.kind.code(), error.kind.retryable()),
    };
    Said {
        title: heard
            .ok()
            .filter(|reply| reply.finish == ReplyFinish::Stop)
            .and_then(|_| title(&hearing.text)),
        may_try_again,
        provider: asked.choice.provider.clone(),
        model: asked.choice.model.clone(),
        spent: Spent {
            outcome: outcome.to_owned(),
            input_tokens: counted.input_tokens,
            cached_tokens: counted.cached_tokens,
            output_tokens: counted.output_tokens,
            cost_usd,
            first_byte_ms: hearing.first_byte_at.map(|at| at.saturating_sub(began_at)),
            duration_ms: house.clock.now_ms().saturating_sub(began_at),
            retries: hearing.retries,
            used: Some(call.used(spending)),
        },
    }
}

/// Why a call has no reply.
enum End {
    Failed(ModelError),
    /// It took too long, or its reply is longer than any title.
    CutOff,
}

/// Listens to the reply. Dropping it ends the request upstream.
async fn listen(
    house: &House,
    call: &Call,
    until_ms: u64,
    hearing: &mut Hearing,
) -> Result<Box<ModelReply>, End> {
    let mut heard = house.model.call(&call.request, &house.chain, until_ms);
    while let Some(news) = heard.next().await {
        let events = match news.map_err(End::Failed)? {
            // A request that may have cost something is not made again within a call.
            Heard::Asking { after: Some(error), .. } if error.used().is_none() => {
                return Err(End::Failed(error));
            }
            Heard::Empty(reply) => return Err(End::Failed(ModelError::empty_reply(reply.usage))),
            Heard::Asking { place, after } => {
                hearing.place = place;
                hearing.retries = hearing.retries.saturating_add(u32::from(after.is_some()));
                continue;
            }
            Heard::Answering => Vec::new(),
            Heard::Events(events) => events,
        };
        hearing.first_byte_at.get_or_insert(house.clock.now_ms());
        for event in events {
            match event {
                ModelEvent::Text(text) => hearing.text.push_str(&text),
                ModelEvent::Reasoning(_) => {}
                ModelEvent::Finished(reply) => return Ok(reply),
            }
        }
        if hearing.text.len() > REPLY_BYTES {
            return Err(End::CutOff);
        }
    }
    let message = "the provider's stream ended before the reply was complete".to_owned();
    Err(End::Failed(ModelError::new(ModelErrorKind::Protocol, message)))
}
