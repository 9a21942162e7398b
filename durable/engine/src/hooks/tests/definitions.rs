//! Definitions: what is refused, and at which member.

use serde_json::json;

use crate::hooks::{MAX_HOOKS_BYTES, check_together, define, from_variable, put};
use wire::protocol::{ErrorCode, Hook, HookPoint, HookReach, NewHook, digest_text};

fn read(definition: serde_json::Value) -> Result<Hook, String> {
    let new: NewHook = serde_json::from_value(definition).unwrap();
    define("guard", new).map_err(|error| error.field.clone().unwrap_or_default())
}

// Issue 20, section 3: bad members are refused with their name.
#[test]
fn each_mistake_names_its_member() {
    for (definition, field) in [
        (json!({}), "instructions"),
        (json!({"instructions": "x"}), "on"),
        (json!({"instructions": " ", "on": "action"}), "instructions"),
        (json!({"instructions": "x".repeat(20_001), "on": "action"}), "instructions"),
        (json!({"instructions": digest_text("0123456789abcdef"), "on": "action"}), "instructions"),
        (json!({"instructions": "x", "builtin": "loop_guard"}), "instructions"),
        (json!({"instructions": "x", "on": "action", "options": {"times": 3}}), "options"),
        (json!({"instructions": "x", "on": "input", "match": ["echo"]}), "match"),
        (json!({"instructions": "x", "on": "answer", "match": ["echo"]}), "match"),
        (json!({"builtin": "steelman", "on": "answer", "match": ["echo"]}), "match"),
        (json!({"instructions": "x", "on": "action", "match": [""]}), "match"),
        (json!({"instructions": "x", "on": "action", "match": ["x".repeat(129)]}), "match"),
        (json!({"instructions": "x", "on": "action", "match": vec!["x"; 17]}), "match"),
        (json!({"instructions": "x", "on": "action", "reads": [""]}), "reads"),
        (json!({"instructions": "x", "on": "action", "reads": ["x".repeat(201)]}), "reads"),
        (json!({"instructions": "x", "on": "action", "reads": vec!["x"; 9]}), "reads"),
        (json!({"builtin": "loop_guard", "reads": ["x"]}), "reads"),
        (json!({"builtin": "unknown"}), "builtin"),
        (json!({"builtin": "loop_guard", "on": "result"}), "on"),
        (json!({"builtin": "loop_guard", "on": "answer"}), "on"),
        (json!({"builtin": "loop_guard", "options": {"most": 3}}), "options"),
        (json!({"builtin": "loop_guard", "options": {"times": 0}}), "options.times"),
        (json!({"builtin": "loop_guard", "options": {"times": 1_001}}), "options.times"),
        (json!({"builtin": "loop_guard", "options": {"times": "3"}}), "options.times"),
        (json!({"builtin": "planning_mode", "options": {"until": " "}}), "options.until"),
        (json!({"builtin": "planning_mode", "options": {"until": "x".repeat(501)}}), "options.until"),
        (json!({"builtin": "planning_mode", "options": {"is_copy": true}}), "options"),
    ] {
        assert_eq!(read(definition.clone()), Err(field.to_owned()), "{definition}");
    }
    for definition in [
        json!({"instructions": "x".repeat(20_000), "on": "action", "match": vec!["x".repeat(128); 16]}),
        json!({"instructions": "x", "on": "action", "reads": vec!["x".repeat(200); 8]}),
        json!({"builtin": "loop_guard", "options": {"times": 1_000}}),
        json!({"builtin": "planning_mode", "options": {"until": "x".repeat(500)}}),
        json!({"builtin": "steelman", "on": "input"}),
        json!({"builtin": "steelman", "on": "answer"}),
        json!({"instructions": "x", "on": "answer", "of": "main"}),
    ] {
        assert!(read(definition).is_ok());
    }
}

#[test]
fn a_name_is_short_and_plain() {
    let new = || serde_json::from_value::<NewHook>(json!({"builtin": "loop_guard"})).unwrap();
    for name in ["", "A", "1a", "-a", "a b", "ä", "a/b", &"a".repeat(33)] {
        assert_eq!(define(name, new()).unwrap_err().field.as_deref(), Some("name"), "{name}");
    }
    for name in ["a", "a-b_1", &"a".repeat(32)] {
        assert!(define(name, new()).is_ok(), "{name}");
    }
}

#[test]
fn a_built_in_hook_has_its_defaults() {
    let hook = read(json!({"builtin": "discuss_limit"})).unwrap();
    assert_eq!(
        (hook.on, hook.of, hook.calls),
        (HookPoint::Action, HookReach::All, vec!["discuss".to_owned()])
    );
}

// The operator's variable: a mistake is an error, and no word of it is repeated.
#[test]
fn the_variable_is_read_strictly() {
    let hook = |name: String| json!({"name": name, "builtin": "loop_guard"});
    let named = |count: usize| (0..count).map(|n| hook(format!("h{n}"))).collect::<Vec<_>>();
    assert_eq!(from_variable(&json!(named(16)).to_string()).unwrap().len(), 16);
    for (variable, told) in [
        ("{".to_owned(), "not valid JSON"),
        ("{}".to_owned(), "not valid JSON"),
        (
            json!([{"builtin": "loop_guard"}]).to_string(),
            "hook 1: not valid JSON for this: missing field `name`",
        ),
        (
            json!([{"name": "a", "builtin": "loop_guard", "onn": "action"}]).to_string(),
            "hook 1 has a member that does not exist",
        ),
        (
            json!([{"name": "a", "builtin": "secret"}]).to_string(),
            "hook 1: builtin: there are: planning_mode,",
        ),
        (
            json!([hook("a".to_owned()), hook("a".to_owned())]).to_string(),
            "hook 2 has the name of another one",
        ),
        (json!(named(17)).to_string(), "at most 16 hooks"),
    ] {
        let error = from_variable(&variable).unwrap_err();
        assert!(error.starts_with("the variable HOOKS: ") && error.contains(told), "{error}");
        assert!(!error.contains("secret"));
    }
}

// Entry 0 holds all hooks in one row.
#[test]
fn hooks_are_bounded_together() {
    let hook = |bytes: usize| read(json!({"instructions": "x".repeat(bytes), "on": "action"})).unwrap();
    let mut hooks = vec![hook(20_000); 4];
    let used = serde_json::to_vec(&hooks).unwrap().len();
    let frame = serde_json::to_vec(&hook(1)).unwrap().len();
    hooks.push(hook(MAX_HOOKS_BYTES - used - frame));
    assert_eq!(serde_json::to_vec(&hooks).unwrap().len(), MAX_HOOKS_BYTES);
    assert!(check_together(&hooks).is_ok());
    hooks[4] = hook(MAX_HOOKS_BYTES - used - frame + 1);
    assert_eq!(check_together(&hooks).unwrap_err().code, ErrorCode::TooManyHooks);
}

// Issue 20, section 3: the hooks of a thread. A hook takes the place of the one with its name, and 16 is the most.
#[test]
fn a_thread_has_one_hook_of_a_name_and_16_in_all() {
    let hook = |name: &str, builtin: &str| {
        define(name, serde_json::from_value(json!({ "builtin": builtin })).unwrap()).unwrap()
    };
    let mut hooks = Vec::new();
    for n in 0..16 {
        put(&mut hooks, hook(&format!("h{n}"), "loop_guard")).unwrap();
    }
    let full = hooks.clone();
    assert_eq!(put(&mut hooks, hook("h16", "loop_guard")).unwrap_err().code, ErrorCode::TooManyHooks);
    hooks = full;
    put(&mut hooks, hook("h3", "spawn_limit")).unwrap();
    assert_eq!(hooks.len(), 16);
    assert_eq!(hooks[3], hook("h3", "spawn_limit"));
}
