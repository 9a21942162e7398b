//! The one loop, and its only file that awaits: asks a level for its next step, obtains the outcome (from the
//! journal, else through a port), commits it, applies it.

use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};

use super::announcing::{Speaking, announce, take_parts};
use super::direct::Direct;
use super::level::{Level, LevelEnd, Step};
use super::parking::Tally;
use super::reserve::{note_usage, reservation_of};
use super::round::round;
use super::{Halt, Turn, answering, hooking, summary};
use crate::budget::{Exceeded, Spending};
use crate::journal::{Commit, Fact, ModelOutcome, TurnStop, Work};
use crate::ports::{Heard, LogError};
use crate::record::canned::{SAY_MORE, canned_reply};
use crate::record::keys::work;
use crate::record::told::{ended, started};
use wire::model::{ModelError, ModelErrorKind, ModelEvent, ModelReply, ModelRequest, Usage};
use wire::protocol::{ChunkKind, Event, TreeModelCall};

/// Runs a level to its end. The loop is the same at every depth: a subtask is a level inside a call of its
/// parent's round.
pub(crate) fn drive<'a>(turn: &'a Turn, level: &'a mut Level) -> LocalBoxFuture<'a, Result<LevelEnd, Halt>> {
    async move {
        loop {
            match level.next() {
                Step::Summarise(leaving) => {
                    if let Some(mut child) = summary::begin(turn, level, leaving)? {
                        let end = drive(turn, &mut child).await?;
                        summary::settle(level, &child, end);
                    }
                }
                Step::Steer => turn.parts.course.steer(turn, level).await?,
                Step::CallModel(_)
                    if Direct::at(turn, level).is_none() && hooking::comment(turn, level).await? => {}
                Step::CallModel(_) => {
                    turn.cut(level);
                    let (at, request) = (level.step_key(), level.request());
                    let outcome = call_model(turn, level, &request).await?;
                    note_usage(turn, level, &at, request, &outcome);
                    level.apply_model(outcome);
                }
                Step::CallTools(calls) => {
                    let results = round(turn, level, &calls).await?;
                    level.apply_tools(&results);
                }
                Step::Judge => answering::judge(turn, level).await?,
                Step::Finish(end) => return Ok(end),
            }
        }
    }
    .boxed_local()
}

async fn call_model(turn: &Turn, level: &Level, request: &ModelRequest) -> Result<ModelOutcome, Halt> {
    let at = level.step_key();
    let digest = level.digest().hex();
    if let Some((answered, outcome)) = turn.replay.model(&at) {
        if *answered == digest || turn.is_unfrozen(level) {
            return Ok(outcome.clone());
        }
        let detail = "its journal belongs to other steps".to_owned();
        turn.stop(TurnStop::Interrupted { detail })?;
        return Err(Halt::Stopped);
    }
    turn.check()?;
    if turn.spec.is_blank() && work(&at) == Work::Root {
        return canned(turn, level, &at, digest, SAY_MORE.to_owned());
    }
    if let Some(direct) = Direct::at(turn, level) {
        return canned(turn, level, &at, digest, direct.answer(level));
    }
    let attempt = turn.replay.attempts(&at);
    turn.wait_on(&level.place).await?;
    while !turn.has_started(&at) {
        match start(turn, level, &at, digest.clone(), request)? {
            Ok(()) => {}
            Err(exceeded) if turn.may_get_room(&at, &exceeded) => turn.another_ends().await?,
            Err(exceeded) => turn.wait_for_room(exceeded, &level.place).await?,
        }
    }
    let _runs = Tally::of(&turn.busy);
    let heard = listen(turn, level, &at, attempt, &turn.as_reserved(&at, request)).await?;
    // The text stays in the record until the outcome is written: a stop may come first.
    let (said, since_ms) = {
        let record = turn.record.borrow();
        let open = record.models.get(&at);
        open.map(|open| (open.said.concat() + &open.unshown, open.since_ms)).unwrap_or_default()
    };
    let outcome = match heard {
        Ok(reply) => {
            // A summary is text: calls beside it would have no level that makes them.
            let tool_calls = if level.covers().is_some() { Vec::new() } else { reply.tool_calls };
            let reply = Box::new(ModelReply { text: said, tool_calls, ..*reply });
            if level.is_judged() { ModelOutcome::Drafted(reply) } else { ModelOutcome::Replied(reply) }
        }
        // No hook has judged the text of a call that failed, and the words of a guard are for nobody.
        Err(error) if level.is_judged() || level.is_guard() => {
            ModelOutcome::Failed { error, said: String::new() }
        }
        Err(error) => ModelOutcome::Failed { error, said },
    };
    // From the journaled start on, as the time of the first word.
    let duration_ms = turn.elapsed_ms().saturating_sub(since_ms);
    end(turn, level, &at, digest, &outcome, duration_ms)?;
    Ok(outcome)
}

/// Reserves the root's first model call when the turn begins, so that its start is written with entry 0. `drive` makes
/// the call.
pub(super) fn start_first(turn: &Turn, root: &mut Level) -> Result<(), LogError> {
    let Step::CallModel(_) = root.next() else { return Ok(()) };
    turn.cut(root);
    let started = start(turn, root, &root.step_key(), root.digest().hex(), &root.request());
    let begun = started.and_then(|started| match started {
        // A turn without room for the call is stopped now.
        Err(exceeded) if exceeded.raised_to.is_none() => turn.exceed(exceeded),
        // Where a person may make room, `drive` asks.
        Ok(()) | Err(_) => Ok(()),
    });
    match begun {
        Ok(()) | Err(Halt::Stopped) => Ok(()),
        Err(Halt::Log(error)) => Err(error),
    }
}

/// Answers in the model's place, as to a blank message (B-062): the service asks no model and spends nothing.
fn canned(turn: &Turn, level: &Level, at: &str, digest: String, text: String) -> Result<ModelOutcome, Halt> {
    let model_call_id = turn.ids.model_call(at);
    let chunk = Event::Chunk {
        content: text.clone(),
        part_id: turn.ids.part(at, 0),
        model_call_id: model_call_id.clone(),
        place: level.place.clone(),
        done: true,
        kind: ChunkKind::Text,
    };
    let entry = turn.entry(at, Fact::Canned { digest, text: text.clone() });
    let call = turn.record.borrow().canned_call(at, entry.elapsed_ms);
    let events = vec![
        (format!("model_start:{at}"), started(&call, level.place.clone())),
        (format!("canned:{at}"), chunk),
        (format!("model_end:{at}"), ended(call, level.place.clone())),
    ];
    turn.commit(Commit { entries: vec![entry], events, ..Commit::default() })?;
    Ok(canned_reply(text))
}

/// Reserves a model call and journals its start, and with a level's first call the level's opening. A call that would
/// cross a limit journals nothing.
fn start(
    turn: &Turn,
    level: &Level,
    at: &str,
    digest: String,
    request: &ModelRequest,
) -> Result<Result<(), Exceeded>, Halt> {
    let attempt = turn.replay.attempts(at);
    let place = level.place.clone();
    let model_call_id = turn.ids.model_call(at);
    let chain = turn.spec.chain_of(level.models());
    let (held, held_microusd) = reservation_of(turn, level, request, &turn.record.borrow().budget);
    let spending = Spending::held(held, held_microusd, chain.dearest().as_ref());
    let cut = level.cut_before_call().cloned();
    let intent = Fact::ModelStarted { digest, attempt, place: place.clone(), held, cut, held_microusd };
    let entry = turn.entry(at, intent);
    let mut events: Vec<_> = turn.told_before(level, at, request).into_iter().collect();
    if level.place.depth == 0 && level.has_new_results() {
        events.push((format!("state:{at}"), turn.agent_state(None)));
    }
    let call = TreeModelCall {
        id: model_call_id.clone(),
        model: chain.first.choice.model.clone(),
        started_ms: entry.elapsed_ms,
        agent: turn.agent_at(level).map(str::to_owned),
        ..TreeModelCall::default()
    };
    events.push((format!("model_start:{at}"), started(&call, place.clone())));
    if attempt > 0 {
        let reason = "interrupted".to_owned();
        let reset = Event::ModelCallReset { model_call_id, place, reason };
        events.push((format!("model_reset:{at}:{attempt}"), reset));
    }
    let mut entries = turn.freezing(level);
    entries.push(entry);
    let reservation = turn.reserve()?;
    match reservation.model_call(spending) {
        Ok(()) => reservation.commit(Commit { entries, events, ..Commit::default() })?,
        Err(exceeded) => return Ok(Err(exceeded)),
    }
    if let Some(open) = turn.record.borrow_mut().models.get_mut(at) {
        open.live = true;
    }
    Ok(Ok(()))
}

impl Turn {
    /// Whether this run has journaled the start of a model call that has no outcome yet.
    fn has_started(&self, at: &str) -> bool {
        self.record.borrow().models.get(at).is_some_and(|open| open.live)
    }

    /// Whether a level was not frozen when its journal was written: in format 1 the code built each child level anew, so
    /// the digests of its steps hold only for the code that wrote them.
    fn is_unfrozen(&self, level: &Level) -> bool {
        self.spec.format < 2 && level.place.depth > 0
    }
}

// Long: an arm for each report of the port.
async fn listen(
    turn: &Turn,
    level: &Level,
    at: &str,
    attempt: u32,
    request: &ModelRequest,
) -> Result<Result<Box<ModelReply>, ModelError>, Halt> {
    let from = Speaking { place: &level.place, at, attempt };
    let chain = turn.spec.chain_of(level.models());
    turn.written().await?;
    #[cfg(any(test, feature = "testing"))]
    super::asker::note_asker(at);
    let is_silent = level.is_silent();
    let mut hearing = turn.ports.model.call(request, chain, turn.until_ms());
    let mut bytes = 0;
    while let Some(heard) = hearing.next().await {
        let events = match heard {
            Err(error) => return Ok(Err(error)),
            Ok(Heard::Asking { place, after: None }) => {
                turn.alive()?;
                turn.record.borrow_mut().asking(at, place);
                turn.written().await?;
                continue;
            }
            Ok(Heard::Asking { place, after: Some(error) }) => {
                if !retry(turn, at, Some(place), &error)? {
                    return Ok(Err(error));
                }
                turn.written().await?;
                continue;
            }
            Ok(Heard::Empty(mut reply)) => {
                reply.usage = counted(turn, at, reply.usage, 0);
                if !retry(turn, at, None, &ModelError::empty_reply(reply.usage))? {
                    turn.answering(at);
                    return Ok(Ok(reply));
                }
                turn.written().await?;
                continue;
            }
            Ok(Heard::Answering) => {
                turn.answering(at);
                continue;
            }
            Ok(Heard::Events(events)) => events,
        };
        turn.answering(at);
        for event in events {
            bytes += bytes_of(&event);
            match event {
                ModelEvent::Text(content) if is_silent => turn.hear(at, &content),
                ModelEvent::Reasoning(_) if is_silent => {}
                ModelEvent::Text(content) => {
                    announce(turn, &from, ChunkKind::Text, content)?;
                }
                ModelEvent::Reasoning(content) => {
                    announce(turn, &from, ChunkKind::Reasoning, content)?;
                }
                ModelEvent::Finished(mut reply) => {
                    reply.usage = counted(turn, at, reply.usage, bytes);
                    return Ok(Ok(reply));
                }
            }
        }
    }
    let message = "the provider's stream ended before the reply was complete".to_owned();
    Ok(Err(ModelError::new(ModelErrorKind::Protocol, message)))
}

/// The usage that a provider has reported for a reply, else an estimate. Some providers report zeros where they do not
/// count.
fn counted(turn: &Turn, at: &str, usage: Option<Usage>, bytes: usize) -> Option<Usage> {
    let reported = usage.filter(|usage| *usage != Usage::default());
    reported.or_else(|| turn.record.borrow().budget.estimated(at, bytes))
}

/// The bytes that an event adds to a reply. The text of the whole reply repeats the events before it.
fn bytes_of(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::Text(piece) | ModelEvent::Reasoning(piece) => piece.len(),
        ModelEvent::Finished(reply) => {
            reply.tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum()
        }
    }
}

/// Reserves and journals a request after one that failed, before it is made: it is a call of its own. `asked`: the
/// place of its model; none for the same model again. False: the budget has no room for it, so the failure is the
/// outcome of the call.
fn retry(turn: &Turn, at: &str, asked: Option<usize>, error: &ModelError) -> Result<bool, Halt> {
    turn.alive()?;
    let (failed, requests, lost) = {
        let record = turn.record.borrow();
        let Some(open) = record.models.get(at) else { return Ok(true) };
        (open.asked, open.requests, record.lost(at, open.asked, error))
    };
    let reservation = turn.reserve()?;
    // A request that used nothing needs no room beside the one that follows it.
    let lost = Some(lost).filter(|lost| *lost != Spending::default());
    if reservation.model_request(lost).is_err() {
        return Ok(false);
    }
    let asked = asked.unwrap_or(failed);
    let retried = Fact::ModelRetried { requests, failed, error: error.clone(), asked };
    reservation.commit(Commit { entries: vec![turn.entry(at, retried)], ..Commit::default() })?;
    Ok(true)
}

fn end(
    turn: &Turn,
    level: &Level,
    at: &str,
    digest: String,
    outcome: &ModelOutcome,
    duration_ms: u64,
) -> Result<(), Halt> {
    turn.alive()?;
    let (asked, first_byte_ms, call) = {
        let record = turn.record.borrow();
        let Some(open) = record.models.get(at) else { return Err(Halt::Stopped) };
        (open.asked, open.first_byte_ms, record.model_call(at, open, Some(outcome), duration_ms))
    };
    let texts = take_parts(turn, at);
    let place = level.place.clone();
    let mut events = vec![(format!("model_end:{at}"), ended(call, place.clone()))];
    if let (0, Some(reply)) = (place.depth, outcome.reply())
        && let Some(call) = reply.tool_calls.first()
    {
        events.push((format!("state:{at}:tools"), turn.agent_state(Some(&call.name))));
    }
    events.extend(turn.told_after(level, at, outcome));
    let ended =
        Fact::ModelEnded { digest, outcome: outcome.clone(), duration_ms, place, asked, first_byte_ms };
    turn.commit(Commit { entries: vec![turn.entry(at, ended)], texts, events, ..Commit::default() })
}
