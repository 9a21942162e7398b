//! Model calls and decisions as readers see them: the same values in the events and in the stored tree.

use super::canned::CANNED;
use super::{OpenModelCall, Record, keys};
use crate::journal::{Answer, ModelOutcome};
use wire::model::{ReplyFinish, Usage};
use wire::protocol::{Awaited, CallStatus, Decision, Event, Place, TreeModelCall};

impl Record {
    /// A model call that has ended with this outcome; none where the end of the turn cut it off.
    pub(crate) fn model_call(
        &self,
        at: &str,
        open: &OpenModelCall,
        outcome: Option<&ModelOutcome>,
        duration_ms: u64,
    ) -> TreeModelCall {
        let asked = self.priced_model(at, open.asked);
        let (usage, finish_reason) = match outcome {
            Some(ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply)) => {
                (reply.usage, reply.finish.as_str())
            }
            Some(ModelOutcome::Failed { error, .. }) => (None, error.kind.code()),
            None => (None, "aborted"),
        };
        let (usage, cost_usd) = open.whole(&asked, usage);
        TreeModelCall {
            id: self.ids.model_call(at),
            parent_id: open.place.parent_id.clone(),
            cost_usd,
            model: asked.choice.model.clone(),
            started_ms: open.since_ms,
            // No entry has the first word of a call that was cut off.
            first_byte_ms: open.first_byte_ms.filter(|_| outcome.is_some()),
            duration_ms,
            usage,
            finish_reason: finish_reason.to_owned(),
            agent: self.agent_of(at),
        }
    }

    /// The agent whose level makes a model call; none where no agent does, and for `main`.
    pub(crate) fn agent_of(&self, at: &str) -> Option<String> {
        match self.opening(keys::level(at)) {
            Some(opening) => opening.spec.agent.clone(),
            None if keys::level(at).is_empty() => self.spec.setting.agents.as_ref()?.root.clone(),
            None => None,
        }
    }

    /// The service's own answer, which takes no time and costs nothing.
    pub(crate) fn canned_call(&self, at: &str, started_ms: u64) -> TreeModelCall {
        TreeModelCall {
            id: self.ids.model_call(at),
            model: CANNED.to_owned(),
            started_ms,
            usage: Some(Usage::default()),
            cost_usd: Some(0.0),
            finish_reason: ReplyFinish::Stop.as_str().to_owned(),
            ..TreeModelCall::default()
        }
    }

    /// The decision that let an open tool call start, or kept it from starting; none where it needed none.
    pub(crate) fn decision(&self, key: &str) -> Option<Decision> {
        if let Some(wait) = self.waits.get(&(key.to_owned(), Awaited::Approval)) {
            return wait.answer.as_ref().map(|(answer, _)| decided(Awaited::Approval, answer));
        }
        let call = self.pending.iter().find(|pending| pending.key == key)?;
        let name = &call.call.name;
        let stands = self.approved.contains(name) || self.spec.policy.approved.contains(name);
        (stands && call.since_ms.is_some()).then_some(Decision::Standing)
    }
}

/// A person's answer to a request for approval. The content of a form is an approval.
pub(crate) fn decided(on: Awaited, answer: &Answer) -> Decision {
    match answer {
        Answer::Result { .. } if on == Awaited::Input => Decision::Approve,
        Answer::Approve => Decision::Approve,
        Answer::ApproveForThread => Decision::ApproveForThread,
        Answer::Expired => Decision::Expired,
        Answer::Deny | Answer::Result { .. } => Decision::Deny,
    }
}

/// The start event of a model call.
pub(crate) fn started(call: &TreeModelCall, place: Place) -> Event {
    Event::ModelCallUpdate {
        model_call_id: call.id.clone(),
        status: CallStatus::Start,
        model: call.model.clone(),
        agent: call.agent.clone(),
        place,
        started_ms: Some(call.started_ms),
        first_byte_ms: None,
        duration_ms: None,
        usage: None,
        cost_usd: None,
        finish_reason: None,
    }
}

/// The end event of a model call.
pub(crate) fn ended(call: TreeModelCall, place: Place) -> Event {
    Event::ModelCallUpdate {
        model_call_id: call.id,
        status: CallStatus::End,
        model: call.model,
        agent: call.agent,
        place,
        started_ms: Some(call.started_ms),
        first_byte_ms: call.first_byte_ms,
        duration_ms: Some(call.duration_ms),
        usage: call.usage,
        cost_usd: call.cost_usd,
        finish_reason: Some(call.finish_reason),
    }
}
