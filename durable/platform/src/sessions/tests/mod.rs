mod kept;
mod rules;

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::advance::{Advanced, Ending, MAX_REFUSED, Refusal, SessionRow, StepRow, advance, changed};
use super::notice::{GOAL_CHARS, notice};
use super::prompt::prompt;
use super::tokens::{Nonce, Tokens};
use super::way::{Way, way};
use engine::journal::{SessionChange, StepEnd};
use wire::protocol::{
    ChatRequest, SessionContext, SessionMode, SessionStatus, StepNotes, WorkflowDefinition,
};

const NOW: u64 = 1_763_000_000_000;
const NOTES: &str = "The question was narrowed to one sentence and three parts.";

fn tokens() -> Tokens {
    Tokens::from_env(|name| (name == "WORKFLOW_SECRET").then(|| "s".repeat(32)), [0; 32]).unwrap()
}

fn nonce(n: u8) -> Nonce {
    Nonce([n; 16])
}

fn definition(steps: usize) -> WorkflowDefinition {
    let step =
        |at| json!({ "id": format!("s{at}"), "title": format!("Step {at}"), "instructions": "Do it." });
    let steps: Vec<_> = (0..steps).map(step).collect();
    WorkflowDefinition::parse(json!({ "name": "A procedure", "steps": steps }).to_string().as_bytes())
        .unwrap()
}

pub fn row(steps: usize, mode: SessionMode) -> SessionRow {
    SessionRow {
        id: Uuid::from_u128(7),
        workflow_id: "procedure".to_owned(),
        version: 1,
        mode,
        definition: definition(steps),
        goal: "Find out".to_owned(),
        status: SessionStatus::Waiting,
        reason: None,
        revision: 0,
        step: 0,
        context: SessionContext::new(),
        nonce: nonce(1),
        key_id: tokens().key_id().to_owned(),
        refused: 0,
        created_at: NOW,
        updated_at: NOW,
    }
}

fn external() -> SessionRow {
    row(3, SessionMode::External)
}

fn end_of(step: u32, notes: &str) -> StepEnd {
    let notes = StepNotes { step_id: format!("s{step}"), notes: notes.to_owned(), artifacts: Vec::new() };
    StepEnd { notes, context_updates: SessionContext::new() }
}

fn token(row: &SessionRow) -> String {
    tokens().make(row.claim(), &row.key_id)
}

fn advance_with(
    row: &SessionRow,
    done: &[StepRow],
    token: &str,
    ended: &StepEnd,
) -> Result<Advanced, Refusal> {
    advance(row, done, &tokens(), &Ending { token, ended, fresh: nonce(row.step as u8 + 2), now: NOW + 1 })
}

fn on(row: &SessionRow, done: &mut Vec<StepRow>) -> SessionRow {
    match advance_with(row, done, &token(row), &end_of(row.step, NOTES)).unwrap() {
        Advanced::On(next, step) => {
            done.push(step);
            *next
        }
        Advanced::Again(_) => panic!("a new step"),
    }
}

// W-006 W-013 W-022 W-067 W-076 W-079 W-089: a session goes from step to step by the token of each, and is complete after
// the last.
#[test]
fn each_step_has_a_token_of_its_own() {
    let (mut session, mut done, mut seen) = (external(), Vec::new(), Vec::new());
    for step in 0..3 {
        assert_eq!((session.step, session.status), (step, SessionStatus::Waiting));
        assert!(prompt(&session).unwrap().starts_with(&format!("Step {} of 3: Step {step}", step + 1)));
        seen.push(token(&session));
        session = on(&session, &mut done);
        assert_eq!(session.revision, u64::from(step) + 1);
    }
    assert_eq!((session.status, session.step, session.current()), (SessionStatus::Complete, 3, None));
    assert_eq!((prompt(&session), done.len()), (None, 3));
    seen.push(token(&session));
    seen.dedup();
    assert_eq!(seen.len(), 4);
    // No token goes beyond the end.
    assert_eq!(advance_with(&session, &done, &token(&session), &end_of(3, NOTES)), Err(Refusal::Refused));
}

// W-086: a token of another session or of another step is refused.
#[test]
fn a_token_is_bound_to_its_session_and_step() {
    let (first, ended) = (external(), end_of(0, NOTES));
    let other = SessionRow { id: Uuid::from_u128(8), ..first.clone() };
    assert_eq!(advance_with(&first, &[], &token(&other), &ended), Err(Refusal::Refused));
    let ahead = SessionRow { step: 1, ..first.clone() };
    assert_eq!(advance_with(&first, &[], &token(&ahead), &ended), Err(Refusal::Refused), "nobody got it");
    let before = token(&first);
    let mut done = Vec::new();
    let second = on(&first, &mut done);
    assert_eq!(
        advance_with(&second, &done, &before, &end_of(1, NOTES.to_uppercase().as_str())),
        Err(Refusal::Spent)
    );
    assert_eq!(
        advance_with(&second, &[], &before, &ended),
        Err(Refusal::Refused),
        "and never without its row"
    );
    // The notes of another step do not end this one.
    assert_eq!(advance_with(&second, &done, &token(&second), &end_of(0, NOTES)), Err(Refusal::Refused));
}

// W-092 W-093: the same request again gets the same answer, also after later steps; of two at once one wins.
#[test]
fn the_same_request_again_changes_nothing() {
    let (first, mut done) = (external(), Vec::new());
    let spent = token(&first);
    let second = on(&first, &mut done);
    assert_eq!(advance_with(&second, &done, &spent, &end_of(0, NOTES)), Ok(Advanced::Again(0)));
    let third = on(&second, &mut done);
    assert_eq!(advance_with(&third, &done, &spent, &end_of(0, NOTES)), Ok(Advanced::Again(0)));
    let other = end_of(0, &format!("{NOTES} Otherwise."));
    assert_eq!(advance_with(&third, &done, &spent, &other), Err(Refusal::Spent), "another request");
    let mut artifacts = end_of(0, NOTES);
    artifacts.notes.artifacts.push("a.md".to_owned());
    assert_eq!(advance_with(&third, &done, &spent, &artifacts), Err(Refusal::Spent));
}

// W-071 W-074 W-077: short notes spend no token.
#[test]
fn wrong_notes_leave_the_token_valid() {
    let session = external();
    let ended = |chars: usize| end_of(0, &format!(" {} ", "é".repeat(chars)));
    let with = |ended: &StepEnd| advance_with(&session, &[], &token(&session), ended);
    assert!(
        matches!(with(&ended(49)), Err(Refusal::Wrong(error)) if error.field.as_deref() == Some("notesMarkdown"))
    );
    assert!(matches!(with(&ended(50)), Ok(Advanced::On(..))));
    assert!(matches!(with(&end_of(0, &"x".repeat(20_000))), Ok(Advanced::On(..))));
    assert!(matches!(with(&end_of(0, &"x".repeat(20_001))), Err(Refusal::Wrong(_))));
    let values = |bytes: usize| {
        let mut ended = end_of(0, NOTES);
        ended.context_updates.insert("k".to_owned(), "x".repeat(bytes - 8).into());
        ended
    };
    let full = match with(&values(64 << 10)) {
        Ok(Advanced::On(next, _)) => *next,
        other => panic!("{other:?}"),
    };
    assert!(matches!(with(&values((64 << 10) + 1)), Err(Refusal::Wrong(_))));
    // The limit is that of all values together.
    let mut more = end_of(1, NOTES);
    more.context_updates.insert("l".to_owned(), 1.into());
    let wrong = advance_with(&full, &[], &token(&full), &more);
    assert!(matches!(wrong, Err(Refusal::Wrong(error)) if error.field.as_deref() == Some("contextUpdates")));
    more.context_updates.insert("k".to_owned(), 1.into());
    assert!(advance_with(&full, &[], &token(&full), &more).is_ok(), "a value gives way to one of its name");
}

// W-095: three refused tokens in a row end a session, and one that is right forgets those before it.
#[test]
fn three_refused_tokens_in_a_row_fail_a_session() {
    let mut session = external();
    for refused in 1..MAX_REFUSED {
        session = session.after_refusal(NOW);
        assert_eq!((session.refused, session.status), (refused, SessionStatus::Waiting));
    }
    assert_eq!(on(&session, &mut Vec::new()).refused, 0);
    let failed = session.after_refusal(NOW + 5);
    assert_eq!((failed.status, failed.reason.as_deref()), (SessionStatus::Failed, Some("token_refused")));
    assert_eq!(advance_with(&failed, &[], &token(&failed), &end_of(0, NOTES)), Err(Refusal::Over));
    assert_eq!(failed.after_refusal(NOW).status, SessionStatus::Failed);
}

// W-088: a session goes on over a rotation of secrets, and its repeated answers stay the same.
#[test]
fn a_session_outlives_a_rotation() {
    let of = |secrets: &str| {
        let secrets = secrets.to_owned();
        Tokens::from_env(move |name| (name == "WORKFLOW_SECRET").then(|| secrets.clone()), [0; 32]).unwrap()
    };
    let [old, new] = ["o", "n"].map(|letter| letter.repeat(32));
    let (before, during, after) = (of(&old), of(&format!("{new},{old}")), of(&new));
    let session = SessionRow { key_id: before.key_id().to_owned(), ..external() };
    let token = before.make(session.claim(), &session.key_id);
    assert_eq!(during.make(session.claim(), &session.key_id), token, "handed out again it is the same");
    let ended = end_of(0, NOTES);
    let ending = Ending { token: &token, ended: &ended, fresh: nonce(9), now: NOW };
    let Ok(Advanced::On(next, _)) = advance(&session, &[], &during, &ending) else { panic!("it goes on") };
    assert_eq!(next.key_id, new_id(&after), "the next token is of the new key");
    assert_eq!(
        advance(&session, &[], &after, &ending),
        Err(Refusal::Refused),
        "until the old one is taken out"
    );
}

fn new_id(tokens: &Tokens) -> String {
    tokens.key_id().to_owned()
}

#[test]
fn keys_come_of_two_secrets_or_of_none() {
    let of = |vars: &[(&str, &str)]| {
        let vars: Vec<(String, String)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let var = move |name: &str| vars.iter().find(|(var, _)| var == name).map(|(_, value)| value.clone());
        Tokens::from_env(var, [7; 32])
    };
    let long = "s".repeat(32);
    let own = of(&[("WORKFLOW_SECRET", &long)]).unwrap();
    let derived = of(&[("SESSION_SECRET", &long)]).unwrap();
    let both = of(&[("WORKFLOW_SECRET", &long), ("SESSION_SECRET", &"t".repeat(32))]).unwrap();
    let none = of(&[]).unwrap();
    assert!(own.are_lasting() && derived.are_lasting() && !none.are_lasting());
    assert!(
        own.key_id() == both.key_id() && own.key_id() != derived.key_id() && none.key_id() != own.key_id()
    );
    assert!(
        of(&[("WORKFLOW_SECRET", "short"), ("SESSION_SECRET", &long)]).is_err(),
        "a mistake falls back to nothing"
    );
    assert!(!of(&[("SESSION_SECRET", "short")]).unwrap().are_lasting());
    assert!(of(&[("WORKFLOW_SECRET", " "), ("SESSION_SECRET", &long)]).unwrap().are_lasting());
}

proptest! {
    // W-005 W-068: a token with one bit or one character changed is refused, whichever it is.
    #[test]
    fn a_changed_token_advances_nothing(at in any::<prop::sample::Index>(), bit in 0_u32..7, letter in "[A-Za-z0-9._-]") {
        let session = external();
        let (token, ended) = (token(&session), end_of(0, NOTES));
        prop_assert!(token.starts_with("ct1.") && token.len() < 130);
        let at = at.index(token.len());
        let mut bytes = token.clone().into_bytes();
        bytes[at] ^= 1 << bit;
        let mut letters = token.clone();
        letters.replace_range(at..=at, &letter);
        for changed in [String::from_utf8(bytes).unwrap_or_default(), letters] {
            if changed != token {
                prop_assert_eq!(advance_with(&session, &[], &changed, &ended), Err(Refusal::Refused), "{}", changed);
            }
        }
    }
}

fn change(revision: u64, status: SessionStatus, ended: Option<StepEnd>) -> SessionChange {
    SessionChange { revision, status, reason: None, ended }
}

fn change_of(
    row: &SessionRow,
    change: &SessionChange,
) -> Result<Option<(SessionRow, Option<StepRow>)>, Refusal> {
    changed(row, &[], &tokens(), (change, nonce(50 + change.revision as u8), NOW + 9))
}

// W-013 W-067: a turn of the service goes on by the same function, with a token that is made where it is checked.
#[test]
fn a_turn_goes_on_by_a_token_as_well() {
    let session = row(2, SessionMode::Service);
    let running = change(1, SessionStatus::Running, None);
    let (session, ended) = change_of(&session, &running).unwrap().unwrap();
    assert_eq!((session.status, session.revision, session.step, ended), (SessionStatus::Running, 1, 0, None));
    let first = change(2, SessionStatus::Running, Some(end_of(0, NOTES)));
    let (second, ended) = change_of(&session, &first).unwrap().unwrap();
    assert_eq!((second.step, second.status, second.revision), (1, SessionStatus::Running, 2));
    assert_eq!(ended.unwrap().notes.step_id, "s0");
    assert_eq!(change_of(&second, &first), Ok(None), "a replay changes nothing");
    let last = change(3, SessionStatus::Complete, Some(end_of(1, NOTES)));
    let (complete, _) = change_of(&second, &last).unwrap().unwrap();
    assert_eq!((complete.step, complete.status), (2, SessionStatus::Complete));
    let beyond = change(4, SessionStatus::Complete, Some(end_of(2, NOTES)));
    assert_eq!(change_of(&complete, &beyond), Err(Refusal::Refused));
    let short = change(3, SessionStatus::Complete, Some(end_of(1, "done")));
    assert!(matches!(change_of(&second, &short), Err(Refusal::Wrong(_))));
    let skipped = change(3, SessionStatus::Complete, Some(end_of(0, NOTES)));
    assert_eq!(change_of(&second, &skipped), Err(Refusal::Refused), "the notes of another step");
}

// W-091: a step that is sent back has another token, and the one before is spent.
#[test]
fn a_retry_has_another_token() {
    let session = row(2, SessionMode::Service);
    let before = token(&session);
    let retry = SessionChange { reason: Some("retry".to_owned()), ..change(1, SessionStatus::Running, None) };
    let (session, _) = change_of(&session, &retry).unwrap().unwrap();
    assert_eq!(session.reason.as_deref(), Some("retry"));
    assert_eq!(advance_with(&session, &[], &before, &end_of(0, NOTES)), Err(Refusal::Spent));
    assert!(matches!(advance_with(&session, &[], &token(&session), &end_of(0, NOTES)), Ok(Advanced::On(..))));
}

// Long: a table of requests.
// N-019: the session is judged before everything else.
#[test]
fn a_session_decides_the_way_of_a_request() {
    let said = |content: &str, members: &str| {
        let body = format!(r#"{{"content": "{content}"{members}}}"#);
        ChatRequest::parse(body.as_bytes()).unwrap()
    };
    let target = r#", "workflow_target": "workflow", "workflow_id": "procedure""#;
    let other = r#", "workflow_target": "workflow", "workflow_id": "other""#;
    let replaces = r#", "replaces_message_id": "0c0ffee0-0000-4000-8000-000000000001""#;
    let editor = format!(r#"{target}, "chat_context": {{"kind": "editor"}}"#);
    let (service, external) = (row(2, SessionMode::Service), external());
    let table = [
        ("", None, Ok(Way::Plain)),
        (target, None, Ok(Way::Start)),
        (&editor, None, Ok(Way::Start)),
        (replaces, None, Ok(Way::Plain)),
        (r#", "agent": "critic""#, None, Ok(Way::Plain)),
        (r#", "mode_profile": "swarm""#, None, Ok(Way::Plain)),
        ("", Some(&service), Ok(Way::GoOn)),
        (target, Some(&service), Ok(Way::GoOn)),
        (&editor, Some(&service), Ok(Way::GoOn)),
        (other, Some(&service), Err("workflow_running")),
        (replaces, Some(&service), Err("workflow_running")),
        (r#", "agent": "critic""#, Some(&service), Err("workflow_running")),
        (r#", "mode_profile": "swarm""#, Some(&service), Err("workflow_running")),
        ("", Some(&external), Ok(Way::Plain)),
        (target, Some(&external), Err("workflow_running")),
        (replaces, Some(&external), Err("workflow_running")),
    ];
    for (members, open, expected) in table {
        let judged = |content| way(&said(content, members), open).map_err(|error| error.code.as_str());
        assert_eq!(judged("Go"), expected, "{members} {:?}", open.map(|open| open.mode));
        // A blank message asks no model.
        let blank = if members == replaces { expected } else { Ok(Way::Plain) };
        assert_eq!(judged("  "), blank, "{members} {:?}", open.map(|open| open.mode));
    }
}

// W-002 W-102: one notice for each end, with the goal cut at 60 characters.
#[test]
fn the_end_of_a_session_has_one_notice() {
    let mut session = external();
    assert_eq!(notice(None, &session.clone().failed("cancelled", NOW)), None, "nobody wants to hear of it");
    session.definition.notify =
        Some(wire::protocol::WorkflowNotify { url: "https://hook.test/a".to_owned() });
    session.goal = "é".repeat(GOAL_CHARS + 1);
    assert_eq!(notice(None, &session), None, "it waits");
    let failed = session.clone().failed("token_refused", NOW + 3);
    let (url, told) = notice(Some(&session), &failed).unwrap();
    assert_eq!(url, "https://hook.test/a");
    let expected = json!({
        "event": "workflow_session_ended", "workflowId": "procedure", "sessionId": session.id.to_string(),
        "outcome": "failed", "detail": "token_refused", "goal": "é".repeat(GOAL_CHARS), "timestamp": NOW + 3,
    });
    assert_eq!(serde_json::to_value(told).unwrap(), expected);
    assert_eq!(notice(Some(&failed), &failed.clone().failed("again", NOW)), None, "once");
    for (status, told) in [
        (SessionStatus::Stuck, true),
        (SessionStatus::Complete, true),
        (SessionStatus::Running, false),
        (SessionStatus::NeedsHumanReview, false),
    ] {
        let after = SessionRow { status, ..session.clone() };
        assert_eq!(notice(Some(&session), &after).is_some(), told, "{status:?}");
    }
}

#[test]
fn a_nonce_is_read_back_and_shown_nowhere() {
    for nonce in [nonce(0), nonce(255), Nonce(std::array::from_fn(|at| at as u8))] {
        assert_eq!(Nonce::read(&nonce.text()), Some(nonce));
        assert_eq!(format!("{nonce:?}"), "Nonce");
    }
    for text in ["", "0", &"g".repeat(32), &"0".repeat(33), "+0000000000000000000000000000000"] {
        assert_eq!(Nonce::read(text), None, "{text}");
    }
}
