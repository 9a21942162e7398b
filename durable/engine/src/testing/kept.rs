//! The agents that earlier turns left, in memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::journal::{Agent, AgentRow, AgentSetting, MAX_TRANSCRIPT_BYTES, Round};
use crate::ports::{Agents, LogError};

/// The agents of a thread between two turns.
#[derive(Clone, Default)]
pub struct KeptAgents {
    pub agents: RefCell<BTreeMap<String, Agent>>,
    rounds: RefCell<BTreeMap<String, Vec<Round>>>,
    /// How often a transcript was read.
    pub reads: Cell<u32>,
}

impl KeptAgents {
    /// The setting of a turn of this thread.
    pub fn setting(&self, root: Option<&str>) -> AgentSetting {
        AgentSetting { root: root.map(str::to_owned), kept: self.agents.borrow().values().cloned().collect() }
    }

    /// Takes what a turn left.
    pub fn take(&self, rows: Vec<AgentRow>) {
        for AgentRow { agent, has_ended, rounds } in rows {
            self.rounds.borrow_mut().entry(agent.id.clone()).or_default().extend(rounds);
            match has_ended {
                true => self.agents.borrow_mut().remove(&agent.name),
                false => self.agents.borrow_mut().insert(agent.name.clone(), agent),
            };
        }
    }
}

impl Agents for KeptAgents {
    fn transcript(&self, agent_id: &str) -> Result<(Vec<Round>, bool), LogError> {
        self.reads.set(self.reads.get() + 1);
        let rounds = self.rounds.borrow().get(agent_id).cloned().unwrap_or_default();
        let bytes = |round: &Round| serde_json::to_vec(round).unwrap().len();
        let (mut all, mut from) = (0, rounds.len());
        while from > 0 && (from == rounds.len() || all + bytes(&rounds[from - 1]) <= MAX_TRANSCRIPT_BYTES) {
            from -= 1;
            all += bytes(&rounds[from]);
        }
        Ok((rounds[from..].to_vec(), from > 0))
    }
}
