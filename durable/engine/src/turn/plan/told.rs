//! What clients are told of a plan's steps: in the words of plans, or in those of a swarm (CF-23).

use super::super::Turn;
use super::super::machine::Level;
use crate::calls::plan_step;
use crate::journal::ToolEnd;
use wire::model::ToolCall;
use wire::protocol::{Event, StepStatus, preview};

/// That a step begins, where the call is one.
pub(in crate::turn) fn step_start(turn: &Turn, key: &str, call: &ToolCall) -> Option<(String, Event)> {
    let plan_step::Arguments { title, plan_id, step_id, index, .. } = step_arguments(call)?;
    let event = match turn.swarm.get() {
        false => Event::StepStart { plan_id, step_id, index, title, tool_call_id: turn.ids.tool_call(key) },
        true => Event::SwarmStepStarted { step_index: index, description: title },
    };
    Some((format!("step_start:{key}"), event))
}

/// That a step has its end, where the call is one.
pub(in crate::turn) fn step_complete(
    turn: &Turn,
    key: &str,
    call: &ToolCall,
    status: StepStatus,
    end: &ToolEnd,
) -> Option<(String, Event)> {
    let plan_step::Arguments { plan_id, step_id, index, .. } = step_arguments(call)?;
    let result = preview(&end.content);
    let event = match turn.swarm.get() {
        false => Event::StepComplete { plan_id, step_id, index, status, result },
        true => Event::SwarmStepCompleted { step_index: index, result, status },
    };
    Some((format!("step_complete:{key}"), event))
}

/// That a step of a swarm has used a tool.
pub(in crate::turn) fn tool_executed(
    turn: &Turn,
    level: &Level,
    key: &str,
    call: &ToolCall,
    end: &ToolEnd,
) -> Option<(String, Event)> {
    if !turn.swarm.get() {
        return None;
    }
    let record = turn.record.borrow();
    let step = record.pending.iter().find(|pending| Some(&pending.id) == level.place.parent_id.as_ref())?;
    let step_index = step_arguments(&step.call)?.index;
    let brief_result = end.content.chars().take(BRIEF_CHARS).collect();
    let event = Event::SwarmToolExecuted { step_index, tool: call.name.clone(), brief_result };
    Some((format!("swarm_tool:{key}"), event))
}

/// How much of a result a swarm tells of each tool.
const BRIEF_CHARS: usize = 120;

fn step_arguments(call: &ToolCall) -> Option<plan_step::Arguments> {
    Some(call)
        .filter(|call| call.name == plan_step::NAME)
        .and_then(|call| plan_step::arguments(&call.arguments))
}
