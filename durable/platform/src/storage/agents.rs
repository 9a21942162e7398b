//! The agents of a thread in its object.

use std::collections::BTreeSet;

use worker::SqlStorageValue;

use super::StoreError;
use super::agent_rows::{
    self, RoundPlace, Size, agent_of, columns, newest_places, newest_rounds, round_arrays, round_texts,
    select_agents, select_lives,
};
use super::path::Path;
use super::sql::{Row, Store, int};
use engine::journal::{Agent, AgentLife, AgentRow, Round};
use wire::protocol::HOOK_AGENT;

/// How many rounds are read at once.
const ROWS: usize = 8;

/// A round with its row and its turn.
pub struct KeptRound {
    pub row: i64,
    pub turn_id: String,
    pub messages: Round,
}

impl Store {
    /// The agents on a path, `main` included. The hooks to which a person spoke are no agents.
    pub fn agents(&self, path: &Path) -> Result<Vec<Agent>, StoreError> {
        let all = self.agents_and_hooks(path)?;
        Ok(all.into_iter().filter(|agent| !agent.name.starts_with(HOOK_AGENT)).collect())
    }

    /// The agents on a path, and each hook to which a person spoke as an agent of its own.
    pub fn agents_and_hooks(&self, path: &Path) -> Result<Vec<Agent>, StoreError> {
        if !self.has_table("agents")? {
            return Ok(Vec::new());
        }
        let rows = self.rows(&select_agents(), [path.json().into()])?;
        rows.into_iter().map(|mut row| agent_of(&row.text(0)?, &row.text(1)?)).collect()
    }

    /// The newest rounds of an agent on a path, before a row, oldest first, and whether there are older ones: at most as
    /// many as an agent remembers and `max_bytes` as JSON, but at least one where there is any.
    pub fn agent_rounds(
        &self,
        path: &Path,
        id: &str,
        before: i64,
        max_bytes: usize,
    ) -> Result<(Vec<KeptRound>, bool), StoreError> {
        // A hook to which a person speaks for the first time has no row yet.
        if !self.has_table("agents")? {
            return Ok((Vec::new(), false));
        }
        let (mut kept, mut size, mut before) = (Vec::new(), Size::default(), before);
        loop {
            let bindings =
                [path.json().into(), id.into(), SqlStorageValue::Integer(before), int(ROWS as u64)];
            let rows = self.rows(&newest_rounds(), bindings)?;
            let is_last = rows.len() < ROWS;
            for mut row in rows {
                let (number, turn_id, json) = (row.int(0)?, row.text(1)?, row.text(2)?);
                let messages: Round = wire::json::from_str(&json)?;
                let Some(more) = size.with(messages.len(), json.len(), max_bytes) else {
                    kept.reverse();
                    return Ok((kept, true));
                };
                (size, before) = (more, number);
                kept.push(KeptRound { row: number, turn_id, messages });
            }
            if is_last {
                kept.reverse();
                return Ok((kept, false));
            }
        }
    }

    /// The agents with a life on a path, by their ids.
    pub fn agents_with_lives(&self, path: &Path) -> Result<BTreeSet<String>, StoreError> {
        if !self.rules()?.has_lives {
            return Ok(BTreeSet::new());
        }
        let rows = self.rows(&format!("SELECT id FROM ({})", select_lives()), [path.json().into()])?;
        rows.into_iter().map(|mut row| row.text(0)).collect()
    }

    /// The life of an agent on a path; an empty one where no turn left any.
    pub fn life(&self, path: &Path, id: &str) -> Result<AgentLife, StoreError> {
        if !self.rules()?.has_lives {
            return Ok(AgentLife::default());
        }
        let query = format!("SELECT life FROM ({}) WHERE id = ?2", select_lives());
        let Some(mut row) = self.row(&query, [path.json().into(), id.into()])? else {
            return Ok(AgentLife::default());
        };
        Ok(wire::json::from_str(&row.text(0)?)?)
    }

    /// Takes a hook that `main` made out of its lives on a path, so that no version of a turn begins with it.
    pub fn forget_own_hook(&self, path: &Path, name: &str) -> Result<(), StoreError> {
        self.run(&agent_rows::forget_own_hook(), [path.json().into(), name.into()])
    }

    /// Keeps the lives that a turn changed. Belongs into the transaction of the turn's end.
    pub fn keep_lives(&self, turn_id: &str, lives: &[(String, AgentLife)]) -> Result<(), StoreError> {
        if lives.is_empty() {
            return Ok(());
        }
        self.run(agent_rows::CREATE_LIVES, [])?;
        for (id, life) in lives {
            let life = serde_json::to_string(life)?;
            self.run(agent_rows::PUT_LIFE, [id.as_str().into(), turn_id.into(), life.into()])?;
        }
        Ok(())
    }

    /// The newest rounds of these agents on a path, newest first; for `main` the turns of the conversation. There are as many
    /// as a dump has, and one more.
    pub fn newest_places(&self, path: &Path, ids: &[String]) -> Result<Vec<RoundPlace>, StoreError> {
        let has_agents = self.has_table("agents")?;
        let bindings = [path.json().into(), serde_json::to_string(ids)?.into()];
        let rows = self.rows(&newest_places(has_agents), bindings)?;
        let place =
            |mut row: Row| Ok(RoundPlace { of_main: row.int(0)? == 1, row: row.int(1)?, id: row.text(2)? });
        rows.into_iter().map(place).collect()
    }

    /// The messages of a round as JSON.
    pub fn round_at(&self, place: &RoundPlace) -> Result<String, StoreError> {
        let query = if place.of_main { agent_rows::TURN_AT } else { agent_rows::ROUND_AT };
        let row = self.row(query, [SqlStorageValue::Integer(place.row)])?;
        row.ok_or_else(|| StoreError("a round is gone".to_owned()))?.text(0)
    }

    /// Keeps the agents that a turn made, changed or ended. Belongs into the transaction of the turn's end.
    pub fn keep_agents(&self, turn_id: &str, rows: &[AgentRow]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        if !self.has_table("agents")? {
            self.run(agent_rows::CREATE_AGENTS, [])?;
        }
        for AgentRow { agent, has_ended, rounds } in rows {
            let id = agent.id.as_str();
            let (made, state) = columns(agent)?;
            self.run(agent_rows::PUT_AGENT, [id.into(), made.into()])?;
            let state: SqlStorageValue = (!has_ended).then_some(state).into();
            self.run(agent_rows::PUT_AGENT_STATE, [id.into(), turn_id.into(), state])?;
            self.keep_rounds(turn_id, id, &round_texts(rounds)?)?;
        }
        Ok(())
    }

    /// Writes rounds that an agent gained in a turn, each as the text of its row, within a transaction.
    pub fn keep_rounds(&self, turn_id: &str, id: &str, texts: &[String]) -> Result<(), StoreError> {
        for array in round_arrays(texts)? {
            self.run(agent_rows::PUT_AGENT_ROUNDS, [id.into(), turn_id.into(), array.into()])?;
        }
        Ok(())
    }
}
