//! Random trees of agents: whatever a dump has room for, it can be restored, and then the agents are as they were.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::agents::dump::{dump_of, restored, tree};
use crate::agents::dump_agent::MAX_FILED_BYTES;
use crate::journal::{AgentLife, MAX_AGENTS, People, Round};
use crate::turn::tests::random_turns;
use wire::pace::{Pace, at_once, no_pause};
use wire::protocol::{AgentMessage, DumpBuilder, SentDump};

/// The makers of the agents behind the first one, what each heard, and the rounds in their order: the agent of each and its
/// length.
#[derive(Clone, Debug)]
struct Forest {
    makers: Vec<prop::sample::Index>,
    heard: Vec<usize>,
    rounds: Vec<(prop::sample::Index, usize)>,
}

fn forests() -> impl Strategy<Value = Forest> {
    let makers = prop::collection::vec(any::<prop::sample::Index>(), 0..=MAX_AGENTS);
    let heard = prop::collection::vec(0..3_usize, MAX_AGENTS + 1);
    let round = (any::<prop::sample::Index>(), prop_oneof![1..50_usize, 10_000..60_000_usize]);
    let rounds = prop::collection::vec(round, 0..40);
    (makers, heard, rounds).prop_map(|(makers, heard, rounds)| Forest { makers, heard, rounds })
}

impl Forest {
    fn agents(&self) -> Vec<Agent> {
        let name = |place: usize| format!("a{place}");
        let maker = |place: usize| place.checked_sub(1).map(|before| self.makers[before].index(place));
        let own = |place: usize| {
            let all = 0..=self.makers.len();
            all.filter(|other| maker(*other) == Some(place)).map(name).collect::<Vec<_>>()
        };
        let agent = |place: usize| {
            let mut listeners = own(place);
            let speakers = listeners.split_off(listeners.len() / 2);
            Agent {
                id: name(place),
                name: name(place),
                parent: maker(place).map(name),
                heard: vec!["Hm?".to_owned(); self.heard[place]],
                interlocutors: People { speakers, listeners },
                ..Agent::default()
            }
        };
        (0..=self.makers.len()).map(agent).collect()
    }

    /// The rounds, each with its agent.
    fn rounds(&self) -> Vec<(usize, Round)> {
        let round = |(number, (agent, bytes)): (usize, &(prop::sample::Index, usize))| {
            let text = format!("{number} {}", "\"".repeat(*bytes));
            (agent.index(self.makers.len() + 1), vec![Message::User { content: text.as_str().into() }])
        };
        self.rounds.iter().enumerate().map(round).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_turns() / 10, failure_persistence: None, ..ProptestConfig::default() })]

    // A-095, issue 45, 5
    #[test]
    fn a_tree_is_restored_from_its_dump(forest in forests()) {
        let agents = forest.agents();
        let nodes = tree(agents[0].clone(), agents.clone());
        prop_assert_eq!(nodes.len(), agents.len());
        let places: Vec<String> = nodes.iter().map(|(_, agent)| agent.name.clone()).collect();
        let dumped = nodes.into_iter().map(|(maker, agent)| (maker, dump_of(agent, &AgentLife::default()))).collect();
        let mut dump = DumpBuilder::new(dumped, MAX_FILED_BYTES).unwrap();
        let rounds = forest.rounds();
        let fits = |(agent, round): &&(usize, Round)| {
            let place = places.iter().position(|name| *name == agents[*agent].name).unwrap();
            dump.add(place, round.iter().cloned().map(AgentMessage::from).collect()).unwrap()
        };
        let kept = rounds.iter().rev().take_while(fits).count();
        let dump = dump.whole().unwrap();
        prop_assert_eq!(dump.cut, kept < rounds.len());
        let text = json!(dump).to_string();
        prop_assert!(text.len() <= MAX_FILED_BYTES, "{}", text.len());

        let sent = at_once(SentDump::parse(text.as_bytes(), &Pace::new(&no_pause))).unwrap().unwrap();
        let restored = restored(sent, None, |place| place.to_string()).unwrap();
        prop_assert_eq!(restored.len(), agents.len());
        for restored in &restored {
            let before = agents.iter().find(|agent| agent.name == restored.agent.name).unwrap();
            let heard = restored.agent.heard[..restored.agent.heard.len() - 1].to_vec();
            let agent = Agent { id: before.id.clone(), heard, ..restored.agent.clone() };
            prop_assert_eq!(&agent, before);
            let newest = rounds[rounds.len() - kept..].iter().filter(|(agent, _)| agents[*agent].name == before.name);
            let newest: Vec<&Round> = newest.map(|(_, round)| round).collect();
            let read: Vec<Round> = restored.rounds.iter().map(|round| serde_json::from_str(round).unwrap()).collect();
            prop_assert_eq!(read.iter().collect::<Vec<_>>(), newest);
        }
    }
}
