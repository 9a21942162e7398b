//! The commands that give an agent as a dump, and that make agents of one.

use std::collections::BTreeSet;
use std::rc::Rc;

use worker::Response;

use super::{agent_messages, unknown};
use crate::ids::new_id;
use crate::next_prompt::plain_prompt;
use crate::respond::json_response;
use crate::storage::StoreError;
use crate::storage::agent_rows::{RoundPlace, Size, round_texts};
use crate::storage::history;
use crate::thread::Thread;
use engine::agents::dump::{self, Restored};
use engine::journal::{Agent, AgentRow, MAIN, MAX_INSTRUCTIONS_BYTES, MAX_TRANSCRIPT_BYTES, Round};
use wire::protocol::{ApiError, DumpBuilder, MAX_DUMP_BYTES, MAX_ROUND_BYTES, Owner, SentDump};

impl Thread {
    /// An agent with all that it remembers, and the agents below it.
    pub fn dump_agent(self: &Rc<Self>, owner: &Owner, name: &str) -> Result<Response, ApiError> {
        self.found(owner)?;
        let path = self.store.path()?;
        let all = self.store.agents(&path)?;
        let found = all.iter().find(|agent| agent.name == name).cloned();
        let root = match name {
            MAIN => self.main_as_agent(owner, found)?,
            _ => found.ok_or_else(|| unknown(name))?,
        };
        let tree = dump::tree(root, all);
        let ids: Vec<String> = tree.iter().map(|(_, agent)| agent.id.clone()).collect();
        let dumped = |(maker, mut agent): (Option<usize>, Agent)| {
            let life = self.store.life(&path, &agent.id)?;
            // Those of `main` stand in its life.
            agent.hooks.extend(life.hooks.iter().cloned());
            Ok::<_, StoreError>((maker, dump::dump_of(agent, &life)))
        };
        let agents = tree.into_iter().map(dumped).collect::<Result<_, _>>()?;
        let mut dump = DumpBuilder::new(agents, MAX_DUMP_BYTES)?;
        // None: the agent remembers no more.
        let mut sizes = vec![Some(Size::default()); ids.len()];
        for place in self.store.newest_places(&path, &ids)? {
            let index = ids.iter().position(|id| *id == place.id).unwrap_or_default();
            let Some(room) = sizes.get_mut(index) else { continue };
            let Some(size) = *room else { continue };
            let (round, bytes) = self.round_of(&place)?;
            *room = size.with(round.len(), bytes, MAX_TRANSCRIPT_BYTES);
            if room.is_none() {
                dump.mark_cut();
            } else if !dump.add(index, agent_messages(round))? {
                break;
            }
        }
        let whole = dump.whole().ok_or_else(|| StoreError("a dump of nobody".to_owned()))?;
        json_response(&whole)
    }

    /// A round, and its bytes as JSON. A turn of `main` that is longer than a round is shortened.
    fn round_of(&self, place: &RoundPlace) -> Result<(Round, usize), StoreError> {
        let text = self.store.round_at(place)?;
        let round: Round = wire::json::from_str(&text)?;
        if text.len() <= MAX_ROUND_BYTES {
            return Ok((round, text.len()));
        }
        let text = history::fit(&round, MAX_ROUND_BYTES)?;
        Ok((wire::json::from_str(&text)?, text.len()))
    }

    /// `main` as an agent: its instructions are its prompt without anything that belongs to a turn or to this thread, and its
    /// rounds are the turns of the conversation. `kept`: its row, which a thread without agents lacks.
    fn main_as_agent(&self, owner: &Owner, kept: Option<Agent>) -> Result<Agent, ApiError> {
        let main =
            kept.unwrap_or_else(|| Agent { id: MAIN.to_owned(), name: MAIN.to_owned(), ..Agent::default() });
        let mut instructions = plain_prompt(self, owner)?;
        instructions.truncate(instructions.floor_char_boundary(MAX_INSTRUCTIONS_BYTES));
        Ok(Agent { instructions, ..main })
    }

    /// Makes agents of a dump: its first one is an agent of `main`. They stand with the last turn of the thread's path.
    pub async fn restore_agent(
        self: &Rc<Self>,
        owner: &Owner,
        mut sent: SentDump,
    ) -> Result<Response, ApiError> {
        // Older Workers leave the rounds in the dump.
        let within: Vec<Round> = std::mem::take(&mut sent.dump.rounds)
            .into_iter()
            .map(|round| round.into_iter().map(Into::into).collect())
            .collect();
        if let Some(rounds) = sent.rounds.first_mut().filter(|rounds| rounds.is_empty()) {
            *rounds = round_texts(&within)?;
        }
        let id = new_id(self.clock.now_ms());
        let restored = dump::restored(sent, None, |place| match place {
            0 => id.clone(),
            _ => format!("{id}-{place}"),
        })?;
        self.found(owner)?;
        {
            let _alone = self.admitting.lock().await;
            let (turn_id, path) = self.end_of_path(owner)?;
            let kept = self.store.agents(&path)?;
            let names: BTreeSet<&str> = kept.iter().map(|agent| agent.name.as_str()).collect();
            dump::check_room(&restored, &names)?;
            self.store.transaction(|| {
                for Restored { agent, rounds, life } in restored {
                    let id = agent.id.clone();
                    let row = AgentRow { agent, has_ended: false, rounds: Vec::new() };
                    self.store.keep_agents(&turn_id, &[row])?;
                    self.store.keep_rounds(&turn_id, &id, &rounds)?;
                    if !life.is_empty() {
                        self.store.keep_lives(&turn_id, &[(id, life)])?;
                    }
                }
                Ok::<_, StoreError>(())
            })?;
        }
        self.list_agents(owner)
    }
}
