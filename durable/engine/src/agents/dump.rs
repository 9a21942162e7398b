//! Agents as dumps, and agents made of dumps: for the routes of a thread, and for the calls of its agents.

use std::collections::BTreeSet;

use crate::hooks;
use crate::journal::{
    Agent, AgentLife, HookOrigin, HookState, MAIN, MAX_AGENTS, MAX_HEARD_BYTES, MAX_INSTRUCTIONS_BYTES,
    MAX_TRANSCRIPT_BYTES, People, fault_of_name,
};
use wire::protocol::{
    AgentDump, ApiError, DumpedHook, ErrorCode, Hook, MAX_DUMP_AGENTS, MAX_DUMP_BYTES, MAX_HOOK_STATE_BYTES,
    NewHook, SentDump,
};

/// The words that an agent hears first after it was restored.
const WOKEN: &str = "[You were restored from a copy of yourself, into another conversation. What you remember happened elsewhere: its \
     files, tools and people may not be here.]";
/// The most bytes of the names in a dump: a row has them beside the instructions.
const MAX_NAMES_BYTES: usize = 100_000;
// The dump of one agent is never larger than the largest that may be restored. A character of a text has at most six bytes
// in JSON.
const _: () = assert!(
    MAX_TRANSCRIPT_BYTES
        + 6 * (MAX_HEARD_BYTES + MAX_INSTRUCTIONS_BYTES)
        + MAX_NAMES_BYTES
        + hooks::MAX_HOOKS_BYTES
        < MAX_DUMP_BYTES
);
// A dump has `main` beside the agents.
const _: () = assert!(MAX_DUMP_AGENTS == MAX_AGENTS + 1);

/// An agent of a dump, which is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    pub agent: Agent,
    /// Its rounds as its rows have them, oldest first.
    pub rounds: Vec<String>,
    /// The states of its own hooks.
    pub life: AgentLife,
}

/// An agent and all agents below it, each behind its maker, with the place of that. `all`: the agents of the thread.
pub fn tree(root: Agent, all: impl IntoIterator<Item = Agent>) -> Vec<(Option<usize>, Agent)> {
    let mut others: Vec<Agent> = all.into_iter().filter(|agent| agent.name != MAIN).collect();
    others.retain(|agent| agent.name != root.name);
    let mut tree = vec![(None, root)];
    let mut place = 0;
    while let Some((_, maker)) = tree.get(place) {
        let maker = maker.name.clone();
        let is_own = |agent: &mut Agent| agent.parent.as_deref().unwrap_or(MAIN) == maker;
        tree.extend(others.extract_if(.., is_own).map(|agent| (Some(place), agent)));
        place += 1;
    }
    let own: BTreeSet<(Option<usize>, String)> =
        tree.iter().map(|(maker, agent)| (*maker, agent.name.clone())).collect();
    for (place, (_, agent)) in tree.iter_mut().enumerate() {
        agent.interlocutors.retain(|name| own.contains(&(Some(place), name.to_owned())));
    }
    tree
}

/// An agent as a dump, without its rounds and its own agents. Its life gives the states of its own hooks. The copies of others'
/// hooks, and the files that it has read, belong to this conversation.
pub fn dump_of(agent: Agent, life: &AgentLife) -> AgentDump {
    let Agent { name, instructions, code, tools, servers, denied, heard, hooks, interlocutors, .. } = agent;
    let People { speakers, listeners } = interlocutors;
    let dumped = |hook: Hook| match life.state_of(&hook, HookOrigin::Own, 0) {
        Some(HookState { state, has_quit, .. }) => {
            let state = Some(state).filter(|state| state.len() <= MAX_HOOK_STATE_BYTES).cloned();
            DumpedHook { state: state.unwrap_or_default(), has_quit: *has_quit, ..DumpedHook::from(hook) }
        }
        None => DumpedHook::from(hook),
    };
    let hooks = hooks.into_iter().map(dumped).collect();
    AgentDump {
        name,
        instructions,
        code,
        tools,
        servers,
        denied,
        heard,
        speakers,
        listeners,
        hooks,
        rounds: Vec::new(),
        agents: Vec::new(),
        cut: false,
    }
}

/// The agent of a dump without its own agents. Refuses a dump that goes beyond the limits of an agent. `place`: the path of
/// the dump in the body.
fn agent_of(
    dump: AgentDump,
    id: String,
    parent: Option<&str>,
    place: &str,
) -> Result<(Agent, AgentLife), ApiError> {
    let AgentDump { name, instructions, code, tools, servers, denied, mut heard, .. } = dump;
    let AgentDump { hooks, speakers, listeners, .. } = dump;
    let refused = |member: &str, detail: String| Err(ApiError::field(format!("{place}{member}"), detail));
    // `main` can be restored under another name, so its own is no mistake at the top.
    if let Some(fault) = fault_of_name(&name).filter(|_| name != MAIN || !place.is_empty()) {
        return refused("name", fault);
    }
    if instructions.len() > MAX_INSTRUCTIONS_BYTES {
        return refused("instructions", format!("at most {MAX_INSTRUCTIONS_BYTES} bytes"));
    }
    if code.as_deref().is_some_and(|name| !super::answers(name)) {
        return refused("code", "no call of this name can answer in an agent's place".to_owned());
    }
    let mut bytes = heard.iter().map(String::len).sum::<usize>();
    if bytes > MAX_HEARD_BYTES {
        return refused("heard", format!("at most {MAX_HEARD_BYTES} bytes"));
    }
    let names = tools.iter().flatten().chain(&servers).chain(&denied);
    if names.map(|name| name.len() + 3).sum::<usize>() > MAX_NAMES_BYTES {
        return refused("tools", format!("at most {MAX_NAMES_BYTES} bytes of names"));
    }
    let (hooks, life) = hooks_of(&hooks, place)?;
    heard.push(WOKEN.to_owned());
    bytes += WOKEN.len();
    let missed = bytes > MAX_HEARD_BYTES;
    while bytes > MAX_HEARD_BYTES {
        bytes -= heard.remove(0).len();
    }
    let agent = Agent {
        id,
        name,
        parent: parent.map(str::to_owned),
        instructions,
        code,
        tools,
        servers,
        denied,
        hooks,
        interlocutors: People { speakers, listeners },
        heard,
        missed,
    };
    Ok((agent, life))
}

/// Gives the first agent of a dump another name. The name that it has must be one that a dump can have: `main`, too.
pub fn rename(dump: &mut AgentDump, name: String) -> Result<(), ApiError> {
    match fault_of_name(&dump.name).filter(|_| dump.name != MAIN) {
        Some(fault) => Err(ApiError::field("name", fault)),
        None => {
            dump.name = name;
            Ok(())
        }
    }
}

/// The agents of a dump, each behind its maker. The first one is an agent of `maker`; none: of `main`. `id` gives each
/// agent an id by its place. Refuses a dump that no thread could have given.
pub fn restored(
    sent: SentDump,
    maker: Option<&str>,
    id: impl Fn(usize) -> String,
) -> Result<Vec<Restored>, ApiError> {
    let SentDump { dump, rounds } = sent;
    let mut agents = Vec::new();
    below(dump, maker, "", &id, &mut agents)?;
    let mut names = BTreeSet::new();
    if let Some((twice, _)) = agents.iter().find(|(agent, _)| !names.insert(agent.name.as_str())) {
        return Err(ApiError::field(
            "agents",
            format!("two agents of the dump have the name {:?}", twice.name),
        ));
    }
    let rounds = rounds.into_iter().chain(std::iter::repeat(Vec::new()));
    let restored = |((agent, life), rounds)| Restored { agent, rounds, life };
    Ok(agents.into_iter().zip(rounds).map(restored).collect())
}

/// Appends the agents of a dump, each behind its maker.
fn below(
    mut dump: AgentDump,
    maker: Option<&str>,
    place: &str,
    id: &impl Fn(usize) -> String,
    agents: &mut Vec<(Agent, AgentLife)>,
) -> Result<(), ApiError> {
    if agents.len() >= MAX_DUMP_AGENTS {
        return Err(ApiError::field("agents", format!("a dump has at most {MAX_DUMP_AGENTS} agents in all")));
    }
    let own = std::mem::take(&mut dump.agents);
    check_people(&dump, &own, place)?;
    let agent = agent_of(dump, id(agents.len()), maker, place)?;
    let name = agent.0.name.clone();
    agents.push(agent);
    for (number, dump) in own.into_iter().enumerate() {
        below(dump, Some(&name), &format!("{place}agents[{number}]."), id, agents)?;
    }
    Ok(())
}

/// Refuses people of a discussion that are no agents of the dump, and one that is named twice.
fn check_people(dump: &AgentDump, own: &[AgentDump], place: &str) -> Result<(), ApiError> {
    let mut named = BTreeSet::new();
    for (member, people) in [("speakers", &dump.speakers), ("listeners", &dump.listeners)] {
        let is_one = |name: &String| own.iter().any(|agent| agent.name == *name);
        if let Some(number) = people.iter().position(|name| !is_one(name) || !named.insert(name)) {
            let field = format!("{place}{member}[{number}]");
            return Err(ApiError::field(field, "expected an agent of this agent, which is named once"));
        }
    }
    Ok(())
}

/// The hooks of a dump, and their states. Refuses those that no agent could have made.
fn hooks_of(dumped: &[DumpedHook], place: &str) -> Result<(Vec<Hook>, AgentLife), ApiError> {
    let define = |(number, hook): (usize, &DumpedHook)| {
        if hook.state.len() > MAX_HOOK_STATE_BYTES {
            let field = format!("{place}hooks[{number}].state");
            return Err(ApiError::field(field, format!("at most {MAX_HOOK_STATE_BYTES} bytes")));
        }
        let DumpedHook { name, on, calls, builtin, options, instructions, reads, of, .. } = hook.clone();
        let (on, calls, options, reads) = (Some(on), Some(calls), Some(options), Some(reads));
        let new = NewHook { on, calls, builtin, options, instructions, reads, of };
        hooks::define(&name, new).map_err(|error| error.renamed("", &format!("{place}hooks[{number}].")))
    };
    let hooks = dumped.iter().enumerate().map(define).collect::<Result<Vec<Hook>, ApiError>>()?;
    hooks::check_together(&hooks)?;
    let has_state = |dumped: &DumpedHook| dumped.has_quit || !dumped.state.is_empty();
    let states = hooks.iter().zip(dumped).filter(|(_, dumped)| has_state(dumped));
    let states = states.map(|(hook, dumped)| HookState {
        hook: hook.name.clone(),
        origin: HookOrigin::Own,
        definition: hook.digest(),
        state: dumped.state.clone(),
        has_quit: dumped.has_quit,
    });
    let life = AgentLife { hook_states: states.collect(), ..AgentLife::default() };
    Ok((hooks, life))
}

/// Refuses agents for which a thread has no names or no room. `kept`: the names of its agents.
pub fn check_room(restored: &[Restored], kept: &BTreeSet<&str>) -> Result<(), ApiError> {
    let names = restored.iter().map(|restored| restored.agent.name.as_str());
    let taken: Vec<&str> = names.filter(|name| *name == MAIN || kept.contains(name)).collect();
    if !taken.is_empty() {
        let detail = format!(
            "these names are taken: {}. `as` gives the first agent of the dump another name",
            taken.join(", ")
        );
        return Err(ApiError::new(ErrorCode::AgentExists, detail));
    }
    let count = kept.iter().filter(|name| **name != MAIN).count();
    if count + restored.len() > MAX_AGENTS {
        let detail = format!(
            "a thread has at most {MAX_AGENTS} agents: there are {count}, and the dump has {}",
            restored.len()
        );
        return Err(ApiError::new(ErrorCode::AgentExists, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumped(heard: Vec<String>) -> SentDump {
        let dump = dump_of(Agent { name: "a".to_owned(), heard, ..Agent::default() }, &AgentLife::default());
        SentDump { dump, rounds: Vec::new() }
    }

    fn restored_after_hearing(texts: Vec<String>) -> Result<Agent, Option<String>> {
        let restored = restored(dumped(texts), None, |place| place.to_string());
        restored.map(|mut all| all.remove(0).agent).map_err(|error| error.field.clone())
    }

    // A-095 A-096: an agent that has heard as much as it may can be restored, and hears that it woke. At the limit, and
    // just beyond it.
    #[test]
    fn an_agent_that_heard_much_hears_that_it_woke() {
        let text = |bytes: usize| "x".repeat(bytes);
        let fits = restored_after_hearing(vec![text(9), text(MAX_HEARD_BYTES - WOKEN.len() - 9)]).unwrap();
        assert_eq!((fits.heard.len(), fits.missed), (3, false));
        let full =
            restored_after_hearing(vec![text(WOKEN.len()), text(MAX_HEARD_BYTES - WOKEN.len())]).unwrap();
        assert_eq!((full.heard.len(), full.heard[1].as_str(), full.missed), (2, WOKEN, true));
        assert_eq!(
            restored_after_hearing(vec![text(1), text(MAX_HEARD_BYTES)]),
            Err(Some("heard".to_owned()))
        );
    }

    // another name excuses no name that a dump cannot have.
    #[test]
    fn a_dump_is_renamed() {
        for (name, expected) in
            [("critic", Ok(())), (MAIN, Ok(())), ("", Err("name")), ("Critic", Err("name"))]
        {
            let mut dump = AgentDump { name: name.to_owned(), ..dumped(Vec::new()).dump };
            let renamed = rename(&mut dump, "other".to_owned());
            assert_eq!(
                renamed.map_err(|error| error.field.clone().unwrap_or_default()),
                expected.map_err(str::to_owned)
            );
            assert_eq!(dump.name, if expected.is_ok() { "other" } else { name });
        }
    }

    // A-012 A-082: the life of an agent's own hooks is in its dump; a state at the limit, and just beyond it.
    #[test]
    fn the_states_of_hooks_survive_a_dump() {
        let hook = |name: &str| {
            let new = NewHook { builtin: Some("loop_guard".to_owned()), ..NewHook::default() };
            hooks::define(name, new).unwrap()
        };
        let state = |hook: &Hook, state: String, has_quit| HookState {
            hook: hook.name.clone(),
            origin: HookOrigin::Own,
            definition: hook.digest(),
            state,
            has_quit,
        };
        let own = [hook("a"), hook("b"), hook("c"), hook("d")];
        let (longest, long) = ("x".repeat(MAX_HOOK_STATE_BYTES), "x".repeat(MAX_HOOK_STATE_BYTES + 1));
        let kept = vec![state(&own[0], longest.clone(), false), state(&own[1], String::new(), true)];
        let more = [state(&own[2], long.clone(), false), state(&hook("copy"), "1".to_owned(), false)];
        let hook_states = kept.iter().cloned().chain(more).collect();
        let life = AgentLife { hook_states, ..AgentLife::default() };
        let agent = Agent { name: "a".to_owned(), hooks: own.to_vec(), ..Agent::default() };
        let mut dump = dump_of(agent, &life);
        let sent = |dump: &AgentDump| SentDump { dump: dump.clone(), rounds: Vec::new() };
        let restored_life = restored(sent(&dump), None, |place| place.to_string()).unwrap().remove(0).life;
        assert_eq!(restored_life, AgentLife { hook_states: kept, ..AgentLife::default() });
        dump.hooks[3].state = long;
        let refused = restored(sent(&dump), None, |place| place.to_string()).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("hooks[3].state"));
    }

    // agents of another maker are not in the tree, and people who are gone are not in the dump.
    #[test]
    fn a_tree_has_an_agent_and_those_below_it() {
        let agent = |name: &str, parent: Option<&str>| {
            let people = People { speakers: vec!["b".to_owned(), "gone".to_owned()], listeners: Vec::new() };
            let parent = parent.map(str::to_owned);
            Agent { name: name.to_owned(), parent, interlocutors: people, ..Agent::default() }
        };
        let all = [("c", Some("b")), ("a", None), ("b", Some("a")), ("d", None), ("main", None)];
        let all: Vec<Agent> = all.into_iter().map(|(name, parent)| agent(name, parent)).collect();
        let named = |root: &Agent| -> Vec<(Option<usize>, String, Vec<String>)> {
            let tree = tree(root.clone(), all.iter().cloned()).into_iter();
            tree.map(|(maker, agent)| (maker, agent.name, agent.interlocutors.speakers)).collect()
        };
        let node = |maker: Option<usize>, name: &str, people: &[&str]| {
            (maker, name.to_owned(), people.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            named(&all[1]),
            [node(None, "a", &["b"]), node(Some(0), "b", &[]), node(Some(1), "c", &[])]
        );
        let names: Vec<String> = named(&all[4]).into_iter().map(|(_, name, _)| name).collect();
        assert_eq!(names, ["main", "a", "d", "b", "c"]);
    }
}
