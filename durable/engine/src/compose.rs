//! Puts the engine together: the one place that names the loop and the calls above it. A new call of the engine
//! has a file in `calls/` or `plan/`, and a line here.

use std::rc::Rc;

use crate::agents::{DIGEST_CALL, REPLY_CALL, discuss, task, terminate, todo, websearch};
use crate::agents::{dump_agent, list_agents, restore_agent};
use crate::calls::{answer, finish, memory, subtask};
use crate::hooks;
use crate::journal::{Entry, History, Past, Shown, TurnSpec};
use crate::own::{OwnCall, OwnCalls};
use crate::plan::{create, router, step, swarm, update};
use crate::ports::{LogError, Ports};
use crate::toolbelt::ToolSpec;
use crate::turn::composite::{Own, Parts};
use crate::turn::{Turn, fits};
use crate::workflow::{self, complete};

/// The calls that the engine carries out itself.
const CALLS: &[&Own] = &[
    &subtask::CALL,
    &finish::CALL,
    &answer::CALL,
    &memory::LIST_CALL,
    &memory::READ_CALL,
    &memory::WRITE_CALL,
    &create::CALL,
    &update::CALL,
    &step::CALL,
    &router::CALL,
    &hooks::call::CALL,
    &task::CALL,
    &discuss::CALL,
    &terminate::CALL,
    &todo::CALL,
    &websearch::CALL,
    &list_agents::CALL,
    &dump_agent::CALL,
    &restore_agent::CALL,
    &REPLY_CALL,
    &DIGEST_CALL,
    &complete::CALL,
    &workflow::VERIFY_CALL,
    &workflow::REVIEW_CALL,
    &workflow::PLANNED_CALL,
    &workflow::OUTPUT_CALL,
];

pub(crate) const PARTS: Parts = Parts {
    calls: CALLS,
    facts: OwnCalls(facts),
    mode: &swarm::Modes,
    course: &workflow::Steps,
    judge: hooks::judge,
};

/// The facts of the engine's own call of this name.
fn facts(name: &str) -> Option<&'static OwnCall> {
    CALLS.iter().map(|own| &own.facts).find(|facts| facts.name == name)
}

/// The declarations of the calls that a root may have. Where agents make hooks, it has `hook` as well.
pub fn declarations() -> Vec<ToolSpec> {
    vec![
        subtask::spec(),
        memory::list_spec(),
        memory::read_spec(),
        memory::write_spec(),
        create::spec(),
        update::spec(),
    ]
}

/// The declarations of the calls of a turn whose request asks for agents. A turn without the tools that one of them needs
/// does not offer it.
pub fn agent_declarations() -> Vec<ToolSpec> {
    vec![
        task::spec(),
        discuss::spec(),
        terminate::spec(),
        todo::spec(),
        websearch::spec(),
        list_agents::spec(),
        dump_agent::spec(),
        restore_agent::spec(),
    ]
}

impl Turn {
    /// Commits entry 0 with the turn's first events. `history` is the conversation before this turn. Synchronous: the
    /// caller's own writes (the user's message, the running mark) are durable with it if no await stands between.
    pub fn begin(spec: TurnSpec, history: History, ports: Ports) -> Result<Rc<Turn>, LogError> {
        Turn::begin_with(PARTS, spec, history, ports)
    }

    /// Whether the first request of a turn has room for these earlier turns. Where it has none, a summary takes the place of
    /// the oldest ones.
    pub fn fits(spec: &TurnSpec, earlier: &[Past]) -> bool {
        fits(spec, earlier, PARTS.facts)
    }

    /// Rebuilds a turn whose run was lost from its journal, in the order in which it was written, and from the parts
    /// that its log has. Stops a turn that was resumed too often. `run` goes on, or commits the end of the stopped turn.
    pub fn resume(
        entries: Vec<Entry>,
        shown: Shown,
        history: History,
        ports: Ports,
    ) -> Result<Rc<Turn>, LogError> {
        Turn::resume_with(PARTS, entries, shown, history, ports)
    }

    /// Rebuilds a parked turn and writes nothing. The caller answers or stops it, and it goes on with `run`.
    pub fn rebuild(
        entries: Vec<Entry>,
        shown: Shown,
        history: History,
        ports: Ports,
    ) -> Result<Rc<Turn>, LogError> {
        Turn::rebuild_with(PARTS, entries, shown, history, ports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::composite::Carrier;

    // N-075 N-076 A-019 B-086 B-087
    #[test]
    fn the_list_and_the_declarations_name_the_same_calls() {
        let declared: Vec<String> = declarations().into_iter().map(|spec| spec.name).collect();
        let listed: Vec<&str> = CALLS.iter().map(|call| call.facts.name).collect();
        assert_eq!(
            listed,
            [
                "run_subtask",
                "finish_subtask",
                "give_answer",
                "memory_list",
                "memory_read",
                "memory_write",
                "agent_create_plan",
                "agent_update_plan",
                "plan_step",
                "route_request",
                "hook",
                "task",
                "discuss",
                "terminate",
                "todo_write",
                "websearch",
                "list_agents",
                "dump_agent",
                "restore_agent",
                "agent_reply",
                "digest_page",
                "complete_step",
                "verify_step",
                "review_step",
                "planned_step",
                "__step_output__"
            ]
        );
        // A subtask declares `finish_subtask` from its schema, a root `give_answer` from that of its request, and a step of a
        // workflow `__step_output__` from its tools; `hook` needs the operator's leave, and `complete_step` a session. Only the
        // service calls the others.
        let elsewhere = [
            "finish_subtask",
            "give_answer",
            "plan_step",
            "route_request",
            "hook",
            "agent_reply",
            "digest_page",
            "complete_step",
            "verify_step",
            "review_step",
            "planned_step",
            "__step_output__",
        ];
        let rest: Vec<&str> = listed.into_iter().filter(|name| !elsewhere.contains(name)).collect();
        let of_agents = agent_declarations().into_iter().map(|spec| spec.name);
        assert_eq!(declared.into_iter().chain(of_agents).collect::<Vec<_>>(), rest);
    }

    #[test]
    fn a_call_has_levels_exactly_if_it_is_composite() {
        for call in CALLS {
            let is_composite = matches!(call.carrier, Carrier::Composite(_));
            assert_eq!(call.facts.levels > 0, is_composite, "{}", call.facts.name);
            let of_this_name = CALLS.iter().filter(|other| other.facts.name == call.facts.name);
            assert_eq!(of_this_name.count(), 1, "one call of the name {}", call.facts.name);
        }
        assert!(facts("echo").is_none());
    }
}
