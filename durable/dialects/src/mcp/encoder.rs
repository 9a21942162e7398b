//! A turn as the response to a request: notifications of progress while it runs, then one result. A turn that waits for a
//! person ends the response; the client asks, and its next request has the rest of the turn.
//!
//! A client without forms gets a result that says where a person decides. A task has the same results in its state.

use serde_json::{Error, json};
use uuid::Uuid;

use super::form::{add, schema};
use super::tools::TEXT;
use super::{INTERNAL, OF_FORM, TASK, error, response, typed};
use crate::given::Words;
use crate::template::Hole::{Json, Number, Text};
use crate::template::{fill, filled, separate};
use crate::{Encode, Header, is_root};
use wire::protocol::{
    AgentState, AnswerForm, BudgetReason, CallStatus, ChunkKind, Event, FinishReason, Form, McpGives,
    McpReply, Numbered, Role,
};
use wire::time::rfc3339;

/// The text of an answer is told at most this often, in milliseconds, as the outputs of subtasks are in the AI SDK.
const TELLS_MS: u64 = 250;
/// The longest arguments in a question, in characters: a person reads them in a dialog.
const MAX_ARGS: usize = 2_000;
/// How often a client should look after a task, in milliseconds.
const POLL_MS: u64 = 1_000;

/// A question to a person.
struct Asked {
    /// The wait that the answer ends.
    wait: String,
    /// The question of a form. A wait without a form is a decision.
    question: Option<String>,
    message: String,
    /// The JSON Schema of the answer.
    schema: Vec<u8>,
}

impl Asked {
    /// The question's name among the requests to the client.
    fn key(&self) -> String {
        match &self.question {
            None => self.wait.clone(),
            Some(question) => format!("{}{OF_FORM}{question}", self.wait),
        }
    }
}

/// A notification of progress.
const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":$,"progress":$,"progressToken":$}}"#;
const IDS: &str = r#"{"finish_reason":$,"thread_id":$,"turn_id":$}"#;
/// The members of the result of `chat`.
const ANSWER: &str = r#""content":[$],"isError":$,"structuredContent":{"answer":$,"finish_reason":$,"thread_id":$,"turn_id":$}"#;
/// The members of the state of a task.
const STATE: &str =
    r#""createdAt":$,"lastUpdatedAt":$,"pollIntervalMs":$,"status":$,"taskId":$,"ttlMs":null$"#;
const QUESTION: &str =
    r#"{"method":"elicitation/create","params":{"message":$,"mode":"form","requestedSchema":$}}"#;
/// The schema of a decision: one choice.
const DECISION: &str = r#"{"properties":{"decision":{"enum":["approve","deny"$],"title":"Decision","type":"string"}},"required":["decision"],"type":"object"}"#;

/// A response that is being written.
pub struct Encoder {
    how: McpReply,
    thread: String,
    turn: String,
    /// When the turn began, and for how long it has run as far as its events tell, in milliseconds.
    created: u64,
    ran: u64,
    /// The root's text by model call.
    texts: Vec<(String, String)>,
    asked: Vec<Asked>,
    is_waiting: bool,
    /// Why the service stopped the turn.
    stop: Option<String>,
    /// How many notifications of progress there were, and the text that none has told yet.
    told: u64,
    untold: String,
    told_at: u64,
    over: bool,
}

impl Encoder {
    pub fn new(how: McpReply) -> Self {
        let none = String::new;
        Encoder {
            how,
            thread: none(),
            turn: none(),
            created: 0,
            ran: 0,
            texts: Vec::new(),
            asked: Vec::new(),
            is_waiting: false,
            stop: None,
            told: 0,
            untold: none(),
            told_at: 0,
            over: false,
        }
    }

    /// A notification of progress.
    fn tell(&mut self, message: &str, out: &mut Vec<u8>) {
        let (Some(token), AnswerForm::Stream) = (&self.how.progress, self.how.form) else { return };
        self.told += 1;
        let told = filled(PROGRESS, &[Text(message), Number(self.told), Json(token.as_bytes())]);
        self.write(&told, out);
    }

    /// Tells the text that has come, unless it told some a moment ago.
    fn tell_text(&mut self, now_ms: u64, out: &mut Vec<u8>) {
        if self.how.progress.is_none() || now_ms < self.told_at + TELLS_MS {
            return;
        }
        self.told_at = now_ms;
        let text = std::mem::take(&mut self.untold);
        self.tell(&text, out);
    }

    fn write(&self, message: &[u8], out: &mut Vec<u8>) {
        match self.how.form {
            AnswerForm::Stream => fill("event: message\ndata: $\n\n", &[Json(message)], out),
            AnswerForm::Whole | AnswerForm::Now => out.extend_from_slice(message),
        }
    }

    fn give(&mut self, result: &[u8], out: &mut Vec<u8>) {
        self.over = true;
        self.write(&response(&self.how.id, result), out);
    }

    /// A result of these members, in the form of the client's revision.
    fn typed(&self, kind: &str, members: &[u8]) -> Vec<u8> {
        typed(self.how.is_modern, kind, members)
    }

    /// The result of `chat`. `ended`: how the turn ended; `note`: what else the client should know.
    fn answer(&self, ended: &str, note: Option<&str>, is_error: bool) -> Vec<u8> {
        let mut answer = Words::default();
        for (_, text) in &self.texts {
            answer.add(Some(text));
        }
        let Words(answer) = answer;
        let [ended, thread, turn] = [ended, &self.thread, &self.turn].map(Text);
        // A model that reads the texts alone needs the thread's id too.
        let ids = filled(IDS, &[ended, thread, turn]);
        let told = String::from_utf8_lossy(&ids);
        let mut content = Vec::new();
        for text in [&*answer, note.unwrap_or_default(), &told] {
            if !text.is_empty() {
                separate(&mut content);
                fill(TEXT, &[Text(text)], &mut content);
            }
        }
        let is_error: &[u8] = if is_error { b"true" } else { b"false" };
        let members = filled(ANSWER, &[Json(&content), Json(is_error), Text(&answer), ended, thread, turn]);
        self.typed("complete", &members)
    }

    /// The turn has ended.
    fn finish(&mut self, reason: FinishReason, out: &mut Vec<u8>) {
        let failed =
            matches!(reason, FinishReason::Error | FinishReason::Interrupted | FinishReason::Cancelled);
        let ended = json!(reason);
        let answer = || self.answer(ended.as_str().unwrap_or_default(), self.stop.as_deref(), failed);
        let result = match self.how.gives {
            McpGives::Answer => answer(),
            McpGives::Task if reason == FinishReason::Cancelled => self.task("cancelled", "complete", b""),
            McpGives::Task => {
                self.task("completed", "complete", &filled(r#","result":$"#, &[Json(&answer())]))
            }
            McpGives::NewTask | McpGives::Nothing => self.so_far(),
        };
        self.give(&result, out);
    }

    /// The state of the task, with more members.
    fn task(&self, status: &str, kind: &str, more: &[u8]) -> Vec<u8> {
        let id = crate::ids::of_answer(TASK, &self.thread, &self.turn, 0);
        let updated = rfc3339(self.created.saturating_add(self.ran)).unwrap_or_default();
        let (created, updated) = (rfc3339(self.created).unwrap_or_default(), Text(&updated));
        let holes = [Text(&created), updated, Number(POLL_MS), Text(status), Text(&id), Json(more)];
        self.typed(kind, &filled(STATE, &holes))
    }

    /// The questions, as requests to the client.
    fn questions(&self) -> Vec<u8> {
        let mut questions = Vec::new();
        for asked in &self.asked {
            let request = filled(QUESTION, &[Text(&asked.message), Json(&asked.schema)]);
            add(&asked.key(), &request, &mut questions);
        }
        questions
    }

    /// Where a person decides.
    fn directions(&self) -> String {
        let (origin, thread) = (&self.how.origin, &self.thread);
        if self.asked.is_empty() {
            return "The turn waits for another client, or for its place. read_thread has its answer later."
                .to_owned();
        }
        let mut told =
            format!("The turn waits for a person, who decides in the chat at {origin}, or by the API:");
        for Asked { wait, question, message, .. } in &self.asked {
            let path = format!("{origin}/api/threads/{thread}/approvals/{wait}");
            let content = question.as_ref().map(|id| format!(", \"content\": {{\"{id}\": …}}"));
            let content = content.unwrap_or_default();
            told.push_str(&format!(
                "\n- {message} POST {path} with {{\"decision\": \"approve\"{content}}} or \"deny\""
            ));
        }
        told.push_str("\nThen read_thread has the rest of the answer.");
        told
    }

    /// The result of a turn that has not ended.
    fn so_far(&self) -> Vec<u8> {
        let state = self.how.state.as_ref().filter(|_| !self.asked.is_empty());
        match (self.how.gives, state) {
            (McpGives::NewTask, _) => self.task("working", "task", b""),
            (McpGives::Nothing, _) => self.typed("complete", b""),
            (McpGives::Task, _) if !self.is_waiting => self.task("working", "complete", b""),
            (McpGives::Task, None) => {
                let told = filled(r#","statusMessage":$"#, &[Text(&self.directions())]);
                self.task("working", "complete", &told)
            }
            (McpGives::Task, Some(_)) => {
                let asks = filled(r#","inputRequests":{$}"#, &[Json(&self.questions())]);
                self.task("input_required", "complete", &asks)
            }
            (McpGives::Answer, None) => self.answer("waiting", Some(&self.directions()), false),
            (McpGives::Answer, Some(state)) => {
                let holes = [Json(&self.questions()), Text(state)];
                self.typed("input_required", &filled(r#""inputRequests":{$},"requestState":$"#, &holes))
            }
        }
    }

    /// Asks for a decision. `more`: other choices than the two that there always are.
    fn asks(&mut self, wait: &str, message: String, more: &[u8]) {
        let schema = filled(DECISION, &[Json(more)]);
        self.asked.push(Asked { wait: wait.to_owned(), question: None, message, schema });
    }

    /// Asks the questions of a form. Another server asks, and a person is told its name.
    fn asks_form(&mut self, wait: &str, Form { server, questions }: &Form) {
        for question in questions {
            let message = format!("{server} asks: {}", question.message);
            let (schema, question) = (schema(question), Some(question.id.clone()));
            self.asked.push(Asked { wait: wait.to_owned(), question, message, schema });
        }
    }

    fn lasts(&mut self, started_ms: Option<u64>, duration_ms: Option<u64>) {
        let until = started_ms.unwrap_or_default().saturating_add(duration_ms.unwrap_or_default());
        self.ran = self.ran.max(until);
    }
}

impl Encode for Encoder {
    fn is_over(&self) -> bool {
        self.over
    }

    fn head(&self) -> (u16, Header) {
        (200, ("x-accel-buffering", "no"))
    }

    // Long: an arm for each event that counts.
    fn encode(&mut self, numbered: &Numbered, now_ms: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over {
            return Ok(());
        }
        match &numbered.event {
            Event::Session { thread_id, assistant_message_id, messages, .. } => {
                let at = Uuid::try_parse(assistant_message_id).ok().and_then(|id| id.get_timestamp());
                let (seconds, nanoseconds) = at.map_or((0, 0), |at| at.to_unix());
                self.created =
                    seconds.saturating_mul(1_000).saturating_add(u64::from(nanoseconds) / 1_000_000);
                (self.thread, self.turn) = (thread_id.clone(), numbered.turn_id.clone());
                // The service has deleted the turn's events.
                let Some(answer) = messages.iter().find(|message| message.role == Role::Assistant) else {
                    return Ok(());
                };
                self.texts.push((String::new(), answer.content.clone()));
                self.stop = answer.stop.as_ref().map(|stop| stop.message.clone());
                self.finish(answer.finish_reason.unwrap_or(FinishReason::Stop), out);
            }
            Event::Chunk { content, model_call_id, place, kind: ChunkKind::Text, .. } if is_root(place) => {
                if content.is_empty() {
                    return Ok(());
                }
                match self.texts.last_mut().filter(|(of, _)| of == model_call_id) {
                    Some((_, text)) => text.push_str(content),
                    None => self.texts.push((model_call_id.clone(), content.clone())),
                }
                self.untold.push_str(content);
                self.tell_text(now_ms, out);
            }
            // The text of a model call that broke off does not count.
            Event::ModelCallReset { model_call_id, place, .. } if is_root(place) => {
                self.texts.retain(|(of, _)| of != model_call_id);
                self.untold.clear();
            }
            Event::ModelCallUpdate { started_ms, duration_ms, .. } => {
                self.lasts(*started_ms, *duration_ms);
            }
            Event::ToolCallUpdate { status: CallStatus::Start, name, started_ms, .. } => {
                self.lasts(*started_ms, None);
                self.tell(&format!("The agent calls {name}."), out);
            }
            Event::StepStart { title, .. } => self.tell(title, out),
            Event::ApprovalRequest { approval_id, name, args, form: None, .. } => {
                let args: String = args.to_string().chars().take(MAX_ARGS).collect();
                let message = format!("The agent asks to call {name} with {args}.");
                self.asks(approval_id, message, br#","approve_for_thread""#);
            }
            Event::ApprovalRequest { approval_id, form: Some(form), .. } => {
                self.asks_form(approval_id, form);
            }
            Event::LimitRequest { approval_id, reason, limit, raised_to, grants_left, .. } => {
                self.asks(approval_id, limit_message(*reason, *limit, *raised_to, *grants_left), b"");
            }
            Event::ApprovalResolved { approval_id, .. } | Event::LimitResolved { approval_id, .. } => {
                self.asked.retain(|asked| asked.wait != *approval_id);
            }
            Event::AgentState { state, .. } => {
                self.is_waiting = *state == AgentState::WaitingOnUser;
            }
            Event::Error { message, .. } => {
                self.stop = Some(message.clone());
            }
            Event::Done { finish_reason, .. } => self.finish(*finish_reason, out),
            // The rest has no form here.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, is_parked: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over {
            return Ok(());
        }
        if self.how.gives == McpGives::Answer && !is_parked {
            self.over = true;
            let told = "the response broke off: read_thread has the rest of the answer";
            self.write(&error(&self.how.id, INTERNAL, told, b""), out);
            return Ok(());
        }
        let result = self.so_far();
        self.give(&result, out);
        Ok(())
    }
}

fn limit_message(reason: BudgetReason, limit: u64, raised_to: u64, grants_left: u32) -> String {
    let reason = json!(reason);
    let reason = reason.as_str().unwrap_or_default();
    format!(
        "The turn has reached its limit of {reason}, {limit}. Approving raises it to {raised_to}; {grants_left} more \
         times are left, this one included."
    )
}
