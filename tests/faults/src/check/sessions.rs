//! The sessions of workflows that turns left.

use crate::client::Ended;
use crate::d1::Database;
use crate::ledger::Ledger;
use crate::script::{Shape, steps};

/// Checks that no session skipped a step or ended one twice, that none runs without a turn, and that the one of a thread
/// whose newest turn ended well is complete: such a turn has ended the last step.
pub(super) fn led(database: &Database, turns: &[Ended], ledger: &Ledger) -> Result<(), String> {
    let tables = database.rows("SELECT 1 AS one FROM sqlite_master WHERE name = 'workflow_sessions'", &[])?;
    if tables.is_empty() {
        return Ok(());
    }
    let newest = database.rows("SELECT turn_id FROM turns ORDER BY seq_first DESC LIMIT 1", &[])?;
    let newest = newest.first().and_then(|row| turns.iter().find(|turn| row["turn_id"] == turn.turn_id));
    let ended_well = newest.is_some_and(|turn| turn.shape == Shape::Steps && turn.finish_reason == "stop");
    let query = "SELECT id, status, step,
        (SELECT group_concat(step) FROM (SELECT step FROM workflow_steps WHERE session_id = s.id ORDER BY step)) AS ended,
        (SELECT group_concat(notes ->> '$.notes', '|') FROM
          (SELECT notes FROM workflow_steps WHERE session_id = s.id ORDER BY step)) AS notes
        FROM workflow_sessions s WHERE workflow_id = ?1";
    for session in database.rows(query, &[steps::WORKFLOW])? {
        let step = session["step"].as_u64().unwrap_or_default();
        let numbers: Vec<String> = (0..step).map(|number| number.to_string()).collect();
        let notes: Vec<String> = (1..=step).map(steps::notes).collect();
        let told = |member: &str| session[member].as_str().unwrap_or_default().to_owned();
        let is_whole = told("ended") == numbers.join(",") && told("notes") == notes.join("|");
        let status = told("status");
        let is_over = status == "complete";
        if ended_well && !is_over {
            ledger.violation(format!("the newest turn ended well, and its session did not: {session}"));
        }
        if !is_whole || is_over != (step == steps::COUNT) || status == "running" || status == "failed" {
            ledger.violation(format!("a session was not led step by step: {session}"));
        }
    }
    Ok(())
}
