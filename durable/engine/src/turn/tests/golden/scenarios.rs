//! Turns whose journals lie beside this file: each is lost in the middle of another kind of work.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::json;

use super::scenario::{Scenario, before_dumps, estimated, former, marked, more, parked, plain};
use super::whole_price;
use crate::hooks::tests::every_kind;
use crate::journal::{Answer, PastId, Summaries, Summary, TurnStop};
use crate::plan::tests::project;
use crate::profiles::{Chain, Grant, OnLimit, Role};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::toolbelt::{ToolPolicy, ToolRules};
use crate::turn::Turn;
use crate::turn::tests::summaries::{behind, gist};
use wire::model::{Capabilities, ModelErrorKind, ReplyFinish, Usage};
use wire::protocol::{
    Awaited, BrowserContext, ClientInstructions, ExecutionMode, InstructionsOf, ModeProfile, Plan,
    PlanReview, PlanStatus, PlanStep, StepStatus, TreeInstructions, Verdict,
};

/// All of them. A name is the name of a file.
pub const ALL: &[Scenario] = &[
    plain("direct", direct),
    plain("wired", super::wired::case),
    plain("empty-reply", empty_reply),
    plain("uncounted", || crate::turn::tests::uncounted::uncounted(vec![Reply::Text("Hello there.")])),
    estimated("held", crate::turn::tests::holds::golden),
    estimated("held-after", crate::turn::tests::holds::after),
    estimated("paid", crate::turn::tests::paid::golden),
    plain("direct-call", crate::turn::tests::direct::golden),
    plain("stopped-call", crate::turn::tests::direct::failing),
    plain("local-time", crate::turn::tests::local_time::golden),
    plain("blank", || {
        let mut case = Case::new(script(&[("go", vec![Reply::Text("never")])]));
        case.content = " ".to_owned();
        case
    }),
    plain("parallel-tools", parallel_tools),
    plain("nested-subtask", nested_subtask),
    plain("structured-subtask", structured_subtask),
    parked("shaped", crate::calls::tests::shaped::golden),
    plain("files", files),
    plain("plan", plan_with_review),
    plain("plan-cut-off", plan_cut_off),
    plain("plan-of-an-earlier-turn", earlier_plan),
    plain("plan-of-another-context", crate::plan::tests::elsewhere::running),
    plain("swarm", swarm),
    plain("routed", routed),
    plain("summarised", summarised),
    estimated("cut", crate::turn::tests::cuts::golden),
    plain("hooked", every_kind),
    // Former code read the template of an agent without a call of its own.
    former("agents", crate::agents::tests::rich),
    former("template-read-within", crate::agents::tests::templates::from_file),
    plain("agents-and-template", || before_dumps(crate::agents::tests::rich())),
    plain("agent-as-root", || before_dumps(crate::agents::tests::as_root())),
    plain("agent-dumped", crate::agents::tests::dumps::dumped_and_restored),
    plain("agent-dumped-hooked", crate::agents::tests::dumps::with_hook),
    plain("workflow", crate::workflow::tests::deaths::rich),
    plain("workflow-verifier", crate::workflow::tests::deaths::instructed),
    plain("workflow-repeated", crate::workflow::tests::repeated::golden),
    plain("workflow-repeated-before", crate::workflow::tests::repeated::golden_after),
    plain("agent-of-code", || before_dumps(crate::agents::tests::code::discussed())),
    plain("websearch", || before_dumps(crate::agents::tests::websearch::answered())),
    plain("guarded", crate::hooks::tests::guards::golden),
    plain("lives", crate::hooks::tests::lives::golden),
    marked("marked-answer", crate::hooks::tests::answers::golden),
    marked("marked-comment", every_kind),
    marked("marked-speakers", || before_dumps(crate::agents::tests::code::discussed())),
    plain("judged-answer", crate::hooks::tests::answers::golden),
    plain("stopped-blocked", crate::hooks::tests::answers::blocked),
    parked("parked-review", crate::workflow::tests::planned::with_all_members),
    parked("parked-approval", approval),
    parked("parked-denied", crate::turn::tests::denied::golden),
    parked("parked-client", client),
    parked("parked-foreign", foreign),
    parked("parked-client-name", client_with_a_long_name),
    parked("parked-form", crate::turn::tests::forms::golden),
    parked("parked-limit", limit),
    plain("stopped-budget", || more().limits(|limits| limits.llm_calls = 3)),
    plain("stopped-iterations", || more().limits(|limits| limits.iterations = 2)),
    plain("stopped-model", || {
        Case::new(script(&[("go", vec![Reply::Fail("Half of ", ModelErrorKind::Overloaded)])]))
    }),
    Scenario {
        during: |turn, step| {
            if step >= 4 {
                drop(turn.stop(TurnStop::Cancelled));
            }
        },
        ..plain("stopped-cancelled", || {
            let hangs = ("a", vec![Reply::Hang("so ")]);
            Case::new(script(&[("go", vec![Reply::Calls(vec![subtask("a")])]), hangs]))
        })
    },
    Scenario {
        during: |turn, step| {
            if step >= 2 {
                drop(turn.stop(TurnStop::Interrupted { detail: "its run was lost".to_owned() }));
            }
        },
        ..plain("stopped-interrupted", || Case::new(script(&[("go", vec![Reply::Hang("")])])))
    },
];

/// Answers each wait of a parked turn: allows the call, grants the budget once more, or gives the result.
pub fn answer(turn: &Turn) {
    let ids = WireIds::new("turn");
    let result = |content: &str| Answer::Result { content: content.to_owned(), is_error: false };
    for key in ["0.0", "0.1", "2.0", "0.0-0.0", "0.0-a0.0", "limit.0"] {
        turn.answer(&ids.approval(key), Awaited::Approval, Answer::ApproveForThread).unwrap();
        turn.answer(&ids.tool_call(key), Awaited::Client, result("pasted")).unwrap();
    }
    crate::turn::tests::denied::answer(turn, "Use another site.");
    turn.answer(&ids.approval("0.0~0"), Awaited::Approval, result(r#"{"who":{"name":"Ada"}}"#)).unwrap();
}

fn direct() -> Case {
    let failures = vec![(0, ModelErrorKind::RateLimited), (1, ModelErrorKind::Network)];
    let mut case = Case::new(script(&[("go", vec![Reply::After(failures, "Hello there.")])]));
    case.then = vec![offer("m2", Capabilities::default())];
    case.price = Some(whole_price());
    case.capabilities.context_tokens = Some(1_000_000);
    case.capabilities.output_tokens = Some(128_000);
    case.model.writes_cache.set(1);
    case.retrieved = Some("<long_term_memory>\nlikes tea\n</long_term_memory>".to_owned());
    case = case.limits(|limits| {
        limits.turn_tokens = Some(1_000_000);
        limits.turn_cost_microusd = Some(1_000_000);
        limits.turn_result_bytes = Some(1_000_000);
        limits.root_tool_calls = Some(8);
    });
    case
}

fn parallel_tools() -> Case {
    Case::new(script(&[(
        "go",
        vec![
            Reply::TextAndCalls(
                "First. ",
                vec![
                    ("echo", json!({"n": 1})),
                    ("fail", json!({})),
                    ("write", json!({})),
                    ("locked", json!({})),
                ],
            ),
            Reply::Calls(vec![
                ("memory_write", json!({"key": "k", "value": "v"})),
                ("echo", json!({"n": 2})),
            ]),
            Reply::Calls(vec![("memory_read", json!({"key": "k"}))]),
            Reply::Think("Hm.", "All is done."),
        ],
    )]))
}

/// A turn whose calls learn versions of files. The tools stand in for those of the feature `files`.
fn files() -> Case {
    let call =
        |name: &'static str| (name, json!({"path": "a", "content": "b", "old_text": "b", "new_text": "c"}));
    let root = vec![
        Reply::Calls(vec![call("write_file")]),
        Reply::Calls(vec![call("edit_file"), call("edit_file"), call("read_file")]),
        Reply::Calls(vec![subtask("child")]),
        Reply::Calls(vec![call("edit_file")]),
        Reply::Calls(vec![call("read_file")]),
        Reply::Calls(vec![call("edit_file")]),
        Reply::Text("Done."),
    ];
    let child = vec![
        Reply::Calls(vec![call("write_file")]),
        Reply::Calls(vec![call("read_file")]),
        Reply::Calls(vec![call("write_file")]),
        Reply::Text("ok"),
    ];
    let mut case = Case::new(script(&[("go", root), ("child", child)]));
    Rc::get_mut(&mut case.tools).unwrap().add_versioned(&["read_file", "write_file", "edit_file"]);
    case
}

fn nested_subtask() -> Case {
    let mut case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![subtask("a"), subtask("b"), ("echo", json!({}))]),
                Reply::Text("All is done."),
            ],
        ),
        (
            "a",
            vec![
                Reply::Calls(vec![subtask("c"), ("memory_write", json!({"key": "k", "value": "v"}))]),
                Reply::Ended("a done", ReplyFinish::Length),
            ],
        ),
        ("b", vec![Reply::Calls(vec![("echo", json!({"from": "b"}))]), Reply::Text("b done")]),
        ("c", vec![Reply::Calls(vec![("fail", json!({}))]), Reply::Text("c done")]),
    ]));
    case.subtask_chain = Some(Chain::of(offer("small", Capabilities::default())));
    case
}

fn structured_subtask() -> Case {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let asked =
        json!({"title": "s", "instructions": "a", "output_schema": schema, "tools": ["echo", "none"]});
    let finish = |payload| Reply::Calls(vec![("finish_subtask", payload)]);
    Case::new(script(&[
        ("go", vec![Reply::Calls(vec![("run_subtask", asked)]), Reply::Text("Done.")]),
        ("a", vec![Reply::Text("Let me see."), finish(json!({"n": "x"})), finish(json!({"n": 1}))]),
    ]))
}

fn plan_with_review() -> Case {
    let steps: &[(&str, &[&str])] = &[("p", &[]), ("q", &[]), ("r", &["p", "q"])];
    let mut case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "agent_review")]), Reply::Text("All is done.")]),
        ("plan ship", vec![Reply::Text("Let me see."), planned(steps)]),
        (
            "review ship",
            vec![Reply::Calls(vec![("finish_subtask", json!({"verdict": "approved", "notes": "fine"}))])],
        ),
        ("p", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("p done")]),
        ("q", vec![Reply::Calls(vec![subtask("b")]), Reply::Text("q done")]),
        ("b", vec![Reply::Text("b done")]),
        ("r", vec![Reply::Text("r done")]),
    ]);
    case.setting.reviewers = Some(Chain::of(offer("good", Capabilities::default())));
    case.setting.goal = Some("agent_create_plan".to_owned());
    case.setting.planning = "Plan with care.".to_owned();
    case.setting.plan_tools = vec!["write?".to_owned()];
    case.setting.instructions = vec![TreeInstructions::new(InstructionsOf::Project, "Plan in metres.")];
    case
}

/// A step whose time is over while its model call is still open.
fn plan_cut_off() -> Case {
    project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("All is done.")]),
        ("plan ship", vec![planned(&[("p", &[]), ("q", &["p"])])]),
        ("p", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Hang("so far ")]),
        ("q", vec![Reply::Text("q done")]),
    ])
    .limits(|limits| (limits.step_ms, limits.plan_ms) = (5_000, 60_000))
}

fn earlier_plan() -> Case {
    let draft = Plan {
        id: "plan_1".to_owned(),
        objective: "ship".to_owned(),
        reasoning: "because".to_owned(),
        context_type: "project".to_owned(),
        entity_id: Some("p1".to_owned()),
        intent_label: Some("shipping".to_owned()),
        execution_mode: ExecutionMode::DraftOnly,
        requested_outputs: vec!["a report".to_owned()],
        priority_entities: vec!["p1".to_owned()],
        status: PlanStatus::PendingReview,
        steps: vec![PlanStep {
            id: "p".to_owned(),
            title: "Step p".to_owned(),
            instructions: "p".to_owned(),
            depends_on: vec!["o".to_owned()],
            tool: Some("echo".to_owned()),
            status: StepStatus::Pending,
        }],
        review: Some(PlanReview { verdict: Verdict::NeedsChanges, notes: "more".to_owned() }),
        revision: 1,
        created_at: 0,
    };
    let update = |arguments| Reply::Calls(vec![("agent_update_plan", arguments)]);
    let mut case = project(&[
        (
            "go",
            vec![
                update(json!({"plan_id": "plan_1", "action": "change", "changes": "faster"})),
                update(json!({"plan_id": "plan_1", "action": "run"})),
                Reply::Text("All is done."),
            ],
        ),
        ("change ship", vec![planned(&[("p", &[])])]),
        ("p", vec![Reply::Text("p done")]),
    ]);
    case.setting.draft = Some(Box::new(draft));
    case
}

fn swarm() -> Case {
    let mut case = Case::new(script(&[
        ("plan go", vec![planned(&[("a", &[]), ("b", &[])])]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Text("b done")]),
        ("go", vec![Reply::Text("Nothing."), Reply::Text("Both are done.")]),
    ]))
    .limits(|limits| limits.parallel = 1);
    case.setting.mode = Some(ModeProfile::Swarm);
    case.setting.simple_iterations = 5;
    case.setting.browser = Some(BrowserContext {
        active_tab_url: Some("https://example.com/x".to_owned()),
        active_tab_title: Some("A page".to_owned()),
        tab_count: Some(7),
    });
    case
}

fn routed() -> Case {
    let decision = json!({"role": "secondary", "complexity": "simple", "reason": "it is so"});
    let mut case = Case::new(script(&[(
        "go",
        vec![
            Reply::Calls(vec![("finish_subtask", decision)]),
            Reply::Calls(vec![("echo", json!({}))]),
            Reply::Text("It is done."),
        ],
    )]));
    case.setting.mode = Some(ModeProfile::AutoRoute);
    case.setting.simple_iterations = 5;
    case.setting.routed =
        BTreeMap::from([(Role::Secondary, Chain::of(offer("cheap", Capabilities::default())))]);
    case
}

/// A turn that continues the summary of earlier turns.
fn summarised() -> Case {
    let replies = vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("It is done.")];
    let replies: Vec<_> = [("go", replies)].into_iter().chain(gist()).collect();
    let mut case = behind(13, Case::new(script(&replies)));
    let covers = PastId { row: -1, turn_id: "past-0".to_owned() };
    case.summary = Some(Summary { covers, text: "They met.".to_owned(), model: "m0".to_owned() });
    let models = Some(Chain::of(offer("fast", Capabilities::default())));
    case.setting.summaries = Some(Summaries { models });
    case
}

/// A subtask waits for a person.
fn approval() -> Case {
    let mut case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), ("echo", json!({}))]), Reply::Text("All is done.")]),
        ("a", vec![Reply::Calls(vec![("write", json!({}))]), Reply::Text("a done")]),
    ]));
    let rules: ToolRules = serde_json::from_str(r#"{"write": "ask"}"#).unwrap();
    let policy = ToolPolicy {
        memory: true,
        collections: vec!["c".to_owned()],
        allowed_mcp_servers: BTreeSet::from(["docs".to_owned()]),
        ..case.policy.clone()
    };
    case.policy = policy.narrowed(rules, BTreeSet::from(["other".to_owned()]));
    case.offered_by = case.policy.clone();
    case
}

/// A subtask waits at the limit of tool calls.
fn limit() -> Case {
    Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), ("echo", json!({}))]), Reply::Text("All is done.")]),
        ("a", vec![Reply::Calls(vec![("write", json!({}))]), Reply::Text("a done")]),
    ]))
    .limits(|limits| {
        (limits.tool_calls, limits.on_limit) = (2, OnLimit::Ask);
        limits.quota = Grant { tokens: Some(4_000_000), microusd: Some(4_000_000) };
    })
}

fn empty_reply() -> Case {
    let usage = Usage { input_tokens: 10, ..Usage::default() };
    Case::new(script(&[("go", vec![Reply::Empty(Some(usage), "Hello there.")])]))
}

/// The editor has been asked to paste.
fn client() -> Case {
    let calls = vec![("ui_paste", json!({"text": "x"})), ("echo", json!({}))];
    crate::turn::tests::parked::editor(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Pasted.")])]))
}

/// The same with the schema of a library.
fn foreign() -> Case {
    let mut case = client();
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#", "title": "Paste", "required": ["text"],
        "properties": {"text": {"type": "string", "nullable": true}},
    });
    case.client_tools[0].input_schema = schema.as_object().unwrap().clone();
    case.setting.client_instructions = Some(ClientInstructions::new("Be kind."));
    case
}

fn client_with_a_long_name() -> Case {
    let mut case = client();
    case.client_tools[0].client_name = Some("paste-".repeat(10));
    case
}
