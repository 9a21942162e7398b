//! What the agents of a discussion remember once it is over.

use std::collections::BTreeMap;
use std::path::Path;

use super::databases;
use crate::client::Ended;
use crate::ledger::Ledger;
use crate::script::{Shape, talk};

/// Compares the rounds of each agent with those that a discussion has which came to its end. The runtime must not run.
pub fn remembered(folder: &Path, turns: &[Ended], ledger: &Ledger) -> Result<(), String> {
    let mut kept: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for object in databases(folder)? {
        let tables = object.rows("SELECT 1 AS one FROM sqlite_master WHERE name = 'agent_rounds'", &[])?;
        if tables.is_empty() {
            continue;
        }
        let query = "SELECT r.turn_id AS turn_id, a.made ->> '$.name' AS name, count(*) AS rounds
            FROM agent_rounds r JOIN agents a USING (id)
            WHERE (SELECT state FROM agent_states s WHERE s.id = a.id ORDER BY row DESC LIMIT 1) IS NOT NULL
            GROUP BY 1, 2";
        for row in object.rows(query, &[])? {
            let text = |member: &str| row[member].as_str().unwrap_or_default().to_owned();
            let rounds = row["rounds"].as_u64().unwrap_or_default();
            kept.entry(text("turn_id")).or_default().insert(text("name"), rounds);
        }
    }
    for turn in turns.iter().filter(|turn| turn.shape == Shape::Talks && turn.finish_reason == "stop") {
        let expected = talk::ROUNDS.map(|(who, rounds)| (talk::name(who, &turn.number.to_string()), rounds));
        let expected: BTreeMap<String, u64> = expected.into_iter().collect();
        let found = kept.get(&turn.turn_id).cloned().unwrap_or_default();
        if found != expected {
            ledger.violation(format!("turn {} left the agents {found:?}, not {expected:?}", turn.turn_id));
        }
    }
    Ok(())
}
