//! Parts of requests that several dialects have.

use serde_json::{Map, Value};

use wire::protocol::ApiError;

/// The most answers of a request, the newest ones. A turn has fewer calls in all.
pub const MAX_ANSWERS: usize = 512;
/// The most characters of a conversation that a new thread imports, its newest ones: it travels with each request that
/// names a thread.
pub const MAX_IMPORTED: usize = 200_000;
/// The most bytes of one result. The service cuts the results of tools far below that.
const MAX_RESULT: usize = 1 << 20;
/// The model that stands for the deployment's own choice.
pub const DEFAULT_MODEL: &str = "espalier";

/// A part of a message, of any type. Plain JSON: a type with so many members would be as much code as all the rest.
pub type Part = Map<String, Value>;

/// The messages of a conversation from its end.
pub trait Earlier {
    /// The next message: whether the user said it, and its text. None at the beginning.
    async fn earlier(&mut self) -> Result<Option<(bool, String)>, ApiError>;
}

/// Stands for a text that is too long to be read. It is longer than a conversation that is imported, so an answer ends the
/// conversation, and a thread refuses a question.
pub fn too_long() -> String {
    "x".repeat(MAX_IMPORTED + 1)
}

/// The conversation before a message: a question and an answer in turn, and at the end the question that no answer
/// follows.
pub async fn history(messages: &mut impl Earlier) -> Result<Vec<String>, ApiError> {
    // Neighbours of one author are one message, in pieces from the end.
    let (mut texts, mut chars) = (Vec::<(bool, Vec<String>)>::new(), 0);
    while let Some((is_user, mut words)) = messages.earlier().await? {
        chars += words.chars().count();
        let is_last = chars > MAX_IMPORTED;
        if is_last {
            // A new thread refuses a question that is so long: it must not go unread.
            if !is_user || texts.iter().any(|(of_user, _)| !of_user) {
                break;
            }
            words = words.chars().take(MAX_IMPORTED).collect();
        }
        match texts.last_mut() {
            _ if words.trim().is_empty() => {}
            Some((of_user, pieces)) if *of_user == is_user => pieces.push(words),
            _ => texts.push((is_user, vec![words])),
        }
        if is_last {
            break;
        }
    }
    // It begins with a question.
    if texts.last().is_some_and(|(is_user, _)| !is_user) {
        texts.pop();
    }
    let mut conversation = Vec::new();
    while let Some((_, mut pieces)) = texts.pop() {
        pieces.reverse();
        conversation.push(pieces.join("\n\n"));
    }
    Ok(conversation)
}

/// Takes the question off that no answer follows.
pub fn unanswered(history: &mut Vec<String>) -> Option<String> {
    if history.len() % 2 == 1 { history.pop() } else { None }
}

/// The texts of a message, with a blank line between two.
#[derive(Default)]
pub struct Words(pub String);

impl Words {
    pub fn add(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        self.0.push_str(if self.0.is_empty() { "" } else { "\n\n" });
        self.0.push_str(text);
    }
}

/// A member that is a text.
pub fn text<'a>(part: &'a Part, name: &str) -> Option<&'a str> {
    part.get(name).and_then(Value::as_str)
}

/// The result of a client's tool, if it is not too long.
pub fn bounded(content: String) -> Result<String, String> {
    match content.len() > MAX_RESULT {
        true => Err(format!("a tool's output has at most {MAX_RESULT} bytes")),
        false => Ok(content),
    }
}

/// A member; null where there is none.
pub fn at<'a>(json: &'a Value, name: &str) -> &'a Value {
    json.get(name).unwrap_or(&Value::Null)
}
