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

/// Whether there are tables of agents.
pub const HAS_AGENTS: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'agents'";

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
/// has `main`: one more than a dump has, newest first. The message of
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
            {of_agents})
        SELECT of_main, row, id FROM rounds ORDER BY seq_first DESC, of_main DESC, row DESC LIMIT {limit}"
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
mod tests {
    use rusqlite::{Connection, params};

    use super::*;
    use crate::storage::path::{SELECT_TREE, Tree};
    use crate::storage::schema::{CLEAR, CREATE};
    use wire::model::Message;

    /// A thread of four turns; turn 4 is another version of turn 3.
    fn thread() -> Connection {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        thread.execute_batch(CREATE_AGENTS).unwrap();
        for turn in 1..=4_i64 {
            let row = "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
                started_at, parent_seq) VALUES (?1, 'done', 1, 0, '', ?2, 0, ?3)";
            let parent = (turn == 4).then_some(2_i64);
            thread.execute(row, params![format!("turn-{turn}"), turn, parent]).unwrap();
        }
        thread
    }

    fn agent(id: &str, heard: &str) -> Agent {
        Agent {
            id: id.to_owned(),
            name: format!("name of {id}"),
            heard: vec![heard.to_owned()],
            ..Agent::default()
        }
    }

    /// Writes an agent as a turn leaves it; without a text it has ended.
    fn keep(thread: &Connection, turn: i64, id: &str, heard: Option<&str>) {
        let (made, state) = columns(&agent(id, heard.unwrap_or_default())).unwrap();
        thread.execute(PUT_AGENT, params![id, made]).unwrap();
        thread.execute(PUT_AGENT_STATE, params![id, format!("turn-{turn}"), heard.map(|_| state)]).unwrap();
        let texts = serde_json::to_string(&[format!("{id} {turn}")]).unwrap();
        thread.execute(PUT_AGENT_ROUNDS, params![id, format!("turn-{turn}"), texts]).unwrap();
    }

    fn path(thread: &Connection, last: u64) -> String {
        let mut statement = thread.prepare(SELECT_TREE).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        Tree(rows.map(Result::unwrap).collect()).path(last).json()
    }

    fn found(thread: &Connection, last: u64) -> Vec<Agent> {
        let mut statement = thread.prepare(&select_agents()).unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let rows = statement.query_map([path(thread, last)], read).unwrap();
        rows.map(|row| row.map(|(made, state)| agent_of(&made, &state).unwrap()).unwrap()).collect()
    }

    fn rounds(thread: &Connection, last: u64, id: &str, before: i64) -> Vec<String> {
        let mut statement = thread.prepare(&newest_rounds()).unwrap();
        let bindings = params![path(thread, last), id, before, 10];
        statement.query_map(bindings, |row| row.get(2)).unwrap().map(Result::unwrap).collect()
    }

    // A-095, issue 20, 2: a turn sees the agents as the turns on its path left them.
    #[test]
    fn a_path_has_the_agents_that_its_turns_left() {
        let thread = thread();
        keep(&thread, 1, "a", Some("first"));
        keep(&thread, 2, "a", Some("second"));
        keep(&thread, 2, "b", Some("x"));
        keep(&thread, 3, "a", None);
        keep(&thread, 4, "c", Some("y"));
        assert_eq!(found(&thread, 1), [agent("a", "first")]);
        assert_eq!(found(&thread, 2), [agent("a", "second"), agent("b", "x")]);
        assert_eq!(found(&thread, 3), [agent("b", "x")], "it ended in the turn 3");
        let other = [agent("a", "second"), agent("b", "x"), agent("c", "y")];
        assert_eq!(found(&thread, 4), other, "and not on the other path");
        assert_eq!(rounds(&thread, 4, "a", i64::MAX), ["a 2", "a 1"]);
        assert_eq!(rounds(&thread, 3, "a", i64::MAX), ["a 3", "a 2", "a 1"]);
        assert_eq!(rounds(&thread, 3, "a", 2), ["a 1"]);
        thread.execute_batch(CLEAR).unwrap();
        assert!(thread.prepare(HAS_AGENTS).unwrap().query([]).unwrap().next().unwrap().is_none());
    }

    fn places(thread: &Connection, last: u64, ids: &[&str], has_agents: bool) -> Vec<(bool, String, String)> {
        let mut statement = thread.prepare(&newest_places(has_agents)).unwrap();
        let bindings = params![path(thread, last), serde_json::to_string(ids).unwrap()];
        let read = |row: &rusqlite::Row<'_>| {
            Ok(RoundPlace { of_main: row.get::<_, i64>(0)? == 1, row: row.get(1)?, id: row.get(2)? })
        };
        let places: Vec<RoundPlace> =
            statement.query_map(bindings, read).unwrap().map(Result::unwrap).collect();
        let text = |place: RoundPlace| {
            let query = if place.of_main { TURN_AT } else { ROUND_AT };
            let text = thread.query_row(query, [place.row], |row| row.get(0)).unwrap();
            (place.of_main, place.id, text)
        };
        places.into_iter().map(text).collect()
    }

    // the rounds of a dump, newest first, with the turns of `main`, on the path.
    #[test]
    fn a_dump_has_the_rounds_of_its_agents_in_their_order() {
        let thread = thread();
        keep(&thread, 1, "a", Some("x"));
        keep(&thread, 2, "b", Some("x"));
        keep(&thread, 2, "a", Some("x"));
        keep(&thread, 3, "a", Some("x"));
        keep(&thread, 4, "b", Some("x"));
        for turn in 1..=4 {
            let row = "INSERT INTO messages (id, turn_id, role, content, created_at, history)
                VALUES (?1, ?2, 'assistant', '', 0, ?3)";
            let history = (turn != 2).then(|| format!("turn {turn}"));
            thread.execute(row, params![format!("m{turn}"), format!("turn-{turn}"), history]).unwrap();
        }
        let of = |id: &str, turn: u8| (false, id.to_owned(), format!("{id} {turn}"));
        let main = |turn: u8| (true, "main".to_owned(), format!("turn {turn}"));
        assert_eq!(places(&thread, 4, &["a"], true), [of("a", 2), of("a", 1)]);
        let all = [main(4), of("b", 4), of("a", 2), of("b", 2), main(1), of("a", 1)];
        assert_eq!(places(&thread, 4, &["main", "a", "b"], true), all);
        assert_eq!(
            places(&thread, 3, &["main", "a"], true),
            [main(3), of("a", 3), of("a", 2), main(1), of("a", 1)]
        );
        let texts = serde_json::to_string(&vec!["x"; MAX_ROUNDS + 10]).unwrap();
        thread.execute(PUT_AGENT_ROUNDS, params!["many", "turn-1", texts]).unwrap();
        assert_eq!(places(&thread, 4, &["many"], true).len(), MAX_ROUNDS + 1);
        thread.execute_batch("DROP TABLE agent_rounds").unwrap();
        assert_eq!(places(&thread, 4, &["main"], false), [main(4), main(1)]);
    }

    // Issue 20, 2: a row stays below the platform's 2 MB, whatever an agent said or heard.
    #[test]
    fn rows_are_bounded() {
        let worst = "\u{1}".repeat(engine::journal::MAX_INSTRUCTIONS_BYTES);
        let heard = "\u{1}".repeat(engine::journal::MAX_HEARD_BYTES);
        let longest = Agent { instructions: worst, heard: vec![heard], ..Agent::default() };
        let (made, state) = columns(&longest).unwrap();
        assert!(made.len() < 200_000 && state.len() < 700_000, "{} {}", made.len(), state.len());
        let whole = round_of_bytes(MAX_ROUND_BYTES - 100);
        let text = |round: Round| {
            let [text]: [String; 1] = round_texts(&[round]).unwrap().try_into().unwrap();
            text
        };
        assert_eq!(text(whole.clone()), serde_json::to_string(&whole).unwrap());
        let cut = text(round_of_bytes(3 * MAX_ROUND_BYTES));
        assert!(
            cut.len() <= MAX_ROUND_BYTES
                && cut != serde_json::to_string(&round_of_bytes(3 * MAX_ROUND_BYTES)).unwrap()
        );
    }

    fn round_of_bytes(bytes: usize) -> Round {
        vec![Message::User { content: "x".repeat(bytes).as_str().into() }]
    }

    // Issue 42, M1: a dump of a thousand short rounds took a thousand statements.
    #[test]
    fn a_statement_writes_many_rounds_in_their_order_and_a_row_stays_a_round() {
        let thread = thread();
        let mut all: Vec<Round> = (1..=MAX_ROUNDS).map(round_of_bytes).collect();
        // A text comes back byte for byte: SQLite does not read into it.
        all.push(vec![Message::User { content: "\u{0}\"\\é 1.0e2".into() }]);
        all.push(round_of_bytes(2 * STATEMENT_BYTES));
        let statements = round_arrays(&round_texts(&all).unwrap()).unwrap();
        let bytes: usize = all.iter().map(|round| serde_json::to_string(round).unwrap().len()).sum();
        let most = bytes / STATEMENT_BYTES + 2;
        assert!((most / 2..=2 * most).contains(&statements.len()), "{} for {bytes}", statements.len());
        let (last, others) = statements.split_last().unwrap();
        assert!(others.iter().all(|statement| statement.len() <= STATEMENT_BYTES));
        assert!(last.len() > STATEMENT_BYTES, "a round that is longer has a statement of its own");
        for statement in &statements {
            thread.execute(PUT_AGENT_ROUNDS, params!["a", "turn-1", statement]).unwrap();
        }
        let mut read = thread.prepare("SELECT messages FROM agent_rounds ORDER BY row").unwrap();
        let rows = read.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
        let texts = all.iter().map(|round| serde_json::to_string(round).unwrap());
        assert!(rows.eq(texts), "a row a round");
    }

    // Issue 42, M1.
    #[test]
    fn an_agent_has_its_newest_thousand_rounds() {
        let size = |rounds, messages, bytes| Size { rounds, messages, bytes };
        let last = size(MAX_ROUNDS - 1, MAX_ROUND_MESSAGES - 2, 100);
        assert_eq!(last.with(2, 10, 110), Some(size(MAX_ROUNDS, MAX_ROUND_MESSAGES, 110)));
        assert_eq!((last.with(3, 10, 110), last.with(2, 11, 110)), (None, None));
        assert_eq!(size(MAX_ROUNDS, 0, 0).with(1, 10, 110), None);
        let longest = size(1, MAX_ROUND_MESSAGES + 1, 111);
        assert_eq!(
            Size::default().with(longest.messages, 111, 110),
            Some(longest),
            "a first round of any length"
        );
    }

    // Issue 42, M1: the end of one agent wrote all agents of the thread anew, each with all that it had heard.
    #[test]
    fn an_end_writes_the_agents_that_it_changes() {
        let with = |id: &str, speaker: &str| {
            let speakers = vec![format!("name of {speaker}")];
            Agent { interlocutors: People { speakers, ..People::default() }, ..agent(id, "x") }
        };
        let agents = vec![agent("a", "x"), with("b", "a"), with("c", "b"), agent("d", "x")];
        let rows = ending(agents, &["name of a".to_owned()]);
        let changed: Vec<_> = rows
            .iter()
            .map(|row| (row.agent.id.as_str(), row.has_ended, row.agent.interlocutors.speakers.len()))
            .collect();
        assert_eq!(changed, [("a", true, 0), ("b", false, 0)]);
    }
}
