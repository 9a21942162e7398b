//! Calls whose tools ask a person for input. The question is journaled and waits like a question about a call
//! (`parking.rs`); then the tool runs again with the answer.
//!
//! A tool that ran once may have acted in its second run, so that run has an intent of its own in the journal: a call that
//! was lost before it waits on or goes on with its answer, and one that was lost after it is treated like any lost call.

use futures::lock::{Mutex, MutexGuard};

use super::super::form;
use super::super::parking::Tally;
use super::super::results::told_arguments;
use super::super::{Halt, Turn};
use super::{During, Round};
use crate::journal::{Asking, Commit, Fact};
use crate::ports::{Given, ToolError, ToolReply};
use crate::record::keys::form_key;
use crate::toolbelt::ToolSpec;
use wire::model::ToolCall;
use wire::protocol::{Awaited, Event};

/// How often one call may ask. One form has room for all that a tool needs, and the next one tells a wrong answer.
const MAX_FORMS: usize = 5;

/// The things that a call holds while it runs, and not while it waits for a person: its place among the calls that run, and
/// its tool's lock.
pub(super) struct Held<'a> {
    _runs: Option<Tally<'a>>,
    _lock: Option<MutexGuard<'a, ()>>,
}

impl<'a> Held<'a> {
    pub(super) async fn by(counts: Option<&'a Turn>, lock: Option<&'a Mutex<()>>) -> Held<'a> {
        // A call that waits for a lock counts as well.
        let runs = counts.map(|turn| Tally::of(&turn.busy));
        let lock = match lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        Held { _runs: runs, _lock: lock }
    }
}

impl Round<'_> {
    /// Runs a tool to its end. `lock`: the lock of its tool.
    pub(super) async fn ran(
        &self,
        spec: &ToolSpec,
        key: &str,
        call: &ToolCall,
        during: &During,
        lock: Option<&Mutex<()>>,
    ) -> Result<Result<String, ToolError>, Halt> {
        let turn = self.turn;
        loop {
            let given = self.given(key).await?;
            let held = Held::by(Some(turn), lock).await;
            if !spec.is_pure() {
                turn.written().await?;
            }
            let asking = match self.run_tool(spec, key, call, during, given).await {
                ToolReply::Ended(result) => return Ok(result),
                ToolReply::Asks(asking) => asking,
            };
            drop(held);
            if let Err(refusal) = self.ask(spec, key, call, *asking)? {
                return Ok(Err(refusal));
            }
        }
    }

    /// The newest question of a call with its answer, for which this waits; none where the call has asked nothing.
    async fn given(&self, key: &str) -> Result<Option<Given>, Halt> {
        let turn = self.turn;
        let Some((at, asking)) = turn.record.borrow().newest_form(key) else { return Ok(None) };
        let (answer, _) = turn.answered(&at, Awaited::Input).await;
        if !turn.record.borrow().is_given(&at) {
            turn.check()?;
            turn.commit(Commit { entries: vec![turn.entry(&at, Fact::InputGiven)], ..Commit::default() })?;
        }
        Ok(Some(Given { asking, answer }))
    }

    /// Journals a question. A form that nobody could fill in is an error of the call.
    fn ask(
        &self,
        spec: &ToolSpec,
        key: &str,
        call: &ToolCall,
        asking: Asking,
    ) -> Result<Result<(), ToolError>, Halt> {
        let turn = self.turn;
        let asked = turn.record.borrow().forms(key).count();
        let problem = match asked {
            MAX_FORMS.. => Some(format!("a call may ask {MAX_FORMS} times")),
            _ if !turn.spec.setting.forms => Some("nobody can answer here".to_owned()),
            _ => form::problem(&asking),
        };
        if let Some(problem) = problem {
            return Ok(Err(ToolError(format!("the tool asked the user for input, but {problem}"))));
        }
        turn.check()?;
        let at = form_key(key, asked);
        let mut commit = Commit::default();
        let form = Some(Box::new(asking.form.clone()));
        let wait_ms = turn.spec.limits.approval_wait_ms;
        let expires_at = self.note_wait(&mut commit, &at, Awaited::Input, wait_ms, Some(asking));
        let request = Event::ApprovalRequest {
            approval_id: turn.ids.approval(&at),
            tool_call_id: turn.ids.tool_call(key),
            name: call.name.clone(),
            args: told_arguments(&call.arguments),
            permission_class: spec.class_name().to_owned(),
            read_only: spec.read_only,
            by_client: false,
            form,
            expires_at,
            place: self.level.place.clone(),
        };
        commit.events.push((format!("approval_request:{at}"), request));
        turn.commit(commit)?;
        Ok(Ok(()))
    }
}
