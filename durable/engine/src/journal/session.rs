//! The session of a workflow, as the journal and entry 0 have it. Plain data: the room `workflow` decides, the thread's
//! storage keeps the row. No part of it has a token.

use serde::{Deserialize, Serialize};

use super::{Commit, Fact};
use wire::protocol::{SessionContext, SessionStatus, StepNotes, WorkflowDefinition, WorkflowStep};

/// The reason of the change that tells readers of a call which the model repeats (W-097).
pub const REPEATED_CALL: &str = "repeated_call";

/// The session of a turn, as the turn found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Session {
    pub session_id: String,
    pub workflow_id: String,
    /// The version of the definition with which the session began.
    pub definition: WorkflowDefinition,
    pub goal: String,
    #[serde(default)]
    pub status: SessionStatus,
    /// The place of the step at which the session stands, from 0.
    pub step: usize,
    #[serde(default)]
    pub context: SessionContext,
    /// The notes of the finished steps, in their order.
    #[serde(default)]
    pub notes: Vec<StepNotes>,
    /// The number of the session's last change.
    #[serde(default)]
    pub revision: u64,
    /// Whether the session has told its readers of a repeated call. It does so once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated_call: bool,
}

impl Session {
    /// The step at which the session stands; none once it is complete.
    pub fn current(&self) -> Option<&WorkflowStep> {
        self.definition.steps.get(self.step)
    }

    /// Takes a change that an entry or a turn's end records. Changes that it has are left out.
    pub fn apply(&mut self, change: &SessionChange) {
        if change.revision <= self.revision {
            return;
        }
        self.revision = change.revision;
        self.status = change.status;
        self.repeated_call |= change.tells_of_repeated_call();
        if let Some(ended) = &change.ended {
            self.step += 1;
            self.context.extend(ended.context_updates.clone());
            self.notes.push(ended.notes.clone());
        }
    }
}

/// The way in which a root goes on, as its course said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Steered {
    /// The messages for the root's next model call, in their order. They are frozen here, so an edited prompt changes
    /// only steps that begin later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// The change of the session that comes with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<SessionChange>,
}

/// A change of a session. The thread's storage writes it in the transaction of the commit that has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SessionChange {
    /// One more than that of the change before.
    pub revision: u64,
    pub status: SessionStatus,
    /// Why, for readers: `no_advance`, `no_progress`, `repeated_call`, `retry`, `escalated` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The end of the step at which the session stood. The session goes on to the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<StepEnd>,
}

impl SessionChange {
    /// Whether it tells readers of a repeated call.
    pub fn tells_of_repeated_call(&self) -> bool {
        self.reason.as_deref() == Some(REPEATED_CALL)
    }
}

/// The end of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StepEnd {
    pub notes: StepNotes,
    /// Values for the session's context. They replace those of the same names.
    #[serde(default, skip_serializing_if = "SessionContext::is_empty")]
    pub context_updates: SessionContext,
}

impl Commit {
    /// The changes of the turn's session in this commit, in their order.
    pub fn session_changes(&self) -> impl Iterator<Item = &SessionChange> {
        let of_entries = self.entries.iter().filter_map(|entry| match &entry.fact {
            Fact::ToolEnded(end) => end.session.as_deref(),
            Fact::Steered(steered) => steered.change.as_ref(),
            _ => None,
        });
        of_entries.chain(self.end.as_ref().and_then(|end| end.session.as_ref()))
    }
}
