//! The end of a step: its notes, checked when they come.

use serde::Deserialize;
use serde_json::Value;

use crate::journal::{Session, SessionChange, StepEnd};
use wire::protocol::{
    MAX_ARTIFACT_CHARS, MAX_ARTIFACTS, MAX_CONTEXT_BYTES, MAX_NOTES_CHARS, MIN_NOTES_CHARS, SessionContext,
    SessionStatus, StepNotes,
};

/// The end of a step, as a model writes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Written {
    #[serde(default, rename = "notesMarkdown", alias = "notes")]
    pub(super) notes: String,
    #[serde(default, rename = "contextUpdates", alias = "context_updates")]
    pub(super) context_updates: Option<SessionContext>,
    #[serde(default)]
    pub(super) artifacts: Option<Vec<String>>,
}

/// Checks the end of the step at which the session stands. The error names the member and the rule, for the model.
pub(super) fn ended(session: &Session, written: Written) -> Result<StepEnd, (&'static str, String)> {
    let Some(step) = session.current() else {
        return Err(("", "the procedure is complete: no step is open".to_owned()));
    };
    let notes = written.notes.trim();
    let length = notes.chars().count();
    if !(MIN_NOTES_CHARS..=MAX_NOTES_CHARS).contains(&length) {
        let rule = format!(
            "the notes must have {MIN_NOTES_CHARS} to {MAX_NOTES_CHARS} characters, and these have {length}: say what was \
             done and what came of it"
        );
        return Err(("notesMarkdown", rule));
    }
    let artifacts = written.artifacts.unwrap_or_default();
    let is_long = |artifact: &String| artifact.chars().nth(MAX_ARTIFACT_CHARS).is_some();
    if artifacts.len() > MAX_ARTIFACTS || artifacts.iter().any(is_long) {
        let rule = format!("at most {MAX_ARTIFACTS} texts of {MAX_ARTIFACT_CHARS} characters");
        return Err(("artifacts", rule));
    }
    let context_updates = written.context_updates.unwrap_or_default();
    let mut context = session.context.clone();
    context.extend(context_updates.clone());
    let bytes = Value::Object(context).to_string().len();
    if bytes > MAX_CONTEXT_BYTES {
        let rule = format!(
            "with these values the context has {bytes} bytes, and it may have {MAX_CONTEXT_BYTES}: hand on less"
        );
        return Err(("contextUpdates", rule));
    }
    let notes = StepNotes { step_id: step.id.clone(), notes: notes.to_owned(), artifacts };
    Ok(StepEnd { notes, context_updates })
}

/// The change by which a session leaves its step.
pub(super) fn advanced(session: &Session, ended: StepEnd) -> SessionChange {
    let is_last = session.step + 1 >= session.definition.steps.len();
    let status = if is_last { SessionStatus::Complete } else { SessionStatus::Running };
    SessionChange { ended: Some(ended), ..changed(session, status, None) }
}

/// A change that leaves the session at its step.
pub(super) fn changed(session: &Session, status: SessionStatus, reason: Option<&str>) -> SessionChange {
    SessionChange { revision: session.revision + 1, status, reason: reason.map(str::to_owned), ended: None }
}
