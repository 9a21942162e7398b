//! The calls that the engine carries out itself: subtasks, the end of a subtask, memory, plans. They never
//! reach the `Tools` port. Each file declares a call and its facts ([`OwnCall`]); this file lists them.

pub mod agent_create_plan;
pub mod agent_update_plan;
pub mod finish_subtask;
pub mod memory;
pub mod plan_step;
pub mod route_request;
pub mod run_subtask;

use crate::toolbelt::ToolSpec;

/// The facts of a call that the engine carries out itself. A journal holds only the call's name; the facts
/// come from this code.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnCall {
    pub name: &'static str,
    pub carrier: Carrier,
    /// The number of levels that the call opens, one below the other. The engine refuses a call whose levels
    /// would exceed the depth limit.
    pub levels: u32,
    /// The call counts towards the limit of subtasks.
    pub counts_as_subtask: bool,
    /// The call makes plans or acts on them. Only the root may make such calls.
    pub makes_plans: bool,
    /// The call's arguments have a title, which people see as its label.
    pub has_title: bool,
    /// The call's result represents the results of all calls within it.
    pub stands_for_inner: bool,
    /// The part of the turn's record, beside the tree, that the call's result changes.
    pub settles: Option<Settles>,
}

/// The part of the engine that carries a call out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The level that made the call ends with it.
    Finish,
    Memory(memory::Operation),
    /// The call contains levels (`turn::composite`).
    Composite,
}

/// The part of the turn's record that a call's result changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settles {
    /// A step of a plan.
    Step,
    /// The route of the request.
    Route,
}

impl OwnCall {
    /// A call without levels.
    const fn plain(name: &'static str, carrier: Carrier) -> Self {
        OwnCall {
            name,
            carrier,
            levels: 0,
            counts_as_subtask: false,
            makes_plans: false,
            has_title: false,
            stands_for_inner: false,
            settles: None,
        }
    }

    /// A call that opens this number of levels, one below the other.
    const fn composite(name: &'static str, levels: u32) -> Self {
        OwnCall { levels, ..OwnCall::plain(name, Carrier::Composite) }
    }
}

/// All of the engine's own calls.
const OWN: [&OwnCall; 9] = [
    &run_subtask::CALL,
    &finish_subtask::CALL,
    &memory::LIST_CALL,
    &memory::READ_CALL,
    &memory::WRITE_CALL,
    &agent_create_plan::CALL,
    &agent_update_plan::CALL,
    &plan_step::CALL,
    &route_request::CALL,
];

/// The facts of the engine's own call of this name.
pub fn own(name: &str) -> Option<&'static OwnCall> {
    OWN.into_iter().find(|call| call.name == name)
}

/// The number of levels that a call of this name opens.
pub fn levels(name: &str) -> u32 {
    own(name).map_or(0, |call| call.levels)
}

/// Whether calls of this name make plans or act on them.
pub fn makes_plans(name: &str) -> bool {
    own(name).is_some_and(|call| call.makes_plans)
}

/// The label of a call, for people.
pub fn title(name: &str, arguments: &str) -> Option<String> {
    let is_titled = own(name).is_some_and(|call| call.has_title);
    is_titled.then(|| run_subtask::title(arguments).unwrap_or_else(|| name.to_owned()))
}

/// The declarations of the calls that a root may have.
pub fn declarations() -> Vec<ToolSpec> {
    vec![
        run_subtask::spec(),
        memory::list_spec(),
        memory::read_spec(),
        memory::write_spec(),
        agent_create_plan::spec(),
        agent_update_plan::spec(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-075 N-076 B-086 B-087
    #[test]
    fn the_list_and_the_declarations_name_the_same_calls() {
        let declared: Vec<String> = declarations().into_iter().map(|spec| spec.name).collect();
        let listed: Vec<&str> = OWN.iter().map(|call| call.name).collect();
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
        // A subtask declares `finish_subtask` from its schema. Only the service calls `plan_step` and `route_request`.
        let elsewhere = ["finish_subtask", "plan_step", "route_request"];
        let rest: Vec<&str> = listed.into_iter().filter(|name| !elsewhere.contains(name)).collect();
        assert_eq!(declared, rest);
    }

    #[test]
    fn a_call_has_levels_exactly_if_it_is_composite() {
        for call in OWN {
            assert_eq!(call.levels > 0, call.carrier == Carrier::Composite, "{}", call.name);
            assert_eq!(own(call.name), Some(call), "one call of this name");
        }
        assert_eq!(own("echo"), None);
    }
}
