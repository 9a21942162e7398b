//! The totals of a turn: its limits, its stored tree, its history and its memory.

use super::*;
use crate::agents::todo::Todo;
use crate::journal::{MAIN, todo_key};
use crate::profiles::{MAX_GRANTS, OnLimit};

pub(super) fn count_of(kinds: &[&str], kind: &str) -> usize {
    kinds.iter().filter(|is| **is == kind).count()
}

/// The turn stays within each limit exactly, as counted in the journal.
// Long: an arm for each fact that counts.
pub(super) fn limits(case: &Case, client: &Client, shown: &Shown<'_>) {
    let entries = case.disk.entries.borrow();
    // A person raises the limits, and no reservation comes before that.
    let (mut limits, mut grants, mut asked) = (case.limits, 0, 0);
    let (mut llm_calls, mut tool_calls, mut subtasks, mut result_bytes) = (0, 0, 0, 0);
    let mut tokens: BTreeMap<(&str, u32), Usage> = BTreeMap::new();
    let mut lost = Usage::default();
    let mut steps: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in entries.iter() {
        match &entry.fact {
            Fact::Waiting { on: Awaited::Limit, .. } => {
                asked += 1;
                assert_eq!(asked, grants + 1, "one question at a time\n{shown}");
            }
            Fact::Answered { on: Awaited::Limit, answer, .. } if answer.allows() => {
                grants += 1;
                limits = case.limits.with_grants(grants);
            }
            Fact::ModelStarted { attempt, place, held, .. } => {
                llm_calls += 1;
                tokens.insert((&entry.at, *attempt), *held);
                let level = entry.at.trim_end_matches(|digit: char| digit.is_ascii_digit());
                steps.entry(level).or_default().insert(&entry.at);
                assert!(held.input_tokens <= limits.history_tokens, "{shown}");
                // A hook stands beside its level, one deeper. The level in which agents answer does not count.
                let beside = u32::from(level.ends_with("-hook-")) + level.matches("-d").count() as u32;
                let depth = if level.ends_with("-summary-") { 0 } else { place.depth - beside };
                assert!(entry.elapsed_ms < limits.wall_clock_ms && depth <= limits.depth, "{shown}");
            }
            Fact::ModelEnded {
                outcome: ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply), ..
            } => {
                let last = tokens.range_mut(..=(entry.at.as_str(), u32::MAX)).next_back().unwrap();
                *last.1 = reply.usage.unwrap_or(*last.1);
            }
            Fact::ModelEnded { outcome: ModelOutcome::Failed { error, .. }, first_byte_ms: None, .. } => {
                let last = tokens.range_mut(..=(entry.at.as_str(), u32::MAX)).next_back().unwrap();
                *last.1 = error.used().unwrap_or(*last.1);
            }
            Fact::ModelRetried { error, .. } => {
                llm_calls += 1;
                let last = tokens.range(..=(entry.at.as_str(), u32::MAX)).next_back().unwrap();
                lost = lost.and(error.used().unwrap_or(*last.1));
            }
            Fact::ToolStarted { subtask, .. } => {
                tool_calls += 1;
                subtasks += u32::from(*subtask);
                assert!(entry.elapsed_ms < limits.wall_clock_ms, "{shown}");
            }
            Fact::ToolEnded(end) => result_bytes += end.content.len() as u64,
            _ => {}
        }
        assert!(llm_calls <= limits.llm_calls && tool_calls <= limits.tool_calls, "{shown}");
        assert!(subtasks <= limits.subtasks, "{shown}");
    }
    assert!(asked == 0 || (case.limits.on_limit == OnLimit::Ask && asked <= MAX_GRANTS), "{asked}\n{shown}");
    assert!(limits.turn_result_bytes.is_none_or(|limit| result_bytes <= limit), "{shown}");
    let used = tokens.values().fold(lost, |sum, usage| sum.and(*usage));
    let used = used.input_tokens + used.output_tokens;
    assert!(limits.turn_tokens.is_none_or(|limit| used <= limit), "{used} tokens\n{shown}");
    let most = |at: &str| match crate::record::keys::work(&format!("{at}0")) {
        Work::Plan | Work::Review | Work::Notes => limits.schema_retries + 2,
        // Each step of a workflow has so many.
        Work::Root if case.setting.session.is_some() => limits.llm_calls,
        Work::Step => limits.step_iterations,
        Work::Root | Work::Subtask | Work::Agent => limits.iterations,
        Work::Route | Work::Summary => 1,
        Work::Hook | Work::Verify => 2,
        Work::Read => 0,
    };
    assert!(steps.iter().all(|(at, made)| made.len() <= most(at) as usize), "{shown}");
    let is_cut = |call: &Call| call.result.len() <= limits.tool_result_bytes;
    assert!(client.calls.values().all(is_cut), "{shown}");
    ledger(case, client, (llm_calls, tool_calls, subtasks), shown);
}

/// The ledger has the counts of the journal: model calls, tool calls, subtasks.
fn ledger(case: &Case, client: &Client, counts: (u32, u32, u32), shown: &Shown<'_>) {
    let end = case.end();
    let costs = end.message.usage.unwrap();
    assert_eq!((costs.llm_calls, costs.tool_calls, costs.subtasks), counts);
    assert_eq!(costs.by_model.values().map(|share| share.llm_calls).sum::<u32>(), counts.0);
    let requests = end.calls.iter().map(|row| match row {
        CallRecord::Model { model, .. } if model == "canned" => 0,
        // The amount that a tool paid.
        CallRecord::Model { id, .. } if client.ids.contains(id) => 0,
        CallRecord::Model { retries, .. } => retries + 1,
        CallRecord::Tool { .. } | CallRecord::Failure(_) => 0,
    });
    let tools = end.calls.iter().filter(|row| matches!(row, CallRecord::Tool { .. })).count();
    assert_eq!(
        (requests.sum::<u32>(), tools),
        (counts.0, client.ids.len()),
        "a row for each call, with all its requests\n{shown}"
    );
}

/// The stored tree equals the one that a client builds.
pub(super) fn stored(case: &Case, tree: ExecutionTree, shown: &Shown<'_>) {
    let mut stored = case.end().message.execution_tree.unwrap();
    stored.nodes.iter_mut().for_each(|node| node.args_preview = None);
    assert_eq!(std::mem::take(&mut stored.plans), case.end().plans, "{shown}");
    assert_eq!(stored, tree, "{shown}");
}

/// Each call of the root has one result after it, in the model's order, and clients saw the same result.
pub(super) fn history(case: &Case, client: &Client) {
    let calls = client.rounds(None).into_values().flat_map(BTreeMap::into_values);
    let mut seen = calls.map(|id| &client.calls[id]);
    let mut unanswered: Vec<&str> = Vec::new();
    let end = case.end();
    let is_staged = case.setting.session.is_some();
    // Where an agent answered the user, its own transcript has the turn.
    let root = case.setting.agents.as_ref().and_then(|setting| setting.root.as_deref());
    let of_agent = end.agents.iter().find(|row| Some(row.agent.name.as_str()) == root);
    assert!(root.is_none() || end.history.is_empty());
    let history = of_agent.map_or(&end.history, |row| row.rounds.last().unwrap());
    for message in history {
        match message {
            Message::Tool { call_id, content, is_error, name } => {
                assert_eq!(unanswered.first(), Some(&call_id.as_str()), "a result without its call");
                unanswered.remove(0);
                let is_it =
                    |seen: &&Call| (name, content, *is_error) == (&seen.name, &seen.result, seen.is_error);
                // The rounds of a finished step gave way to its notes.
                let found = if is_staged { seen.find(is_it) } else { seen.next().filter(is_it) };
                assert!(found.is_some(), "a client saw this call and its result: {message:?}");
            }
            Message::Assistant { tool_calls, .. } => {
                assert!(unanswered.is_empty(), "a call without its result: {unanswered:?}");
                unanswered.extend(tool_calls.iter().map(|call| call.call_id.as_str()));
            }
            Message::User { .. } => assert!(unanswered.is_empty()),
        }
    }
    assert!(unanswered.is_empty(), "a call without its result: {unanswered:?}");
    // A turn whose journal cannot be replayed has lost the model's view of the conversation.
    assert!(
        is_staged || seen.next().is_none() || end.message.finish_reason == Some(FinishReason::Interrupted)
    );
}

/// A stop loses no result: a call that ended within calls that a stop cut off stands in the result of each of them.
pub(super) fn kept(case: &Case, client: &Client, shown: &Shown<'_>) {
    // Shorter results are cut, and a cancelled step has said why it ends.
    if case.limits.tool_result_bytes < 50_000 {
        return;
    }
    let entries = case.disk.entries.borrow();
    let ended = entries.iter().filter(|entry| matches!(entry.fact, Fact::ToolEnded(_)));
    let ended: BTreeSet<&str> = ended.map(|entry| entry.at.as_str()).collect();
    let is_cut_off = |id: &&String| !ended.contains(key(id));
    let of_agents = |id: &&String| client.parent(id).is_none_or(|parent| client.calls.contains_key(parent));
    for id in client.ids.iter().filter(|id| ended.contains(key(id))).filter(of_agents) {
        let mut around = client.parent(id).filter(is_cut_off);
        while let Some(call) = around {
            let told = format!("{}(", client.calls[id].name);
            assert!(client.calls[call].result.contains(&told), "{call} lacks the result of {id}\n{shown}");
            around = client.parent(call).filter(is_cut_off);
        }
    }
}

/// Recomputes a level's view of the shared memory and its writes from the calls of its rounds, and compares
/// the view with each call's reads. Siblings of a round are blind to each other, a later round sees their
/// writes (N-153, N-154), and of two writes the later one in the model's order wins.
pub(super) fn memory(
    client: &Client,
    level: Option<&String>,
    seen: &BTreeMap<String, String>,
    shown: &Shown<'_>,
) -> BTreeMap<String, String> {
    let (mut seen, mut written) = (seen.clone(), BTreeMap::new());
    for round in client.rounds(level).into_values() {
        let mut settled = BTreeMap::new();
        // A round that the end of its step cut off never settled.
        let was_cut = |id: &&String| client.calls[*id].result.contains("its step");
        if round.values().any(was_cut) {
            break;
        }
        for id in round.into_values() {
            let Call { name, args, result, is_error, .. } = &client.calls[id];
            let key = args["key"].as_str().unwrap_or_default();
            match name.as_str() {
                "memory_write" if !is_error => {
                    settled.insert(key.to_owned(), args["value"].as_str().unwrap().to_owned());
                }
                "memory_read" if !is_error => assert_eq!(seen.get(key), Some(result), "{id}\n{shown}"),
                "memory_read" if result.starts_with("nothing is stored") => {
                    assert_eq!(seen.get(key), None, "{id}\n{shown}");
                }
                "memory_list" if !is_error => {
                    let listed: Vec<String> =
                        seen.iter().map(|(key, value)| format!("{key} ({} bytes)", value.len())).collect();
                    let listed =
                        if listed.is_empty() { "the memory is empty".to_owned() } else { listed.join("\n") };
                    assert_eq!(*result, listed, "{id}\n{shown}");
                }
                "todo_write" if !is_error => {
                    let (key, value) = todos(client, level, args, shown);
                    settled.insert(key, value);
                }
                "agent_create_plan" | "agent_update_plan" | "task" | "discuss" | "agent_reply"
                | "websearch" | "dump_agent" | "restore_agent" | "digest_page" | "planned_step"
                | "__step_output__" => {
                    settled.extend(memory(client, Some(id), &seen, shown));
                }
                "run_subtask" | "plan_step" => {
                    settled.extend(memory(client, Some(id), &seen, shown));
                    if !is_error && !result.contains("[The memory of this turn is full") {
                        // Only the caller gets the notes beside a subtask's result; its own result may repeat
                        // them.
                        let own = (name == "run_subtask").then_some("\n\n[These tools");
                        let text = own.and_then(|notes| result.split(notes).next()).unwrap_or(result);
                        settled.insert(format!("task:{id}"), text.to_owned());
                    }
                }
                _ => {}
            }
        }
        seen.extend(settled.clone());
        written.extend(settled);
    }
    // A stopped call loses its writes; the level makes no call after it.
    written
}

/// The list that an agent writes, under its own key.
fn todos(client: &Client, level: Option<&String>, args: &Value, shown: &Shown<'_>) -> (String, String) {
    let agents = shown.0.setting.agents.as_ref();
    let agent = match level {
        Some(level) => client.calls[level].args["title"].as_str(),
        None => agents.and_then(|setting| setting.root.as_deref()),
    };
    let todos: Vec<Todo> = serde_json::from_value(args["todos"].clone()).unwrap();
    (todo_key(agent.unwrap_or(MAIN)), serde_json::to_string(&todos).unwrap())
}
