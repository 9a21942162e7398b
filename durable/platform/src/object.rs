//! The class that the platform knows. Requests and alarms arrive here.
//!
//! One wasm instance serves all objects of an isolate, so a panic takes down every turn in it. Clippy denies `unwrap`,
//! `expect`, `panic`, indexing and string slicing outside tests, and a `RefCell` borrow across an await. A build with
//! `panic=unwind` would contain a panic to its request. We do without it: it needs a nightly compiler with a rebuilt
//! standard library, and the journal resumes a lost turn anyway.
//!
//! After a panic the Worker's entry (`scripts/xtask/src/entry.js`) builds a new instance at the next call, and builds
//! each object of the isolate anew around its old state object. A mark on that state object tells the object that its
//! instance was lost. Its alarm, at most ten seconds away, then has the platform start the object over, so that
//! orphaned streams break and clients reconnect with their cursors. Otherwise the streams would hang until the
//! clients' timeouts (45 s in the page). The next alarm or the first request takes the turn up.

use std::rc::Rc;

use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{DurableObject, Env, Request, Response, State, durable_object};

use engine::journal::{Answer, Answering};
use wire::pace::Pace;
use wire::protocol::{ApiError, Awaited, Decision, ErrorCode, SentDump, ThreadCommand, ThreadEnvelope};

use super::clock::pause;
use super::deletion::DeletedBy;
use super::respond::problem_response;
use super::thread::Thread;

/// The Durable Object of one thread. The Worker sends it [`ThreadEnvelope`]s, and its answers go to the client.
#[durable_object(alarm)]
pub struct ThreadObject {
    thread: Rc<Thread>,
    /// A panic took down the wasm instance in which this object lived before: the requests that waited there hang.
    orphaned: bool,
}

/// The mark that an instance leaves on the platform's object, which outlives it.
const MARK: &str = "espalierLivedHere";

impl DurableObject for ThreadObject {
    fn new(state: State, env: Env) -> Self {
        let mark = JsValue::from_str(MARK);
        let orphaned = js_sys::Reflect::has(state.as_raw(), &mark).unwrap_or(false);
        if js_sys::Reflect::set(state.as_raw(), &mark, &JsValue::TRUE).is_err() {
            worker::console_error!(
                "this object cannot be marked: after a panic its readers have to time out"
            );
        }
        ThreadObject { thread: Thread::new(state, env), orphaned }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let body = request.text().await?;
        // The object writes nothing to tables that are not up to date, not even a note that they are not.
        if let Err(error) = self.thread.up_to_date() {
            worker::console_error!("bringing the tables up to date: {error}");
            return problem_response(&error);
        }
        let answer = match ThreadEnvelope::read(&body, &Pace::new(&pause)).await {
            Ok(envelope) => answer(&self.thread, envelope).await,
            Err(error) => Err(error),
        };
        if let Err(error) = &answer
            && error.code == ErrorCode::Internal
            && let Err(error) = self.thread.report("thread", "request", "internal", &error.detail)
        {
            worker::console_error!("reporting a failure: {error}");
        }
        answer.or_else(|error| problem_response(&error))
    }

    async fn alarm(&self) -> worker::Result<Response> {
        self.thread.store.alarm_is_gone();
        match self.thread.up_to_date() {
            Err(error) => self.thread.put_off(&error),
            Ok(()) if self.orphaned && self.thread.run().is_none() => self.thread.start_over().await,
            Ok(()) => self.thread.on_alarm().await,
        }
        Response::empty()
    }
}

// Long: an arm for each command.
async fn answer(thread: &Rc<Thread>, envelope: ThreadEnvelope) -> Result<Response, ApiError> {
    let ThreadEnvelope { owner, thread_id, command } = envelope;
    match command {
        ThreadCommand::Chat(chat) => thread.chat(&owner, thread_id, *chat).await,
        ThreadCommand::Speak { dialect, answers, turn_id, read, stop, address } => {
            thread.speak(&owner, dialect, (answers, address), turn_id.zip(read), stop).await
        }
        ThreadCommand::Detail => thread.detail(&owner),
        ThreadCommand::Messages { limit, cursor, all } => {
            thread.list_messages(&owner, limit, cursor.as_deref(), all)
        }
        ThreadCommand::Stream { after } => thread.stream(&owner, after).await,
        ThreadCommand::Cancel => thread.cancel(&owner).await,
        ThreadCommand::ToolResult { tool_call_id, content, is_error } => thread.answer(
            &owner,
            &tool_call_id,
            Awaited::Client,
            Answer::Result { content, is_error }.into(),
            None,
        ),
        ThreadCommand::Approval { approval_id, decision, content, reason, address } => {
            let answer = match (decision, content) {
                (Decision::Approve, Some(content)) => {
                    Answer::Result { content: Value::Object(content).to_string(), is_error: false }
                }
                (Decision::Approve, None) => Answer::Approve,
                (Decision::ApproveForThread, _) => Answer::ApproveForThread,
                (Decision::Deny | Decision::Expired | Decision::Standing, _) => Answer::Deny,
            };
            thread.answer(&owner, &approval_id, Awaited::Approval, Answering { answer, reason }, address)
        }
        ThreadCommand::Approvals => thread.approvals(&owner),
        ThreadCommand::WithdrawApproval { tool } => thread.withdraw_approval(&owner, &tool),
        ThreadCommand::Hooks => thread.hooks(&owner),
        ThreadCommand::PutHook { hook } => thread.put_hook(&owner, *hook),
        ThreadCommand::DeleteHook { name } => thread.delete_hook(&owner, &name),
        ThreadCommand::Sent { message_id } => thread.sent(&owner, &message_id),
        ThreadCommand::Queue => thread.list_queue(&owner),
        ThreadCommand::HoldQueue { held } => thread.hold_queue(&owner, held),
        ThreadCommand::EditQueued { message_id, content } => thread.edit_queued(&owner, &message_id, content),
        ThreadCommand::RemoveQueued { message_id } => thread.remove_queued(&owner, &message_id),
        ThreadCommand::Export { cursor } => thread.export(&owner, cursor.as_deref()),
        ThreadCommand::Rename { title } => thread.rename(&owner, &title).await,
        ThreadCommand::Choose { turn_id } => thread.choose(&owner, turn_id).await,
        ThreadCommand::Excerpt { message_id } => thread.excerpt(&owner, &message_id),
        ThreadCommand::Snapshot { until, shown } => thread.snapshot(&owner, until.as_deref(), shown),
        ThreadCommand::Record { turn_id, whole } => thread.record(&owner, turn_id, whole).await,
        ThreadCommand::Records { limit, cursor } => thread.records(&owner, limit, cursor.as_deref()).await,
        ThreadCommand::Agents => thread.list_agents(&owner),
        ThreadCommand::AgentRounds { name, cursor } => {
            thread.list_agent_rounds(&owner, &name, cursor.as_deref())
        }
        ThreadCommand::DumpAgent { name } => thread.dump_agent(&owner, &name),
        ThreadCommand::RestoreAgent { dump, rounds, below } => {
            let rounds = [rounds].into_iter().chain(below).collect();
            thread.restore_agent(&owner, SentDump { dump: *dump, rounds }).await
        }
        ThreadCommand::EndAgent { name } => thread.end_agent(&owner, &name).await,
        ThreadCommand::StartSession { session_id, workflow, goal, visitor } => {
            thread.start_session((&owner, thread_id), session_id, *workflow, (goal, visitor)).await
        }
        ThreadCommand::ContinueSession { session_id, workflow_id, ended } => {
            thread.continue_session(&owner, (session_id, &workflow_id), *ended).await
        }
        ThreadCommand::WorkflowSession { from } => thread.kept_session(&owner, from),
        ThreadCommand::EndSession => thread.end_session(&owner).await,
        ThreadCommand::Delete { address } => thread.delete(&owner, DeletedBy::Person { address }).await,
        ThreadCommand::Erase => thread.erase_all(&owner).await,
        ThreadCommand::Expire { unused_since } => thread.delete_unused(&owner, unused_since).await,
    }
}
