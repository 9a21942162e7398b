//! The rows of agents in a real database.

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
        let row =
            "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
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
    assert!(!super::super::has_table(&thread, "agents"));
}

// Issue 45, 1: a version of a turn begins with the life that the turn before it left.
#[test]
fn a_path_has_the_lives_that_its_turns_left() {
    let thread = thread();
    thread.execute_batch(CREATE_LIVES).unwrap();
    for (id, turn, life) in [("main", 1, "1"), ("a", 2, "a"), ("main", 3, "3"), ("main", 4, "4")] {
        thread.execute(PUT_LIFE, params![id, format!("turn-{turn}"), life]).unwrap();
    }
    let lives = |last: u64| {
        let mut statement = thread.prepare(&select_lives()).unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let rows = statement.query_map([path(&thread, last)], read).unwrap();
        let mut rows: Vec<_> = rows.map(Result::unwrap).collect();
        rows.sort();
        rows.into_iter().map(|(id, life)| format!("{id} {life}")).collect::<Vec<_>>()
    };
    assert_eq!(lives(1), ["main 1"]);
    assert_eq!(lives(2), ["a a", "main 1"]);
    assert_eq!(
        (lives(3), lives(4)),
        (vec!["a a".into(), "main 3".into()], vec!["a a".into(), "main 4".into()])
    );
    thread.execute_batch(CLEAR).unwrap();
    assert!(thread.prepare("SELECT 1 FROM agent_lives").is_err(), "a deletion takes them along");
}

fn places(thread: &Connection, last: u64, ids: &[&str], has_agents: bool) -> Vec<(bool, String, String)> {
    let mut statement = thread.prepare(&newest_places(has_agents)).unwrap();
    let bindings = params![path(thread, last), serde_json::to_string(ids).unwrap()];
    let read = |row: &rusqlite::Row<'_>| {
        Ok(RoundPlace { of_main: row.get::<_, i64>(0)? == 1, row: row.get(1)?, id: row.get(2)? })
    };
    let places: Vec<RoundPlace> = statement.query_map(bindings, read).unwrap().map(Result::unwrap).collect();
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
    // A long agent does not use up the places of the others.
    let texts = serde_json::to_string(&vec!["x"; MAX_ROUNDS + 10]).unwrap();
    thread.execute(PUT_AGENT_ROUNDS, params!["newest", "turn-4", texts]).unwrap();
    let beside = places(&thread, 4, &["newest", "main", "a"], true);
    let (long, others): (Vec<_>, Vec<_>) = beside.into_iter().partition(|(_, id, _)| id == "newest");
    assert_eq!((long.len(), others), (MAX_ROUNDS + 1, vec![main(4), of("a", 2), main(1), of("a", 1)]));
    thread.execute_batch("DROP TABLE agent_rounds").unwrap();
    assert_eq!(places(&thread, 4, &["main"], false), [main(4), main(1)]);
}

// a person ends a hook that `main` made, for the path and its earlier turns.
#[test]
fn a_deleted_hook_is_in_no_life_of_its_path() {
    let thread = thread();
    thread.execute_batch(CREATE_LIVES).unwrap();
    let life = |names: &[&str]| {
        let hooks = names.iter().map(|name| serde_json::json!({"name": name, "on": "action", "of": "all"}));
        serde_json::json!({ "hooks": hooks.collect::<Vec<_>>(), "workspace": "w" }).to_string()
    };
    for turn in 1..=4 {
        let names: &[&str] = if turn == 1 { &["a"] } else { &["a", "b"] };
        thread.execute(PUT_LIFE, params!["main", format!("turn-{turn}"), life(names)]).unwrap();
    }
    thread.execute(&forget_own_hook(), params![path(&thread, 4), "a"]).unwrap();
    let lives: Vec<String> = {
        let mut statement = thread.prepare("SELECT life FROM agent_lives ORDER BY row").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let names = |life: &String| {
        let life: engine::journal::AgentLife = serde_json::from_str(life).unwrap();
        assert_eq!(life.workspace, "w");
        life.hooks.into_iter().map(|hook| hook.name).collect::<Vec<_>>().join(" ")
    };
    // Turn 3 is another version of turn 4.
    assert_eq!(lives.iter().map(names).collect::<Vec<_>>(), ["", "b", "a b", "b"]);
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
