//! The lives of agents: the states of their hooks, and the files that they know, over answers and turns.

use std::rc::Rc;

use super::*;
use crate::journal::{AgentLife, KnownFile, MAIN};
use crate::turn::tests::faults::killed_at_every_commit;
use crate::versions::Versions;
use wire::model::Message;
use wire::protocol::Hook;

/// The next turn of the same conversation, with the same hooks.
pub(super) fn after(before: &Case, script: Script) -> Case {
    let mut case = Case::new(script);
    let end = before.end();
    case.setting.hooks = before.setting.hooks.clone();
    case.setting.agent_hooks = before.setting.agent_hooks;
    case.agents = Rc::new(KeptAgents::clone(&before.agents));
    case.history = before.history.iter().cloned().chain(end.history.clone()).collect();
    // Each turn of these tests has the id `turn`, and those of a history have numbers.
    let past = case.earlier().turns.last().map(|past| past.id.turn_id.clone()).unwrap_or_default();
    case.agents.take(end);
    let mut lives = case.agents.lives.borrow_mut();
    let files = lives.get_mut(MAIN).into_iter().flat_map(|life| life.known_files.values_mut());
    files.filter(|file| file.turn_id == "turn").for_each(|file| file.turn_id.clone_from(&past));
    drop(lives);
    case.setting.life = case.agents.life();
    if before.setting.agents.is_some() {
        case.setting.agents = Some(case.agents.setting(None));
    }
    case
}

/// A turn that makes these rounds of calls.
pub(super) fn go(rounds: Vec<Vec<(&'static str, Value)>>) -> Script {
    script(&[("go", rounds.into_iter().map(Reply::Calls).chain([Reply::Text("Done.")]).collect())])
}

pub(super) fn echo(n: u32) -> (&'static str, Value) {
    ("echo", json!({ "n": n }))
}

/// The questions on which a hook blocked.
fn blocked(case: &Case) -> Vec<String> {
    let lines = case.lines().into_iter().filter(|line| line.contains(" Block "));
    lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

fn once() -> Value {
    json!([{"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}}])
}

// A-012 A-074
#[test]
fn a_limit_lasts_as_long_as_its_agent() {
    let first = hooked(once(), go(vec![vec![echo(1)]])).run();
    assert!(blocked(&first).is_empty());
    let second = after(&first, go(vec![vec![echo(2)]])).run();
    assert_eq!(blocked(&second), ["0.0h0"], "the turn before used the limit");
    assert!(second.end().lives.is_empty(), "nothing of the life has changed");
    let third = after(&second, go(vec![vec![subtask("a"), echo(3)]]));
    let third = with(third, "a", vec![Reply::Calls(vec![echo(4)]), Reply::Text("ok")]).run();
    assert_eq!(blocked(&third), ["0.1h0"], "a subtask lives once, with a limit of its own");
    // Another definition is another hook.
    let mut fourth = after(&third, go(vec![vec![echo(5)]]));
    fourth.setting.hooks[0].put_at = Some(1);
    assert!(blocked(&fourth.run()).is_empty());
}

/// The same with one more level.
fn with(mut case: Case, name: &str, replies: Vec<Reply>) -> Case {
    Rc::get_mut(&mut case.model).unwrap().script.insert(name.to_owned(), replies);
    case
}

// A-079: the turn ends right after the call that ends the mode.
#[test]
fn planning_mode_does_not_come_back() {
    let hooks = json!([{"name": "plan", "builtin": "planning_mode", "options": {"until": "locked"}}]);
    let write = || vec![("write", json!({}))];
    let first = hooked(hooks.clone(), go(vec![write(), vec![("locked", json!({}))]])).run();
    assert_eq!(blocked(&first), ["0.0h0"]);
    let [(agent, life)] = &first.end().lives[..] else { panic!() };
    assert_eq!((agent.as_str(), life.hook_states[0].has_quit), (MAIN, true));
    let second = after(&first, go(vec![write()])).run();
    assert!(blocked(&second).is_empty());
    let goes_on = hooked(hooks, go(vec![write()])).run();
    assert_eq!(blocked(&after(&goes_on, go(vec![write()])).run()), ["0.0h0"], "it has not ended");
}

// A-079 A-082
#[test]
fn a_hook_that_quit_is_not_asked_in_the_next_turn() {
    let first = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![echo(1)]), Reply::Text("Done.")]),
        ("guard echo {\"n\":1}", vec![verdict("quit", "")]),
    ]));
    let first = Case { setting: hooked(guard("guard"), script(&[])).setting, ..first }.run();
    let second = after(&first, go(vec![vec![echo(2)]])).run();
    assert_eq!(second.model.requests.borrow().len(), 2, "only the root asks its model");
    let mut put_again = after(&second, go(vec![vec![echo(3)]]));
    put_again.setting.hooks[0].put_at = Some(1);
    let put_again = with(put_again, "guard echo {\"n\":3}", vec![verdict("block", "no")]).run();
    assert_eq!(blocked(&put_again), ["0.0h0"]);
}

/// The reply of a hook's model with a note.
fn noted(decision: &'static str, text: &'static str, note: &str) -> Reply {
    Reply::Calls(vec![("finish_subtask", json!({"decision": decision, "text": text, "note": note}))])
}

// A-012 A-075: "allow two, then block" can be written; the hook sees its note, in the next turn as well.
#[test]
fn a_smart_hook_has_a_note_for_the_next_time() {
    let asks = |n: u32, reply: Reply| (format!("guard echo {{\"n\":{n}}}"), vec![reply]);
    let mut first = go(vec![vec![echo(1)], vec![echo(2)]]);
    first.extend([asks(1, noted("allow", "", "one")), asks(2, noted("allow", "", "two"))]);
    let first = hooked(guard("guard"), first).run();
    let mut second = go(vec![vec![echo(3)], vec![echo(4)]]);
    // The schema counts characters, and a note has so many bytes.
    let long = "ü".repeat(1_000);
    second.extend([asks(3, noted("block", "that was two", &long)), asks(4, verdict("allow", ""))]);
    let second = after(&first, second).run();
    assert_eq!(blocked(&second), ["0.0h0"]);
    let notes = |case: &Case| -> Vec<Option<String>> {
        let requests = case.model.requests.borrow();
        let texts = requests.iter().filter_map(|request| match request.messages[0].as_ref() {
            Message::User { content } if request.system.contains("You watch an agent") => {
                Some(content.text().into_owned())
            }
            _ => None,
        });
        let note = |text: String| {
            Some(text.split_once("<your_note>\n")?.1.split_once("\n</your_note>")?.0.to_owned())
        };
        texts.map(note).collect()
    };
    assert_eq!(notes(&first), [None, Some("one".to_owned())]);
    let [before, cut] = &notes(&second)[..] else { panic!() };
    assert_eq!(before.as_deref(), Some("two"));
    let cut = cut.as_deref().unwrap();
    assert!((990..=1_000).contains(&cut.len()) && cut.starts_with("üü"), "{cut}");
    let lives = second.end().lives;
    let states: Vec<usize> = lives.iter().map(|(_, life)| life.hook_states[0].state.len()).collect();
    assert_eq!(states, [cut.len()], "a verdict without a note leaves the note");
}

// A-081: the hooks that `main` makes stay, like those of every agent.
#[test]
fn a_hook_of_the_main_agent_stays() {
    let own = ("hook", once()[0].clone());
    let mut first = Case::new(go(vec![vec![own], vec![echo(1)]]));
    first.setting.agent_hooks = true;
    let first = first.run();
    let second = after(&first, go(vec![vec![echo(2)]])).run();
    assert_eq!(blocked(&second), ["0.0h0"]);
    let again = after(&second, go(vec![vec![("hook", once()[0].clone())]])).run();
    assert!(again.lines().iter().any(|line| line.contains("you have made a hook of this name")));
}

// A-012 A-074: the copies of an agent live as long as the agent, over its answers and the turns.
#[test]
fn the_copies_of_an_agent_last_over_its_answers() {
    let ask = |prompt: &str| ("task", json!({"name": "a", "prompt": prompt}));
    let make = ("task", json!({"name": "a", "instructions": "A.", "prompt": "Go."}));
    let levels = |rounds| {
        let answer = |n| [Reply::Calls(vec![echo(n)]), Reply::Text("ok")];
        let mut all = go(rounds);
        all.extend(script(&[("A.", (0..4).flat_map(answer).collect())]));
        all
    };
    let mut first = hooked(once(), levels(vec![vec![make], vec![ask("Again.")]]));
    first.setting.agents = Some(first.agents.setting(None));
    let first = first.run();
    assert_eq!(blocked(&first), ["1.0-d0.0-0.0h0"], "the second answer");
    let second = after(&first, levels(vec![vec![ask("Once more.")], vec![echo(9)]]));
    assert!(second.setting.agents.as_ref().unwrap().has_lives);
    assert_eq!(second.spec().least_reader, 8, "former code would let its calls pass");
    let second = second.run();
    assert_eq!(blocked(&second), ["0.0-d0.0-0.0h0"], "and `main` has a life of its own");
}

// A call that an earlier turn made is no loop.
#[test]
fn a_loop_ends_with_its_turn() {
    let hooks = json!([{"name": "loops", "builtin": "loop_guard", "options": {"times": 2}}]);
    let first = hooked(hooks, go(vec![vec![echo(1)]])).run();
    assert!(first.end().lives.is_empty());
    assert!(blocked(&after(&first, go(vec![vec![echo(1)]])).run()).is_empty());
}

/// A turn with files, whose present versions are those that `files` has.
pub(super) fn with_files(mut case: Case, files: &Rc<std::cell::RefCell<Versions>>) -> Case {
    let pace = Rc::new(Pace::new(0));
    let mut tools = crate::testing::TestTools::new(&pace, &case.disk);
    tools.files = Rc::clone(files);
    tools.add_versioned(&["read", "edit", "lose"]);
    case.tools = Rc::new(tools);
    case
}

/// The digest of the workspace of these turns.
pub(super) fn workspace() -> String {
    crate::record::keys::Digest::new().with("/").hex()
}

pub(super) fn watched_files() -> Value {
    json!([{"name": "files", "builtin": "file_changed"}])
}

pub(super) const CHANGED: &str =
    "[hook files] These files have changed since you saw them: a. Read them again before you build on them.";

// The states and the files of a run that is lost at any commit are those of a whole run.
#[test]
fn a_lost_run_leaves_the_same_life() {
    let build = || {
        let hooks = json!([
            {"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}},
            {"name": "files", "builtin": "file_changed"},
            {"name": "guard", "on": "action", "match": ["echo"], "instructions": "guard"},
        ]);
        let own = ("hook", json!({"name": "own", "builtin": "todo_reminder"}));
        let make = ("task", json!({"name": "a", "instructions": "A.", "prompt": "Go."}));
        let mut levels = go(vec![vec![("read", json!({})), own], vec![echo(1), make], vec![echo(2)]]);
        let guard = ("guard echo {\"n\":1}".to_owned(), vec![noted("allow", "", "one")]);
        levels.extend([guard]);
        levels.extend(script(&[("A.", vec![Reply::Calls(vec![echo(1)]), Reply::Text("ok")])]));
        let mut case = with_files(hooked(hooks, levels), &Rc::default());
        case.setting.agent_hooks = true;
        case.setting.agents = Some(case.agents.setting(None));
        case
    };
    killed_at_every_commit(build);
    let whole = build().run();
    assert_eq!(whole.end().lives.len(), 2);
    for lost in 1..whole.disk.commits.get() {
        let mut case = build();
        case.run_with(Some(Kill::AfterCommits(lost)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().lives, whole.end().lives, "killed after commit {lost}");
    }
}

/// A turn whose agents have lives: hooks with states and one that has quit, files that a person has changed, and a
/// comparison that fails.
pub(crate) fn golden() -> Case {
    let hooks = json!([
        {"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}},
        {"name": "files", "builtin": "file_changed"},
        {"name": "plan", "builtin": "planning_mode", "options": {"until": "locked"}},
    ]);
    let ask = ("task", json!({"name": "a", "prompt": "Go."}));
    let mut levels = go(vec![vec![echo(1), ("lose", json!({}))], vec![ask]]);
    levels.extend(script(&[("A.", vec![Reply::Calls(vec![echo(1)]), Reply::Text("ok")])]));
    let files =
        Rc::new(std::cell::RefCell::new(Versions::from([("a".to_owned(), Some("second".to_owned()))])));
    let mut case = with_files(hooked(hooks, levels), &files);
    case.setting.hooks[0].put_at = Some(1);
    let state = |hook: &Hook, state: &str, has_quit| crate::journal::HookState {
        hook: hook.name.clone(),
        origin: crate::journal::HookOrigin::Given,
        definition: hook.digest(),
        state: state.to_owned(),
        has_quit,
    };
    let [once, _, plan] = &case.setting.hooks[..] else { panic!() };
    let hook_states = vec![state(once, "1", false), state(plan, "", true)];
    let file = KnownFile { version: Some("first".to_owned()), turn_id: "past-1".to_owned() };
    let known_files = [("a".to_owned(), file)].into();
    let own = crate::hooks::from_variable(r#"[{"name": "own", "builtin": "loop_guard"}]"#).unwrap();
    let life =
        AgentLife { hooks: own, hook_states: hook_states.clone(), workspace: workspace(), known_files };
    let agent = crate::journal::Agent {
        id: "id-a".to_owned(),
        name: "a".to_owned(),
        instructions: "A.".to_owned(),
        ..crate::journal::Agent::default()
    };
    case.agents.take_rows(vec![crate::journal::AgentRow { agent, has_ended: false, rounds: Vec::new() }]);
    let of_agent = AgentLife { hooks: Vec::new(), ..life.clone() };
    case.agents.lives.borrow_mut().insert("id-a".to_owned(), of_agent);
    case.setting.agents = Some(case.agents.setting(None));
    case.setting.life = Some(Box::new(life));
    case.history = vec![Message::User { content: "before".into() }];
    case
}

// A comparison that fails is a failure of the hook, which is silent then.
#[test]
fn a_turn_with_lives_goes_on_with_them() {
    let case = golden().run();
    assert_eq!(comments(&case)[..1], [CHANGED]);
    let lines = case.lines();
    let failed =
        "hook 1h1 files Allow failed \"the files could not be compared: the storage did not answer\"";
    assert!(lines.iter().any(|line| line == failed), "{lines:#?}");
    assert_eq!(blocked(&case), ["0.0h0", "1.0-d0.0-0.0h0"], "both have used their limits");
}

// Issue 45, 1: an equal hook of the agent's own, which a client may have written into a dump, says nothing of the operator's.
#[test]
fn a_hook_of_ones_own_says_nothing_of_the_operators() {
    let hooks = json!([{"name": "plan", "builtin": "planning_mode"}]);
    let mut case = hooked(hooks, go(vec![vec![("write", json!({}))]]));
    let plan = case.setting.hooks[0].clone();
    case.setting.guards = Some(crate::journal::Guards { hooks: 1, models: None });
    let state = crate::journal::HookState {
        hook: "plan".to_owned(),
        origin: crate::journal::HookOrigin::Own,
        definition: plan.digest(),
        state: String::new(),
        has_quit: true,
    };
    let life = AgentLife { hooks: vec![plan], hook_states: vec![state], ..AgentLife::default() };
    case.setting.life = Some(Box::new(life));
    assert_eq!(blocked(&case.run()), ["0.0h0"]);
}

// Issue 45, 1: hooks that watch an agent in one role keep their states while it has another one.
#[test]
fn an_agent_keeps_the_states_of_both_its_roles() {
    let mut once = once();
    once[0]["of"] = json!("main");
    let make = ("task", json!({"name": "a", "instructions": "A."}));
    let ask = ("task", json!({"name": "a", "prompt": "Go."}));
    let levels = |rounds: Vec<Vec<(&'static str, Value)>>| {
        let answer = |n| [Reply::Calls(vec![echo(n)]), Reply::Text("ok")];
        let mut all = go(rounds);
        all.extend(script(&[("A.", (0..4).flat_map(answer).collect())]));
        all
    };
    let as_root = |before: &Case| {
        let mut case = after(before, levels(vec![]));
        case.setting.agents = Some(case.agents.setting(Some("a")));
        case.setting.life = None;
        case.run()
    };
    let todo = json!({"name": "todo", "builtin": "todo_reminder"});
    let mut first = hooked(json!([once[0], todo]), levels(vec![vec![make]]));
    first.setting.agents = Some(first.agents.setting(None));
    let spoken_to = as_root(&first.run());
    assert!(blocked(&spoken_to).is_empty());
    let asked = after(&spoken_to, levels(vec![vec![ask]])).run();
    assert!(blocked(&asked).is_empty(), "the hook of the main agent does not watch it there");
    assert_eq!(blocked(&as_root(&asked)), ["0.0h0"], "the first answer used the limit");
}

// Two equal hooks of one origin have a state each, in their order.
#[test]
fn equal_hooks_have_states_of_their_own() {
    let hook: Hook = crate::hooks::from_variable(&once().to_string()).unwrap().remove(0);
    let given = crate::journal::HookOrigin::Given;
    let state = |state: &str| crate::journal::HookState {
        hook: "once".to_owned(),
        origin: given,
        definition: hook.digest(),
        state: state.to_owned(),
        has_quit: false,
    };
    let life = AgentLife { hook_states: vec![state("1"), state("2")], ..AgentLife::default() };
    let states = [0, 1, 2].map(|nth| life.state_of(&hook, given, nth).map(|state| state.state.clone()));
    assert_eq!(states, [Some("1".to_owned()), Some("2".to_owned()), None]);
}
