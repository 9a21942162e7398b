//! The operator's choice of how many records a thread keeps.

/// The records of a thread, by default and at most. One page of R2 lists twice as many, so that each record too many is
/// found.
const TURNS: u32 = 50;
const MAX_TURNS: u32 = 500;

/// Reads `RECORD_TURNS`: of how many turns a thread keeps the record. With 0 no turn gets one.
pub fn kept(var: impl Fn(&str) -> Option<String>) -> Result<u32, String> {
    let Some(text) = var("RECORD_TURNS").filter(|text| !text.trim().is_empty()) else { return Ok(TURNS) };
    let turns = text.trim().parse().ok().filter(|turns| *turns <= MAX_TURNS);
    turns.ok_or_else(|| format!("the variable RECORD_TURNS must be a number from 0 to {MAX_TURNS}"))
}
