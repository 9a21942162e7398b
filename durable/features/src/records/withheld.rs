//! Records that only the operator reads: hooks judged the answers of the turn, and did not let all that its models said pass.

use std::collections::BTreeSet;

use engine::journal::{Entry, Fact, ModelOutcome};
use wire::protocol::HookPoint;

/// The beginning of a reply that hooks judge, in JSON. No text within a string of JSON has these bytes.
const DRAFTED: &str = r#""outcome":{"drafted":"#;

/// Whether a journal has a text that hooks have not let pass. A journal that cannot be read may have one.
pub fn is_withheld(journal: &str) -> bool {
    if !journal.contains(DRAFTED) {
        return false;
    }
    // The levels whose newest draft has no verdict.
    let mut open = BTreeSet::new();
    for line in journal.lines() {
        // The last line is no entry.
        let Ok(Entry { at, fact, .. }) = wire::json::from_str::<Entry>(line) else { continue };
        let level = at.trim_end_matches(|digit: char| digit.is_ascii_digit()).to_owned();
        match fact {
            Fact::ModelEnded { outcome: ModelOutcome::Drafted(reply), .. } => {
                // The provider's own form of a reply has its reasoning, which nobody judges.
                if reply.raw.is_some() || !(reply.text.is_empty() || reply.tool_calls.is_empty()) {
                    return true;
                }
                if !reply.text.is_empty() {
                    open.insert(level);
                }
            }
            Fact::AnswerPassed => drop(open.remove(&level)),
            Fact::HookSaid(said) if said.point == HookPoint::Answer && said.blocks() => return true,
            Fact::Unknown(_) => return true,
            _ => {}
        }
    }
    !open.is_empty()
}
