//! Chat Completions: an answer is one message. The calls that the service carries out have no form in it, and no event
//! takes text back.

use serde::Serialize;
use serde_json::{Error, Value};

use super::encoder::{Asked, Form, Piece, Turn};
use super::{CALL, COMPLETION, error};
use crate::given::{object, with};
use wire::protocol::{AnswerForm, ChunkKind, FinishReason};

/// The object that a frame of a stream is.
const CHUNK: &str = "chat.completion.chunk";

/// The frame of a piece of text. Nearly all frames are such ones, so it is no `Value`, which costs several times the CPU. The
/// members stand as in the other frames.
#[derive(Serialize)]
struct Delta<'a> {
    choices: [Choice<'a>; 1],
    created: u64,
    id: &'a str,
    model: &'a str,
    object: &'a str,
    usage: (),
}

#[derive(Serialize)]
struct Choice<'a> {
    delta: Said<'a>,
    finish_reason: (),
    index: u32,
    logprobs: (),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Said<'a> {
    Content(&'a str),
    ReasoningContent(&'a str),
}

/// The text of the answer.
#[derive(Default)]
pub struct Chat {
    /// The id of the answer.
    id: String,
    /// The text of the earlier model calls. A stream needs only to know whether there is one.
    before: String,
    /// The model call that writes, and its text.
    model_call: String,
    text: String,
    /// The text of a model call that broke off, where the client has it already.
    cut: String,
    reasoning: String,
    /// The length of the reasoning before the model call.
    reasoned: usize,
    status: u16,
}

impl Chat {
    fn is_whole(turn: &Turn) -> bool {
        turn.how.form != AnswerForm::Stream
    }

    /// Another model call writes: a blank line stands between the texts of two, as in the stored message.
    fn turns_to(&mut self, model_call: &str) {
        if self.model_call == model_call {
            return;
        }
        model_call.clone_into(&mut self.model_call);
        if !self.text.is_empty() {
            self.before = self.joined();
            self.text.clear();
        }
        self.cut.clear();
        self.reasoned = self.reasoning.len();
    }

    fn joined(&self) -> String {
        let between = if self.before.is_empty() || self.text.is_empty() { "" } else { "\n\n" };
        [&*self.before, between, &self.text].concat()
    }

    /// Streams the text that has just come. A model call that broke off is repeated, and the client keeps the text that it
    /// has: so the repetition is held back as long as it says the same, and begins anew where it does not.
    fn tell(&mut self, turn: &Turn, content: &str, is_first: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        let told;
        let content = if self.cut.is_empty() {
            let begins = is_first && !self.before.is_empty() && !content.is_empty();
            told = if begins { ["\n\n", content].concat() } else { content.to_owned() };
            &*told
        } else if self.cut.starts_with(&self.text) {
            return Ok(());
        } else {
            let cut = std::mem::take(&mut self.cut);
            told = match self.text.strip_prefix(&cut) {
                Some(rest) => rest.to_owned(),
                None => ["\n\n", &self.text].concat(),
            };
            &*told
        };
        if content.is_empty() { Ok(()) } else { self.delta(turn, Said::Content(content), out) }
    }

    fn delta(&self, turn: &Turn, delta: Said<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let choices = [Choice { delta, finish_reason: (), index: 0, logprobs: () }];
        let (object, created, id, model) = (CHUNK, turn.created, &*self.id, &*turn.model);
        frame(&Delta { choices, created, id, model, object, usage: () }, out)
    }

    fn whole(&self, turn: &Turn, message: Value, finish: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        let choice =
            object! { "index": 0, "message": message, "logprobs": Value::Null, "finish_reason": finish };
        let body = object! {
            "id": turn.id(COMPLETION), "object": "chat.completion", "created": turn.created, "model": &*turn.model,
            "choices": vec![choice],
            "usage": usage(turn), "metadata": metadata(turn),
        };
        serde_json::to_writer(out, &body)
    }

    /// The end of the answer. `more`: the members that come last.
    fn close(&mut self, turn: &Turn, more: Value, finish: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        if Self::is_whole(turn) {
            let text = Some(self.joined()).filter(|text| !text.is_empty());
            let message = object! { "role": "assistant", "content": text, "refusal": Value::Null };
            let reasoning = match self.reasoning.is_empty() {
                true => Value::Null,
                false => object! { "reasoning_content": &*self.reasoning },
            };
            return self.whole(turn, with(with(message, reasoning), more), finish, out);
        }
        if more.as_object().is_some_and(|more| !more.is_empty()) {
            chunk(turn, more, None, out)?;
        }
        chunk(turn, object! {}, Some(finish), out)?;
        if turn.how.usage {
            write(turn, Vec::new(), Some(usage(turn)), false, out)?;
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
        Ok(())
    }

    fn fails(
        &mut self,
        turn: &Turn,
        status: u16,
        told: (&str, &str),
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (code, message) = told;
        let body = error(status, code, message, None);
        if Self::is_whole(turn) {
            self.status = status;
            return serde_json::to_writer(out, &body);
        }
        frame(&body, out)
    }
}

impl Form for Chat {
    fn begin(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Result<(), Error> {
        self.id = turn.id(COMPLETION);
        match Self::is_whole(turn) {
            true => Ok(()),
            false => {
                chunk(turn, object! { "role": "assistant", "content": "", "refusal": Value::Null }, None, out)
            }
        }
    }

    fn text(&mut self, turn: &Turn, piece: Piece<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let Piece { model_call, kind, content, .. } = piece;
        self.turns_to(model_call);
        let is_whole = Self::is_whole(turn);
        if kind == ChunkKind::Reasoning {
            if is_whole {
                self.reasoning.push_str(content);
                return Ok(());
            }
            let delta = Said::ReasoningContent(content);
            return if content.is_empty() { Ok(()) } else { self.delta(turn, delta, out) };
        }
        let is_first = self.text.is_empty();
        self.text.push_str(content);
        if is_whole { Ok(()) } else { self.tell(turn, content, is_first, out) }
    }

    fn ends(
        &mut self,
        turn: &Turn,
        model_call: &str,
        broke_off: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if self.model_call != model_call {
            return Ok(());
        }
        if broke_off {
            self.reasoning.truncate(self.reasoned);
            // A repetition that broke off in its turn has told nothing yet while it is held back.
            let text = std::mem::take(&mut self.text);
            if self.cut.is_empty() && !Self::is_whole(turn) {
                self.cut = text;
            }
            return Ok(());
        }
        // The repetition said less than the client has.
        let cut = std::mem::take(&mut self.cut);
        match cut.is_empty() || cut == self.text || self.text.is_empty() {
            true => Ok(()),
            false => self.delta(turn, Said::Content(&["\n\n", &self.text].concat()), out),
        }
    }

    fn call_starts(&mut self, _: &Turn, _: (&str, &str, &Value), _: &mut Vec<u8>) -> Result<(), Error> {
        Ok(())
    }

    fn call_ends(
        &mut self,
        _: &Turn,
        _: (&str, &str, &Value),
        _: (&str, bool),
        _: &mut Vec<u8>,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// The calls of the client. Without one a person is asked, and no event asks them: the client learns where they decide.
    fn asks(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Result<(), Error> {
        let calls: Vec<&Asked> = turn.asked.iter().filter(|asked| asked.by_client).collect();
        if calls.is_empty() {
            let refusal = object! { "refusal": refusal(turn) };
            return self.close(turn, refusal, "stop", out);
        }
        let is_whole = Self::is_whole(turn);
        let calls = calls.into_iter().enumerate().map(|(index, Asked { id, name, args, .. })| {
            let function = object! { "name": &**name, "arguments": args.to_string() };
            let call = object! { "id": turn.id_of(CALL, id), "type": "function", "function": function };
            with(
                call,
                if is_whole {
                    Value::Null
                } else {
                    object! { "index": index }
                },
            )
        });
        let calls: Vec<Value> = calls.collect();
        self.close(turn, object! { "tool_calls": calls }, "tool_calls", out)
    }

    fn finish(&mut self, turn: &Turn, reason: FinishReason, out: &mut Vec<u8>) -> Result<(), Error> {
        let finish = match reason {
            FinishReason::Stop => "stop",
            FinishReason::Length | FinishReason::Budget => "length",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Cancelled | FinishReason::Interrupted | FinishReason::Error => {
                let stop = turn.stop.as_ref().map(|(code, message)| (code.as_str(), message.as_str()));
                return self.fails(turn, 500, stop.unwrap_or(("cancelled", "The turn was stopped.")), out);
            }
        };
        self.close(turn, Value::Null, finish, out)
    }

    fn cut_off(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Result<(), Error> {
        self.fails(turn, 500, ("interrupted", "The answer is not complete."), out)
    }

    fn is_missing(&mut self, turn: &Turn, out: &mut Vec<u8>) -> Result<(), Error> {
        self.fails(turn, 404, ("not_waiting", "no call waits for this answer"), out)
    }

    fn status(&self) -> u16 {
        self.status.max(200)
    }
}

/// Where a person decides.
fn refusal(turn: &Turn) -> String {
    let mut told = "This answer waits for a person, and goes on in its thread:".to_owned();
    for Asked { id, name, args, .. } in &turn.asked {
        told.push_str(&format!(
            "\n- {name} {args}: POST /api/threads/{}/approvals/{id} with {{\"decision\": \"approve\"}} or \"deny\"",
            turn.thread
        ));
    }
    told
}

fn metadata(turn: &Turn) -> Value {
    let stop = turn.stop.as_ref().map(|(code, _)| code.as_str());
    object! { "thread_id": &*turn.thread, "turn_id": &*turn.turn, "stop": stop }
}

fn usage(turn: &Turn) -> Value {
    let usage = &turn.usage;
    object! {
        "prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": object! { "cached_tokens": usage.cached_tokens },
    }
}

fn chunk(turn: &Turn, delta: Value, finish: Option<&str>, out: &mut Vec<u8>) -> Result<(), Error> {
    let ends = finish.is_some() || delta.get("role").is_some();
    let choice = object! { "index": 0, "delta": delta, "logprobs": Value::Null, "finish_reason": finish };
    write(turn, vec![choice], None, ends, out)
}

/// Writes a chunk. The first and the last one say to which thread it belongs.
fn write(
    turn: &Turn,
    choices: Vec<Value>,
    usage: Option<Value>,
    has_metadata: bool,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let chunk = object! {
        "id": turn.id(COMPLETION), "object": CHUNK, "created": turn.created, "model": &*turn.model,
        "choices": choices, "usage": usage,
    };
    let chunk = with(
        chunk,
        if has_metadata {
            object! { "metadata": metadata(turn) }
        } else {
            Value::Null
        },
    );
    frame(&chunk, out)
}

fn frame(data: &impl Serialize, out: &mut Vec<u8>) -> Result<(), Error> {
    out.extend_from_slice(b"data: ");
    serde_json::to_writer(&mut *out, data)?;
    out.extend_from_slice(b"\n\n");
    Ok(())
}
