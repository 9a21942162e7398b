//! The body of `PATCH /api/threads/{id}`.

use serde::Deserialize;
use uuid::Uuid;

use super::ApiError;
use super::request::read;

/// The longest title, in characters: it must fit on one line of a list.
pub const MAX_TITLE_CHARS: usize = 200;

/// The body of `PATCH /api/threads/{id}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[cfg_attr(test, ts(optional_fields))]
pub struct ThreadChange {
    /// One line of 1 to 200 characters.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_TITLE_CHARS), regex(pattern = r"[^\s\x00-\x1f\x7f-\x9f]")))]
    pub title: Option<String>,
    /// A turn of the thread. The conversation goes through it, and on to the newest turn below it.
    pub current_turn_id: Option<Uuid>,
    /// Pins the thread above the others in the list, or takes the pin away.
    pub pinned: Option<bool>,
}

/// The change that a body names.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Another title.
    Title(String),
    /// Another path, through this turn.
    Path(Uuid),
    /// Whether the thread is pinned.
    Pinned(bool),
}

impl ThreadChange {
    /// Reads and checks a body. It has one of its members. A title is one line: white space and control characters
    /// become single spaces.
    pub fn parse(body: &[u8]) -> Result<Change, ApiError> {
        let title = match read(body)? {
            ThreadChange { title: Some(title), current_turn_id: None, pinned: None } => title,
            ThreadChange { title: None, current_turn_id: Some(turn), pinned: None } => {
                return Ok(Change::Path(turn));
            }
            ThreadChange { title: None, current_turn_id: None, pinned: Some(pinned) } => {
                return Ok(Change::Pinned(pinned));
            }
            ThreadChange { .. } => {
                return Err(ApiError::field(
                    "title",
                    "expected one of `title`, `current_turn_id` and `pinned`",
                ));
            }
        };
        let words =
            title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let title = words.collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(ApiError::field("title", "the title is blank"));
        }
        if title.chars().nth(MAX_TITLE_CHARS).is_some() {
            let detail = format!("the title is longer than {MAX_TITLE_CHARS} characters");
            return Err(ApiError::field("title", detail));
        }
        Ok(Change::Title(title))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    // Issue 19, item 13: a pin is the only member of its change.
    #[test]
    fn a_pin_is_set_or_taken_away() {
        let parse = |body: Value| ThreadChange::parse(body.to_string().as_bytes());
        assert_eq!(parse(json!({ "pinned": true })), Ok(Change::Pinned(true)));
        assert_eq!(parse(json!({ "pinned": false, "title": null })), Ok(Change::Pinned(false)));
        for (body, field) in
            [(json!({ "pinned": true, "title": "x" }), "title"), (json!({ "pinned": "yes" }), "pinned")]
        {
            assert_eq!(parse(body.clone()).unwrap_err().field.as_deref(), Some(field), "{body}");
        }
    }
}
