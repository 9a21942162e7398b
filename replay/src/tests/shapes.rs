//! The turns that are played, recorded and replayed.

use std::rc::Rc;

use engine::journal::Summaries;
use engine::profiles::OnLimit;
use engine::testing::{Case, Reply, offer, plan, planned, script, subtask};
use engine::turn::Turn;
use serde_json::json;
use wire::model::{Message, ModelErrorKind};

/// A case after so many turns of some 520 tokens each, of which fewer fit into a request.
fn behind(turns: usize, fitting: u64, mut case: Case) -> Case {
    let turn = |number: usize| {
        let content = format!("answer {number} {}", "y".repeat(2_000));
        let answer = Message::Assistant { content, tool_calls: Vec::new(), raw: None };
        [Message::User { content: format!("question {number}").into() }, answer]
    };
    let mut spec = case.spec();
    let mut fits = |tokens: &u64| {
        spec.limits.history_tokens = *tokens;
        Turn::fits(&spec, &[])
    };
    let alone = (0..1_000).map(|hundreds| hundreds * 100).find(|tokens| fits(tokens)).unwrap();
    case.limits.history_tokens = alone + fitting * 520;
    case.history = (1..=turns).flat_map(turn).collect();
    case.setting.summaries = Some(Summaries::default());
    case
}

/// A turn that dumps an agent with one below it and a hook, and restores it once of three times.
pub fn with_dumps(seed: u64) -> Case {
    let make = |name: &str, words: &str, prompt: &str| {
        ("task", json!({"name": name, "instructions": words, "prompt": prompt}))
    };
    let once = json!({"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}});
    let restore = |name: &str| ("restore_agent", json!({"path": "a.json", "as": name}));
    let levels = [
        (
            "go",
            vec![
                Reply::Calls(vec![
                    make("head", "Lead.", "Begin."),
                    ("dump_agent", json!({"name": "head", "path": "a.json"})),
                    restore("twin"),
                    ("terminate", json!({"name": "head"})),
                ]),
                Reply::Calls(vec![restore("twin"), restore("head"), ("discuss", json!({"prompt": "And?"}))]),
                Reply::Text("Done."),
            ],
        ),
        (
            "Lead.",
            vec![
                Reply::Calls(vec![("hook", once)]),
                Reply::Calls(vec![make("hand", "Work.", "Dig."), ("echo", json!({}))]),
                Reply::Text("Led."),
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Text("I woke."),
            ],
        ),
        ("Work.", vec![Reply::Text("Dug.")]),
    ];
    let mut case = Case::seeded(script(&levels), seed);
    let tools = Rc::get_mut(&mut case.tools).unwrap();
    tools.add_readers();
    tools.add_writer();
    case.setting.agent_hooks = true;
    case.setting.agents = Some(engine::journal::AgentSetting::default());
    case
}

/// A turn that buys: a call that costs less than it held, one beside it, one without a known price, one without room.
fn with_money(seed: u64) -> Case {
    let buy =
        |most: Option<u64>| ("buy", json!({"most": most, "costs": 5_000, "silent": most == Some(9_000)}));
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), buy(Some(8_000)), buy(None)]), Reply::Text("Done.")]),
        ("a", vec![Reply::Calls(vec![buy(Some(9_000)), buy(Some(900_000))]), Reply::Text("Bought.")]),
    ];
    let mut case = Case::seeded(script(&levels), seed);
    Rc::get_mut(&mut case.tools).unwrap().add_paid();
    case.limits(|limits| limits.turn_cost_microusd = Some(800_000))
}

pub type Shape = (&'static str, fn(u64) -> Case, Option<usize>);

// Long: a table of turns.
pub fn shapes() -> Vec<Shape> {
    vec![
        ("paid", with_money, None),
        (
            "a call that the message asks for",
            |seed| {
                let mut case = Case::seeded(script(&[]), seed);
                let (tool, arguments) = ("echo".to_owned(), "{}".to_owned());
                case.setting.direct = Some(engine::journal::DirectCall { tool, arguments });
                case
            },
            None,
        ),
        ("direct", |seed| Case::seeded(script(&[("go", vec![Reply::Text("Hello.")])]), seed), None),
        (
            "with a conversation before it",
            |seed| {
                let mut case = Case::seeded(script(&[("go", vec![Reply::Text("Hello.")])]), seed);
                case.history = vec![
                    Message::User { content: "Before".into() },
                    Message::Assistant { content: "Yes.".to_owned(), tool_calls: Vec::new(), raw: None },
                ];
                case.retrieved = Some("<long_term_memory>\nlikes tea\n</long_term_memory>".to_owned());
                case
            },
            None,
        ),
        (
            "tools",
            |seed| {
                let calls =
                    vec![("echo", json!({"n": 1})), ("echo", json!({"n": 2})), ("echo", json!({"n": 3}))];
                let replies = vec![Reply::TextAndCalls("Let me see. ", calls), Reply::Text("Done.")];
                Case::seeded(script(&[("go", replies)]), seed)
            },
            None,
        ),
        (
            "calls that ask for input",
            |seed| {
                let calls = vec![("form", json!({"n": 1})), ("echo", json!({})), ("form_once", json!({}))];
                let replies = vec![Reply::Calls(calls), Reply::Text("Done.")];
                let mut case = Case::seeded(script(&[("go", replies)]), seed);
                Rc::get_mut(&mut case.tools).unwrap().add_forms();
                case.setting.forms = true;
                case
            },
            None,
        ),
        (
            "subtasks",
            |seed| {
                let below = |text| vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text(text)];
                let levels = [
                    (
                        "go",
                        vec![
                            Reply::Calls(vec![subtask("a"), subtask("b"), subtask("c")]),
                            Reply::Text("All."),
                        ],
                    ),
                    ("a", below("A.")),
                    ("b", vec![Reply::Calls(vec![subtask("d")]), Reply::Text("B.")]),
                    ("c", below("C.")),
                    ("d", below("D.")),
                ];
                Case::seeded(script(&levels), seed)
            },
            None,
        ),
        (
            "hooks",
            |seed| {
                let says = |said| vec![Reply::Calls(vec![("finish_subtask", said)])];
                let echo = || Reply::Calls(vec![("echo", json!({})), ("write", json!({}))]);
                let levels = [
                    ("go", vec![echo(), Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
                    ("a", vec![echo(), Reply::Text("A.")]),
                    ("greet ", says(json!({"decision": "comment", "text": "so"}))),
                    ("guard write {}", says(json!({"decision": "block", "text": "so"}))),
                    ("lost echo {}", vec![Reply::Fail("", ModelErrorKind::Overloaded)]),
                ];
                let hooks = json!([
                    {"name": "greeter", "on": "input", "of": "main", "instructions": "greet"},
                    {"name": "guard", "on": "action", "match": ["write"], "instructions": "guard"},
                    {"name": "lost", "on": "action", "match": ["echo"], "instructions": "lost"},
                    {"name": "todo", "builtin": "todo_reminder", "options": {"every": 1}},
                ]);
                let mut case = Case::seeded(script(&levels), seed);
                case.setting.hooks = engine::hooks::from_variable(&hooks.to_string()).unwrap();
                case
            },
            None,
        ),
        (
            "a search of the web",
            |seed| {
                let ask = json!({"query": "pears", "question": "How long?"});
                let levels = [
                    ("go", vec![Reply::Calls(vec![("websearch", ask)]), Reply::Text("Done.")]),
                    ("page https://a/", vec![Reply::Text("Six.")]),
                    ("page https://b/", vec![Reply::Text("Five.")]),
                    ("answer How long?", vec![Reply::Text("Half a year [1].")]),
                ];
                let mut case = Case::seeded(script(&levels), seed);
                let found = &["https://a/", "https://broken/", "https://b/"];
                Rc::get_mut(&mut case.tools).unwrap().add_web(found);
                case.setting.agents = Some(engine::journal::AgentSetting::default());
                case
            },
            None,
        ),
        (
            "an agent of code",
            |seed| {
                let ask = json!({"name": "scout", "template": "websearch", "prompt": "How long?"});
                let again = json!({"prompt": "And then?"});
                let levels = [
                    (
                        "go",
                        vec![
                            Reply::Calls(vec![("task", ask)]),
                            Reply::Calls(vec![("discuss", again)]),
                            Reply::Text("Done."),
                        ],
                    ),
                    ("page https://a/", vec![Reply::Text("Six.")]),
                    ("answer How long?", vec![Reply::Text("Half a year [1].")]),
                    ("answer And then?", vec![Reply::Text("They rot [1].")]),
                ];
                let mut case = Case::seeded(script(&levels), seed);
                Rc::get_mut(&mut case.tools).unwrap().add_web(&["https://a/", "https://broken/"]);
                case.setting.agents = Some(engine::journal::AgentSetting::default());
                case
            },
            None,
        ),
        (
            "templates that calls read",
            |seed| {
                let task = |name: &str, template: &str| {
                    ("task", json!({"name": name, "template": template, "prompt": "Well?"}))
                };
                let calls = [
                    task("a", "workspace:a.md"),
                    task("b", "mcp:library:a.md"),
                    task("c", "workspace:none.md"),
                    task("d", "workspace:empty.md"),
                ];
                let again = task("a", "workspace:a.md");
                let levels = [
                    (
                        "go",
                        vec![
                            Reply::Calls(calls.into()),
                            Reply::Calls(vec![again, task("e", "workspace:a.md")]),
                            Reply::Text("Done."),
                        ],
                    ),
                    ("A.", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Well.")]),
                ];
                let mut case = Case::seeded(script(&levels), seed);
                Rc::get_mut(&mut case.tools).unwrap().add_readers();
                for (name, text) in [("a.md", "---\ndeny: fail\n---\nA."), ("empty.md", "")] {
                    case.tools.texts.borrow_mut().insert(name.to_owned(), text.to_owned());
                }
                case.policy.allowed_mcp_servers.insert("library".to_owned());
                case.offered_by = case.policy.clone();
                case.setting.agents = Some(engine::journal::AgentSetting::default());
                case
            },
            None,
        ),
        ("dumps that calls write and read", with_dumps, None),
        (
            "a plan",
            |seed| {
                let steps = planned(&[("x", &[]), ("y", &[]), ("z", &["x", "y"])]);
                let levels = [
                    ("go", vec![Reply::Calls(vec![plan("it", "run")]), Reply::Text("It is done.")]),
                    ("plan it", vec![steps]),
                    ("x", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("X.")]),
                    ("y", vec![Reply::Text("Y.")]),
                    ("z", vec![Reply::Text("Z.")]),
                ];
                let mut case = Case::seeded(script(&levels), seed);
                case.context = "project";
                case
            },
            None,
        ),
        (
            "failed requests",
            |seed| {
                let failures = vec![(0, ModelErrorKind::RateLimited), (1, ModelErrorKind::Network)];
                let mut case = Case::seeded(script(&[("go", vec![Reply::After(failures, "Hello.")])]), seed);
                case.then = vec![offer("m2", wire::model::Capabilities::default())];
                case
            },
            None,
        ),
        (
            "an empty reply",
            |seed| Case::seeded(script(&[("go", vec![Reply::Empty(None, "Hello.")])]), seed),
            None,
        ),
        (
            "a failed model",
            |seed| {
                let reply = Reply::Fail("Half of ", ModelErrorKind::Overloaded);
                Case::seeded(script(&[("go", vec![reply])]), seed)
            },
            None,
        ),
        (
            "a limit",
            |seed| {
                let endless = vec![Reply::TextAndCalls("More. ", vec![("echo", json!({}))])];
                Case::seeded(script(&[("go", endless)]), seed).limits(|limits| limits.llm_calls = 3)
            },
            None,
        ),
        (
            "a limit that a person raised",
            |seed| {
                let call = Reply::TextAndCalls("More. ", vec![("echo", json!({}))]);
                let replies = vec![call.clone(), call.clone(), call, Reply::Text("Done.")];
                Case::seeded(script(&[("go", replies)]), seed).limits(|limits| {
                    limits.on_limit = OnLimit::Ask;
                    limits.llm_calls = 3;
                })
            },
            None,
        ),
        (
            "cancelled",
            |seed| {
                let levels = [
                    ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")])]),
                    ("a", vec![Reply::Hang("so ")]),
                    ("b", vec![Reply::Text("B.")]),
                ];
                Case::seeded(script(&levels), seed)
            },
            Some(40),
        ),
        (
            "two summaries",
            |seed| {
                let summaries = [
                    ("go", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Done.")]),
                    ("summary", vec![Reply::Text("They are Ada.")]),
                    ("summary again", vec![Reply::Text("Still Ada.")]),
                ];
                behind(40, 12, Case::seeded(script(&summaries), seed))
            },
            None,
        ),
        (
            "a summary before a gap",
            |seed| {
                let levels =
                    [("go", vec![Reply::Text("Done.")]), ("summary", vec![Reply::Text("They are Ada.")])];
                let mut case = behind(12, 11, Case::seeded(script(&levels), seed));
                case.before_gap = 4;
                case
            },
            None,
        ),
        (
            "a summary that fails",
            |seed| {
                let fails = vec![Reply::Fail("", ModelErrorKind::Overloaded)];
                let levels = [("go", vec![Reply::Text("Done.")]), ("summary", fails)];
                behind(12, 11, Case::seeded(script(&levels), seed))
            },
            None,
        ),
        ("out of time", |seed| Case::seeded(script(&[("go", vec![Reply::Hang("so ")])]), seed), None),
    ]
}
