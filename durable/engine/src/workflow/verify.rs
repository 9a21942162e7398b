//! `verify_step`: a model judges the work of a step. Only the service makes the call, once after each batch of a step that
//! has a verifier. Its model has no tools, so it advances nothing; it only says what it thinks of the work.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::actions::beside;
use super::prompt;
use crate::calls::question::{self, Question};
use crate::journal::StepEnd;
use crate::marks::data;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::profiles::Role;
use crate::record::keys::LevelPath;
use crate::toolbelt::ToolSpec;
use crate::turn::composite::{Carrier, Composite, Outcome, Own, Running};
use crate::turn::{Halt, Level, LevelEnd, Turn};
use wire::protocol::{WorkflowStep, WorkflowVerifier};

const NAME: &str = "verify_step";

pub(crate) const CALL: Own = Own { facts: OwnCall::composite(NAME, 1), carrier: Carrier::Composite(&Verify) };

/// The replies that a verifier may take to come to its verdict.
const REPLIES: u32 = 2;
/// The exchanges that it sees, and their characters: those of a hook that asks a model.
pub(super) const EXCHANGES: usize = 20;
pub(super) const EXCHANGES_CHARS: usize = 8_000;

/// The verdict on the work of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Pass,
    Retry {
        instruction: String,
    },
    Escalate,
    /// There is none: the model failed or was not understood.
    Failed,
}

/// The verdict, as the model writes it.
#[derive(Deserialize, Serialize)]
struct Written {
    assessment: Assessment,
    #[serde(default)]
    reasoning: String,
    #[serde(default)]
    retry_instruction: String,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Assessment {
    Pass,
    Retry,
    Escalate,
}

/// The arguments with which the service makes the call.
#[derive(Deserialize, Serialize)]
struct Arguments {
    step: String,
    #[serde(default)]
    notes: Option<String>,
    /// The results of the plan that was carried out in the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results: Option<String>,
}

/// Asks for the verdict on the newest batch of a step.
pub(super) async fn ask(
    turn: &Turn,
    level: &mut Level,
    step: &WorkflowStep,
    proposed: Option<&StepEnd>,
) -> Result<Verdict, Halt> {
    let notes = proposed.map(|ended| ended.notes.notes.clone());
    let results = level.staged().and_then(|staged| staged.planned.clone());
    let arguments = json!(Arguments { step: step.id.clone(), notes, results });
    let end = beside(turn, level, spec(), &arguments).await?;
    if end.is_error {
        return Ok(Verdict::Failed);
    }
    Ok(match wire::json::from_str::<Written>(&end.content) {
        Ok(Written { assessment: Assessment::Pass, .. }) => Verdict::Pass,
        Ok(Written { assessment: Assessment::Retry, retry_instruction, reasoning }) => {
            let instruction = if retry_instruction.trim().is_empty() { reasoning } else { retry_instruction };
            Verdict::Retry { instruction }
        }
        Ok(Written { assessment: Assessment::Escalate, .. }) => Verdict::Escalate,
        Err(_) => Verdict::Failed,
    })
}

/// The declaration, for the service alone.
fn spec() -> ToolSpec {
    super::declared(NAME)
}

struct Verify;

impl Composite for Verify {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        verify(call).boxed_local()
    }
}

async fn verify(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let failed = |why: String| Ok(Outcome::of(Err(ToolError(format!("there is no verdict: {why}")))));
    let Ok(Arguments { notes, results, .. }) = wire::json::from_str(arguments) else {
        return failed("the call is not understood".to_owned());
    };
    let step = parent.staged().and_then(|staged| staged.session.current());
    let Some((step, verifier)) = step.and_then(|step| Some((step, step.verifier.as_ref()?))) else {
        return failed("the step has no verifier".to_owned());
    };
    let question = || Question {
        models: judges(turn, verifier),
        system: prompt::verifier(verifier),
        text: evidence(parent, step, notes.as_deref(), results.as_deref()),
        schema: schema(),
        rules: None,
        replies: REPLIES,
    };
    match question::ask(turn, parent, key, LevelPath::verifier(key), question).await? {
        LevelEnd::Structured(json) => Ok(Outcome::of(Ok(json))),
        LevelEnd::ModelFailed(error) => failed(format!("its model failed ({})", error.kind.code())),
        _ => failed("its answer was not understood".to_owned()),
    }
}

/// The role whose models judge: the one that the step names, where entry 0 has its models, else `quality`. Entry 0 has models
/// under `quality` in each turn with a verifier, so no request chooses who judges. A turn that former code began may lack
/// them. Then its own models judge, as they did.
fn judges(turn: &Turn, verifier: &WorkflowVerifier) -> Option<Role> {
    let named = verifier.model.as_deref().and_then(Role::of);
    let has_models = |role: &Role| turn.spec.setting.routed.contains_key(role);
    named.filter(has_models).or(Some(Role::Quality).filter(has_models)).or(named)
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "assessment": {"enum": ["pass", "retry", "escalate"]},
            "reasoning": {"type": "string", "maxLength": 2000},
            "retry_instruction": {"type": "string", "maxLength": 2000},
        },
        "required": ["assessment", "reasoning"],
        "additionalProperties": false,
    })
}

/// The step, its notes and the results of its calls (W-103), as data.
fn evidence(level: &Level, step: &WorkflowStep, notes: Option<&str>, results: Option<&str>) -> String {
    let of_step = format!("{}\n\n{}", step.title, step.instructions);
    let notes =
        notes.map_or_else(|| "The model has not said that the step is done.".to_owned(), str::to_owned);
    let results = results.map(|results| data("results", results) + "\n");
    format!(
        "{}\n{}\n{}{}",
        data("verified_step", &of_step),
        data("notes", &notes),
        results.unwrap_or_default(),
        data("conversation", &level.newest_exchanges(EXCHANGES, EXCHANGES_CHARS))
    )
}
