//! The agents of a thread: the port through which a turn reads them, and the commands of the Worker.

use std::collections::BTreeSet;
use std::rc::Rc;

use worker::Response;

use crate::storage::StoreError;
use crate::storage::agent_rows::ending;
use crate::storage::path::Path;
use crate::storage::sql::Store;
use bindings::rows::MAX_INTEGER;
use engine::journal::{Agent, AgentSetting, MAIN, MAX_TRANSCRIPT_BYTES, People, Round, TurnSpec};
use engine::ports::{Agents, LogError, Recalled};
use wire::protocol::{
    AgentList, AgentMessage, AgentRound, AgentRounds, AgentSummary, ApiError, ChatRequest, ErrorCode,
    HOOK_AGENT, HookList, MainAgent, Owner, Seq,
};

use super::ids::new_id;
use super::limits::{self, AgentsThatStay};
use super::next_prompt::next_prompt;
use super::respond::misconfigured;
use super::respond::{json_response, no_content};
use super::revival::spec;
use super::thread::Thread;

mod dumps;

/// The agents of a turn's path, for the engine.
pub struct KeptAgents {
    store: Rc<Store>,
    path: Path,
}

impl KeptAgents {
    pub fn new(thread: &Thread, path: Path) -> Self {
        KeptAgents { store: Rc::clone(&thread.store), path }
    }
}

impl Agents for KeptAgents {
    fn recall(&self, agent_id: &str) -> Result<Recalled, LogError> {
        let refused = |StoreError(error)| LogError::Storage(error);
        let read = self.store.agent_rounds(&self.path, agent_id, MAX_INTEGER, MAX_TRANSCRIPT_BYTES);
        let (rounds, cut) = read.map_err(refused)?;
        let life = self.store.life(&self.path, agent_id).map_err(refused)?;
        let life = life.within(|turn_id| rounds.iter().any(|round| round.turn_id == turn_id));
        Ok(Recalled { rounds: rounds.into_iter().map(|round| round.messages).collect(), cut, life })
    }
}

impl Thread {
    /// The agents of a turn that begins on a path; none where its request asks for none, or the deployment has none.
    pub fn agent_setting(
        &self,
        request: &ChatRequest,
        path: &Path,
        is_new: bool,
    ) -> Result<Option<AgentSetting>, ApiError> {
        let asks = request.agents == Some(true) || request.agent.is_some();
        let allowed = *self.deployment.once(|var| limits::agents(var)).map_err(misconfigured)?;
        if !asks || allowed == AgentsThatStay::Off {
            return request.agent.as_deref().map_or(Ok(None), |name| Err(unknown(name)));
        }
        let named = request.agent.as_deref();
        if let Some(hook) = named.and_then(|name| name.strip_prefix(HOOK_AGENT)) {
            let spoken_to = if is_new { None } else { self.hook_as_agent(hook, path)? };
            let hook = spoken_to.ok_or_else(|| unknown(named.unwrap_or_default()))?;
            let has_lives = self.store.agents_with_lives(path)?.contains(&hook.id);
            return Ok(Some(AgentSetting { root: Some(hook.name.clone()), kept: vec![hook], has_lives }));
        }
        let kept = if is_new { Vec::new() } else { self.store.agents(path)? };
        let root = request.agent.clone().filter(|name| name != MAIN);
        if let Some(name) = root.as_ref().filter(|name| !kept.iter().any(|agent| agent.name == **name)) {
            return Err(unknown(name));
        }
        let with_lives = if is_new { BTreeSet::new() } else { self.store.agents_with_lives(path)? };
        let has_lives = kept.iter().any(|agent| agent.name != MAIN && with_lives.contains(&agent.id));
        Ok(Some(AgentSetting { root, kept, has_lives }))
    }

    /// A hook of the thread as the agent that answers a person: a model with the hook's words and without tools, which
    /// remembers what the person and it said on the path. None: the thread has no such hook, or its hook asks no model.
    fn hook_as_agent(&self, name: &str, path: &Path) -> Result<Option<Agent>, ApiError> {
        let hook = self.store.rules()?.hooks.into_iter().find(|hook| hook.name == name);
        let Some(instructions) = hook.and_then(|hook| hook.instructions) else { return Ok(None) };
        let name = format!("{HOOK_AGENT}{name}");
        let known = self.store.agents_and_hooks(path)?.into_iter().find(|agent| agent.name == name);
        let agent =
            known.unwrap_or_else(|| Agent { id: new_id(self.clock.now_ms()), name, ..Agent::default() });
        Ok(Some(Agent { instructions, tools: Some(Vec::new()), ..agent }))
    }

    /// `main`, and the agents on the thread's path.
    pub fn list_agents(self: &Rc<Self>, owner: &Owner) -> Result<Response, ApiError> {
        self.found(owner)?;
        let all = self.store.agents(&self.store.path()?)?;
        let (mut main, agents): (Vec<_>, Vec<_>) = all.into_iter().partition(|agent| agent.name == MAIN);
        let main = self.main_agent(owner, main.pop().map(|main| main.interlocutors).unwrap_or_default())?;
        let agents = agents.into_iter();
        let summary = |agent: Agent| AgentSummary {
            name: agent.name,
            parent: agent.parent,
            instructions: agent.instructions,
            code: agent.code,
            heard: agent.heard,
            speakers: agent.interlocutors.speakers,
            listeners: agent.interlocutors.listeners,
            hooks: agent.hooks,
        };
        json_response(&AgentList { main, agents: agents.map(summary).collect() })
    }

    /// `main` with its prompt and hooks.
    fn main_agent(
        &self,
        owner: &Owner,
        People { speakers, listeners }: People,
    ) -> Result<MainAgent, ApiError> {
        let told = |spec: &TurnSpec| (spec.system.clone(), Some(spec.turn_id.clone()));
        let open = match (self.run(), self.store.open_turn()?) {
            (Some(run), _) => Some(told(run.turn.spec())),
            // A parked turn, or one whose run was lost, has its start in the journal.
            (None, Some(turn)) => spec(&self.store.entries(&turn.turn_id)?).map(told),
            (None, None) => None,
        };
        let (instructions, turn_id) = match open {
            Some(open) => open,
            None => (next_prompt(self, owner)?, None),
        };
        let HookList { hooks, operators, own } = self.hook_list()?;
        Ok(MainAgent { instructions, turn_id, speakers, listeners, hooks, operators, own_hooks: own })
    }

    /// The agent of this name on the thread's path, or the hook to which a person spoke.
    fn agent(&self, name: &str) -> Result<(Path, Agent), ApiError> {
        let path = self.store.path()?;
        let found =
            self.store.agents_and_hooks(&path)?.into_iter().find(|agent| agent.name == name && name != MAIN);
        found.map(|agent| (path, agent)).ok_or_else(|| unknown(name))
    }

    /// A page of an agent's rounds: the newest, or those before a cursor, which is the row of the first round of a page.
    pub fn list_agent_rounds(
        self: &Rc<Self>,
        owner: &Owner,
        name: &str,
        cursor: Option<&str>,
    ) -> Result<Response, ApiError> {
        self.found(owner)?;
        let before = match cursor.map(str::parse::<i64>) {
            None => MAX_INTEGER,
            Some(Ok(row)) if row >= 0 => row,
            Some(_) => return Err(ApiError::field("cursor", "this is not a cursor of this list")),
        };
        let (path, agent) = self.agent(name)?;
        let (rounds, more) = self.store.agent_rounds(&path, &agent.id, before, MAX_TRANSCRIPT_BYTES)?;
        let next_cursor = rounds.first().filter(|_| more).map(|round| round.row.to_string());
        let rounds = rounds.into_iter();
        let rounds = rounds
            .map(|round| AgentRound { turn_id: round.turn_id, messages: agent_messages(round.messages) });
        json_response(&AgentRounds { rounds: rounds.collect(), next_cursor })
    }

    /// Ends an agent and all that it made.
    pub async fn end_agent(self: &Rc<Self>, owner: &Owner, name: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        let _alone = self.admitting.lock().await;
        let (turn_id, path) = self.end_of_path(owner)?;
        let all = self.store.agents(&path)?;
        if name == MAIN || !all.iter().any(|agent| agent.name == name) {
            return Err(unknown(name));
        }
        let mut ended = vec![name.to_owned()];
        // Each pass finds the agents that those of the passes before made; there are no more passes than agents.
        for _ in &all {
            for agent in &all {
                let by_one = agent.parent.as_ref().is_some_and(|parent| ended.contains(parent));
                if by_one && !ended.contains(&agent.name) {
                    ended.push(agent.name.clone());
                }
            }
        }
        let rows = ending(all, &ended);
        self.store.transaction(|| self.store.keep_agents(&turn_id, &rows))?;
        no_content()
    }

    /// The turn with which the thread's path ends, and that path. Refused while a turn has no end, because its agents are
    /// not in rows yet.
    pub fn end_of_path(self: &Rc<Self>, owner: &Owner) -> Result<(String, Path), ApiError> {
        self.found(owner)?;
        if let Some(open) = self.store.open_turn()? {
            let detail = format!("the turn {} is running", open.turn_id);
            return Err(ApiError::new(ErrorCode::TurnInProgress, detail));
        }
        let end: Seq = self.store.ends()?.of_path;
        let turn_id = self.store.turn_id(end)?;
        let turn_id = turn_id.ok_or_else(|| StoreError("the path has no end".to_owned()))?;
        Ok((turn_id, self.store.path()?))
    }
}

fn unknown(name: &str) -> ApiError {
    let shown: String = name.chars().take(40).collect();
    ApiError::new(ErrorCode::AgentNotFound, format!("there is no agent {shown:?} in this thread"))
}

/// A round as its user reads it.
fn agent_messages(messages: Round) -> Vec<AgentMessage> {
    messages.into_iter().map(AgentMessage::from).collect()
}
