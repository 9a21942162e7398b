//! Reads events: those of the log, and in tests those of a stream.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;

use super::{Event, Numbered, Place, Seq};

crate::tagged!(Event by "type" {
    "session" => Session {
        thread_id, user_message_id, assistant_message_id, #[serde(default)] provider, #[serde(default)] model, limits,
        replaces_message_id, #[serde(default)] client_names, resumed, #[serde(default)] messages,
    },
    "agent_state" => AgentState { state, context_type, details },
    "model_call_update" => ModelCallUpdate {
        model_call_id, status, model, agent, started_ms, first_byte_ms, duration_ms, usage, cost_usd, finish_reason,
        ..place: Place { parent_id, depth }
    },
    "chunk" => Chunk { content, part_id, model_call_id, #[serde(default)] done, #[serde(default)] kind, ..place: Place { parent_id, depth } },
    "tool_call_update" => ToolCallUpdate {
        tool_call_id, name, status, started_ms, args, result, #[serde(default)] is_error, duration_ms, usage, decision,
        #[serde(default)] sources, awaits, expires_at, ..place: Place { parent_id, depth }
    },
    "approval_request" => ApprovalRequest {
        approval_id, tool_call_id, name, args, permission_class, #[serde(default)] read_only, #[serde(default)] by_client,
        form, expires_at, ..place: Place { parent_id, depth }
    },
    "approval_resolved" => ApprovalResolved { approval_id, tool_call_id, decision, ..place: Place { parent_id, depth } },
    "limit_request" => LimitRequest {
        approval_id, reason, limit, observed, raised_to, grants_left, usage, expires_at, ..place: Place { parent_id, depth }
    },
    "limit_resolved" => LimitResolved { approval_id, decision, limits, ..place: Place { parent_id, depth } },
    "model_call_reset" => ModelCallReset { model_call_id, reason, ..place: Place { parent_id, depth } },
    "hook_update" => HookUpdate {
        hook_call_id, hook, point, status, decision, text, #[serde(default)] failed, tool_call_id, started_ms, duration_ms,
        usage, ..place: Place { parent_id, depth }
    },
    "history_summary" => HistorySummary { text },
    "agent_update" => AgentUpdate { name, parent, status, tool_call_id },
    "plan_created" => PlanCreated { tool_call_id, plan },
    "plan_ready_for_review" => PlanReadyForReview { plan },
    "plan_review" => PlanReview { plan_id, verdict, notes },
    "executor_start" => ExecutorStart { plan_id, steps },
    "step_start" => StepStart { plan_id, step_id, index, title, tool_call_id },
    "step_complete" => StepComplete { plan_id, step_id, index, status, result },
    "executor_complete" => ExecutorComplete { plan_id, status, completed, failed, skipped },
    "swarmPlanReady" => SwarmPlanReady { steps },
    "swarmStepStarted" => SwarmStepStarted { #[serde(rename = "stepIndex")] step_index, description },
    "swarmToolExecuted" => SwarmToolExecuted {
        #[serde(rename = "stepIndex")] step_index, tool, #[serde(rename = "briefResult")] brief_result,
    },
    "swarmStepCompleted" => SwarmStepCompleted { #[serde(rename = "stepIndex")] step_index, result, status },
    "swarmComplete" => SwarmComplete { result },
    "workflow_update" => WorkflowUpdate { session_id, workflow_id, status, step_id, index, of, reason },
    "queue_update" => QueueUpdate { held, messages },
    "budget_exceeded" => BudgetExceeded { reason, limit, observed, #[serde(default)] left },
    "cost_summary" => CostSummary(_),
    "error" => Error { code, message, retryable },
    "path_changed" => PathChanged,
    "done" => Done { message_id, finish_reason, usage },
});

impl<'de> Deserialize<'de> for Numbered {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Number {
            seq: Seq,
            turn_id: String,
        }
        let json = Box::<RawValue>::deserialize(from)?;
        let Number { seq, turn_id } = crate::json::from_str(json.get()).map_err(D::Error::custom)?;
        Ok(Numbered { seq, turn_id, event: crate::json::from_str(json.get()).map_err(D::Error::custom)? })
    }
}

#[cfg(test)]
mod tests;
