//! The invariants of every ended turn, whatever its course. The checks read the turn's events, as a client
//! gets them, and its journal.

mod answers;
mod hooks;
mod plans;
mod prefixes;
mod shown;
mod totals;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::answers::{answers, drafted};
use self::hooks::Hook;
use self::plans::plans;
use self::prefixes::prefixes;
pub use self::prefixes::{cuts, raw_of};
use self::shown::parts;
use self::totals::*;
use super::support::*;
use crate::journal::{CallRecord, Fact, ModelOutcome, Work};
use wire::model::{Message, Usage};
use wire::protocol::{
    Awaited, CallStatus, Decision, Event, ExecutionTree, FinishReason, ModelCost, Place, PlanStatus,
    StepStatus, TreeModelCall, TreeNode, preview,
};

/// Checks all invariants. A failure shows the events.
pub fn check(case: &Case) {
    let events = case.events();
    let shown = Shown(case);
    let client = Client::of(case, &events, &shown);
    last_words(case, &events, &shown);
    limits(case, &client, &shown);
    stored(case, client.tree(), &shown);
    parts(case, &events, &shown);
    answers(case, &shown);
    history(case, &client);
    kept(case, &client, &shown);
    prefixes(case, &shown);
    plans(case, &events, &shown);
    if case.limits.tool_result_bytes >= 5_000 {
        memory(&client, None, &BTreeMap::new(), &shown);
    }
}

/// Checks those of answers that hooks judge alone.
pub fn check_answers(case: &Case) {
    answers(case, &Shown(case));
}

/// The events of a case, formatted only when a check fails.
struct Shown<'a>(&'a Case);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.lines().join("\n"))
    }
}

/// One call, as its events describe it.
struct Call {
    name: String,
    args: Value,
    place: Place,
    /// Its level's step and its place in the reply.
    step: usize,
    index: usize,
    result: String,
    is_error: bool,
    started_ms: Option<u64>,
    duration_ms: u64,
    usage: Option<ModelCost>,
    decision: Option<Decision>,
    cost_usd: Option<f64>,
    /// The tokens of all model calls below it, as their own events say.
    tokens: u64,
}

/// The calls of a turn, as a client rebuilds them from events.
#[derive(Default)]
struct Client {
    /// In the order in which they started.
    ids: Vec<String>,
    calls: BTreeMap<String, Call>,
    hooks: BTreeMap<String, Hook>,
    /// Calls and hooks in the order in which they started.
    nodes: Vec<String>,
    /// In the order in which they ended.
    model_calls: Vec<TreeModelCall>,
}

impl Client {
    /// Reads events in their order. Each call has one start and one end, both within the call that contains
    /// it; chunks come within their model call.
    // Long: an arm for each kind of event, over the same sets of open calls.
    fn of(case: &Case, events: &[Event], shown: &Shown<'_>) -> Client {
        let (parallel, ran) = (case.limits.parallel.max(1) as usize, ran(case));
        let mut client = Client::default();
        let (mut open_calls, mut open_models) = (BTreeSet::new(), BTreeSet::new());
        let (mut open_parts, mut all_models) = (BTreeSet::new(), BTreeSet::new());
        let drafted = drafted(case);
        for event in events {
            match event {
                Event::ToolCallUpdate {
                    tool_call_id: id,
                    name,
                    status: CallStatus::Start,
                    place,
                    args,
                    started_ms,
                    ..
                } => {
                    client.is_inside(place, false, &open_calls, shown);
                    let (step, index) = step_and_index(id);
                    let call = Call {
                        name: name.clone(),
                        args: args.clone().unwrap(),
                        place: place.clone(),
                        step,
                        index,
                        result: String::new(),
                        is_error: false,
                        started_ms: Some(started_ms.unwrap()),
                        duration_ms: 0,
                        usage: None,
                        decision: None,
                        cost_usd: None,
                        tokens: 0,
                    };
                    assert!(client.calls.insert(id.clone(), call).is_none(), "{id} started twice\n{shown}");
                    client.ids.push(id.clone());
                    client.nodes.push(id.clone());
                    open_calls.insert(id.clone());
                }
                Event::ToolCallUpdate {
                    tool_call_id: id,
                    result,
                    is_error,
                    duration_ms,
                    usage,
                    decision,
                    cost_usd,
                    ..
                } => {
                    let is_beside = |at: &&String| {
                        client.calls[*at].place == client.calls[id].place && ran.contains(key(at))
                    };
                    assert!(open_calls.iter().filter(is_beside).count() <= parallel, "{shown}");
                    assert!(open_calls.remove(id), "{id} ended unasked\n{shown}");
                    let mut within = open_calls.iter().filter(|at| client.parent(at) == Some(id));
                    let is_hook_within =
                        |hook: &Hook| hook.is_open && hook.place.parent_id.as_ref() == Some(id);
                    assert!(!client.hooks.values().any(is_hook_within), "{shown}");
                    assert!(within.next().is_none(), "{id} ended before what is in it\n{shown}");
                    let call = client.calls.get_mut(id).unwrap();
                    (call.result, call.is_error) = (result.clone().unwrap(), *is_error);
                    call.duration_ms = duration_ms.unwrap();
                    let told = usage.as_ref().map_or(0, |usage| usage.input_tokens + usage.output_tokens);
                    assert_eq!(told, call.tokens, "{id} used what was used below it\n{shown}");
                    (call.usage, call.decision, call.cost_usd) = (usage.clone(), *decision, *cost_usd);
                }
                Event::ModelCallUpdate { model_call_id: id, status: CallStatus::Start, place, .. } => {
                    client.is_inside(place, is_summary(id), &open_calls, shown);
                    assert!(all_models.insert(id.clone()) && open_models.insert(id.clone()), "{shown}");
                }
                Event::ModelCallUpdate { model_call_id: id, place, usage, .. } => {
                    let mut around = place.parent_id.clone();
                    let tokens = usage.map_or(0, |usage| usage.input_tokens + usage.output_tokens);
                    while let Some(id) = around {
                        let (used, place) = client.used(&id);
                        *used += tokens;
                        around = place.parent_id.clone();
                    }
                    assert!(open_models.remove(id) && !open_parts.contains(id), "{shown}");
                    client.model_calls.push(model_call(event));
                }
                Event::Chunk { model_call_id: id, done, .. } => {
                    // An answer that hooks judge comes after its model call.
                    assert!(open_models.contains(id) != drafted.contains_key(key(id)), "{shown}");
                    match done {
                        true => open_parts.remove(id),
                        false => open_parts.insert(id.clone()),
                    };
                }
                Event::HookUpdate { .. } => client.hear_hook(event, &open_calls, shown),
                Event::ModelCallReset { model_call_id: id, .. } => {
                    assert!(open_models.contains(id), "{shown}");
                    // Drops a long part that was partly written before its call was lost.
                    open_parts.remove(id);
                }
                _ => {}
            }
        }
        assert!(open_calls.is_empty() && open_models.is_empty() && open_parts.is_empty(), "{shown}");
        assert!(client.hooks.values().all(|hook| !hook.is_open), "{shown}");
        client.blocks_hold(&ran, shown);
        client
    }

    /// An event with a parent is one level deeper than that parent, which is an open call. A summary is a level below the
    /// root without a call.
    fn is_inside(&self, place: &Place, is_summary: bool, open: &BTreeSet<String>, shown: &Shown<'_>) {
        match &place.parent_id {
            None if is_summary => assert_eq!(place.depth, 1, "{shown}"),
            None => assert_eq!(place.depth, 0, "{shown}"),
            Some(parent) if self.hooks.contains_key(parent) => {
                let hook = &self.hooks[parent];
                assert!(hook.is_open && hook.place.depth + 1 == place.depth, "{shown}");
            }
            Some(parent) => {
                assert!(open.contains(parent), "{parent} is not open\n{shown}");
                let above = &self.calls[parent];
                assert!(is_level(&above.name) && above.place.depth + 1 == place.depth, "{shown}");
            }
        }
    }

    /// The tokens of a call or a hook so far, and its place.
    fn used(&mut self, id: &str) -> (&mut u64, &Place) {
        match self.calls.get_mut(id) {
            Some(call) => (&mut call.tokens, &call.place),
            None => self.hooks.get_mut(id).map(|hook| (&mut hook.tokens, &hook.place)).unwrap(),
        }
    }

    fn parent(&self, id: &str) -> Option<&String> {
        self.calls[id].place.parent_id.as_ref()
    }

    /// The calls of a level by step, each step's in the model's order.
    fn rounds(&self, level: Option<&String>) -> BTreeMap<usize, BTreeMap<usize, &String>> {
        let mut rounds: BTreeMap<usize, BTreeMap<usize, &String>> = BTreeMap::new();
        for id in self.ids.iter().filter(|id| self.parent(id) == level) {
            let call = &self.calls[id];
            rounds.entry(call.step).or_default().insert(call.index, id);
        }
        rounds
    }

    fn tree(&self) -> ExecutionTree {
        let node = |id: &String| {
            let call = &self.calls[id];
            let Call { name, args, place, result, is_error, started_ms, duration_ms, usage, .. } = call;
            let title = args["title"].as_str().unwrap_or(name);
            TreeNode {
                id: id.clone(),
                parent_id: place.parent_id.clone(),
                name: name.clone(),
                title: (["run_subtask", "plan_step", "agent_reply", "digest_page", "planned_step"]
                    .contains(&name.as_str()))
                .then(|| title.to_owned()),
                args_preview: None,
                result_preview: Some(preview(result)),
                is_error: is_error.then_some(true),
                started_ms: *started_ms,
                duration_ms: *duration_ms,
                usage: usage.clone(),
                decision: call.decision,
                cost_usd: call.cost_usd,
                hook: None,
            }
        };
        let node = |id: &String| self.hooks.get(id).map_or_else(|| node(id), Hook::node);
        ExecutionTree {
            nodes: self.nodes.iter().map(node).collect(),
            model_calls: self.model_calls.clone(),
            ..ExecutionTree::default()
        }
    }
}

/// A model call, as its end event describes it.
fn model_call(end: &Event) -> TreeModelCall {
    let Event::ModelCallUpdate { model_call_id, model, place, usage, cost_usd, finish_reason, .. } = end
    else {
        panic!("{end:?}")
    };
    let Event::ModelCallUpdate { started_ms, first_byte_ms, duration_ms, agent, .. } = end else {
        panic!("{end:?}")
    };
    assert!(first_byte_ms.is_none_or(|first| first <= duration_ms.unwrap()), "{end:?}");
    TreeModelCall {
        id: model_call_id.clone(),
        parent_id: place.parent_id.clone(),
        model: model.clone(),
        agent: agent.clone(),
        started_ms: started_ms.unwrap(),
        first_byte_ms: *first_byte_ms,
        duration_ms: duration_ms.unwrap(),
        usage: *usage,
        cost_usd: *cost_usd,
        finish_reason: finish_reason.clone().unwrap(),
    }
}

/// The keys of the calls that really ran. Refused calls, and calls that the end of the turn settled, have a
/// start and an end as well.
fn ran(case: &Case) -> BTreeSet<String> {
    let entries = case.disk.entries.borrow();
    let started = entries.iter().filter(|entry| matches!(entry.fact, Fact::ToolStarted { .. }));
    started.map(|entry| entry.at.clone()).collect()
}

/// An id holds the place of its call in the turn: `call_TAG_LEVEL-STEP.INDEX`.
fn key(id: &str) -> &str {
    id.rsplit('_').next().unwrap()
}

/// Whether a model call summarises earlier turns.
fn is_summary(id: &str) -> bool {
    id.contains("-summary-")
}

fn step_and_index(id: &str) -> (usize, usize) {
    let (step_key, index) = key(id).rsplit_once('.').unwrap();
    let step = step_key.rsplit('-').next().unwrap();
    // The order within a plan: its planner, its reviewer, then its waves of steps.
    let (step, from) = match step.strip_prefix(['w', 'd', 'a']) {
        Some(wave) => (wave, 2_000),
        None if step_key.contains("-review-") => (step, 1_000),
        None if step_key.ends_with(&format!("-notes-{step}")) => (step, 3_000),
        None => (step, 0),
    };
    (from + step.parse::<usize>().unwrap(), index.parse().unwrap())
}

/// Whether calls of this name open levels.
fn is_level(name: &str) -> bool {
    [
        "run_subtask",
        "plan_step",
        "agent_create_plan",
        "agent_update_plan",
        "route_request",
        "task",
        "discuss",
        "agent_reply",
        "websearch",
        "dump_agent",
        "restore_agent",
        "digest_page",
        "verify_step",
        "planned_step",
        "__step_output__",
    ]
    .contains(&name)
}

/// A turn announces its end once, as its last event, and gives a reason if it stopped before its natural end.
fn last_words(case: &Case, events: &[Event], shown: &Shown<'_>) {
    assert!(matches!(events.first(), Some(Event::Session { .. })), "{shown}");
    let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
    let count = |kind: &str| kinds.iter().filter(|is| **is == kind).count();
    assert_eq!((count("session"), count("cost_summary"), count("done")), (1, 1, 1), "{shown}");
    let finish = case.end().message.finish_reason.unwrap();
    let tail: &[&str] = match finish {
        FinishReason::Stop | FinishReason::Length | FinishReason::ContentFilter => &[],
        FinishReason::Budget => &["budget_exceeded", "error"],
        FinishReason::Cancelled | FinishReason::Error | FinishReason::Interrupted => &["error"],
    };
    assert_eq!(
        (count("budget_exceeded"), count("error")),
        (count_of(tail, "budget_exceeded"), count_of(tail, "error"))
    );
    assert!(kinds.ends_with(&[tail, &["cost_summary", "done"]].concat()), "{shown}");
    let [.., Event::CostSummary(costs), Event::Done { finish_reason, usage, .. }] = events else {
        panic!("{shown}")
    };
    assert_eq!(usage.as_ref(), Some(costs), "B-026\n{shown}");
    assert_eq!((*finish_reason, case.end().message.stop.is_some()), (finish, !tail.is_empty()), "{shown}");

    let entries = case.disk.entries.borrow();
    let stop = entries.iter().position(|entry| matches!(entry.fact, Fact::Stopped(_)));
    assert_eq!(stop.is_some(), !tail.is_empty(), "{shown}");
    let after = entries.iter().skip(stop.unwrap_or(entries.len())).skip(1);
    assert!(
        after.into_iter().all(|entry| matches!(entry.fact, Fact::Resumed { .. })),
        "written after a stop\n{shown}"
    );
    for event in events {
        if let Event::BudgetExceeded { limit, observed, .. } = event {
            assert!(observed >= limit, "{shown}");
        }
    }
}
