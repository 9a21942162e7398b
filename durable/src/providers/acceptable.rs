//! What a model got wrong, or another provider allowed, in a form that every server takes: one bad call in the history
//! must not cost the whole conversation.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::IgnoredAny;

/// The name as every server takes it: OpenAI refuses what does not match `^[a-zA-Z0-9_-]{1,64}$`. Only a call that
/// the model got wrong has such a name, and its result, which says so, is found by its id.
pub fn name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name.len() {
        0 => Cow::Borrowed("unnamed"),
        1..=64 if name.chars().all(fits) => Cow::Borrowed(name),
        _ => Cow::Owned(name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect()),
    }
}

/// The arguments as every server takes them: vLLM, llama.cpp and the compatible endpoints of Gemini and Anthropic
/// parse them and refuse the whole conversation over what is not an object. What the model got wrong it gets back in
/// the form in which clients see it, too.
pub fn arguments(arguments: &str) -> Cow<'_, str> {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        _raw: &'a str,
    }
    let object =
        arguments.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(arguments).is_ok();
    match object {
        true => Cow::Borrowed(arguments),
        false if arguments.trim().is_empty() => Cow::Borrowed("{}"),
        false => {
            Cow::Owned(serde_json::to_string(&Wrapped { _raw: arguments }).unwrap_or_else(|_| "{}".into()))
        }
    }
}
