//! Issue 44: the rules that the replies of all APIs share.

use std::rc::Rc;

use crate::Codec;
use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::testing::{answered, body, calls, definition, reply, request};
use crate::workers_ai::WorkersAi;

const URL: &str = "https://api.example";

// The provider would see a call of another tool than the one whose result it gets.
#[test]
fn the_raw_message_names_the_tool_as_the_call_does() {
    let chat = r#"{"choices":[{"delta":{"reasoning":"r","tool_calls":[{"index":0,"id":"a","function":
        {"name":"calculate<|channel|>json","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let table: [(&dyn Codec, &str); 5] = [
        (&OpenAiChat::new(URL, None), chat),
        (&WorkersAi, chat),
        (
            &OpenAiResponses::new(URL, None),
            r#"{"type":"response.completed","response":{"output":[{"type":"reasoning","encrypted_content":"e"},
                {"type":"function_call","id":"f","call_id":"a","name":"calculate<|channel|>json","arguments":"{}"}]}}"#,
        ),
        (
            &Anthropic::new(URL, None),
            r#"{"type":"message","content":[{"type":"redacted_thinking","data":"d"},
                {"type":"tool_use","id":"a","name":"calculate<|channel|>json","input":{}}],"stop_reason":"tool_use"}"#,
        ),
        (
            &Gemini::new(URL, None),
            r#"{"candidates":[{"content":{"parts":[{"thoughtSignature":"s","functionCall":
                {"id":"a","name":"calculate<|channel|>json","args":{}}}]},"finishReason":"STOP"}]}"#,
        ),
    ];
    for (codec, event) in table {
        let mut asked = request(vec![]);
        asked.tools = Rc::new([definition("calculate")]);
        let stream = format!("data: {}\n\n", event.replace('\n', " "));
        let (_, reply) = reply(&|| codec.decoder(&asked), stream.as_bytes());
        assert_eq!(calls(&reply), [("a", "calculate", "{}")]);
        let raw = reply.raw.as_ref().expect("something goes back").json.0.get().to_owned();
        assert!(raw.contains(r#""name":"calculate""#) && !raw.contains("<|"), "{raw}");
        let sent = body(codec, &answered(asked, reply)).to_string();
        assert!(sent.contains(r#""name":"calculate""#) && !sent.contains("<|"), "{sent}");
    }
}
