//! The thread's agents, as the loop knows them: their changes in the journal, and their transcripts. The calls that make and
//! ask them stand above the loop.

use super::level::Level;
use super::{Halt, Turn};
use crate::journal::{Agent, AgentChange, AgentLife, AgentRow, Commit, Entry, Fact, MAIN, Round};
use crate::ports::{LogError, Recalled};
use crate::record::Record;
use wire::model::Message;
use wire::protocol::{AgentStatus, Event};

impl Turn {
    /// The agent that answers the user in this turn, as the turn began; none where `main` does.
    pub(super) fn root_agent(&self) -> Option<Agent> {
        let setting = self.spec.setting.agents.as_ref()?;
        setting.kept.iter().find(|agent| setting.root.as_ref() == Some(&agent.name)).cloned()
    }

    /// The name of the agent that a level is; none for `main`, and for a level that is no agent.
    pub(crate) fn agent_at<'a>(&'a self, level: &'a Level) -> Option<&'a str> {
        match level.opening() {
            Some(opening) => opening.spec.agent.as_deref(),
            None => self.spec.setting.agents.as_ref()?.root.as_deref(),
        }
    }

    /// The name by which an agent's level makes and asks other agents.
    pub(crate) fn maker<'a>(&'a self, level: &'a Level) -> &'a str {
        self.agent_at(level).unwrap_or(MAIN)
    }

    /// Journals changes of the agents under the key of the call that makes them, before the call's end.
    pub(crate) fn change_agents(&self, key: &str, changes: Vec<AgentChange>) -> Result<(), Halt> {
        let events = self.told_of_agents(key, &changes);
        let entries = one_made_each(changes).into_iter().enumerate().map(|(number, changes)| {
            let at = if number == 0 { key.to_owned() } else { format!("{key}m{number}") };
            self.entry(&at, Fact::Agents(changes))
        });
        self.commit(Commit { entries: entries.collect(), events, ..Commit::default() })
    }

    /// The events that clients get beside changes of the agents.
    pub(super) fn told_of_agents(&self, key: &str, changes: &[AgentChange]) -> Vec<(String, Event)> {
        let told = |change: &AgentChange| match change {
            AgentChange::Made { agent, .. } => Some(self.agent_update(agent, AgentStatus::Created, key)),
            AgentChange::Ended { name } => {
                let record = self.record.borrow();
                Some(self.agent_update(record.agents.get(name)?, AgentStatus::Terminated, key))
            }
            AgentChange::Recalled { .. }
            | AgentChange::Met { .. }
            | AgentChange::Heard { .. }
            | AgentChange::Spoke { .. }
            | AgentChange::Hooked { .. } => None,
        };
        changes.iter().filter_map(told).collect()
    }

    /// The event for a state of an agent, which a call brings about.
    pub(crate) fn agent_update(&self, agent: &Agent, status: AgentStatus, key: &str) -> (String, Event) {
        let Agent { name, parent, .. } = agent;
        let tool_call_id = self.ids.tool_call(key);
        let event = Event::AgentUpdate { name: name.clone(), parent: parent.clone(), status, tool_call_id };
        (format!("agent:{status:?}:{name}:{key}"), event)
    }

    /// Reads what earlier turns left of an agent's transcript, and journals it at `at`: so the turn's journal has each
    /// request of the agent whole, and a run that takes the turn up reads nothing. Once in a turn.
    pub(crate) fn recall(&self, name: &str, at: &str) -> Result<(), LogError> {
        if let Some(entry) = self.recalled(name, at)? {
            self.gather(Commit { entries: vec![entry], ..Commit::default() });
        }
        Ok(())
    }

    fn recalled(&self, name: &str, at: &str) -> Result<Option<Entry>, LogError> {
        let Some(id) = self.record.borrow().agents.unread(name) else { return Ok(None) };
        let Recalled { rounds, cut, life } = self.ports.agents.recall(&id)?;
        let life = (!life.is_empty()).then(|| Box::new(life));
        let recalled = AgentChange::Recalled { name: name.to_owned(), rounds, cut, life };
        Ok(Some(self.entry(at, Fact::Agents(vec![recalled]))))
    }
}

/// The changes in parts that make one agent at most: a reader of
/// the journal has one entry at a time in memory, and each agent may bring 500,000 bytes.
fn one_made_each(changes: Vec<AgentChange>) -> Vec<Vec<AgentChange>> {
    let mut parts: Vec<Vec<AgentChange>> = Vec::new();
    for change in changes {
        let is_next = matches!(change, AgentChange::Made { .. });
        match parts.last_mut().filter(|_| !is_next) {
            Some(part) => part.push(change),
            None => parts.push(vec![change]),
        }
    }
    parts
}

/// The agents as a turn leaves them.
pub(super) struct LeftAgents {
    pub(super) rows: Vec<AgentRow>,
    pub(super) lives: Vec<(String, AgentLife)>,
    /// The turn's part of the conversation: where an agent answered the user, it belongs to that agent alone.
    pub(super) history: Vec<Message>,
}

/// The agents at the end of a turn with this root, which adds `history` to the conversation of its agent.
pub(super) fn left(turn: &Turn, root: &Level, last: &Record, history: Vec<Message>) -> LeftAgents {
    let life = turn.life_after(root);
    let Some(agent) = turn.root_agent() else {
        let main = life.map(|life| (MAIN.to_owned(), life));
        let lives = last.agents.lives().into_iter().chain(main).collect();
        return LeftAgents { rows: last.agents.rows(), lives, history };
    };
    if history.is_empty() {
        return LeftAgents { rows: last.agents.rows(), lives: last.agents.lives(), history };
    }
    let mut agents = last.agents.clone();
    let heard = turn.heard_before(&agent).map(|content| Message::User { content: content.as_str().into() });
    let messages: Round = heard.into_iter().chain(history).collect();
    agents.apply(&[AgentChange::Spoke { name: agent.name, messages, life: life.map(Box::new) }]);
    LeftAgents { rows: agents.rows(), lives: agents.lives(), history: Vec::new() }
}

impl Turn {
    /// The texts that the turn's agent had heard before the user's message; none where it had heard nothing.
    pub(super) fn heard_before(&self, agent: &Agent) -> Option<String> {
        // Nobody but its maker asks an agent, so no call of this turn changes what it heard.
        (!agent.heard.is_empty()).then(|| self.record.borrow().agents.question(&agent.name))
    }
}
