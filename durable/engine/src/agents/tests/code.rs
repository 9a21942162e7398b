//! Agents of code: a search of the web that has a name, hears, speaks and stays.

use serde_json::json;

use super::deaths::answers;
use super::*;
use crate::turn::tests::faults::killed_at_every_commit;
use wire::model::ModelErrorKind;
use wire::protocol::FinishReason;

const ONE: &[&str] = &["https://a/"];
const SOURCES: &str = "\n\n<sources>\n[1] https://a/\n</sources>";

/// A call that makes an agent which searches the web.
fn searcher(more: Value) -> (&'static str, Value) {
    let mut arguments = json!({"name": "scout", "template": "websearch"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ("task", arguments)
}

/// A turn whose searches find one page. Each of these prompts has one answer.
fn searched(root: Vec<Reply>, others: &[(&str, Vec<Reply>)]) -> Case {
    let page = vec![Reply::Text("It says six.")];
    let levels = [("go", root), ("page https://a/", page)];
    with_web(script(&[&levels[..], others].concat()), ONE)
}

/// A discussion of an agent of code between two others, then a second round of it alone.
pub(crate) fn discussed() -> Case {
    let all = ["critic", "scout", "judge"];
    searched(
        vec![
            Reply::Calls(vec![
                task("critic", "Doubt.", ""),
                searcher(json!({})),
                task("judge", "Judge.", ""),
            ]),
            Reply::Calls(vec![discuss(json!({"prompt": "How long?", "speakers": all}))]),
            Reply::Calls(vec![discuss(json!({"speakers": ["scout"], "listeners": ["judge"]}))]),
            Reply::Text("Done."),
        ],
        &[
            ("Doubt.", vec![Reply::Text("Not long.")]),
            ("answer How long?", vec![Reply::Text("Six months [1].")]),
            ("Judge.", vec![Reply::Text("Which sort?")]),
            ("answer another", vec![Reply::Text("Any sort [1].")]),
        ],
    )
}

// A-006 A-022 A-043 A-045 A-047 A-048: both kinds of agents hear each other, and each answers in its turn.
#[test]
fn an_agent_of_code_discusses_like_any_other() {
    let case = discussed().run();
    let scout = format!("Six months [1].{SOURCES}");
    assert_eq!(
        results(&case)[3..],
        [
            [says("critic", "Not long."), says("scout", &scout), says("judge", "Which sort?")].join("\n\n"),
            says("scout", &format!("Any sort [1].{SOURCES}")),
        ]
    );
    let judge = requests_of(&case, "Judge.");
    let heard =
        ["user: How long?".to_owned(), says("critic", "Not long."), says("scout", &scout)].join("\n\n");
    assert_eq!((judge.len(), texts(&judge[0])), (1, vec![heard]));
    // It searches for its maker's words, and where these are not new for the newest of the others.
    let ran: Vec<String> = case.tools.ran.borrow().clone();
    let search = |query: &str| format!("look_up {}", json!({ "query": query }));
    let opened = format!("open_page {}", json!({ "url": "https://a/" }));
    assert_eq!(ran, [search("How long?"), opened.clone(), search("Which sort?"), opened]);
    let end = case.end();
    let usage = end.message.usage.as_ref().unwrap();
    assert_eq!(usage.subtasks, 2 + 2 * 3, "its answer, the search and the page are subtasks");
    assert_eq!(usage.llm_calls, 4 + 2 + 2 * 2);
    // It remembers like any other.
    let row = end.agents.iter().find(|row| row.agent.name == "scout").unwrap();
    let round = |heard: &str, text: String| {
        let said = Message::Assistant { content: text, tool_calls: Vec::new(), raw: None };
        vec![Message::User { content: heard.into() }, said]
    };
    assert_eq!(
        row.rounds,
        [
            round(&format!("How long?\n\n{}", says("critic", "Not long.")), scout),
            round(&says("judge", "Which sort?"), format!("Any sort [1].{SOURCES}")),
        ]
    );
    assert_eq!((row.agent.heard.len(), row.agent.code.as_deref()), (0, Some("websearch")));
    let judge = end.agents.iter().find(|row| row.agent.name == "judge").unwrap();
    assert_eq!(judge.agent.heard, [says("scout", &format!("Any sort [1].{SOURCES}"))]);
}

// A-006 A-036 A-037: the events of its answer. Only the levels of the search ask models.
#[test]
fn an_agent_of_code_answers_in_rounds() {
    let root = vec![Reply::Calls(vec![searcher(json!({"prompt": "How long?"}))]), Reply::Text("Done.")];
    let case = searched(root, &[("answer How long?", vec![Reply::Text("Six.")])]).run();
    assert_eq!(results(&case), [format!("Six.{SOURCES}")]);
    let lines = case.lines();
    let calls = lines.iter().filter(|line| line.starts_with("tool ") || line.starts_with("agent "));
    let names: Vec<String> =
        calls.map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        names,
        [
            "tool 0.0 task Start",
            "agent scout Created in",
            "tool 0.0-d0.0 agent_reply Start",
            "agent scout Speaking in",
            "tool 0.0-d0.0-0.0 websearch Start",
            "tool 0.0-d0.0-0.0-0.0 look_up Start",
            "tool 0.0-d0.0-0.0-0.0 look_up End",
            "tool 0.0-d0.0-0.0-1.0 digest_page Start",
            "tool 0.0-d0.0-0.0-1.0-0.0 open_page Start",
            "tool 0.0-d0.0-0.0-1.0-0.0 open_page End",
            "tool 0.0-d0.0-0.0-1.0 digest_page End",
            "tool 0.0-d0.0-0.0 websearch End",
            "tool 0.0-d0.0 agent_reply End",
            "agent scout Silent in",
            "tool 0.0 task End",
        ]
    );
}

// A-087 A-088 A-106: it has no more tools than its maker, and nobody makes one that could never answer.
#[test]
fn an_agent_of_code_needs_its_call() {
    let without = "this agent answers with websearch, which it would not have here";
    let root = |more: Value| vec![Reply::Calls(vec![searcher(more)]), Reply::Text("Done.")];
    for tools in [json!([]), json!(["look_up", "open_page"])] {
        let case = searched(root(json!({ "tools": tools })), &[]).run();
        assert_eq!(results(&case), [format!("error: {without}")]);
        assert_eq!(case.end().agents, []);
    }
    let case = with_agents(script(&[("go", root(json!({})))])).run();
    assert_eq!(results(&case), [format!("error: {without}")], "a turn that cannot search");

    // With the call and without the tools that it uses, it says so.
    let alone = json!({"tools": ["websearch"], "prompt": "How long?"});
    let case = searched(root(alone), &[]).run();
    let told = "it needs tools that search the web and read its pages, and you have not both";
    assert_eq!(results(&case), [format!("[I could not answer: {told}]")]);
}

// A-044: it fails like any speaker, and the others go on. CF-06: its search nests as an agent's does.
#[test]
fn an_agent_of_code_says_that_it_failed() {
    let root = |speakers: Value| {
        vec![
            Reply::Calls(vec![searcher(json!({})), task("judge", "Judge.", "")]),
            Reply::Calls(vec![discuss(json!({"prompt": "How long?", "speakers": speakers}))]),
            Reply::Text("Done."),
        ]
    };
    let judge = ("Judge.", vec![Reply::Text("A pity.")]);
    let down = ("answer How long?", vec![Reply::Fail("", ModelErrorKind::Auth)]);
    let both = json!(["scout", "judge"]);
    let told = |case: Case| results(&case.run())[2].clone();
    let failed = r#"{"error":"provider_auth","message":"the provider said no"}"#;
    assert_eq!(
        told(searched(root(both.clone()), &[judge.clone(), down.clone()])),
        [says("scout", &format!("[I could not answer: {failed}]")), says("judge", "A pity.")].join("\n\n")
    );
    let shallow =
        told(searched(root(both.clone()), &[judge.clone(), down]).limits(|limits| limits.depth = 2));
    assert!(
        shallow.starts_with("<speaker name=\"scout\">\n[I could not answer: ")
            && shallow.contains("depth limit"),
        "{shallow}"
    );
    // An agent that heard nothing new searches for nothing.
    let silent = vec![
        Reply::Calls(vec![searcher(json!({}))]),
        Reply::Calls(vec![discuss(json!({}))]),
        Reply::Text("Done."),
    ];
    let case = searched(silent, &[]).run();
    assert_eq!(results(&case)[1], says("scout", "[I heard nothing new, and have nothing to say.]"));
    assert_eq!((case.model.requests.borrow().len(), case.tools.ran.borrow().len()), (3, 0));
}

// CF-06 CF-25: budget and hooks hold for it.
#[test]
fn limits_and_hooks_hold_for_an_agent_of_code() {
    let root = || vec![Reply::Calls(vec![searcher(json!({"prompt": "How long?"}))]), Reply::Text("Done.")];
    let answer = [("answer How long?", vec![Reply::Text("Six.")])];
    let case = searched(root(), &answer).limits(|limits| limits.subtasks = 2).run();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Budget));
    assert!(case.lines().contains(&"budget Subtasks 3 of 2".to_owned()), "{:#?}", case.lines());

    // A guard that fails blocks.
    let call = r#"calm websearch {"query":"How long?","question":"How long?"}"#;
    let mut case = searched(root(), &[(call, vec![Reply::Fail("", ModelErrorKind::Auth)])]);
    let hook = json!([{"name": "calm", "on": "action", "match": ["websearch"], "instructions": "calm"}]);
    case.setting.hooks = from_variable(&hook.to_string()).unwrap();
    let case = case.run();
    let told = &results(&case)[0];
    assert!(told.starts_with("[I could not answer: blocked by hook calm: "), "{told}");
    assert_eq!(case.tools.ran.borrow().len(), 0);
}

// A-029 A-094 A-095: it stays for later turns, and a copy with instructions reads what it found.
#[test]
fn an_agent_of_code_stays() {
    let root = vec![Reply::Calls(vec![searcher(json!({"prompt": "How long?"}))]), Reply::Text("Done.")];
    let first = searched(root, &[("answer How long?", vec![Reply::Text("Six.")])]).run();
    let mut second = after(
        &first,
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![discuss(json!({"prompt": "And apples?"}))]),
                    Reply::Calls(vec![
                        ("task", json!({"name": "twin", "from": "scout", "prompt": "And figs?"})),
                        (
                            "task",
                            json!({"name": "reader", "from": "scout", "instructions": "Read.", "prompt": "Well?"}),
                        ),
                    ]),
                    Reply::Text("Done."),
                ],
            ),
            ("page https://a/", vec![Reply::Text("It says so.")]),
            ("answer And apples?", vec![Reply::Text("Four.")]),
            ("answer And figs?", vec![Reply::Text("One.")]),
            ("Read.", vec![Reply::Text("never"), Reply::Text("never"), Reply::Text("I have read it.")]),
        ]),
    );
    Rc::get_mut(&mut second.tools).unwrap().add_web(ONE);
    let second = second.run();
    assert_eq!(
        results(&second),
        [says("scout", &format!("Four.{SOURCES}")), format!("One.{SOURCES}"), "I have read it.".to_owned()]
    );
    let round = |asked: &str, said: &str| [format!("user: {asked}"), format!("agent: {said}{SOURCES}")];
    let before = [round("How long?", "Six."), round("And apples?", "Four.")].concat();
    let read = requests_of(&second, "Read.");
    assert_eq!(texts(&read[0]), [&before[..], &["user: Well?".to_owned()]].concat());
}

// A-052: where the user talks to it, a model with its template's words answers.
#[test]
fn a_model_answers_the_user_for_an_agent_of_code() {
    let root = vec![Reply::Calls(vec![searcher(json!({}))]), Reply::Text("Done.")];
    let first = searched(root, &[]).run();
    let instructions = first.end().agents[1].agent.instructions.clone();
    assert!(instructions.contains("call websearch"), "{instructions}");
    let replies = vec![Reply::Calls(vec![websearch("How long?")]), Reply::Text("Six, it says.")];
    let mut second = after(
        &first,
        script(&[
            (&instructions, replies),
            ("page https://a/", vec![Reply::Text("It says six.")]),
            ("answer How long?", vec![Reply::Text("Six.")]),
        ]),
    );
    Rc::get_mut(&mut second.tools).unwrap().add_web(ONE);
    second.setting.agents = Some(second.agents.setting(Some("scout")));
    assert_eq!(second.run().end().message.content, "Six, it says.");
}

// A kill at each commit of its discussion asks nobody twice.
#[test]
fn a_discussion_with_an_agent_of_code_that_dies_asks_nobody_twice() {
    killed_at_every_commit(discussed);
    let whole = discussed().run();
    for dies_after in 1..whole.disk.commits.get() {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let mut case = discussed();
            case.run_with(Some(kill), |_, _| {});
            case.resume(None);
            case.check();
            // One call at a time is under way: a model call, or the search or the page.
            let again = case.model.requests.borrow().len() - whole.model.requests.borrow().len();
            let ran_again = case.tools.ran.borrow().len() - whole.tools.ran.borrow().len();
            assert!(again + ran_again <= 1, "{kill:?}: {again} model calls, {ran_again} tools");
            assert_eq!(answers(&case), answers(&whole), "{kill:?}");
            assert_eq!(case.end().agents, whole.end().agents, "{kill:?}");
            assert_eq!(results(&case), results(&whole), "{kill:?}");
        }
    }
}
