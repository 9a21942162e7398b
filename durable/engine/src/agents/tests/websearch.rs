//! `websearch`: an agent of code, whose pages are read by levels of their own.

use std::collections::BTreeSet;

use super::*;
use crate::agents::websearch::{MAX_PAGES, MAX_QUERY_CHARS, MAX_QUESTION_CHARS};
use crate::journal::Fact;
use crate::profiles::Chain;
use crate::toolbelt::{PermissionClass, Serves};
use wire::model::{Capabilities, ModelErrorKind, ToolChoice};
use wire::protocol::FinishReason;

const TWO: &[&str] = &["https://a.example/", "https://b.example/"];

/// A turn that asks one question, which the levels of the pages and of the answer meet with these replies.
fn searched(found: &'static [&'static str], levels: &[(&str, Vec<Reply>)]) -> Case {
    let root = vec![Reply::Calls(vec![websearch("How long?")]), Reply::Text("Done.")];
    with_web(script(&[&[("go", root)], levels].concat()), found)
}

fn says(text: &'static str) -> Vec<Reply> {
    vec![Reply::Text(text)]
}

/// A turn with two pages and an answer.
pub(crate) fn answered() -> Case {
    searched(
        TWO,
        &[
            ("page https://a.example/", says("Six months.")),
            ("page https://b.example/", says("Five.")),
            ("answer How long?", says("Half a year [1].")),
        ],
    )
}

const SOURCES: &str = "\n\n<sources>\n[1] https://a.example/\n[2] https://b.example/\n</sources>";

/// The call that reads a page.
fn opened(address: &str) -> String {
    format!("open_page {}", json!({ "url": address }))
}

// A-010 A-023 A-025 A-109: the events of the whole call. Neither a model nor a tool keeps the other page waiting.
#[test]
fn pages_are_read_side_by_side() {
    let case = answered().run();
    let lines = case.lines();
    let of_call: Vec<&str> = lines.iter().map(String::as_str).filter(|line| line.contains(" 0.0")).collect();
    let ended = |n: usize| {
        let text = json!(format!("the text of {}", opened(TWO[n])));
        format!("tool 0.0-1.{n}-0.0 open_page End {text} in 0.0-1.{n} depth 2")
    };
    assert_eq!(
        of_call,
        [
            "tool 0.0 websearch Start",
            "tool 0.0-0.0 look_up Start in 0.0 depth 1",
            "tool 0.0-0.0 look_up End \"Found:\\nhttps://a.example/\\nhttps://b.example/\" in 0.0 depth 1",
            "tool 0.0-1.0 digest_page Start in 0.0 depth 1",
            "tool 0.0-1.1 digest_page Start in 0.0 depth 1",
            "tool 0.0-1.0-0.0 open_page Start in 0.0-1.0 depth 2",
            "tool 0.0-1.1-0.0 open_page Start in 0.0-1.1 depth 2",
            &ended(0),
            "model 0.0-1.0-1 start in 0.0-1.0 depth 2",
            &ended(1),
            "model 0.0-1.1-1 start in 0.0-1.1 depth 2",
            "chunk 0.0-1.0-1.0 \"Six \" in 0.0-1.0 depth 2",
            "chunk 0.0-1.1-1.0 \"Five.\" in 0.0-1.1 depth 2",
            "chunk 0.0-1.0-1.0 \"months.\" in 0.0-1.0 depth 2",
            "chunk 0.0-1.1-1.0 \"\" done in 0.0-1.1 depth 2",
            "model 0.0-1.1-1 End stop in 0.0-1.1 depth 2",
            "tool 0.0-1.1 digest_page End \"Page 2: https://b.example/\\n\\nFive.\" in 0.0 depth 1",
            "chunk 0.0-1.0-1.0 \"\" done in 0.0-1.0 depth 2",
            "model 0.0-1.0-1 End stop in 0.0-1.0 depth 2",
            "tool 0.0-1.0 digest_page End \"Page 1: https://a.example/\\n\\nSix months.\" in 0.0 depth 1",
            "model 0.0-2 start in 0.0 depth 1",
            "chunk 0.0-2.0 \"Half \" in 0.0 depth 1",
            "chunk 0.0-2.0 \"a \" in 0.0 depth 1",
            "chunk 0.0-2.0 \"year \" in 0.0 depth 1",
            "chunk 0.0-2.0 \"[1].\" in 0.0 depth 1",
            "chunk 0.0-2.0 \"\" done in 0.0 depth 1",
            "model 0.0-2 End stop in 0.0 depth 1",
            "tool 0.0 websearch End \"Half a year [1].\\n\\n<sources>\\n[1] https://a.example/\\n[2] https://b.example/\\n</sources>\"",
        ]
    );
}

// A-006 A-022 A-025 A-109: what each level reads.
#[test]
fn the_answer_comes_from_what_the_pages_say() {
    let case = answered().run();
    assert_eq!(results(&case), [format!("Half a year [1].{SOURCES}")]);
    assert_eq!(case.tools.peak.get(), 2, "both pages are open at the same time");
    let ran: Vec<String> = case.tools.ran.borrow().clone();
    assert_eq!(ran, [r#"look_up {"query":"pears"}"#.to_owned(), opened(TWO[0]), opened(TWO[1])]);

    let requests = case.model.requests.borrow();
    let [first, second, answer] = [&requests[1], &requests[2], &requests[3]];
    let page = |n: usize| {
        let address = TWO[n];
        [
            format!("user: <page>\n{address}\n</page>\n<question>\nHow long?\n</question>"),
            "agent: open_page".to_owned(),
            format!("tool: the text of {}", opened(address)),
        ]
    };
    assert_eq!((texts(first), texts(second)), (page(0).to_vec(), page(1).to_vec()));
    assert_eq!(
        texts(answer),
        [
            "user: <question>\nHow long?\n</question>\n<query>\npears\n</query>",
            "agent: look_up",
            "tool: Found:\nhttps://a.example/\nhttps://b.example/",
            "agent: digest_page",
            "tool: Page 1: https://a.example/\n\nSix months.",
            "tool: Page 2: https://b.example/\n\nFive.",
        ]
    );
    for request in [first, second, answer] {
        assert_eq!(request.tool_choice, ToolChoice::None, "the levels only speak");
    }
    let usage = case.end().message.usage.unwrap();
    assert_eq!((usage.subtasks, usage.llm_calls), (3, 2 + 3), "the search and its pages are subtasks");
}

// Issue 20, 2: at most 5 pages, each once.
#[test]
fn so_many_pages_are_read() {
    const FIVE: &[&str] =
        &["https://1/", "https://2/", "https://2/", "https://3/", "https://4/", "https://5/"];
    const SIX: &[&str] =
        &["https://1/", "https://2/", "https://3/", "https://4/", "https://5/", "https://6/"];
    for found in [FIVE, SIX] {
        let pages: Vec<String> = (1..=MAX_PAGES).map(|n| format!("page https://{n}/")).collect();
        let mut levels: Vec<(&str, Vec<Reply>)> =
            pages.iter().map(|page| (page.as_str(), says("Well."))).collect();
        levels.push(("answer How long?", says("So long.")));
        let case = searched(found, &levels).run();
        let listed: Vec<String> = (1..=MAX_PAGES).map(|n| format!("[{n}] https://{n}/")).collect();
        assert_eq!(results(&case), [format!("So long.\n\n<sources>\n{}\n</sources>", listed.join("\n"))]);
    }
}

#[test]
fn query_and_question_have_limits() {
    let ask = |query: usize, question: usize| {
        ("websearch", json!({"query": "ü".repeat(query), "question": "ü".repeat(question)}))
    };
    let (query, question) = (MAX_QUERY_CHARS, MAX_QUESTION_CHARS);
    let calls = vec![
        ask(query, question),
        ask(query + 1, question),
        ask(query, question + 1),
        ("websearch", json!({"query": " ", "question": "x"})),
        ("websearch", json!({"query": "x", "question": ""})),
        ("websearch", json!({"query": "x"})),
    ];
    let case = with_web(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Done.")])]), &[]).run();
    let told = results(&case);
    assert_eq!(told[0], "Nothing was found.");
    for (told, at) in told[1..].iter().zip([
        "query: it must have 1 to 400",
        "question: it must have 1 to 2000",
        "query: it must",
        "question: it must",
        "question",
    ]) {
        assert!(told.starts_with("error: invalid arguments") && told.contains(at), "{at}: {told}");
    }
    assert_eq!(case.tools.ran.borrow().len(), 1, "nothing is searched for a call that is refused");
}

#[test]
fn a_page_that_fails_says_so_and_the_rest_goes_on() {
    const FOUR: &[&str] = &["https://a/", "https://broken/", "https://mute/", "https://down/"];
    let case = searched(
        FOUR,
        &[
            ("page https://a/", says("Six.")),
            ("page https://mute/", says(" ")),
            ("page https://down/", vec![Reply::Fail("", ModelErrorKind::Auth)]),
            ("answer How long?", says("Six [1].")),
        ],
    )
    .run();
    let told = "Six [1].\n\n<sources>\n[1] https://a/\n</sources>\n\n<unread>\n[2] https://broken/: the page did not come: it is broken\n\
                [3] https://mute/: nothing came of reading it\n[4] https://down/: {\"error\":\"provider_auth\",\
                \"message\":\"the provider said no\"}\n</unread>";
    assert_eq!(results(&case), [told]);
    let asked = case.model.requests.borrow().len();
    assert_eq!(asked, 2 + 4, "no model reads a page that did not come");
}

#[test]
fn a_search_without_an_answer_is_an_error() {
    let all_fail = searched(&["https://broken/1", "https://broken/2"], &[]).run();
    assert_eq!(
        results(&all_fail),
        ["error: none of the pages that were found gave an answer\n\n<unread>\n\
          [1] https://broken/1: the page did not come: it is broken\n[2] https://broken/2: the page did not come: it is broken\n\
          </unread>"]
    );
    assert_eq!(all_fail.model.requests.borrow().len(), 2);
    let page = ("page https://a/", says("Six."));
    for (reply, told) in [
        (Reply::Text(" "), "error: the pages were read, and no answer came of them"),
        (
            Reply::Fail("", ModelErrorKind::Auth),
            "error: {\"error\":\"provider_auth\",\"message\":\"the provider said no\"}",
        ),
    ] {
        let case = searched(&["https://a/"], &[page.clone(), ("answer How long?", vec![reply])]).run();
        assert_eq!(results(&case), [told]);
    }
}

// The levels below an agent narrow only: an agent without the tools cannot search, and a subtask has no such call.
#[test]
fn the_call_needs_its_tools() {
    let offers = |case: &Case| case.spec().tools.iter().any(|spec| spec.name == "websearch");
    assert!(offers(&answered()));
    let mut without_agents = answered();
    without_agents.setting.agents = None;
    assert!(!offers(&without_agents));
    assert!(!offers(&with_agents(script(&[]))));
    let mut without_network = answered();
    without_network.offered_by.classes.remove(&PermissionClass::Network);
    assert!(!offers(&without_network));

    let only =
        json!({"name": "a", "instructions": "A.", "tools": ["websearch", "open_page"], "prompt": "Go."});
    let case = with_web(
        script(&[
            ("go", vec![Reply::Calls(vec![("task", only), subtask("work")]), Reply::Text("Done.")]),
            ("A.", vec![Reply::Calls(vec![websearch("How long?")]), Reply::Text("ok")]),
            ("work", vec![Reply::Calls(vec![websearch("How long?")]), Reply::Text("worked")]),
        ]),
        TWO,
    )
    .run();
    let asked = requests_of(&case, "A.");
    assert_eq!(
        texts(&asked[1])[2],
        "tool: it needs tools that search the web and read its pages, and you have not both"
    );
    let requests = case.model.requests.borrow();
    let of_work = requests.iter().rev().map(texts).find(|texts| texts[0] == "user: work").unwrap();
    assert!(of_work[2].contains("\"websearch\" is not available"), "{of_work:?}");
}

// An agent searches as the root does, one level deeper.
#[test]
fn an_agent_searches_within_the_limit_of_depth() {
    let turn = |depth: u32| {
        with_web(
            script(&[
                ("go", vec![Reply::Calls(vec![task("a", "A.", "Go.")]), Reply::Text("Done.")]),
                ("A.", vec![Reply::Calls(vec![websearch("How long?")]), Reply::Text("ok")]),
                ("page https://a.example/", says("Six.")),
                ("page https://b.example/", says("Five.")),
                ("answer How long?", says("Six.")),
            ]),
            TWO,
        )
        .limits(|limits| limits.depth = depth)
        .run()
    };
    let told = |case: &Case| texts(&requests_of(case, "A.")[1])[2].clone();
    assert_eq!(told(&turn(3)), format!("tool: Six.{SOURCES}"));
    assert!(told(&turn(2)).contains("depth limit"), "{}", told(&turn(2)));
}

// CF-06: it crosses no limit of the turn.
#[test]
fn pages_count_as_subtasks() {
    let case = answered().limits(|limits| limits.subtasks = 2).run();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Budget));
    assert!(case.lines().contains(&"budget Subtasks 3 of 2".to_owned()), "{:#?}", case.lines());
    assert_eq!(case.end().message.usage.unwrap().subtasks, 2);
}

// Hooks and the policy meet the calls within as they meet every call.
#[test]
fn hooks_guard_the_pages() {
    let mut case = answered();
    let limit = json!([{"name": "few", "builtin": "planning_mode", "match": ["open_page"]}]);
    case.setting.hooks = from_variable(&limit.to_string()).unwrap();
    let case = case.run();
    let told = &results(&case)[0];
    assert!(
        told.starts_with("error: none of the pages")
            && told.contains("[2] https://b.example/: the page did not come: blocked by hook few"),
        "{told}"
    );
    assert_eq!(case.tools.ran.borrow().len(), 1, "only the search ran");
}

// The sources stay whole where the answer is cut.
#[test]
fn the_sources_stand_below_a_long_answer() {
    let case = answered().limits(|limits| limits.tool_result_bytes = 130).run();
    let told = &results(&case)[0];
    assert!(told.len() <= 130 && told.ends_with(SOURCES), "{told}");
}

// A cheap model that cannot call tools may still read the pages.
#[test]
fn a_model_without_tools_reads_pages() {
    let mut case = answered();
    let mute = Capabilities { tools: false, ..Capabilities::default() };
    case.subtask_chain = Some(Chain::of(offer("mute", mute)));
    assert_eq!(results(&case.run()), [format!("Half a year [1].{SOURCES}")]);
}

// The journal has the addresses, so a replay needs no tool that reads results.
#[test]
fn the_journal_has_the_addresses() {
    let case = answered().run();
    let entries = case.disk.entries.borrow();
    let found: BTreeSet<&String> = entries
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::ToolEnded(end) => Some(&end.addresses),
            _ => None,
        })
        .flatten()
        .collect();
    assert!(found.into_iter().eq(TWO), "{:?}", entries.len());
    let spec = crate::agents::websearch::spec();
    assert!(spec.serial() && spec.serves.is_none());
    let serves = case.spec().tools.into_iter().filter_map(|spec| spec.serves);
    assert!(serves.eq([Serves::WebSearch, Serves::WebPage]));
}
