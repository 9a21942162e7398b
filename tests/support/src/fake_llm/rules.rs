//! What the models of today refuse, beside what their APIs refuse of any model. By name: a model of the tests' own, such as
//! `fake-1`, has no rules.
//!
//! Sources: <https://developers.openai.com/api/docs/guides/reasoning>,
//! <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>,
//! <https://ai.google.dev/gemini-api/docs/thinking>; the words are those of reports, such as
//! <https://github.com/GoogleChromeLabs/webmcp-tools/issues/417>.

use serde_json::Value;

use super::wire::Wrong;

/// A version as a number that compares: 5.6 is 506.
type Version = u32;

/// The version in a name: of `gpt-5.6-luna`, `claude-opus-5-5`, `gemini-3.8-flash`. A date is none.
fn version(name: &str) -> Option<Version> {
    let rest = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut numbers = rest.split(['.', '-']).map_while(|part| part.parse::<Version>().ok());
    let minor = |minor: Version| if minor < 100 { minor } else { 0 };
    numbers.next().map(|major| major * 100 + numbers.next().map_or(0, minor))
}

/// The version of this maker's models; none for another name.
fn of(body: &Value, maker: &str) -> Option<Version> {
    version(body["model"].as_str()?.strip_prefix(maker)?)
}

fn is_set(value: &Value) -> bool {
    !value.is_null()
}

/// Chat Completions of OpenAI's models that reason: GPT-5 and later.
pub fn chat(body: &Value) -> Result<(), Wrong> {
    let Some(version) = of(body, "gpt-").filter(|version| *version >= 500) else { return Ok(()) };
    let effort = effort(body, version, &body["reasoning_effort"], "reasoning_effort")?;
    // GPT-5.4 and 5.5 refuse an effort that was asked for, the later ones their default as well.
    let is_effort_refused = version >= 506 || version >= 504 && is_set(&body["reasoning_effort"]);
    if is_effort_refused && is_set(&body["tools"]) && effort != "none" {
        let message = format!(
            "Function tools with reasoning_effort are not supported for {} in /v1/chat/completions. To use function \
             tools, use /v1/responses or set reasoning_effort to 'none'.",
            body["model"].as_str().unwrap_or_default()
        );
        return Err(Wrong { param: Some("reasoning_effort"), ..Wrong::new(400, message) });
    }
    if is_set(&body["max_tokens"]) {
        let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                       'max_completion_tokens' instead.";
        let (param, code) = (Some("max_tokens"), Some("unsupported_parameter"));
        return Err(Wrong { param, code, ..Wrong::new(400, message) });
    }
    sampling(body, effort)
}

/// Responses of the same models.
pub fn responses(body: &Value) -> Result<(), Wrong> {
    let Some(version) = of(body, "gpt-").filter(|version| *version >= 500) else { return Ok(()) };
    let effort = effort(body, version, &body["reasoning"]["effort"], "reasoning.effort")?;
    sampling(body, effort)
}

/// The effort of a request, or the model's default.
fn effort<'a>(
    body: &Value,
    version: Version,
    asked: &'a Value,
    param: &'static str,
) -> Result<&'a str, Wrong> {
    let model = body["model"].as_str().unwrap_or_default();
    let has_none =
        version > 500 && !["gpt-6-astra", "gpt-6.1-sol"].iter().any(|name| model.starts_with(name));
    match asked.as_str() {
        Some("none") if !has_none => {
            let message = format!(
                "Unsupported value: '{param}' does not support 'none' with this model. Supported values are: 'low', \
                 'medium', 'high', 'xhigh', and 'max'."
            );
            Err(Wrong { param: Some(param), code: Some("unsupported_value"), ..Wrong::new(400, message) })
        }
        Some(asked) => Ok(asked),
        None if (501..505).contains(&version) => Ok("none"),
        None => Ok("medium"),
    }
}

fn sampling(body: &Value, effort: &str) -> Result<(), Wrong> {
    let refused = ["temperature", "top_p"].into_iter().find(|name| is_set(&body[*name]));
    let Some(name) = refused.filter(|_| effort != "none") else { return Ok(()) };
    let message = format!("Unsupported parameter: '{name}' is not supported with this model.");
    Err(Wrong { param: Some(name), ..Wrong::new(400, message) })
}

/// Messages of Claude.
pub fn messages(body: &Value) -> Result<(), Wrong> {
    let Some(version) = claude(body) else { return Ok(()) };
    let wrong = |message: String| Err(Wrong::from(message));
    let thinking = body["thinking"]["type"].as_str();
    if version < 406 && thinking == Some("adaptive") {
        return wrong("adaptive thinking is not supported on this model".into());
    }
    if version < 407 {
        return Ok(());
    }
    if let Some(name) = ["temperature", "top_p", "top_k"].into_iter().find(|name| is_set(&body[*name])) {
        return wrong(format!("`{name}` is deprecated for this model."));
    }
    if thinking == Some("enabled") {
        return wrong(
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
             \"output_config.effort\" to control thinking behavior."
                .into(),
        );
    }
    if !always_thinks(body, version) {
        return Ok(());
    }
    if thinking == Some("disabled") {
        return wrong("\"thinking.type.disabled\" is not supported for this model.".into());
    }
    match body["tool_choice"]["type"].as_str() {
        Some("any" | "tool") => wrong("Thinking may not be enabled when tool_choice forces tool use.".into()),
        _ => Ok(()),
    }
}

fn claude(body: &Value) -> Option<Version> {
    of(body, "claude-")
}

fn always_thinks(body: &Value, version: Version) -> bool {
    let is_small = body["model"].as_str().is_some_and(|model| model.starts_with("claude-haiku"));
    version >= 501 && !is_small
}

/// Whether a reply has the text of its thinking. Since Claude 4.7 it is left out where the request does not ask for it.
pub fn shows_thinking(body: &Value) -> bool {
    claude(body).is_none_or(|version| version < 407) || body["thinking"]["display"] == "summarized"
}

/// Whether a thinking block is valid only behind all that it was made for: Claude since 5.1, and the one fake model that
/// the end-to-end tests offer over this API.
pub fn binds_thinking(body: &Value) -> bool {
    claude(body).is_some_and(|version| version >= 501) || body["model"] == "fake-6"
}

/// Google's models.
pub fn gemini(model: &str, body: &Value) -> Result<(), Wrong> {
    let Some(version) = model.strip_prefix("gemini-").and_then(version) else { return Ok(()) };
    let config = &body["generationConfig"];
    let thinking = &config["thinkingConfig"];
    let wrong = |message: &str| Err(Wrong::new(400, message));
    if version < 300 && is_set(&thinking["thinkingLevel"]) {
        return wrong("Thinking level is not supported for this model.");
    }
    if is_set(&thinking["thinkingLevel"]) && is_set(&thinking["thinkingBudget"]) {
        return wrong("You can only set only one of thinking budget and thinking level.");
    }
    if version >= 306 && is_set(&config["temperature"]) {
        return wrong("Sampling parameters are not supported for this model.");
    }
    Ok(())
}
