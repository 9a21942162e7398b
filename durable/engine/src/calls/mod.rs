//! The calls that the engine carries out itself: subtasks, the end of a subtask, memory, plans. They never reach the
//! `Tools` port.

pub mod agent_create_plan;
pub mod agent_update_plan;
pub mod finish_subtask;
pub mod memory;
pub mod plan_step;
pub mod route_request;
pub mod run_subtask;

use crate::toolbelt::ToolSpec;

/// The declarations of the tools that the loop intercepts (`turn::interceptors` runs them).
pub fn intercepted() -> Vec<ToolSpec> {
    vec![
        run_subtask::spec(),
        memory::list_spec(),
        memory::read_spec(),
        memory::write_spec(),
        agent_create_plan::spec(),
        agent_update_plan::spec(),
    ]
}

/// Whether calls of this name make plans or act on them.
pub fn makes_plans(name: &str) -> bool {
    [agent_create_plan::NAME, agent_update_plan::NAME].contains(&name)
}

/// Whether calls of this name are levels: other calls lie within them.
pub fn is_level(name: &str) -> bool {
    [run_subtask::NAME, plan_step::NAME, route_request::NAME].contains(&name) || makes_plans(name)
}

/// The label of a call that is a level, for people.
pub fn title(name: &str, arguments: &str) -> Option<String> {
    let is_titled = [run_subtask::NAME, plan_step::NAME].contains(&name);
    is_titled.then(|| run_subtask::title(arguments).unwrap_or_else(|| name.to_owned()))
}
