//! Issue 43: a turn whose models are called over a wire of their own.

use std::rc::Rc;

use super::*;
use crate::journal::{ESTIMATES, Guards, LEAST_READER, Summaries, TurnSpec};
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
    let wired = Chain::of(wired("m2"));
    let least_reader = |change: &dyn Fn(&mut TurnSpec)| {
        let mut spec = Case::new(script(&[])).spec();
        change(&mut spec);
        spec.with_least_reader().least_reader
    };
    assert_eq!(least_reader(&|_| {}), LEAST_READER);
    assert_eq!(least_reader(&|spec| spec.subtask_chain = Some(spec.chain.clone())), LEAST_READER);
    let of_wire: [&dyn Fn(&mut TurnSpec); 7] = [
        &|spec| spec.chain = wired.clone(),
        &|spec| spec.chain.then = vec![wired.first.clone()],
        &|spec| spec.subtask_chain = Some(wired.clone()),
        &|spec| spec.setting.routed = [(Role::Secondary, wired.clone())].into(),
        &|spec| spec.setting.reviewers = Some(wired.clone()),
        &|spec| spec.setting.summaries = Some(Summaries { models: Some(wired.clone()) }),
        &|spec| spec.setting.guards = Some(Guards { hooks: 1, models: Some(wired.clone()) }),
    ];
    for change in of_wire {
        assert_eq!(least_reader(change), 6);
    }
}

// Former code reserves less of the money than a call may cost.
#[test]
fn older_code_does_not_go_on_with_a_turn_that_has_a_limit_of_money() {
    let limited = |estimates| {
        let mut case = Case::new(script(&[]));
        (case.limits.turn_cost_microusd, case.estimates) = (Some(1), estimates);
        case.spec().least_reader
    };
    assert_eq!((limited(ESTIMATES), limited(0)), (6, LEAST_READER));
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
