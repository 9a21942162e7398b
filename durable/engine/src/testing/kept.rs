//! The agents that earlier turns left, in memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::journal::{Agent, AgentLife, AgentRow, AgentSetting, MAIN, MAX_TRANSCRIPT_BYTES, Round, TurnEnd};
use crate::ports::{Agents, LogError, Recalled};

/// The agents of a thread between two turns.
#[derive(Clone, Default)]
pub struct KeptAgents {
    pub agents: RefCell<BTreeMap<String, Agent>>,
    rounds: RefCell<BTreeMap<String, Vec<Round>>>,
    /// By the ids of the agents.
    pub lives: RefCell<BTreeMap<String, AgentLife>>,
    /// How often a transcript was read.
    pub reads: Cell<u32>,
}

impl KeptAgents {
    /// The setting of a turn of this thread.
    pub fn setting(&self, root: Option<&str>) -> AgentSetting {
        let kept: Vec<Agent> = self.agents.borrow().values().cloned().collect();
        let has_lives =
            kept.iter().any(|agent| agent.id != MAIN && self.lives.borrow().contains_key(&agent.id));
        AgentSetting { root: root.map(str::to_owned), kept, has_lives }
    }

    /// The life of `main`.
    pub fn life(&self) -> Option<Box<AgentLife>> {
        self.lives.borrow().get(MAIN).cloned().map(Box::new)
    }

    /// Takes the agents as a turn left them.
    pub fn take(&self, end: TurnEnd) {
        self.lives.borrow_mut().extend(end.lives);
        self.take_rows(end.agents);
    }

    pub fn take_rows(&self, rows: Vec<AgentRow>) {
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
    fn recall(&self, agent_id: &str) -> Result<Recalled, LogError> {
        self.reads.set(self.reads.get() + 1);
        let rounds = self.rounds.borrow().get(agent_id).cloned().unwrap_or_default();
        let bytes = |round: &Round| serde_json::to_vec(round).unwrap().len();
        let (mut all, mut from) = (0, rounds.len());
        while from > 0 && (from == rounds.len() || all + bytes(&rounds[from - 1]) <= MAX_TRANSCRIPT_BYTES) {
            from -= 1;
            all += bytes(&rounds[from]);
        }
        let life = self.lives.borrow().get(agent_id).cloned().unwrap_or_default();
        Ok(Recalled { rounds: rounds[from..].to_vec(), cut: from > 0, life })
    }
}
