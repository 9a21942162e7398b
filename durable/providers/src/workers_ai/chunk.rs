//! A chunk of the stream: the binding's own form and OpenAI's, in one.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Few, Loose, Text, Unknown, object, text_of};
use crate::openai_chat::chunk::{CallDelta, Chunk, FirstChoice, FunctionDelta};
use crate::openai_chat::response::Reply;
use wire::model::{ModelError, ModelEvent};

#[derive(Debug, Deserialize)]
pub struct AiChunk<'a> {
    #[serde(borrow, default)]
    choices: FirstChoice<'a>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// A list of them, as Cloudflare's API tells them.
    #[serde(borrow, default)]
    errors: Option<Vec<&'a RawValue>>,
    /// Text, but a token that looks like a number comes as one, and an answer to a schema as an object.
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Few<AiCall<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Loose<'a>>,
}

/// A call in the binding's own form, `{"name", "arguments"}`, or in OpenAI's.
#[derive(Debug, Default)]
struct AiCall<'a> {
    index: Option<u64>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
    function: Option<FunctionDelta<'a>>,
    unknown: Unknown<'a>,
}

object!(AiCall, known: {
    "index" => index,
    "id" => id,
    "name" => name,
    "arguments" => arguments,
    "function" => function
}, dropped: ["type"]);

impl AiChunk<'_> {
    /// Takes the chunk into the reply. One that has both forms says everything twice, and OpenAI's counts.
    pub fn told(self, reply: &mut Reply, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let AiChunk { choices, usage, error, errors, response, tool_calls, finish_reason } = self;
        let error = error.or_else(|| errors?.into_iter().next());
        let own = choices.0.is_none();
        reply.take_chunk(Chunk { choices, usage, error }, events)?;
        if own {
            if let Some(text) = response.and_then(text_of) {
                reply.take_text(Text(text), events);
            }
            for call in tool_calls.0.into_iter().filter_map(AiCall::into_delta) {
                reply.take_call(call)?;
            }
            if let Some(reason) = finish_reason.and_then(|reason| reason.0) {
                reply.take_finish(&reason);
            }
        }
        reply.bounded()
    }
}

impl<'a> AiCall<'a> {
    /// None where it says nothing: a call is closed by one whose members are all null.
    fn into_delta(self) -> Option<CallDelta<'a>> {
        let mut function = self.function.unwrap_or_default();
        function.name = function.name.or(self.name);
        function.arguments = function.arguments.or(self.arguments);
        let empty = |text: &Option<Text<'_>>| text.as_ref().is_none_or(|text| text.as_str().is_empty());
        let says = !empty(&self.id) || !empty(&function.name) || function.arguments.is_some();
        says.then_some(CallDelta {
            index: self.index,
            id: self.id,
            function: Some(function),
            unknown: self.unknown,
        })
    }
}
