//! The router and the swarm, which a request asks for: the service makes the first calls, and the same loop
//! follows.

use serde_json::json;

use crate::journal::{CallRecord, TurnStop};
use crate::plan::router::RouteDecision;
use crate::profiles::{Chain, Role};
use crate::testing::*;
use wire::model::{Capabilities, Message, ModelErrorKind, ToolChoice};
use wire::protocol::{BrowserContext, Event, FinishReason, ModeProfile};

fn asked(mode: ModeProfile, levels: &[(&str, Vec<Reply>)]) -> Case {
    let mut case = Case::new(script(levels)).limits(|limits| limits.parallel = 1);
    case.setting.mode = Some(mode);
    case.setting.simple_iterations = 5;
    case
}

fn auto(levels: &[(&str, Vec<Reply>)]) -> Case {
    asked(ModeProfile::AutoRoute, levels).run()
}

fn swarm(levels: &[(&str, Vec<Reply>)]) -> Case {
    asked(ModeProfile::Swarm, levels)
}

fn routed(complexity: &str) -> Reply {
    let decision = json!({"role": "secondary", "complexity": complexity, "reason": "it is so"});
    Reply::Calls(vec![("finish_subtask", decision)])
}

fn flow(case: &Case) -> Vec<String> {
    case.lines().into_iter().filter(|line| line.starts_with("swarm")).collect()
}

// S-005 S-017 S-018 S-019 S-020 S-022 S-023 S-025 S-026 S-027 S-028 S-029 S-030 S-032 S-034 S-058 S-061
#[test]
fn a_swarm_plans_carries_out_and_synthesizes() {
    let mut case = swarm(&[
        ("plan go", vec![planned(&[("a", &[]), ("b", &[])])]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Text("b done")]),
        ("go", vec![Reply::Text("Nothing."), Reply::Text("Both are done.")]),
    ]);
    case.setting.browser = Some(BrowserContext {
        active_tab_url: Some("https://example.com/x".to_owned()),
        active_tab_title: Some("A page".to_owned()),
        tab_count: Some(7),
    });
    let case = case.run();
    assert_eq!(
        flow(&case),
        [
            "swarm plan Step a, Step b",
            "swarm step 0 start Step a",
            "swarm tool 0 echo echo {}",
            "swarm step 0 a done",
            "swarm step 1 start Step b",
            "swarm step 1 b done",
            "swarm complete Both are done.",
        ]
    );
    assert!(!case.lines().iter().any(|line| line.starts_with("plan ") || line.starts_with("executor")));
    let requests = case.model.requests.borrow();
    let text = |at: usize| match &*requests[at].messages[0] {
        Message::User { content } => content.text().into_owned(),
        _ => String::new(),
    };
    assert!(text(0).contains("echo: ") && text(0).contains("https://example.com/x") && text(0).contains("7"));
    // Steps run one after the other, and each gets the results of all earlier steps.
    assert!(text(3).starts_with("b\n") && text(3).contains("a done"), "{}", text(3));
    assert!(requests[3].tools.iter().any(|tool| tool.name == "echo"));
    assert_eq!(requests.len(), 5, "one plan, three calls of steps, one synthesis");
    let last = requests.last().unwrap();
    assert_eq!(last.tool_choice, ToolChoice::None);
    let Some(Message::Tool { content, .. }) = last.messages.last().map(|message| &**message) else {
        panic!()
    };
    assert!(content.contains("a done") && content.contains("b done"));
    assert!(requests.iter().all(|request| request.model == requests[0].model));
}

// S-031: where the planner fails, the plan has the task as its one step.
#[test]
fn a_swarm_without_a_plan_does_the_task() {
    let case = swarm(&[
        ("plan go", vec![Reply::Fail("", ModelErrorKind::Auth)]),
        ("go", vec![Reply::Text("It is done.")]),
    ])
    .run();
    assert_eq!(flow(&case)[0], "swarm plan go");
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
}

// S-048: three failures stop a swarm, and the root synthesizes the results so far.
#[test]
fn three_failures_stop_a_swarm() {
    let fails = || vec![Reply::Fail("", ModelErrorKind::Auth)];
    let case = swarm(&[
        ("plan go", vec![planned(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])])]),
        ("a", fails()),
        ("b", fails()),
        ("c", fails()),
        ("go", vec![Reply::Text("Nothing."), Reply::Text("It failed.")]),
    ])
    .run();
    let flow = flow(&case);
    assert!(!flow.iter().any(|line| line.starts_with("swarm step 3")), "{flow:?}");
    assert_eq!(flow.last().unwrap(), "swarm complete It failed.");
}

// S-006 S-008: the role that the router names picks the models of the root only.
#[test]
fn a_routed_turn_asks_the_models_of_its_role() {
    let levels = [
        ("go", vec![routed("simple"), Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
        ("a", vec![Reply::Text("a done")]),
    ];
    let asked_of = |chains: &[(Role, &str)]| {
        let mut case = asked(ModeProfile::AutoRoute, &levels);
        let chain = |(role, model): &(Role, &str)| (*role, Chain::of(offer(model, Capabilities::default())));
        case.setting.routed = chains.iter().map(chain).collect();
        let case = case.run();
        let models: Vec<String> =
            case.model.requests.borrow().iter().map(|request| request.model.model.clone()).collect();
        let rows: Vec<(String, String)> = case
            .end()
            .calls
            .iter()
            .filter_map(|row| match row {
                CallRecord::Model { model, profile, .. } => Some((model.clone(), profile.clone())),
                _ => None,
            })
            .collect();
        (models, rows)
    };
    let (models, rows) = asked_of(&[(Role::Secondary, "cheap"), (Role::Subagent, "small")]);
    assert_eq!(models, ["m1", "cheap", "m1", "cheap"], "the router, the root, its subtask, the root");
    let of_root: Vec<_> = rows.iter().filter(|(model, _)| model == "cheap").collect();
    assert!(of_root.iter().all(|(_, profile)| profile == "secondary") && of_root.len() == 2, "{rows:?}");
    // A router call by a model is refused and picks no models; a kill changes neither.
    let calls_it = [(
        "go",
        vec![routed("simple"), Reply::Calls(vec![("route_request", json!({}))]), Reply::Text("Done.")],
    )];
    let new = || {
        let mut case = asked(ModeProfile::AutoRoute, &calls_it);
        let cheap = Chain::of(offer("cheap", Capabilities::default()));
        case.setting.routed = [(Role::Secondary, cheap)].into();
        case
    };
    let whole = new().run();
    for commits in 1..whole.disk.commits.get() {
        let mut case = new();
        case.run_with(Some(Kill::AfterCommits(commits)), |_, _| {});
        case.resume(None);
        let requests = case.model.requests.borrow();
        assert_eq!(requests.last().unwrap().model.model, "cheap", "killed after commit {commits}");
        let by_model = case.end().message.usage.unwrap().by_model;
        assert!(by_model.contains_key("cheap"), "{by_model:?}");
    }
    // The turn's own models answer where the deployment has no models for the role, and where the request
    // names a model.
    let (models, _) = asked_of(&[]);
    assert!(models.iter().all(|model| model == "m1"));
}

// S-003 S-004 S-006 S-007 S-008 S-010 S-011 S-016 S-045
#[test]
fn a_simple_request_goes_through_the_short_loop() {
    let endless = Reply::TextAndCalls("Still at it. ", vec![("echo", json!({}))]);
    let case = auto(&[("go", vec![routed("simple"), endless])]);
    assert_eq!(case.tools.ran.borrow().len(), 5, "five tool calls, then it stops");
    assert_eq!(case.model.requests.borrow().len(), 6, "one call routes, five work");
    let end = case.end();
    assert_eq!((end.message.finish_reason, end.message.stop), (Some(FinishReason::Stop), None));
    let router = &case.model.requests.borrow()[0];
    assert!(
        router.system.contains("single action or a direct answer")
            && router.system.contains("several actions")
    );
    let tree = end.message.execution_tree.unwrap();
    let told = tree.nodes[0].result_preview.clone().unwrap();
    let decision: RouteDecision = serde_json::from_str(&told).unwrap();
    assert_eq!(decision.reason, "it is so", "why it went this way is kept");
}

// S-009
#[test]
fn a_failed_router_means_a_simple_request() {
    for reply in [Reply::Text("complex!"), Reply::Fail("", ModelErrorKind::Auth), routed("hard")] {
        let case = auto(&[("go", vec![reply, Reply::Text("Four.")])]);
        assert_eq!(case.model.requests.borrow().len(), 2, "one call routes, whatever comes of it");
        assert!(case.end().message.content.ends_with("Four."));
    }
}

// S-005 S-044
#[test]
fn a_complex_request_becomes_a_swarm() {
    let case = auto(&[
        ("go", vec![routed("complex"), Reply::Text("Never."), Reply::Text("Done.")]),
        ("plan go", vec![planned(&[("a", &[])])]),
        ("a", vec![Reply::Text("a done")]),
    ]);
    assert_eq!(flow(&case).last().unwrap(), "swarm complete Done.");
}

// A swarm describes its tools in words to a model that cannot call.
#[test]
fn a_model_that_cannot_call_carries_out_a_swarm() {
    let mut case = swarm(&[
        ("plan go", vec![planned(&[("a", &[])])]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("go", vec![Reply::Text("Nothing."), Reply::Text("Done.")]),
    ]);
    case.capabilities.tools = false;
    let case = case.run();
    assert_eq!(flow(&case).last().unwrap(), "swarm complete Done.");
    assert_eq!(case.tools.ran.borrow().len(), 1);
    let mut plain = Case::new(script(&[("go", vec![Reply::Text("Hello.")])]));
    plain.capabilities.tools = false;
    let plain = plain.run();
    assert!(plain.model.requests.borrow()[0].tools.is_empty(), "elsewhere it has none");
}

// A blank message asks no model, in any mode.
#[test]
fn a_blank_message_starts_no_mode() {
    let mut case = swarm(&[("go", vec![Reply::Text("Never.")])]);
    case.content = " ".to_owned();
    let case = case.run();
    assert_eq!((case.model.requests.borrow().len(), flow(&case).len()), (0, 0));
}

// S-024 S-043 S-053 S-054 S-055 S-056 S-057: the swarm is cancelled at each of its moments; no step stays
// open.
#[test]
fn a_swarm_is_cancelled_at_each_await() {
    let new = || {
        swarm(&[
            ("plan go", vec![planned(&[("a", &[]), ("b", &[])])]),
            (
                "a",
                vec![Reply::Calls(vec![("echo", json!({})), ("locked", json!({}))]), Reply::Text("a done")],
            ),
            ("b", vec![Reply::Text("b done")]),
            ("go", vec![Reply::Text("Nothing."), Reply::Text("Both are done.")]),
        ])
    };
    let mut steps = 0;
    let mut whole = new();
    whole.run_with(None, |_, step| steps = step);
    assert!(steps > 10);
    for at in 0..=steps {
        let mut case = new();
        case.run_with(None, |turn, step| {
            if step == at {
                turn.stop(TurnStop::Cancelled).unwrap();
            }
        });
        case.check();
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled), "{at}");
        let count = |is: fn(&Event) -> bool| case.events().iter().filter(|event| is(event)).count();
        assert_eq!(
            count(|event| matches!(event, Event::SwarmStepStarted { .. })),
            count(|event| matches!(event, Event::SwarmStepCompleted { .. })),
            "{at}"
        );
    }
}

// A swarm whose run is lost goes on where it was.
#[test]
fn a_lost_swarm_is_resumed() {
    let new = || {
        swarm(&[
            ("plan go", vec![planned(&[("a", &[]), ("b", &[])])]),
            ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
            ("b", vec![Reply::Text("b done")]),
            ("go", vec![Reply::Text("Nothing."), Reply::Text("Both are done.")]),
        ])
    };
    let whole = new().run();
    for commits in 1..whole.disk.commits.get() {
        let mut case = new();
        case.run_with(Some(Kill::AfterCommits(commits)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().message.content, whole.end().message.content, "after commit {commits}");
        assert_eq!(flow(&case), flow(&whole), "after commit {commits}");
    }
}
