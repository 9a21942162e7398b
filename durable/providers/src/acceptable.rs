//! Rewrites names, arguments and ids of calls into forms that every server accepts. A single bad call in the history
//! would otherwise make a server refuse the whole conversation.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use wire::model::ToolCall;

/// A name that every server accepts: OpenAI refuses names that do not match `^[a-zA-Z0-9_-]{1,64}$`. Only a call of an
/// unknown tool has such a name, and its result refers to it by id.
pub fn name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name.len() {
        0 => Cow::Borrowed("unnamed"),
        1..=64 if name.chars().all(fits) => Cow::Borrowed(name),
        _ => Cow::Owned(name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect()),
    }
}

/// Arguments that every server accepts: vLLM, llama.cpp and the compatible endpoints of Gemini and Anthropic refuse the
/// whole conversation if the arguments of a call are not an object. The model sees its invalid arguments in the same
/// form as clients do.
pub fn arguments(arguments: &str) -> Cow<'_, str> {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        _raw: &'a str,
    }
    let object =
        arguments.trim_start().starts_with('{') && wire::json::from_str::<IgnoredAny>(arguments).is_ok();
    match object {
        true => Cow::Borrowed(arguments),
        false if arguments.trim().is_empty() => Cow::Borrowed("{}"),
        false => {
            Cow::Owned(serde_json::to_string(&Wrapped { _raw: arguments }).unwrap_or_else(|_| "{}".into()))
        }
    }
}

/// The id of a call in a form that every server accepts: OpenAI's Responses allow 64 characters, Anthropic the letters
/// of a name. Ids go from one provider to another when the model changes, and Kimi's are `functions.NAME:INDEX`.
pub fn call_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&id.len()) && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    // A digest keeps different ids different, and gives a call and its result the same id.
    let digest = Sha256::digest(id.as_bytes());
    Cow::Owned(digest.iter().take(12).fold("call_".to_owned(), |id, byte| format!("{id}{byte:02x}")))
}

/// Whether every server accepts the call unchanged.
pub fn is_call(call: &ToolCall) -> bool {
    let as_it_stands = |cow: Cow<'_, str>| matches!(cow, Cow::Borrowed(_));
    as_it_stands(call_id(&call.call_id))
        && *name(&call.name) == call.name
        && *arguments(&call.arguments) == call.arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_server_would_refuse_become_others_and_stay_two() {
        for id in ["call_1", "toolu_01-a", &"x".repeat(64)] {
            assert_eq!(call_id(id), id);
        }
        for id in ["", "functions.f:0", "ü", &"x".repeat(65)] {
            let made = call_id(id);
            assert!(made.starts_with("call_") && made.len() == 29, "{made}");
            assert_eq!(made, call_id(id), "a call and its result get the same");
        }
        assert_ne!(call_id("functions.f:0"), call_id("functions.f:1"));
    }
}
