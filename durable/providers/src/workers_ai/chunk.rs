//! A chunk of the stream, in the binding's own format or in OpenAI's.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::accumulator::Accumulator;
use crate::json::{Count, Few, Loose, Text, Unknown, lenient, object, text_of};
use crate::openai_chat::chunk::{CallDelta, Chunk, FirstChoice, FunctionDelta};
use crate::openai_chat::response::{Reply, take_finish};
use wire::model::ModelError;

#[derive(Debug, Deserialize)]
pub struct AiChunk<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    choices: FirstChoice<'a>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// Errors as a list, the format of Cloudflare's API.
    #[serde(borrow, default)]
    errors: Few<&'a RawValue>,
    /// Usually a string. A token that looks like a number arrives as a number, and a reply to a schema as an object.
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Few<AiCall<'a>>,
    #[serde(borrow, default)]
    finish_reason: Loose<'a>,
}

/// A call in the binding's own format, `{"name", "arguments"}`, or in OpenAI's.
#[derive(Debug, Default)]
struct AiCall<'a> {
    index: Count,
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
    /// Adds the chunk to the reply. A chunk in both formats repeats everything, so only OpenAI's counts.
    pub fn add_to(self, own: &mut Reply, reply: &mut Accumulator) -> Result<(), ModelError> {
        let AiChunk { choices, usage, error, errors, response, tool_calls, finish_reason } = self;
        let is_openais = choices.0.is_some();
        errors.0.into_iter().try_for_each(|error| reply.check_error(Some(error)))?;
        own.take_chunk(Chunk { choices, usage, error, service_tier: Loose::default() }, reply)?;
        if !is_openais {
            if let Some(text) = response.and_then(text_of) {
                reply.take_text(text);
            }
            for call in tool_calls.0.into_iter().filter_map(AiCall::into_delta) {
                own.take_call(call, reply)?;
            }
            take_finish(finish_reason.as_str(), reply);
        }
        Ok(())
    }
}

impl<'a> AiCall<'a> {
    /// None for a call whose members are all null, which closes the call before it.
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
