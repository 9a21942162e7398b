//! Random turns with hooks: no limit is crossed by one, and a replay comes to the same end.

use serde_json::json;

use super::*;
use wire::model::ModelErrorKind;

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn replies(dice: &mut Dice) -> Vec<Reply> {
    const TOOLS: [&str; 5] = ["echo", "write", "fail", "locked", "hook"];
    let mut rounds: Vec<Reply> = (0..dice.below(4))
        .map(|_| {
            let call = |dice: &mut Dice| match dice.below(6) {
                5 => subtask(["a", "b"][dice.below(2) as usize]),
                4 => (
                    "hook",
                    json!({"name": "own", "builtin": "spawn_limit", "match": ["*"], "options": {"most": 2}}),
                ),
                other => (TOOLS[other as usize], json!({"n": dice.below(2)})),
            };
            Reply::Calls((0..=dice.below(4)).map(|_| call(dice)).collect())
        })
        .collect();
    rounds.push(Reply::Text("Done."));
    rounds
}

fn judgement(dice: &mut Dice) -> Vec<Reply> {
    vec![match dice.below(8) {
        0..=2 => verdict("allow", ""),
        3 => verdict("block", "no"),
        4 => verdict("comment", "hm"),
        5 => verdict("quit", ""),
        6 => Reply::Fail("", ModelErrorKind::Overloaded),
        _ => Reply::Text("What?"),
    }]
}

fn turn(seed: u64) -> Case {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut of_turn =
        script(&[("go", replies(&mut dice)), ("a", replies(&mut dice)), ("b", replies(&mut dice))]);
    for of in ["one", "two", "three"] {
        for call in ["", "echo", "write", "fail", "locked"] {
            for n in ["{\"n\":0}", "{\"n\":1}"] {
                let key = if call.is_empty() { format!("{of} ") } else { format!("{of} {call} {n}") };
                of_turn.insert(key, judgement(&mut dice));
            }
        }
    }
    of_turn.insert("judge".to_owned(), judgement(&mut dice));
    let mut case = Case::seeded(of_turn, seed);
    let all = [
        json!({"name": "one", "on": "action", "instructions": "one", "match": ["echo", "write", "run_subtask"]}),
        json!({"name": "two", "on": "input", "instructions": "two"}),
        json!({"name": "three", "on": "result", "instructions": "three", "match": ["fail"]}),
        json!({"name": "loops", "builtin": "loop_guard", "options": {"times": 2}}),
        json!({"name": "spawn", "builtin": "spawn_limit", "options": {"most": 1}}),
        json!({"name": "todo", "builtin": "todo_reminder", "options": {"every": 2}}),
        json!({"name": "mode", "builtin": "planning_mode", "options": {"until": "locked"}}),
    ];
    let chosen: Vec<_> = all.into_iter().filter(|_| dice.below(2) == 0).collect();
    case.setting.hooks = crate::hooks::from_variable(&json!(chosen).to_string()).unwrap();
    case.setting.agent_hooks = true;
    let (llm_calls, tool_calls) = (3 + dice.below(40) as u32, 2 + dice.below(40) as u32);
    case.limits(|limits| (limits.llm_calls, limits.tool_calls) = (llm_calls, tool_calls))
}

// A-012 A-014 CF-27
#[test]
fn random_turns_with_hooks_keep_every_rule() {
    for seed in 1..=1_500 {
        turn(seed).run();
    }
}

// A lost run changes no verdict that the journal has, whatever the model says the second time.
#[test]
fn random_turns_with_hooks_go_on_after_a_kill() {
    for seed in 1..=300 {
        let commits = turn(seed).run().disk.commits.get();
        let mut case = turn(seed);
        case.run_with(Some(Kill::AfterCommits(1 + (seed as usize) % commits.max(1))), |_, _| {});
        if case.disk.end.borrow().is_none() && !case.disk.entries.borrow().is_empty() {
            case.resume(None);
        }
        case.check();
    }
}

/// A turn whose hooks judge the answers of all its levels, or of the main agent's alone. Each reply has words of its own.
fn judged(seed: u64) -> Case {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut of_turn = script(&[]);
    for level in ["go", "a", "b", "Judge."] {
        let replies = (0..2 + dice.below(4)).map(|n| {
            let words = |dice: &mut Dice| -> &'static str {
                Box::leak(format!("{level} says {n} and {}.", dice.below(1_000)).into_boxed_str())
            };
            let call = |dice: &mut Dice| match dice.below(4) {
                0 => subtask(["a", "b"][dice.below(2) as usize]),
                1 => ("task", json!({"name": "critic", "instructions": "Judge.", "prompt": "x"})),
                2 => ("hook", json!({"name": "own", "on": "answer", "instructions": "own"})),
                _ => ("echo", json!({"n": dice.below(2)})),
            };
            match dice.below(8) {
                0 => Reply::Calls(vec![call(&mut dice)]),
                1 | 2 => Reply::TextAndCalls(words(&mut dice), vec![call(&mut dice), call(&mut dice)]),
                3 => Reply::Ended(words(&mut dice), wire::model::ReplyFinish::Pause),
                4 => Reply::Think("hm", words(&mut dice)),
                5 => Reply::Fail(words(&mut dice), ModelErrorKind::Overloaded),
                _ => Reply::Text(words(&mut dice)),
            }
        });
        let mut replies: Vec<Reply> = replies.collect();
        replies.push(Reply::Text(Box::leak(format!("{level} says the last.").into_boxed_str())));
        of_turn.insert(level.to_owned(), replies);
    }
    // The verdict on most drafts, and others on some of them.
    of_turn.insert("judge".to_owned(), judgement(&mut dice));
    for (level, n) in [("go", 0), ("go", 1), ("a", 0), ("b", 1), ("Judge.", 0)] {
        for number in 0..1_000 {
            if dice.below(2) == 0 {
                let of = if dice.below(2) == 0 { "guard" } else { "own" };
                of_turn.insert(format!("{of} {level} says {n} and {number}."), judgement(&mut dice));
            }
        }
    }
    let mut case = Case::seeded(of_turn, seed);
    let of = ["all", "main"][dice.below(2) as usize];
    let hooks = match dice.below(4) {
        0 => json!([]),
        _ => json!([
            {"name": "guard", "on": "answer", "instructions": "guard", "of": of},
            {"name": "loops", "builtin": "loop_guard", "options": {"times": 2}},
        ]),
    };
    case.setting.hooks = crate::hooks::from_variable(&hooks.to_string()).unwrap();
    case.setting.agent_hooks = true;
    case.setting.agents = Some(crate::journal::AgentSetting::default());
    let (llm_calls, iterations) = (3 + dice.below(30) as u32, 2 + dice.below(6) as u32);
    case.limits(|limits| (limits.llm_calls, limits.iterations) = (llm_calls, iterations))
}

// no reader of any run gets a text that hooks have not let pass, whatever the turn does and wherever its run is lost.
#[test]
fn random_turns_show_no_unjudged_text() {
    let mut blocked = 0;
    for seed in 1..=400 {
        let whole = judged(seed).run();
        blocked += usize::from(whole.end().message.stop.is_some_and(|stop| stop.code == "blocked"));
        let commits = whole.disk.commits.get();
        let mut case = judged(seed);
        case.run_with(Some(Kill::AfterCommits(1 + (seed as usize) % commits.max(1))), |_, _| {});
        if case.disk.end.borrow().is_none() && !case.disk.entries.borrow().is_empty() {
            case.resume(None);
        }
        case.check();
    }
    assert!(blocked > 10, "{blocked}");
}
