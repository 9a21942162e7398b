//! A session as its user reads it.

use super::*;
use crate::sessions::shown::{detail, kept};

/// A session of so many steps, of which all but the last have ended.
fn session(steps: usize) -> (SessionRow, Vec<StepRow>) {
    let (mut session, mut done) = (row(steps, SessionMode::External), Vec::new());
    for _ in 1..steps {
        session = on(&session, &mut done);
    }
    (session, done)
}

fn read(session: &(SessionRow, Vec<StepRow>), from: u32) -> serde_json::Value {
    serde_json::to_value(kept(Some((&session.0, session.1.clone())), from)).unwrap()
}

// The details of a thread have the beginning of each step's notes, and the export has all of them.
#[test]
fn details_show_the_first_4000_characters_of_notes() {
    let (session, mut done) = session(3);
    done[0].notes.notes = "é".repeat(4_000);
    done[1].notes.notes = "é".repeat(4_001);
    let shown = detail(session.clone(), done.clone());
    let lengths: Vec<usize> = shown.notes.iter().map(|step| step.notes.chars().count()).collect();
    assert_eq!((lengths, shown.step, shown.steps.len()), (vec![4_000, 4_000], 2, 3));
    let whole = read(&(session, done), 0);
    assert_eq!(whole["steps"][1]["notes"].as_str().map(|notes| notes.chars().count()), Some(4_001));
}

// Issue 23: all that the thread keeps of a session, but for the parts of its tokens.
#[test]
fn a_whole_session_comes_in_parts() {
    let (mut session, mut done) = session(10);
    session.context.insert("colour".to_owned(), "red".into());
    done[0].updates.insert("colour".to_owned(), "red".into());
    done[0].notes.artifacts.push("a.md".to_owned());
    let session = (session, done);
    let first = read(&session, 0);
    let row = &session.0;
    let expected = json!({
        "session_id": row.id.to_string(), "workflow_id": "procedure", "version": 1, "definition": row.definition,
        "mode": "external", "status": "waiting", "reason": null, "goal": "Find out", "step": 9,
        "context": { "colour": "red" }, "created_at": NOW, "updated_at": NOW + 1,
    });
    assert_eq!(first["session"], expected);
    let step = json!({
        "session_id": row.id.to_string(), "step_id": "s0", "notes": NOTES, "artifacts": ["a.md"],
        "context_updates": { "colour": "red" },
    });
    assert_eq!((&first["steps"][0], &first["next"]), (&step, &json!(4)));
    let mut steps = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let part = read(&session, at);
        assert_eq!(part.get("session").is_some(), at == 0, "{at}");
        assert!(part["steps"].as_array().is_some_and(|steps| steps.len() <= 4));
        steps.extend(part["steps"].as_array().unwrap().iter().map(|step| step["step_id"].clone()));
        from = part["next"].as_u64().map(|next| next as u32);
    }
    let all: Vec<_> = (0..9).map(|at| json!(format!("s{at}"))).collect();
    assert_eq!(steps, all);
    let text = first.to_string();
    for secret in
        [row.nonce.text(), session.1[0].nonce.text(), session.1[0].digest.clone(), row.key_id.clone()]
    {
        assert!(!text.contains(&secret), "{text}");
    }
    let none = serde_json::to_value(kept(None, 0)).unwrap();
    assert_eq!(none, json!({ "steps": [], "next": null }));
}

// A page of the export has at most 2 MB beyond its limit.
#[test]
fn a_part_is_bounded() {
    let (session, mut done) = session(5);
    for step in &mut done {
        step.notes.notes = "\u{1}".repeat(wire::protocol::MAX_NOTES_CHARS);
        step.notes.artifacts =
            vec!["\u{1}".repeat(wire::protocol::MAX_ARTIFACT_CHARS); wire::protocol::MAX_ARTIFACTS];
        step.updates.insert("k".to_owned(), "x".repeat(wire::protocol::MAX_CONTEXT_BYTES - 8).into());
    }
    let part = read(&(session, done), 0).to_string();
    assert!(part.len() > 1_000_000 && part.len() < 2_000_000, "{}", part.len());
}
