//! Agents: levels with a name that remember. Plain data, which the journal, the record and the thread's rows hold.

use serde::{Deserialize, Serialize};

use super::AgentLife;
use crate::toolbelt::Toolbelt;
use wire::model::Message;
use wire::protocol::{AGENT_NAME, Hook};

/// The name of the agent that answers the user. No other agent has it.
pub const MAIN: &str = "main";
/// The most agents that a thread has at once, beside `main`: each has rows, and each is told to the turn as it begins.
pub const MAX_AGENTS: usize = 16;
/// The longest instructions in bytes: they go to the model with each of the agent's calls.
pub const MAX_INSTRUCTIONS_BYTES: usize = 20_000;
/// The most bytes of rounds, as JSON, that an agent remembers. The newest round stays even if it alone is longer.
pub const MAX_TRANSCRIPT_BYTES: usize = 500_000;
/// The most bytes of rounds, as JSON, that the agents bring which a turn copies and restores, with the dumps that it writes:
/// the journal has all of them, and one that a run takes up is in memory.
pub const MAX_COPIED_BYTES: usize = 8_000_000;
/// The most bytes of texts that an agent has heard since it last answered. They are one message to its model.
pub const MAX_HEARD_BYTES: usize = 100_000;

/// One question to an agent with everything up to its answer.
pub type Round = Vec<Message>;

/// An agent without its transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Agent {
    /// Unique in the thread, and never used again. A name is free again once its agent has ended.
    pub id: String,
    pub name: String,
    /// The agent that made it, which alone may address it; none for an agent of `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its system prompt.
    #[serde(default)]
    pub instructions: String,
    /// The call that answers in its place where another agent asks it; none: a model answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The tools that it may use, from those of its maker; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The MCP servers whose tools it has beside those, as far as the turn has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The tools that it may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The hooks that it made for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// The people of its next discussion, where that names none.
    #[serde(default)]
    pub interlocutors: People,
    /// The texts that it heard since it last answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
    /// Whether older ones among them were left out.
    #[serde(default)]
    pub missed: bool,
}

/// The agents of a discussion, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct People {
    pub speakers: Vec<String>,
    /// They hear everything and are not asked.
    pub listeners: Vec<String>,
}

impl People {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.speakers.iter().chain(&self.listeners)
    }

    /// Takes agents out.
    pub fn without(&mut self, names: &[String]) {
        self.retain(|name| !names.iter().any(|other| other == name));
    }

    /// Keeps those that `is_one` accepts.
    pub(crate) fn retain(&mut self, is_one: impl Fn(&str) -> bool) {
        self.speakers.retain(|name| is_one(name));
        self.listeners.retain(|name| is_one(name));
    }
}

/// A change of a thread's agents. The record and the journal have each of them in the order in which they happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentChange {
    /// An agent was made, with the rounds of another one where it is a copy, and with its life where it was restored.
    Made {
        agent: Box<Agent>,
        rounds: Vec<Round>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        life: Option<Box<AgentLife>>,
    },
    /// The turn read the rounds that earlier turns left of an agent, and its life. `cut`: older rounds are not read any more.
    Recalled {
        name: String,
        rounds: Vec<Round>,
        cut: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        life: Option<Box<AgentLife>>,
    },
    /// An agent named the people of its next discussions.
    Met { name: String, people: People },
    /// Agents heard a text.
    Heard { names: Vec<String>, text: String },
    /// An agent answered. The messages begin with all that it had heard. `life`: where the answer changed it.
    Spoke {
        name: String,
        messages: Round,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        life: Option<Box<AgentLife>>,
    },
    /// An agent made a hook for itself.
    Hooked { name: String, hook: Box<Hook> },
    /// An agent ended, and its hooks with it.
    Ended { name: String },
}

/// An agent as a turn leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    pub agent: Agent,
    /// The agent has ended.
    pub has_ended: bool,
    /// The rounds that it gained in the turn.
    pub rounds: Vec<Round>,
}

/// The agents of a turn whose request asks for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentSetting {
    /// The agent that answers the user in this turn; none: `main`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The agents that earlier turns left.
    pub kept: Vec<Agent>,
    /// Whether one of them has a life beside its transcript, which code of before would not read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_lives: bool,
}

/// The fault of a name for an agent; none where it may be one.
pub fn fault_of_name(name: &str) -> Option<String> {
    let max = AGENT_NAME.max;
    let must =
        || format!("it must begin with a letter from a to z, and have at most {max} of a-z, 0-9, _ and -");
    match name {
        MAIN => Some("it is the name of the agent that answers the user".to_owned()),
        _ => (!AGENT_NAME.allows(name)).then(must),
    }
}

/// The key of an agent's list of things to do in the turn's memory. Its value is the list as JSON.
pub fn todo_key(agent: &str) -> String {
    if agent == MAIN { "todo".to_owned() } else { format!("todo:{agent}") }
}

impl Agent {
    /// The tools of the agent, from those of the level that asks it. `all`: the turn's own, which no agent goes beyond.
    pub(crate) fn belt(&self, callers: &Toolbelt, all: &Toolbelt) -> Toolbelt {
        let narrowed = self.tools.as_ref().map(|tools| callers.narrowed(tools).0);
        let own = narrowed.as_ref().unwrap_or(callers);
        let of_server =
            |server: &Option<String>| server.as_ref().is_some_and(|name| self.servers.contains(name));
        let added = all.iter().filter(|spec| of_server(&spec.mcp_server) && own.find(&spec.name).is_none());
        own.with(added.cloned()).without(|name| self.is_denied(name))
    }

    fn is_denied(&self, name: &str) -> bool {
        self.denied.iter().any(|denied| denied == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolbelt::{PermissionClass, declare};

    //
    #[test]
    fn a_name_is_short_and_plain_and_not_main() {
        let longest = "a".repeat(AGENT_NAME.max);
        for name in ["a", "critic-2", "tax_advisor", &longest] {
            assert_eq!(fault_of_name(name), None, "{name}");
        }
        let beyond = format!("{longest}a");
        for name in ["", "main", "Critic", "2nd", "-a", "a b", "ä", "a\n", &beyond] {
            assert!(fault_of_name(name).is_some(), "{name:?}");
        }
    }

    // A-086 A-087 A-088 A-106
    #[test]
    fn an_agent_has_no_more_tools_than_its_turn() {
        let of = |name: &str, server: Option<&str>| crate::toolbelt::ToolSpec {
            mcp_server: server.map(str::to_owned),
            ..declare(name, PermissionClass::Safe, "", serde_json::json!({"type": "object"}))
        };
        let all = Toolbelt::new([of("echo", None), of("read", None), of("find", Some("library"))]);
        let callers = all.without(|name| name == "find");
        let names = |agent: &Agent| -> Vec<String> {
            agent.belt(&callers, &all).iter().map(|spec| spec.name.clone()).collect()
        };
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&Agent::default()), ["echo", "read"]);
        let narrowed = Agent { tools: Some(texts(&["echo", "secret"])), ..Agent::default() };
        assert_eq!(names(&narrowed), ["echo"], "nobody gives what they have not");
        let more = Agent { servers: texts(&["library", "unknown"]), ..narrowed.clone() };
        assert_eq!(names(&more), ["echo", "find"]);
        let all_and_more = Agent { tools: None, ..more.clone() };
        assert_eq!(names(&all_and_more), ["echo", "read", "find"]);
        let denied = Agent { denied: texts(&["echo"]), ..more };
        assert_eq!(names(&denied), ["find"]);
    }
}
