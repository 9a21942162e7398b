//! The agents of a recorded turn: what it read of their transcripts, and the templates that it used.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use engine::journal::{Agent, AgentChange, Fact, ModelOutcome, Round};
use engine::ports::{Agents, LogError, ToolError};

use crate::script::Script;

/// The agents as the record has them.
pub struct Kept {
    script: Rc<Script>,
    /// The calls whose templates were given already.
    taken: RefCell<BTreeSet<String>>,
}

/// The arguments of a call that makes an agent, as far as the replay needs them.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    template: Option<String>,
}

impl Kept {
    pub fn new(script: &Rc<Script>) -> Self {
        Kept { script: Rc::clone(script), taken: RefCell::default() }
    }

    fn changes(&self) -> impl Iterator<Item = (&str, String, &AgentChange)> {
        self.script.entries.iter().flat_map(|entry| match &entry.fact {
            Fact::Agents(changes) => {
                changes.iter().map(|change| (entry.at.as_str(), entry.key(), change)).collect()
            }
            _ => Vec::new(),
        })
    }

    /// The agent of this id among those that earlier turns left.
    fn name_of(&self, id: &str) -> Option<String> {
        let kept = self.script.entries.iter().find_map(|entry| match &entry.fact {
            Fact::Started(spec) => spec.setting.agents.as_ref(),
            _ => None,
        });
        kept?.kept.iter().find(|agent| agent.id == id).map(|agent| agent.name.clone())
    }

    /// The keys of the calls that name a template, in the order of the record.
    fn calls_with(&self, template: &str) -> impl Iterator<Item = String> {
        self.script.entries.iter().flat_map(move |entry| {
            let Fact::ModelEnded { outcome: ModelOutcome::Replied(reply), .. } = &entry.fact else {
                return Vec::new();
            };
            let names = |arguments: &str| {
                let read = serde_json::from_str::<Arguments>(arguments).ok().and_then(|read| read.template);
                read.as_deref() == Some(template)
            };
            let calls = reply.tool_calls.iter().enumerate().filter(|(_, call)| names(&call.arguments));
            calls.map(|(index, _)| format!("{}.{index}", entry.at)).collect()
        })
    }

    /// The outcome of a template that a call names, with the gate before it: the agent that was made of it, or the refusal.
    fn outcome(&self, template: &str) -> Option<(String, Result<String, ToolError>)> {
        let mut taken = self.taken.borrow_mut();
        let call = self.calls_with(template).find(|call| !taken.contains(call))?;
        taken.insert(call.clone());
        let made = self.changes().find_map(|(at, key, change)| match change {
            AgentChange::Made { agent, .. } if at == call => Some((key, Ok(text_of(agent)))),
            _ => None,
        });
        let ended = || {
            self.script.entries.iter().find_map(|entry| match &entry.fact {
                Fact::ToolEnded(end) if entry.at == call => {
                    Some((entry.key(), Err(ToolError(end.content.clone()))))
                }
                _ => None,
            })
        };
        made.or_else(ended)
    }
}

/// The text of a template that makes this agent.
fn text_of(agent: &Agent) -> String {
    let Agent { instructions, servers, denied, code, .. } = agent;
    let (servers, denied) = (servers.join(", "), denied.join(", "));
    let code = code.as_ref().map(|name| format!("code: {name}\n")).unwrap_or_default();
    format!("---\nmcp: {servers}\ndeny: {denied}\n{code}---\n{instructions}")
}

impl Agents for Kept {
    fn transcript(&self, agent_id: &str) -> Result<(Vec<Round>, bool), LogError> {
        let name = self.name_of(agent_id);
        let recalled = self.changes().find_map(|(_, _, change)| match change {
            AgentChange::Recalled { name: other, rounds, cut } if Some(other) == name.as_ref() => {
                Some((rounds.clone(), *cut))
            }
            _ => None,
        });
        Ok(recalled.unwrap_or_default())
    }

    fn template(&self, name: &str) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let outcome = self.outcome(name);
        let script = Rc::clone(&self.script);
        async move {
            let Some((key, outcome)) = outcome else { return futures::future::pending().await };
            script.gate(&key).await;
            outcome
        }
        .boxed_local()
    }
}
