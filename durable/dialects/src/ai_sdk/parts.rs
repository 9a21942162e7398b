//! The parts of a message: the content of a user's one, and the answers in the assistant's newest one.

use serde_json::Value;

use super::answer::{AnswerPart, answer};
use super::request::{Message, Wants};
use crate::given::{MAX_ANSWERS, Part, text};
use crate::pieces::{MAX_MESSAGES, MAX_PIECE, Newest, Piece, REQUIRED, too_much, within};
use wire::pace::Pace;
use wire::protocol::{ApiError, Content, ContentPart, DataUrl, ErrorCode};

/// The parts of a message.
struct Parts<'a> {
    newest: Newest<'a>,
    /// The member that has them.
    at: String,
}

impl<'a> Parts<'a> {
    async fn divide(message: &Message<'a>, index: usize, pace: &Pace<'_>) -> Result<Self, ApiError> {
        let at = format!("messages[{index}].parts");
        let form = |error: ApiError| match error.code {
            ErrorCode::InvalidRequest => ApiError::field(&at, "expected an array of parts of the AI SDK"),
            _ => within(&at, error),
        };
        let newest = Newest::divide(message.parts.json, pace).await.map_err(form)?;
        Ok(Parts { newest, at })
    }

    async fn read(&self, piece: Piece<'a>, pace: &Pace<'_>) -> Result<Part, ApiError> {
        if piece.is_too_much() {
            return Err(ApiError::field(&self.at, too_much("a part")));
        }
        let form = |_| ApiError::field(&self.at, "expected an array of parts of the AI SDK");
        piece.read(pace).await?.map_err(form)
    }
}

/// The content of a user's message: its texts and files.
pub(super) async fn content(
    message: &Message<'_>,
    index: usize,
    pace: &Pace<'_>,
) -> Result<Content, ApiError> {
    let parts = Parts::divide(message, index, pace).await?;
    if parts.newest.count > MAX_MESSAGES || message.parts.json.len() > MAX_PIECE {
        let detail = format!("a message has at most {MAX_MESSAGES} parts and {MAX_PIECE} bytes");
        return Err(ApiError::field(parts.at, detail));
    }
    let mut content = Vec::new();
    for (at, piece) in parts.newest.iter() {
        let part = &parts.read(piece, pace).await?;
        let refused = |member: &str, detail: &str| {
            ApiError::field(format!("messages[{index}].parts[{at}].{member}"), detail)
        };
        match text(part, "type") {
            Some("text") => {
                let text = text(part, "text").ok_or_else(|| refused("text", "expected a text"))?;
                content.push(ContentPart::Text { text: text.to_owned() });
            }
            Some("file") => {
                let url = text(part, "url").filter(|url| url.starts_with("data:"));
                let data =
                    DataUrl::from(url.ok_or_else(|| refused("url", "expected a data URL"))?.to_owned());
                let is_image = text(part, "mediaType").is_some_and(|kind| kind.starts_with("image"));
                let name = text(part, "filename").unwrap_or("file").to_owned();
                content.push(if is_image {
                    ContentPart::Image { data }
                } else {
                    ContentPart::File { name, data }
                });
            }
            Some(_) => {} // Data parts are the page's own.
            None => return Err(refused("type", REQUIRED)),
        }
    }
    Ok(match content.as_slice() {
        [ContentPart::Text { text }] => Content::Text(text.clone()),
        _ => Content::Parts(content),
    })
}

/// The answers in a message of the assistant: decisions on calls, and results of the client's own tools. Those that were
/// given before are among them, because a client sends all parts again; the thread knows which calls still wait.
pub(super) async fn answers(message: &Message<'_>, index: usize, pace: &Pace<'_>) -> Result<Wants, ApiError> {
    let parts = Parts::divide(message, index, pace).await?;
    let (mut answers, mut bytes) = (Vec::new(), 0);
    for (_, piece) in parts.newest.back() {
        // Of a part that has the output of a tool no tree is made, so it may have any number of values.
        if piece.json.len() > MAX_PIECE {
            return Err(ApiError::field(&parts.at, too_much("a part")));
        }
        let form = |_| ApiError::field(&parts.at, "expected an array of parts of the AI SDK");
        let part: AnswerPart<'_> = piece.read(pace).await?.map_err(form)?;
        let Some(answer) = answer(&part).map_err(|why| ApiError::field(&parts.at, why))? else { continue };
        bytes += piece.json.len();
        if !answers.is_empty() && (bytes > MAX_PIECE || answers.len() == MAX_ANSWERS) {
            break;
        }
        answers.push(answer);
    }
    if answers.is_empty() {
        let detail = "the newest message is the assistant's, and has no answer to a call";
        return Err(ApiError::field("messages", detail));
    }
    answers.reverse();
    let metadata = message.metadata.and_then(|metadata| wire::json::from_slice::<Part>(metadata.json).ok());
    let read = metadata.and_then(|metadata| {
        Some((text(&metadata, "turnId")?.to_owned(), metadata.get("seq").and_then(Value::as_u64)?))
    });
    Ok(Wants::Answers { answers, read })
}
