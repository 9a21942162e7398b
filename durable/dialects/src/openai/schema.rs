//! The bodies for the API's description. Nothing reads them as a whole.

use serde_json::{Map, Value};

/// The body of `POST /v1/chat/completions`, for the API's description. Members that it lacks are ignored, and the answer
/// names them in `Warning`.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "the schema alone is used")]
pub struct CompletionBody {
    /// The conversation: the newest message of the user, or the answers behind it, count. A new thread imports the rest.
    #[cfg_attr(feature = "openapi", schemars(length(min = 1)))]
    messages: Vec<Map<String, Value>>,
    /// A role or the id of a model; `espalier` is the default.
    model: Option<String>,
    stream: Option<bool>,
    stream_options: Option<Map<String, Value>>,
    /// Functions that the client carries out.
    #[cfg_attr(feature = "openapi", schemars(length(max = 128)))]
    tools: Option<Vec<Map<String, Value>>>,
    /// `auto`, `none`, `required`, or one of the functions, which the model must call before it answers.
    tool_choice: Option<Value>,
    /// Whether functions of one reply are asked at once; true by default.
    parallel_tool_calls: Option<bool>,
    /// The form of the answer: `text`, `json_object`, or `json_schema` with a schema that it satisfies.
    response_format: Option<Map<String, Value>>,
    /// The user's time zone, a name of the IANA time zone database. `metadata` may have it instead.
    #[cfg_attr(feature = "openapi", schemars(length(max = 64)))]
    time_zone: Option<String>,
    /// `thread_id` names the thread.
    metadata: Option<Map<String, Value>>,
}

/// The body of `POST /v1/responses`, for the API's description. Members that it lacks are ignored, and the answer names them
/// in `Warning`.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "the schema alone is used")]
pub struct ResponseBody {
    /// A message, or items of which the end counts: the newest message of the user, or the answers behind it.
    input: Value,
    /// A role or the id of a model; `espalier` is the default.
    model: Option<String>,
    stream: Option<bool>,
    /// To get the answer later, by its id.
    background: Option<bool>,
    /// The answer that the message follows.
    previous_response_id: Option<String>,
    /// Functions that the client carries out.
    #[cfg_attr(feature = "openapi", schemars(length(max = 128)))]
    tools: Option<Vec<Map<String, Value>>>,
    /// `auto`, `none`, `required`, or one of the functions, which the model must call before it answers.
    tool_choice: Option<Value>,
    /// Whether functions of one reply are asked at once; true by default.
    parallel_tool_calls: Option<bool>,
    /// `format` is the form of the answer: `text`, `json_object`, or `json_schema` with a schema that it satisfies.
    text: Option<Map<String, Value>>,
    /// The user's time zone, a name of the IANA time zone database. `metadata` may have it instead.
    #[cfg_attr(feature = "openapi", schemars(length(max = 64)))]
    time_zone: Option<String>,
    /// `thread_id` names the thread.
    metadata: Option<Map<String, Value>>,
}
