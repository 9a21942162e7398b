//! Classifies the errors of providers. Every provider words its errors in its own way. This file returns one of our
//! kinds and a sentence of our own, because the provider's text may quote prompts, keys or internals.

use serde_json::Value;

use wire::model::{ModelError, ModelErrorKind};

use super::codec::{MAX_CALLS, MAX_REPLY_BYTES};

#[cfg(test)]
mod tests;

/// An error of a provider, from the body of a refusal or from the middle of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// An HTTP status; gateways repeat it as `code`.
    status: Option<u16>,
    /// `code`, `type`, `status` and Gemini's reasons, in lower case.
    words: String,
    /// `message`, in lower case.
    message: String,
}

impl Complaint {
    /// Reads the body of a refusal. A body that is not JSON gives an empty complaint.
    pub fn from_body(body: &[u8]) -> Self {
        wire::json::from_slice(body).map(|value| Complaint::from_json(&value)).unwrap_or_default()
    }

    /// Reads an error object in any of the known forms.
    pub fn from_json(value: &Value) -> Self {
        let value = inside(value);
        if let Some(text) = value.as_str() {
            return Complaint { message: text.to_lowercase(), ..Complaint::default() };
        }
        let mut complaint = Complaint::default();
        for member in ["code", "type", "status"] {
            match value.get(member) {
                Some(Value::String(word)) => {
                    complaint.words.push_str(&word.to_lowercase());
                    complaint.words.push(' ');
                    // LiteLLM writes the status as a string.
                    complaint.take_status(word.parse().ok());
                }
                Some(Value::Number(number)) => complaint.take_status(number.as_u64()),
                _ => {}
            }
        }
        for detail in details(value) {
            if let Some(reason) = detail.get("reason").and_then(Value::as_str) {
                complaint.words.push_str(&reason.to_lowercase());
                complaint.words.push(' ');
            }
        }
        if let Some(message) = value.get("message").or_else(|| value.get("detail")).and_then(Value::as_str) {
            complaint.message = message.to_lowercase();
        }
        complaint
    }

    fn take_status(&mut self, code: Option<u64>) {
        let status = code.and_then(|code| u16::try_from(code).ok());
        self.status = status.filter(|code| (400..600).contains(code)).or(self.status);
    }

    /// The error for a response with this status and complaint.
    pub fn refused(&self, status: u16) -> ModelError {
        let kind = self.kind_of(status);
        match self.other_provider().filter(|_| kind == ModelErrorKind::BadRequest) {
            None => error(kind, &format!(" (HTTP {status})")),
            Some(provider) => {
                let todo = format!("the operator should name the model as {provider}:MODEL");
                error(kind, &format!(" (HTTP {status}), because it takes it over another API: {todo}"))
            }
        }
    }

    /// The name under which this service speaks the API that OpenAI asks for in place of the one of the request.
    fn other_provider(&self) -> Option<&'static str> {
        // "Function tools with reasoning_effort are not supported for M in /v1/chat/completions. To use function tools, use
        // /v1/responses …", "… only supported in v1/responses and not in v1/chat/completions."
        const RESPONSES: [&str; 2] = ["use /v1/responses", "only supported in v1/responses"];
        const CHAT: [&str; 3] = [
            "use /v1/chat/completions",
            "only supported in v1/chat/completions",
            "not supported with the responses api",
        ];
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| self.message.contains(phrase));
        match (says(&RESPONSES), says(&CHAT)) {
            (true, _) => Some("openai-responses"),
            (false, true) => Some("openai-chat"),
            (false, false) => None,
        }
    }

    /// The error for this complaint in the middle of a stream.
    pub fn in_stream(&self) -> ModelError {
        error(self.kind_in_stream(), " in the middle of its reply")
    }

    fn kind_in_stream(&self) -> ModelErrorKind {
        match self.status {
            Some(status) => self.kind_of(status),
            None if self.context_too_long() => ModelErrorKind::ContextTooLong,
            None if self.spent() => ModelErrorKind::Quota,
            None if self.says(&["rate_limit", "too_many_requests", "resource_exhausted"]) => {
                ModelErrorKind::RateLimited
            }
            None if self.says(&["auth", "permission", "api_key"]) => ModelErrorKind::Auth,
            None if self.says(&["invalid_request", "bad_request", "invalid_argument", "not_found"]) => {
                ModelErrorKind::BadRequest
            }
            None => ModelErrorKind::Overloaded,
        }
    }

    fn kind_of(&self, status: u16) -> ModelErrorKind {
        match status {
            // The account has no credit (OpenRouter, DeepSeek). Only the operator can fix that, as with a bad key.
            402 => ModelErrorKind::Quota,
            400..=499 if self.spent() => ModelErrorKind::Quota,
            401 | 403 => ModelErrorKind::Auth,
            // Gemini refuses a bad key, and a region, with 400.
            400 if self.says(&["api_key_invalid", "failed_precondition"]) => ModelErrorKind::Auth,
            429 => ModelErrorKind::RateLimited,
            // "Too large" means "too long" here, because pruning helps. Groq sends it for a prompt above its rate.
            413 => ModelErrorKind::ContextTooLong,
            400..=599 if self.context_too_long() => ModelErrorKind::ContextTooLong,
            // Timeouts and conflicts come from the provider's state and not from the request.
            408 | 409 | 425 => ModelErrorKind::Overloaded,
            // This includes 3xx: a base URL that redirects is wrong, and following it would send the prompt to another
            // host.
            300..=499 => ModelErrorKind::BadRequest,
            500..=599 => ModelErrorKind::Overloaded,
            _ => ModelErrorKind::Protocol,
        }
    }

    /// OpenAI sends a code. Anthropic sends a type, but only text when the credit is used up. Gemini calls its rates
    /// quotas, so the word "quota" in a message proves nothing.
    fn spent(&self) -> bool {
        self.says(&["insufficient_quota", "quota_exceeded", "billing", "insufficient_balance"])
            || self.message.contains("credit balance is too low")
    }

    /// Whether the provider refuses the request for its rules about contents.
    pub fn is_about_content(&self) -> bool {
        // OpenAI, Azure, and what gateways make of them; Workers AI sends text alone.
        const WORDS: [&str; 6] = [
            "moderation_blocked",
            "content_policy_violation",
            "content_filter",
            "contentfilter",
            "prohibited_content",
            "unsafe_generation",
        ];
        const PHRASES: [&str; 3] = ["safety system", "content policy", "nsfw content"];
        self.says(&WORDS) || PHRASES.iter().any(|phrase| self.message.contains(phrase))
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }

    fn context_too_long(&self) -> bool {
        // OpenAI and Groq send a code, and llama.cpp a type. vLLM, OpenRouter, Anthropic, Gemini and Workers AI send
        // only text.
        const WORDS: [&str; 3] =
            ["context_length_exceeded", "exceed_context_size", "context_window_exceeded"];
        const PHRASES: [&str; 6] = [
            "context length",
            "context window",
            "context size",
            "prompt is too long",
            "input is too long",
            "maximum number of tokens",
        ];
        self.says(&WORDS) || PHRASES.iter().any(|phrase| self.message.contains(phrase))
    }
}

/// The error itself: `{"error": …}` (OpenAI, Anthropic), `[{"error": …}]` (Gemini), `{"errors": […]}` (Cloudflare),
/// `{"response": {"error": …}}` (an event of Responses), or bare.
fn inside(value: &Value) -> &Value {
    member(value).unwrap_or_else(|| value.get(0).unwrap_or(value))
}

/// The error that is no bare one.
fn member(value: &Value) -> Option<&Value> {
    let value = value.get(0).unwrap_or(value);
    let error = value.get("error").or_else(|| value.get("response")?.get("error"));
    error.filter(|error| says_something(error)).or_else(|| value.get("errors")?.get(0))
}

/// Whether an `error` is one: gateways send empty ones, or false, beside a reply.
pub fn says_something(error: &Value) -> bool {
    match error {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Array(list) => list.first().is_some_and(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What Gemini says beside its message.
fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error.get("details").and_then(Value::as_array).into_iter().flatten()
}

/// The objects of a body: the whole of it, or the data of its events.
fn objects(body: &[u8]) -> impl Iterator<Item = Value> {
    let lines = body.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    std::iter::once(body).chain(lines).filter_map(|json| wire::json::from_slice(json).ok())
}

/// The error that an answer without a reply has, as its whole body or as an event that the decoder does not know.
pub fn error_in_answer(body: &[u8]) -> Option<ModelError> {
    objects(body).find_map(|value| {
        let complaint = Complaint::from_json(&value);
        // No event of a reply has a status or a message of its own.
        let is_bare = value.is_object() && (complaint.status.is_some() || !complaint.message.is_empty());
        let is_error = member(&value).is_some() || is_bare;
        is_error.then(|| error(complaint.kind_in_stream(), " in place of a reply"))
    })
}

/// The seconds after which a provider may be asked again, as a text, from the body of a refusal or from a stream of
/// events. Gemini has a member for that and no header; OpenAI says it in words, because the error of a stream has no
/// headers.
pub fn retry_delay(body: &[u8]) -> Option<String> {
    objects(body).find_map(|value| {
        let error = inside(&value);
        let told = details(error).find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'));
        told.map(str::to_owned).or_else(|| delay_in_words(&Complaint::from_json(&value).message))
    })
}

/// The delay in a message such as "Please try again in 1.5s" (OpenAI) or "Please retry after 26 seconds" (Azure).
fn delay_in_words(message: &str) -> Option<String> {
    let said = |words| message.split_once(words).map(|(_, rest)| rest.trim_ascii_start());
    let rest = said("try again in").or_else(|| said("retry after"))?;
    let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = rest.split_at(end);
    let (number, unit) = (number.parse::<f64>().ok()?, unit.trim_ascii_start());
    let seconds = match unit {
        _ if unit.starts_with("ms") => number / 1_000.0,
        _ if unit.starts_with('s') => number,
        // Seconds may follow the minutes.
        _ if unit.starts_with('m') => (number + 1.0) * 60.0,
        _ => return None,
    };
    Some(seconds.to_string())
}

fn error(kind: ModelErrorKind, place: &str) -> ModelError {
    let what = match kind {
        ModelErrorKind::Auth => "The model provider refused the service's credentials or account",
        ModelErrorKind::Quota => "The account's quota at the model provider is used up",
        ModelErrorKind::RateLimited => "The model provider limits the rate of requests",
        ModelErrorKind::Overloaded => "The model provider is overloaded or failed",
        ModelErrorKind::BadRequest => "The model provider rejected the request",
        ModelErrorKind::ContextTooLong => "The conversation is too long for the model",
        ModelErrorKind::Network => "The model provider could not be reached",
        ModelErrorKind::Protocol => "The model provider sent an invalid response",
        ModelErrorKind::ReplyTooLarge => "The model's reply exceeds the limit of this service",
    };
    ModelError::new(kind, format!("{what}{place}."))
}

/// The error for the JSON of a complaint in the middle of a stream.
pub fn error_in_stream(json: &str) -> ModelError {
    Complaint::from_body(json.as_bytes()).in_stream()
}

/// The provider violated its protocol. `message` describes how, in our words.
pub fn protocol(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, message)
}

/// The reply exceeds the limit.
pub fn too_large() -> ModelError {
    let limit = MAX_REPLY_BYTES / 1024;
    let message = format!("The model's reply is too large: the limit is {limit} KiB.");
    ModelError::new(ModelErrorKind::ReplyTooLarge, message)
}

/// The reply exceeds the limit of calls.
pub fn too_many_calls() -> ModelError {
    let message = format!("The model made more than {MAX_CALLS} tool calls at once.");
    ModelError::new(ModelErrorKind::ReplyTooLarge, message)
}

/// The reply exceeds the limit of parts.
pub fn too_many_parts() -> ModelError {
    protocol("The model's reply has too many parts.")
}

/// The connection failed. `message` describes how, in our words.
pub fn network(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Network, message)
}
