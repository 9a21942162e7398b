//! The demo model answers if no provider is configured. A newcomer sees streaming, tools and nested subtasks within a
//! minute of cloning, without a key, a network or randomness. A pure function from a request to a script. It reads the
//! last message of the user and all later messages (a message that says no more than "continue" goes on with the one before),
//! uses only tools that the request offers, and knows that it is no
//! language model. A model that draws at random answers another way when it is asked again. This one has no randomness, so
//! it is told which version of the turn it answers. The player of the script waits between its beats.

mod assignment;
mod critics;
mod facts;
pub mod media;
mod procedure;
mod reading;
mod rules;

#[cfg(test)]
mod play;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::Value;

use engine::journal::LocalTime;
use wire::model::{Message, ModelEvent, ModelReply, ModelRequest, ReplyFinish, ToolCall, Usage};

/// The pace of the words: fast enough to read along, slow enough to show the streaming.
const WORD_MS: u64 = 12;

/// One beat of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    /// The wait after the previous beat.
    pub after_ms: u64,
    pub event: ModelEvent,
}

/// The circumstances of a reply that a request does not have.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// The wait before each reply of a subtask or a critic, so that a person can watch it.
    pub work_ms: u64,
    /// The turn's number among the versions of its place in the conversation, from 1.
    pub version: usize,
}

/// The script of the whole reply to a request.
pub fn script(request: &ModelRequest, stage: Stage) -> Vec<Beat> {
    let scene = Scene::of(request);
    let spoken = critics::speak(request);
    let wait_ms = if spoken.is_some() || scene.is_subtask() { stage.work_ms } else { 0 };
    let answer = spoken.unwrap_or_else(|| rules::answer(&scene, stage.version));
    let calls_before: usize = request.messages.iter().map(|message| calls_in(message)).sum();
    let tool_calls: Vec<ToolCall> = answer
        .calls
        .iter()
        .zip(calls_before..)
        .map(|(call, number)| ToolCall {
            call_id: format!("demo_call_{number}"),
            name: call.tool.into(),
            arguments: call.arguments.to_string(),
        })
        .collect();
    let words = |text: &str| text.split_whitespace().count() as u64;
    let usage = Usage {
        input_tokens: words(&request.system)
            + request.messages.iter().map(|message| words_in(message)).sum::<u64>(),
        output_tokens: words(&answer.text)
            + tool_calls.iter().map(|call| words(&call.arguments)).sum::<u64>(),
        ..Usage::default()
    };
    let finish = if tool_calls.is_empty() { ReplyFinish::Stop } else { ReplyFinish::ToolCalls };
    let mut beats: Vec<Beat> = pieces(&answer.text)
        .into_iter()
        .map(|piece| Beat { after_ms: answer.word_ms, event: ModelEvent::Text(piece) })
        .collect();
    let reply = ModelReply { text: answer.text, tool_calls, finish, usage: Some(usage), raw: None };
    beats.push(Beat { after_ms: WORD_MS, event: ModelEvent::Finished(Box::new(reply)) });
    beats.first_mut().into_iter().for_each(|first| first.after_ms += wait_ms);
    beats
}

/// The text and the calls of a reply.
struct Answer {
    text: String,
    calls: Vec<Call>,
    word_ms: u64,
}

impl Answer {
    fn text(text: impl Into<String>) -> Self {
        Answer { text: text.into(), calls: Vec::new(), word_ms: WORD_MS }
    }

    fn calls(text: impl Into<String>, calls: Vec<Call>) -> Self {
        Answer { calls, ..Answer::text(text) }
    }
}

struct Call {
    tool: &'static str,
    arguments: Value,
}

/// The input of the rules.
struct Scene<'a> {
    /// The last message of the user.
    question: Cow<'a, str>,
    /// The system prompt.
    system: &'a str,
    tools: Vec<&'a str>,
    /// The calls made since then with their results, in order.
    outcomes: Vec<Outcome<'a>>,
}

struct Outcome<'a> {
    tool: &'a str,
    arguments: &'a str,
    content: &'a str,
    is_error: bool,
}

impl<'a> Scene<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let mut scene = Scene {
            question: Cow::Borrowed(""),
            system: &request.system,
            tools: request.tools.iter().map(|tool| &*tool.name).collect(),
            outcomes: vec![],
        };
        let mut made: Vec<&ToolCall> = vec![];
        for message in &request.messages {
            match &**message {
                Message::User { content } if content.text().starts_with(LocalTime::MARK) => {}
                // The finished calls of the turn that goes on stay. Calls that were cut off or refused are made again.
                Message::User { content } if scene.goes_on(&content.text()) => {
                    scene.outcomes.retain(|outcome| !outcome.is_error);
                }
                Message::User { content } => {
                    scene.question = content.text();
                    scene.outcomes.clear();
                    made.clear();
                }
                Message::Assistant { tool_calls, .. } => made.extend(tool_calls),
                Message::Tool { call_id, name, content, is_error } => {
                    let call = made.iter().find(|call| call.call_id == *call_id);
                    let arguments = call.map_or("", |call| &call.arguments);
                    scene.outcomes.push(Outcome { tool: name, arguments, content, is_error: *is_error });
                }
            }
        }
        scene
    }

    /// Whether a message asks to go on with the question before it.
    fn goes_on(&self, message: &str) -> bool {
        let words = message.trim().trim_end_matches(['.', '!']).to_ascii_lowercase();
        !self.question.is_empty() && ["continue", "go on"].contains(&&*words)
    }

    fn is_subtask(&self) -> bool {
        assignment::Assignment::parse(&self.question).is_some()
    }

    fn offers(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    fn has_called(&self, tool: &str) -> bool {
        self.outcomes.iter().any(|outcome| outcome.tool == tool)
    }

    /// A tool that the request offers and the model has not called yet. So the demo takes each step of a plan once,
    /// whatever its outcome.
    fn may_call(&self, tool: &str) -> bool {
        self.offers(tool) && !self.has_called(tool)
    }
}

impl Outcome<'_> {
    /// A string among the arguments of the call.
    fn argument(&self, name: &str) -> String {
        let arguments: Value = wire::json::from_str(self.arguments).unwrap_or_default();
        arguments.get(name).and_then(Value::as_str).unwrap_or_default().into()
    }
}

fn calls_in(message: &Message) -> usize {
    match message {
        Message::Assistant { tool_calls, .. } => tool_calls.len(),
        Message::User { .. } | Message::Tool { .. } => 0,
    }
}

fn words_in(message: &Message) -> u64 {
    let content = match message {
        Message::User { content } => content.text(),
        Message::Assistant { content, .. } | Message::Tool { content, .. } => Cow::Borrowed(&**content),
    };
    content.split_whitespace().count() as u64
}

/// The words of a text, each with the white space behind it.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = vec![];
    for piece in text.split_inclusive(char::is_whitespace) {
        match pieces.last_mut() {
            Some(last) if piece.trim().is_empty() => last.push_str(piece),
            _ => pieces.push(piece.into()),
        }
    }
    pieces
}
