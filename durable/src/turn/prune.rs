//! History within the token limit: the oldest rounds go first, whole, so that a tool call never loses its result.

use std::rc::Rc;

use crate::model::{Message, ModelRequest};

/// Bytes of text per token, for estimates: the usual rule of thumb, which overestimates prose in Latin letters a
/// little and so errs on the side of pruning.
const BYTES_PER_TOKEN: usize = 4;
/// What a message costs beside its text.
const TOKENS_PER_MESSAGE: u64 = 8;

/// The messages that fit: the newest ones, beginning with a user message. The level's own messages, from `must_keep`
/// on, always stay.
pub(super) fn prune(messages: &[Rc<Message>], must_keep: usize, limit_tokens: u64) -> Vec<Rc<Message>> {
    let is_user = |message: &Rc<Message>| matches!(**message, Message::User { .. });
    let mut from = must_keep;
    let mut total: u64 = messages.iter().skip(must_keep).map(|message| tokens(message)).sum();
    let mut candidate_total = total;
    for (index, message) in messages.iter().enumerate().take(must_keep).rev() {
        candidate_total += tokens(message);
        if candidate_total > limit_tokens {
            break;
        }
        // A turn begins with its user message: cutting anywhere else could part a call from its result.
        if is_user(message) {
            (from, total) = (index, candidate_total);
        }
    }
    debug_assert!(from == must_keep || total <= limit_tokens);
    messages.iter().skip(from).map(Rc::clone).collect()
}

/// An estimate of a whole request: prompt, messages and tool declarations.
pub(super) fn request_tokens(request: &ModelRequest) -> u64 {
    let declared = |tool: &crate::model::ToolDefinition| {
        tool.name.len() + tool.description.len() + tool.input_schema.0.get().len()
    };
    let fixed: usize = request.system.len() + request.tools.iter().map(declared).sum::<usize>();
    let messages: u64 = request.messages.iter().map(|message| tokens(message)).sum();
    (fixed / BYTES_PER_TOKEN) as u64 + messages
}

/// An estimate: exact counts are the provider's business and differ by model.
fn tokens(message: &Message) -> u64 {
    let bytes = match message {
        Message::User { content } | Message::Tool { content, .. } => content.len(),
        Message::Assistant { content, tool_calls, raw } => {
            let calls: usize = tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            let raw = raw.as_ref().map_or(0, |raw| raw.json.0.get().len());
            (content.len() + calls).max(raw)
        }
    };
    (bytes / BYTES_PER_TOKEN) as u64 + TOKENS_PER_MESSAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Rc<Message> {
        Rc::new(Message::User { content: text.to_owned() })
    }

    fn tool(text: &str) -> Rc<Message> {
        let (call_id, name) = ("c".to_owned(), "t".to_owned());
        Rc::new(Message::Tool { call_id, name, content: text.to_owned(), is_error: false })
    }

    // N-146
    #[test]
    fn whole_turns_go_and_the_last_one_stays() {
        let long = "x".repeat(400);
        let messages = [user(&long), tool(&long), user(&long), tool(&long), user("now"), tool(&long)];
        assert_eq!(prune(&messages, 4, 1_000_000), messages);
        // Each long message is 108 tokens, the last turn 8 + 108.
        assert_eq!(prune(&messages, 4, 116 + 216), messages[2..]);
        assert_eq!(prune(&messages, 4, 116 + 215), messages[4..]);
        assert_eq!(
            prune(&messages, 4, 0),
            messages[4..],
            "the last user message stays even beyond the limit"
        );
    }
}
