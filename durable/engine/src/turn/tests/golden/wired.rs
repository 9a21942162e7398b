//! Issue 43: a turn whose models are called over a wire of their own.

use std::rc::Rc;

use super::*;
use crate::journal::{LEAST_READER, Setting, Summaries, least_reader};
use crate::profiles::{Chain, PricedModel, Role};
use wire::model::{Capabilities, ModelErrorKind};

/// A model with a wire, and with all abilities that older journals lack.
fn wired(model: &str) -> PricedModel {
    let capabilities =
        Capabilities { adaptive_thinking: Some(true), pdf: Some(false), ..Capabilities::default() };
    let mut offer = offer(model, capabilities);
    Rc::make_mut(&mut offer.choice).wire = Some("responses".to_owned());
    offer
}

/// The second model of the chain answers, and one with a wire carries out a subtask.
pub fn case() -> Case {
    let failures = vec![(0, ModelErrorKind::Overloaded)];
    let calls = Reply::Calls(vec![subtask("a")]);
    let mut case = Case::new(script(&[
        ("go", vec![calls, Reply::After(failures, "Hello there.")]),
        ("a", vec![Reply::Text("Pears.")]),
    ]));
    case.then = vec![wired("m2")];
    case.subtask_chain = Some(Chain::of(wired("small")));
    case
}

// Code that does not know the wire would call the model over another one, which may refuse its tools.
#[test]
fn older_code_does_not_go_on_with_a_turn_whose_models_have_a_wire() {
    let (plain, wired) = (Chain::of(offer("m1", Capabilities::default())), Chain::of(wired("m2")));
    let setting = Setting::default();
    assert_eq!(least_reader(&setting, &plain, None), LEAST_READER);
    assert_eq!(least_reader(&setting, &plain, Some(&plain)), LEAST_READER);
    assert_eq!(least_reader(&setting, &wired, None), 6);
    assert_eq!(least_reader(&setting, &plain, Some(&wired)), 6);
    let second = Chain { then: vec![wired.first.clone()], ..plain.clone() };
    assert_eq!(least_reader(&setting, &second, None), 6);
    let routed = Setting { routed: [(Role::Secondary, wired.clone())].into(), ..Setting::default() };
    let reviewed = Setting { reviewers: Some(wired.clone()), ..Setting::default() };
    let summaries = Some(Summaries { models: Some(wired.clone()) });
    let guards = Some(crate::journal::Guards { hooks: 1, models: Some(wired) });
    for setting in [
        routed,
        reviewed,
        Setting { summaries, ..Setting::default() },
        Setting { guards, ..Setting::default() },
    ] {
        assert_eq!(least_reader(&setting, &plain, None), 6);
    }
}

// An open turn goes on with the models as it froze them, whatever the deployment configures meanwhile.
#[test]
fn an_open_turn_goes_on_over_its_own_wire() {
    let mut lost = case();
    lost.run_with(Some(Kill::AfterCommits(1)), |_, _| {});
    let asked = |case: &Case, model: &str| {
        let requests = case.model.requests.borrow();
        let of_model = requests.iter().filter(|request| request.model.model == model);
        of_model.map(|request| request.model.wire.clone()).collect::<Vec<_>>()
    };
    assert_eq!(asked(&lost, "small"), []);
    lost.subtask_chain = Some(Chain::of(offer("small", Capabilities::default())));
    lost.resume(None);
    assert_eq!(asked(&lost, "small"), [Some("responses".to_owned())]);
    assert_eq!(lost.end().message.content, "Hello there.");
}
