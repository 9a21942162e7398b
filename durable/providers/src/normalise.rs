//! The part of reading that is the same for all providers: it normalises the events of a reply before anybody gets them. It
//! joins surrogate pairs that a server cut in two, takes `<think>…</think>` at the beginning of a text as reasoning, and
//! removes a model's control words from the names of tools.

use wire::model::{ModelEvent, ModelReply, ModelRequest, RawValueEq};
use wire::surrogates::{join_halves, join_halves_of_piece};

const OPENS: &str = "<think>";
const CLOSES: &str = "</think>";
/// The most bytes of blanks that are held at the beginning of a reply, because the tag may follow them.
const MAX_BLANKS: usize = 256;
/// The beginning of a control word, such as `<|channel|>` of gpt-oss.
const CONTROL: &str = "<|";

/// Normalises the events of one reply.
#[derive(Debug, Default)]
pub struct Normaliser {
    /// The names of the request's tools.
    tools: Vec<String>,
    /// The first half of a pair at the end of the last text, and of the last reasoning.
    half_of_text: Option<char>,
    half_of_reasoning: Option<char>,
    thinking: Thinking,
    /// Whether the text began with a thought.
    has_thought: bool,
}

/// Where the text of a reply stands.
#[derive(Debug)]
enum Thinking {
    /// The text so far may be the beginning of the tag, after blanks.
    MayBegin(String),
    /// Inside the tags. The text is what may be the beginning of the closing tag, or blanks after the opening one.
    Inside {
        held: String,
        is_told: bool,
    },
    /// Blanks between the thought and the answer are left out.
    Ended,
    Never,
}

impl Default for Thinking {
    fn default() -> Self {
        Thinking::MayBegin(String::new())
    }
}

impl Normaliser {
    /// For the reply to a request.
    pub fn for_request(request: &ModelRequest) -> Self {
        Normaliser {
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..Normaliser::default()
        }
    }

    /// Normalises the events from this place on.
    pub fn normalise(&mut self, events: &mut Vec<ModelEvent>, from: usize) {
        for event in events.split_off(from) {
            match event {
                ModelEvent::Text(mut piece) => {
                    join_halves_of_piece(&mut self.half_of_text, &mut piece);
                    self.take_text(piece, events);
                }
                ModelEvent::Reasoning(mut piece) => {
                    join_halves_of_piece(&mut self.half_of_reasoning, &mut piece);
                    push(events, ModelEvent::Reasoning, piece);
                }
                ModelEvent::Finished(mut reply) => {
                    self.end(events);
                    self.normalise_reply(&mut reply);
                    events.push(ModelEvent::Finished(reply));
                }
            }
        }
    }

    /// The stream ends: nothing can complete what is held.
    pub fn end(&mut self, events: &mut Vec<ModelEvent>) {
        let alone = |half: Option<char>| half.map_or_else(String::new, |_| '\u{fffd}'.into());
        push(events, ModelEvent::Reasoning, alone(self.half_of_reasoning.take()));
        let half = alone(self.half_of_text.take());
        self.take_text(half, events);
        match &mut self.thinking {
            Thinking::MayBegin(held) => push(events, ModelEvent::Text, std::mem::take(held)),
            Thinking::Inside { held, .. } => push(events, ModelEvent::Reasoning, std::mem::take(held)),
            Thinking::Ended | Thinking::Never => {}
        }
    }

    fn take_text(&mut self, piece: String, events: &mut Vec<ModelEvent>) {
        if piece.is_empty() {
            return;
        }
        match &mut self.thinking {
            Thinking::Never => events.push(ModelEvent::Text(piece)),
            Thinking::Ended => {
                let answer = piece.trim_start();
                if !answer.is_empty() {
                    events.push(ModelEvent::Text(answer.to_owned()));
                    self.thinking = Thinking::Never;
                }
            }
            Thinking::MayBegin(held) => {
                held.push_str(&piece);
                let text = held.trim_start();
                if let Some(thought) = text.strip_prefix(OPENS) {
                    let thought = thought.to_owned();
                    self.has_thought = true;
                    self.thinking = Thinking::Inside { held: String::new(), is_told: false };
                    self.take_text(thought, events);
                } else if !OPENS.starts_with(text) || held.len() > MAX_BLANKS {
                    push(events, ModelEvent::Text, std::mem::take(held));
                    self.thinking = Thinking::Never;
                }
            }
            Thinking::Inside { held, is_told } => {
                held.push_str(&piece);
                if !*is_told {
                    *held = held.trim_start().to_owned();
                }
                if let Some((thought, answer)) = held.split_once(CLOSES) {
                    let (thought, answer) = (thought.to_owned(), answer.to_owned());
                    push(events, ModelEvent::Reasoning, thought);
                    self.thinking = Thinking::Ended;
                    self.take_text(answer, events);
                } else {
                    let may_close = (1..CLOSES.len()).rev().find(|&length| {
                        CLOSES.get(..length).is_some_and(|beginning| held.ends_with(beginning))
                    });
                    let rest = held.split_off(held.len() - may_close.unwrap_or(0));
                    *is_told |= !held.is_empty();
                    push(events, ModelEvent::Reasoning, std::mem::replace(held, rest));
                }
            }
        }
    }

    fn normalise_reply(&self, reply: &mut ModelReply) {
        join_halves(&mut reply.text);
        if self.has_thought
            && let Some(thought) = reply.text.trim_start().strip_prefix(OPENS)
        {
            reply.text = thought.split_once(CLOSES).map_or("", |(_, answer)| answer.trim_start()).to_owned();
        }
        for call in &mut reply.tool_calls {
            for text in [&mut call.call_id, &mut call.name, &mut call.arguments] {
                join_halves(text);
            }
            let known = |name: &str| self.tools.iter().any(|tool| tool == name);
            if let Some((name, _)) = call.name.split_once(CONTROL)
                && !known(&call.name)
                && known(name)
            {
                call.name = name.to_owned();
            }
        }
        if let Some(raw) = &mut reply.raw {
            let mut json = raw.json.0.get().to_owned();
            join_halves(&mut json);
            if let Ok(json) = serde_json::value::RawValue::from_string(json) {
                raw.json = RawValueEq(json);
            }
        }
    }
}

fn push(events: &mut Vec<ModelEvent>, kind: impl Fn(String) -> ModelEvent, piece: String) {
    if !piece.is_empty() {
        events.push(kind(piece));
    }
}

#[cfg(test)]
mod tests;
