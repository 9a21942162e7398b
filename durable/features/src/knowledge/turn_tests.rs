//! Tests of retrieved context and of the memory tools in whole turns, with kills.

use std::rc::Rc;

use serde_json::json;

use crate::knowledge::Memories;
use crate::knowledge::memories::in_memory::InMemory;
use crate::knowledge::memories::tools;
use engine::testing::*;
use engine::turn::request_tokens;
use wire::model::{Message, ModelRequest};

const FOUND: &str = "<long_term_memory>likes tea</long_term_memory>";

fn case(script: Script) -> (Case, Rc<InMemory>) {
    let memories = Rc::new(InMemory::default());
    let mut case = Case::new(script);
    let over: Rc<dyn Memories> = Rc::clone(&memories) as _;
    Rc::get_mut(&mut case.tools).unwrap().add(tools(&over));
    case.retrieved = Some(FOUND.to_owned());
    (case, memories)
}

fn work() -> Script {
    let remember = |content: &str| ("remember", json!({ "content": content }));
    script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![remember("has a dog"), remember("has a dog"), subtask("child")]),
                Reply::Text("Done."),
            ],
        ),
        ("child", vec![Reply::Calls(vec![remember("has a cat")]), Reply::Text("Mine.")]),
    ])
}

fn said(request: &ModelRequest) -> Vec<String> {
    let of_user = |message: &Rc<Message>| match &**message {
        Message::User { content } => Some(content.text().into_owned()),
        _ => None,
    };
    request.messages.iter().filter_map(of_user).collect()
}

// N-031 N-032 N-151: every request of the root has the retrieved context before the user's message. The conversation
// does not store it, and subtasks do not see it.
#[test]
fn retrieved_context_precedes_the_message() {
    let (mut case, _) = case(work());
    let user = |text: &str| Message::User { content: text.into() };
    case.history =
        vec![user("before"), Message::Assistant { content: "yes".to_owned(), tool_calls: vec![], raw: None }];
    let case = case.run();
    let requests = case.model.requests.borrow();
    for request in requests.iter() {
        let said = said(request);
        match said.last().map(String::as_str) {
            Some("child") => assert_eq!(said, ["child"]),
            _ => assert_eq!(said, ["before", FOUND, "go"]),
        }
    }
    assert_eq!(case.end().history.first(), Some(&user("go")));
    assert!(!format!("{:?}", case.end().history).contains("long_term_memory"));
}

// N-032 N-146: the context limit counts it, and pruning removes it last.
#[test]
fn retrieved_context_is_pruned_with_the_rest() {
    let before = "before".repeat(100);
    let sent = |spare: u64| {
        let (mut case, _) = case(script(&[("go", vec![Reply::Text("Done.")])]));
        case.history = vec![Message::User { content: before.as_str().into() }];
        let whole = request_tokens(&{
            let (whole, _) = self::case(script(&[("go", vec![Reply::Text("Done.")])]));
            let whole = whole.run();
            whole.model.requests.borrow()[0].clone()
        });
        let case = case.limits(|limits| limits.history_tokens = whole + spare).run();
        said(&case.model.requests.borrow()[0])
    };
    // Beside its text a message costs 8 tokens, the one before 158 in all.
    assert_eq!(sent(158), [before.as_str(), FOUND, "go"]);
    assert_eq!(sent(157), [FOUND, "go"]);
    // A cut leaves three fifths of the limit.
    assert_eq!(sent(0), ["go"]);
}

// N-032: a repeated call writes once, and a replay uses the frozen entry 0.
#[test]
fn a_kill_at_every_commit_remembers_nothing_twice() {
    let (whole, memories) = case(work());
    let whole = whole.run();
    let contents = |memories: &InMemory| {
        let mut rows: Vec<String> = memories.rows.borrow().iter().map(|row| row.content.clone()).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(contents(&memories), ["has a cat", "has a dog"]);
    for dies_after in 1..whole.disk.commits.get() {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let (mut case, memories) = case(work());
            case.run_with(Some(kill), |_, _| {});
            case.resume(None);
            case.check();
            assert_eq!(contents(&memories), ["has a cat", "has a dog"], "{kill:?}");
            let ends = |case: &Case| {
                let lines = case.lines().into_iter();
                lines.filter(|line| line.contains("remember End")).collect::<Vec<_>>()
            };
            assert_eq!(ends(&case), ends(&whole), "{kill:?}");
            let last = case.model.requests.borrow().last().map(said).unwrap_or_default();
            assert!(last.first().is_some_and(|first| first == FOUND), "{kill:?}: {last:?}");
        }
    }
}
