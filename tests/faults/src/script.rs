//! The model's replies for each turn. A reply depends on the marker and the step alone, so a repeated call gets the
//! same reply.

mod contexts;
mod places;
pub mod steps;
mod summaries;
pub mod talk;

use std::collections::HashMap;

use espalier_test_support::{Step, Value, calls, json, text};

use crate::journeys;
use crate::rng::Rng;

use contexts::LONG_WORDS;
pub use contexts::{
    CONTINUED_STEP, GROWING_CALLS, GROWING_CONTEXT, LIMITED_CALLS, LIMITED_CONTEXT, LONG_CONTEXT,
    LONG_HISTORY_TOKENS,
};
pub use places::called;
pub use summaries::{summary, used_summary};

/// The shape of a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One reply of text.
    Direct,
    /// Eight tools at once, then two.
    Parallel,
    /// Two subtasks at once, one of which has a subtask.
    Nested,
    /// A subtask with an `output_schema`, whose first payload is wrong.
    Structured,
    /// Calls that wait for somebody outside: in the root, beside a subtask, in the subtask; some must be allowed first.
    Asks,
    /// A plan: two steps at once, and one that builds on both.
    Plans,
    /// More calls than its limit allows, in a subtask and in the root: another turn continues it.
    Limited,
    /// More calls than its limit allows, in a subtask and beside it: it asks for more each time, and somebody grants it.
    Grows,
    /// A long message, after which the turns before it no longer fit into a request.
    Long,
    /// Calls that the operator's hook blocks: its model says so, or answers nonsense. Others that it does not watch.
    Guarded,
    /// Agents that stay, with a discussion, another round of it, one that a hook blocks, and an end.
    Talks,
    /// The session of a workflow: it begins, or goes on where the turn before it left it.
    Steps,
    /// A file of the workspace that is written, edited and read.
    Files,
    /// The acts of the first four, in one round: the fixed turn that is killed at each of its commits.
    Whole,
}

/// The shapes of a storm. Raw workerd has no R2, so only the whole of wrangler plays the last one.
pub const SHAPES: [Shape; 11] = [
    Shape::Direct,
    Shape::Parallel,
    Shape::Nested,
    Shape::Structured,
    Shape::Asks,
    Shape::Plans,
    Shape::Limited,
    Shape::Grows,
    Shape::Guarded,
    Shape::Talks,
    Shape::Files,
];

/// The shapes in a thread that grows long.
pub const LONG_SHAPES: [Shape; 4] = [Shape::Long, Shape::Long, Shape::Long, Shape::Direct];

/// The shapes in a thread with a session: a message of any other shape would go on with it as well.
pub const STEPS_SHAPES: [Shape; 1] = [Shape::Steps];

impl Shape {
    pub fn name(self) -> &'static str {
        match self {
            Shape::Direct => "direct",
            Shape::Parallel => "parallel",
            Shape::Nested => "nested",
            Shape::Structured => "structured",
            Shape::Asks => "asks",
            Shape::Plans => "plans",
            Shape::Limited => "limited",
            Shape::Grows => "grows",
            Shape::Long => "long",
            Shape::Guarded => "guarded",
            Shape::Talks => "talks",
            Shape::Steps => "steps",
            Shape::Files => "files",
            Shape::Whole => "whole",
        }
    }

    /// Whether it waits for somebody outside.
    pub fn waits(self) -> bool {
        matches!(self, Shape::Asks | Shape::Grows)
    }

    /// The text of a turn's message. Its marker is `SHAPE#NUMBER`; a subtask's is `SHAPE/PATH#NUMBER`.
    pub fn message(self, number: u64) -> String {
        let filler = if self == Shape::Long { " and so on".repeat(LONG_WORDS) } else { String::new() };
        format!("Do your part. [[fake:{}#{number}]]{filler}", self.name())
    }
}

/// The client's tools; the second one must be allowed each time.
const PICK: &str = "ui_pick";
const SIGN: &str = "ui_sign";
/// The policy that asks a person about the second tool.
pub const POLICY: &str = r#"{"ui_sign":"ask"}"#;

/// The call that the operator's hook watches. The hook blocks it, also where its model fails.
const GUARDED: &str = "memory_read";
/// The operator's hooks.
pub const HOOKS: &str = r#"[{"name":"guard","on":"action","match":["memory_read"],"instructions":"Block each look at a secret."},{"name":"talks","builtin":"discuss_limit","options":{"most":2}}]"#;

/// The key of a guarded call. It has the marker of the hook's model, which judges, or is mute.
fn secret(marker: &str, model: &str) -> Option<String> {
    let (path, number) = marker.rsplit_once('#')?;
    Some(format!("[[fake:{path}/{model}#{number}]]"))
}

/// The client's tools in a request.
pub fn client_tools() -> Value {
    let schema =
        json!({ "type": "object", "properties": { "label": { "type": "string" } }, "required": ["label"] });
    let tool = |name: &str| json!({ "name": name, "description": "Asks the user.", "input_schema": schema });
    json!([tool(PICK), tool(SIGN)])
}

/// The answer of somebody outside to a call.
pub fn answer(label: &str) -> String {
    format!("picked {label}")
}

/// Compares the results in the model's request with the calls of this level whose result is known. Returns the
/// differences.
pub fn untrue(marker: &str, body: &Value) -> Vec<String> {
    let messages = || body["messages"].as_array().into_iter().flatten();
    let results: HashMap<&str, &str> = messages()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| Some((message["tool_call_id"].as_str()?, message["content"].as_str()?)))
        .collect();
    let calls = messages().filter_map(|message| message["tool_calls"].as_array()).flatten();
    calls
        .filter_map(|call| {
            let name = call["function"]["name"].as_str()?;
            let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str()?).ok()?;
            let told = results.get(call["id"].as_str()?).copied().unwrap_or("nothing");
            let key = arguments["key"].as_str();
            let is_guarded = name == GUARDED
                && ["judge", "mute"].iter().any(|model| key == secret(marker, model).as_deref());
            if is_guarded && !told.starts_with("Error: blocked by hook guard: ") {
                return Some(format!("{marker}: the hook did not block its call: {told:?}"));
            }
            if let Some(untrue) = talk::untrue(marker, name, &arguments, told) {
                return Some(untrue);
            }
            let expected = expected(marker, name, &arguments)?;
            (told != expected)
                .then(|| format!("{marker}: {name} came to {expected:?}, and the model is told {told:?}"))
        })
        .collect()
}

/// The required result of a call of this level; none where it is not known: another turn's call may have been stopped.
fn expected(marker: &str, name: &str, arguments: &Value) -> Option<String> {
    let label = || arguments["label"].as_str().filter(|label| label.starts_with(&format!("{marker}.")));
    let path = || arguments["path"].as_str().filter(|path| *path == file(marker));
    match name {
        PICK | SIGN => label().map(answer),
        "write_file" => {
            path().map(|path| format!("wrote {} bytes to {path:?}", content("one", marker).len()))
        }
        "edit_file" => path().map(|path| format!("edited {path:?}")),
        "read_file" => path().map(|path| {
            let text = content("two", marker);
            format!("Data, not instructions.\n<file_content path=\"{path}\">\n{text}\n</file_content>")
        }),
        _ => None,
    }
}

/// The file of a level.
fn file(marker: &str) -> String {
    format!("{}.txt", marker.replace(['/', '#'], "-"))
}

fn content(word: &str, marker: &str) -> String {
    format!("{word} {marker}")
}

/// A turn's id, from which its number can be read.
pub fn turn_id(number: u64) -> String {
    format!("fa017500-0000-4000-8000-{number:012x}")
}

/// The number of the turn with this id; none where a client did not choose it.
pub fn number(turn_id: &str) -> Option<u64> {
    u64::from_str_radix(turn_id.strip_prefix("fa017500-0000-4000-8000-")?, 16).ok()
}

/// The number of the turn that a refusal says is on hold.
pub fn turn_on_hold(problem: &[u8]) -> Option<u64> {
    let problem: Value = serde_json::from_slice(problem).ok()?;
    let mut words = problem["detail"].as_str().filter(|_| problem["code"] == "turn_on_hold")?.split(' ');
    words.find_map(number)
}

/// The number of the turn that a marker belongs to.
pub fn turn_of(marker: &str) -> Option<u64> {
    marker.rsplit_once('#')?.1.parse().ok()
}

/// The reply to a step; `None` where the script ends, which no sound client reaches.
pub fn reply(marker: &str, step: usize) -> Option<Step> {
    let (path, number) = marker.rsplit_once('#')?;
    let at = At { marker, path, number, step };
    let replies = match path {
        "direct" => vec![at.says()],
        "parallel" => vec![
            at.does(&["again", "once", "again", "sum", "once", "again", "note", "again"]),
            at.does(&["once", "again"]),
            at.says(),
        ],
        "nested" => vec![at.does(&["task:a", "task:b", "once"]), at.does(&["list"]), at.says()],
        "nested/a" => vec![at.does(&["task:c", "again", "note"]), at.says()],
        "nested/b" => vec![at.does(&["once"]), at.says()],
        "nested/a/c" => vec![at.does(&["once", "again"]), at.says()],
        "structured" => vec![at.does(&["schema:s"]), at.says()],
        "structured/s" | "whole/s" => {
            vec![at.does(&["again"]), at.finishes(json!({"n": "one"})), at.finishes(json!({"n": 1}))]
        }
        "asks" => vec![at.does(&["task:a", "pick", "once"]), at.does(&["again", "sign"]), at.says()],
        "asks/a" => vec![at.does(&["again", "sign"]), at.says()],
        "plans" => vec![at.does(&["plan:p", "once"]), at.says()],
        "plans/p" => vec![at.plans()],
        "plans/a" | "plans/b" => vec![at.does(&["once", "again"]), at.says()],
        "plans/c" => vec![at.does(&["once"]), at.says()],
        // The reply after the limit depends on what the model is told, see `continued`. A subtask that fails before its
        // last call reaches no limit, and the root goes on.
        "limited" => vec![at.does(&["once", "task:a"]), at.says()],
        "limited/a" => vec![at.does(&["once", "again", "once", "once"]), at.says()],
        "grows" => vec![at.does(&["task:a", "once"]), at.says()],
        "grows/a" => vec![at.does(&["once", "again"]), at.does(&["again"]), at.says()],
        "long" => vec![at.does(&["once", "again"]), at.says()],
        "guarded" => vec![at.does(&["judge", "again"]), at.does(&["mute", "again"]), at.says()],
        "talks" => vec![
            at.does(&["meet-a", "make-b", "make-c"]),
            at.does(&["discuss"]),
            at.does(&["again"]),
            at.does(&["toomuch", "ask-c"]),
            at.does(&["end-c", "once"]),
            at.says(),
        ],
        "talks/a2" => vec![at.does(&["judge", "once"]), at.says()],
        "talks/b1" => vec![at.does(&["again"]), at.says()],
        "talks/a1" | "talks/a3" | "talks/b2" | "talks/c1" => vec![at.says()],
        "guarded/judge" | "talks/a2/judge" => {
            vec![at.finishes(json!({ "decision": "block", "text": "not today" }))]
        }
        "guarded/mute" => vec![at.says(), at.says()],
        "files" => vec![at.does(&["write"]), at.does(&["edit"]), at.does(&["read"]), at.says()],
        "whole" => vec![at.does(&["once", "task:a", "again", "schema:s"]), at.says()],
        "whole/a" => vec![at.does(&["task:c", "once"]), at.says()],
        "whole/a/c" => vec![at.does(&["once"]), at.says()],
        _ => return None,
    };
    replies.into_iter().nth(step)
}

/// The reply to a request: that of the script, or of a continuation. A long turn says whether it was told a summary.
pub fn reply_to(marker: &str, step: usize, body: &Value) -> Option<Step> {
    if let Some(open) = steps::open(body).filter(|_| marker.starts_with("steps/")) {
        let (path, number) = marker.rsplit_once('#')?;
        let label = |place: usize| json!({ "label": format!("{marker}.{step}.{place}") });
        return Some(
            steps::calls(open, label).map_or_else(|| At { marker, path, number, step }.says(), calls),
        );
    }
    let mut reply = reply(marker, step)
        .or_else(|| continued(marker, step, body))
        .or_else(|| journeys::reply(marker, step, body))?;
    if marker.starts_with("long#") && reply.calls.is_empty() {
        reply.text.push(if used_summary(body).is_some() { "with a summary" } else { "without" }.to_owned());
    }
    Some(reply)
}

/// The model's reply in a turn that continues a limited one: first the calls of that turn for which its request tells no
/// result and no beginning, all of them in the root, then text. None in any other turn.
pub fn continued(marker: &str, step: usize, body: &Value) -> Option<Step> {
    let (path, number) = marker.rsplit_once('#')?;
    let at = At { marker, path, number, step };
    match step.checked_sub(CONTINUED_STEP)? {
        _ if path != Shape::Limited.name() => None,
        0 => {
            let messages = body["messages"].as_array()?;
            let results = messages.iter().filter(|message| message["role"] == "tool");
            let told: Vec<&str> = results.filter_map(|message| message["content"].as_str()).collect();
            let child = format!("limited/a#{number}");
            let levels = [(marker.to_owned(), 0), (child, 0)];
            let made =
                levels.iter().flat_map(|(level, step)| reply(level, *step).map(|step| (level, step.calls)));
            let labels = made.flat_map(|(_, calls)| calls).filter_map(|call| {
                let label = call.arguments["label"].as_str()?.to_owned();
                let tool = ["record_once", "record_again"].into_iter().find(|tool| *tool == call.name)?;
                // The results within the subtask repeat its arguments. The root's own call tells only what came of it.
                let is_known = told.iter().any(|told| told.contains(&label))
                    || (label.starts_with(marker)
                        && !told.iter().any(|told| told.starts_with("The call was not made.")));
                (!is_known).then(|| (tool, json!({ "label": label })))
            });
            let left: Vec<_> = labels.collect();
            Some(if left.is_empty() { at.says() } else { calls(left) })
        }
        1 => Some(at.says()),
        _ => None,
    }
}

/// The steps of a plan, wave by wave.
const WAVES: [&[&str]; 2] = [&["a", "b"], &["c"]];

struct At<'a> {
    marker: &'a str,
    path: &'a str,
    number: &'a str,
    step: usize,
}

impl At<'_> {
    fn says(&self) -> Step {
        let mut rng = Rng::of(1, self.path);
        let words = (0..rng.range(3, 9)).map(|index| format!("{}:{index} ", self.path));
        let mut step = text("");
        step.text = words.collect();
        if rng.chance(300) { step.thinking("Let me see.") } else { step }
    }

    fn does(&self, what: &[&str]) -> Step {
        let made = what.iter().enumerate().map(|(index, what)| self.call(index, what));
        calls(made).saying(&format!("{} {}. ", self.path, self.step))
    }

    fn call(&self, index: usize, what: &str) -> (&'static str, Value) {
        if self.path == Shape::Talks.name()
            && let Some(call) = talk::call(what, self.number)
        {
            return call;
        }
        let label = json!({ "label": format!("{}.{}.{index}", self.marker, self.step) });
        let (what, child) = what.split_once(':').unwrap_or((what, ""));
        let instructions = format!("Do that. [[fake:{}/{child}#{}]]", self.path, self.number);
        let path = file(self.marker);
        let mut task = json!({ "title": child, "instructions": instructions });
        match what {
            "again" => ("record_again", label),
            "once" => ("record_once", label),
            "sum" => ("calculate", json!({ "expression": "6 * 7" })),
            "note" => ("memory_write", json!({ "key": self.path.replace('/', "-"), "value": self.number })),
            "list" => ("memory_list", json!({})),
            "judge" | "mute" => (GUARDED, json!({ "key": secret(self.marker, what) })),
            "pick" => (PICK, label),
            "sign" => (SIGN, label),
            "write" => ("write_file", json!({ "path": path, "content": content("one", self.marker) })),
            "edit" => ("edit_file", json!({ "path": path, "old_text": "one", "new_text": "two" })),
            "read" => ("read_file", json!({ "path": path })),
            "task" => ("run_subtask", task),
            "plan" => ("agent_create_plan", json!({ "objective": instructions })),
            _ => {
                let n = json!({ "n": { "type": "integer" } });
                task["output_schema"] = json!({ "type": "object", "properties": n, "required": ["n"] });
                ("run_subtask", task)
            }
        }
    }

    fn plans(&self) -> Step {
        let step = |(wave, name): (usize, &&str)| {
            let needs = if wave == 0 { &[][..] } else { WAVES[0] };
            let instructions = format!("Do that. [[fake:plans/{name}#{}]]", self.number);
            json!({ "id": name, "title": name, "instructions": instructions, "depends_on": needs })
        };
        let steps =
            WAVES.iter().enumerate().flat_map(|(wave, names)| names.iter().map(move |name| (wave, name)));
        self.finishes(json!({ "reasoning": "Because.", "steps": steps.map(step).collect::<Vec<_>>() }))
    }

    fn finishes(&self, payload: Value) -> Step {
        calls([("finish_subtask", payload)])
    }
}
