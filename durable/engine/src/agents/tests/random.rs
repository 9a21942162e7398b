//! Random turns with agents: who makes whom, who hears whom, limits, failures, kills and stops. `invariants` holds the rules
//! that each turn must keep.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::journal::{MAX_AGENTS, TurnStop};
use crate::profiles::Limits;
use crate::turn::tests::faults::view;
use crate::turn::tests::random_turns;
use wire::model::ModelErrorKind;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const INSTRUCTIONS: [&str; 4] = ["Agent a.", "Agent b.", "Agent c.", "Agent d."];

/// The calls of some replies, each call as three numbers.
type Replies = Vec<Vec<(u8, u8, u8)>>;

#[derive(Clone, Debug)]
struct Random {
    root: Replies,
    agents: Vec<Replies>,
    limits: (u32, u32, u32, u32),
    seed: u64,
    kills: Vec<Kill>,
    stop: Option<usize>,
    talks: bool,
}

fn call((kind, who, others): (u8, u8, u8)) -> (&'static str, Value) {
    let name = NAMES[usize::from(who) % 4];
    let some =
        |bits: u8| -> Vec<&str> { (0..4).filter(|at| bits & (1 << at) != 0).map(|at| NAMES[at]).collect() };
    match kind {
        0..=3 => task(name, INSTRUCTIONS[usize::from(who) % 4], if others % 2 == 0 { "Well?" } else { "" }),
        4 => ("task", json!({"name": name, "prompt": "Again?"})),
        5 => ("task", json!({"name": name, "from": NAMES[usize::from(others) % 4]})),
        6 | 7 => discuss(json!({"prompt": "So?", "speakers": some(others), "listeners": some(others >> 4)})),
        8 => discuss(json!({"prompt": if who % 2 == 0 { "And?" } else { "" }})),
        9 => ("terminate", json!({"name": name})),
        10 => subtask("work"),
        11 => ("write", json!({})),
        14 => websearch(if who % 2 == 0 { "Where?" } else { "When?" }),
        15 => ("task", json!({"name": name, "template": "websearch", "prompt": "Well?"})),
        16 => {
            let template =
                ["workspace:a.md", "mcp:library:b.md", "workspace:gone.md"][usize::from(others) % 3];
            ("task", json!({"name": name, "template": template, "prompt": "Well?"}))
        }
        18 => ("dump_agent", json!({"name": name, "path": file(others)})),
        19 => ("restore_agent", json!({"path": file(others), "as": name})),
        20 => ("list_agents", json!({})),
        21 => {
            let agents = json!(some(others));
            ("task", json!({"name": name, "instructions": "Agent a.", "agents": agents, "prompt": "Well?"}))
        }
        12 => ("todo_write", json!({"todos": [{"text": name}]})),
        13 => ("memory_list", json!({})),
        _ => ("echo", json!({})),
    }
}

/// The path of one of the files that calls write and read.
fn file(number: u8) -> &'static str {
    ["a.json", "b.json", "a.md"][usize::from(number) % 3]
}

fn replies(all: &Replies) -> Vec<Reply> {
    let reply = |(at, calls): (usize, &Vec<(u8, u8, u8)>)| match calls.as_slice() {
        [] if at % 3 == 1 => Reply::Fail("oh ", ModelErrorKind::Overloaded),
        [] => Reply::Text("a few words"),
        calls => Reply::TextAndCalls("well, ", calls.iter().map(|call| self::call(*call)).collect()),
    };
    all.iter().enumerate().map(reply).chain([Reply::Text("so be it")]).collect()
}

impl Random {
    fn case(&self, before: Option<&Case>) -> Case {
        let agents = INSTRUCTIONS.iter().zip(&self.agents).map(|(name, all)| (*name, replies(all)));
        let levels = [("go", replies(&self.root)), ("work", vec![Reply::Text("worked")])];
        let cut = Reply::Fail("hm ", ModelErrorKind::Overloaded);
        let web = [
            ("page https://a/", vec![Reply::Text("so it says")]),
            ("page https://down/", vec![cut.clone()]),
            ("answer Where?", vec![Reply::Text("here [1]")]),
            ("answer When?", vec![cut.clone()]),
            ("answer Well?", vec![Reply::Text("well [1]")]),
            ("answer Again?", vec![cut]),
            ("answer So?", vec![Reply::Text("so [1]")]),
            ("answer And?", vec![Reply::Text("and [1]")]),
            ("answer another", vec![Reply::Text("as you say [1]")]),
        ];
        let levels: Vec<_> = levels.into_iter().chain(agents).chain(web).collect();
        let mut case = Case::seeded(script(&levels), self.seed);
        let tools = Rc::get_mut(&mut case.tools).unwrap();
        tools.add_web(&["https://a/", "https://broken/", "https://down/"]);
        tools.add_readers();
        tools.add_writer();
        case.policy.allowed_mcp_servers.insert("library".to_owned());
        case.offered_by = case.policy.clone();
        for (name, instructions) in ["a.md", "b.md"].iter().zip(INSTRUCTIONS) {
            case.tools.texts.borrow_mut().insert((*name).to_owned(), instructions.to_owned());
        }
        let (subtasks, llm_calls, tool_calls, depth) = self.limits;
        case.limits = Limits { subtasks, llm_calls, tool_calls, depth, iterations: 6, ..case.limits };
        if let Some(before) = before {
            case.agents = Rc::new(KeptAgents::clone(&before.agents));
            case.agents.take(before.end());
        }
        let root = case.agents.agents.borrow().keys().find(|name| *name != "main").cloned();
        case.setting.agents = Some(case.agents.setting(root.as_deref().filter(|_| self.talks)));
        case
    }

    fn play(&self, before: Option<&Case>) -> Case {
        let mut case = self.case(before);
        let mut kills = self.kills.iter();
        let mut steps = 0;
        while case.disk.end.borrow().is_none() {
            let kill = kills.next().copied();
            let during = |turn: &crate::turn::Turn, _: usize| {
                steps += 1;
                if self.stop == Some(steps) {
                    let _ = turn.stop(TurnStop::Cancelled);
                }
            };
            match case.disk.commits.get() {
                0 => case.run_with(kill, during),
                _ => case.resume_with(kill, during),
            }
        }
        case
    }
}

fn some_replies() -> impl Strategy<Value = Replies> {
    let call = (0..22_u8, any::<u8>(), any::<u8>());
    prop::collection::vec(prop::collection::vec(call, 0..4), 0..4)
}

fn turns(kills: usize) -> impl Strategy<Value = Random> {
    let kill = prop_oneof![
        (1..30_usize).prop_map(Kill::AfterCommits),
        (1..30_usize).prop_map(Kill::Unheard),
        (0..150_usize).prop_map(Kill::AtStep),
    ];
    let limits = (0..12_u32, 0..30_u32, 0..40_u32, 0..4_u32);
    let lives = (prop::collection::vec(kill, kills..=3 * kills), prop::option::weighted(0.2, 1..100_usize));
    let scripts = (some_replies(), prop::collection::vec(some_replies(), 4));
    (scripts, limits, 0..u64::MAX, lives, any::<bool>()).prop_map(
        |((root, agents), limits, seed, (kills, stop), talks)| Random {
            root,
            agents,
            limits,
            seed,
            kills,
            stop,
            talks,
        },
    )
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: random_turns() / 10, failure_persistence: None, ..ProptestConfig::default() }
}

/// Each agent has one maker that is there, names are unique, and nobody's people are gone.
fn well_kept(case: &Case) {
    let after = KeptAgents::clone(&case.agents);
    after.take(case.end());
    let agents = after.agents.borrow();
    assert!(agents.keys().filter(|name| *name != "main").count() <= MAX_AGENTS);
    for agent in agents.values() {
        assert!(agent.parent.as_ref().is_none_or(|parent| agents.contains_key(parent)), "{agent:?}");
        assert!(agent.interlocutors.all().all(|name| agents.contains_key(name)), "{agent:?}");
    }
}

proptest! {
    #![proptest_config(config())]

    // Issue 20, tests: no limit is crossed by one, and the same turn is the same again. The second turn goes on with the agents
    // of the first.
    #[test]
    fn every_turn_with_agents_is_bounded_and_well_formed(first in turns(0), second in turns(0)) {
        let before = first.play(None);
        before.check();
        well_kept(&before);
        let case = second.play(Some(&before));
        case.check();
        well_kept(&case);
        prop_assert_eq!(case.events(), second.play(Some(&before)).events());
    }

    #[test]
    fn a_turn_with_agents_that_dies_ends_well(first in turns(0), second in turns(1)) {
        let before = first.play(None);
        let case = second.play(Some(&before));
        case.check();
        well_kept(&case);
        let stored = case.disk.events.borrow();
        prop_assert_eq!(view(&case.seen), view(&stored), "who stayed has what is stored");
        prop_assert!(case.agents.reads.get() <= before.agents.reads.get() + 5, "a transcript is read once");
    }
}
