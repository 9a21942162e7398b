//! Plans as data: a planner's draft and its checks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use wire::protocol::{PlanStep, StepStatus};

/// The most steps of a plan: a person would not read a longer one before approving it.
pub const MAX_STEPS: usize = 12;
/// The longest texts of a plan, in characters: events and the next turn's prompt carry the whole plan.
const MAX_ID: usize = 40;
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 4_000;

/// The draft of a plan, as a planner returns it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Draft {
    pub reasoning: String,
    #[serde(default)]
    pub intent_label: Option<String>,
    pub steps: Vec<DraftStep>,
}

/// One step of a draft.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct DraftStep {
    pub id: String,
    pub title: String,
    pub instructions: String,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default)]
    pub tool: Option<String>,
}

/// The schema of a planner's draft.
pub fn schema() -> Value {
    let text = |most: usize| json!({"type": "string", "minLength": 1, "maxLength": most});
    json!({
        "type": "object",
        "properties": {
            "reasoning": text(MAX_TEXT),
            "intent_label": {"type": "string", "maxLength": MAX_TITLE},
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_STEPS,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": text(MAX_ID),
                        "title": text(MAX_TITLE),
                        "instructions": text(MAX_TEXT),
                        "depends_on": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_STEPS},
                        "tool": {"type": "string", "maxLength": MAX_TITLE},
                    },
                    "required": ["id", "title", "instructions"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["reasoning", "steps"],
        "additionalProperties": false,
    })
}

/// The schema of a reviewer's verdict.
pub fn review_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "verdict": {"enum": ["approved", "needs_changes", "rejected", "changes_requested"]},
            "notes": {"type": "string", "maxLength": MAX_TEXT},
        },
        "required": ["verdict", "notes"],
        "additionalProperties": false,
    })
}

/// The rules for a plan, beside its schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PlanRules {
    /// The tools that steps may name.
    pub tools: Vec<String>,
    /// The tools that steps must name, in this order; one that ends in `?` may be left out (B-080).
    pub required: Vec<String>,
}

impl PlanRules {
    /// Checks a planner's result. The planner reads the error, so its text says how to correct the plan.
    pub fn check(&self, payload: &str) -> Result<(), String> {
        let draft: Draft = wire::json::from_str(payload).map_err(|error| error.to_string())?;
        draft.check_ids()?;
        for step in &draft.steps {
            if let Some(tool) = step.tool.as_ref().filter(|tool| !self.tools.contains(tool)) {
                let known = self.tools.join(", ");
                return Err(format!("step {:?} names the tool {tool:?}; there are: {known}", step.id));
            }
        }
        self.check_required(&draft)
    }

    fn check_required(&self, draft: &Draft) -> Result<(), String> {
        let mut from = 0;
        for required in &self.required {
            let (tool, optional) =
                required.strip_suffix('?').map_or((required.as_str(), false), |tool| (tool, true));
            let is_it = |step: &DraftStep| step.tool.as_deref() == Some(tool);
            match draft.steps.iter().skip(from).position(is_it) {
                Some(at) => from += at + 1,
                None if optional && !draft.steps.iter().any(is_it) => {}
                None => {
                    let order: Vec<&str> =
                        self.required.iter().map(|tool| tool.trim_end_matches('?')).collect();
                    return Err(format!(
                        "a step with \"tool\": {tool:?} is missing, or not in its place: the order is {}",
                        order.join(", ")
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Draft {
    /// A plan of one step, which is the task itself.
    pub fn of_one(task: &str) -> Self {
        let title = task.chars().take(MAX_TITLE).collect();
        let (depends_on, tool) = (Vec::new(), None);
        let step =
            DraftStep { id: "task".to_owned(), title, instructions: task.to_owned(), depends_on, tool };
        Draft { reasoning: String::new(), intent_label: None, steps: vec![step] }
    }

    fn check_ids(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = self.steps.iter().find(|step| !seen.insert(step.id.as_str())) {
            return Err(format!("two steps have the id {:?}", twice.id));
        }
        for step in &self.steps {
            if let Some(unknown) = step.depends_on.iter().find(|id| !seen.contains(id.as_str())) {
                return Err(format!("step {:?} depends on {unknown:?}, which is no step", step.id));
            }
        }
        // Each pass removes the steps whose dependencies are all settled. Steps that remain form a cycle.
        let mut left: Vec<&DraftStep> = self.steps.iter().collect();
        while !left.is_empty() {
            let waiting: BTreeSet<&str> = left.iter().map(|step| step.id.as_str()).collect();
            let before = left.len();
            left.retain(|step| step.depends_on.iter().any(|id| waiting.contains(id.as_str())));
            if left.len() == before {
                let circle: Vec<&str> = left.iter().map(|step| step.id.as_str()).collect();
                return Err(format!("these steps wait for each other: {}", circle.join(", ")));
            }
        }
        Ok(())
    }

    /// The steps of a plan. With `in_order`, each step also depends on the one before it.
    pub fn into_steps(self, in_order: bool) -> Vec<PlanStep> {
        let mut before: Option<String> = None;
        let step = |DraftStep { id, title, instructions, mut depends_on, tool }: DraftStep| {
            if let Some(before) = before.replace(id.clone()).filter(|_| in_order)
                && !depends_on.contains(&before)
            {
                depends_on.push(before);
            }
            PlanStep { id, title, instructions, depends_on, tool, status: StepStatus::Pending }
        };
        self.steps.into_iter().map(step).collect()
    }
}
