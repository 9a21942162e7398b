//! Random turns: trees of any shape, delays, failures, limits, stops and kills. `invariants` holds the rules
//! that every turn must keep.
//!
//! `random_turns` says how many. A failure prints the smallest turn that still fails.

mod limits;

use std::rc::Rc;

use proptest::prelude::*;
use serde_json::{Value, json};

use self::limits::limits;
use super::holds::Market;
use super::summaries::behind;
use super::{forms, random_turns};
use crate::journal::{Answer, Fact, TurnStop};
use crate::profiles::{Limits, OnLimit, Price};
use crate::record::keys::WireIds;
use crate::testing::*;
use wire::model::{Message, ModelErrorKind, ReplyFinish, Usage};
use wire::protocol::{Awaited, CountedRequest, ModeProfile};

/// How many levels a script has, beside the root. Any level may start any other, itself included.
const LEVELS: usize = 6;

const VERDICTS: [&str; 3] = ["approved", "needs_changes", "rejected"];
const OBJECTIVES: [&str; 2] = ["one", "two"];

/// One level's replies, each a kind with the numbers of its calls: proptest's smallest cases stay readable.
type Level = Vec<(u8, Vec<u8>)>;

/// One random turn.
#[derive(Clone, Debug)]
pub(super) struct Random {
    root: Level,
    levels: Vec<Level>,
    /// The steps of each plan, each with the level that carries it out and, as bits, the steps that it builds
    /// on.
    plans: [Vec<(u8, u8)>; 2],
    /// The request's mode: 7 is a swarm, 8 and 9 a router, which decides for a swarm at 9.
    mode: u8,
    /// The last reply of a planner and a reviewer, and the verdict.
    said: (u8, u8),
    pub(super) limits: Limits,
    /// The number of turns before it, of which twelve fit, and the reply to a request for a summary.
    past: (u8, u8),
    priced: bool,
    /// The prices and the tokenizer of the turn, where it is about money.
    pub(super) market: Option<Market>,
    /// The seed for the delays of models and tools; 0: none.
    seed: u64,
    /// The stops of the turn: the executor's step, counted over all runs, and the reason.
    stops: Vec<(usize, bool)>,
    /// The losses of its runs, one after the other.
    kills: Vec<Kill>,
    /// The answers at its limits, in order, and whether each comes before the turn parks. None: it does not ask.
    answers: Vec<(u8, bool)>,
}

/// Answers the open question at a limit, if there is one. With `early`, only where its answer does not wait for the
/// parking.
fn decide(turn: &crate::turn::Turn, answers: &[(u8, bool)], early: bool) {
    for (number, (answer, is_early)) in answers.iter().enumerate() {
        let id = WireIds::new("turn").approval(&format!("limit.{number}"));
        if (*is_early || !early) && turn.waiting(&id, Awaited::Approval).is_some() {
            let answer = if *answer < 3 { Answer::Approve } else { Answer::Deny };
            // A run that was killed just now cannot take it.
            let _ = turn.answer(&id, Awaited::Approval, answer);
        }
    }
}

fn call(number: u8, unique: &str) -> (&'static str, Value) {
    let which = number % 6;
    let key = format!("k{}", which % 3);
    let level = format!("level {which}");
    let spawn = |more: Value| {
        let mut arguments = json!({"title": format!("t{which}"), "instructions": level});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("run_subtask", arguments)
    };
    match number / 6 {
        0 => ("echo", json!({})),
        1..=6 => spawn(json!({})),
        7 | 8 => {
            let schema =
                json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
            spawn(json!({ "output_schema": schema }))
        }
        9 => spawn(json!({"tools": ["run_subtask", "memory_list", "memory_read", "memory_write", "secret"]})),
        10 => ("fail", json!({})),
        11 => ("write", json!({})),
        12 => ("locked", json!({})),
        13 => ("hang", json!({})),
        14 => ("once", json!({})),
        15 => ("finish_subtask", json!({"n": 1})),
        16 => ("finish_subtask", json!({"n": "one"})),
        17 => ("memory_list", json!({})),
        18..=20 => ("memory_write", json!({"key": key, "value": unique})),
        21..=23 => ("memory_read", json!({"key": key})),
        24 => plan(
            OBJECTIVES[which as usize % OBJECTIVES.len()],
            ["auto_execute", "draft_only", "agent_review"][which as usize % 3],
        ),
        // Money, and once in a while at an unknown price.
        27 => {
            let most = (which < 5).then(|| u64::from(which) * 9_000);
            ("buy", json!({"most": most, "costs": u64::from(which) * 5_000, "silent": which == 4}))
        }
        26 => (["form", "form_once", "form_locked"][which as usize % 3], json!({})),
        _ => match which {
            0 => ("secret", json!({})),
            1 => ("echo", json!("{not json")),
            2 => ("run_subtask", json!({"title": 1})),
            3 => ("memory_read", json!({"key": "task:call_TAG_0.0"})),
            4 => ("classless", json!({})),
            _ => ("memory_write", json!({"key": "", "value": unique})),
        },
    }
}

fn reply((kind, calls): &(u8, Vec<u8>), unique: &str) -> Reply {
    let calls = calls.iter().enumerate();
    let calls = calls.map(|(at, number)| call(*number, &format!("{unique}.{at}"))).collect();
    match kind {
        0..=2 => Reply::Text("a few words"),
        3..=11 => Reply::Calls(calls),
        12 | 13 => Reply::TextAndCalls("well, ", calls),
        14 => Reply::Hang("and then "),
        15 => Reply::Fail("oh ", ModelErrorKind::Overloaded),
        16 => Reply::Fail("", ModelErrorKind::Auth),
        17 => Reply::Cut("cut "),
        18 => Reply::After(vec![(0, ModelErrorKind::Network), (0, ModelErrorKind::RateLimited)], "at last"),
        19 => Reply::Think("hm ", "so be it"),
        20 => Reply::Empty(Some(Usage { input_tokens: 7, ..Usage::default() }), "something"),
        21 => Reply::AfterAccepted(vec![(0, ModelErrorKind::Overloaded)], "at last"),
        _ => Reply::Ended("a half", ReplyFinish::Length),
    }
}

impl Random {
    fn script(&self) -> Script {
        let level = |name: String, level: &Level| {
            let replies = level.iter().enumerate();
            let replies: Vec<_> = replies.map(|(at, it)| reply(it, &format!("{name}:{at}"))).collect();
            (name, replies)
        };
        let makes = |kind: &'static str| {
            let plans = OBJECTIVES.iter().zip(&self.plans).chain([(&"go", &self.plans[0])]);
            plans.map(move |(name, steps)| {
                let (replies, verdict) = (self.said.0, self.said.1);
                let good = match kind {
                    "plan" => ("finish_subtask", self.plan(steps)),
                    _ => (
                        "finish_subtask",
                        json!({"verdict": VERDICTS[usize::from(verdict) % 3], "notes": ""}),
                    ),
                };
                let first = reply(&(replies, vec![90, 96]), kind);
                let replies = if replies < 12 {
                    vec![Reply::Calls(vec![good])]
                } else {
                    vec![first, Reply::Calls(vec![good])]
                };
                (format!("{kind} {name}"), replies)
            })
        };
        let numbered =
            self.levels.iter().enumerate().map(|(n, replies)| level(format!("level {n}"), replies));
        let plans = makes("plan").chain(makes("review"));
        let (name, mut root) = level("go".to_owned(), &self.root);
        if self.mode == 9 {
            let complex = json!({"role": "primary", "complexity": "complex", "reason": ""});
            root.insert(0, Reply::Calls(vec![("finish_subtask", complex)]));
        }
        let summaries = ["summary", "summary again"].map(|kind| {
            let reply = reply(&(self.past.1, vec![0]), kind);
            (kind.to_owned(), vec![reply])
        });
        numbered.chain([(name, root)]).chain(plans).chain(summaries).collect()
    }

    /// Steps build only on earlier ones. One plan in some has a circle, which is refused.
    fn plan(&self, steps: &[(u8, u8)]) -> Value {
        let step = |(at, (level, needs)): (usize, &(u8, u8))| {
            let needs: Vec<String> =
                (0..at).filter(|other| needs >> other & 1 == 1).map(|other| format!("s{other}")).collect();
            let level = format!("level {}", usize::from(*level) % LEVELS);
            json!({"id": format!("s{at}"), "title": "t", "instructions": level, "depends_on": needs})
        };
        let mut steps: Vec<Value> = steps.iter().enumerate().map(step).collect();
        if self.said.1 == 8 {
            steps[0]["depends_on"] = json!(["s0"]);
        }
        json!({"reasoning": "because", "steps": steps})
    }

    /// Plays the turn over all its runs, to its end.
    pub(super) fn play(&self) -> Case {
        self.play_after("go", Vec::new(), None)
    }

    /// Plays the turn that continues an ended one, with the same script. It has no mode.
    pub(super) fn play_on(&self, ended: &Case) -> Case {
        let end = ended.end();
        let last = end.message.usage.and_then(|usage| usage.last_request);
        Random { mode: 0, ..self.clone() }.play_after("Continue.", end.history, last)
    }

    fn play_after(&self, content: &str, history: Vec<Message>, last: Option<CountedRequest>) -> Case {
        let mut script = self.script();
        script.insert(content.to_owned(), script["go"].clone());
        let mut case = Case::seeded(script, self.seed);
        (case.content, case.history, case.context) = (content.to_owned(), history, "project");
        // Turns before both of them are made up anew.
        case.last_request = last.filter(|_| self.past.0 == 0);
        case.limits = self.limits;
        if !self.answers.is_empty() {
            case.limits.on_limit = OnLimit::Ask;
        }
        if self.past.0 > 0 {
            let history_tokens = self.limits.history_tokens;
            case = behind(usize::from(self.past.0), case);
            case.limits.history_tokens = case.limits.history_tokens.min(history_tokens);
            case.before_gap = usize::from(self.past.1 % 3);
        }
        case.setting.mode = match self.mode {
            7 => Some(ModeProfile::Swarm),
            8 | 9 => Some(ModeProfile::AutoRoute),
            _ => None,
        };
        let tools = Rc::get_mut(&mut case.tools).unwrap();
        tools.add_forms();
        tools.add_paid();
        // Half of the turns have a client that knows forms.
        case.setting.forms = self.priced;
        case.setting.simple_iterations = self.limits.iterations.min(5);
        case.model.thinks.set(self.seed.is_multiple_of(2));
        case.price = self.priced.then_some(Price::flat(1.0, 0.5, 2.0));
        self.market.iter().for_each(|market| market.open(&mut case));
        let (mut steps, mut runs, mut kills) = (0, 0, self.kills.iter());
        while case.disk.end.borrow().is_none() {
            runs += 1;
            assert!(runs < 100, "it does not end: {:#?}", case.lines());
            let kill = kills.next().copied();
            let during = |turn: &crate::turn::Turn, _: usize| {
                for (_, by_newer) in self.stops.iter().filter(|(at, _)| *at == steps) {
                    // A run that was killed just now cannot write this stop either.
                    let _ = turn.stop(if *by_newer { TurnStop::Superseded } else { TurnStop::Cancelled });
                }
                decide(turn, &self.answers, true);
                steps += 1;
            };
            if case.disk.commits.get() == 0 {
                case.run_with(kill, during);
            } else if case.is_parked() {
                case.clock.pass(40_000);
                let asked = forms::asked(&case);
                case.say(kill, |turn| {
                    decide(turn, &self.answers, false);
                    forms::fill_in(turn, &asked);
                    let _ = turn.expire();
                });
            } else {
                case.resume_with(kill, during);
            }
        }
        case
    }
}

fn level() -> impl Strategy<Value = Level> {
    let few = prop::collection::vec(0..168_u8, 1..5);
    let many = prop::collection::vec(0..168_u8, 5..41);
    prop::collection::vec((0..23_u8, prop_oneof![9 => few, 1 => many]), 1..4)
}

fn kill() -> impl Strategy<Value = Kill> {
    prop_oneof![
        (1..40_usize).prop_map(Kill::AfterCommits),
        (1..40_usize).prop_map(Kill::Unheard),
        (0..200_usize).prop_map(Kill::AtStep),
    ]
}

pub(super) fn turns(kills: usize) -> impl Strategy<Value = Random> {
    let stops = prop::collection::vec((0..200_usize, any::<bool>()), 0..3);
    let kills = prop::collection::vec(kill(), kills..=kills * 4);
    let answers =
        prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec((0..4_u8, any::<bool>()), 1..5)];
    let steps = || prop::collection::vec((any::<u8>(), any::<u8>()), 1..6);
    let tree =
        (level(), prop::collection::vec(level(), LEVELS), [steps(), steps()], (0..23_u8, 0..9_u8), 0..10_u8);
    let past = prop_oneof![3 => Just(0), 2 => 0..40_u8];
    (tree, limits(), (past, 0..23_u8), any::<bool>(), 0..u64::MAX, stops, (kills, answers)).prop_map(
        |((root, levels, plans, said, mode), limits, past, priced, seed, stops, (kills, answers))| Random {
            root,
            levels,
            plans,
            mode,
            said,
            limits,
            past,
            priced,
            market: None,
            seed,
            stops,
            kills,
            answers,
        },
    )
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: random_turns() / 2, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_turn_is_bounded_and_well_formed(random in turns(0)) {
        let case = random.play();
        check(&case);
        prop_assert_eq!(case.events(), random.play().events(), "the same script and seed give the same events");
    }

    // Issue 19, 4: continuations, kills and stops included.
    #[test]
    fn a_turn_that_a_limit_ended_is_continued(random in turns(1)) {
        let ended = random.play();
        let stop = ended.end().message.stop;
        if stop.is_some_and(|stop| stop.is_limit()) {
            let case = random.play_on(&ended);
            check(&case);
            let requests = case.model.requests.borrow();
            let at_root = |request: &&wire::model::ModelRequest| {
                request.messages.iter().any(|m| matches!(&**m, Message::User { content } if content == "Continue."))
            };
            let before = ended.end().history;
            if case.limits.history_tokens >= 100_000 && let Some(first) = requests.iter().find(at_root) {
                let sent: Vec<&Message> = first.messages.iter().map(|message| &**message).take(before.len()).collect();
                prop_assert_eq!(sent, before.iter().collect::<Vec<_>>(), "the model sees what had ended");
            }
        }
    }

    #[test]
    fn a_turn_that_dies_is_taken_up_and_ends_well(random in turns(1)) {
        let case = random.play();
        check(&case);
        let stored = case.disk.events.borrow();
        prop_assert_eq!(super::faults::view(&case.seen), super::faults::view(&stored), "who stayed has what is stored");
        let stops = case.disk.entries.borrow().iter().filter(|e| matches!(e.fact, Fact::Stopped(_))).count();
        prop_assert!(stops <= 1, "the first reason wins");
    }
}
