//! Custom instructions: how a user wants answers, in all conversations or in those about a project.

use serde::{Deserialize, Serialize};

use super::request::read;
use super::{ApiError, preview};

/// The longest custom instructions, in bytes: they go to the model with each request of a turn's root.
pub const MAX_INSTRUCTIONS_BYTES: usize = 20_000;

/// Custom instructions as clients read them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Instructions {
    /// Empty where there are none.
    pub content: String,
    /// The time of the last change, in milliseconds since 1970. Null where there are none.
    pub updated_at: Option<u64>,
}

/// The body of `PUT …/instructions`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct NewInstructions {
    /// At most 20,000 bytes of UTF-8. A blank text deletes the instructions.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_INSTRUCTIONS_BYTES)))]
    pub content: String,
}

/// The conversations that custom instructions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InstructionsOf {
    /// All conversations of the user.
    User,
    /// Those about one project.
    Project,
}

/// Custom instructions that a turn began with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TreeInstructions {
    pub of: InstructionsOf,
    /// At most 500 characters.
    pub content_preview: String,
    /// The length of the whole text, in bytes.
    pub bytes: usize,
}

/// The instructions that the client of a turn gave with its request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ClientInstructions {
    /// At most 500 characters.
    pub content_preview: String,
    /// The length of the whole text, in bytes.
    pub bytes: usize,
}

impl ClientInstructions {
    /// The entry of a text.
    pub fn new(content: &str) -> Self {
        ClientInstructions { content_preview: preview(content), bytes: content.len() }
    }
}

impl InstructionsOf {
    /// The wire's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            InstructionsOf::User => "user",
            InstructionsOf::Project => "project",
        }
    }
}

impl NewInstructions {
    /// Reads and checks a body. Gives the text without the blanks around it.
    pub fn parse(body: &[u8]) -> Result<String, ApiError> {
        let NewInstructions { content } = read(body)?;
        let content = content.trim();
        match content.len() > MAX_INSTRUCTIONS_BYTES {
            true => {
                Err(ApiError::field("content", format!("expected at most {MAX_INSTRUCTIONS_BYTES} bytes")))
            }
            false => Ok(content.to_owned()),
        }
    }
}

impl TreeInstructions {
    /// The entry of a text.
    pub fn new(of: InstructionsOf, content: &str) -> Self {
        TreeInstructions { of, content_preview: preview(content), bytes: content.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 23, 8: at the limit, and just beyond it.
    #[test]
    fn a_text_has_a_limit_in_bytes() {
        let parse = |content: &str| {
            NewInstructions::parse(serde_json::json!({ "content": content }).to_string().as_bytes())
        };
        assert_eq!(parse("  Answer briefly.\n").as_deref(), Ok("Answer briefly."));
        assert_eq!(parse(" \n ").as_deref(), Ok(""));
        let longest = "é".repeat(MAX_INSTRUCTIONS_BYTES / 2);
        assert_eq!(parse(&longest).as_deref(), Ok(&*longest));
        assert_eq!(parse(&format!("{longest}a")).unwrap_err().field.as_deref(), Some("content"));
        for body in [&b"{}"[..], br#"{"content":null}"#, br#"{"content":7}"#] {
            assert_eq!(NewInstructions::parse(body).unwrap_err().field.as_deref(), Some("content"));
        }
    }

    #[test]
    fn the_tree_has_the_beginning() {
        let entry = TreeInstructions::new(InstructionsOf::User, &"é".repeat(501));
        assert_eq!((entry.content_preview.chars().count(), entry.bytes), (500, 1_002));
    }
}
