//! Random limits of a turn.

use proptest::prelude::*;

use crate::profiles::{Grant, Limits, OnLimit};

pub(super) fn limits() -> impl Strategy<Value = Limits> {
    let counted = (0..12_u32, 0..25_u32, 0..30_u32, 0..=5_u32, 0..9_u32, 0..8_u32);
    let measured = (
        prop_oneof![4 => Just(60_000_u64), 1 => 0..400_u64],
        prop_oneof![4 => Just(50_000_usize), 1 => 0..200_usize],
        prop_oneof![4 => Just(128_000_u64), 1 => 0..3_000_u64],
        0..4_u32,
    );
    let optional = (
        prop::option::weighted(0.2, 0..20_000_u64),
        prop::option::weighted(0.2, 0..2_000_u64),
        prop::option::weighted(0.2, 0..20_000_u64),
        prop::option::weighted(0.2, 20_000..40_000_u64).prop_map(|tokens| Grant { tokens, microusd: None }),
    );
    let of_plans = (
        prop::option::weighted(0.2, 0..9_u32),
        0..6_u32,
        prop_oneof![3 => Just(60_000_u64), 1 => 0..300_u64],
        prop_oneof![3 => Just(60_000_u64), 1 => 0..600_u64],
    );
    (counted, measured, optional, of_plans).prop_map(|(counted, measured, optional, of_plans)| {
        let (root_tool_calls, step_iterations, step_ms, plan_ms) = of_plans;
        let (subtasks, llm_calls, tool_calls, depth, parallel, iterations) = counted;
        let (wall_clock_ms, tool_result_bytes, history_tokens, schema_retries) = measured;
        let (turn_tokens, turn_result_bytes, turn_cost_microusd, quota) = optional;
        Limits {
            root_tool_calls,
            step_iterations,
            step_ms,
            plan_ms,
            client_wait_ms: 60_000,
            approval_wait_ms: 60_000,
            depth,
            iterations,
            parallel,
            subtasks,
            llm_calls,
            tool_calls,
            wall_clock_ms,
            tool_result_bytes,
            history_tokens,
            schema_retries,
            output_tokens: 500,
            turn_tokens,
            turn_result_bytes,
            turn_cost_microusd,
            on_limit: OnLimit::End,
            quota,
        }
    })
}
