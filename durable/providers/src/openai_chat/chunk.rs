//! A chunk of the stream. It borrows from the bytes of its read. It keeps unknown members of the message as raw JSON
//! and skips all other unknown members.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{Count, Few, Loose, Text, Unknown, is_lenient, lenient, object, text_of};

#[derive(Debug, Deserialize)]
pub struct Chunk<'a> {
    /// Absent or empty in chunks that bring usage, filter results or an error only.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub choices: FirstChoice<'a>,
    /// Raw, so that an invalid usage does not fail the reply.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub service_tier: Loose<'a>,
    /// An error in the middle of the stream (llama.cpp, OpenRouter, vLLM …).
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The choice of index 0. Requests ask for one choice, but some servers send more.
#[derive(Debug, Default)]
pub struct FirstChoice<'a>(pub Option<Box<Choice<'a>>>);

impl<'de: 'a, 'a> Deserialize<'de> for FirstChoice<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = FirstChoice<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(FirstChoice(None))
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
                let mut first = None;
                while let Some(choice) = next_choice(&mut list)? {
                    let choice = choice.filter(|choice| choice.index.0.unwrap_or(0) == 0);
                    first = first.or(choice);
                }
                Ok(FirstChoice(first))
            }
        }
        // `any`, because the value may be null.
        deserializer.deserialize_any(ListVisitor)
    }
}

/// The next element of a list; none within where it is no choice.
fn next_choice<'de, S: SeqAccess<'de>>(list: &mut S) -> Result<Option<Option<Box<Choice<'de>>>>, S::Error> {
    if !is_lenient() {
        return Ok(list.next_element()?.map(Some));
    }
    let raw = list.next_element::<&'de RawValue>()?;
    Ok(raw.map(|raw| wire::json::from_str(raw.get()).ok()))
}

#[derive(Debug, Deserialize)]
pub struct Choice<'a> {
    #[serde(default)]
    pub index: Count,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub delta: Option<Delta<'a>>,
    /// The whole message, of a server that does not stream. Some careless servers stream their pieces under this name.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub message: Option<Delta<'a>>,
    /// A piece of the text, by the older Completions.
    #[serde(borrow, default)]
    pub text: Loose<'a>,
    #[serde(borrow, default)]
    pub finish_reason: Loose<'a>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The text of a message: a string by the specification. Mistral's reasoning models send an array of parts.
#[derive(Debug)]
pub enum Content<'a> {
    Text(Text<'a>),
    Parts(Vec<&'a RawValue>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of parts")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(Cow::Owned(text.into()))))
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }
        if !is_lenient() {
            return deserializer.deserialize_any(ContentVisitor);
        }
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        match raw.get().bytes().next() {
            Some(b'[') => wire::json::from_str(raw.get()).map(Content::Parts).map_err(Error::custom),
            Some(b'{') => Ok(Content::Parts(vec![raw])),
            Some(b'n' | b't' | b'f') => Err(Error::custom("no text")),
            // A number is a token that looks like one.
            _ => text_of(raw).map(|text| Content::Text(Text(text))).ok_or_else(|| Error::custom("no text")),
        }
    }
}

/// One part of a content.
#[derive(Debug, Deserialize)]
pub struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow, default)]
    pub text: Loose<'a>,
    /// The nested content of a part.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub thinking: Option<Content<'a>>,
}

/// A piece of the assistant's message.
#[derive(Debug, Default)]
pub struct Delta<'a> {
    pub content: Option<Content<'a>>,
    pub refusal: Option<Text<'a>>,
    /// DeepSeek's name for reasoning; also of GLM, Kimi, llama.cpp.
    pub reasoning_content: Option<Text<'a>>,
    /// OpenRouter's name for reasoning; also of Groq, Ollama, vLLM.
    pub reasoning: Option<Text<'a>>,
    pub tool_calls: Few<CallDelta<'a>>,
    /// The obsolete form of `tool_calls`: one call.
    pub function_call: Option<FunctionDelta<'a>>,
    pub unknown: Unknown<'a>,
}

/// A piece of a tool call.
#[derive(Debug, Default)]
pub struct CallDelta<'a> {
    pub index: Count,
    pub id: Option<Text<'a>>,
    pub function: Option<FunctionDelta<'a>>,
    pub unknown: Unknown<'a>,
}

#[derive(Debug, Default)]
pub struct FunctionDelta<'a> {
    pub name: Option<Text<'a>>,
    /// A string by the specification; some servers send the object itself.
    pub arguments: Option<&'a RawValue>,
    pub unknown: Unknown<'a>,
}

// The dropped members belong to the stream and not to the message: Mistral numbers the delta.
object!(Delta, known: {
    "content" => content,
    "refusal" => refusal,
    "reasoning_content" => reasoning_content,
    "reasoning" => reasoning,
    "tool_calls" => tool_calls,
    "function_call" => function_call
}, dropped: ["role", "index"]);

object!(CallDelta, known: { "index" => index, "id" => id, "function" => function }, dropped: ["type"]);

object!(FunctionDelta, known: { "name" => name, "arguments" => arguments }, dropped: []);

/// The token counts of a chunk. An absent or invalid count is unknown, and never an error.
#[derive(Debug, Deserialize)]
pub struct UsageCounts {
    #[serde(default)]
    pub prompt_tokens: Count,
    #[serde(default)]
    pub completion_tokens: Count,
    #[serde(default, deserialize_with = "lenient")]
    pub prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's own name for cached tokens.
    #[serde(default)]
    pub prompt_cache_hit_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
pub struct PromptDetails {
    #[serde(default)]
    pub cached_tokens: Count,
    #[serde(default)]
    pub cache_write_tokens: Count,
}
