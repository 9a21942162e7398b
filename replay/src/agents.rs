//! The agents of a recorded turn: what it read of their transcripts, and the templates that it made them from.

use std::rc::Rc;

use engine::agents::dump;
use engine::journal::{Agent, AgentChange, Entry, Fact};
use engine::ports::{Agents, LogError, Recalled, ToolError};

use serde_json::Value;
use wire::protocol::{AgentDump, AgentMessage};

use crate::script::Script;

/// The agents as the record has them.
pub struct Kept(pub Rc<Script>);

impl Agents for Kept {
    fn recall(&self, agent_id: &str) -> Result<Recalled, LogError> {
        let name = self.0.kept_name(agent_id);
        let recalled = self.0.agent_changes().find_map(|(_, change)| match change {
            AgentChange::Recalled { name: other, rounds, cut, life } if Some(other) == name.as_ref() => {
                let life = life.as_deref().cloned().unwrap_or_default();
                Some(Recalled { rounds: rounds.clone(), cut: *cut, life })
            }
            _ => None,
        });
        Ok(recalled.unwrap_or_default())
    }
}

impl Script {
    /// The changes of agents, each with the call that made it.
    fn agent_changes(&self) -> impl Iterator<Item = (&str, &AgentChange)> {
        self.entries.iter().flat_map(|entry| match &entry.fact {
            Fact::Agents(changes) => changes.iter().map(|change| (entry.at.as_str(), change)).collect(),
            _ => Vec::new(),
        })
    }

    /// The agent of this id among those that earlier turns left.
    fn kept_name(&self, id: &str) -> Option<String> {
        let kept = self.entries.iter().find_map(|entry| match &entry.fact {
            Fact::Started(spec) => spec.setting.agents.as_ref(),
            _ => None,
        });
        kept?.kept.iter().find(|agent| agent.id == id).map(|agent| agent.name.clone())
    }

    /// The template that a call with this result read for the call around it, which makes an agent: the text of that agent, or
    /// the refusal of the call. Such calls are made one by one, so it is the first one that the replay has `written` no
    /// outcome of.
    pub fn template(&self, result: &str, written: &[Entry]) -> Result<String, ToolError> {
        let is_open = |call: &&str| {
            let is_outcome = |fact: &Fact| matches!(fact, Fact::Agents(_) | Fact::ToolEnded(_));
            !written.iter().any(|entry| entry.at == *call && is_outcome(&entry.fact))
        };
        let reads = self.entries.iter().filter_map(|entry| match &entry.fact {
            Fact::ToolEnded(end) if end.content == result => Some(entry.at.rsplit_once("-read-")?.0),
            _ => None,
        });
        let call = reads.into_iter().find(is_open);
        let call = call.ok_or_else(|| ToolError("the record has no such template".to_owned()))?;
        let made = self.agent_changes().find_map(|(at, change)| match change {
            AgentChange::Made { agent, .. } if at == call => Some(text_of(agent)),
            _ => None,
        });
        let refusal = self.entries.iter().find_map(|entry| match &entry.fact {
            Fact::ToolEnded(end) if entry.at == call => Some(end.content.clone()),
            _ => None,
        });
        made.ok_or_else(|| ToolError(refusal.unwrap_or_default()))
    }
}

impl Script {
    /// Whether the record has a dump that a tool of this name wrote.
    pub fn writes_dumps(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| match &entry.fact {
            Fact::Called { calls, .. } => {
                entry.at.contains("-read-")
                    && calls.iter().any(|call| call.name == name && has_content(&call.arguments))
            }
            _ => false,
        })
    }

    /// The dump that a call with these arguments read for the call around it, as far as the agents that were made of it show
    /// it; or the refusal of that call. Such calls are made one by one.
    pub fn restored(&self, arguments: &str, written: &[Entry]) -> Result<String, ToolError> {
        let has_ended =
            |at: &str| written.iter().any(|entry| entry.at == at && matches!(entry.fact, Fact::ToolEnded(_)));
        let reads = self.entries.iter().filter_map(|entry| match &entry.fact {
            Fact::Called { calls, .. } if calls.iter().any(|call| call.arguments == arguments) => {
                Some(entry.at.rsplit_once("-read-")?.0)
            }
            _ => None,
        });
        let call = reads.into_iter().find(|call| !has_ended(call));
        let end = self.entries.iter().find_map(|entry| match &entry.fact {
            Fact::ToolEnded(end) if Some(entry.at.as_str()) == call => Some(end),
            _ => None,
        });
        let end = end.ok_or_else(|| ToolError("the record has no such dump".to_owned()))?;
        match dump_of(&end.agents) {
            Some(dump) if !end.is_error => {
                serde_json::to_string(&dump).map_err(|error| ToolError(error.to_string()))
            }
            _ => Err(ToolError(end.content.clone())),
        }
    }
}

/// Whether these are the arguments of a call that writes a file.
fn has_content(arguments: &str) -> bool {
    serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.get("content").is_some())
}

/// The dump of which these changes made agents, each behind its maker.
fn dump_of(changes: &[AgentChange]) -> Option<AgentDump> {
    let made = changes.iter().filter_map(|change| match change {
        AgentChange::Made { agent, rounds, life } => {
            let mut agent = Agent::clone(agent);
            // It hears last that it woke.
            agent.heard.pop();
            let parent = agent.parent.clone();
            let mut dump = dump::dump_of(agent, &life.as_deref().cloned().unwrap_or_default());
            let rounds = rounds.iter().cloned();
            dump.rounds = rounds.map(|round| round.into_iter().map(AgentMessage::from).collect()).collect();
            Some((parent, dump))
        }
        _ => None,
    });
    let mut made: Vec<(Option<String>, AgentDump)> = made.collect();
    while made.len() > 1 {
        let (parent, dump) = made.pop()?;
        let (_, maker) = made.iter_mut().find(|(_, maker)| Some(&maker.name) == parent.as_ref())?;
        maker.agents.insert(0, dump);
    }
    made.pop().map(|(_, dump)| dump)
}

/// The text of a template that makes this agent.
fn text_of(agent: &Agent) -> String {
    let Agent { instructions, servers, denied, code, .. } = agent;
    let (servers, denied) = (servers.join(", "), denied.join(", "));
    let code = code.as_ref().map(|name| format!("code: {name}\n")).unwrap_or_default();
    format!("---\nmcp: {servers}\ndeny: {denied}\n{code}---\n{instructions}")
}
