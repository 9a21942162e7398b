//! Workflows, and the sessions that a client carries out.

use super::words::*;
use wire::protocol::{ContinueSession, MAX_DEFINITION_BYTES, NewSession, WorkflowDefinition};

#[cfg(target_arch = "wasm32")]
use crate::routes::workflows;
#[cfg(test)]
use wire::protocol::{SessionAnswer, WorkflowDetail, WorkflowList};

routes! {
    /// Lists the user's workflows, by id, then the built-in ones that none of them replaces. See docs/workflows.md.
    Get "/api/workflows" => Workflows, Needs(Read), Nothing, Reads,
        |r| workflows::list(r.call, r.caller.owner()?),
        |row| row.gives::<WorkflowList>(200);
    /// Returns a workflow with its definition: the user's own, or else the built-in one of this id.
    Get "/api/workflows/{}" => Workflow(workflow), Needs(Read), Nothing, Reads,
        |r| workflows::get(r.call, r.caller.owner()?, workflow),
        |row| row.gives::<WorkflowDetail>(200).refuses(&[E::WorkflowNotFound]);
    /// Writes a workflow, as the next version where there is one of this id. A version never changes: a session keeps
    /// the one with which it began. The definition that is the newest version already makes no other. A user has at
    /// most 100 workflows. One more is 409 `too_many_workflows`. A definition has at most 64 KiB. The id is
    /// `[a-z0-9][a-z0-9_-]{0,63}`.
    Put "/api/workflows/{}" => PutWorkflow(workflow), Needs(Write), json_of::<WorkflowDefinition>(MAX_DEFINITION_BYTES),
        Uploads,
        |r| workflows::put(r.call, r.caller.owner()?, workflow, r.body),
        |row| row
            .takes(json!({
                "name": "Release",
                "steps": [{ "id": "notes", "title": "Notes", "instructions": "Write what changed." }],
            }))
            .gives::<WorkflowDetail>(200)
            .refuses(&[E::InvalidRequest, E::TooManyWorkflows, E::QuotaExceeded]);
    /// Deletes a workflow. Its sessions go on. A built-in one of the same id is there again.
    Delete "/api/workflows/{}" => DeleteWorkflow(workflow), Needs(Write), Nothing, Deletes,
        |r| workflows::delete(r.call, r.caller.owner()?, workflow),
        |row| row.gives_nothing("It is deleted.").refuses(&[E::WorkflowNotFound]);
    /// Starts a session that the client carries out, step by step, in a thread of its own. The answer has the first
    /// step and the token that ends it.
    Post "/api/workflows/{}/sessions" => StartSession(workflow), Needs(Write), json::<NewSession>(), Turns,
        |r| workflows::start_session(r.call, r.caller.owner()?, workflow, r.body),
        |row| row
            .takes(json!({ "goal": "Version 0.2" }))
            .gives::<SessionAnswer>(200)
            .refuses(&[
                E::WorkflowNotFound, E::TooManyThreads, E::TooManyTurns, E::RateLimited, E::QuotaExceeded,
                E::Misconfigured, E::ObjectTooNew, E::VersionsDiffer,
            ]);
    /// Ends the step at which a session stands, with its token, and answers with the next one. The same request again
    /// gets the same answer. After three tokens in a row that are not the step's the session has failed.
    Post "/api/workflows/{}/sessions/{}/continue" => ContinueSession(workflow, session), Needs(Write), json::<ContinueSession>(),
        EndsOnce,
        |r| workflows::continue_session(r.call, r.caller.owner()?, workflow, session, r.body),
        |row| row
            .takes(json!({
                "continue_token": "a-token",
                "notesMarkdown": "The changelog has three new lines: deploy, description, examples.",
            }))
            .gives::<SessionAnswer>(200)
            .refuses(&[
                E::SessionNotFound, E::TokenRefused, E::TokenSpent, E::Misconfigured, E::ObjectTooNew, E::VersionsDiffer,
            ]);
    /// Ends the session that is open in a thread: it has failed, and the thread is an ordinary one again. The answer is 409
    /// `turn_in_progress` while a turn runs.
    Delete "/api/threads/{}/workflow-session" => EndSession(id), Needs(Write), Nothing, EndsOnce,
        |r| r.ask(id, ThreadCommand::EndSession),
        |row| row.in_thread().gives_nothing("It has ended.").refuses(&[E::SessionNotFound, E::TurnInProgress]);
}

/// The table `workflows`.
pub const TABLE: Table = users(
    "workflows",
    Rows {
        key: &["id"],
        line: Some("workflow"),
        columns: &["id", "version", "definition:json", "created_at", "updated_at"],
        ..ROWS
    },
    8,
);
