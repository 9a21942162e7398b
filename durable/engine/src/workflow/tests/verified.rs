//! Steps whose work a model judges, and a person after it.

use super::*;
use crate::journal::{Answer, Steered, TurnStop};
use crate::profiles::{Chain, Role};
use crate::workflow::prompt;
use wire::model::ModelErrorKind;
use wire::protocol::{Awaited, Decision, FinishReason};

fn verified() -> Vec<(&'static str, Value)> {
    vec![("Collect", json!({"verifier": {"threshold": "high"}})), ("Write", json!({}))]
}

fn judges(assessment: &str, instruction: &str) -> Reply {
    let verdict = json!({"assessment": assessment, "reasoning": "because", "retry_instruction": instruction});
    Reply::Calls(vec![("finish_subtask", verdict)])
}

/// A turn whose first step is judged so.
fn judged(work: Vec<Reply>, verdicts: Vec<Reply>) -> Case {
    on(
        session(&verified()),
        script(&[
            ("Collect", work),
            ("verify Collect", verdicts),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
}

fn works() -> Vec<Reply> {
    vec![Reply::Calls(vec![echo()]), Reply::Calls(vec![done("Collect")])]
}

/// Plays a turn to its end; a person gives these answers, one after the other.
fn answered(mut case: Case, answers: &[Answer]) -> Case {
    case.run_with(None, |_, _| {});
    for answer in answers {
        assert!(case.is_parked(), "{:?}", case.lines());
        let id = case.events().iter().rev().find_map(|event| match event {
            wire::protocol::Event::ApprovalRequest { approval_id, .. } => Some(approval_id.clone()),
            _ => None,
        });
        let answer = answer.clone();
        case.say(None, |turn| turn.answer(&id.unwrap(), Awaited::Approval, answer).unwrap());
    }
    case.check();
    case
}

fn review(case: &Case) -> Vec<String> {
    let is_told = |line: &String| line.starts_with("workflow") || line.contains(" review_step");
    case.lines().into_iter().filter(is_told).collect()
}

// W-040 W-044 W-045 W-048 W-084 W-103: asked once after each batch, with the step, its notes and its results; it counts.
#[test]
fn a_verifier_is_asked_after_each_batch() {
    let case = judged(works(), vec![judges("pass", "")]).run();
    assert_eq!(flow(&case), ["workflow running 0/2", "workflow running 1/2", "workflow complete 2/2"]);
    let asked: Vec<ModelRequest> = requests(&case)
        .into_iter()
        .filter(|request| request.system.starts_with("You judge the work of another model"))
        .collect();
    assert_eq!(asked.len(), 2, "once after each batch of its step, and not in the other step");
    let text = |request: &ModelRequest| match &*request.messages[0] {
        Message::User { content } => content.text().into_owned(),
        _ => String::new(),
    };
    assert!(text(&asked[0]).contains("has not said that the step is done"));
    assert!(text(&asked[1]).contains(&notes("Collect")) && text(&asked[1]).contains("Do Collect."));
    assert!(
        text(&asked[1]).contains("result of echo") && asked[1].system.contains("evidence in the results")
    );
    assert_eq!(asked[1].tools.len(), 1, "it advances nothing: it has no tool but its answer");
    let costs = case.end().message.usage.unwrap();
    assert_eq!(costs.llm_calls, 6, "four of the model, two of the verifier");
    // The model sees nothing of the call.
    assert!(requests(&case).iter().all(|request| !told(request).join(" ").contains("verify_step")));
}

// W-012 W-045: without a verifier nobody is asked, and a step without one is not judged.
#[test]
fn the_work_is_proposed_and_then_passes() {
    let case = judged(works(), vec![judges("pass", "")]).run();
    let lines = case.lines();
    let at = |line: &str| lines.iter().position(|own| own.starts_with(line)).unwrap();
    assert!(lines[at("tool 2.0 complete_step End")].contains("Proposed."), "{lines:?}");
    assert!(at("tool 3.0 verify_step End") < at("workflow running 1/2"));
    assert_eq!(left(&case).notes[0].notes, notes("Collect"));
}

// W-041 W-047 W-091: a retry is told in place of the next step; the same step may be completed again.
#[test]
fn a_retry_is_told_and_the_step_goes_on() {
    let work =
        vec![Reply::Calls(vec![done("Early")]), Reply::Calls(vec![echo()]), Reply::Calls(vec![done("Late")])];
    let case = on(
        session(&verified()),
        script(&[
            ("Collect", work),
            ("verify Collect, Early", vec![judges("retry", "Read the second report.")]),
            ("verify Collect", vec![judges("pass", "")]),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    )
    .run();
    let requests = requests(&case);
    let retried = requests.iter().find(|request| told(request).last().unwrap().contains("does not pass yet"));
    let retried = told(retried.expect("the model was told"));
    assert!(retried.last().unwrap().ends_with("Read the second report."), "{retried:?}");
    assert!(!retried.join(" ").contains("Step 2 of 2"));
    assert_eq!(flow(&case)[1], "workflow running 0/2 retry");
}

// W-042 W-047: after three retries a person decides. Allowed means pass.
#[test]
fn after_three_retries_a_person_decides() {
    let always = || judged(vec![Reply::Calls(vec![done("Collect")])], vec![judges("retry", "More.")]);
    let case = answered(always(), &[Answer::Approve]);
    assert_eq!(
        review(&case),
        [
            "workflow running 0/2",
            "workflow running 0/2 retry",
            "workflow running 0/2 retry",
            "workflow running 0/2 retry",
            "workflow needs_human_review 0/2 retries_used_up",
            "ask 8.0 review_step",
            "tool 8.0 review_step Start",
            "tool 8.0 review_step End \"A person let it pass.\"",
            "workflow running 1/2",
            "workflow complete 2/2",
        ]
    );
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
}

// W-042 W-047: denied means once more, and the retries count anew.
#[test]
fn a_denied_step_is_done_once_more() {
    let case = judged(vec![Reply::Calls(vec![done("Collect")])], vec![judges("escalate", "")]);
    let case = answered(case, &[Answer::Deny, Answer::ApproveForThread]);
    let told: Vec<String> = flow(&case);
    assert_eq!(
        told,
        [
            "workflow running 0/2",
            "workflow needs_human_review 0/2 escalated",
            "workflow running 0/2 denied",
            "workflow needs_human_review 0/2 escalated",
            "workflow running 1/2",
            "workflow complete 2/2",
        ]
    );
    let decisions: Vec<_> = case.decisions().into_iter().flatten().collect();
    assert_eq!(decisions, [Decision::Deny, Decision::ApproveForThread]);
}

// An answer for the whole thread lets one review pass: the next one asks again.
#[test]
fn a_review_asks_each_time() {
    let steps = vec![
        ("Collect", json!({"verifier": {"threshold": "low"}})),
        ("Write", json!({"verifier": {"threshold": "low"}})),
    ];
    let case = on(
        session(&steps),
        script(&[
            ("Collect", vec![Reply::Calls(vec![done("Collect")])]),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("verify Collect", vec![judges("escalate", "")]),
            ("verify Write", vec![judges("escalate", "")]),
            ("all done", vec![Reply::Text("Done.")]),
        ]),
    );
    let case = answered(case, &[Answer::ApproveForThread, Answer::Approve]);
    assert_eq!(left(&case).status, SessionStatus::Complete);
}

// W-042: no person answered in time. The session waits for a message, and no model is asked any more.
#[test]
fn an_unanswered_review_waits() {
    let mut case = judged(vec![Reply::Calls(vec![done("Collect")])], vec![judges("escalate", "")]);
    case.run_with(None, |_, _| {});
    let before = requests(&case).len();
    case.clock.pass(case.limits.approval_wait_ms + 1);
    case.say(None, |turn| turn.expire().unwrap());
    case.check();
    assert_eq!(requests(&case).len(), before);
    assert_eq!(flow(&case).last().unwrap(), "workflow waiting 0/2 unanswered");
    assert_eq!(left(&case).status, SessionStatus::Waiting);
    let lines = case.lines();
    assert_eq!(lines[lines.len() - 3], "state waiting");
}

/// A hook blocks the review of a work that the verifier has sent back too often.
fn blocked() -> Case {
    let works = |about: &str| Reply::Calls(vec![done(about)]);
    let mut case = on(
        session(&verified()),
        script(&[
            ("Collect", ["Collect", "Collect", "Collect", "Collect", "Late", "Again"].map(works).to_vec()),
            ("verify Collect, Again", vec![judges("pass", "")]),
            ("verify Collect", vec![judges("retry", "More.")]),
            ("Write", vec![Reply::Calls(vec![done("Write")])]),
            ("all done", vec![Reply::Text("Done.")]),
            (
                "judge",
                vec![Reply::Calls(vec![("finish_subtask", json!({"decision": "block", "text": "no"}))])],
            ),
        ]),
    );
    let hook = json!([{
        "name": "guard", "on": "action", "of": "main", "match": ["review_step"], "instructions": "guard",
    }]);
    case.setting.hooks = crate::hooks::from_variable(&hook.to_string()).unwrap();
    case
}

// A hook that blocks the review is no word of a person: nobody was asked.
#[test]
fn a_review_that_nobody_sees_waits() {
    let case = blocked().run();
    assert!(case.lines().iter().any(|line| line.contains("review_step End error \"blocked by hook")));
    assert_eq!(flow(&case).last().unwrap(), "workflow waiting 0/2 unanswered");
}

// An earlier version took such a review for a denial: it told the model so, and its retries began anew. A turn of that
// version goes on from there.
#[test]
fn what_an_earlier_version_told_after_such_a_review_stands() {
    let mut entries = blocked().run().disk.entries.take();
    let last = entries.iter().rposition(|entry| matches!(entry.fact, Fact::Steered(_))).unwrap();
    entries.truncate(last + 1);
    let Fact::Steered(steered) = &mut entries[last].fact else { panic!() };
    let denied = SessionChange {
        status: SessionStatus::Running,
        reason: Some("denied".to_owned()),
        ..steered.change.take().unwrap()
    };
    **steered = Steered { texts: vec![prompt::DENIED.to_owned()], change: Some(denied) };
    let mut case = blocked();
    case.disk.found(entries);
    case.resume(None);
    assert_eq!(left(&case).status, SessionStatus::Complete, "{:?}", case.lines());
    assert!(!flow(&case).iter().any(|line| line.contains("needs_human_review")), "no second review");
}

// A turn that is cancelled at a review tells its readers that the session waits.
#[test]
fn a_turn_that_is_cancelled_at_a_review_tells_that_the_session_waits() {
    let mut case = judged(vec![Reply::Calls(vec![done("Collect")])], vec![judges("escalate", "")]);
    case.run_with(None, |_, _| {});
    assert!(case.is_parked());
    case.say(None, |turn| turn.stop(TurnStop::Cancelled).unwrap());
    case.check();
    assert_eq!(flow(&case)[1..], ["workflow needs_human_review 0/2 escalated", "workflow waiting 0/2"]);
    assert_eq!(left(&case).status, SessionStatus::Waiting);
}

// W-047: a verifier that fails or answers nonsense lets nothing pass.
#[test]
fn a_failed_verifier_is_never_a_pass() {
    for verdicts in [
        vec![Reply::Fail("", ModelErrorKind::Auth)],
        vec![Reply::Text("It is good.")],
        vec![Reply::Calls(vec![("finish_subtask", json!({"assessment": "perfect"}))])],
    ] {
        let case = answered(judged(vec![Reply::Calls(vec![done("Collect")])], verdicts), &[Answer::Approve]);
        assert_eq!(flow(&case)[1], "workflow needs_human_review 0/2 verifier_failed");
        assert_eq!(left(&case).status, SessionStatus::Complete);
    }
}

// W-043 W-046: the role that the definition names judges.
#[test]
fn the_models_of_a_role_judge() {
    let mut case = judged(works(), vec![judges("pass", "")]);
    let session = case.setting.session.as_mut().unwrap();
    session.definition.steps[0].verifier.as_mut().unwrap().model = Some("speed".to_owned());
    let fast = Chain::of(offer("fast", Default::default()));
    case.setting.routed = [(Role::Speed, fast)].into();
    let case = case.run();
    let models: Vec<String> = requests(&case).iter().map(|request| request.model.model.clone()).collect();
    assert_eq!(models, ["m1", "fast", "m1", "fast", "m1", "m1"]);
}

// Issue 42, M3: where the step names no role, or one that the deployment does not have, the judge is the one that entry 0 has
// under `quality`, whichever model the request names. A turn that former code began has none there, and asks its own.
#[test]
fn no_request_chooses_who_judges() {
    let judged_by = |named: Option<&str>, routed: &[(Role, &str)]| {
        let mut case = judged(works(), vec![judges("pass", "")]);
        let session = case.setting.session.as_mut().unwrap();
        session.definition.steps[0].verifier.as_mut().unwrap().model = named.map(str::to_owned);
        let chain = |model: &str| Chain::of(offer(model, Default::default()));
        case.setting.routed = routed.iter().map(|(role, model)| (*role, chain(model))).collect();
        let case = case.run();
        requests(&case)[1].model.model.clone()
    };
    let quality = (Role::Quality, "good");
    assert_eq!(judged_by(None, &[quality]), "good");
    assert_eq!(judged_by(Some("speed"), &[quality]), "good");
    assert_eq!(judged_by(Some("speed"), &[quality, (Role::Speed, "fast")]), "fast");
    assert_eq!(judged_by(Some("primary"), &[quality, (Role::Primary, "first")]), "first");
    assert_eq!(judged_by(None, &[]), "m1");
    assert_eq!(judged_by(Some("speed"), &[]), "m1");
}
