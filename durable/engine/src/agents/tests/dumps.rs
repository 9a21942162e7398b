//! Agents in files of the workspace: listed, dumped and restored by calls.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::agents::dump_agent::MAX_FILED_BYTES;
use crate::journal::{AgentChange, Fact, MAX_AGENTS};
use crate::toolbelt::ToolRules;
use crate::turn::tests::faults::killed_at_every_commit;

const PATH: &str = "agents/head.json";

/// A turn with agents and tools that read and write files.
pub(super) fn with_files(script: Script, texts: &[(&str, &str)]) -> Case {
    let mut case = with_texts(script, texts);
    Rc::get_mut(&mut case.tools).unwrap().add_writer();
    case
}

fn dump(name: &str) -> (&'static str, Value) {
    ("dump_agent", json!({"name": name, "path": PATH}))
}

fn restore(arguments: Value) -> (&'static str, Value) {
    ("restore_agent", arguments)
}

/// A turn whose agent makes two more and has one of them speak. Then it is dumped.
fn dumped() -> Case {
    let lead = vec![
        Reply::Calls(vec![task("hand", "Work.", "Dig."), task("foot", "Walk.", "")]),
        Reply::Calls(vec![discuss(json!({"prompt": "So?", "speakers": ["hand"], "listeners": ["foot"]}))]),
        Reply::Text("It digs."),
    ];
    let root = vec![
        Reply::Calls(vec![task("head", "Lead.", "Begin."), task("aside", "Wait.", "")]),
        Reply::Calls(vec![("list_agents", json!({})), dump("head")]),
        Reply::Text("Done."),
    ];
    let hand = vec![Reply::Text("Dug."), Reply::Text("So it is.")];
    with_files(script(&[("go", root), ("Lead.", lead), ("Work.", hand)]), &[])
}

/// A turn that dumps an agent and restores it under another name.
pub(crate) fn dumped_and_restored() -> Case {
    let root = vec![
        Reply::Calls(vec![task("head", "Lead.", "Begin."), dump("head")]),
        Reply::Calls(vec![restore(json!({"path": PATH, "as": "twin"}))]),
        Reply::Calls(vec![discuss(json!({"prompt": "And?"}))]),
        Reply::Calls(vec![("locked", json!({}))]),
        Reply::Calls(vec![("locked", json!({}))]),
        Reply::Text("Done."),
    ];
    let lead = vec![Reply::Text("Led."), Reply::Text("I woke.")];
    with_files(script(&[("go", root), ("Lead.", lead)]), &[])
}

/// The same of an agent whose own hook has a state. The hook of the twin goes on where it was.
pub(crate) fn with_hook() -> Case {
    let echo = || ("echo", json!({}));
    let once = json!({"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}});
    let root = vec![
        Reply::Calls(vec![task("head", "Lead.", "Begin."), dump("head")]),
        Reply::Calls(vec![restore(json!({"path": PATH, "as": "twin"}))]),
        Reply::Calls(vec![discuss(json!({"prompt": "And?", "speakers": ["twin"]}))]),
        Reply::Text("Done."),
    ];
    let lead = vec![
        Reply::Calls(vec![("hook", once)]),
        Reply::Calls(vec![echo()]),
        Reply::Text("Led."),
        Reply::Calls(vec![echo()]),
        Reply::Text("I woke."),
    ];
    let mut case = with_files(script(&[("go", root), ("Lead.", lead)]), &[]);
    case.setting.agent_hooks = true;
    case
}

// A-012 A-082
#[test]
fn a_restored_agents_hook_goes_on_where_it_was() {
    let case = with_hook().run();
    assert_eq!(file_of(&case)["hooks"][0]["state"], "1");
    let blocked: Vec<String> = case.lines().into_iter().filter(|line| line.contains(" Block ")).collect();
    assert_eq!(blocked.len(), 1, "{blocked:?}");
    assert!(blocked[0].starts_with("hook 2.0-d0.0-"), "the twin's call alone: {blocked:?}");
}

/// The file that it writes.
fn file_of(case: &Case) -> Value {
    serde_json::from_str(&case.tools.texts.borrow()[PATH]).unwrap()
}

/// A turn of another conversation that reads the file, in which `head` of it leads a discussion.
fn restored(file: &str, calls: Vec<(&'static str, Value)>) -> Case {
    let again = vec![
        Reply::Text("never"),
        Reply::Text("never"),
        Reply::Text("never"),
        Reply::Calls(vec![discuss(json!({"prompt": "Go on."}))]),
        Reply::Text("It went on."),
    ];
    let root = vec![
        Reply::Calls(calls),
        Reply::Calls(vec![discuss(json!({"prompt": "And?"}))]),
        Reply::Text("Done."),
    ];
    let hand = vec![Reply::Text("never"), Reply::Text("never"), Reply::Text("Still digging.")];
    with_files(script(&[("go", root), ("Lead.", again), ("Work.", hand)]), &[(PATH, file)])
}

fn user(text: &str) -> Value {
    json!({"user": {"content": text}})
}

fn agent(text: &str) -> Value {
    json!({"assistant": {"content": text}})
}

// A-098 A-095
#[test]
fn an_agent_is_listed_and_dumped_with_the_agents_below_it() {
    let case = dumped().run();
    let results = results(&case);
    let list = json!({
        "agents": [
            {"name": "aside", "instructions": "Wait.", "heard": 0, "agents": []},
            {"name": "head", "instructions": "Lead.", "heard": 0, "agents": ["foot", "hand"]},
        ],
        "speakers": ["aside"],
        "listeners": [],
    });
    assert_eq!(serde_json::from_str::<Value>(&results[2]).unwrap(), list);
    assert_eq!(results[3], format!("head is dumped: wrote {PATH:?}."));
    let file = file_of(&case);
    assert_eq!(
        (&file["name"], &file["instructions"], &file["speakers"], &file["listeners"], file.get("cut")),
        (&json!("head"), &json!("Lead."), &json!(["hand"]), &json!(["foot"]), None)
    );
    assert_eq!(file["rounds"][0][0], user("Begin."));
    assert_eq!(
        file["agents"],
        json!([
            {"name": "foot", "instructions": "Walk.", "heard": ["So?", says("hand", "So it is.")]},
            {"name": "hand", "instructions": "Work.",
             "rounds": [[user("Dig."), agent("Dug.")], [user("So?"), agent("So it is.")]]},
        ])
    );
}

// A-098 A-095 A-096: the restored agents are agents of the caller, with their agents, memory and people.
#[test]
fn a_dump_is_restored_whole_in_another_conversation() {
    let file = file_of(&dumped().run()).to_string();
    let case = restored(&file, vec![restore(json!({"path": PATH}))]).run();
    let results = results(&case);
    assert_eq!(results, ["restored: head, foot, hand".to_owned(), says("head", "It went on.")]);
    let head = &requests_of(&case, "Lead.")[0];
    let told = texts(head);
    assert_eq!(told[0], "user: Begin.");
    assert!(told.last().unwrap().starts_with("user: [You were restored from a copy"), "{told:?}");
    assert!(told.last().unwrap().ends_with("And?"), "{told:?}");
    let hand = texts(&requests_of(&case, "Work.")[0]);
    assert_eq!(hand[..4], ["user: Dig.", "agent: Dug.", "user: So?", "agent: So it is."]);
    assert!(hand[4].starts_with("user: [You were restored") && hand[4].ends_with("Go on."), "{hand:?}");
    let rows = case.end().agents;
    let parents: Vec<_> =
        rows.iter().map(|row| (row.agent.name.as_str(), row.agent.parent.as_deref())).collect();
    assert_eq!(parents, [("foot", Some("head")), ("hand", Some("head")), ("head", None), ("main", None)]);
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.agent.id.as_str()).collect();
    assert_eq!(ids.len(), 4, "each has an id of its own");
    let foot = rows.iter().find(|row| row.agent.name == "foot").unwrap();
    assert_eq!(foot.agent.heard[..2], ["So?".to_owned(), says("hand", "So it is.")]);
    assert!(foot.agent.heard[2].starts_with("[You were restored"));
}

// A-098: a text that is longer than one result is read whole, after the call that reads its beginning.
#[test]
fn a_long_dump_is_read_by_one_call() {
    let round = |text: &str| json!([user(&text.repeat(3_000)), agent("Yes.")]);
    let file =
        json!({"name": "head", "instructions": "Lead.", "rounds": [round("a"), round("b"), round("c")]});
    let case = restored(&file.to_string(), vec![restore(json!({"path": PATH, "as": "chief"}))]).run();
    assert_eq!(results(&case)[0], "restored: chief");
    let reads = case.tools.ran.borrow().iter().filter(|ran| ran.starts_with("look_at")).count();
    assert_eq!(reads, 1);
    assert_eq!(texts(&requests_of(&case, "Lead.")[0])[4].len(), "user: ".len() + 3_000);
}

// A-098 A-095: all or nobody.
#[test]
fn a_dump_that_cannot_be_restored_makes_nobody() {
    let small = |name: &str| json!({"name": name, "instructions": "A."});
    let with = |name: &str, agents: Value| json!({"name": name, "instructions": "A.", "agents": agents});
    let many: Vec<Value> = (0..MAX_AGENTS - 1).map(|number| small(&format!("a{number}"))).collect();
    let bad_round = json!({"name": "b", "instructions": "", "rounds": [[user("x"), {"assistant": {"content": "", "raw": {}}}]]});
    let table = [
        (json!("text"), "an object"),
        (with("head", json!([small("foot"), small("aside")])), "these names are taken: aside. `as` gives"),
        (with("aside", json!([with("c", json!([small("hand")]))])), "these names are taken: aside, hand."),
        (small("main"), "these names are taken: main"),
        (
            with("b", json!([small("main")])),
            "at agents[0].name: it is the name of the agent that answers the user",
        ),
        (with("b", json!([small("c"), small("c")])), "two agents of the dump have the name \"c\""),
        (with("b", json!([{"name": "c", "instructions": "", "code": "echo"}])), "at agents[0].code"),
        (
            with("b", json!([{"name": "c", "instructions": "", "speakers": ["b"]}])),
            "at agents[0].speakers[0]",
        ),
        (
            json!({"name": "b", "instructions": "", "agents": [small("c")], "listeners": ["c", "c"]}),
            "at listeners[1]",
        ),
        (
            json!({"name": "b", "instructions": "", "hooks": [{"name": "h", "on": "action", "builtin": "loop_guard"}]}),
            "at hooks: agents make no hooks here",
        ),
        (
            json!({"name": "b", "instructions": "", "hooks": [{"name": "h", "on": "action", "builtin": "none"}]}),
            "at hooks[0].builtin",
        ),
        (with("b", json!([bad_round])), "at agents[0].rounds[0][1].assistant.raw"),
        (with("b", json!(many)), "there are 2, and the dump has 16"),
    ];
    for (file, problem) in table {
        let calls =
            vec![task("aside", "Wait.", ""), task("hand", "Hold.", ""), restore(json!({"path": PATH}))];
        let root = vec![Reply::Calls(calls), Reply::Text("Done.")];
        let case = with_files(script(&[("go", root)]), &[(PATH, &file.to_string())]).run();
        let result = &results(&case)[2];
        assert!(
            result.starts_with("error: nobody was restored") && result.contains(problem),
            "{file}: {result}"
        );
        let names: Vec<String> = case.end().agents.into_iter().map(|row| row.agent.name).collect();
        assert_eq!(names, ["aside", "hand", "main"], "{file}");
    }
}

// A-098: other refusals, each of which names its reason.
#[test]
fn a_call_without_its_file_or_its_agent_is_refused() {
    let table = [
        (dump("nobody"), "you have no agent \"nobody\""),
        (restore(json!({"path": "none.json"})), "the dump \"none.json\" was not read: there is no"),
        (restore(json!({"path": PATH, "as": "main"})), "at as: it is the name of the agent"),
        (restore(json!({"path": PATH, "as": "A b"})), "at as: it must begin"),
        (restore(json!({})), "at path"),
    ];
    for (call, problem) in table {
        let root = vec![Reply::Calls(vec![call.clone()]), Reply::Text("Done.")];
        let case = with_files(script(&[("go", root)]), &[(PATH, "{}")]).run();
        let result = &results(&case)[0];
        assert!(result.starts_with("error: ") && result.contains(problem), "{call:?}: {result}");
        assert_eq!(case.end().agents, []);
    }
    // An agent of an agent is none of the caller's.
    let root = vec![
        Reply::Calls(vec![task("head", "Lead.", "Begin.")]),
        Reply::Calls(vec![dump("hand")]),
        Reply::Text("Done."),
    ];
    let lead = vec![Reply::Calls(vec![task("hand", "Work.", "")]), Reply::Text("Led.")];
    let case = with_files(script(&[("go", root), ("Lead.", lead)]), &[]).run();
    assert!(results(&case)[1].contains("you have no agent \"hand\""), "{:?}", results(&case));
    // A file that is there is not overwritten unread.
    let root = vec![Reply::Calls(vec![task("head", "Lead.", ""), dump("head")]), Reply::Text("Done.")];
    let case = with_files(script(&[("go", root)]), &[(PATH, "notes")]).run();
    assert!(results(&case)[1].starts_with("error: there is a"), "{:?}", results(&case));
}

// A-098: the inner calls are calls like any. Rules hold for them.
#[test]
fn rules_hold_for_the_files_of_dumps() {
    let file = json!({"name": "head", "instructions": "Lead."}).to_string();
    let offered = |rules: &str| {
        let root = vec![
            Reply::Calls(vec![task("mine", "A.", ""), ("dump_agent", json!({"name": "mine", "path": "b"}))]),
            Reply::Calls(vec![restore(json!({"path": PATH}))]),
            Reply::Text("Done."),
        ];
        let mut case = with_files(script(&[("go", root)]), &[(PATH, &file)]);
        let rules: ToolRules = serde_json::from_str(rules).unwrap();
        case.policy = case.policy.narrowed(rules, BTreeSet::new());
        case.offered_by = case.policy.clone();
        let case = case.run();
        let tools = &case.model.requests.borrow()[0].tools;
        let has = |name: &str| tools.iter().any(|tool| tool.name == name);
        (
            has("dump_agent"),
            has("restore_agent"),
            results(&case)[1].starts_with("error"),
            results(&case)[2].clone(),
        )
    };
    let restored = "restored: head".to_owned();
    assert_eq!(offered("{}"), (true, true, false, restored.clone()));
    assert_eq!(offered(r#"{"put_down": "off"}"#), (false, true, true, restored));
    let (dumps, restores, failed, result) = offered(r#"{"look_at": "off"}"#);
    assert_eq!((dumps, restores, failed, result.starts_with("error")), (true, false, false, true));
    // A turn that may make no agents restores none.
    let (dumps, restores, _, result) = offered(r#"{"task": "off"}"#);
    assert_eq!((dumps, restores, result.starts_with("error")), (true, false, true));
}

// Issue 45, 14: where making an agent asks, restoring one asks as well, until a person has approved that.
#[test]
fn a_restore_asks_where_a_task_asks() {
    let asks = |rules: &str, approved: &[&str]| {
        let mut case = with_files(script(&[]), &[]);
        let rules: ToolRules = serde_json::from_str(rules).unwrap();
        let approved = approved.iter().map(|name| (*name).to_owned()).collect();
        case.offered_by = case.offered_by.narrowed(rules, approved);
        case.spec().tools.into_iter().find(|tool| tool.name == "restore_agent").map(|tool| tool.ask)
    };
    assert_eq!(asks("{}", &[]), Some(false));
    assert_eq!(asks(r#"{"task": "ask"}"#, &[]), Some(true));
    assert_eq!(asks(r#"{"task": "ask"}"#, &["task"]), Some(false));
    assert_eq!(asks(r#"{"task": "ask"}"#, &["restore_agent"]), Some(false));
    assert_eq!(asks(r#"{"restore_agent": "ask"}"#, &["task"]), Some(true));
    assert_eq!(asks(r#"{"task": "off"}"#, &[]), None);
}

// A-095 A-098: a file has at most so many bytes. The oldest rounds of all agents go first.
#[test]
fn the_oldest_rounds_of_a_long_agent_stay_out_of_its_file() {
    let long = |letter: char| letter.to_string().repeat(MAX_FILED_BYTES / 4);
    let ask = |letter: char| ("task", json!({"name": "head", "prompt": long(letter)}));
    let root = vec![
        Reply::Calls(vec![task("head", "Lead.", &long('a'))]),
        Reply::Calls(vec![ask('b')]),
        Reply::Calls(vec![ask('c')]),
        Reply::Calls(vec![ask('d')]),
        Reply::Calls(vec![dump("head")]),
        Reply::Text("Done."),
    ];
    let answers = ["1", "2", "3", "4"].map(Reply::Text).to_vec();
    let case = with_files(script(&[("go", root), ("Lead.", answers)]), &[]).run();
    let end = results(&case).pop().unwrap();
    assert!(end.ends_with("Its oldest rounds were left out."), "{end}");
    let file = file_of(&case);
    assert!(file.to_string().len() <= MAX_FILED_BYTES);
    let answers: Vec<&str> = file["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round[1]["assistant"]["content"].as_str().unwrap())
        .collect();
    assert_eq!((answers, &file["cut"]), (vec!["2", "3", "4"], &json!(true)));
}

// A-098: a run that takes the turn up writes and reads no file twice, and makes each agent once.
#[test]
fn a_dump_and_a_restore_that_die_happen_once() {
    killed_at_every_commit(dumped_and_restored);
    let whole = dumped_and_restored().run();
    assert_eq!(results(&whole)[2..4], ["restored: twin".to_owned(), says("twin", "I woke.")]);
    for dies_after in 1..whole.disk.commits.get() {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let mut case = dumped_and_restored();
            case.run_with(Some(kill), |_, _| {});
            case.resume(None);
            case.check();
            assert_eq!(results(&case), results(&whole), "{kill:?}");
            assert_eq!(case.end().agents, whole.end().agents, "{kill:?}");
            assert_eq!(file_of(&case), file_of(&whole), "{kill:?}");
            let entries = case.disk.entries.borrow();
            let made = entries.iter().filter_map(|entry| match &entry.fact {
                Fact::ToolEnded(end) => Some(&end.agents),
                Fact::Agents(changes) => Some(changes),
                _ => None,
            });
            let made = made.flatten().filter(|change| matches!(change, AgentChange::Made { .. })).count();
            assert_eq!(made, 2, "{kill:?}");
        }
    }
}

// A-098: an agent of an earlier turn is dumped with what it remembers of it, and its rounds are not read into the journal.
#[test]
fn a_dump_has_the_rounds_of_earlier_turns() {
    let root = vec![Reply::Calls(vec![task("head", "Lead.", "Begin.")]), Reply::Text("Done.")];
    let first = with_files(script(&[("go", root), ("Lead.", vec![Reply::Text("Led.")])]), &[]).run();
    let root = vec![Reply::Calls(vec![dump("head")]), Reply::Text("Done.")];
    let mut second = after(&first, script(&[("go", root)]));
    let tools = Rc::get_mut(&mut second.tools).unwrap();
    tools.add_readers();
    tools.add_writer();
    second.policy.allowed_mcp_servers.insert("library".to_owned());
    second.offered_by = second.policy.clone();
    let second = second.run();
    assert_eq!(file_of(&second)["rounds"], json!([[user("Begin."), agent("Led.")]]));
    assert_eq!((second.end().agents, second.agents.reads.get()), (vec![], 1));
}
