//! `media_generation`: a message that asks for media.

use super::request::ChatRequest;

/// Why another mode is refused.
pub(super) const ONE_MODE: &str = "media cannot be generated here: the one mode is `chat`";

impl ChatRequest {
    /// Whether the message asks for media, and not for a chat. A newer version may have taken such a message, in a rollout or
    /// before a rollback.
    pub fn asks_for_media(&self) -> bool {
        let mode = self.media_generation.as_ref().and_then(|media| media.get("mode"));
        mode.is_some_and(|mode| !mode.is_null() && mode != "chat")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    // N-020. The object asks this of a message that a newer Worker let through.
    #[test]
    fn a_message_of_a_newer_version_may_ask_for_media() {
        let asks = |media: Value| {
            let request = json!({ "content": "a fox", "media_generation": media });
            serde_json::from_value::<ChatRequest>(request).unwrap().asks_for_media()
        };
        for chat in [json!(null), json!({}), json!({ "mode": null }), json!({ "mode": "chat" })] {
            assert!(!asks(chat));
        }
        for media in [json!({ "mode": "image" }), json!({ "mode": "dance" }), json!({ "mode": 1 })] {
            assert!(asks(media));
        }
    }
}
