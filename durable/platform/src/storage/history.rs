//! A turn's part of the model's view of the conversation, made to fit into its row. Pure.

use wire::model::Message;
use wire::protocol::Content;

use super::StoreError;
use super::fit::cut;
use super::rows::json_bytes;

/// The most bytes of one turn's history. The platform takes 2 MB for a row, and the message with its tree and its parts
/// stands beside it (`fit.rs`).
pub const MAX_BYTES: usize = 900_000;
/// The lengths of a shortened tool result, in characters; tried in this order.
const RESULT_CHARS: [usize; 3] = [8_000, 1_000, 100];

/// The history as JSON. Where it is too long, its tool results are shortened first. Then the providers' own messages
/// are left out, then images and files. At last only the user's message and the last answer stay. So no call is ever
/// left without its result.
pub fn fit(history: &[Message], max_bytes: usize) -> Result<String, StoreError> {
    let json = serde_json::to_string(history)?;
    if json.len() <= max_bytes {
        return Ok(json);
    }
    let mut shorter = history.to_vec();
    for chars in RESULT_CHARS {
        shorter.iter_mut().for_each(|message| shorten(message, chars));
        let json = serde_json::to_string(&shorter)?;
        if json.len() <= max_bytes {
            return Ok(json);
        }
    }
    for message in &mut shorter {
        if let Message::Assistant { raw, .. } = message {
            *raw = None;
        }
    }
    let json = serde_json::to_string(&shorter)?;
    if json.len() <= max_bytes {
        return Ok(json);
    }
    for message in &mut shorter {
        if let Message::User { content } = message {
            *content = content.text().into_owned().into();
        }
    }
    let json = serde_json::to_string(&shorter)?;
    if json.len() <= max_bytes {
        return Ok(json);
    }
    // Room for both texts and the JSON around them.
    let half = max_bytes.saturating_sub(200) / 2;
    let short =
        |content: &str| if json_bytes(content) > half { cut(content, half) } else { content.to_owned() };
    // The question stands behind what the service added before it.
    let asked = history.iter().take_while(|message| !matches!(message, Message::Assistant { .. }));
    let first = asked.filter_map(|message| match message {
        Message::User { content } => Some(Message::User { content: short(&content.text()).into() }),
        _ => None,
    });
    let first = first.last();
    let last = history.iter().rev().find_map(|message| match message {
        Message::Assistant { content, .. } if !content.is_empty() => {
            Some(Message::Assistant { content: short(content), tool_calls: Vec::new(), raw: None })
        }
        _ => None,
    });
    let ends: Vec<Message> = first.into_iter().chain(last).collect();
    Ok(serde_json::to_string(&ends)?)
}

/// The user's message with its images and files; none where it had none, or where they were left out.
pub fn question(history: &str) -> Result<Option<Content>, StoreError> {
    let messages: Vec<Message> = wire::json::from_str(history)?;
    Ok(messages.into_iter().find_map(|message| match message {
        Message::User { content } if !content.parts().is_empty() => Some(content),
        _ => None,
    }))
}

fn shorten(message: &mut Message, chars: usize) {
    if let Message::Tool { content, .. } = message
        && let Some((at, _)) = content.char_indices().nth(chars)
    {
        content.truncate(at);
        content.push_str("\n[shortened]");
    }
}
