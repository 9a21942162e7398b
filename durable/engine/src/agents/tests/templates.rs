//! Templates that are files of the workspace or resources of a server: each is read by a call of its own.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::journal::{Answer, CallRecord, Entry, Fact};
use crate::record::keys::WireIds;
use crate::toolbelt::ToolRules;
use crate::turn::tests::faults::killed_at_every_commit;
use wire::protocol::{Awaited, FinishReason};

const FILE: &str = "workspace:critic.md";
const RESOURCE: &str = "mcp:library:notes://critic";
const TEXTS: &[(&str, &str)] = &[("critic.md", "Be strict."), ("notes://critic", "Be strict.")];

fn critic(template: &str) -> (&'static str, Value) {
    ("task", json!({"name": "critic", "template": template, "prompt": "Apples?"}))
}

/// The turn that journals of former code have within the call: those read the file without a call of its own.
pub(crate) fn from_file() -> Case {
    from(FILE)
}

/// A turn that makes a critic from a template, and has it answer.
fn from(template: &str) -> Case {
    let levels = script(&[
        ("go", vec![Reply::Calls(vec![critic(template)]), Reply::Text("Done.")]),
        ("Be strict.", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Sour.")]),
    ]);
    with_texts(levels, TEXTS)
}

/// The runs of the tools that read.
fn read(case: &Case) -> Vec<String> {
    let ran = case.tools.ran.borrow();
    ran.iter().filter(|ran| ran.starts_with("look_at") || ran.starts_with("fetch_note")).cloned().collect()
}

fn with_rule(rule: &str, mut case: Case) -> Case {
    let rules: ToolRules = serde_json::from_str(rule).unwrap();
    case.policy = case.policy.narrowed(rules, BTreeSet::new());
    case.offered_by = case.policy.clone();
    case
}

// Issue 42, M2. A-024 A-035: the whole story of a template that is a file.
#[test]
fn a_template_is_read_by_a_call_of_its_own() {
    let case = from(FILE).run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:task",
            "tool 0.0 task Start",
            "tool 0.0-read-0.0 look_at Start in 0.0 depth 1",
            "tool 0.0-read-0.0 look_at End \"<text>\\nBe strict.\\n</text>\" in 0.0 depth 1",
            "agent critic Created in 0.0",
            "tool 0.0-d0.0 agent_reply Start in 0.0 depth 1",
            "agent critic Speaking in 0.0-d0.0",
            "model 0.0-d0.0-0 start in 0.0-d0.0 depth 2",
            "model 0.0-d0.0-0 End tool_calls in 0.0-d0.0 depth 2",
            "tool 0.0-d0.0-0.0 echo Start in 0.0-d0.0 depth 2",
            "tool 0.0-d0.0-0.0 echo End \"echo {}\" in 0.0-d0.0 depth 2",
            "model 0.0-d0.0-1 start in 0.0-d0.0 depth 2",
            "chunk 0.0-d0.0-1.0 \"Sour.\" in 0.0-d0.0 depth 2",
            "chunk 0.0-d0.0-1.0 \"\" done in 0.0-d0.0 depth 2",
            "model 0.0-d0.0-1 End stop in 0.0-d0.0 depth 2",
            "tool 0.0-d0.0 agent_reply End \"Sour.\" in 0.0 depth 1",
            "agent critic Silent in 0.0-d0.0",
            "tool 0.0 task End \"Sour.\"",
            "state thinking",
            "model 1 start",
            "chunk 1.0 \"Done.\"",
            "chunk 1.0 \"\" done",
            "model 1 End stop",
            "cost 4 llm 4 tools 1 subtasks",
            "done Stop",
        ]
    );
    let end = case.end();
    let rows = end.calls.iter().filter_map(|row| match row {
        CallRecord::Tool { tool_name, .. } => Some(tool_name.as_str()),
        _ => None,
    });
    assert_eq!(rows.collect::<Vec<_>>(), ["look_at", "echo", "agent_reply", "task"], "rows of tool_usage");
    let tree = end.message.execution_tree.unwrap();
    let of_call = |name: &str| tree.nodes.iter().find(|node| node.name == name).unwrap();
    assert_eq!(of_call("look_at").parent_id.as_ref(), Some(&of_call("task").id));
}

// Issue 42, M2. A-103: a resource is read by the tool of its own server.
#[test]
fn a_resource_is_read_by_a_tool_of_its_server() {
    let case = from(RESOURCE).run();
    assert_eq!(read(&case), [r#"fetch_note {"uri":"notes://critic"}"#]);
    assert_eq!(results(&case), ["Sour."]);
    for (template, why) in [
        ("mcp:shop:notes://critic", "you have no tool that reads it"),
        ("mcp:library", "expected mcp:SERVER:URI"),
        ("mcp:library:notes://none", "there is no \"notes://none\""),
        ("workspace:none.md", "there is no \"none.md\""),
    ] {
        let case = from(template).run();
        let [result] = results(&case).try_into().unwrap();
        assert!(result.starts_with("error: ") && result.ends_with(why), "{template}: {result}");
        assert_eq!(case.end().agents, [], "{template}");
    }
}

// Issue 42, M2: the operator's hook blocks the read, and the reason is the result of the call that needs it.
#[test]
fn a_hook_that_blocks_the_read_refuses_the_agent() {
    let hooks = json!([
        {"name": "files", "builtin": "loop_guard", "match": ["look_at"], "options": {"times": 1}},
        {"name": "notes", "builtin": "loop_guard", "match": ["fetch_*"], "options": {"times": 1}},
    ]);
    for (template, hook) in [(FILE, "files"), (RESOURCE, "notes")] {
        let mut case = from(template);
        case.setting.hooks = from_variable(&hooks.to_string()).unwrap();
        let case = case.run();
        assert_eq!(read(&case), [""; 0], "{template}");
        assert_eq!(case.end().agents, [], "{template}");
        let [result] = results(&case).try_into().unwrap();
        let told = format!("error: the template {template:?} was not read: blocked by hook {hook}: ");
        assert!(result.starts_with(&told), "{result}");
        let asked: Vec<String> = case.lines().into_iter().filter(|line| line.starts_with("hook ")).collect();
        assert_eq!(asked.len(), 1, "{asked:?}");
    }
}

// Issue 42, M2: a hook of the main agent alone watches what is read for its calls, and nothing of other agents.
#[test]
fn a_hook_of_the_main_agent_watches_its_reads() {
    let lead = ("task", json!({"name": "lead", "instructions": "Lead.", "prompt": "Go."}));
    let levels = script(&[
        ("go", vec![Reply::Calls(vec![critic(FILE), lead]), Reply::Text("Done.")]),
        ("Lead.", vec![Reply::Calls(vec![critic(FILE)]), Reply::Text("It said so.")]),
        ("Be strict.", vec![Reply::Text("Sour.")]),
    ]);
    let mut case = with_texts(levels, TEXTS);
    let hooks = json!([{"name": "main", "of": "main", "builtin": "loop_guard", "match": ["look_at"], "options": {"times": 1}}]);
    case.setting.hooks = from_variable(&hooks.to_string()).unwrap();
    let case = case.run();
    assert!(results(&case)[0].contains("was not read: blocked by hook main"), "{:?}", results(&case));
    assert_eq!(texts(&requests_of(&case, "Lead.")[1])[2], "tool: Sour.");
}

// Issue 42, M2: a model judges the read like any call, with its path.
#[test]
fn a_guard_that_asks_a_model_sees_the_path() {
    let levels = script(&[
        ("go", vec![Reply::Calls(vec![critic(FILE)]), Reply::Text("Done.")]),
        (
            r#"no secrets look_at {"path":"critic.md"}"#,
            vec![Reply::Calls(vec![(
                "finish_subtask",
                json!({"decision": "block", "text": "it is secret"}),
            )])],
        ),
    ]);
    let mut case = with_texts(levels, TEXTS);
    let guard =
        json!([{"name": "guard", "on": "action", "match": ["look_at"], "instructions": "no secrets"}]);
    case.setting.hooks = from_variable(&guard.to_string()).unwrap();
    let case = case.run();
    assert_eq!(read(&case), [""; 0]);
    let told = format!("error: the template {FILE:?} was not read: blocked by hook guard: it is secret");
    assert_eq!(results(&case), [told]);
}

// Issue 42, M2: a person is asked, and their answer holds.
#[test]
fn a_person_is_asked_before_the_read() {
    for (answer, result, reads) in [
        (Answer::Approve, "Sour.", 1),
        (Answer::Deny, "error: the template \"workspace:critic.md\" was not read: The user did not allow", 0),
        (Answer::Expired, "error: the template \"workspace:critic.md\" was not read: The time to allow", 0),
    ] {
        let mut case = with_rule(r#"{"look_at": "ask"}"#, from(FILE));
        case.run_with(None, |_, _| {});
        assert!(case.is_parked() && read(&case).is_empty(), "{:?}", case.lines());
        let id = WireIds::new("turn").approval("0.0-read-0.0");
        case.say(None, |turn| turn.answer(&id, Awaited::Approval, answer.clone()).unwrap());
        case.check();
        assert!(results(&case)[0].starts_with(result), "{:?}", results(&case));
        assert_eq!(read(&case).len(), reads, "{answer:?}");
    }
}

// Issue 42, M2: a level reads no more than its own tools can. The tools of another level do not count.
#[test]
fn a_level_without_the_tool_reads_nothing() {
    let off = with_rule(r#"{"look_at": "off", "fetch_note": "off"}"#, from(FILE)).run();
    assert!(results(&off)[0].ends_with("you have no tool that reads it"), "{:?}", results(&off));
    assert!(read(&off).is_empty());
    // The policy at the call may be narrower than the one that offered the tool.
    let mut late = from(FILE);
    late.policy.classes.remove(&crate::toolbelt::PermissionClass::WorkspaceWrite);
    let late = late.run();
    assert!(results(&late)[0].contains("the tool \"look_at\" is not available"), "{:?}", results(&late));
    assert!(read(&late).is_empty());
    let levels = script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![(
                    "task",
                    json!({"name": "lead", "instructions": "Lead.", "tools": ["task"], "prompt": "Go."}),
                )]),
                Reply::Text("Done."),
            ],
        ),
        ("Lead.", vec![Reply::Calls(vec![critic(FILE)]), Reply::Text("I could not.")]),
    ]);
    let narrow = with_texts(levels, TEXTS).run();
    let told = texts(&requests_of(&narrow, "Lead.")[1]);
    assert!(told[2].ends_with("you have no tool that reads it"), "{told:?}");
    assert!(read(&narrow).is_empty());
}

// Issue 42, M2: the read counts as a tool call, at the limit and beyond it.
#[test]
fn the_budget_counts_the_read() {
    let with = |most: u32| {
        let levels = [("go", vec![Reply::Calls(vec![critic(FILE)]), Reply::Text("Done.")])];
        let levels = levels.into_iter().chain([("Be strict.", vec![Reply::Text("Sour.")])]);
        let case = with_texts(script(&levels.collect::<Vec<_>>()), TEXTS);
        case.limits(|limits| limits.tool_calls = most).run()
    };
    let fits = with(3);
    assert_eq!(fits.end().message.finish_reason, Some(FinishReason::Stop));
    assert_eq!(fits.end().message.usage.unwrap().tool_calls, 3, "the task, the read, the answer");
    let beyond = with(1);
    assert_eq!(beyond.end().message.finish_reason, Some(FinishReason::Budget));
    assert!(read(&beyond).is_empty() && beyond.end().agents.is_empty());
}

// Issue 42, M2: a text that is not whole makes no agent.
#[test]
fn a_cut_text_is_no_template() {
    let long = format!("Be strict.{}", " ".repeat(2_000));
    let case = with_texts(
        script(&[("go", vec![Reply::Calls(vec![critic(FILE)]), Reply::Text("Done.")])]),
        &[("critic.md", &long)],
    );
    let case = case.limits(|limits| limits.tool_result_bytes = 1_000).run();
    assert_eq!(results(&case), ["error: it is not whole"]);
    assert_eq!(case.end().agents, []);
}

// Issue 42, M2: a run that is lost at any commit has the file read at most once more where the read had no end.
#[test]
fn a_read_that_ended_is_not_repeated() {
    let locked = || Reply::Calls(vec![("locked", json!({}))]);
    killed_at_every_commit(|| {
        let other = ("task", json!({"name": "other", "template": RESOURCE, "prompt": "Pears?"}));
        let made = Reply::Calls(vec![critic(FILE), other]);
        let root = vec![locked(), made, locked(), Reply::Text("Done.")];
        with_texts(script(&[("go", root), ("Be strict.", vec![Reply::Text("Sour.")])]), TEXTS)
    });
    let commits = from_file().run().disk.commits.get();
    let mut repeated = 0;
    for dies_after in 1..commits {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let mut case = from_file();
            case.run_with(Some(kill), |_, _| {});
            let is_end =
                |entry: &Entry| entry.at == "0.0-read-0.0" && matches!(entry.fact, Fact::ToolEnded(_));
            let had_ended = case.disk.count(is_end) > 0;
            let before = read(&case).len();
            case.resume(None);
            case.check();
            let again = read(&case).len() - before;
            assert_eq!(again, usize::from(!had_ended), "{kill:?}");
            repeated += usize::from(before == 1 && again == 1);
            assert_eq!(results(&case), ["Sour."], "{kill:?}");
        }
    }
    assert!(repeated > 0, "no run was lost within the read");
}

// Issue 42, M2: journals of former code, whose runs were lost within the call. One has read the template without a call
// and goes on with it. The other has not, and its tools do not say what they read.
#[test]
fn a_journal_of_former_code_goes_on_within_the_call() {
    let journal = |moment: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/journal/golden/2");
        std::fs::read_to_string(format!("{folder}/template-read-within.{moment}.jsonl")).unwrap()
    };
    for (moment, reads) in [("middle", 1), ("late", 0)] {
        let text = journal(moment);
        assert!(!text.contains("\"reads\""), "{moment}");
        let mut case = from_file();
        case.disk.found(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect());
        case.resume(None);
        assert_eq!(results(&case), ["Sour."], "{moment}");
        assert_eq!(read(&case).len(), reads, "{moment}");
        assert_eq!(requests_of(&case, "Be strict.").len(), 2, "{moment}");
    }
}
