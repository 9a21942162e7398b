//! The checks of a definition, and of the bodies of its sessions. An error names the offending member by its path.

use std::collections::BTreeSet;

use super::{
    MAX_GOAL_CHARS, MAX_NOTIFY_URL, MAX_STEP_CHARS, MAX_STEP_ID, MAX_STEP_TOOLS, MAX_STEPS, MAX_TOOL_NAME,
    MAX_VERIFIER_CHARS, MAX_WORKFLOW_TITLE_CHARS, OutputMode, StepType, WorkflowDefinition, WorkflowStep,
};
use crate::protocol::{ApiError, ChatRequest, WORKFLOW_ID};

/// The roles whose models may judge a step.
const ROLES: [&str; 6] = ["primary", "secondary", "subagent", "speed", "balanced", "quality"];

/// Checks the id of a workflow, which is a segment of a URL. The error describes the problem.
pub fn check_workflow_id(id: &str) -> Result<(), String> {
    match WORKFLOW_ID.allows(id) {
        true => Ok(()),
        false => {
            let max = WORKFLOW_ID.max;
            Err(format!("expected 1 to {max} of a-z, 0-9, - and _, with a letter or digit first"))
        }
    }
}

/// Refuses a text that is blank or too long.
fn check_text(path: &str, text: &str, max: usize) -> Result<(), ApiError> {
    if text.trim().is_empty() {
        return Err(ApiError::field(path, "this member must not be blank"));
    }
    at_most(path, text, max)
}

/// Refuses a text of more characters.
pub(super) fn at_most(path: &str, text: &str, max: usize) -> Result<(), ApiError> {
    match text.chars().nth(max) {
        Some(_) => Err(ApiError::field(path, format!("at most {max} characters"))),
        None => Ok(()),
    }
}

impl WorkflowDefinition {
    /// The definition, if its members are within their limits. The error names the first offending member by its path.
    pub fn checked(self) -> Result<WorkflowDefinition, ApiError> {
        self.check()?;
        Ok(self)
    }

    fn check(&self) -> Result<(), ApiError> {
        check_text("name", &self.name, MAX_WORKFLOW_TITLE_CHARS)?;
        at_most("goal", self.goal.as_deref().unwrap_or_default(), MAX_GOAL_CHARS)?;
        if self.steps.is_empty() || self.steps.len() > MAX_STEPS {
            return Err(ApiError::field("steps", format!("expected 1 to {MAX_STEPS} steps")));
        }
        let mut ids = BTreeSet::new();
        for (at, step) in self.steps.iter().enumerate() {
            step.check(at)?;
            if !ids.insert(step.id.as_str()) {
                return Err(ApiError::field(format!("steps[{at}].id"), "another step has this id"));
            }
        }
        let url = self.notify.as_ref().map(|notify| notify.url.as_str());
        match url.is_none_or(is_web_address) {
            true => Ok(()),
            false => {
                let detail = format!("expected an http or https address of at most {MAX_NOTIFY_URL} bytes");
                Err(ApiError::field("notify.url", detail))
            }
        }
    }
}

/// Whether a text looks like an address of the web. The guard of the web tools reads it properly when it is used.
fn is_web_address(url: &str) -> bool {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let plain = |byte: u8| byte.is_ascii_graphic();
    url.len() <= MAX_NOTIFY_URL
        && url.bytes().all(plain)
        && host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', '?', '#', ':']))
}

impl WorkflowStep {
    fn check(&self, at: usize) -> Result<(), ApiError> {
        let path = |member: &str| format!("steps[{at}].{member}");
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if self.id.is_empty() || self.id.len() > MAX_STEP_ID || !self.id.bytes().all(plain) {
            let detail = format!("expected 1 to {MAX_STEP_ID} letters, digits, - and _");
            return Err(ApiError::field(path("id"), detail));
        }
        check_text(&path("title"), &self.title, MAX_WORKFLOW_TITLE_CHARS)?;
        check_text(&path("instructions"), &self.instructions, MAX_STEP_CHARS)?;
        let tools = self.tools.as_deref().unwrap_or_default();
        if tools.len() > MAX_STEP_TOOLS {
            return Err(ApiError::field(path("tools"), format!("at most {MAX_STEP_TOOLS} tools")));
        }
        if let Some(wrong) = tools.iter().position(|name| name.is_empty() || name.len() > MAX_TOOL_NAME) {
            let detail = format!("the name of a tool has 1 to {MAX_TOOL_NAME} bytes");
            return Err(ApiError::field(path(&format!("tools[{wrong}]")), detail));
        }
        let role = self.verifier.as_ref().and_then(|verifier| verifier.model.as_deref());
        if role.is_some_and(|role| !ROLES.contains(&role)) {
            let detail = format!("expected the role of a model: {}", ROLES.join(", "));
            return Err(ApiError::field(path("verifier.model"), detail));
        }
        let own = self.verifier.as_ref().and_then(|verifier| verifier.instructions.as_deref());
        if let Some(own) = own {
            check_text(&path("verifier.instructions"), own, MAX_VERIFIER_CHARS)?;
        }
        let planned = self.kind == StepType::Planned;
        if planned && self.output_mode == OutputMode::StructuredOutput {
            let detail = "a planned step writes a plan, so it has no other form of output";
            return Err(ApiError::field(path("output_mode"), detail));
        }
        if self.review && !planned {
            let detail = "only a planned step has a plan to review";
            return Err(ApiError::field(path("review"), detail));
        }
        Ok(())
    }
}

impl ChatRequest {
    /// A request for a workflow names it, and asks for nothing that its steps could not do.
    pub(in crate::protocol) fn check_workflow(&self) -> Result<(), ApiError> {
        if !self.targets_workflow() {
            return Ok(());
        }
        let others = [
            ("agent", self.agent.is_some()),
            ("mode_profile", self.mode_profile.is_some()),
            ("continue", self.continued.is_some()),
        ];
        if let Some((field, _)) = others.into_iter().find(|(_, is_there)| *is_there) {
            return Err(ApiError::field(field, "it cannot stand beside `workflow_target`"));
        }
        let id = self.workflow_id.as_deref();
        let id = id.ok_or_else(|| ApiError::field("workflow_id", "required with `workflow_target`"))?;
        check_workflow_id(id).map_err(|why| ApiError::field("workflow_id", why))
    }

    /// Whether the turn is to work on a session of a workflow (requirement N-019).
    pub fn targets_workflow(&self) -> bool {
        self.workflow_target.as_deref() == Some("workflow")
    }
}
