//! Chat Completions: an answer is one message. The calls that the service carries out have no form in it, and no event
//! takes text back.

use std::borrow::Cow;
use std::mem::take;

use serde_json::Value;

use super::form::{Asked, Failure, Form, Piece, Turn};
use super::{CALL, COMPLETION, error};
use crate::template::Hole::{self, Json, Number};
use crate::template::{fill, filled};
use wire::protocol::{AnswerForm, ChunkKind, FinishReason};

/// The answer in JSON.
const COMPLETE: &str = r#"{"choices":[{"finish_reason":$,"index":0,"logprobs":null,"message":{"content":$,$"refusal":$,"role":"assistant"$}}],"created":$,"id":$,"metadata":$,"model":$,"object":"chat.completion","usage":$}"#;
/// A frame of a stream.
const CHUNK: &str =
    r#"{"choices":[$],"created":$,"id":$,$"model":$,"object":"chat.completion.chunk","usage":$}"#;
const CHOICE: &str = r#"{"delta":{$},"finish_reason":$,"index":0,"logprobs":null}"#;
const CALL_OF: &str = r#"{"function":{"arguments":$,"name":$},"id":$,$"type":"function"}"#;
const METADATA: &str = r#"{$"thread_id":$,"turn_id":$}"#;
const USAGE: &str = r#"{"completion_tokens":$,"prompt_tokens":$,"prompt_tokens_details":{"cached_tokens":$},"total_tokens":$}"#;

/// The text of the answer.
#[derive(Default)]
pub struct Chat {
    /// The id of the answer.
    id: String,
    /// The text and the reasoning of the earlier model calls. A stream needs only to know whether there is a text.
    before: String,
    thought_before: String,
    /// The model call that writes.
    model_call: String,
    said: Said,
    thought: Said,
    status: u16,
}

/// The text of the model call that writes, or its reasoning.
#[derive(Default)]
struct Said {
    text: String,
    /// The text of a model call that broke off, where the client has it already.
    cut: String,
}

impl Said {
    /// Adds a piece, and gives the one that a stream tells. A model call that broke off is repeated, and the client keeps
    /// the text that it has: so the repetition is held back as long as it says the same, and begins anew where it does not.
    fn add<'a>(&mut self, content: &'a str) -> Cow<'a, str> {
        self.text.push_str(content);
        if self.cut.is_empty() {
            return content.into();
        }
        if self.cut.starts_with(&self.text) {
            return "".into();
        }
        let cut = take(&mut self.cut);
        match self.text.strip_prefix(&cut) {
            Some(rest) => rest.to_owned().into(),
            None => ["\n\n", &self.text].concat().into(),
        }
    }

    /// The model call broke off. A repetition that did so in its turn has told nothing yet while it is held back.
    fn break_off(&mut self, is_told: bool) {
        let text = take(&mut self.text);
        if is_told && self.cut.is_empty() {
            self.cut = text;
        }
    }
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
        if !self.said.text.is_empty() {
            self.before = self.joined();
        }
        self.thought_before.push_str(&self.thought.text);
        (self.said, self.thought) = (Said::default(), Said::default());
    }

    fn joined(&self) -> String {
        let text = &*self.said.text;
        let between = if self.before.is_empty() || text.is_empty() { "" } else { "\n\n" };
        [&*self.before, between, text].concat()
    }

    /// Streams a piece of text, if there is one.
    fn delta(&self, turn: &Turn, member: &str, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            let delta = filled(member, &[Hole::Text(text)]);
            chunk(turn, &self.id, (&delta, Hole::NULL), b"", out);
        }
    }

    /// The end of the answer, with what it asks: a refusal, or calls.
    fn close(&self, turn: &Turn, refusal: Option<&str>, calls: &[u8], finish: &str, out: &mut Vec<u8>) {
        let (finish, metadata, usage) = (Hole::Text(finish), metadata(turn), usage(turn));
        let refusal = refusal.map(Hole::Text);
        if Self::is_whole(turn) {
            let text = self.joined();
            let content = if text.is_empty() { Hole::NULL } else { Hole::Text(&text) };
            let thought = [&*self.thought_before, &self.thought.text].concat();
            let mut reasoning = Vec::new();
            if !thought.is_empty() {
                fill(r#""reasoning_content":$,"#, &[Hole::Text(&thought)], &mut reasoning);
            }
            let calls =
                if calls.is_empty() { Vec::new() } else { filled(r#","tool_calls":[$]"#, &[Json(calls)]) };
            let (created, id, model) = (Number(turn.created), Hole::Text(&self.id), Hole::Text(&turn.model));
            let (reasoning, refusal, calls) = (Json(&reasoning), refusal.unwrap_or(Hole::NULL), Json(&calls));
            let (metadata, usage) = (Json(&metadata), Json(&usage));
            let holes = [finish, content, reasoning, refusal, calls, created, id, metadata, model, usage];
            return fill(COMPLETE, &holes, out);
        }
        let asks = match refusal {
            Some(refusal) => filled(r#""refusal":$"#, &[refusal]),
            None if calls.is_empty() => Vec::new(),
            None => filled(r#""tool_calls":[$]"#, &[Json(calls)]),
        };
        if !asks.is_empty() {
            chunk(turn, &self.id, (&asks, Hole::NULL), b"", out);
        }
        chunk(turn, &self.id, (b"", finish), &metadata, out);
        if turn.how.usage {
            write(turn, &self.id, b"", b"", &usage, out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn failed(&mut self, turn: &Turn, status: u16, (code, message): (&str, &str), out: &mut Vec<u8>) {
        let body = error(status, code, message, None);
        if Self::is_whole(turn) {
            self.status = status;
            return out.extend(body);
        }
        fill("data: $\n\n", &[Json(&body)], out);
    }
}

/// The members of a piece.
const CONTENT: &str = r#""content":$"#;
const REASONING: &str = r#""reasoning_content":$"#;

impl Form for Chat {
    fn begin(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        self.id = turn.id(COMPLETION);
        if !Self::is_whole(turn) {
            let role = br#""content":"","refusal":null,"role":"assistant""#;
            chunk(turn, &self.id, (role, Hole::NULL), &metadata(turn), out);
        }
    }

    fn text(&mut self, turn: &Turn, piece: Piece<'_>, out: &mut Vec<u8>) {
        let Piece { model_call, kind, content, .. } = piece;
        self.turns_to(model_call);
        let (said, member) = match kind {
            ChunkKind::Text => (&mut self.said, CONTENT),
            ChunkKind::Reasoning => (&mut self.thought, REASONING),
        };
        let is_first = said.text.is_empty() && said.cut.is_empty();
        let mut told = said.add(content);
        if is_first && kind == ChunkKind::Text && !self.before.is_empty() && !told.is_empty() {
            told = ["\n\n", &told].concat().into();
        }
        if !Self::is_whole(turn) {
            self.delta(turn, member, &told, out);
        }
    }

    fn ends(&mut self, turn: &Turn, model_call: &str, broke_off: bool, out: &mut Vec<u8>) {
        if self.model_call != model_call {
            return;
        }
        if broke_off {
            let is_told = !Self::is_whole(turn);
            self.said.break_off(is_told);
            return self.thought.break_off(is_told);
        }
        // The repetition said less than the client has. Less reasoning is no matter.
        let cut = take(&mut self.said.cut);
        if cut.is_empty() || cut == self.said.text {
            return;
        }
        match self.said.text.is_empty() {
            true => self.before = cut,
            false => self.delta(turn, CONTENT, &["\n\n", &self.said.text].concat(), out),
        }
    }

    fn call_starts(&mut self, _: &Turn, _: (&str, &str, &Value), _: &mut Vec<u8>) {}

    fn call_ends(&mut self, _: &Turn, _: (&str, &str, &Value), _: (&str, bool), _: &mut Vec<u8>) {}

    /// The calls of the client. Without one a person is asked, and no event asks them: the client learns where they decide.
    fn asks(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        let is_whole = Self::is_whole(turn);
        let (mut calls, mut index) = (Vec::new(), 0);
        for Asked { id, name, args, .. } in turn.asked.iter().filter(|asked| asked.by_client) {
            let at = if is_whole { Vec::new() } else { filled(r#""index":$,"#, &[Number(index)]) };
            let (id, args) = (turn.id_of(CALL, id), args.to_string());
            calls.extend_from_slice(if calls.is_empty() { b"" } else { b"," });
            fill(CALL_OF, &[Hole::Text(&args), Hole::Text(name), Hole::Text(&id), Json(&at)], &mut calls);
            index += 1;
        }
        match calls.is_empty() {
            true => self.close(turn, Some(&refusal(turn)), b"", "stop", out),
            false => self.close(turn, None, &calls, "tool_calls", out),
        }
    }

    fn finish(&mut self, turn: &Turn, reason: FinishReason, out: &mut Vec<u8>) {
        let finish = match reason {
            FinishReason::Stop => "stop",
            FinishReason::Length | FinishReason::Budget => "length",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Cancelled | FinishReason::Interrupted | FinishReason::Error => {
                let stop = turn.stop.as_ref().map(|(code, message)| (code.as_str(), message.as_str()));
                return self.failed(turn, 500, stop.unwrap_or(("cancelled", "The turn was stopped.")), out);
            }
        };
        self.close(turn, None, b"", finish, out);
    }

    fn cut_off(&mut self, turn: &Turn, out: &mut Vec<u8>) {
        self.failed(turn, 500, ("interrupted", "The answer is not complete."), out);
    }

    fn fails(&mut self, turn: &Turn, (status, code, message): Failure, out: &mut Vec<u8>) {
        self.failed(turn, status, (code, message), out);
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

fn metadata(turn: &Turn) -> Vec<u8> {
    // All values of OpenAI's metadata are texts.
    let stop = turn.stop.as_ref().map(|(code, _)| filled(r#""stop":$,"#, &[Hole::Text(code)]));
    let stop = stop.unwrap_or_default();
    filled(METADATA, &[Json(&stop), Hole::Text(&turn.thread), Hole::Text(&turn.turn)])
}

fn usage(turn: &Turn) -> Vec<u8> {
    let usage = &turn.usage;
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    filled(USAGE, &[Number(output), Number(input), Number(usage.cached_tokens), Number(input + output)])
}

/// Writes a chunk with members of its delta. The first and the last one say to which thread it belongs.
fn chunk(turn: &Turn, id: &str, (delta, finish): (&[u8], Hole<'_>), metadata: &[u8], out: &mut Vec<u8>) {
    let choice = filled(CHOICE, &[Json(delta), finish]);
    write(turn, id, &choice, metadata, b"null", out);
}

fn write(turn: &Turn, id: &str, choices: &[u8], metadata: &[u8], usage: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    let metadata =
        if metadata.is_empty() { Vec::new() } else { filled(r#""metadata":$,"#, &[Json(metadata)]) };
    let (created, id, model) = (Number(turn.created), Hole::Text(id), Hole::Text(&turn.model));
    fill(CHUNK, &[Json(choices), created, id, Json(&metadata), model, Json(usage)], out);
    out.extend_from_slice(b"\n\n");
}
