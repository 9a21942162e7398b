//! The agents of a thread.

use super::words::*;
use wire::protocol::{AgentDump, MAX_DUMP_BYTES};

#[cfg(test)]
use crate::openapi::cursor;
#[cfg(target_arch = "wasm32")]
use crate::query;
#[cfg(target_arch = "wasm32")]
use crate::routes::threads;
#[cfg(test)]
use wire::protocol::{AGENT_NAME, AgentList, AgentRounds};

routes! {
    /// Lists the agents of a thread that the path has, `main` among them, with their instructions and hooks. The
    /// instructions of `main` are its live prompt. See docs/agents.md.
    Get "/api/threads/{}/agents" => Agents(id), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::Agents),
        |row| row.in_thread().gives::<AgentList>(200);
    /// Restores an agent from a dump, with the agents below it, under free names. All of them are restored, or none. Each
    /// hears that it woke in another conversation. A dump has at most 2 MB, 17 agents and 1,000 rounds of at most 450,000
    /// bytes each. The parameter `as` gives the first agent another name. The answer is 409 `agent_exists` where names are
    /// taken, and lists them; the same code answers for a thread without room. The dump counts as an upload. A member that
    /// a dump does not have is a 400 that names it by its path. Images and files have the rules of a chat message. See
    /// docs/agents.md.
    Post "/api/threads/{}/agents" => RestoreAgent(id), Needs(Write), json_of::<AgentDump>(MAX_DUMP_BYTES), Uploads,
        |r| threads::restore_agent(r.call, r.caller.owner()?, id, r.body),
        |row| row
            .in_thread()
            .takes(json!({ "name": "critic", "instructions": "Find the weakest argument." }))
            .query(restored_as())
            .gives::<AgentList>(200)
            .refuses(&[E::AgentExists, E::TooManyHooks, E::TurnInProgress, E::QuotaExceeded]);
    /// Lists what an agent was asked, did and answered: the newest rounds, oldest first, or those before a cursor.
    Get "/api/threads/{}/agents/{}/messages" => AgentRounds(id, agent), Needs(Read), Nothing, Reads,
        |r| {
            let cursor = query::cursor(r.call.query());
            r.ask(id, ThreadCommand::AgentRounds { name: agent.to_owned(), cursor })
        },
        |row| row.in_thread().query(cursor()).gives::<AgentRounds>(200).refuses(&[E::AgentNotFound]);
    /// Returns an agent with all that it remembers, and the agents below it. `main` has its prompt as its instructions, and
    /// the turns of the conversation as its rounds. The oldest rounds of all are left out where a dump has no room for
    /// them. A dump has at most the newest 1,000 rounds of all these agents, and `cut` says that older ones were left out.
    /// The messages lack their provider's own form. See "Dumps" in docs/agents.md.
    Get "/api/threads/{}/agents/{}/dump" => DumpAgent(id, agent), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::DumpAgent { name: agent.to_owned() }),
        |row| row.in_thread().gives::<AgentDump>(200).refuses(&[E::AgentNotFound, E::InvalidRequest]);
    /// Ends an agent and all that it made. Their names are free again.
    Delete "/api/threads/{}/agents/{}" => EndAgent(id, agent), Needs(Write), Nothing, Removes,
        |r| r.ask(id, ThreadCommand::EndAgent { name: agent.to_owned() }),
        |row| row.in_thread().gives_nothing("It has ended.").refuses(&[E::AgentNotFound, E::TurnInProgress]);
}

#[cfg(test)]
fn restored_as() -> Parameter {
    let pattern = AGENT_NAME.whole_pattern().replace('^', "^(").replace('$', ")?$");
    let schema = json!({ "type": "string", "pattern": pattern });
    let what =
        "The name of the restored agent, in place of the dump's `name`. The agents below it keep theirs.";
    Parameter::new("as", what, schema).such_as(json!("critic-2"))
}
