//! Copies of agents below a new one: `task {agents}`. A copy remembers what its original does, and has copies of the agents
//! below that. Its name has that of the new agent in front, because names are unique in a thread.

use std::collections::BTreeSet;

use super::discuss::MAX_PEOPLE;
use super::{dump, task};
use crate::journal::{Agent, AgentChange, MAX_AGENTS, People, fault_of_name};
use crate::ports::{LogError, ToolError};
use crate::toolbelt::arguments::refused;
use crate::turn::Turn;

/// An agent, and the copy that is to be made of it.
struct Copy {
    original: String,
    copy: Agent,
}

/// Reads what the agents of these names and those below them remember, for their copies.
pub(super) fn recall(turn: &Turn, key: &str, names: &[String]) -> Result<(), LogError> {
    let below: Vec<String> = {
        let record = turn.record.borrow();
        names.iter().flat_map(|name| record.agents.below(name)).collect()
    };
    let mut numbered = below.iter().enumerate();
    numbered.try_for_each(|(number, name)| turn.recall(name, &format!("{key}f{number}")))
}

/// The changes that make copies of a caller's agents below a new agent: each behind its maker, then the people of their
/// discussions. Those of the new one are its copies, of which it hears.
pub(super) fn changes(
    turn: &Turn,
    caller: &str,
    new: &Agent,
    names: &[String],
) -> Result<Vec<AgentChange>, ToolError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let copies = copies(turn, caller, new, names)?;
    check(turn, &copies)?;
    let record = turn.record.borrow();
    let made = copies.iter().map(|Copy { original, copy }| AgentChange::Made {
        agent: Box::new(copy.clone()),
        rounds: record.agents.copy(original),
        life: None,
    });
    let makers: BTreeSet<&str> = copies.iter().filter_map(|copy| copy.copy.parent.as_deref()).collect();
    let people = copies.iter().filter(|copy| makers.contains(copy.copy.name.as_str()));
    let people = people.map(|Copy { copy, .. }| AgentChange::Met {
        name: copy.name.clone(),
        people: copy.interlocutors.clone(),
    });
    let own = names.iter().map(|name| copied_name(new, name));
    let speakers: Vec<String> = own.clone().take(MAX_PEOPLE).collect();
    let own: Vec<String> = own.collect();
    let met = AgentChange::Met { name: new.name.clone(), people: People { speakers, listeners: Vec::new() } };
    let text = format!(
        "[You have these agents, which remember what they heard and said before: {}]",
        own.join(", ")
    );
    let heard = AgentChange::Heard { names: vec![new.name.clone()], text };
    Ok(made.chain(people).chain([met, heard]).collect())
}

/// A note for the caller on the copies.
pub(super) fn note(name: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let all: Vec<String> = names.iter().map(|own| format!("{name}_{own}, a copy of {own}")).collect();
    format!("\n\n[{name} has these agents of its own: {}]", all.join("; "))
}

fn copied_name(new: &Agent, name: &str) -> String {
    format!("{}_{name}", new.name)
}

/// The copies of these agents and of those below them, each behind its maker.
fn copies(turn: &Turn, caller: &str, new: &Agent, names: &[String]) -> Result<Vec<Copy>, ToolError> {
    let record = turn.record.borrow();
    let mut copies: Vec<Copy> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if !task::has_made(turn, caller, name) {
            return Err(task::unknown(turn, caller, name));
        }
        if names.iter().take(index).any(|other| other == name) {
            return Err(refused(&task::spec(), &format!("agents[{index}]"), "each agent is named once"));
        }
        let Some(root) = record.agents.get(name).cloned() else { continue };
        for (maker, original) in dump::tree(root, record.agents.all().cloned()) {
            let parent = match maker {
                None => new.name.clone(),
                Some(_) => copied_name(new, original.parent.as_deref().unwrap_or_default()),
            };
            let renamed = |names: Vec<String>| names.iter().map(|name| copied_name(new, name)).collect();
            let People { speakers, listeners } = original.interlocutors;
            let copy = Agent {
                id: format!("{}-{}", new.id, copies.len() + 1),
                name: copied_name(new, &original.name),
                parent: Some(parent),
                interlocutors: People { speakers: renamed(speakers), listeners: renamed(listeners) },
                ..original
            };
            copies.push(Copy { original: original.name, copy });
        }
    }
    Ok(copies)
}

/// Refuses copies for which the thread has no names or no room beside the new agent.
fn check(turn: &Turn, copies: &[Copy]) -> Result<(), ToolError> {
    let record = turn.record.borrow();
    for Copy { copy, .. } in copies {
        if let Some(fault) = fault_of_name(&copy.name) {
            return Err(ToolError(format!("a copy would have the name {:?}: {fault}", copy.name)));
        }
        if record.agents.get(&copy.name).is_some() {
            return Err(ToolError(format!("there is an agent {:?} already: take another name", copy.name)));
        }
    }
    let count = record.agents.count() + 1 + copies.len();
    match count > MAX_AGENTS {
        true => Err(ToolError(format!(
            "this conversation would have {count} agents, and the limit is {MAX_AGENTS}: terminate some first"
        ))),
        false => Ok(()),
    }
}
