//! Messages that wait for the turn of their thread to end.

use serde::{Deserialize, Serialize};

use super::request::read;
use super::{ApiError, Content, ContentPart, StopNote, preview};

/// The most messages that wait in a thread: as many as a person can look over.
pub const MAX_QUEUED: usize = 10;

/// The most removed messages that a thread remembers, the latest ones: a client repeats its last requests only.
pub const MAX_REMOVED: usize = 50;

/// How a chat request meets a turn that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IfRunning {
    /// The message waits in the thread's queue, and its turn starts when the turns before it have ended.
    Queue,
    /// The request stops that turn.
    Supersede,
}

/// A message that waits for its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct QueuedMessage {
    /// The `turn_id` of its request. Its turn will have this id.
    pub id: String,
    /// The words of the message.
    pub content: String,
    /// Its images and files, each as a label such as `[image/png, 34 kB]`.
    pub attachments: Vec<String>,
    pub created_at: u64,
    /// Why its turn was refused. The queue holds since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub failure: Option<StopNote>,
}

/// The messages that wait in a thread, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MessageQueue {
    /// The messages wait until a person lets the queue go on.
    pub held: bool,
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_QUEUED)))]
    pub messages: Vec<QueuedMessage>,
}

/// A queued message as an event tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct QueuedPreview {
    pub id: String,
    /// The beginning of its words, at most 500 characters.
    pub preview: String,
}

impl From<&QueuedMessage> for QueuedPreview {
    fn from(message: &QueuedMessage) -> Self {
        QueuedPreview { id: message.id.clone(), preview: preview(&message.content) }
    }
}

/// The body of `PATCH /api/threads/{id}/queue`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct QueueChange {
    /// False lets the queue go on.
    pub held: bool,
}

impl QueueChange {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<QueueChange, ApiError> {
        read(body)
    }
}

/// The body of `PATCH /api/threads/{id}/queue/{message}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct QueuedChange {
    /// The new words. The images and files of the message stay.
    #[cfg_attr(feature = "openapi", schemars(length(max = super::MAX_CONTENT_CHARS)))]
    pub content: String,
}

impl QueuedChange {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<QueuedChange, ApiError> {
        let change: QueuedChange = read(body)?;
        Content::Text(change.content.clone()).check()?;
        Ok(change)
    }
}

impl Content {
    /// The words of the message, without its images and files, and these as labels.
    pub fn words_and_labels(&self) -> (String, Vec<String>) {
        let Content::Parts(parts) = self else { return (self.text().into_owned(), Vec::new()) };
        let (texts, others): (Vec<&ContentPart>, Vec<&ContentPart>) =
            parts.iter().partition(|part| matches!(part, ContentPart::Text { .. }));
        let words = |parts: Vec<&ContentPart>| -> Vec<String> {
            parts.into_iter().map(|part| part.words().into_owned()).collect()
        };
        (words(texts).join("\n\n"), words(others))
    }

    /// The message with other words, and the same images and files behind them.
    pub fn with_words(self, words: String) -> Content {
        let Content::Parts(parts) = self else { return Content::Text(words) };
        let others = parts.into_iter().filter(|part| !matches!(part, ContentPart::Text { .. }));
        let mut parts: Vec<ContentPart> = others.collect();
        if parts.is_empty() {
            return Content::Text(words);
        }
        if !words.is_empty() {
            parts.insert(0, ContentPart::Text { text: words });
        }
        Content::Parts(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ErrorCode;
    use super::*;

    fn content(json: &str) -> Content {
        serde_json::from_str(json).unwrap()
    }

    // Issue 19, item 5.
    #[test]
    fn other_words_keep_the_images_and_files() {
        let table = [
            (r#""Hello""#, ("Hello", 0), r#""Bye""#),
            (r#"[{"type":"text","text":"Hello"}]"#, ("Hello", 0), r#""Bye""#),
            (
                r#"[{"type":"text","text":"a"},{"type":"image","data":"data:image/png;base64,iVBO"},{"type":"text","text":"b"}]"#,
                ("a\n\nb", 1),
                r#"[{"type":"text","text":"Bye"},{"type":"image","data":"data:image/png;base64,iVBO"}]"#,
            ),
            (
                r#"[{"type":"file","name":"a.txt","data":"data:text/plain;base64,YQ=="}]"#,
                ("", 1),
                r#"[{"type":"text","text":"Bye"},{"type":"file","name":"a.txt","data":"data:text/plain;base64,YQ=="}]"#,
            ),
        ];
        for (before, (words, labels), after) in table {
            let (had, labelled) = content(before).words_and_labels();
            assert_eq!((had.as_str(), labelled.len()), (words, labels), "{before}");
            assert_eq!(content(before).with_words("Bye".to_owned()), content(after), "{before}");
        }
        let picture = content(r#"[{"type":"image","data":"data:image/png;base64,iVBO"}]"#);
        assert_eq!(picture.clone().with_words(String::new()), picture, "no empty part");
    }

    #[test]
    fn a_change_is_checked_as_a_message_is() {
        let of = |chars: usize| format!(r#"{{"content":"{}"}}"#, "é".repeat(chars));
        assert!(QueuedChange::parse(of(super::super::MAX_CONTENT_CHARS).as_bytes()).is_ok());
        let too_long = QueuedChange::parse(of(super::super::MAX_CONTENT_CHARS + 1).as_bytes()).unwrap_err();
        assert_eq!(too_long.field.as_deref(), Some("content"));
        assert_eq!(QueuedChange::parse(b"{}").unwrap_err().field.as_deref(), Some("content"));
        assert_eq!(QueueChange::parse(b"{}").unwrap_err().field.as_deref(), Some("held"));
        assert_eq!(QueueChange::parse(b"").unwrap_err().code, ErrorCode::InvalidJson);
        assert_eq!(QueueChange::parse(br#"{"held":true}"#), Ok(QueueChange { held: true }));
    }

    #[test]
    fn an_event_has_the_beginning_of_a_message() {
        let message = QueuedMessage {
            id: "1".to_owned(),
            content: "é".repeat(600),
            attachments: Vec::new(),
            created_at: 1,
            failure: None,
        };
        assert_eq!(QueuedPreview::from(&message).preview.chars().count(), 500);
    }
}
