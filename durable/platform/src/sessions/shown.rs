//! A session as its user reads it: in the details of its thread, and whole in the export of all their data. No part of it
//! makes a token. Pure.

use serde::Serialize;

use super::advance::{SessionRow, StepRow};
use wire::protocol::{
    SessionContext, SessionMode, SessionStatus, StepNotes, StepTitle, WorkflowDefinition, WorkflowSession,
};

/// The most characters of a step's notes in the details of a thread, which clients ask for often.
const SHOWN_CHARS: usize = 4_000;
/// The steps in one part of a whole session. The longest has notes of 300 KB and values of 64 KiB, so a part has less than
/// the 2 MB that a page of the export may have beyond its limit.
const STEPS: usize = 4;

/// The session in the details of its thread.
pub fn detail(row: SessionRow, done: Vec<StepRow>) -> WorkflowSession {
    let title =
        |step: &wire::protocol::WorkflowStep| StepTitle { id: step.id.clone(), title: step.title.clone() };
    WorkflowSession {
        session_id: row.id.to_string(),
        workflow_id: row.workflow_id,
        version: row.version,
        steps: row.definition.steps.iter().map(title).collect(),
        name: row.definition.name,
        mode: row.mode,
        status: row.status,
        reason: row.reason,
        goal: row.goal,
        step: row.step,
        notes: done.into_iter().map(|step| cut(step.notes)).collect(),
        updated_at: row.updated_at,
    }
}

fn cut(mut notes: StepNotes) -> StepNotes {
    if let Some((end, _)) = notes.notes.char_indices().nth(SHOWN_CHARS) {
        notes.notes.truncate(end);
    }
    notes
}

/// A part of a whole session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// In the first part, where the thread has a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<KeptSession>,
    steps: Vec<KeptStep>,
    /// The step with which the next part begins; none in the last one.
    next: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct KeptSession {
    session_id: String,
    workflow_id: String,
    version: u32,
    definition: WorkflowDefinition,
    mode: SessionMode,
    status: SessionStatus,
    reason: Option<String>,
    goal: String,
    step: u32,
    context: SessionContext,
    created_at: u64,
    updated_at: u64,
}

/// A step that has ended, with its whole notes.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct KeptStep {
    session_id: String,
    #[serde(flatten)]
    notes: StepNotes,
    context_updates: SessionContext,
}

/// The part of a session that begins with this step.
pub fn kept(session: Option<(&SessionRow, Vec<StepRow>)>, from: u32) -> Kept {
    let Some((row, done)) = session else { return Kept { session: None, steps: Vec::new(), next: None } };
    let mut left = done.into_iter().filter(|step| step.step >= from);
    let step = |StepRow { notes, updates, .. }| KeptStep {
        session_id: row.id.to_string(),
        notes,
        context_updates: updates,
    };
    let steps = left.by_ref().take(STEPS).map(step).collect();
    Kept { session: (from == 0).then(|| whole(row)), steps, next: left.next().map(|step| step.step) }
}

fn whole(row: &SessionRow) -> KeptSession {
    KeptSession {
        session_id: row.id.to_string(),
        workflow_id: row.workflow_id.clone(),
        version: row.version,
        definition: row.definition.clone(),
        mode: row.mode,
        status: row.status,
        reason: row.reason.clone(),
        goal: row.goal.clone(),
        step: row.step,
        context: row.context.clone(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
