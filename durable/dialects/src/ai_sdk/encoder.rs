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
use super::frame::{self, Begun, Budget, Exceeded, Finished, Frame, PlanData, State, Stop, SwarmStep};
use crate::by_id::ById;
use crate::{Encode, Header, is_root, raised};
use wire::protocol::{
    AgentState, CallStatus, ChunkKind, CostSummary, Event, FinishReason, Numbered, Place, Plan, Role, Seq,
    StepStatus, StoredMessage, TurnLimits,
};

/// The id of the data part of its type: a later one replaces it.
const BUDGET: &str = "budget";
const COST: &str = "cost";
const SWARM: &str = "swarm";

/// A turn that is being written.
pub struct Encoder {
    voice: Voice,
    in_step: bool,
    /// The parts of the root's model call that are open at the client, with the call.
    open: Vec<(String, String, ChunkKind)>,
    /// The calls that have not ended.
    calls: ById<Call>,
    /// The calls and questions that wait for the client.
    asked: Vec<String>,
    limits: Option<TurnLimits>,
    plan: Option<Box<Plan>>,
    swarm: Vec<SwarmStep>,
    stop: Option<(String, String)>,
    usage: Option<CostSummary>,
    over: bool,
}

impl Encoder {
    /// The turn, for a client that has read it up to `known`: those events change the state and write nothing.
    pub fn new(known: Seq) -> Self {
        Encoder {
            voice: Voice::new(known),
            in_step: false,
            open: Vec::new(),
            calls: ById::default(),
            asked: Vec::new(),
            limits: None,
            plan: None,
            swarm: Vec::new(),
            stop: None,
            usage: None,
            over: false,
        }
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
            Event::Session { thread_id, user_message_id, assistant_message_id, limits, messages, .. } => {
                self.voice.begun = Begun {
                    thread_id: thread_id.clone(),
                    turn_id: numbered.turn_id.clone(),
                    user_message_id: user_message_id.clone(),
                    message_id: assistant_message_id.clone(),
                };
                self.limits = *limits;
                match messages.iter().find(|message| message.role == Role::Assistant) {
                    Some(answer) => self.stored(answer, out),
                    None if limits.is_some() => self.budget(None, out),
                    None => self.voice.begin(out),
                }
            }
            Event::AgentState { state, details, .. } => self.state(*state, details.as_deref(), out),
            Event::ModelCallUpdate { status, model_call_id, place, .. } if is_root(place) => match status {
                CallStatus::Start => self.step(out),
                CallStatus::End => self.close(Some(model_call_id), out),
            },
            Event::ModelCallReset { model_call_id, place, .. } => {
                self.reset(model_call_id, place, now_ms, out)
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
                self.call_ends(tool_call_id, (result, *is_error, *decision), now_ms, out)?;
                self.sources(tool_call_id, sources, out)
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
            Event::ApprovalResolved { approval_id, decision, .. } => {
                self.decided(approval_id, *decision, out)
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
                self.asks_for_budget(approval_id, &input, place, out)
            }
            Event::LimitResolved { approval_id, decision, limits, .. } => {
                self.limits = Some(*limits);
                self.budget_decided(approval_id, *decision, *limits, out)?;
                self.budget(None, out)
            }
            Event::PlanCreated { plan, .. } | Event::PlanReadyForReview { plan } => {
                self.plan = Some(plan.clone());
                self.tell_plan(out)
            }
            Event::StepComplete { step_id, status, .. } => {
                let plan = self.plan.as_deref_mut();
                let step = plan.and_then(|plan| plan.steps.iter_mut().find(|step| step.id == *step_id));
                step.into_iter().for_each(|step| step.status = *status);
                self.tell_plan(out)
            }
            Event::ExecutorComplete { status, .. } => {
                self.plan.as_deref_mut().into_iter().for_each(|plan| plan.status = *status);
                self.tell_plan(out)
            }
            Event::SwarmPlanReady { steps } => {
                let step = |title: &String| SwarmStep { title: title.clone(), status: StepStatus::Pending };
                self.swarm = steps.iter().map(step).collect();
                self.tell_swarm(out)
            }
            Event::SwarmStepCompleted { step_index, status, .. } => {
                self.swarm.get_mut(*step_index).into_iter().for_each(|step| step.status = *status);
                self.tell_swarm(out)
            }
            Event::BudgetExceeded { reason, limit, observed, left } => {
                let exceeded = Exceeded { reason: *reason, limit: *limit, observed: *observed, left };
                self.budget(Some(exceeded), out)
            }
            Event::CostSummary(cost) => {
                self.usage = Some(cost.clone());
                self.voice.tell(out, &Frame::DataCost { id: COST, data: cost })
            }
            Event::Error { code, message, .. } => {
                self.stop = Some((code.clone(), message.clone()));
                Ok(())
            }
            Event::Done { finish_reason, .. } => self.finish(*finish_reason, out),
            // The rest has no form here, or belongs to a level below.
            Event::ModelCallUpdate { .. }
            | Event::ApprovalRequest { .. }
            | Event::Chunk { .. }
            | Event::HookUpdate { .. }
            | Event::HistorySummary { .. }
            | Event::AgentUpdate { .. }
            | Event::PlanReview { .. }
            | Event::ExecutorStart { .. }
            | Event::StepStart { .. }
            | Event::SwarmStepStarted { .. }
            | Event::SwarmToolExecuted { .. }
            | Event::SwarmComplete { .. }
            | Event::QueueUpdate { .. }
            | Event::WorkflowUpdate { .. }
            | Event::PathChanged => Ok(()),
        }
    }

    /// Our stream is over. A turn that waits for the client has the end of its message for now; any other one that has not
    /// ended was cut off, and the client may resume it.
    fn end(&mut self, is_parked: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over {
            return Ok(());
        }
        self.over = true;
        if is_parked && !self.asked.is_empty() {
            self.tell_whats_inside(out)?;
            if self.in_step {
                self.voice.say(out, &Frame::FinishStep)?;
            }
            let message_metadata =
                Finished { seq: self.voice.seq, finish_reason: None, usage: None, stop: None };
            self.voice.say(out, &Frame::Finish { finish_reason: "tool-calls", message_metadata })?;
        } else {
            let error_text = "The answer is not complete. Resume the stream for the rest of it.";
            self.voice.say(out, &Frame::Error { error_text })?;
        }
        frame::write_end(out);
        Ok(())
    }
}

impl Encoder {
    fn state(&mut self, state: AgentState, details: Option<&str>, out: &mut Vec<u8>) -> Result<(), Error> {
        self.voice.tell(out, &Frame::DataAgentState { data: State { state, details }, transient: true })
    }

    fn step(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.in_step {
            self.voice.tell(out, &Frame::FinishStep)?;
        }
        self.in_step = true;
        self.voice.tell(out, &Frame::StartStep)
    }

    fn text(
        &mut self,
        (part_id, model_call_id, kind): (&str, &str, ChunkKind),
        content: &str,
        done: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let is_open = self.open.iter().any(|(open, ..)| open == part_id);
        // A client that had the beginning before gets the rest as a part of its own.
        if !is_open && self.voice.is_heard() {
            self.open.push((part_id.to_owned(), model_call_id.to_owned(), kind));
            self.voice.tell(out, &text_frame(kind, part_id, None))?;
        }
        if !content.is_empty() {
            self.voice.tell(out, &text_frame(kind, part_id, Some(content)))?;
        }
        if done {
            self.open.retain(|(open, ..)| open != part_id);
            self.voice.tell(out, &end_frame(kind, part_id))?;
        }
        Ok(())
    }

    /// Closes the open parts of a model call, or all of them.
    fn close(&mut self, model_call_id: Option<&str>, out: &mut Vec<u8>) -> Result<(), Error> {
        let closed = |(_, call, _): &(String, String, ChunkKind)| model_call_id.is_none_or(|id| id == call);
        let (closed, open) = std::mem::take(&mut self.open).into_iter().partition(closed);
        self.open = open;
        for (part_id, _, kind) in Vec::<_>::into_iter(closed) {
            self.voice.tell(out, &end_frame(kind, &part_id))?;
        }
        Ok(())
    }

    fn reset(
        &mut self,
        model_call_id: &str,
        place: &Place,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if !is_root(place) {
            return self.forget_text_below(place, now_ms, out);
        }
        self.close(Some(model_call_id), out)?;
        self.voice.tell(out, &Frame::ResetStep)
    }

    fn budget(&mut self, exceeded: Option<Exceeded<'_>>, out: &mut Vec<u8>) -> Result<(), Error> {
        let data = Budget { limits: self.limits, exceeded };
        self.voice.tell(out, &Frame::DataBudget { id: BUDGET, data })
    }

    fn tell_plan(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let Some(plan) = self.plan.as_deref() else { return Ok(()) };
        self.voice.tell(out, &Frame::DataPlan { id: &plan.id, data: PlanData::Plan(plan) })
    }

    fn tell_swarm(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let data = PlanData::Swarm { steps: &self.swarm };
        self.voice.tell(out, &Frame::DataPlan { id: SWARM, data })
    }

    /// A turn whose events the service has deleted: its answer.
    fn stored(&mut self, answer: &StoredMessage, out: &mut Vec<u8>) -> Result<(), Error> {
        self.step(out)?;
        self.text((&answer.id, &answer.id, ChunkKind::Text), &answer.content, true, out)?;
        self.usage.clone_from(&answer.usage);
        self.stop = answer.stop.as_ref().map(|stop| (stop.code.clone(), stop.message.clone()));
        self.finish(answer.finish_reason.unwrap_or(FinishReason::Stop), out)
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<u8>) -> Result<(), Error> {
        self.over = true;
        self.close(None, out)?;
        if self.in_step {
            self.voice.tell(out, &Frame::FinishStep)?;
        }
        let stop = self.stop.as_ref().map(|(code, message)| Stop { code, message });
        let why = stop.as_ref().map_or("The turn was stopped.", |stop| stop.message);
        let finish_reason = match reason {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content-filter",
            FinishReason::Cancelled | FinishReason::Interrupted => "interrupted",
            FinishReason::Budget => "other",
            FinishReason::Error => "error",
        };
        if finish_reason == "interrupted" {
            self.voice.tell(out, &Frame::Abort { reason: why })?;
        }
        let message_metadata =
            Finished { seq: self.voice.seq, finish_reason: Some(reason), usage: self.usage.as_ref(), stop };
        self.voice.tell(out, &Frame::Finish { finish_reason, message_metadata })?;
        // A client reads nothing after an error.
        if reason == FinishReason::Error {
            self.voice.tell(out, &Frame::Error { error_text: why })?;
        }
        frame::write_end(out);
        Ok(())
    }
}

fn text_frame<'a>(kind: ChunkKind, id: &'a str, delta: Option<&'a str>) -> Frame<'a> {
    match (kind, delta) {
        (ChunkKind::Text, None) => Frame::TextStart { id },
        (ChunkKind::Text, Some(delta)) => Frame::TextDelta { id, delta },
        (ChunkKind::Reasoning, None) => Frame::ReasoningStart { id },
        (ChunkKind::Reasoning, Some(delta)) => Frame::ReasoningDelta { id, delta },
    }
}

fn end_frame(kind: ChunkKind, id: &str) -> Frame<'_> {
    match kind {
        ChunkKind::Text => Frame::TextEnd { id },
        ChunkKind::Reasoning => Frame::ReasoningEnd { id },
    }
}
