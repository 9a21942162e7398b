//! The part of reading that is the same for all providers: it normalises the events of a reply before anybody gets them. It
//! joins surrogate pairs that a server cut in two, takes `<think>…</think>` at the beginning of a text as reasoning, and
//! removes a model's control words from the names of tools.

use wire::model::{ModelEvent, ModelRequest};
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

    /// Adds the events of a piece of the text.
    pub fn take_text(&mut self, mut piece: String, events: &mut Vec<ModelEvent>) {
        join_halves_of_piece(&mut self.half_of_text, &mut piece);
        self.take_joined(piece, events);
    }

    /// Adds the events of a piece of the reasoning.
    pub fn take_reasoning(&mut self, mut piece: String, events: &mut Vec<ModelEvent>) {
        join_halves_of_piece(&mut self.half_of_reasoning, &mut piece);
        push(events, ModelEvent::Reasoning, piece);
    }

    /// The stream ends: nothing can complete what is held.
    pub fn end(&mut self, events: &mut Vec<ModelEvent>) {
        let alone = |half: Option<char>| half.map_or_else(String::new, |_| '\u{fffd}'.into());
        push(events, ModelEvent::Reasoning, alone(self.half_of_reasoning.take()));
        let half = alone(self.half_of_text.take());
        self.take_joined(half, events);
        match &mut self.thinking {
            Thinking::MayBegin(held) => push(events, ModelEvent::Text, std::mem::take(held)),
            Thinking::Inside { held, .. } => push(events, ModelEvent::Reasoning, std::mem::take(held)),
            Thinking::Ended | Thinking::Never => {}
        }
    }

    fn take_joined(&mut self, piece: String, events: &mut Vec<ModelEvent>) {
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
                    self.take_joined(thought, events);
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
                    self.take_joined(answer, events);
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

    /// The whole text without the thought at its beginning.
    pub fn answer(&self, mut text: String) -> String {
        join_halves(&mut text);
        match text.trim_start().strip_prefix(OPENS).filter(|_| self.has_thought) {
            Some(thought) => {
                thought.split_once(CLOSES).map_or("", |(_, answer)| answer.trim_start()).to_owned()
            }
            None => text,
        }
    }

    /// Cuts a control word off behind the name of a tool.
    pub fn cut_control_word(&self, name: &mut String) {
        let is_tool = |name: &str| self.tools.iter().any(|tool| tool == name);
        if let Some((tool, _)) = name.split_once(CONTROL)
            && !is_tool(name)
            && is_tool(tool)
        {
            name.truncate(tool.len());
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
