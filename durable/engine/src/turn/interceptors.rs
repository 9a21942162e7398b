//! The calls that the loop answers itself, because they act on the turn: the one list of them.

use crate::calls::{
    agent_create_plan, agent_update_plan, finish_subtask, memory, plan_step, route_request, run_subtask,
};
use crate::memory::{AgentMemory, Overlay};
use crate::ports::ToolError;

/// A tool that never reaches the `Tools` port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interceptor {
    RunSubtask,
    FinishSubtask,
    Memory(MemoryCall),
    CreatePlan,
    UpdatePlan,
    PlanStep,
    Route,
}

/// The memory tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryCall {
    List,
    Read,
    Write,
}

impl Interceptor {
    const ALL: [(&'static str, Interceptor); 9] = [
        (run_subtask::NAME, Interceptor::RunSubtask),
        (finish_subtask::NAME, Interceptor::FinishSubtask),
        (memory::LIST, Interceptor::Memory(MemoryCall::List)),
        (memory::READ, Interceptor::Memory(MemoryCall::Read)),
        (memory::WRITE, Interceptor::Memory(MemoryCall::Write)),
        (agent_create_plan::NAME, Interceptor::CreatePlan),
        (agent_update_plan::NAME, Interceptor::UpdatePlan),
        (plan_step::NAME, Interceptor::PlanStep),
        (route_request::NAME, Interceptor::Route),
    ];

    /// Whether a call of this name counts as a subtask.
    pub(super) fn is_subtask(name: &str) -> bool {
        matches!(Interceptor::of(name), Some(Interceptor::RunSubtask | Interceptor::PlanStep))
    }

    pub(super) fn is(self, name: &str) -> bool {
        Interceptor::of(name) == Some(self)
    }

    pub(super) fn of(name: &str) -> Option<Interceptor> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, interceptor)| *interceptor)
    }
}

impl MemoryCall {
    /// Answers from what the call sees; what it writes goes to its overlay.
    pub(super) fn run(
        self,
        arguments: &str,
        seen: &AgentMemory,
        overlay: &mut Overlay,
    ) -> Result<String, ToolError> {
        match self {
            MemoryCall::List => memory::list(arguments, seen),
            MemoryCall::Read => memory::read(arguments, seen),
            MemoryCall::Write => memory::write(arguments, overlay),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls;

    // N-075 N-076 B-086 B-087
    #[test]
    fn the_list_and_the_declarations_name_the_same_tools() {
        let declared: Vec<String> = calls::intercepted().into_iter().map(|spec| spec.name).collect();
        let listed: Vec<&str> = Interceptor::ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            listed,
            [
                "run_subtask",
                "finish_subtask",
                "memory_list",
                "memory_read",
                "memory_write",
                "agent_create_plan",
                "agent_update_plan",
                "plan_step",
                "route_request"
            ]
        );
        // `finish_subtask` is declared per subtask, from its schema, `plan_step` for the level that a plan is,
        // `route_request` for the opening of a turn: nobody else has them.
        let elsewhere = ["finish_subtask", "plan_step", "route_request"];
        let rest: Vec<&str> = listed.into_iter().filter(|name| !elsewhere.contains(name)).collect();
        assert_eq!(declared, rest);
    }
}
