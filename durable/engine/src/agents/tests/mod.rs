mod bytes;
pub(crate) mod code;
mod copies;
mod deaths;
mod discussions;
pub(crate) mod dumps;
mod hooked;
mod random;
mod refusals;
mod roots;
mod tasks;
pub(crate) mod templates;
mod trees;
pub(crate) mod websearch;

use std::rc::Rc;

use serde_json::{Value, json};

use crate::hooks::from_variable;
use crate::journal::{Agent, AgentRow, AgentSetting, Setting};
use crate::testing::*;
use wire::model::{Message, ModelRequest};

/// A call that makes an agent; an empty prompt only makes it.
pub fn task(name: &str, instructions: &str, prompt: &str) -> (&'static str, Value) {
    let mut arguments = json!({"name": name, "instructions": instructions});
    if !prompt.is_empty() {
        arguments["prompt"] = json!(prompt);
    }
    ("task", arguments)
}

/// The words of an agent, as others hear them.
pub fn says(name: &str, text: &str) -> String {
    format!("<speaker name=\"{name}\">\n{text}\n</speaker>")
}

/// A call for a discussion.
pub fn discuss(arguments: Value) -> (&'static str, Value) {
    ("discuss", arguments)
}

/// A turn whose request asks for agents.
pub fn with_agents(script: Script) -> Case {
    let mut case = Case::new(script);
    case.setting.agents = Some(AgentSetting::default());
    case
}

/// A call that searches the web and has the pages read.
pub fn websearch(question: &str) -> (&'static str, Value) {
    ("websearch", json!({"query": "pears", "question": question}))
}

/// A turn with agents, whose search of the web finds these addresses.
pub fn with_web(script: Script, found: &'static [&'static str]) -> Case {
    let mut case = with_agents(script);
    Rc::get_mut(&mut case.tools).unwrap().add_web(found);
    case
}

/// A turn with agents and tools that read texts: files by their paths, and resources of the MCP server `library` by their
/// addresses.
pub fn with_texts(script: Script, texts: &[(&str, &str)]) -> Case {
    let mut case = with_agents(script);
    Rc::get_mut(&mut case.tools).unwrap().add_readers();
    case.policy.allowed_mcp_servers.insert("library".to_owned());
    case.offered_by = case.policy.clone();
    for (name, text) in texts {
        case.tools.texts.borrow_mut().insert((*name).to_owned(), (*text).to_owned());
    }
    case
}

/// The next turn of the same thread.
fn after(before: &Case, script: Script) -> Case {
    let mut case = Case::new(script);
    case.agents = Rc::new(KeptAgents::clone(&before.agents));
    case.agents.take(before.end());
    case.setting.agents = Some(case.agents.setting(None));
    case
}

/// The requests with this system prompt.
fn requests_of(case: &Case, instructions: &str) -> Vec<ModelRequest> {
    let requests = case.model.requests.borrow();
    requests.iter().filter(|request| &*request.system == instructions).cloned().collect()
}

/// The texts of a request's messages, each with the side that it comes from.
fn texts(request: &ModelRequest) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { content } => format!("user: {}", content.text()),
        Message::Assistant { content, tool_calls, .. } if tool_calls.is_empty() => {
            format!("agent: {content}")
        }
        Message::Assistant { content, tool_calls, .. } => format!("agent: {content}{}", tool_calls[0].name),
        Message::Tool { content, .. } => format!("tool: {content}"),
    };
    request.messages.iter().map(|message| text(message)).collect()
}

/// The results of the root's calls, in order.
fn results(case: &Case) -> Vec<String> {
    let history = case.end().history;
    let results = history.iter().filter_map(|message| match message {
        Message::Tool { content, is_error, .. } => {
            Some(format!("{}{content}", if *is_error { "error: " } else { "" }))
        }
        _ => None,
    });
    results.collect()
}

/// A turn with agents of an earlier turn and new ones, an agent of an agent, a copy, a template, and an end.
pub(crate) fn rich() -> Case {
    let keeper = Agent {
        id: "keeper-1".to_owned(),
        name: "keeper".to_owned(),
        instructions: "Keep.".to_owned(),
        heard: vec!["It rained.".to_owned()],
        hooks: from_variable(r#"[{"name": "short", "builtin": "discuss_limit"}]"#).unwrap(),
        ..Agent::default()
    };
    let before = vec![
        Message::User { content: "Who are you?".into() },
        Message::Assistant { content: "The keeper.".to_owned(), tool_calls: Vec::new(), raw: None },
    ];
    let template = "---\nmcp: shop\ndeny: fail\n---\nBe strict.";
    let work = Reply::TextAndCalls("Hm. ", vec![("locked", json!({})), ("echo", json!({}))]);
    let once = json!({"name": "once", "builtin": "spawn_limit", "options": {"most": 1}});
    let lead = Reply::Calls(vec![task("hand", "Work.", "Dig."), ("hook", once)]);
    let levels = script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![
                    (
                        "task",
                        json!({"name": "critic", "template": "workspace:critic.md", "tools": ["locked", "echo", "fail"]}),
                    ),
                    ("task", json!({"name": "copy", "from": "keeper", "instructions": "Copy."})),
                    task("head", "Lead.", "Begin."),
                ]),
                Reply::Calls(vec![discuss(
                    json!({"prompt": "Apples?", "speakers": ["critic", "keeper"], "listeners": ["copy"]}),
                )]),
                Reply::Calls(vec![discuss(json!({})), ("terminate", json!({"name": "head"}))]),
                Reply::Text("Done."),
            ],
        ),
        ("Be strict.", vec![work, Reply::Text("Sour."), Reply::Text("Still sour.")]),
        (
            "Keep.",
            vec![
                Reply::Text("never"),
                Reply::Text("Sweet."),
                Reply::Calls(vec![("fail", json!({}))]),
                Reply::Text("Fine."),
            ],
        ),
        ("Lead.", vec![lead, Reply::Text("It digs.")]),
        ("Work.", vec![Reply::Text("Dug.")]),
    ]);
    let case = with_texts(levels, &[("critic.md", template)]);
    case.agents.take_rows(vec![AgentRow { agent: keeper, has_ended: false, rounds: vec![before] }]);
    let setting = Some(case.agents.setting(None));
    let setting = Setting { agents: setting, agent_hooks: true, ..case.setting.clone() };
    Case { setting, ..case }
}

/// A turn in which the user talks to an agent, which an agent of `main` made.
pub(crate) fn as_root() -> Case {
    let case = rich();
    let mut case = Case {
        setting: case.setting.clone(),
        agents: Rc::clone(&case.agents),
        ..Case::new(script(&[
            (
                "Keep.",
                vec![
                    Reply::Text("never"),
                    Reply::Calls(vec![task("hand", "Work.", "Dig.")]),
                    Reply::Calls(vec![(
                        "task",
                        json!({"name": "foot", "instructions": "Walk.", "tools": []}),
                    )]),
                    Reply::Text("Yes."),
                ],
            ),
            ("Work.", vec![Reply::Text("Dug.")]),
        ]))
    };
    case.setting.agents = Some(case.agents.setting(Some("keeper")));
    case
}
