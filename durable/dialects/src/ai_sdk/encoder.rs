//! Writes the events of a turn as the frames of its message.
//!
//! The message is the turn, and a step is a model call of the root with the calls that it makes. Levels below the root
//! are no text of the message: they are the output of the root's call. A call that waits for somebody has a part of its
//! own at any depth, because the client answers by that part.

mod calls;
mod voice;

use serde_json::Error;

use self::calls::Call;
use self::voice::Voice;
use super::frame::{self, Begun, SwarmStep, json, member};
use crate::by_id::ById;
use crate::names::ClientNames;
use crate::template::Hole::{Json, Number, Text};
use crate::template::{fill, filled, separate};
use crate::{Encode, Header, is_root, raised};
use wire::protocol::{
    AgentState, CallStatus, ChunkKind, Event, FinishReason, Numbered, Place, Plan, Role, Seq, StepStatus,
    StoredMessage, TurnLimits,
};

/// A turn that is being written.
#[derive(Default)]
pub struct Encoder {
    voice: Voice,
    in_step: bool,
    /// A call that waited for the client has ended in this step.
    has_answers: bool,
    /// The parts of the root's model call that are open at the client, with the call.
    open: Vec<(String, String, ChunkKind)>,
    /// The calls that have not ended.
    calls: ById<Call>,
    /// The events up to this number had happened when the client asked.
    past: Seq,
    /// The client's calls among those events, which may have ended since.
    held: Vec<String>,
    /// The calls and questions that wait for the client.
    asked: Vec<String>,
    names: ClientNames,
    limits: Option<TurnLimits>,
    plan: Option<Box<Plan>>,
    swarm: Vec<SwarmStep>,
    stop: Option<(String, String)>,
    /// The usage, as JSON.
    usage: Option<Vec<u8>>,
    over: bool,
}

impl Encoder {
    /// The turn, for a client that has read it up to `known`: those events change the state and write nothing.
    /// Those up to `past` are a replay: a call of the client that ended in it does not run again.
    pub fn new(known: Seq, past: Seq) -> Self {
        Encoder { voice: Voice::new(known), past, ..Encoder::default() }
    }
}

impl Encode for Encoder {
    fn is_over(&self) -> bool {
        self.over
    }

    fn head(&self) -> (u16, Header) {
        (200, ("x-vercel-ai-ui-message-stream", "v1"))
    }

    // Long: an arm for each event.
    fn encode(&mut self, numbered: &Numbered, now_ms: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over {
            return Ok(());
        }
        self.voice.seq = numbered.seq;
        match &numbered.event {
            Event::Session {
                thread_id,
                user_message_id,
                assistant_message_id,
                limits,
                messages,
                client_names,
                ..
            } => {
                self.names = ClientNames::new(client_names);
                self.voice.begun = Begun {
                    thread_id: thread_id.clone(),
                    turn_id: numbered.turn_id.clone(),
                    user_message_id: user_message_id.clone(),
                    message_id: assistant_message_id.clone(),
                };
                self.limits = *limits;
                match messages.iter().find(|message| message.role == Role::Assistant) {
                    Some(answer) => self.stored(answer, out)?,
                    None if limits.is_some() => self.budget(&[], out)?,
                    None => self.voice.begin(out),
                }
            }
            Event::AgentState { state, details, .. } => self.state(*state, details.as_deref(), out)?,
            Event::ModelCallUpdate { status, model_call_id, place, .. } if is_root(place) => match status {
                CallStatus::Start => self.step(out),
                CallStatus::End => self.close(out, &|_, model_call| model_call == model_call_id),
            },
            Event::ModelCallReset { model_call_id, place, .. } => {
                self.reset(model_call_id, place, now_ms, out);
            }
            Event::Chunk { content, part_id, model_call_id, place, done, kind } if is_root(place) => {
                self.text((part_id, model_call_id, *kind), content, *done, out)
            }
            Event::Chunk { content, part_id, place, kind: ChunkKind::Text, .. } => {
                self.text_below(part_id, content, place, now_ms, out)
            }
            Event::ToolCallUpdate {
                status: CallStatus::Start,
                tool_call_id,
                name,
                args,
                awaits,
                place,
                ..
            } => self.call_starts((tool_call_id, name, args.as_ref()), *awaits, place, now_ms, out),
            Event::ToolCallUpdate {
                status: CallStatus::End,
                tool_call_id,
                result,
                is_error,
                decision,
                sources,
                ..
            } => {
                let result = result.as_deref().unwrap_or_default();
                self.call_ends(tool_call_id, (result, *is_error, *decision), now_ms, out);
                self.sources(tool_call_id, sources, out);
            }
            Event::ApprovalRequest {
                approval_id,
                tool_call_id,
                name,
                args,
                by_client,
                form: None,
                place,
                ..
            } => self.asks(approval_id, (tool_call_id, name, args), *by_client, place, out),
            Event::ApprovalResolved { approval_id, tool_call_id, decision, .. } => {
                self.decided(approval_id, tool_call_id, *decision, out);
            }
            Event::LimitRequest {
                approval_id,
                reason,
                limit,
                observed,
                raised_to,
                grants_left,
                place,
                ..
            } => {
                let input = raised(*reason, *limit, *observed, *raised_to, *grants_left);
                self.asks_for_budget(approval_id, &input, place, out);
            }
            Event::LimitResolved { approval_id, decision, limits, .. } => {
                self.limits = Some(*limits);
                self.budget_decided(approval_id, *decision, *limits, out)?;
                self.budget(&[], out)?;
            }
            Event::PlanCreated { plan, .. } | Event::PlanReadyForReview { plan } => {
                self.plan = Some(plan.clone());
                self.tell_plan(out)?;
            }
            Event::StepComplete { step_id, status, .. } => {
                let plan = self.plan.as_deref_mut();
                let step = plan.and_then(|plan| plan.steps.iter_mut().find(|step| step.id == *step_id));
                step.into_iter().for_each(|step| step.status = *status);
                self.tell_plan(out)?;
            }
            Event::ExecutorComplete { status, .. } => {
                self.plan.as_deref_mut().into_iter().for_each(|plan| plan.status = *status);
                self.tell_plan(out)?;
            }
            Event::SwarmPlanReady { steps } => {
                let step = |title: &String| SwarmStep { title: title.clone(), status: StepStatus::Pending };
                self.swarm = steps.iter().map(step).collect();
                self.tell_swarm(out)?;
            }
            Event::SwarmStepCompleted { step_index, status, .. } => {
                self.swarm.get_mut(*step_index).into_iter().for_each(|step| step.status = *status);
                self.tell_swarm(out)?;
            }
            Event::BudgetExceeded { reason, limit, observed, left } => {
                let (reason, left) = (json(reason)?, json(left)?);
                let holes = [Json(&reason), Number(*limit), Number(*observed), Json(&left)];
                let exceeded = r#""exceeded":{"reason":$,"limit":$,"observed":$,"left":$}"#;
                self.budget(&filled(exceeded, &holes), out)?;
            }
            Event::CostSummary(cost) => {
                let cost = json(cost)?;
                self.voice.tell(out, frame::DATA_COST, &[Json(&cost)]);
                self.usage = Some(cost);
            }
            Event::Error { code, message, .. } => {
                self.stop = Some((code.clone(), message.clone()));
            }
            Event::Done { finish_reason, .. } => self.finish(*finish_reason, out)?,
            // The rest has no form here, or belongs to a level below.
            _ => {}
        }
        if numbered.seq >= self.past && !self.over {
            self.release(out);
        }
        Ok(())
    }

    /// Our stream is over. A turn that waits for the client has the end of its message for now; any other one that has not
    /// ended was cut off, and the client may resume it.
    fn end(&mut self, is_parked: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over {
            return Ok(());
        }
        self.over = true;
        if is_parked && !self.asked.is_empty() {
            self.tell_whats_inside(out);
            if self.in_step {
                self.voice.say(out, frame::FINISH_STEP, &[]);
            }
            self.voice.say(out, frame::FINISH, &[Text("tool-calls"), Number(self.voice.seq), Json(b"")]);
        } else {
            let told = "The answer is not complete. Resume the stream for the rest of it.";
            self.voice.say(out, frame::ERROR, &[Text(told)]);
        }
        frame::write_end(out);
        Ok(())
    }
}

impl Encoder {
    fn state(&mut self, state: AgentState, details: Option<&str>, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut data = member(r#""state":$"#, Some(&json(&state)?));
        if let Some(details) = details {
            fill(r#","details":$"#, &[Text(details)], &mut data);
        }
        self.voice.tell(out, frame::DATA_AGENT_STATE, &[Json(&data)]);
        Ok(())
    }

    fn step(&mut self, out: &mut Vec<u8>) {
        if self.in_step {
            self.voice.tell(out, frame::FINISH_STEP, &[]);
        }
        (self.in_step, self.has_answers) = (true, false);
        self.voice.tell(out, frame::START_STEP, &[]);
    }

    fn text(
        &mut self,
        (part_id, model_call_id, kind): (&str, &str, ChunkKind),
        content: &str,
        done: bool,
        out: &mut Vec<u8>,
    ) {
        let is_open = self.open.iter().any(|(open, ..)| open == part_id);
        let (start, delta, _) = frames(kind);
        // A client that had the beginning before gets the rest as a part of its own.
        if !is_open && self.voice.is_heard() {
            self.open.push((part_id.to_owned(), model_call_id.to_owned(), kind));
            self.voice.tell(out, start, &[Text(part_id)]);
        }
        if !content.is_empty() {
            self.voice.tell(out, delta, &[Text(part_id), Text(content)]);
        }
        if done {
            self.close(out, &|part, _| part == part_id);
        }
    }

    /// Closes open parts, by their ids and those of their model calls.
    fn close(&mut self, out: &mut Vec<u8>, closes: &dyn Fn(&str, &str) -> bool) {
        let voice = &mut self.voice;
        self.open.retain(|(part, model_call, kind)| {
            let closes = closes(part, model_call);
            if closes {
                voice.tell(out, frames(*kind).2, &[Text(part)]);
            }
            !closes
        });
    }

    fn reset(&mut self, model_call_id: &str, place: &Place, now_ms: u64, out: &mut Vec<u8>) {
        if !is_root(place) {
            return self.forget_text_below(place, now_ms, out);
        }
        self.close(out, &|_, model_call| model_call == model_call_id);
        self.voice.tell(out, frame::RESET_STEP, &[]);
    }

    /// The limits, and the members of the one that the turn reached.
    fn budget(&mut self, exceeded: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let mut data = exceeded.to_vec();
        if let Some(limits) = self.limits {
            let between: &[u8] = if exceeded.is_empty() { b"" } else { b"," };
            data = filled(r#""limits":$$$"#, &[Json(&json(&limits)?), Json(between), Json(exceeded)]);
        }
        self.voice.tell(out, frame::DATA_BUDGET, &[Json(&data)]);
        Ok(())
    }

    fn tell_plan(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let Some(plan) = self.plan.as_deref() else { return Ok(()) };
        self.voice.tell(out, frame::DATA_PLAN, &[Text(&plan.id), Json(&json(plan)?)]);
        Ok(())
    }

    fn tell_swarm(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut steps = Vec::new();
        for SwarmStep { title, status } in &self.swarm {
            separate(&mut steps);
            fill(r#"{"title":$,"status":$}"#, &[Text(title), Json(&json(status)?)], &mut steps);
        }
        self.voice.tell(out, frame::DATA_SWARM, &[Json(&steps)]);
        Ok(())
    }

    /// A turn whose events the service has deleted: its answer.
    fn stored(&mut self, answer: &StoredMessage, out: &mut Vec<u8>) -> Result<(), Error> {
        self.step(out);
        self.text((&answer.id, &answer.id, ChunkKind::Text), &answer.content, true, out);
        self.usage = answer.usage.as_ref().map(json).transpose()?;
        self.stop = answer.stop.as_ref().map(|stop| (stop.code.clone(), stop.message.clone()));
        self.finish(answer.finish_reason.unwrap_or(FinishReason::Stop), out)
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<u8>) -> Result<(), Error> {
        self.over = true;
        self.close(out, &|_, _| true);
        // A client that answers by itself would send the answers of the last step again.
        if self.has_answers {
            self.step(out);
        }
        if self.in_step {
            self.voice.tell(out, frame::FINISH_STEP, &[]);
        }
        let stop = self.stop.take();
        let why = stop.as_ref().map_or("The turn was stopped.", |(_, message)| message);
        let finish_reason = match reason {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content-filter",
            FinishReason::Cancelled | FinishReason::Interrupted => "interrupted",
            FinishReason::Budget => "other",
            FinishReason::Error => "error",
        };
        if finish_reason == "interrupted" {
            self.voice.tell(out, frame::ABORT, &[Text(why)]);
        }
        let mut ended = member(r#","finishReason":$"#, Some(&json(&reason)?));
        ended.extend(member(r#","usage":$"#, self.usage.as_deref()));
        if let Some((code, message)) = &stop {
            fill(r#","stop":{"code":$,"message":$}"#, &[Text(code), Text(message)], &mut ended);
        }
        self.voice.tell(out, frame::FINISH, &[Text(finish_reason), Number(self.voice.seq), Json(&ended)]);
        // A client reads nothing after an error.
        if reason == FinishReason::Error {
            self.voice.tell(out, frame::ERROR, &[Text(why)]);
        }
        frame::write_end(out);
        Ok(())
    }
}

/// The frames of a part: its start, its pieces and its end.
fn frames(kind: ChunkKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        ChunkKind::Text => (frame::TEXT_START, frame::TEXT_DELTA, frame::TEXT_END),
        ChunkKind::Reasoning => (frame::REASONING_START, frame::REASONING_DELTA, frame::REASONING_END),
    }
}
