//! `agent_reply`: the call in which one agent answers. Only the service makes it, one for each speaker, so that a run that
//! takes a turn up asks nobody again.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};

use super::code;
use crate::journal::{Agent, AgentChange, AgentLife, LevelSpec, Round, ToolEnd, Work, fault_of_name};
use crate::marks::{SPEAKER, author, signed};
use crate::memory::Overlay;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::toolbelt::{ToolSpec, Toolbelt};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, Level, LevelEnd, Turn, drive, truncated};
use wire::model::{Message, ReplyFinish, ToolCall};
use wire::protocol::{AgentStatus, Event, StepStatus};

pub(super) const NAME: &str = "agent_reply";

pub(crate) const CALL: Own = Own {
    facts: OwnCall {
        counts_as_subtask: true,
        has_title: true,
        stands_for_inner: true,
        ..OwnCall::composite(NAME, 1)
    },
    carrier: Carrier::Composite(&Reply),
};

/// The arguments with which the service calls an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Arguments {
    /// The agent's name, as the label of the call.
    title: String,
    /// The agents that hear the answer.
    heard_by: Vec<String>,
}

/// The call of an agent.
pub(super) fn call(name: &str, heard_by: Vec<String>) -> ToolCall {
    let arguments = Arguments { title: name.to_owned(), heard_by };
    let arguments = serde_json::to_string(&arguments).unwrap_or_default();
    ToolCall { call_id: format!("reply_{name}"), name: NAME.to_owned(), arguments }
}

/// The declaration, for the level in which agents answer.
pub(super) fn spec() -> ToolSpec {
    super::declared(NAME)
}

/// The agent that a call asks.
fn asked(turn: &Turn, arguments: &str) -> Option<(Agent, Vec<String>)> {
    let Arguments { title, heard_by } = wire::json::from_str(arguments).ok()?;
    Some((turn.record.borrow().agents.get(&title)?.clone(), heard_by))
}

struct Reply;

impl Composite for Reply {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }

    fn started(&self, turn: &Turn, key: &str, call: &ToolCall) -> Option<(String, Event)> {
        let (agent, _) = asked(turn, &call.arguments)?;
        Some(turn.agent_update(&agent, AgentStatus::Speaking, key))
    }

    fn ended(
        &self,
        turn: &Turn,
        key: &str,
        call: &ToolCall,
        _: StepStatus,
        _: &ToolEnd,
    ) -> Option<(String, Event)> {
        let (agent, _) = asked(turn, &call.arguments)?;
        Some(turn.agent_update(&agent, AgentStatus::Silent, key))
    }
}

/// The answer of an agent.
pub(super) struct Answer {
    pub(super) text: String,
    /// The agent's own round.
    pub(super) messages: Round,
    /// The memory writes of its level.
    pub(super) overlay: Overlay,
    /// The life of the agent, where the answer changed it.
    pub(super) life: Option<AgentLife>,
    /// A hook blocked what it wanted to say: nobody hears of it, and its call fails.
    pub(super) is_blocked: bool,
}

async fn run(call: Running<'_>) -> Result<Outcome, Halt> {
    let turn = call.turn;
    let Some((agent, heard_by)) = asked(turn, call.arguments) else {
        return Ok(Outcome::of(Err(ToolError("there is no such agent any more".to_owned()))));
    };
    let answer = match &agent.code {
        Some(name) => Ok(code::answer(call, &agent, name).await?),
        None => answer(call, &agent).await?,
    };
    let Answer { text, messages, overlay, life, is_blocked } = match answer {
        Ok(answer) => answer,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let mut agents =
        vec![AgentChange::Spoke { name: agent.name.clone(), messages, life: life.map(Box::new) }];
    if is_blocked {
        return Ok(Outcome { overlay, agents, ..Outcome::of(Err(ToolError(text))) });
    }
    if !heard_by.is_empty() {
        agents.push(AgentChange::Heard { names: heard_by, text: marked(turn, &agent.name, &text) });
    }
    Ok(Outcome { overlay, agents, ..Outcome::of(Ok(text)) })
}

/// The answer of an agent's model.
async fn answer(
    Running { turn, parent, key, .. }: Running<'_>,
    agent: &Agent,
) -> Result<Result<Answer, ToolError>, Halt> {
    turn.recall(&agent.name, LevelPath::child(key).as_str())?;
    let memory = {
        let agents = &turn.record.borrow().agents;
        (agents.transcript(&agent.name), turn.life_here(agents.life(&agent.name)))
    };
    let opened = turn.open_agent(parent, key, memory, || opening(turn, parent, agent));
    let mut level = match opened {
        Ok(level) => level,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let end = drive(turn, &mut level).await?;
    let is_blocked = matches!(end, LevelEnd::Blocked { .. });
    let text = truncated(in_words(end), turn.spec.limits.tool_result_bytes);
    let messages = answered(level.own_messages(), &text);
    let life = turn.life_after(&level);
    Ok(Ok(Answer { text, messages, life, overlay: level.into_written(), is_blocked }))
}

/// The answer of an agent, as everybody else hears it.
pub(super) fn marked(turn: &Turn, name: &str, text: &str) -> String {
    match turn.spec.marks {
        0 => format!("[{name}] {text}"),
        _ => signed(SPEAKER, name, text),
    }
}

/// The words of another agent, where an agent heard a text as such; with the name in front, as former code marked them.
pub(super) fn words(heard: &str) -> Option<&str> {
    let is_name = |name: &str| fault_of_name(name).is_none();
    if let Some((_, text)) = author(SPEAKER, heard).filter(|(name, _)| is_name(name)) {
        return Some(text);
    }
    let (name, _) = heard.strip_prefix('[')?.split_once("] ")?;
    is_name(name).then_some(heard)
}

/// The tools of an agent.
pub(super) fn belt(turn: &Turn, parent: &Level, agent: &Agent) -> Toolbelt {
    let callers = parent.belt.replacing(NAME, None);
    agent.belt(&callers, &turn.record.borrow().toolsets.get(Some(0)))
}

/// The opening of the level of an agent.
fn opening(turn: &Turn, parent: &Level, agent: &Agent) -> Opening {
    let question = turn.record.borrow().agents.question(&agent.name);
    let spec = LevelSpec {
        partial: true,
        agent: Some(agent.name.clone()),
        hooks: agent.hooks.clone(),
        ..LevelSpec::new(
            Work::Agent.models(),
            agent.instructions.clone(),
            question,
            turn.spec.limits.iterations,
        )
    };
    Opening { spec, shared: belt(turn, parent, agent) }
}

/// The end of an agent's level as its words: an agent that fails says so.
fn in_words(end: LevelEnd) -> String {
    match end {
        LevelEnd::Text { text, finish } => match finish {
            ReplyFinish::Stop | ReplyFinish::ToolCalls | ReplyFinish::Pause => said(text),
            ReplyFinish::Length => text + "\n\n[The answer was cut here, at its greatest length]",
            ReplyFinish::ContentFilter => text + "\n\n[The provider's content filter ended the answer here]",
        },
        LevelEnd::Partial(text) => said(text) + "\n\n[I made all the model calls that I may, and stop here.]",
        LevelEnd::ModelFailed(error) => {
            format!("[I could not answer: {}: {}]", error.kind.code(), error.message)
        }
        // An agent has no schema, and returns its partial result at its limit.
        LevelEnd::Structured(text) | LevelEnd::SchemaNotSatisfied(text) => said(text),
        LevelEnd::Blocked { hook, reason } => {
            format!("[My answer is blocked: the hook {hook} lets nobody hear it: {reason}]")
        }
        LevelEnd::IterationLimit(limit) => {
            format!("[I made {limit} model calls without coming to an answer.]")
        }
    }
}

fn said(text: String) -> String {
    if text.trim().is_empty() { "[I have nothing to say.]".to_owned() } else { text }
}

/// The agent's own round: its last words are those that the others hear.
fn answered(mut messages: Round, text: &str) -> Round {
    let has_last_words = matches!(
        messages.last(),
        Some(Message::Assistant { content, tool_calls, .. }) if tool_calls.is_empty() && content == text
    );
    if !has_last_words {
        let ends =
            matches!(messages.last(), Some(Message::Assistant { tool_calls, .. }) if tool_calls.is_empty());
        messages.truncate(messages.len() - usize::from(ends));
        messages.push(Message::Assistant { content: text.to_owned(), tool_calls: Vec::new(), raw: None });
    }
    messages
}
