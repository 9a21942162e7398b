//! Scripts: the replies of the fake model, step by step. The same types are the JSON of `POST /_fake/scripts`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All steps of one level, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The replies. The number of replies after the last user message chooses one. So a repeated request, after a crash
    /// or a retry, gets the same step.
    pub steps: Vec<Step>,
    /// Whether the last step repeats, with new call ids: a model that never ends.
    pub repeat: bool,
}

/// One reply of the model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Refuse with an HTTP error instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Refusal>,
    /// Deltas of reasoning, before everything else.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub reasoning: Vec<String>,
    /// Deltas of text.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub text: Vec<String>,
    /// Tool calls, after the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The tokens to report; `Usage::default()` when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Reports no tokens.
    #[serde(skip_serializing_if = "is_false")]
    pub uncounted: bool,
    /// `tool_calls` or `stop` if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Places where the reply waits.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub barrier: Vec<Barrier>,
    /// After reasoning, text and calls: nothing more, until the client goes away.
    #[serde(skip_serializing_if = "is_false")]
    pub hang: bool,
    /// After reasoning, text and calls: these bytes again and again, until the client goes away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drip: Option<Drip>,
    /// After reasoning, text and calls: the connection ends without `finish_reason` and `[DONE]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// After reasoning, text and calls: the provider says in the stream that it failed.
    #[serde(skip_serializing_if = "is_false")]
    pub overloaded: bool,
}

/// A tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Made from marker, step and index if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// A string goes out unchanged (so that it can be broken JSON), any other value as compact JSON.
    pub arguments: Value,
}

/// The tokens of one reply, as the real API counts them: `prompt_tokens` includes the cached ones.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input, cached or not.
    pub prompt_tokens: u64,
    /// The part of the input that came from a cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Output.
    pub completion_tokens: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 5 }
    }
}

/// An HTTP error in place of a stream, or with the code 200 an answer that is no reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The status code.
    pub code: u16,
    /// An OpenAI error object if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The bytes of a body that is no JSON, such as a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Such as `retry-after`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How often it fails before the rest of the step plays; always if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

/// A place where a reply waits for other requests or for the test.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Barrier {
    /// Replies that name the same barrier wait for each other. It stays open once it has opened.
    pub name: String,
    /// Opens when so many replies have reached it; without a number only `POST /_fake/release` opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// The reply waits after so many deltas of reasoning and text (0: before its first byte of body).
    ///
    /// The header of the answer is sent before the wait: a client may allow itself only a few requests that await
    /// headers (Cloudflare allows six), and a barrier for eight must not deadlock on that.
    #[serde(default)]
    pub after: usize,
}

/// The piece that an endless reply repeats.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drip {
    /// The bytes as they go over the wire.
    pub bytes: String,
    /// The time between two of them, in milliseconds; 0: as fast as the client reads.
    pub every_ms: u64,
}

/// How a cut connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The socket closes in the middle of the chunked body.
    Reset,
    /// The body ends properly, but too early: a proxy makes this of a reset.
    Clean,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Accepts `x` for `[x]`.
fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let items = match Value::deserialize(deserializer)? {
        Value::Array(items) => items,
        one => vec![one],
    };
    items.into_iter().map(|item| serde_json::from_value(item).map_err(serde::de::Error::custom)).collect()
}

/// A reply of one delta.
pub fn text(text: &str) -> Step {
    deltas([text])
}

/// A reply of several deltas.
pub fn deltas<const N: usize>(deltas: [&str; N]) -> Step {
    Step { text: deltas.map(str::to_owned).to_vec(), ..Step::default() }
}

/// A reply that calls one tool.
pub fn call(name: &str, arguments: Value) -> Step {
    calls([(name, arguments)])
}

/// A reply that calls several tools at once.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Step {
    let calls = calls
        .into_iter()
        .map(|(name, arguments)| Call { id: None, name: name.to_owned(), arguments })
        .collect();
    Step { calls, ..Step::default() }
}

/// A reply that is an HTTP error each time.
pub fn status(code: u16) -> Step {
    Step {
        status: Some(Refusal { code, body: None, bytes: None, headers: BTreeMap::new(), times: None }),
        ..Step::default()
    }
}

impl Step {
    /// First refuses so often with this status, then plays the rest of the step.
    pub fn refusing(mut self, code: u16, times: u32) -> Self {
        let headers = BTreeMap::new();
        self.status = Some(Refusal { code, body: None, bytes: None, headers, times: Some(times) });
        self
    }

    /// First answers so often with status 200 and these bytes, then plays the rest of the step.
    pub fn answering(self, bytes: &str, times: u32) -> Self {
        let mut step = self.refusing(200, times);
        step.status.as_mut().into_iter().for_each(|answer| answer.bytes = Some(bytes.to_owned()));
        step
    }

    /// Refuses with this header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        let headers = self.status.as_mut().map(|refusal| &mut refusal.headers);
        headers.into_iter().for_each(|headers| drop(headers.insert(name.to_owned(), value.to_owned())));
        self
    }

    /// Refuses with this body.
    pub fn with_body(mut self, body: Value) -> Self {
        self.status.as_mut().into_iter().for_each(|refusal| refusal.body = Some(body.clone()));
        self
    }

    /// Says something before the tool calls.
    pub fn saying(mut self, text: &str) -> Self {
        self.text.insert(0, text.to_owned());
        self
    }

    /// Thinks aloud first.
    pub fn thinking(mut self, reasoning: &str) -> Self {
        self.reasoning.push(reasoning.to_owned());
        self
    }

    /// Reports these tokens.
    pub fn using(mut self, prompt_tokens: u64, cached_tokens: u64, completion_tokens: u64) -> Self {
        self.usage = Some(Usage { prompt_tokens, cached_tokens, completion_tokens });
        self
    }

    /// Reports no tokens (Chat Completions alone).
    pub fn uncounted(mut self) -> Self {
        self.uncounted = true;
        self
    }

    /// Ends for this reason.
    pub fn finishing(mut self, reason: &str) -> Self {
        self.finish_reason = Some(reason.to_owned());
        self
    }

    /// Waits before its first byte until `count` replies have reached the barrier `name`.
    pub fn meeting(mut self, name: &str, count: usize) -> Self {
        self.barrier.push(Barrier { name: name.to_owned(), count: Some(count), after: 0 });
        self
    }

    /// Waits after `after` deltas until the test releases the barrier `name`.
    pub fn waiting(mut self, name: &str, after: usize) -> Self {
        self.barrier.push(Barrier { name: name.to_owned(), count: None, after });
        self
    }

    /// Never ends.
    pub fn hanging(mut self) -> Self {
        self.hang = true;
        self
    }

    /// Never ends, and never falls silent.
    pub fn dripping(mut self, bytes: &str, every_ms: u64) -> Self {
        self.drip = Some(Drip { bytes: bytes.to_owned(), every_ms });
        self
    }

    /// Fails in the middle.
    pub fn overloaded(mut self) -> Self {
        self.overloaded = true;
        self
    }

    /// Loses its connection.
    pub fn cut(mut self, cut: Cut) -> Self {
        self.cut = Some(cut);
        self
    }
}
