//! The agents of a thread as rows: their tables, their statements, and what a row has of an agent. Pure.

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::history;
use super::path::{ON_PATH, path_of};
use bindings::rows::arrays_within;
use engine::journal::{Agent, AgentRow, MAIN, People, Round};
use wire::protocol::{Hook, MAX_ROUND_BYTES, MAX_ROUND_MESSAGES, MAX_ROUNDS};

/// The bytes of rounds that one statement writes: as many as the platform takes of SQL
/// (<https://developers.cloudflare.com/durable-objects/platform/limits/>), so the memory of one stays small. A statement a
/// round took 1.8 s for 70,000 short ones.
const STATEMENT_BYTES: usize = 100_000;

/// The agents of a thread, made with its first one: most threads have none. Rows are append-only but for a deletion of the
/// thread, so a turn sees the agents as the turns of its path left them.
pub const CREATE_AGENTS: &str = "
CREATE TABLE IF NOT EXISTS agents (
  -- Never used again; `main` has one too.
  id   TEXT PRIMARY KEY,
  -- JSON: all that never changes of it.
  made TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS agent_states (
  row     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL,
  -- The turn that left the agent so.
  turn_id TEXT NOT NULL,
  -- JSON; NULL where the agent has ended.
  state   TEXT
);
CREATE TABLE IF NOT EXISTS agent_rounds (
  row      INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT NOT NULL,
  turn_id  TEXT NOT NULL,
  -- JSON: a question to the agent with everything up to its answer.
  messages TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS agent_rounds_by_agent ON agent_rounds (id, row);
";

/// The lives of agents, `main` included, made with the first one: most threads have none. Rows are append-only as well.
pub const CREATE_LIVES: &str = "
CREATE TABLE IF NOT EXISTS agent_lives (
  row     INTEGER PRIMARY KEY AUTOINCREMENT,
  id      TEXT NOT NULL,
  -- The turn that left the life so.
  turn_id TEXT NOT NULL,
  -- JSON.
  life    TEXT NOT NULL
);
";

/// Writes a life as a turn leaves it.
pub const PUT_LIFE: &str = "INSERT INTO agent_lives (id, turn_id, life) VALUES (?1, ?2, ?3)";

/// The agents with a life on the path of `?1`, each with the life as the newest turn of the path left it.
pub fn select_lives() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path},
        newest AS (SELECT max(row) AS row FROM agent_lives JOIN turns USING (turn_id) WHERE {ON_PATH} GROUP BY id)
        SELECT id, life FROM newest JOIN agent_lives USING (row)"
    )
}

/// Takes the hook `?2` out of the lives of `main` on the path of `?1`. A person deletes it, so these rows change: each turn has
/// the life with which it began in its journal.
pub fn forget_own_hook() -> String {
    let path = path_of("path", "?1");
    format!(
        "UPDATE agent_lives SET life = json_set(life, '$.hooks', (SELECT json_group_array(json(value))
          FROM json_each(life, '$.hooks') WHERE value ->> '$.name' <> ?2))
        WHERE id = 'main'
          AND row IN (WITH {path} SELECT row FROM agent_lives JOIN turns USING (turn_id) WHERE {ON_PATH})
          AND EXISTS (SELECT 1 FROM json_each(life, '$.hooks') WHERE value ->> '$.name' = ?2)"
    )
}

/// Writes an agent, unless it is there.
pub const PUT_AGENT: &str = "INSERT INTO agents (id, made) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING";

/// Writes an agent's state as a turn leaves it.
pub const PUT_AGENT_STATE: &str = "INSERT INTO agent_states (id, turn_id, state) VALUES (?1, ?2, ?3)";

/// Writes rounds of an agent, in the order of the array `?3`, which has their texts.
pub const PUT_AGENT_ROUNDS: &str = "INSERT INTO agent_rounds (id, turn_id, messages)
    SELECT ?1, ?2, value FROM json_each(?3) ORDER BY key";

/// The agents of the path of `?1`, each as the newest turn of the path left it.
pub fn select_agents() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path},
        newest AS (SELECT max(row) AS row FROM agent_states JOIN turns USING (turn_id) WHERE {ON_PATH} GROUP BY id)
        SELECT made, state FROM newest JOIN agent_states USING (row) JOIN agents USING (id)
        WHERE state IS NOT NULL ORDER BY row"
    )
}

/// The newest rounds of the agent `?2` on the path of `?1`, before the row `?3`: at most `?4`.
pub fn newest_rounds() -> String {
    let path = path_of("path", "?1");
    format!(
        "WITH {path} SELECT row, turn_id, messages FROM agent_rounds JOIN turns USING (turn_id)
        WHERE id = ?2 AND row < ?3 AND {ON_PATH} ORDER BY row DESC LIMIT ?4"
    )
}

/// The place of a round.
#[derive(Debug, PartialEq, Eq)]
pub struct RoundPlace {
    /// It is a turn of `main`.
    pub of_main: bool,
    pub row: i64,
    /// The agent's id.
    pub id: String,
}

/// The newest rounds of the agents of the list `?2` on the path of `?1`, and the turns of the conversation where the list
/// has `main`: of each one more than a dump has, so that a long one leaves the others theirs. Newest first. The message of
/// `main` ends its turn.
pub fn newest_places(has_agents: bool) -> String {
    let path = path_of("path", "?1");
    let of_agents = format!(
        "UNION ALL SELECT seq_first, 0, row, id FROM agent_rounds JOIN turns USING (turn_id)
        WHERE id IN (SELECT value FROM json_each(?2)) AND {ON_PATH}"
    );
    let of_agents = if has_agents { of_agents.as_str() } else { "" };
    let limit = MAX_ROUNDS + 1;
    format!(
        "WITH {path}, rounds (seq_first, of_main, row, id) AS (
            SELECT seq_first, 1, row, '{MAIN}' FROM messages JOIN turns USING (turn_id)
            WHERE history IS NOT NULL AND '{MAIN}' IN (SELECT value FROM json_each(?2)) AND {ON_PATH}
            {of_agents}),
        numbered AS (
            SELECT *, row_number() OVER (PARTITION BY of_main, id ORDER BY seq_first DESC, row DESC) AS age FROM rounds)
        SELECT of_main, row, id FROM numbered WHERE age <= {limit}
        ORDER BY seq_first DESC, of_main DESC, row DESC"
    )
}

/// The messages of the round of an agent in the row `?1`, and those of a turn.
pub const ROUND_AT: &str = "SELECT messages FROM agent_rounds WHERE row = ?1";
pub const TURN_AT: &str = "SELECT history FROM messages WHERE row = ?1";

/// The part of an agent that changes.
#[derive(Deserialize, Serialize)]
struct State {
    #[serde(default)]
    interlocutors: People,
    #[serde(default)]
    heard: Vec<String>,
    #[serde(default)]
    missed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<Hook>,
}

/// An agent as its two columns: what never changes of it, and its state.
pub fn columns(agent: &Agent) -> Result<(String, String), StoreError> {
    let mut made = agent.clone();
    let state = State {
        interlocutors: std::mem::take(&mut made.interlocutors),
        heard: std::mem::take(&mut made.heard),
        missed: std::mem::take(&mut made.missed),
        hooks: std::mem::take(&mut made.hooks),
    };
    Ok((serde_json::to_string(&made)?, serde_json::to_string(&state)?))
}

/// The agent of these columns.
pub fn agent_of(made: &str, state: &str) -> Result<Agent, StoreError> {
    let made: Agent = wire::json::from_str(made)?;
    let State { interlocutors, heard, missed, hooks } = wire::json::from_str(state)?;
    Ok(Agent { interlocutors, heard, missed, hooks, ..made })
}

/// The rows of rounds. A round that is longer than a row takes is cut, and says so.
pub fn round_texts(rounds: &[Round]) -> Result<Vec<String>, StoreError> {
    rounds.iter().map(|round| history::fit(round, MAX_ROUND_BYTES)).collect()
}

/// The arrays of [`PUT_AGENT_ROUNDS`], each with as many rows as a statement takes.
pub fn round_arrays(texts: &[String]) -> Result<Vec<String>, StoreError> {
    // As texts: SQLite would write parsed JSON in another form.
    let quoted: Vec<String> = texts.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(arrays_within(&quoted, STATEMENT_BYTES))
}

/// The size of a list of rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub rounds: usize,
    pub messages: usize,
    pub bytes: usize,
}

impl Size {
    /// The size with one more round; none where that is more than an agent remembers, or than so many bytes. The first round
    /// always fits.
    pub fn with(self, messages: usize, bytes: usize, max_bytes: usize) -> Option<Size> {
        let Size { rounds: before, .. } = self;
        let size = Size { rounds: before + 1, messages: self.messages + messages, bytes: self.bytes + bytes };
        let fits =
            size.rounds <= MAX_ROUNDS && size.messages <= MAX_ROUND_MESSAGES && size.bytes <= max_bytes;
        (before == 0 || fits).then_some(size)
    }
}

/// The rows that the end of some agents writes: those that end, and those whose people change with it. All others stay as
/// they are, however long they are.
pub fn ending(agents: Vec<Agent>, ended: &[String]) -> Vec<AgentRow> {
    let row = |before: Agent| {
        let (mut agent, has_ended) = (before.clone(), ended.contains(&before.name));
        agent.interlocutors.without(ended);
        let changes = has_ended || agent.interlocutors != before.interlocutors;
        changes.then_some(AgentRow { agent, has_ended, rounds: Vec::new() })
    };
    agents.into_iter().filter_map(row).collect()
}

#[cfg(test)]
#[path = "agent_rows_tests.rs"]
mod tests;
