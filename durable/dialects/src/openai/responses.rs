//! Responses: an answer is a list of items. A text of a model call is a message; a call that the service carries out is one
//! of an MCP server with our name, as a question to a person is. A model call that broke off leaves its items incomplete, and
//! the complete answer does not have them.
//!
//! The number of an event follows from that of our own event, so a replay numbers the same. Our log may have lost the last
//! chunks of a model call that broke off: their numbers stay unused.

use serde_json::Value;

use super::form::{Asked, Failure, Form, Piece, Turn};
use super::text::Text;
use super::{CALL, FUNCTION, MCP, QUESTION, RESPONSE, error};
use crate::by_id::ById;
use crate::template::Hole::{self, Json, Number};
use crate::template::{fill, filled, separate};
use wire::protocol::{AnswerForm, FinishReason};

/// A whole answer. The members that the service does not have say the defaults, which Open Responses demands.
const ANSWER: &str = r#"{"background":$,"completed_at":null,"created_at":$,"error":$,"frequency_penalty":0,"id":$,"incomplete_details":$,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{"thread_id":$,"turn_id":$},"model":$,"object":"response","output":[$],"parallel_tool_calls":true,"presence_penalty":0,"previous_response_id":$,"prompt_cache_key":null,"reasoning":null,"safety_identifier":null,"service_tier":"default","status":$,"store":true,"temperature":1,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1,"truncation":"disabled","usage":$}"#;
const USAGE: &str = r#"{"input_tokens":$,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":$},"output_tokens":$,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":$}"#;
/// The items: a call that the service carries out, a question to a person, a call of the client.
const MCP_CALL: &str = r#"{"arguments":$,"error":$,"id":$,"name":$,"output":$,"server_label":"espalier","status":$,"type":"mcp_call"}"#;
const APPROVAL: &str =
    r#"{"arguments":$,"id":$,"name":$,"server_label":"espalier","type":"mcp_approval_request"}"#;
const FUNCTION_CALL: &str =
    r#"{"arguments":$,"call_id":$,"id":$,"name":$,"status":$,"type":"function_call"}"#;
/// The members of an event of an item.
const ITEM: &str = r#""item":$,"output_index":$"#;
/// Those of the events of its arguments, which come in one piece.
const ARGUMENTS_DELTA: &str = r#""delta":$,"item_id":$,"output_index":$"#;
const ARGUMENTS: &str = r#""arguments":$,"item_id":$,"output_index":$"#;
/// How many events one of ours may become before their numbers move on to the next one's.
const SPACING: u64 = 16;

/// The items of the answer.
#[derive(Default)]
pub struct Responses {
    /// The number that comes next.
    next: u64,
    items: Vec<Item>,
    texts: Vec<Text>,
    /// The calls of the root that have begun here.
    calls: ById<Call>,
    status: u16,
}

/// An item, by its index.
struct Item {
    /// Its JSON. None while it is open, and where its model call broke off.
    item: Option<Vec<u8>>,
    /// The model call that wrote it; empty for a call.
    model_call: String,
}

/// A call that the service carries out.
struct Call {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl Call {
    fn item(&self, status: &str, output: Hole<'_>, error: Hole<'_>) -> Vec<u8> {
        let Call { id, name, arguments, .. } = self;
        let (arguments, id, name, status) =
            (Hole::Text(arguments), Hole::Text(id), Hole::Text(name), Hole::Text(status));
        filled(MCP_CALL, &[arguments, error, id, name, output, status])
    }
}

fn number(index: usize) -> Hole<'static> {
    Number(index as u64)
}

impl Responses {
    /// The number of the next event; none if the client has it, or gets no stream. It gets the last event in any case.
    fn number(&mut self, turn: &Turn, is_last: bool) -> Option<u64> {
        let number = self.next.max(turn.seq.saturating_sub(turn.first).saturating_mul(SPACING));
        self.next = number + 1;
        let is_known = turn.how.after.is_some_and(|after| number <= after);
        Some(number).filter(|_| turn.how.form == AnswerForm::Stream && (is_last || !is_known))
    }

    /// Writes an event with these members.
    fn event(
        &mut self,
        turn: &Turn,
        kind: &str,
        (members, holes): (&str, &[Hole<'_>]),
        is_last: bool,
        out: &mut Vec<u8>,
    ) {
        let Some(number) = self.number(turn, is_last) else { return };
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: {");
        fill(members, holes, out);
        fill(",\"sequence_number\":$,\"type\":$}\n\n", &[Number(number), Hole::Text(kind)], out);
    }

    fn tell(&mut self, turn: &Turn, kind: &str, members: &str, holes: &[Hole<'_>], out: &mut Vec<u8>) {
        self.event(turn, kind, (members, holes), false, out);
    }

    /// A new item, and its index.
    fn add(&mut self, turn: &Turn, item: &[u8], model_call: &str, out: &mut Vec<u8>) -> usize {
        let index = self.items.len();
        self.items.push(Item { item: None, model_call: model_call.to_owned() });
        self.tell(turn, "response.output_item.added", ITEM, &[Json(item), number(index)], out);
        index
    }

    /// An item is complete.
    fn done(&mut self, turn: &Turn, index: usize, item: Vec<u8>, out: &mut Vec<u8>) {
        self.tell(turn, "response.output_item.done", ITEM, &[Json(&item), number(index)], out);
        if let Some(place) = self.items.get_mut(index) {
            place.item = Some(item);
        }
    }

    /// Closes texts of the model call, or all of them.
    fn close(&mut self, turn: &Turn, model_call: Option<&str>, status: &str, out: &mut Vec<u8>) {
        for text in std::mem::take(&mut self.texts) {
            match model_call.is_none_or(|id| text.model_call == id) {
                true => self.close_text(turn, &text, status, out),
                false => self.texts.push(text),
            }
        }
    }

    fn close_text(&mut self, turn: &Turn, text: &Text, status: &str, out: &mut Vec<u8>) {
        let [_, _, done, part_done] = text.names();
        if !text.text.is_empty() {
            let (id, index) = (Hole::Text(&text.id), number(text.index));
            self.tell(turn, done, text.done(), &[id, index, Hole::Text(&text.text)], out);
            self.tell(turn, part_done, text.of_part(), &[id, index, Json(&text.content())], out);
        }
        self.done(turn, text.index, text.item(status), out);
    }

    /// The calls that have not ended are incomplete in this answer.
    fn leave_calls(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        for call in std::mem::take(&mut self.calls).into_values() {
            self.done(turn, call.index, call.item("incomplete", Hole::NULL, Hole::NULL), out);
        }
    }

    /// The whole answer. `why`: JSON for the members `error` and `incomplete_details`.
    fn answer(&self, turn: &Turn, status: &str, (error, incomplete): (&[u8], &[u8])) -> Vec<u8> {
        let mut output = Vec::new();
        for (index, Item { item, .. }) in self.items.iter().enumerate() {
            let text =
                self.texts.iter().find(|text| text.index == index).map(|text| text.item("in_progress"));
            let call = self.calls.iter().find(|(_, call)| call.index == index);
            let open =
                text.or_else(|| call.map(|(_, call)| call.item("in_progress", Hole::NULL, Hole::NULL)));
            let Some(item) = item.as_ref().or(open.as_ref()) else { continue };
            separate(&mut output);
            output.extend_from_slice(item);
        }
        let usage = &turn.usage;
        let (input, cached, written) = (usage.input_tokens, usage.cached_tokens, usage.output_tokens);
        let usage = match status {
            "in_progress" | "queued" => b"null".to_vec(),
            _ => filled(USAGE, &[Number(input), Number(cached), Number(written), Number(input + written)]),
        };
        let before = turn.segment.checked_sub(1).map(|segment| turn.id_at(RESPONSE, segment));
        let (id, created) = (turn.id(RESPONSE), Number(turn.created));
        let background: &[u8] = if turn.how.background { b"true" } else { b"false" };
        let [id, thread, turn_id, model, status] =
            [&*id, &*turn.thread, &*turn.turn, &*turn.model, status].map(Hole::Text);
        let before = before.as_deref().map_or(Hole::NULL, Hole::Text);
        let (background, error, incomplete) = (Json(background), Json(error), Json(incomplete));
        let (output, usage) = (Json(&output), Json(&usage));
        let holes = [
            background, created, error, id, incomplete, thread, turn_id, model, output, before, status, usage,
        ];
        filled(ANSWER, &holes)
    }

    /// The end of the answer.
    fn over(&mut self, turn: &Turn, status: &str, why: (&[u8], &[u8]), out: &mut Vec<u8>) {
        let answer = self.answer(turn, status, why);
        if turn.how.form != AnswerForm::Stream {
            return out.extend_from_slice(&answer);
        }
        // There is no event of its own for an answer that was stopped.
        let kind = match status {
            "completed" => "response.completed",
            "failed" => "response.failed",
            _ => "response.incomplete",
        };
        self.event(turn, kind, (RESPONSE_MEMBER, &[Json(&answer)]), true, out);
    }

    fn asks_one(&mut self, turn: &Turn, asked: &Asked, out: &mut Vec<u8>) {
        let Asked { id, name, args, by_client } = asked;
        let arguments = args.to_string();
        let (arguments, name) = (Hole::Text(&arguments), Hole::Text(name));
        if !by_client {
            let id = turn.id_of(QUESTION, id);
            let item = filled(APPROVAL, &[arguments, Hole::Text(&id), name]);
            let index = self.add(turn, &item, "", out);
            return self.done(turn, index, item, out);
        }
        let (item_id, call_id) = (turn.id_of(FUNCTION, id), turn.id_of(CALL, id));
        let (item_id, call_id) = (Hole::Text(&item_id), Hole::Text(&call_id));
        let item = |arguments, status| {
            filled(FUNCTION_CALL, &[arguments, call_id, item_id, name, Hole::Text(status)])
        };
        let index = self.add(turn, &item(Hole::Text(""), "in_progress"), "", out);
        let holes = [arguments, item_id, number(index), name];
        self.tell(turn, "response.function_call_arguments.delta", ARGUMENTS_DELTA, &holes, out);
        let done = r#""arguments":$,"item_id":$,"output_index":$,"name":$"#;
        self.tell(turn, "response.function_call_arguments.done", done, &holes, out);
        self.done(turn, index, item(arguments, "completed"), out);
    }

    /// An event of a call.
    fn tell_call(&mut self, turn: &Turn, kind: &str, call: &Call, out: &mut Vec<u8>) {
        let holes = [Hole::Text(&call.id), number(call.index)];
        self.tell(turn, kind, r#""item_id":$,"output_index":$"#, &holes, out);
    }
}

/// The member of an event that is the whole answer.
const RESPONSE_MEMBER: &str = r#""response":$"#;
/// Without an error, and complete.
const WHOLE: (&[u8], &[u8]) = (b"null", b"null");

impl Form for Responses {
    fn begin(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        for kind in ["response.created", "response.in_progress"] {
            let answer = self.answer(turn, "in_progress", WHOLE);
            self.tell(turn, kind, RESPONSE_MEMBER, &[Json(&answer)], out);
        }
    }

    fn text(&mut self, turn: &Turn, piece: Piece<'_>, out: &mut Vec<u8>) {
        let Piece { part, model_call, kind, content, done } = piece;
        let open = self.texts.iter().position(|text| text.part == part);
        let mut text = match open {
            Some(open) => self.texts.remove(open),
            None if content.is_empty() => return,
            None => {
                let mut text = Text::new(turn, part, model_call, kind);
                text.index = self.add(turn, &text.item("in_progress"), model_call, out);
                let [added, ..] = text.names();
                let holes = [Hole::Text(&text.id), number(text.index), Json(&text.content())];
                self.tell(turn, added, text.of_part(), &holes, out);
                text
            }
        };
        if !content.is_empty() {
            text.text.push_str(content);
            let [_, delta, ..] = text.names();
            let holes = [Hole::Text(&text.id), number(text.index), Hole::Text(content)];
            self.tell(turn, delta, text.delta(), &holes, out);
        }
        match done {
            true => self.close_text(turn, &text, "completed", out),
            false => self.texts.push(text),
        }
    }

    fn ends(&mut self, turn: &Turn, model_call: &str, broke_off: bool, out: &mut Vec<u8>) {
        self.close(turn, Some(model_call), if broke_off { "incomplete" } else { "completed" }, out);
        for item in self.items.iter_mut().filter(|item| broke_off && item.model_call == model_call) {
            item.item = None;
        }
    }

    fn call_starts(&mut self, turn: &Turn, (id, name, args): (&str, &str, &Value), out: &mut Vec<u8>) {
        let (name, arguments) = (name.to_owned(), String::new());
        let mut call = Call { index: 0, id: turn.id_of(MCP, id), name, arguments };
        call.index = self.add(turn, &call.item("in_progress", Hole::NULL, Hole::NULL), "", out);
        self.tell_call(turn, "response.mcp_call.in_progress", &call, out);
        call.arguments = args.to_string();
        let holes = [Hole::Text(&call.arguments), Hole::Text(&call.id), number(call.index)];
        self.tell(turn, "response.mcp_call_arguments.delta", ARGUMENTS_DELTA, &holes, out);
        self.tell(turn, "response.mcp_call_arguments.done", ARGUMENTS, &holes, out);
        self.calls.insert(id, call);
    }

    fn call_ends(
        &mut self,
        turn: &Turn,
        (id, name, args): (&str, &str, &Value),
        (result, is_error): (&str, bool),
        out: &mut Vec<u8>,
    ) {
        // A call that began in an earlier answer.
        if self.calls.get(id).is_none() {
            self.call_starts(turn, (id, name, args), out);
        }
        let Some(call) = self.calls.remove(id) else { return };
        let result = Hole::Text(result);
        let (kind, item) = match is_error {
            true => ("response.mcp_call.failed", call.item("failed", Hole::NULL, result)),
            false => ("response.mcp_call.completed", call.item("completed", result, Hole::NULL)),
        };
        self.tell_call(turn, kind, &call, out);
        self.done(turn, call.index, item, out);
    }

    /// The calls that have not ended end in the next answer.
    fn asks(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        self.close(turn, None, "completed", out);
        self.leave_calls(turn, out);
        for asked in &turn.asked {
            self.asks_one(turn, asked, out);
        }
        self.over(turn, "completed", WHOLE, out);
    }

    fn finish(&mut self, turn: &Turn, reason: FinishReason, out: &mut Vec<u8>) {
        let is_whole = reason == FinishReason::Stop;
        self.close(turn, None, if is_whole { "completed" } else { "incomplete" }, out);
        self.leave_calls(turn, out);
        let (null, failure): (&[u8], _);
        null = b"null";
        let (status, why): (_, (&[u8], &[u8])) = match reason {
            FinishReason::Stop => ("completed", WHOLE),
            FinishReason::Length | FinishReason::Budget => {
                ("incomplete", (null, br#"{"reason":"max_output_tokens"}"#))
            }
            FinishReason::ContentFilter => ("incomplete", (null, br#"{"reason":"content_filter"}"#)),
            FinishReason::Cancelled => ("cancelled", WHOLE),
            FinishReason::Interrupted | FinishReason::Error => {
                let message = turn.stop.as_ref().map_or("The turn was lost.", |(_, message)| message);
                failure = filled(r#"{"code":"server_error","message":$}"#, &[Hole::Text(message)]);
                ("failed", (&failure, null))
            }
        };
        self.over(turn, status, why, out);
    }

    /// A stream that breaks off can be read on. JSON has the answer as it is now.
    fn cut_off(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        match turn.how.form {
            AnswerForm::Stream => {}
            AnswerForm::Whole | AnswerForm::Now => out.extend(self.answer(turn, "in_progress", WHOLE)),
        }
    }

    fn fails(&mut self, turn: &Turn, (status, code, message): Failure, out: &mut Vec<u8>) {
        if turn.how.form != AnswerForm::Stream {
            self.status = status;
            return out.extend(error(status, code, message, None));
        }
        let members = (r#""code":$,"message":$,"param":null"#, &[Hole::Text(code), Hole::Text(message)][..]);
        self.event(turn, "error", members, true, out);
    }

    fn status(&self) -> u16 {
        self.status.max(200)
    }
}
