//! `garbage_collector`: reminds the model of agents that nobody has spoken to for a while.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Builtin, Choice, DISCUSS, Kind, TASK, TERMINATE, agent_in, count, kept, state};
use crate::journal::People;
use crate::toolbelt::arguments;
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{HookDecision, HookPoint};

/// Reminds after `after` rounds of silence, and again after as many.
pub(super) const HOOK: Builtin = Builtin {
    name: "garbage_collector",
    points: &[HookPoint::Result],
    calls: &[],
    options: &[Choice { name: "after", kind: Kind::Count }],
    judge: Judge::Rule(&GarbageCollector),
};

const AFTER: u32 = 10;

#[derive(Default, Deserialize)]
struct Convened {
    #[serde(default)]
    speakers: Vec<String>,
    #[serde(default)]
    listeners: Vec<String>,
}

/// Judges by the agents that exist. The state has each of them with its rounds of silence.
struct GarbageCollector;

impl Rule for GarbageCollector {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        // Subtasks and steps cannot speak to agents.
        let Some(discuss) = asked.level.belt.find(DISCUSS) else { return Ok(Said::default()) };
        let before: BTreeMap<String, u32> = state(asked)?;
        let record = asked.turn.record.borrow();
        let maker = asked.turn.maker(asked.level);
        let mut spoken_to = Vec::new();
        for (call, _, _) in asked.level.newest_round().into_iter().filter(|(_, _, is_error)| !is_error) {
            match call.name.as_str() {
                TASK => spoken_to.extend(asked.level.belt.find(TASK).and_then(|task| agent_in(task, call))),
                DISCUSS => {
                    let named: Convened = arguments::read(discuss, &call.arguments).unwrap_or_default();
                    // A discussion without names goes on with those of the one before.
                    let People { speakers, listeners } = record.agents.interlocutors(maker);
                    spoken_to.extend([named.speakers, named.listeners, speakers, listeners].concat());
                }
                _ => {}
            }
        }
        let silence = |name: &str| match before.get(name) {
            Some(rounds) if !spoken_to.iter().any(|spoken| spoken == name) => rounds.saturating_add(1),
            _ => 0,
        };
        let there = record.agents.made_by(maker);
        let mut silent: BTreeMap<String, u32> = there.map(|name| (name.to_owned(), silence(name))).collect();
        let after = count(asked.hook, "after", AFTER);
        let late: Vec<String> =
            silent.iter().filter(|(_, rounds)| **rounds >= after).map(|(name, _)| name.clone()).collect();
        silent.extend(late.iter().map(|name| (name.clone(), 0)));
        let said = match late.is_empty() {
            true => Said::default(),
            false => Said::new(
                HookDecision::Comment,
                format!(
                    "Nobody has spoken to these agents for {after} rounds: {}. End those that are not needed any more with \
                     {TERMINATE}.",
                    late.join(", ")
                ),
            ),
        };
        let is_new = !(silent.is_empty() && asked.state.is_empty());
        Ok(Said { state: kept(&silent).filter(|_| is_new), ..said })
    }
}
