//! `dump_agent`: writes an agent, with all that it remembers and the agents below it, into a file of the workspace.

use std::cmp::Reverse;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use super::{dump, task};
use crate::journal::Round;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::record::keys::LevelPath;
use crate::toolbelt::{ToolSpec, arguments};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{self, Halt, Turn};
use wire::protocol::{AgentDump, AgentMessage, ApiError, DumpBuilder};

pub const NAME: &str = "dump_agent";

/// The most bytes of a dump in a file. The journal has the call that writes it: a text in JSON in the arguments of a call in
/// an entry has at most four times as many bytes there. A run that takes the turn up has the whole entry in memory.
pub const MAX_FILED_BYTES: usize = 400_000;

pub(crate) const CALL: Own = Own {
    facts: OwnCall { of_agents: true, stands_for_inner: true, ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Dump),
};

#[derive(Deserialize)]
struct Arguments {
    name: String,
    path: String,
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Dump;

impl Composite for Dump {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(call: Running<'_>) -> Result<Outcome, Halt> {
    let turn = call.turn;
    let Arguments { name, path } = match arguments::read(&spec(), call.arguments) {
        Ok(read) => read,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let maker = turn.maker(call.parent);
    if !task::has_made(turn, maker, &name) {
        return Ok(Outcome::of(Err(task::unknown(turn, maker, &name))));
    }
    let dumped = dumped(turn, &name)?;
    let written = match dumped.and_then(|dump| Ok((dump.cut, json_of(&dump)?))) {
        Ok((cut, json)) => match check_bytes(&call, json.len()) {
            Ok(()) => turn::write(&call, &path, &json).await?.map(|(written, seen)| (cut, written, seen)),
            Err(refusal) => Err(refusal),
        },
        Err(error) => Err(ToolError(error.into_detail())),
    };
    Ok(match written {
        Ok((cut, written, versions)) => {
            let note = if cut { " Its oldest rounds were left out." } else { "" };
            Outcome { versions, ..Outcome::of(Ok(format!("{name} is dumped: {written}.{note}"))) }
        }
        Err(refusal) => Outcome::of(Err(refusal)),
    })
}

/// Refuses a dump for which the turn has no room. A dump whose call is journaled counts already.
fn check_bytes(call: &Running<'_>, bytes: usize) -> Result<(), ToolError> {
    match call.turn.replay.has_begun(&LevelPath::reading(call.key).step(0)) {
        true => Ok(()),
        false => call.turn.record.borrow().agents.copied.check(bytes),
    }
}

fn json_of(dump: &AgentDump) -> Result<String, ApiError> {
    serde_json::to_string(dump).map_err(|error| ApiError::field("name", error.to_string()))
}

/// An agent as a dump, with the agents below it, as they stand now.
fn dumped(turn: &Turn, name: &str) -> Result<Result<AgentDump, ApiError>, Halt> {
    let record = turn.record.borrow();
    let Some(root) = record.agents.get(name).cloned() else { return Err(Halt::Stopped) };
    let tree = dump::tree(root, record.agents.all().cloned());
    let (mut rounds, mut lives, mut cut) = (Vec::new(), Vec::new(), false);
    for (place, (_, agent)) in tree.iter().enumerate() {
        let mut own = Vec::new();
        let mut life = record.agents.life(&agent.name);
        if let Some(id) = record.agents.unread(&agent.name) {
            // The call that writes the file is journaled, so a run that takes the turn up needs no rounds.
            let earlier = turn.ports.agents.recall(&id)?;
            own.extend(earlier.rounds.into_iter().map(|round| (None, round)));
            (cut, life) = (cut | earlier.cut, earlier.life);
        }
        lives.push(life);
        let (known, is_cut) = record.agents.numbered_rounds(&agent.name);
        own.extend(known);
        cut |= is_cut;
        // Rounds of earlier turns are compared by their distance to the agent's newest one.
        let count = own.len();
        rounds.extend(own.into_iter().enumerate().map(|(index, (number, round))| {
            let age = (number, Reverse(count - index));
            (age, place, round)
        }));
    }
    rounds.sort_by(|(one, ..), (other, ..)| other.cmp(one));
    let agents = tree.into_iter().zip(&lives);
    let agents = agents.map(|((maker, agent), life)| (maker, dump::dump_of(agent, life))).collect();
    Ok(fitted(agents, rounds.into_iter().map(|(_, place, round)| (place, round)), cut))
}

/// The dump of these agents with as many of their rounds as it has room for, which come newest first.
fn fitted(
    agents: Vec<(Option<usize>, AgentDump)>,
    rounds: impl Iterator<Item = (usize, Round)>,
    is_cut: bool,
) -> Result<AgentDump, ApiError> {
    let mut dump = DumpBuilder::new(agents, MAX_FILED_BYTES)?;
    if is_cut {
        dump.mark_cut();
    }
    for (place, round) in rounds {
        if !dump.add(place, round.into_iter().map(AgentMessage::from).collect())? {
            break;
        }
    }
    dump.whole().ok_or_else(|| ApiError::field("name", "there is no such agent"))
}
