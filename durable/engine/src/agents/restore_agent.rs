//! `restore_agent`: makes agents of a dump in a file of the workspace. The file is data of a client, and is checked as the body
//! of the route is.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::dump::{self, Restored};
use crate::journal::{AgentChange, MAIN, Round, fault_of_name};
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::toolbelt::arguments::{self, refused};
use crate::toolbelt::{Reads, ToolSpec};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{self, Halt, Source};
use wire::pace::{Pace, Pause};
use wire::protocol::{ApiError, SentDump};

pub const NAME: &str = "restore_agent";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { of_agents: true, stands_for_inner: true, ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Restore),
};

#[derive(Deserialize)]
struct Arguments {
    path: String,
    #[serde(default, rename = "as")]
    name: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Restore;

impl Composite for Restore {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(call: Running<'_>) -> Result<Outcome, Halt> {
    let turn = call.turn;
    let Arguments { path, name } = match arguments(call.arguments) {
        Ok(read) => read,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let source = Source {
        what: format!("the dump {path:?}"),
        reads: Reads::WorkspaceFile,
        server: None,
        arguments: json!({ "path": path }),
    };
    let text = match turn::read_whole(&call, &source).await? {
        Ok(text) => text,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let restored = restored(&call, &text, name).await;
    turn.alive()?;
    let restored = restored.and_then(|restored| {
        let record = turn.record.borrow();
        let kept: BTreeSet<&str> = record.agents.all().map(|agent| agent.name.as_str()).collect();
        dump::check_room(&restored, &kept)?;
        Ok(restored)
    });
    let made = restored.map_err(|error| refusal(&path, &error)).and_then(|restored| {
        let bytes = restored.iter().flat_map(|restored| &restored.rounds).map(String::len).sum();
        turn.record.borrow().agents.copied.check(bytes)?;
        changes(restored)
    });
    Ok(match made {
        Ok((names, agents)) => {
            Outcome { agents, ..Outcome::of(Ok(format!("restored: {}", names.join(", ")))) }
        }
        Err(refusal) => Outcome::of(Err(refusal)),
    })
}

fn arguments(json: &str) -> Result<Arguments, ToolError> {
    let mut read: Arguments = arguments::read(&spec(), json)?;
    read.name.take_if(|name| name.trim().is_empty());
    match read.name.as_deref().and_then(fault_of_name) {
        Some(fault) => Err(refused(&spec(), "as", &fault)),
        None => Ok(read),
    }
}

/// The agents of a dump as agents of the caller.
async fn restored(
    Running { turn, parent, key, .. }: &Running<'_>,
    text: &str,
    name: Option<String>,
) -> Result<Vec<Restored>, ApiError> {
    let pause = || -> Pause { turn.ports.clock.sleep(0).map(Ok).boxed_local() };
    let mut sent = SentDump::parse(text.as_bytes(), &Pace::new(&pause)).await?;
    if let Some(name) = name {
        dump::rename(&mut sent.dump, name)?;
    }
    let maker = Some(turn.maker(parent)).filter(|maker| *maker != MAIN);
    let restored = dump::restored(sent, maker, |place| match place {
        0 => turn.ids.tool_call(key),
        _ => format!("{}-{place}", turn.ids.tool_call(key)),
    })?;
    // A model may have written the dump.
    let has_hooks = restored.iter().any(|restored| !restored.agent.hooks.is_empty());
    match has_hooks && !turn.spec.setting.agent_hooks {
        true => {
            Err(ApiError::field("hooks", "agents make no hooks here: only the user restores such a dump"))
        }
        false => Ok(restored),
    }
}

/// The refusal of a dump, for the model.
fn refusal(path: &str, error: &ApiError) -> ToolError {
    let place = error.field.as_deref().map(|field| format!(" at {field}")).unwrap_or_default();
    ToolError(format!("nobody was restored from {path:?}{place}: {}", error.detail))
}

/// The names of the agents, and the changes that make them: each agent behind its maker, then the people of its discussions,
/// because an agent that is made becomes the one whom its maker addresses.
fn changes(restored: Vec<Restored>) -> Result<(Vec<String>, Vec<AgentChange>), ToolError> {
    let names: Vec<String> = restored.iter().map(|restored| restored.agent.name.clone()).collect();
    let makers: BTreeSet<String> =
        restored.iter().filter_map(|restored| restored.agent.parent.clone()).collect();
    let mut people = Vec::new();
    let mut changes = Vec::new();
    for Restored { agent, rounds, life } in restored {
        let read = |round: &String| wire::json::from_str::<Round>(round);
        let rounds = rounds.iter().map(read).collect::<Result<Vec<Round>, _>>();
        let rounds = rounds.map_err(|error| ToolError(format!("a round cannot be read: {error}")))?;
        if makers.contains(&agent.name) {
            people.push(AgentChange::Met { name: agent.name.clone(), people: agent.interlocutors.clone() });
        }
        let life = (!life.is_empty()).then(|| Box::new(life));
        changes.push(AgentChange::Made { agent: Box::new(agent), rounds, life });
    }
    changes.extend(people);
    Ok((names, changes))
}
