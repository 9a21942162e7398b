//! Summaries of earlier turns: the service's question, and the message that has one.

use espalier_test_support::Value;
use espalier_test_support::fake_llm::text_of;

use crate::rng::Rng;

/// The beginning of the service's request for a summary, and of the message that has one.
const SUMMARY_PROMPT: &str = "You summarise the earlier part of a conversation";
const SUMMARY_MARK: &str = "<conversation_summary>\n";

/// The model's text where the service asks for a summary: the same one for the same question.
pub fn summary(body: &Value) -> Option<Vec<String>> {
    let text = |message: &Value| text_of(&message["content"]);
    let messages = body["messages"].as_array()?;
    let system = messages.first().map(text).filter(|system| system.starts_with(SUMMARY_PROMPT))?;
    let mut rng = Rng::of(1, &(system + &messages.last().map(text)?));
    let words = (0..4).map(|_| format!("{:016x} ", rng.draw()));
    Some(["The gist is ".to_owned()].into_iter().chain(words).chain([".".to_owned()]).collect())
}

/// The summary in the place of earlier turns in a request.
pub fn used_summary(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let text = messages
        .iter()
        .map(|message| text_of(&message["content"]))
        .find(|text| text.contains(SUMMARY_MARK))?;
    let (_, told) = text.split_once(SUMMARY_MARK)?;
    Some(told.split("\n</").next().unwrap_or_default().to_owned())
}
