//! Reads the events of a turn for both APIs. An answer is the part of the turn between two waits: it ends where the turn
//! waits for the client or a person, and the client's next request has the rest as another answer.
//!
//! The questions to the client stand at the end of the answer, because it answers only then. A question that somebody else
//! answered meanwhile is not told.

use serde_json::{Error, Value};
use uuid::Uuid;

use super::chat::Chat;
use super::form::{Asked, Failure, Form, Piece, Turn};
use super::responses::Responses;
use crate::by_id::ById;
use crate::given::DEFAULT_MODEL;
use crate::names::ClientNames;
use crate::{Encode, Header, RAISE_LIMIT, is_root, raised};
use wire::model::Usage;
use wire::protocol::{
    AgentState, Awaited, CallStatus, ChunkKind, Event, FinishReason, Numbered, OpenAi, OpenAiApi, Role,
    StoredMessage,
};

const NOT_WAITING: Failure = (404, "not_waiting", "no call waits for this answer");
const NO_PLACE: Failure =
    (503, "turn_on_hold", "the answer was taken, and the turn waits for its place: send the request again");

/// An answer that is being written.
pub struct Encoder {
    turn: Turn,
    form: Box<dyn Form>,
    names: ClientNames,
    /// The arguments of the root's calls that have not ended.
    running: ById<Value>,
    /// The answer is written. The reader leaves by itself where the turn waits; a reader that was dropped instead would
    /// stop a turn that its client may leave.
    is_written: bool,
    over: bool,
    /// Everything for which the turn waited has its answer, and it waits for its place.
    is_queued: bool,
    /// The same request may be sent again.
    may_repeat: bool,
}

impl Encoder {
    pub fn new(how: OpenAi) -> Self {
        let form: Box<dyn Form> = match how.api {
            OpenAiApi::ChatCompletions => Box::new(Chat::default()),
            OpenAiApi::Responses => Box::new(Responses::default()),
        };
        let none = String::new;
        let (thread, turn, model) = (none(), none(), none());
        let (asked, usage, stop) = (Vec::new(), Usage::default(), None);
        let turn =
            Turn { how, thread, turn, model, created: 0, segment: 0, first: 0, seq: 0, asked, usage, stop };
        Encoder {
            turn,
            form,
            names: ClientNames::default(),
            running: ById::default(),
            is_written: false,
            over: false,
            is_queued: false,
            may_repeat: false,
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.turn.is_heard() {
            self.form.begin(&self.turn, out);
        }
    }

    /// The turn waits: the answer ends, or the next one begins.
    fn parked(&mut self, out: &mut Vec<u8>) {
        if self.turn.is_heard() {
            self.is_written = true;
            return self.form.asks(&self.turn, out);
        }
        self.turn.segment += 1;
        self.begin(out);
    }

    fn finish(&mut self, reason: FinishReason, out: &mut Vec<u8>) {
        self.over = true;
        // Many model calls without an answer are a limit, and no failure, to these clients.
        let is_limit = self.turn.stop.as_ref().is_some_and(|(code, _)| code == "iteration_limit");
        let reason = if is_limit { FinishReason::Budget } else { reason };
        match self.turn.is_heard() {
            true => self.form.finish(&self.turn, reason, out),
            false => self.form.fails(&self.turn, NOT_WAITING, out),
        }
    }

    /// A turn whose events the service has deleted: its answer, whichever part of it was asked for.
    fn stored(&mut self, answer: &StoredMessage, out: &mut Vec<u8>) {
        let StoredMessage { id, content, usage, finish_reason, stop, .. } = answer;
        self.turn.segment = self.turn.how.segment;
        self.turn.how.after = None;
        self.form.begin(&self.turn, out);
        let kind = ChunkKind::Text;
        self.form.text(&self.turn, Piece { part: id, model_call: id, kind, content, done: true }, out);
        if let Some(usage) = usage {
            self.turn.usage.input_tokens = usage.input_tokens;
            self.turn.usage.cached_tokens = usage.cached_tokens;
            self.turn.usage.output_tokens = usage.output_tokens;
        }
        self.turn.stop = stop.as_ref().map(|stop| (stop.code.clone(), stop.message.clone()));
        self.finish(finish_reason.unwrap_or(FinishReason::Stop), out);
    }

    fn asks(&mut self, id: &str, name: &str, args: Value, by_client: bool) {
        let name = self.names.theirs(name).into_owned();
        self.turn.asked.push(Asked { id: id.to_owned(), name, args, by_client });
    }

    fn answered(&mut self, id: &str) {
        self.turn.asked.retain(|asked| asked.id != id);
    }
}

impl Encode for Encoder {
    fn is_over(&self) -> bool {
        self.over
    }

    fn waits_for_place(&mut self) {
        self.is_queued = true;
    }

    /// A repetition would start another turn, so the client's library is told to leave it. One of answers reads on.
    fn head(&self) -> (u16, Header) {
        (self.form.status(), ("x-should-retry", if self.may_repeat { "true" } else { "false" }))
    }

    // Long: an arm for each event that counts.
    fn encode(&mut self, numbered: &Numbered, _: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over || self.is_written {
            // The next answer has begun.
            self.over |= self.turn.how.api == OpenAiApi::Responses;
            return Ok(());
        }
        self.turn.seq = numbered.seq;
        let is_heard = self.turn.is_heard();
        match &numbered.event {
            Event::Session {
                thread_id,
                assistant_message_id,
                provider,
                model,
                messages,
                client_names,
                ..
            } => {
                self.names = ClientNames::new(client_names);
                let at = Uuid::try_parse(assistant_message_id).ok().and_then(|id| id.get_timestamp());
                self.turn.created = at.map_or(0, |at| at.to_unix().0);
                self.turn.first = numbered.seq;
                (self.turn.thread, self.turn.turn) = (thread_id.clone(), numbered.turn_id.clone());
                self.turn.model = match provider.is_empty() {
                    true => DEFAULT_MODEL.to_owned(),
                    false => format!("{provider}:{model}"),
                };
                match messages.iter().find(|message| message.role == Role::Assistant) {
                    Some(answer) => self.stored(answer, out),
                    None => self.begin(out),
                }
            }
            Event::AgentState { state: AgentState::WaitingOnUser, .. } if !self.turn.asked.is_empty() => {
                self.parked(out);
            }
            Event::ModelCallUpdate { status: CallStatus::End, model_call_id, usage, place, .. } => {
                if let (true, Some(usage)) = (is_heard, usage) {
                    let sum = &mut self.turn.usage;
                    sum.input_tokens += usage.input_tokens;
                    sum.cached_tokens += usage.cached_tokens;
                    sum.output_tokens += usage.output_tokens;
                }
                if is_heard && is_root(place) {
                    self.form.ends(&self.turn, model_call_id, false, out);
                }
            }
            Event::ModelCallReset { model_call_id, place, .. } if is_heard && is_root(place) => {
                self.form.ends(&self.turn, model_call_id, true, out);
            }
            Event::Chunk { content, part_id, model_call_id, place, done, kind }
                if is_heard && is_root(place) =>
            {
                let (part, model_call) = (part_id.as_str(), model_call_id.as_str());
                let piece = Piece { part, model_call, kind: *kind, content, done: *done };
                self.form.text(&self.turn, piece, out);
            }
            Event::ToolCallUpdate {
                status: CallStatus::Start,
                tool_call_id,
                name,
                args,
                awaits,
                place,
                ..
            } => {
                let args = args.clone().unwrap_or_default();
                if *awaits == Some(Awaited::Client) {
                    self.asks(tool_call_id, name, args, true);
                // A call of the client that waits for nothing was refused, and the client hears nothing of it.
                } else if is_root(place) && self.names.theirs(name) == *name {
                    if is_heard {
                        self.form.call_starts(&self.turn, (tool_call_id, name, &args), out);
                    }
                    self.running.insert(tool_call_id, args);
                }
            }
            Event::ToolCallUpdate { tool_call_id, name, result, is_error, place, .. } => {
                self.answered(tool_call_id);
                let args = self.running.remove(tool_call_id).unwrap_or_default();
                let is_told = is_heard && is_root(place) && self.names.theirs(name) == *name;
                let result = (result.as_deref().unwrap_or_default(), *is_error);
                if is_told {
                    self.form.call_ends(&self.turn, (tool_call_id, name, &args), result, out);
                }
            }
            Event::ApprovalRequest { approval_id, name, args, form: None, .. } => {
                self.asks(approval_id, name, args.clone(), false);
            }
            Event::LimitRequest { approval_id, reason, limit, observed, raised_to, grants_left, .. } => {
                let args = raised(*reason, *limit, *observed, *raised_to, *grants_left);
                self.asks(approval_id, RAISE_LIMIT, args, false);
            }
            Event::ApprovalResolved { approval_id, .. } | Event::LimitResolved { approval_id, .. } => {
                self.answered(approval_id);
            }
            Event::Error { code, message, .. } => {
                self.turn.stop = Some((code.clone(), message.clone()));
            }
            Event::Done { finish_reason, .. } => self.finish(*finish_reason, out),
            // The rest has no form here, or belongs to a level below.
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, is_parked: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.over || self.is_written {
            return Ok(());
        }
        self.over = true;
        self.may_repeat = is_parked && self.turn.is_heard() && self.is_queued;
        match is_parked || !self.turn.is_heard() {
            true if self.may_repeat => self.form.fails(&self.turn, NO_PLACE, out),
            true => self.form.fails(&self.turn, NOT_WAITING, out),
            false => self.form.cut_off(&self.turn, out),
        }
        Ok(())
    }
}
