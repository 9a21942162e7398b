//! The sessions of workflows that turns left.

use crate::d1::Database;
use crate::ledger::Ledger;
use crate::script::steps;

/// Checks that no session skipped a step or ended one twice, and that none runs without a turn.
pub(super) fn led(database: &Database, ledger: &Ledger) -> Result<(), String> {
    let tables = database.rows("SELECT 1 AS one FROM sqlite_master WHERE name = 'workflow_sessions'", &[])?;
    if tables.is_empty() {
        return Ok(());
    }
    let query = "SELECT id, status, step,
        (SELECT group_concat(step) FROM (SELECT step FROM workflow_steps WHERE session_id = s.id ORDER BY step)) AS ended,
        (SELECT group_concat(notes ->> '$.notes', '|') FROM
          (SELECT notes FROM workflow_steps WHERE session_id = s.id ORDER BY step)) AS notes
        FROM workflow_sessions s";
    for session in database.rows(query, &[])? {
        let step = session["step"].as_u64().unwrap_or_default();
        let numbers: Vec<String> = (0..step).map(|number| number.to_string()).collect();
        let notes: Vec<String> = (1..=step).map(steps::notes).collect();
        let told = |member: &str| session[member].as_str().unwrap_or_default().to_owned();
        let is_whole = told("ended") == numbers.join(",") && told("notes") == notes.join("|");
        let status = told("status");
        let is_over = status == "complete";
        if !is_whole || is_over != (step == steps::COUNT) || status == "running" || status == "failed" {
            ledger.violation(format!("a session was not led step by step: {session}"));
        }
    }
    Ok(())
}
