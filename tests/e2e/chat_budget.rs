//! The limits of a turn, at the numbers of the profile `thread`: one turn for each. The engine's tests prove their rules
//! (`durable/engine/src/turn/tests/budget.rs`).
//!
//! N-034 N-039 N-053 N-118 N-119 N-120 N-130 N-136 N-137 N-139 N-141 N-142 N-143 N-144 N-147 N-148 N-174 N-194 N-195
//! N-197 N-204 N-224

use espalier_test_support::case::first;
use espalier_test_support::{
    Case, Event, Outcome, Step, Value, call, calls, cost_line, deltas, json, story, text, tree,
};

/// The last events of a turn, from the limit on.
fn last_words(events: &[Event]) -> Vec<String> {
    let story = story(events);
    let from =
        story.iter().position(|line| line.starts_with("budget_exceeded")).expect("a budget was exceeded");
    story[from..].to_vec()
}

fn time() -> Step {
    call("current_time", json!({}))
}

fn times(count: usize) -> Step {
    calls((0..count).map(|_| ("current_time", json!({}))))
}

// N-034 N-119 N-136 N-143 N-147 N-195 N-204 N-224: calls of a subtask count like the root's; call 201 is not made.
#[tokio::test]
async fn two_hundred_tool_calls() {
    let case = Case::new().await;
    // 1 run_subtask + 2 rounds of 25 in it + 5 rounds of 25 + 24 = 200.
    let rounds =
        [times(25), times(25), times(25), times(25), times(25), times(24), time().saying("One more.")];
    case.script("", std::iter::once(calls([case.subtask("Count", "a")])).chain(rounds)).await;
    case.script("a", [times(25), times(25), text("50")]).await;
    let events = case.chat("Ask for the time, often").await;
    assert_eq!(
        last_words(&events),
        [
            "budget_exceeded tool_calls limit=200 observed=201",
            "error budget_exceeded retryable=false",
            &cost_line(11, 200, 1),
            "done message:2 budget",
        ]
    );
    // Each of the 200 calls that ran has an end; the refused one has an end too, with an error.
    let refused =
        tree::ends(&events, "current_time").iter().filter(|end| end.data["is_error"] == true).count();
    let made = tree::ends(&events, "current_time").len() - refused;
    assert_eq!((made, refused), (199, 1));
    // N-130 N-148
    let stored = case.stored(&events).await;
    assert!(stored["content"].as_str().unwrap_or_default().contains("One more."), "{}", stored["content"]);

    // N-034: the next turn has its own budget, and a history that the provider accepts.
    case.script("next", [time(), text("Now.")]).await;
    let thread = first(&events, "session").text("thread_id");
    let next =
        case.chat_with(&json!({ "thread_id": thread, "content": case.said("And now?", "next") })).await;
    assert_eq!(
        story(&next)[story(&next).len() - 2..],
        [cost_line(2, 1, 0), "done message:2 stop".to_owned()]
    );
}

// N-053 N-120 N-139 N-142 N-194: each subtask has twenty iterations of its own, and the turn has sixty model calls in
// all.
#[tokio::test]
async fn sixty_model_calls() {
    let case = Case::new().await;
    let spawn = |path: &str| calls([case.subtask(path, path)]);
    case.script("", [spawn("a"), spawn("b"), spawn("c"), text("never")]).await;
    for path in ["a", "b", "c"] {
        case.endless_script(path, [time().saying("Again.")]).await;
    }
    let events = case.chat("Loop").await;
    assert_eq!(
        last_words(&events),
        [
            "budget_exceeded llm_calls limit=60 observed=61",
            "error budget_exceeded retryable=false",
            // Three by the root, 20 + 20 + 17 by its children; the calls of the last round ran.
            &cost_line(60, 60, 3),
            "done message:2 budget",
        ]
    );
    assert_eq!(case.all_requests().await.requests.len(), 60);
    for (path, count) in [("", 3), ("a", 20), ("b", 20), ("c", 17)] {
        assert_eq!(case.requests(path).await.requests.len(), count, "{path}");
    }
    // A level that loops fails alone: its parent goes on.
    let ends = tree::ends(&events, "run_subtask");
    assert!(ends[0].text("result").contains("iteration"), "{}", ends[0].text("result"));
    assert!(ends.iter().all(|end| end.data["is_error"] == true));
}

// N-137 N-141: the 33rd subtask is refused. The first 24 are done, and so are the third round's first eight; its ninth is one too many.
#[tokio::test]
async fn the_thirty_third_subtask_of_the_root() {
    let case = Case::new().await;
    let names: Vec<String> = (0..36).map(|number| format!("child-{number}")).collect();
    let rounds = names
        .chunks(12)
        .map(|round| calls(round.iter().map(|name| case.subtask(name, name)).collect::<Vec<_>>()));
    case.script("", rounds.collect::<Vec<_>>()).await;
    for name in &names {
        case.script(name, [text(name)]).await;
    }
    let events = case.chat("Divide and conquer").await;
    assert_eq!(
        last_words(&events),
        [
            "budget_exceeded subtasks limit=32 observed=33",
            "error budget_exceeded retryable=false",
            &cost_line(35, 32, 32),
            "done message:2 budget",
        ]
    );
    // All 36 have an end, and the last four ends tell that the calls were not made.
    let ends = tree::ends(&events, "run_subtask");
    assert_eq!(ends.len(), 36);
    assert_eq!(ends.iter().filter(|end| end.data["is_error"] == true).count(), 4);
}

/// A message in the context whose turns have 10 s at this instance.
fn short(case: &Case, message: &str) -> Value {
    json!({ "content": case.said(message, ""), "chat_context": { "kind": "thread", "context_type": "project_create" } })
}

// N-144 N-148 N-195 N-197: the clock ends a provider that has fallen silent, and its connection with it.
#[tokio::test]
async fn the_wall_clock_ends_a_silent_provider() {
    let case = Case::new().await;
    case.script("", [time(), deltas(["Once ", "upon "]).hanging()]).await;
    let events = case.chat_with(&short(&case, "Tell me a story")).await;
    assert_eq!(
        last_words(&events),
        [
            "budget_exceeded wall_clock limit=10000",
            "error budget_exceeded retryable=false",
            // A model call that was cut off was made, and its cost is unknown.
            "cost_summary llm=2 tools=1 subtasks=0 in=10 cached=0 out=5 usd=null; \
             fake-1: llm=2 in=10 cached=0 out=5 usd=null",
            "done message:2 budget",
        ]
    );
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
    assert_eq!(case.stored(&events).await["content"], "Once upon ");
}

// N-144: the same inside a subtask, whose call still gets its result.
#[tokio::test]
async fn the_wall_clock_ends_a_silent_subtask() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("Slow", "a"), case.subtask("Quick", "b")]).saying("Both:")]).await;
    case.script("a", [text("I am").hanging()]).await;
    case.script("b", [text("ready")]).await;
    let events = case.chat_with(&short(&case, "Both")).await;
    assert_eq!(last_words(&events)[0], "budget_exceeded wall_clock limit=10000");
    case.llm.wait_for(&case.marker("a"), 1, Outcome::Aborted).await;
    let ends = tree::ends(&events, "run_subtask");
    assert_eq!((ends[0].text("result"), ends[0].data["is_error"] == true), ("ready", false));
    assert!(ends[1].data["is_error"] == true, "{:#}", ends[1].data);
    assert_eq!(case.stored(&events).await["content"], "Both:");
}
