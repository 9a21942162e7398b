//! `planned_step`: a model plans the calls of a step, and the service carries the plan out without asking it in between. A
//! second reply writes the notes from all results. Only the service makes the call, at the start of such a step.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ended::{Written, advanced, ended};
use super::review::{self, Decided};
use super::verify::{EXCHANGES, EXCHANGES_CHARS};
use super::{actions, complete, prompt};
use crate::calls::question::{self, Question, replies};
use crate::journal::{Session, SessionChange, StepEnd, ToolEnd, Work, shortened};
use crate::marks::{data, quoted};
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::record::keys::LevelPath;
use crate::toolbelt::{ToolSpec, Toolbelt};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, Level, LevelEnd, Turn, make_call, make_calls, truncated};
use wire::model::ToolCall;
use wire::protocol::{MAX_NOTES_CHARS, MIN_NOTES_CHARS, StepNotes, WorkflowStep, preview};

pub(super) const NAME: &str = "planned_step";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { stands_for_inner: true, has_title: true, ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Planned),
};

/// The most actions of a plan: as many as a level may have model calls.
const MAX_ACTIONS: usize = 20;
/// The most bytes of the notes that the planner reads. Those of one step are cut as a result is.
const NOTES_BYTES: usize = 40_000;
/// The most bytes of each result that the model reads which writes the notes: with all of them its request stays short.
const RESULT_BYTES: usize = 4_000;
/// The most bytes of each result, and of all together, that the root's model reads: a third of a call's result.
const CARRIED_RESULT_BYTES: usize = 1_000;
const CARRIED_BYTES: usize = 16_000;
/// The result of a call whose plan a person did not allow. Journals have it, and `carry_out` knows such a call by it: a
/// later release must not change it.
pub(super) const NOT_ALLOWED: &str = "A person did not allow this plan, so nothing of it was carried out.";

/// The result of a call about whose plan no person decided. It must not change either.
pub(super) const UNANSWERED: &str = "No person decided on this plan, so nothing of it was carried out.";

/// The outcome of a planned step.
pub(super) enum Came {
    Ended(StepEnd),
    /// The step has a verifier, which judges its notes with these results.
    Proposed(StepEnd, String),
    /// A person did not allow the plan.
    Denied,
    /// No person decided on the plan.
    Unanswered,
    /// The plan was carried out, and its notes are missing. The reason and the results go to the model.
    Unnoted(String),
    /// There was no plan. The reason goes to the model.
    Failed(String),
}

/// The arguments with which the service makes the call.
#[derive(Serialize)]
struct Arguments<'a> {
    title: &'a str,
    step: &'a str,
}

/// One action of a plan.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Action {
    action: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    expected_outcome: String,
}

#[derive(Deserialize)]
struct Plan {
    plan: Vec<Action>,
}

/// The results of a plan within the proposal of the step's end. Proposals of older versions have none.
#[derive(Default, Deserialize)]
struct Results {
    #[serde(default)]
    results: String,
}

/// Carries a planned step out.
pub(super) async fn carry_out(turn: &Turn, level: &mut Level, step: &WorkflowStep) -> Result<Came, Halt> {
    let arguments = json!(Arguments { title: &step.title, step: &step.id });
    let end = make_call(turn, level, spec(), &arguments).await?;
    if let Some((SessionChange { ended: Some(ended), .. }, _)) = level.take_change() {
        return Ok(Came::Ended(ended));
    }
    match end.content.as_str() {
        NOT_ALLOWED if end.is_error => return Ok(Came::Denied),
        UNANSWERED if end.is_error => return Ok(Came::Unanswered),
        _ => {}
    }
    if end.is_error && end.content.starts_with(prompt::CARRIED_OUT) {
        return Ok(Came::Unnoted(end.content));
    }
    let session = level.staged().map(|staged| &staged.session);
    let proposed = session
        .filter(|_| !end.is_error)
        .and_then(|session| ended(session, wire::json::from_str::<Written>(&end.content).ok()?).ok());
    let Some(proposed) = proposed else { return Ok(Came::Failed(end.content)) };
    let results = wire::json::from_str::<Results>(&end.content).map(|Results { results }| results);
    Ok(Came::Proposed(proposed, results.unwrap_or_default()))
}

/// The declaration, for the service alone.
fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Planned;

impl Composite for Planned {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(call: Running<'_>) -> Result<Outcome, Halt> {
    let Running { turn, parent, key, .. } = call;
    let failed = |why: String| Ok(Outcome::of(Err(ToolError(why))));
    let session = turn.record.borrow().session.clone();
    let Some((session, step)) = session.and_then(|session| {
        let step = session.current()?.clone();
        Some((session, step))
    }) else {
        return failed("no step is open".to_owned());
    };
    let belt = parent.belt.replacing(NAME, None).without(|name| name == complete::NAME);
    let plan = match plan(turn, parent, key, (&session, &step), &belt).await? {
        Ok(plan) => plan,
        Err(why) => return failed(why),
    };
    let mut level = actions::level(turn, parent, key, belt);
    if step.review {
        let question = review::of_plan(&step, &json!(plan));
        match review::ask(turn, &mut level, question).await? {
            Decided::Allowed => {}
            Decided::Denied => return failed(NOT_ALLOWED.to_owned()),
            Decided::Unanswered => return failed(UNANSWERED.to_owned()),
        }
    }
    let results = actions_of(turn, &mut level, &plan).await?;
    let overlay = level.into_written();
    let written = notes(turn, parent, key, &step, &results).await?;
    let bytes = turn.spec.limits.tool_result_bytes;
    let (result, session) =
        match written.and_then(|written| noted(&session, &step, written, (&results, bytes))) {
            Ok((told, change)) => (Ok(told), change.map(Box::new)),
            Err(why) => (Err(ToolError(prompt::without_notes(&why, &carried(&results)))), None),
        };
    Ok(Outcome { overlay, session, ..Outcome::of(result) })
}

/// The result of the call with these notes, and the change that comes with it. With a verifier the result is the proposal
/// with as many of the results as there is room for: it may not be cut.
fn noted(
    session: &Session,
    step: &WorkflowStep,
    written: Written,
    (results, bytes): (&[(Action, ToolEnd)], usize),
) -> Result<(String, Option<SessionChange>), String> {
    let told = json!({"notesMarkdown": written.notes, "contextUpdates": written.context_updates}).to_string();
    let end = ended(session, written).map_err(|(_, rule)| rule)?;
    if step.verifier.is_none() {
        return Ok((told, Some(advanced(session, end))));
    }
    let proposed = |results: &str| {
        let StepEnd { notes, context_updates } = &end;
        json!({"notesMarkdown": notes.notes, "contextUpdates": context_updates, "results": results})
            .to_string()
    };
    let length = proposed("").len();
    let room = bytes.checked_sub(length);
    let room =
        room.ok_or_else(|| format!("notes and values have {length} bytes, and they may have {bytes}"))?;
    // Each byte of a line of JSON takes two at most within a string of JSON.
    let results = shortened(&carried(results), room / 2);
    // The mark of a cut alone may be too long.
    let results = if results.len() * 2 > room { "" } else { &results };
    Ok((proposed(results), None))
}

/// Makes the plan, which ends with `complete_step`. Actions after that are left out; where it is missing, it is meant.
async fn plan(
    turn: &Turn,
    parent: &Level,
    key: &str,
    (session, step): (&Session, &WorkflowStep),
    belt: &Toolbelt,
) -> Result<Result<Vec<Action>, String>, Halt> {
    let question = || Question {
        models: Work::Plan.models(),
        system: prompt::planner(),
        text: to_plan(parent, session, step, belt),
        schema: schema_of_plan(belt),
        rules: None,
        replies: replies(turn),
    };
    let json = match question::ask(turn, parent, key, LevelPath::planner(key), question).await? {
        LevelEnd::Structured(json) => json,
        LevelEnd::ModelFailed(error) => return Ok(Err(format!("the model failed ({})", error.kind.code()))),
        _ => return Ok(Err("the model made no plan that could be read".to_owned())),
    };
    Ok(match wire::json::from_str::<Plan>(&json) {
        Ok(Plan { plan }) => {
            Ok(plan.into_iter().take_while(|action| action.action != complete::NAME).collect())
        }
        Err(_) => Err("the model made no plan that could be read".to_owned()),
    })
}

fn schema_of_plan(belt: &Toolbelt) -> Value {
    let names: Vec<&str> = belt.iter().map(|spec| spec.name.as_str()).chain([complete::NAME]).collect();
    json!({
        "type": "object",
        "properties": {
            "plan": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_ACTIONS,
                "items": {
                    "type": "object",
                    "properties": {
                        "step": {"type": "integer"},
                        "action": {"enum": names},
                        "args": {"type": "object"},
                        "expected_outcome": {"type": "string"},
                    },
                    "required": ["action", "args", "expected_outcome"],
                },
            },
        },
        "required": ["plan"],
    })
}

/// The step, what the root knows of the session so far, and the actions that the plan may have, as data.
fn to_plan(parent: &Level, session: &Session, step: &WorkflowStep, belt: &Toolbelt) -> String {
    let action =
        |spec: &ToolSpec| format!("{}: {} {}\n", spec.name, spec.description, spec.input_schema.0.get());
    [
        data("planned_step", &format!("{}\n\n{}", step.title, step.instructions)),
        data("goal", &session.goal),
        data("notes", &notes_before(session)),
        data("context", &Value::Object(session.context.clone()).to_string()),
        data("conversation", &parent.newest_exchanges(EXCHANGES, EXCHANGES_CHARS)),
        data("actions", &belt.iter().map(action).collect::<String>()),
    ]
    .join("\n")
}

/// The notes of the newest steps before this one, oldest first.
fn notes_before(session: &Session) -> String {
    let (mut told, mut left) = (Vec::new(), NOTES_BYTES);
    for StepNotes { step_id, notes, .. } in session.notes.iter().rev() {
        let line = format!("{step_id}: {}\n", quoted(&shortened(notes, RESULT_BYTES)));
        let Some(rest) = left.checked_sub(line.len()) else { break };
        left = rest;
        told.push(line);
    }
    told.into_iter().rev().collect()
}

/// Carries the actions out, one after the other. One that fails keeps the others from nothing: the notes name it.
async fn actions_of(turn: &Turn, level: &mut Level, plan: &[Action]) -> Result<Vec<(Action, ToolEnd)>, Halt> {
    let mut results = Vec::with_capacity(plan.len());
    for (index, action) in plan.iter().enumerate() {
        let call = ToolCall {
            call_id: format!("action_{index}"),
            name: action.action.clone(),
            arguments: Value::Object(action.args.clone()).to_string(),
        };
        let mut ends = make_calls(turn, level, vec![call]).await?;
        results.extend(ends.pop().map(|end| (action.clone(), end)));
    }
    Ok(results)
}

/// Writes the notes of the step from all results.
async fn notes(
    turn: &Turn,
    parent: &Level,
    key: &str,
    step: &WorkflowStep,
    results: &[(Action, ToolEnd)],
) -> Result<Result<Written, String>, Halt> {
    let question = || Question {
        models: Work::Notes.models(),
        system: prompt::notes(),
        text: to_note(step, results),
        schema: json!({
            "type": "object",
            "properties": {
                "notesMarkdown": {"type": "string", "minLength": MIN_NOTES_CHARS, "maxLength": MAX_NOTES_CHARS},
                "contextUpdates": {"type": "object"},
            },
            "required": ["notesMarkdown"],
        }),
        rules: None,
        replies: replies(turn),
    };
    Ok(match question::ask(turn, parent, key, LevelPath::notes(key), question).await? {
        LevelEnd::Structured(json) => {
            wire::json::from_str(&json).map_err(|_| "the notes could not be read".to_owned())
        }
        LevelEnd::ModelFailed(error) => {
            Err(format!("the model that writes the notes failed ({})", error.kind.code()))
        }
        _ => Err("the model wrote no notes that could be read".to_owned()),
    })
}

/// The results of a plan, as data. A failure is named.
fn to_note(step: &WorkflowStep, results: &[(Action, ToolEnd)]) -> String {
    let told = |(index, (action, end)): (usize, &(Action, ToolEnd))| {
        let result = truncated(end.content.clone(), RESULT_BYTES);
        let Action { action, args, expected_outcome } = action;
        json!({
            "number": index + 1, "action": action, "args": args, "expected_outcome": expected_outcome,
            "outcome": outcome(end), "result": result,
        })
        .to_string()
            + "\n"
    };
    format!(
        "{}\n{}",
        data("step_of_results", &format!("{}\n\n{}", step.title, step.instructions)),
        data("results", &results.iter().enumerate().map(told).collect::<String>())
    )
}

/// The same results for the model that does the rest of the step: each of them cut, and all of them bounded.
fn carried(results: &[(Action, ToolEnd)]) -> String {
    let told = |(Action { action, args, .. }, end): &(Action, ToolEnd)| {
        let args = preview(&Value::Object(args.clone()).to_string());
        let result = truncated(end.content.clone(), CARRIED_RESULT_BYTES);
        json!({"action": action, "args": args, "outcome": outcome(end), "result": result}).to_string() + "\n"
    };
    shortened(&results.iter().map(told).collect::<String>(), CARRIED_BYTES)
}

fn outcome(end: &ToolEnd) -> &'static str {
    if end.is_error { "FAILED" } else { "ok" }
}
