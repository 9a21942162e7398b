//! `task`: makes an agent, or asks one.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use super::copies;
use super::discuss;
use super::discussion::{self, Said};
use super::template::{self, Template};
use crate::journal::{Agent, AgentChange, MAX_AGENTS, MAX_INSTRUCTIONS_BYTES, People, Round, fault_of_name};
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::toolbelt::ToolSpec;
use crate::toolbelt::arguments::{self, refused};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, Turn};

pub const NAME: &str = "task";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { of_agents: true, stands_for_inner: true, ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Task),
};

#[derive(Clone, Deserialize)]
struct Arguments {
    name: String,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    template: Option<String>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    tools: Option<Vec<String>>,
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    agents: Vec<String>,
}

impl Arguments {
    /// Whether the call makes an agent.
    fn makes(&self) -> bool {
        self.instructions.is_some() || self.template.is_some() || self.from.is_some()
    }
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Task;

impl Composite for Task {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(call: Running<'_>) -> Result<Outcome, Halt> {
    let (asked, notes) = match begun(&call).await? {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let Some(_) = &asked.prompt else {
        let made =
            format!("{} is there. It answers when you ask it with discuss or task.{notes}", asked.name);
        return Ok(Outcome::of(Ok(made)));
    };
    let alone = People { speakers: vec![asked.name], listeners: Vec::new() };
    let Said { answers, overlay } = discussion::ask(&call, &alone).await?;
    let answer = answers.into_iter().next().map(|(_, end)| end).ok_or(Halt::Stopped)?;
    let result = if answer.is_error { Err(ToolError(answer.content)) } else { Ok(answer.content + &notes) };
    Ok(Outcome { overlay, ..Outcome::of(result) })
}

/// Makes the agent of a call, and tells it the prompt. Returns the arguments, and notes for the model.
async fn begun(call: &Running<'_>) -> Result<Result<(Arguments, String), ToolError>, Halt> {
    let turn = call.turn;
    let asked = match self::arguments(call) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let notes = left_out(call, &asked) + &copies::note(&asked.name, &asked.agents);
    if turn.replay.changed_agents(call.key) {
        return Ok(Ok((asked, notes)));
    }
    let template = match &asked.template {
        Some(name) => template::named(call, name).await?,
        None => Ok(Template {
            instructions: asked.instructions.clone().unwrap_or_default(),
            ..Template::default()
        }),
    };
    turn.alive()?;
    if let Some(source) = asked.from.as_ref().filter(|source| has_made(turn, turn.maker(call.parent), source))
    {
        turn.recall(source, &format!("{}f", call.key))?;
    }
    if asked.agents.iter().all(|name| has_made(turn, turn.maker(call.parent), name)) {
        copies::recall(turn, call.key, &asked.agents)?;
    }
    match template.and_then(|template| changes(call, &asked, template)) {
        Ok(changes) => turn.change_agents(call.key, changes)?,
        Err(refusal) => return Ok(Err(refusal)),
    }
    Ok(Ok((asked, notes)))
}

/// Reads and checks the arguments; the model reads the error.
fn arguments(call: &Running<'_>) -> Result<Arguments, ToolError> {
    let mut asked: Arguments = arguments::read(&spec(), call.arguments)?;
    if let Some(fault) = fault_of_name(&asked.name) {
        return Err(refused(&spec(), "name", &fault));
    }
    for text in [&mut asked.instructions, &mut asked.template, &mut asked.prompt, &mut asked.from] {
        text.take_if(|text| text.trim().is_empty());
    }
    if asked.instructions.is_some() && asked.template.is_some() {
        return Err(refused(&spec(), "template", "give instructions or a template, not both"));
    }
    match named_before(call, &asked.name) {
        true => Err(ToolError(format!(
            "another call of the same reply is for {:?}: ask it once, and again in your next reply",
            asked.name
        ))),
        false => Ok(asked),
    }
}

/// Whether an earlier call of the same reply is for the same agent.
fn named_before(call: &Running<'_>, name: &str) -> bool {
    let own = call.key.rsplit('.').next().and_then(|index| index.parse::<usize>().ok()).unwrap_or(0);
    let before = call.parent.pending();
    before.iter().take(own).filter(|other| other.name == NAME).any(|other| {
        arguments::read::<Arguments>(&spec(), &other.arguments).is_ok_and(|other| other.name == name)
    })
}

/// The changes that a call brings: an agent that is made, or one that is asked.
fn changes(call: &Running<'_>, asked: &Arguments, template: Template) -> Result<Vec<AgentChange>, ToolError> {
    let (turn, maker) = (call.turn, call.turn.maker(call.parent));
    let name = &asked.name;
    let mut below = Vec::new();
    let first = match (asked.makes(), has_made(turn, maker, name)) {
        (true, _) => {
            let agent = made(call, asked, template)?;
            check_bytes(turn, asked)?;
            below = copies::changes(turn, maker, &agent, &asked.agents)?;
            AgentChange::Made { rounds: rounds_of(turn, asked), agent: Box::new(agent), life: None }
        }
        (false, false) => return Err(unknown(turn, maker, name)),
        (false, true) if asked.prompt.is_none() => {
            return Err(refused(&spec(), "prompt", "this agent is there already: give a prompt for it"));
        }
        (false, true) if asked.tools.is_some() => {
            return Err(refused(
                &spec(),
                "tools",
                "they are chosen when an agent is made, and this one is there already",
            ));
        }
        (false, true) if !asked.agents.is_empty() => {
            return Err(refused(
                &spec(),
                "agents",
                "they are copied when an agent is made, and this one is there already",
            ));
        }
        (false, true) => {
            let people = People { speakers: vec![name.clone()], listeners: Vec::new() };
            AgentChange::Met { name: maker.to_owned(), people }
        }
    };
    let prompt = asked.prompt.as_deref().map(|prompt| discuss::unsigned(turn, prompt));
    let heard = prompt.map(|text| AgentChange::Heard { names: vec![name.clone()], text });
    Ok([first].into_iter().chain(below).chain(heard).collect())
}

/// Refuses copies with more bytes than the turn has room for.
fn check_bytes(turn: &Turn, asked: &Arguments) -> Result<(), ToolError> {
    let agents = &turn.record.borrow().agents;
    let originals = asked.agents.iter().flat_map(|name| agents.below(name)).chain(asked.from.clone());
    agents.copied.check(originals.map(|name| agents.copy_bytes(&name)).sum())
}

/// The rounds that a new agent gets from another one.
fn rounds_of(turn: &Turn, asked: &Arguments) -> Vec<Round> {
    let record = turn.record.borrow();
    asked.from.as_deref().map(|source| record.agents.copy(source)).unwrap_or_default()
}

pub(super) fn has_made(turn: &Turn, maker: &str, name: &str) -> bool {
    turn.record.borrow().agents.made_by(maker).any(|own| own == name)
}

pub(super) fn unknown(turn: &Turn, maker: &str, name: &str) -> ToolError {
    let own: Vec<String> = turn.record.borrow().agents.made_by(maker).map(str::to_owned).collect();
    let own = if own.is_empty() { "none yet".to_owned() } else { own.join(", ") };
    ToolError(format!(
        "you have no agent {name:?}. Give instructions or a template to make it. Your agents are: {own}"
    ))
}

/// The agent that a call makes, or the reason for which it cannot be made.
fn made(call: &Running<'_>, asked: &Arguments, template: Template) -> Result<Agent, ToolError> {
    let (turn, maker) = (call.turn, call.turn.maker(call.parent));
    if let Some(source) = asked.from.as_ref().filter(|source| !has_made(turn, maker, source)) {
        return Err(unknown(turn, maker, source));
    }
    let Template { mut instructions, servers, denied, mut code } = template;
    let record = turn.record.borrow();
    let source = asked.from.as_deref().and_then(|source| record.agents.get(source));
    if let Some(source) = source.filter(|_| instructions.is_empty()) {
        (instructions, code) = (source.instructions.clone(), source.code.clone());
    }
    let bytes = instructions.len();
    if bytes > MAX_INSTRUCTIONS_BYTES {
        let problem = format!("they have {bytes} bytes, the limit is {MAX_INSTRUCTIONS_BYTES}");
        return Err(refused(&spec(), "instructions", &problem));
    }
    let refusal = match () {
        () if record.agents.get(&asked.name).is_some() => Some(format!(
            "there is an agent {:?} already: ask it with a prompt alone, or take another name",
            asked.name
        )),
        () if record.agents.count() >= MAX_AGENTS => Some(format!(
            "this conversation has {MAX_AGENTS} agents, which is the limit: terminate one first"
        )),
        () => None,
    };
    if let Some(refusal) = refusal {
        return Err(ToolError(refusal));
    }
    let parent = Some(maker.to_owned()).filter(|maker| maker != crate::journal::MAIN);
    let agent = Agent {
        id: turn.ids.tool_call(call.key),
        name: asked.name.clone(),
        parent,
        instructions,
        tools: asked.tools.clone(),
        servers,
        denied,
        code,
        ..Agent::default()
    };
    let belt = agent.belt(&call.parent.belt, &record.toolsets.get(Some(0)));
    if let Some(code) = agent.code.as_deref().filter(|code| belt.find(code).is_none()) {
        return Err(ToolError(format!("this agent answers with {code}, which it would not have here")));
    }
    Ok(agent)
}

/// A note on the tools that the maker named and does not have.
fn left_out(call: &Running<'_>, asked: &Arguments) -> String {
    let tools = asked.tools.as_deref().unwrap_or_default();
    let (_, unknown) = call.parent.belt.narrowed(tools);
    match unknown.is_empty() {
        true => String::new(),
        false => format!("\n\n[These tools are not yours to give and were left out: {}]", unknown.join(", ")),
    }
}
