//! An event of the stream: a piece of the reply.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Count, Few, Loose, Text, Unknown, count, lenient, object};

/// An event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event<'a> {
    #[serde(borrow, default)]
    pub candidates: Few<Candidate<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub prompt_feedback: Option<Feedback<'a>>,
    /// Raw, so that an invalid usage does not fail the reply.
    #[serde(borrow, default)]
    pub usage_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// A piece of one of the replies. The codec asks for one reply.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate<'a> {
    #[serde(default)]
    pub index: Count,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Loose<'a>,
}

#[derive(Debug, Deserialize)]
pub struct Content<'a> {
    #[serde(borrow, default)]
    pub parts: Few<Part<'a>>,
}

/// Whether the provider refused the request for its content.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback<'a> {
    #[serde(borrow, default)]
    pub block_reason: Loose<'a>,
}

/// A part of a reply, or a piece of one. Its signature is one of the unknown members.
#[derive(Debug, Default)]
pub struct Part<'a> {
    pub text: Option<Text<'a>>,
    pub thought: Option<bool>,
    pub call: Option<FunctionCall<'a>>,
    pub unknown: Unknown<'a>,
}

object!(Part, known: { "text" => text, "thought" => thought, "functionCall" => call }, dropped: []);

/// A call, or a piece of one.
#[derive(Debug, Default)]
pub struct FunctionCall<'a> {
    pub id: Option<Text<'a>>,
    pub name: Option<Text<'a>>,
    /// All arguments at once.
    pub args: Option<&'a RawValue>,
    /// Arguments in pieces.
    pub partial_args: Few<PartialArg<'a>>,
    /// Whether another piece follows.
    pub will_continue: Option<bool>,
    pub unknown: Unknown<'a>,
}

impl FunctionCall<'_> {
    /// Whether this is no call of its own: arguments in pieces, or nothing, which closes the call before it.
    pub fn is_continuation(&self) -> bool {
        self.id.is_none()
            && self.args.is_none()
            && (!self.partial_args.0.is_empty() || self.will_continue != Some(true))
    }
}

object!(FunctionCall, known: {
    "id" => id,
    "name" => name,
    "args" => args,
    "partialArgs" => partial_args,
    "willContinue" => will_continue
}, dropped: []);

/// A piece of one argument: its place and a value. Without a value it is null.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialArg<'a> {
    #[serde(borrow, default)]
    pub json_path: Loose<'a>,
    /// A piece of a string.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub string_value: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    pub number_value: Option<serde_json::Number>,
    #[serde(default, deserialize_with = "lenient")]
    pub bool_value: Option<bool>,
}

/// The token counts of the whole reply so far. An absent count has not changed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageCounts {
    /// The cached tokens included.
    #[serde(deserialize_with = "count")]
    pub prompt_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub cached_content_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub tool_use_prompt_token_count: Option<u64>,
    /// The thoughts excluded.
    #[serde(deserialize_with = "count")]
    pub candidates_token_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub thoughts_token_count: Option<u64>,
}
