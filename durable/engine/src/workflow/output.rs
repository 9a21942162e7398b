//! `__step_output__`: one object in place of free calls. A step with `output_mode: structured_output` has this tool alone,
//! and its replies must call it. The object is checked before anything runs; then its calls run one after the other, and
//! only then its word that the step is complete counts. A call that fails holds the completion.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::actions;
use super::ended::{Written, advanced, ended};
use super::prompt;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::toolbelt::{OutputSchema, PermissionClass, ToolSpec, Toolbelt, declare};
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, make_calls};
use wire::model::ToolCall;

pub(super) const NAME: &str = "__step_output__";

pub(crate) const CALL: Own = Own {
    facts: OwnCall { root_only: true, stands_for_inner: true, ..OwnCall::composite(NAME, 1) },
    carrier: Carrier::Composite(&Output),
};

/// The most calls of one object: as many as a reply may have beside it.
const MAX_CALLS: usize = 20;

const HELD: &str = "A call failed, so the step is not complete. Look at it, then go on or complete the step.";

/// The object, as a model writes it. Its `thought` stays in the journal with the call's arguments.
#[derive(Deserialize)]
struct StepOutput {
    #[serde(default, rename = "isComplete")]
    is_complete: bool,
    #[serde(default, rename = "toolCalls")]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    #[serde(default)]
    params: Map<String, Value>,
}

/// The toolbelt of such a step: this one tool, which names the others.
pub(super) fn belt(others: &Toolbelt) -> Toolbelt {
    Toolbelt::new([spec(others)])
}

fn spec(others: &Toolbelt) -> ToolSpec {
    let about =
        |spec: &ToolSpec| format!("\n- {}: {} {}", spec.name, spec.description, spec.input_schema.0.get());
    let names: Vec<&str> = others.iter().map(|spec| spec.name.as_str()).collect();
    let description = format!(
        "Your whole reply in this step. The service makes the toolCalls in their order and shows you the results. Set \
         isComplete with the last ones of the step: it counts only if none of its calls fails. The tools:{}",
        others.iter().map(about).collect::<String>()
    );
    let mut spec = declare(
        NAME,
        PermissionClass::Subagent,
        &description,
        json!({
            "type": "object",
            "properties": {
                "thought": {"type": "string", "description": "your reasoning; only the log keeps it"},
                "notesMarkdown": {"type": "string", "description": "the notes of the step so far"},
                "contextUpdates": {"type": "object"},
                "isComplete": {"type": "boolean"},
                "toolCalls": {
                    "type": "array",
                    "maxItems": MAX_CALLS,
                    "items": {
                        "type": "object",
                        "properties": {"tool": {"enum": names}, "params": {"type": "object"}},
                        "required": ["tool", "params"],
                    },
                },
            },
            "required": ["notesMarkdown", "isComplete", "toolCalls"],
        }),
    );
    spec.timeout_ms = None;
    spec.parallel_safe = false;
    spec
}

/// The end of the step that an object proposes; none where it does not say that the step is complete.
pub(super) fn proposed(arguments: &str) -> Option<Written> {
    let output: StepOutput = wire::json::from_str(arguments).ok()?;
    output.is_complete.then(|| wire::json::from_str(arguments).ok()).flatten()
}

/// The calls of an object, as names and arguments; none where it has none.
pub(super) fn calls(arguments: &str) -> Vec<(String, String)> {
    let output = wire::json::from_str::<StepOutput>(arguments);
    let calls = output.map(|output| output.tool_calls).unwrap_or_default();
    calls.into_iter().map(|Call { tool, params }| (tool, Value::Object(params).to_string())).collect()
}

struct Output;

impl Composite for Output {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }
}

async fn run(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let failed = |why: String| Ok(Outcome::of(Err(ToolError(why))));
    let session = turn.record.borrow().session.clone();
    let (Some(session), Some(staged)) = (session, parent.staged()) else {
        return failed("no procedure runs here".to_owned());
    };
    if staged.session.step != session.step {
        return failed(prompt::NOT_BEGUN.to_owned());
    }
    let (output, written) = match checked(parent.belt.find(NAME).map(|spec| &**spec), arguments) {
        Ok(checked) => checked,
        Err(why) => return failed(format!("invalid arguments: {why}. Nothing was carried out.")),
    };
    let end = output.is_complete.then(|| ended(&session, written)).transpose();
    let step = session.current().cloned();
    let others = step.as_ref().map(|step| super::course::of_step(&staged.all, step, &[]));
    let mut level = actions::level(turn, parent, key, others.unwrap_or_else(|| Toolbelt::new([])));
    // A model that had to write the end again would make the calls twice. The former version made the calls first: a run
    // of it that had begun them goes on.
    if let Err((at, rule)) = &end
        && !turn.replay.has_begun(&level.wave_key())
    {
        return failed(format!("invalid arguments: {at}: {rule}. Nothing was carried out."));
    }
    let (mut told, mut has_failed) = (Vec::new(), false);
    for (index, Call { tool, params }) in output.tool_calls.into_iter().enumerate() {
        let call = ToolCall {
            call_id: format!("output_{index}"),
            name: tool.clone(),
            arguments: Value::Object(params).to_string(),
        };
        let Some(end) = make_calls(turn, &mut level, vec![call]).await?.pop() else { continue };
        has_failed |= end.is_error;
        let outcome = if end.is_error { " failed" } else { "" };
        told.push(format!("{}. {tool}{outcome}: {}", index + 1, end.content));
    }
    let overlay = level.into_written();
    let mut outcome = Outcome { overlay, ..Outcome::of(Ok(String::new())) };
    let (last, is_error) = match end {
        // As an error, so neither a verifier nor a reader takes the object for the end of the step.
        Ok(Some(_)) | Err(_) if has_failed => (Some(HELD.to_owned()), true),
        Err((at, rule)) => (Some(format!("The step is not complete: {at}: {rule}")), true),
        Ok(Some(_)) if step.is_some_and(|step| step.verifier.is_some()) => {
            (Some(prompt::PROPOSED.to_owned()), false)
        }
        Ok(Some(end)) => {
            outcome.session = Some(Box::new(advanced(&session, end)));
            (Some(prompt::ended(&session)), false)
        }
        Ok(None) => (None, false),
    };
    told.extend(last);
    let told = told.join("\n");
    outcome.result = if is_error { Err(ToolError(told)) } else { Ok(told) };
    Ok(outcome)
}

/// Reads an object after its schema has accepted the whole of it.
fn checked(spec: Option<&ToolSpec>, arguments: &str) -> Result<(StepOutput, Written), String> {
    let spec = spec.ok_or("this step has no such tool")?;
    OutputSchema::compile(spec.input_schema.clone())?.check(arguments)?;
    let read = |error: serde_json::Error| error.to_string();
    let output = wire::json::from_str(arguments).map_err(read)?;
    Ok((output, wire::json::from_str(arguments).map_err(read)?))
}
