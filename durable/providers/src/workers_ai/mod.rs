//! Workers AI by its binding: `AI.run(model, inputs)` inside a Worker. The account pays, so there is neither key nor
//! address.
//! Half of its models stream their own format (`{"response": "…"}`), the other half OpenAI's chunks, and some both. The
//! inputs are nearly Chat Completions. The binding has no HTTP, so the codec presents a call as a request whose address
//! is the model's name, and an exception of the binding as a refusal.

mod chunk;
mod response;

#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::json;

use wire::model::{ModelError, ModelRequest, RawValueEq};

use super::codec::{EventStream, unwritable};
use super::failure::Complaint;
use super::openai_chat::request::{WireMessage, WireTool, messages, tool_choice};
use super::{Codec, Decoder};
use wire::http::HttpRequest;

use response::AiReply;

/// The name of this API in raw messages.
const WIRE: &str = "workers_ai";

/// The default limit of a reply's tokens. The binding's own default of 256 tokens cuts nearly every answer:
/// <https://developers.cloudflare.com/workers-ai/models/>. The smallest context of its models has 8 000 tokens.
const MAX_TOKENS: u64 = 4_096;

/// The binding.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkersAi;

impl Codec for WorkersAi {
    /// The address is the model's name, the body its inputs.
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError> {
        let body = serde_json::to_vec(&Inputs::of(request)).map_err(unwritable)?;
        Ok(HttpRequest::post(request.model.model.clone(), Vec::new(), body))
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(EventStream::<AiReply>::for_request(request))
    }

    fn refusal(&self, status: u16, body: &[u8]) -> ModelError {
        Complaint::from_body(body).refused(status)
    }
}

/// Turns an exception of the binding into status and body of a refusal. Its messages begin with a code, sometimes after
/// the error's name: `AiError: 3040: Capacity temporarily exceeded, please try again.`
///
/// <https://developers.cloudflare.com/workers-ai/platform/errors/>
pub fn thrown(message: &str) -> (u16, Vec<u8>) {
    let code = message.split(':').map(str::trim).find_map(|word| word.parse::<u16>().ok());
    let status = match code {
        Some(3003 | 3039 | 5004 | 5007) => 400,
        Some(3023 | 3041 | 5016 | 5018) => 403,
        Some(3042) => 404,
        Some(5005 | 5019) => 405,
        Some(3007 | 3008) => 408,
        Some(3006) => 413,
        Some(3036 | 3040) => 429,
        _ => 500,
    };
    (status, json!({"error": {"message": message}}).to_string().into_bytes())
}

/// Turns the reply of a model that does not stream into a stream.
pub fn as_stream(answer: &str) -> Vec<u8> {
    // JSON treats line ends as space, but an event stream does not.
    format!("data: {}\n\ndata: [DONE]\n\n", answer.replace(['\r', '\n'], " ")).into_bytes()
}

#[derive(Serialize)]
struct Inputs<'a> {
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    max_tokens: u64,
    stream: bool,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    /// The schema itself, without OpenAI's envelope.
    json_schema: &'a RawValueEq,
}

impl<'a> Inputs<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let choice = &*request.model;
        let schema = request.response_schema.as_deref().filter(|_| choice.capabilities.structured_output);
        Inputs {
            messages: messages(request, WIRE).into_iter().map(WireMessage::with_text).collect(),
            tools: request.tools.iter().map(WireTool::of).collect(),
            tool_choice: tool_choice(request),
            response_format: schema.map(|json_schema| ResponseFormat { kind: "json_schema", json_schema }),
            temperature: choice.options.temperature,
            reasoning_effort: choice.options.reasoning_effort.as_deref(),
            max_tokens: request.output_limit().unwrap_or(MAX_TOKENS),
            stream: true,
        }
    }
}
