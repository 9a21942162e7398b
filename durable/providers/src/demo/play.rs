//! A conversation with the demo model, for its tests.

use std::rc::Rc;

use serde_json::value::RawValue;

use super::*;
use wire::model::{ModelChoice, RawValueEq, ToolDefinition};

pub const FIRST: Stage = Stage { work_ms: 0, version: 1 };

/// A conversation with the demo model and fake tools.
pub struct Play {
    pub request: ModelRequest,
}

impl Play {
    pub fn ask(question: &str, tools: &[&str]) -> Self {
        Play::with_system("two words", question, tools)
    }

    /// A conversation under this system prompt.
    pub fn with_system(system: &str, question: &str, tools: &[&str]) -> Self {
        let tool = |name: &&str| ToolDefinition {
            name: name.to_string(),
            description: String::new(),
            input_schema: Rc::new(RawValueEq(RawValue::from_string("{}".into()).unwrap())),
        };
        let mut request = ModelRequest::new(Rc::new(ModelChoice::new("demo", "demo")), system.into());
        request.messages = vec![Rc::new(Message::User { content: question.into() })];
        request.tools = tools.iter().map(tool).collect();
        Play { request }
    }

    pub fn reply(&self) -> ModelReply {
        let mut beats = script(&self.request, FIRST);
        assert_eq!(beats, script(&self.request, FIRST), "the same again");
        let Some(Beat { event: ModelEvent::Finished(reply), .. }) = beats.pop() else { panic!("no end") };
        let text: String = beats
            .into_iter()
            .map(|beat| match beat.event {
                ModelEvent::Text(piece) if !piece.trim().is_empty() => piece,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(text, reply.text);
        *reply
    }

    /// Appends the reply and its results.
    pub fn answer(&mut self, reply: &ModelReply, result: impl Fn(&ToolCall) -> Result<String, String>) {
        let (content, tool_calls) = (reply.text.clone(), reply.tool_calls.clone());
        self.request.messages.push(Rc::new(Message::Assistant { content, tool_calls, raw: None }));
        for call in &reply.tool_calls {
            let (content, is_error) = match result(call) {
                Ok(content) => (content, false),
                Err(content) => (content, true),
            };
            let (call_id, name) = (call.call_id.clone(), call.name.clone());
            self.request.messages.push(Rc::new(Message::Tool { call_id, name, content, is_error }));
        }
    }
}
