//! Responses: an answer is a list of items. A text of a model call is a message; a call that the service carries out is one
//! of an MCP server with our name, as a question to a person is. A model call that broke off leaves its items incomplete, and
//! the complete answer does not have them.
//!
//! The number of an event follows from that of our own event, so a replay numbers the same. Our log may have lost the last
//! chunks of a model call that broke off: their numbers stay unused.

use serde::Serialize;
use serde_json::{Error, Value};

use super::encoder::{Asked, Form, Piece, Turn};
use super::text::Text;
use super::{CALL, QUESTION, RESPONSE, SERVER, error};
use crate::by_id::ById;
use crate::given::{at, object, with};
use wire::protocol::{AnswerForm, FinishReason};

/// The members of an answer that are always the same.
const ALWAYS: &str = r#"{"object": "response", "error": null, "incomplete_details": null, "instructions": null,
    "parallel_tool_calls": true, "store": true, "temperature": null, "text": {"format": {"type": "text"}},
    "tool_choice": "auto", "tools": [], "top_p": null, "truncation": "disabled"}"#;
/// How many events one of ours may become before their numbers move on to the next one's.
const SPACING: u64 = 16;

/// The items of the answer.
#[derive(Default)]
pub struct Responses {
    /// The number that comes next.
    next: u64,
    items: Vec<Item>,
    texts: Vec<Text>,
    /// The calls of the root that have begun here, with the index and the item of each.
    calls: ById<(usize, Value)>,
    status: u16,
}

/// An item, by its index.
struct Item {
    /// None while it is open, and where its model call broke off.
    item: Option<Value>,
    /// The model call that wrote it; empty for a call.
    model_call: String,
}

type Written = Result<(), Error>;

fn frame(kind: &str, data: &impl Serialize, out: &mut Vec<u8>) -> Written {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    serde_json::to_writer(&mut *out, data)?;
    out.extend_from_slice(b"\n\n");
    Ok(())
}

impl Responses {
    /// The number of the next event; none if the client has it, or gets no stream. It gets the last event in any case.
    fn number(&mut self, turn: &Turn, is_last: bool) -> Option<u64> {
        let number = self.next.max(turn.seq.saturating_sub(turn.first).saturating_mul(SPACING));
        self.next = number + 1;
        let is_known = turn.how.after.is_some_and(|after| number <= after);
        Some(number).filter(|_| turn.how.form == AnswerForm::Stream && (is_last || !is_known))
    }

    fn event(&mut self, turn: &Turn, kind: &str, data: Value, is_last: bool, out: &mut Vec<u8>) -> Written {
        let Some(number) = self.number(turn, is_last) else { return Ok(()) };
        frame(kind, &with(data, object! { "type": kind, "sequence_number": number }), out)
    }

    fn tell(&mut self, turn: &Turn, kind: &str, data: Value, out: &mut Vec<u8>) -> Written {
        self.event(turn, kind, data, false, out)
    }

    /// A new item, and its index.
    fn add(
        &mut self,
        turn: &Turn,
        item: &Value,
        model_call: &str,
        out: &mut Vec<u8>,
    ) -> Result<usize, Error> {
        let index = self.items.len();
        self.items.push(Item { item: None, model_call: model_call.to_owned() });
        self.tell(
            turn,
            "response.output_item.added",
            object! { "output_index": index, "item": item.clone() },
            out,
        )?;
        Ok(index)
    }

    /// An item is complete.
    fn done(&mut self, turn: &Turn, index: usize, item: Value, out: &mut Vec<u8>) -> Written {
        let data = object! { "output_index": index, "item": item.clone() };
        if let Some(place) = self.items.get_mut(index) {
            place.item = Some(item);
        }
        self.tell(turn, "response.output_item.done", data, out)
    }

    /// Closes texts of the model call, or all of them.
    fn close(&mut self, turn: &Turn, model_call: Option<&str>, status: &str, out: &mut Vec<u8>) -> Written {
        let closes = |text: &Text| model_call.is_none_or(|id| text.model_call == id);
        let (closed, open) = std::mem::take(&mut self.texts).into_iter().partition(closes);
        self.texts = open;
        for text in Vec::<Text>::into_iter(closed) {
            self.close_text(turn, &text, status, out)?;
        }
        Ok(())
    }

    fn close_text(&mut self, turn: &Turn, text: &Text, status: &str, out: &mut Vec<u8>) -> Written {
        let [_, _, done, part_done, _] = text.names();
        if !text.text.is_empty() {
            self.tell(turn, done, text.data("text", Value::from(&*text.text)), out)?;
            self.tell(turn, part_done, text.data("part", text.content()), out)?;
        }
        self.done(turn, text.index, text.item(status), out)
    }

    /// The calls that have not ended are incomplete in this answer.
    fn leave_calls(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Written {
        for (index, item) in std::mem::take(&mut self.calls).into_values() {
            self.done(turn, index, with(item, object! { "status": "incomplete" }), out)?;
        }
        Ok(())
    }

    /// The whole answer. `more`: members that the status has.
    fn answer(&self, turn: &Turn, status: &str, more: Value) -> Value {
        let text = |index| self.texts.iter().find(|text| text.index == index);
        let call = |index| self.calls.iter().find(|(_, (of, _))| *of == index);
        let open = |index| match text(index) {
            Some(text) => Some(text.item("in_progress")),
            None => call(index).map(|(_, (_, item))| item.clone()),
        };
        let item = |(index, item): (usize, &Item)| item.item.clone().or_else(|| open(index));
        let output: Vec<Value> = self.items.iter().enumerate().filter_map(item).collect();
        let usage = &turn.usage;
        let is_over = !matches!(status, "in_progress" | "queued");
        let before = turn.segment.checked_sub(1);
        let before = before.map(|segment| turn.id_at(RESPONSE, segment));
        let usage = object! {
            "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "input_tokens_details": object! { "cached_tokens": usage.cached_tokens },
            "output_tokens_details": object! { "reasoning_tokens": 0 },
        };
        let answer = object! {
            "id": turn.id(RESPONSE), "created_at": turn.created, "status": status, "model": &*turn.model,
            "background": turn.how.background, "previous_response_id": before, "output": output,
            "metadata": object! { "thread_id": &*turn.thread, "turn_id": &*turn.turn },
            "usage": if is_over { usage } else { Value::Null },
        };
        with(with(wire::json::from_str(ALWAYS).unwrap_or_default(), answer), more)
    }

    /// The end of the answer.
    fn over(&mut self, turn: &Turn, status: &str, more: Value, out: &mut Vec<u8>) -> Written {
        let answer = self.answer(turn, status, more);
        if turn.how.form != AnswerForm::Stream {
            return serde_json::to_writer(out, &answer);
        }
        // There is no event of its own for an answer that was stopped.
        let kind = match status {
            "completed" => "response.completed",
            "failed" => "response.failed",
            _ => "response.incomplete",
        };
        self.event(turn, kind, object! { "response": answer }, true, out)
    }

    fn asks_one(&mut self, turn: &Turn, asked: &Asked, out: &mut Vec<u8>) -> Written {
        let Asked { id, name, args, by_client } = asked;
        let arguments = args.to_string();
        if !by_client {
            let id = turn.id_of(QUESTION, id);
            let item = object! {
                "type": "mcp_approval_request", "id": id, "server_label": SERVER, "name": &**name, "arguments": arguments,
            };
            let index = self.add(turn, &item, "", out)?;
            return self.done(turn, index, item, out);
        }
        let (item_id, call_id) = (format!("fc_{id}"), turn.id_of(CALL, id));
        let item = object! {
            "type": "function_call", "id": &*item_id, "call_id": call_id, "name": &**name, "arguments": "",
            "status": "in_progress",
        };
        let index = self.add(turn, &item, "", out)?;
        let data =
            |member: &str| object! { "item_id": &*item_id, "output_index": index, member: &*arguments };
        self.tell(turn, "response.function_call_arguments.delta", data("delta"), out)?;
        let done = with(data("arguments"), object! { "name": &**name });
        self.tell(turn, "response.function_call_arguments.done", done, out)?;
        self.done(turn, index, with(item, object! { "arguments": &*arguments, "status": "completed" }), out)
    }
}

impl Form for Responses {
    fn begin(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Written {
        for kind in ["response.created", "response.in_progress"] {
            let answer = self.answer(turn, "in_progress", Value::Null);
            self.tell(turn, kind, object! { "response": answer }, out)?;
        }
        Ok(())
    }

    fn text(&mut self, turn: &Turn, piece: Piece<'_>, out: &mut Vec<u8>) -> Written {
        let Piece { part, model_call, kind, content, done } = piece;
        let open = self.texts.iter().position(|text| text.part == part);
        let mut text = match open {
            Some(open) => self.texts.remove(open),
            None if content.is_empty() => return Ok(()),
            None => {
                let mut text = Text::new(part, model_call, kind);
                text.index = self.add(turn, &text.item("in_progress"), model_call, out)?;
                let [added, ..] = text.names();
                self.tell(turn, added, text.data("part", text.content()), out)?;
                text
            }
        };
        if !content.is_empty() {
            text.text.push_str(content);
            if let Some(number) = self.number(turn, false) {
                let delta = text.delta(content, number);
                frame(delta.r#type, &delta, out)?;
            }
        }
        if done {
            return self.close_text(turn, &text, "completed", out);
        }
        self.texts.push(text);
        Ok(())
    }

    fn ends(&mut self, turn: &Turn, model_call: &str, broke_off: bool, out: &mut Vec<u8>) -> Written {
        self.close(turn, Some(model_call), if broke_off { "incomplete" } else { "completed" }, out)?;
        for item in self.items.iter_mut().filter(|item| broke_off && item.model_call == model_call) {
            item.item = None;
        }
        Ok(())
    }

    fn call_starts(
        &mut self,
        turn: &Turn,
        (id, name, args): (&str, &str, &Value),
        out: &mut Vec<u8>,
    ) -> Written {
        let item = object! {
            "type": "mcp_call", "id": format!("mcp_{id}"), "server_label": SERVER, "name": name,
            "arguments": args.to_string(), "status": "in_progress", "output": Value::Null, "error": Value::Null,
        };
        let index = self.add(turn, &item, "", out)?;
        let data = object! { "item_id": at(&item, "id").clone(), "output_index": index };
        self.calls.insert(id, (index, item));
        self.tell(turn, "response.mcp_call.in_progress", data, out)
    }

    fn call_ends(
        &mut self,
        turn: &Turn,
        (id, name, args): (&str, &str, &Value),
        (result, is_error): (&str, bool),
        out: &mut Vec<u8>,
    ) -> Written {
        // A call that began in an earlier answer.
        if self.calls.get(id).is_none() {
            self.call_starts(turn, (id, name, args), out)?;
        }
        let Some((index, item)) = self.calls.remove(id) else { return Ok(()) };
        let (member, status, kind) = match is_error {
            true => ("error", "failed", "response.mcp_call.failed"),
            false => ("output", "completed", "response.mcp_call.completed"),
        };
        let item = with(item, object! { member: result, "status": status });
        self.tell(turn, kind, object! { "item_id": at(&item, "id").clone(), "output_index": index }, out)?;
        self.done(turn, index, item, out)
    }

    /// The calls that have not ended end in the next answer.
    fn asks(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Written {
        self.close(turn, None, "completed", out)?;
        self.leave_calls(turn, out)?;
        for asked in &turn.asked {
            self.asks_one(turn, asked, out)?;
        }
        self.over(turn, "completed", Value::Null, out)
    }

    fn finish(&mut self, turn: &Turn, reason: FinishReason, out: &mut Vec<u8>) -> Written {
        let is_whole = reason == FinishReason::Stop;
        self.close(turn, None, if is_whole { "completed" } else { "incomplete" }, out)?;
        self.leave_calls(turn, out)?;
        let reached = |reason: &str| object! { "incomplete_details": object! { "reason": reason } };
        let (status, more) = match reason {
            FinishReason::Stop => ("completed", Value::Null),
            FinishReason::Length | FinishReason::Budget => ("incomplete", reached("max_output_tokens")),
            FinishReason::ContentFilter => ("incomplete", reached("content_filter")),
            FinishReason::Cancelled => ("cancelled", Value::Null),
            FinishReason::Interrupted | FinishReason::Error => {
                let message = turn.stop.as_ref().map_or("The turn was lost.", |(_, message)| message);
                ("failed", object! { "error": object! { "code": "server_error", "message": message } })
            }
        };
        self.over(turn, status, more, out)
    }

    /// A stream that breaks off can be read on. JSON has the answer as it is now.
    fn cut_off(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Written {
        match turn.how.form {
            AnswerForm::Stream => Ok(()),
            AnswerForm::Whole | AnswerForm::Now => {
                serde_json::to_writer(out, &self.answer(turn, "in_progress", Value::Null))
            }
        }
    }

    fn is_missing(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Written {
        let (code, message) = ("not_waiting", "no call waits for this answer");
        if turn.how.form != AnswerForm::Stream {
            self.status = 404;
            return serde_json::to_writer(out, &error(404, code, message, None));
        }
        self.event(
            turn,
            "error",
            object! { "code": code, "message": message, "param": Value::Null },
            true,
            out,
        )
    }

    fn status(&self) -> u16 {
        self.status.max(200)
    }
}
