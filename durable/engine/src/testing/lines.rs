//! Events as short lines: tests compare whole lists of them.

use wire::protocol::{AgentState, CallStatus, Event};

/// One event as a short line. It shows each id as the key that the id is derived from.
// Long: an arm for each kind of event.
pub fn line(event: &Event) -> String {
    let short = |id: &str| id.rsplit('_').next().unwrap_or_default().to_owned();
    let place = |place: &wire::protocol::Place| match &place.parent_id {
        Some(parent) => format!(" in {} depth {}", short(parent), place.depth),
        None => String::new(),
    };
    match event {
        Event::AgentState { state: AgentState::WaitingOnUser, .. } => "state waiting".to_owned(),
        Event::AgentState { state: AgentState::ExecutingPlan, .. } => "state executing_plan".to_owned(),
        Event::PlanCreated { plan, .. } => format!("plan {} of {}", short(&plan.id), plan.steps.len()),
        Event::PlanReadyForReview { plan } => format!("plan {} ready", short(&plan.id)),
        Event::PlanReview { plan_id, verdict, .. } => format!("plan {} {verdict:?}", short(plan_id)),
        Event::ExecutorStart { plan_id, steps } => format!("executor {} start {steps}", short(plan_id)),
        Event::StepStart { step_id, tool_call_id, .. } => {
            format!("step {step_id} start {}", short(tool_call_id))
        }
        Event::StepComplete { step_id, status, .. } => format!("step {step_id} {status:?}"),
        Event::ExecutorComplete { status, completed, failed, skipped, .. } => {
            format!("executor {status:?} {completed} {failed} {skipped}")
        }
        Event::AgentState { details, .. } => format!("state {}", details.as_deref().unwrap_or("thinking")),
        Event::ApprovalRequest { approval_id, tool_call_id, name, form, place: at, .. } => {
            let (id, call) = (short(approval_id), short(tool_call_id));
            assert_eq!(id.strip_prefix(&call).unwrap().starts_with('~'), form.is_some());
            let form = if form.is_some() { " form" } else { "" };
            format!("ask {id} {name}{form}{}", place(at))
        }
        Event::ApprovalResolved { approval_id, decision, place: at, .. } => {
            format!("resolved {} {decision:?}{}", short(approval_id), place(at))
        }
        Event::ModelCallUpdate { model_call_id, status, place: at, finish_reason, .. } => {
            let why = finish_reason.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
            format!("model {} {status:?}{why}{}", short(model_call_id), place(at)).replace("Start", "start")
        }
        Event::Chunk { content, part_id, place: at, done, .. } => {
            let done = if *done { " done" } else { "" };
            format!("chunk {} {content:?}{done}{}", short(part_id), place(at))
        }
        Event::ToolCallUpdate { tool_call_id, name, awaits: Some(on), place: at, .. } => {
            format!("tool {} {name} Start awaits {}{}", short(tool_call_id), on.as_str(), place(at))
        }
        Event::ToolCallUpdate { tool_call_id, name, status, result, is_error, place: at, .. } => {
            let result = result.as_deref().map(|text| format!(" {text:?}")).unwrap_or_default();
            let error = if *is_error { " error" } else { "" };
            format!("tool {} {name} {status:?}{error}{result}{}", short(tool_call_id), place(at))
        }
        Event::LimitRequest {
            approval_id,
            reason,
            limit,
            observed,
            raised_to,
            grants_left,
            place: at,
            ..
        } => {
            let raised = format!("{raised_to} next, {grants_left} left");
            format!("limit {} {reason:?} {observed} of {limit}, {raised}{}", short(approval_id), place(at))
        }
        Event::LimitResolved { approval_id, decision, limits, place: at } => {
            let now = format!("{} llm {} tools", limits.llm_calls, limits.tool_calls);
            format!("limit {} {decision:?} {now}{}", short(approval_id), place(at))
        }
        Event::ModelCallReset { model_call_id, place: at, .. } => {
            format!("reset {}{}", short(model_call_id), place(at))
        }
        Event::HookUpdate { hook_call_id, hook, status: CallStatus::Start, place: at, .. } => {
            format!("hook {} {hook} start{}", short(hook_call_id), place(at))
        }
        Event::HookUpdate { hook_call_id, hook, decision, text, failed, place: at, .. } => {
            let said = decision.map_or("cut off".to_owned(), |decision| format!("{decision:?}"));
            let text = text.as_deref().map(|text| format!(" {text:?}")).unwrap_or_default();
            let failed = if *failed { " failed" } else { "" };
            format!("hook {} {hook} {said}{failed}{text}{}", short(hook_call_id), place(at))
        }
        Event::HistorySummary { text: Some(text) } => format!("summary {text:?}"),
        Event::AgentUpdate { name, parent, status, tool_call_id } => {
            let parent = parent.as_ref().map(|parent| format!(" of {parent}")).unwrap_or_default();
            format!("agent {name}{parent} {status:?} in {}", short(tool_call_id))
        }
        Event::HistorySummary { text: None } => "left out".to_owned(),
        Event::SwarmPlanReady { steps } => format!("swarm plan {}", steps.join(", ")),
        Event::SwarmStepStarted { step_index, description } => {
            format!("swarm step {step_index} start {description}")
        }
        Event::SwarmToolExecuted { step_index, tool, brief_result } => {
            format!("swarm tool {step_index} {tool} {brief_result}")
        }
        Event::SwarmStepCompleted { step_index, result, .. } => format!("swarm step {step_index} {result}"),
        Event::WorkflowUpdate { status, index, of, reason, .. } => {
            let reason = reason.as_deref().map(|reason| format!(" {reason}")).unwrap_or_default();
            format!("workflow {} {index}/{of}{reason}", status.as_str())
        }
        Event::QueueUpdate { messages, .. } => format!("queue {}", messages.len()),
        Event::SwarmComplete { result } => format!("swarm complete {result}"),
        Event::BudgetExceeded { reason, limit, observed, .. } => {
            format!("budget {reason:?} {observed} of {limit}")
        }
        Event::Error { code, .. } => format!("error {code}"),
        Event::CostSummary(costs) => {
            format!("cost {} llm {} tools {} subtasks", costs.llm_calls, costs.tool_calls, costs.subtasks)
        }
        Event::Done { finish_reason, .. } => format!("done {finish_reason:?}"),
        other => other.kind().to_owned(),
    }
}
