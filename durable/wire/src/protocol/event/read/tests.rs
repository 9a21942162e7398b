use serde_json::{Value, json};

use crate::protocol::{Event, Numbered};

/// One event of each kind, as the wire has it.
fn events() -> Vec<Value> {
    let cost = json!({
        "llm_calls": 1, "tool_calls": 0, "subtasks": 0, "input_tokens": 1, "cached_tokens": 0, "output_tokens": 2,
        "cost_usd": null, "by_model": {},
    });
    let plan = json!({
        "id": "p", "objective": "o", "reasoning": "r", "context_type": "thread", "execution_mode": "draft_only",
        "requested_outputs": ["a list"], "priority_entities": ["e"], "status": "executing", "steps": [], "revision": 1, "created_at": 2,
    });
    let with_type = |mut members: Value| {
        members["type"] = json!("cost_summary");
        members
    };
    vec![
        json!({"type": "session", "thread_id": "t", "user_message_id": "u", "assistant_message_id": "a"}),
        json!({"type": "agent_state", "state": "thinking", "context_type": "thread", "details": "d"}),
        json!({"type": "model_call_update", "model_call_id": "m", "status": "start", "model": "x", "parent_id": "p", "depth": 1}),
        json!({"type": "chunk", "content": "c", "part_id": "p", "model_call_id": "m", "parent_id": null, "depth": 0, "done": true, "kind": "reasoning"}),
        json!({"type": "tool_call_update", "tool_call_id": "c", "name": "n", "status": "end", "result": "r", "is_error": true, "duration_ms": 4, "parent_id": "p", "depth": 2}),
        json!({"type": "tool_call_update", "tool_call_id": "c", "name": "n", "status": "start", "started_ms": 3, "args": {"a": 1}, "awaits": "client", "expires_at": 9, "parent_id": null, "depth": 0}),
        json!({"type": "approval_request", "approval_id": "a", "tool_call_id": "c", "name": "n", "args": {}, "permission_class": "network", "expires_at": 1, "parent_id": null, "depth": 0}),
        json!({"type": "approval_resolved", "approval_id": "a", "tool_call_id": "c", "decision": "approve_for_thread", "parent_id": null, "depth": 0}),
        json!({"type": "limit_request", "approval_id": "a", "reason": "tool_calls", "limit": 4, "observed": 5, "raised_to": 8, "grants_left": 3, "usage": cost, "expires_at": 1, "parent_id": "p", "depth": 1}),
        json!({"type": "limit_resolved", "approval_id": "a", "decision": "deny", "limits": {"subtasks": 1, "llm_calls": 2, "tool_calls": 3, "wall_clock_ms": 4}, "parent_id": null, "depth": 0}),
        json!({"type": "model_call_reset", "model_call_id": "m", "parent_id": null, "depth": 0, "reason": "r"}),
        json!({"type": "executor_start", "plan_id": "p", "steps": 2}),
        json!({"type": "step_start", "plan_id": "p", "step_id": "s", "index": 1, "title": "t", "tool_call_id": "c"}),
        json!({"type": "swarmPlanReady", "steps": ["a"]}),
        json!({"type": "swarmStepStarted", "stepIndex": 1, "description": "d"}),
        json!({"type": "swarmToolExecuted", "stepIndex": 1, "tool": "t", "briefResult": "b"}),
        json!({"type": "swarmComplete", "result": "r"}),
        json!({"type": "plan_created", "tool_call_id": "c", "plan": plan}),
        json!({"type": "plan_ready_for_review", "plan": plan}),
        json!({"type": "plan_review", "plan_id": "p", "verdict": "approved", "notes": "n"}),
        json!({"type": "step_complete", "plan_id": "p", "step_id": "s", "index": 0, "status": "partial", "result": "r"}),
        json!({"type": "executor_complete", "plan_id": "p", "status": "failed", "completed": 1, "failed": 2, "skipped": 3}),
        json!({"type": "swarmStepCompleted", "stepIndex": 1, "result": "r", "status": "completed"}),
        json!({"type": "budget_exceeded", "reason": "subtasks", "limit": 1, "observed": 2}),
        json!({"type": "done", "message_id": "m", "finish_reason": "stop", "usage": cost}),
        with_type(cost.clone()),
        json!({"type": "error", "code": "c", "message": "m", "retryable": true}),
    ]
}

#[test]
fn an_event_is_read_as_it_was_written() {
    for event in events() {
        let read: Event =
            serde_json::from_str(&event.to_string()).unwrap_or_else(|error| panic!("{event}: {error}"));
        assert_eq!(event["type"], read.kind());
        assert_eq!(serde_json::to_value(&read).unwrap(), event);
        let mut numbered = event.clone();
        numbered["seq"] = json!(7);
        numbered["turn_id"] = json!("t");
        let read: Numbered = serde_json::from_str(&numbered.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), numbered);
    }
}
