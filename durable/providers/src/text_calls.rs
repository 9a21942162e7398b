//! Tools for a model without tool calls. The prompt describes the tools, the model writes a call as JSON, and the next
//! user message has its result. The decoder reads one call a reply and ignores the rest.

use std::borrow::Cow;
use std::rc::Rc;

use futures::StreamExt;
use futures::stream::LocalBoxStream;
use serde::Deserialize;
use serde_json::value::RawValue;

use wire::model::{
    Message, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyFinish, ToolCall, ToolChoice,
};

/// Rewrites a request for such a model. A request without tools, or for a model with tool calls, stays unchanged.
pub fn with_calls_in_text(request: &ModelRequest) -> Cow<'_, ModelRequest> {
    if request.model.capabilities.tools || !request.model.text_calls {
        return Cow::Borrowed(request);
    }
    Cow::Owned(ModelRequest {
        system: prompt(request).into(),
        messages: request.messages.iter().map(|message| Rc::new(in_words(message))).collect(),
        tools: Rc::new([]),
        tool_choice: ToolChoice::Auto,
        ..request.clone()
    })
}

fn prompt(request: &ModelRequest) -> String {
    let mut prompt = request.system.to_string();
    if request.tools.is_empty() {
        return prompt;
    }
    prompt.push_str(
        "\n\nYou call a tool by ending your reply with a line that is one JSON object, and nothing after it:\n\
         {\"tool\": \"NAME\", \"arguments\": {…}}\n\
         One call a reply: the result is the next message. A reply without such a line is your answer. The tools, with \
         the schemas of their arguments:",
    );
    for tool in request.tools.iter() {
        let schema = tool.input_schema.0.get();
        prompt.push_str(&format!("\n- {}: {}\n  {schema}", tool.name, tool.description));
    }
    prompt.push_str(match request.tool_choice {
        ToolChoice::Auto => "",
        ToolChoice::Required => "\nYour next reply must end with a call.",
        ToolChoice::None => "\nYour next reply must be your answer, without a call.",
    });
    prompt
}

fn in_words(message: &Message) -> Message {
    match message {
        Message::User { .. } => message.clone(),
        Message::Assistant { content, tool_calls, .. } => {
            let calls = tool_calls.iter().map(|call| {
                let arguments = wire::json::from_str(&call.arguments).unwrap_or(serde_json::Value::Null);
                serde_json::json!({"tool": call.name, "arguments": arguments}).to_string()
            });
            let said = Some(content.clone()).filter(|content| !content.is_empty());
            let lines: Vec<String> = said.into_iter().chain(calls).collect();
            Message::Assistant { content: lines.join("\n"), tool_calls: Vec::new(), raw: None }
        }
        Message::Tool { name, content, is_error, .. } => {
            let what = if *is_error { "The call ended in an error" } else { "The result" };
            Message::User { content: format!("{what} of {name}, as data:\n{content}").as_str().into() }
        }
    }
}

/// Turns the text of such a model into text and a call.
pub fn heard(
    request: &ModelRequest,
    answer: LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>>,
) -> LocalBoxStream<'static, Result<Vec<ModelEvent>, ModelError>> {
    let calls = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    if request.model.capabilities.tools || !request.model.text_calls || !calls {
        return answer;
    }
    // Numbered by the messages, so the ids of a conversation's calls differ.
    let mut reader = Reader::new(format!("text_{}", request.messages.len()));
    answer.map(move |read| read.map(|events| reader.read(events))).boxed_local()
}

/// Holds back text that may be a call, from the beginning of its line on.
struct Reader {
    call_id: String,
    /// The line has only white space so far.
    line_begins: bool,
    held: String,
}

impl Reader {
    fn new(call_id: String) -> Self {
        Reader { call_id, line_begins: true, held: String::new() }
    }

    fn read(&mut self, events: Vec<ModelEvent>) -> Vec<ModelEvent> {
        let mut read = Vec::with_capacity(events.len());
        for event in events {
            match event {
                ModelEvent::Text(text) => read.extend(self.said(text).map(ModelEvent::Text)),
                ModelEvent::Reasoning(_) => read.push(event),
                ModelEvent::Finished(reply) => read.extend(self.finished(*reply)),
            }
        }
        read
    }

    /// The text that is certainly no call.
    fn said(&mut self, mut text: String) -> Option<String> {
        if !self.held.is_empty() {
            self.held.push_str(&text);
            return None;
        }
        for (at, character) in text.char_indices() {
            if self.line_begins && matches!(character, '{' | '`') {
                self.held = text.split_off(at);
                break;
            }
            self.line_begins = character == '\n' || (self.line_begins && character.is_whitespace());
        }
        Some(text).filter(|text| !text.is_empty())
    }

    fn finished(&mut self, mut reply: ModelReply) -> Vec<ModelEvent> {
        let held = std::mem::take(&mut self.held);
        let mut read = Vec::new();
        match call(&held, &self.call_id) {
            Some(call) => {
                reply.tool_calls = vec![call];
                (reply.finish, reply.raw) = (ReplyFinish::ToolCalls, None);
            }
            None if held.is_empty() => {}
            None => read.push(ModelEvent::Text(held)),
        }
        read.push(ModelEvent::Finished(Box::new(reply)));
        read
    }
}

/// The first JSON object of a text, if it is a call.
fn call(text: &str, call_id: &str) -> Option<ToolCall> {
    #[derive(Deserialize)]
    struct Written {
        tool: String,
        #[serde(default)]
        arguments: Option<Box<RawValue>>,
    }
    let (_, json) = text.split_at(text.find('{')?);
    let written: Written = wire::json::values(json).next()?.ok()?;
    let arguments = written.arguments.map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned());
    Some(ToolCall { call_id: call_id.to_owned(), name: written.tool, arguments })
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on_stream;
    use futures::stream::iter;
    use serde_json::json;

    use super::*;
    use wire::model::{Capabilities, ModelChoice, RawValueEq, ToolDefinition};

    fn request() -> ModelRequest {
        let capabilities = Capabilities { tools: false, ..Capabilities::default() };
        let model = ModelChoice { capabilities, text_calls: true, ..ModelChoice::new("p", "m") };
        let schema = serde_json::value::to_raw_value(&json!({"type": "object"})).unwrap();
        let tool = ToolDefinition {
            name: "echo".to_owned(),
            description: "Says it again.".to_owned(),
            input_schema: Rc::new(RawValueEq(schema)),
        };
        let calls = vec![ToolCall {
            call_id: "text_1".to_owned(),
            name: "echo".to_owned(),
            arguments: r#"{"a":1}"#.to_owned(),
        }];
        let messages = [
            Message::User { content: "Go".into() },
            Message::Assistant { content: "So.".to_owned(), tool_calls: calls, raw: None },
            Message::Tool {
                call_id: "text_1".to_owned(),
                name: "echo".to_owned(),
                content: "one".to_owned(),
                is_error: false,
            },
        ];
        ModelRequest {
            model: Rc::new(model),
            system: "Be.".into(),
            messages: messages.into_iter().map(Rc::new).collect(),
            tools: Rc::new([tool]),
            turn_from: None,
            tool_choice: ToolChoice::Auto,
            response_schema: None,
            max_output_tokens: None,
            cache_key: None,
        }
    }

    fn replies(pieces: &[&str]) -> (String, Vec<ToolCall>) {
        let done = ModelReply {
            text: String::new(),
            tool_calls: Vec::new(),
            finish: ReplyFinish::Stop,
            usage: None,
            raw: None,
        };
        let said = pieces.iter().map(|piece| Ok(vec![ModelEvent::Text((*piece).to_owned())]));
        let said: Vec<_> = said.chain([Ok(vec![ModelEvent::Finished(Box::new(done))])]).collect();
        let (mut text, mut calls) = (String::new(), Vec::new());
        for event in block_on_stream(heard(&request(), iter(said).boxed_local())).flat_map(Result::unwrap) {
            match event {
                ModelEvent::Text(piece) => text.push_str(&piece),
                ModelEvent::Finished(reply) => calls = reply.tool_calls,
                ModelEvent::Reasoning(_) => {}
            }
        }
        (text, calls)
    }

    // S-014: the request has neither the role `tool` nor tools outside the prompt.
    #[test]
    fn a_result_is_a_message_of_the_user() {
        let request = request();
        let told = with_calls_in_text(&request);
        assert!(
            told.tools.is_empty() && told.system.contains("- echo: Says it again.\n  {\"type\":\"object\"}")
        );
        let words: Vec<(bool, String)> = told
            .messages
            .iter()
            .map(|message| match message.as_ref() {
                Message::User { content } => (true, content.text().into_owned()),
                Message::Assistant { content, tool_calls, .. } if tool_calls.is_empty() => {
                    (false, content.clone())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let call = r#"{"arguments":{"a":1},"tool":"echo"}"#;
        assert_eq!(
            words,
            [
                (true, "Go".to_owned()),
                (false, format!("So.\n{call}")),
                (true, "The result of echo, as data:\none".to_owned())
            ]
        );
        let able = ModelRequest { model: Rc::new(ModelChoice::new("p", "m")), ..request.clone() };
        assert_eq!(*super::with_calls_in_text(&able), able);
        let silent = ModelRequest { tool_choice: ToolChoice::None, ..request };
        assert!(super::with_calls_in_text(&silent).system.ends_with("must be your answer, without a call."));
    }

    // S-013: the decoder reads one call from any split, and does not show it as text.
    #[test]
    fn one_call_is_read_from_a_reply() {
        let whole = "Let me.\n{\"tool\": \"echo\", \"arguments\": {\"a\": \"{\"}}\n{\"tool\": \"write\"}";
        let each: Vec<String> = whole.chars().map(String::from).collect();
        for pieces in [vec![whole], each.iter().map(String::as_str).collect()] {
            let (text, calls) = replies(&pieces);
            assert_eq!((text.as_str(), calls.len()), ("Let me.\n", 1));
            assert_eq!((calls[0].name.as_str(), calls[0].arguments.as_str()), ("echo", r#"{"a": "{"}"#));
            assert_eq!(calls[0].call_id, "text_3");
        }
        assert_eq!(replies(&["```json\n{\"tool\": \"echo\"}\n```"]).1[0].arguments, "{}");
        // The decoder shows text that is no call.
        for text in ["{\"tool\": 1}", "{ half", "{\"a\": 1}\nis JSON", "in {\"tool\": \"echo\"} words", "`x`"]
        {
            assert_eq!(replies(&[text]), (text.to_owned(), Vec::new()));
        }
    }
}
