//! `discuss`: several agents hear a text, and some of them answer in turn.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use super::discussion::{self, Said};
use super::reply;
use crate::journal::{AgentChange, People};
use crate::marks;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::record::agents::Agents;
use crate::toolbelt::{ToolSpec, arguments};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, Turn};

pub const NAME: &str = "discuss";

/// The most agents of one discussion: each speaker is a model call at least, and each hears all the others.
pub const MAX_PEOPLE: usize = 8;

pub(crate) const CALL: Own = Own {
    facts: OwnCall { of_agents: true, stands_for_inner: true, ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Discuss),
};

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    speakers: Option<Vec<String>>,
    #[serde(default)]
    listeners: Option<Vec<String>>,
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Discuss;

impl Composite for Discuss {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(call: Running<'_>) -> Result<Outcome, Halt> {
    let (turn, maker) = (call.turn, call.turn.maker(call.parent));
    let (people, prompt) = match asked(turn, maker, call.arguments) {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    if !turn.replay.changed_agents(call.key) {
        let met = AgentChange::Met { name: maker.to_owned(), people: people.clone() };
        let names = people.all().cloned().collect();
        let heard = (!prompt.is_empty()).then_some(AgentChange::Heard { names, text: prompt });
        turn.change_agents(call.key, [met].into_iter().chain(heard).collect())?;
    }
    if people.speakers.is_empty() {
        let told = format!("Told to {}. Nobody was asked.", people.listeners.join(", "));
        return Ok(Outcome::of(Ok(told)));
    }
    let Said { answers, overlay } = discussion::ask(&call, &people).await?;
    let answers = answers.iter().map(|(name, end)| reply::marked(call.turn, name, &end.content));
    let all = answers.collect::<Vec<_>>().join("\n\n");
    Ok(Outcome { overlay, ..Outcome::of(Ok(all)) })
}

/// A maker's prompt, which stands among the signed texts of others: it has none of their marks.
pub(super) fn unsigned(turn: &Turn, prompt: &str) -> String {
    match turn.spec.marks {
        0 => prompt.to_owned(),
        _ => marks::without(&[marks::SPEAKER, marks::HOOK], prompt),
    }
}

/// The people of a discussion and the prompt that they hear; an error for the model where it cannot be held.
fn asked(turn: &Turn, maker: &str, arguments: &str) -> Result<(People, String), ToolError> {
    let Arguments { prompt, speakers, listeners } = arguments::read(&spec(), arguments)?;
    let prompt = unsigned(turn, prompt.trim());
    let named = (speakers.is_some() || listeners.is_some())
        .then(|| People { speakers: speakers.unwrap_or_default(), listeners: listeners.unwrap_or_default() });
    let people = people(&turn.record.borrow().agents, maker, named).map_err(ToolError)?;
    if people.speakers.is_empty() && prompt.is_empty() {
        return Err(ToolError(
            "there is nothing to tell, and nobody to ask: give a prompt, or speakers".to_owned(),
        ));
    }
    Ok((people, prompt))
}

/// The people that a call means: those that it names, else those of the last time.
fn people(agents: &Agents, maker: &str, named: Option<People>) -> Result<People, String> {
    let known: Vec<&str> = agents.made_by(maker).collect();
    let all = if known.is_empty() { "none yet: make one with task".to_owned() } else { known.join(", ") };
    let People { speakers, listeners } = named.unwrap_or_else(|| agents.interlocutors(maker));
    let unknown: Vec<&str> =
        speakers.iter().chain(&listeners).map(String::as_str).filter(|name| !known.contains(name)).collect();
    if !unknown.is_empty() {
        return Err(format!(
            "you have no agent {}; nobody was asked. Your agents are: {all}",
            unknown.join(", ")
        ));
    }
    let speakers = once(speakers);
    let listeners = once(listeners).into_iter().filter(|name| !speakers.contains(name)).collect();
    let people = People { speakers, listeners };
    match people.all().count() {
        0 => Err(format!("name those who should hear it. Your agents are: {all}")),
        count if count > MAX_PEOPLE => {
            Err(format!("at most {MAX_PEOPLE} agents take part in a discussion, and these are {count}"))
        }
        _ => Ok(people),
    }
}

/// The names in their order, each once.
fn once(names: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}
