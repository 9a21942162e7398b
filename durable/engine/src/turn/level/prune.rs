//! A request within the token limit: the oldest rounds go first, whole, so that a tool call never loses its result.

use std::ops::Range;
use std::rc::Rc;

use crate::budget::BYTES_PER_TOKEN;
use crate::journal::{Past, TurnSpec};
use crate::own::OwnCalls;
use crate::toolbelt::ToolSpec;
use wire::model::{Message, ModelRequest, RawValueEq, ToolDefinition};
use wire::protocol::{Content, ContentPart, Medium};

/// The estimated tokens of a message beside its text.
const TOKENS_PER_MESSAGE: u64 = 8;
/// The most tokens of an image with the usual providers, which scale large ones down: Anthropic says 1600,
/// OpenAI some hundreds to 1 500.
const TOKENS_PER_IMAGE: usize = 1_600;
/// Bytes of base64 per token of a PDF: a page is some 2 000 tokens and rarely less than 40 kB.
const PDF_BYTES_PER_TOKEN: usize = 20;

/// The newest messages that fit.
pub(super) fn prune(
    messages: &[Rc<Message>],
    summaries: usize,
    own_from: usize,
    limit_tokens: u64,
) -> Vec<Rc<Message>> {
    let kept = kept_places(messages, summaries, own_from, limit_tokens).into_iter();
    kept.flat_map(|places| messages.get(places).unwrap_or_default()).map(Rc::clone).collect()
}

/// The places of the newest messages that fit, in order. Whole turns go first, oldest first. Of the turn before this one
/// the oldest rounds go before the whole of it, because this one may continue it. Then go the `summaries` at the
/// beginning, then the level's own oldest rounds. The level's instructions, at `own_from`, and its newest round always
/// stay.
pub(super) fn kept_places(
    messages: &[Rc<Message>],
    summaries: usize,
    own_from: usize,
    limit_tokens: u64,
) -> [Range<usize>; 4] {
    let own_from = own_from.min(messages.len());
    let (earlier, own) = messages.split_at(own_from);
    let earlier_from = summaries.min(earlier.len());
    let (summaries, earlier) = earlier.split_at(earlier_from);
    // What hooks said of the instructions stays with them.
    let first_round = own.iter().position(|message| begins_round(message)).unwrap_or(own.len());
    let (instructions, rounds) = own.split_at(first_round);
    let left = limit_tokens.saturating_sub(messages_tokens(instructions));
    let newest_round = rounds.iter().rposition(|message| begins_round(message)).unwrap_or(0);
    let from = newest_that_fit(rounds, left, begins_round).min(newest_round);
    let left = if from == 0 { left.saturating_sub(messages_tokens(rounds)) } else { 0 };
    let summaries = if messages_tokens(summaries) <= left { summaries } else { &[] };
    let left = left.saturating_sub(messages_tokens(summaries));
    let turns_from = newest_that_fit(earlier, left, begins_turn);
    let has_answer = earlier.iter().skip(turns_from).any(|message| begins_round(message));
    let part = if has_answer { None } else { part_of_newest(earlier, left) };
    let (question, before) = part.unwrap_or((turns_from..turns_from, turns_from));
    let rounds_from = own_from + instructions.len();
    [
        0..summaries.len(),
        earlier_from + question.start..earlier_from + question.end,
        earlier_from + before..rounds_from,
        rounds_from + from..messages.len(),
    ]
}

// A turn begins with its user message, a round with the model's: a cut anywhere else could part a call from its result.
fn begins_turn(message: &Message) -> bool {
    matches!(message, Message::User { .. })
}

fn begins_round(message: &Message) -> bool {
    matches!(message, Message::Assistant { .. })
}

/// The turn before this one without its oldest rounds: the place of its user message, and the place of the oldest round
/// that fits, from which on all stays. None if no round fits.
pub(super) fn part_of_newest(earlier: &[Rc<Message>], limit_tokens: u64) -> Option<(Range<usize>, usize)> {
    let last_round = earlier.iter().rposition(|message| begins_round(message))?;
    let at = earlier.get(..last_round)?.iter().rposition(|message| begins_turn(message))?;
    let (question, rounds) = earlier.get(at..)?.split_first()?;
    let left = limit_tokens.saturating_sub(tokens(question));
    let from = newest_that_fit(rounds, left, begins_round);
    (from < rounds.len()).then_some((at..at + 1, at + 1 + from))
}

/// The beginning of the longest tail that fits and starts with a message that `begins` accepts.
fn newest_that_fit(messages: &[Rc<Message>], limit_tokens: u64, begins: impl Fn(&Message) -> bool) -> usize {
    let (mut from, mut total) = (messages.len(), 0);
    for (index, message) in messages.iter().enumerate().rev() {
        total += tokens(message);
        if total > limit_tokens {
            break;
        }
        if begins(message) {
            from = index;
        }
    }
    from
}

/// An estimate of a whole request: prompt, tool declarations and messages.
pub fn request_tokens(request: &ModelRequest) -> u64 {
    fixed_tokens(&request.system, &request.tools) + messages_tokens(&request.messages)
}

/// An estimate of messages.
pub(super) fn messages_tokens(messages: &[Rc<Message>]) -> u64 {
    messages.iter().map(|message| tokens(message)).sum()
}

/// An estimate of the fixed part of each request of a level: prompt and tool declarations.
pub(super) fn fixed_tokens(system: &str, tools: &[ToolDefinition]) -> u64 {
    let bytes = |tool: &ToolDefinition| declared_bytes(&tool.name, &tool.description, &tool.input_schema);
    tokens_of_bytes(system.len() + tools.iter().map(bytes).sum::<usize>())
}

pub(super) fn declared_bytes(name: &str, description: &str, input_schema: &RawValueEq) -> usize {
    name.len() + description.len() + input_schema.0.get().len()
}

fn tokens_of_bytes(bytes: usize) -> u64 {
    (bytes / BYTES_PER_TOKEN) as u64
}

/// Whether the first request of a turn's root has room for these earlier turns.
pub(crate) fn fits(spec: &TurnSpec, turns: &[Past], own: OwnCalls) -> bool {
    let can_call = spec.chain.first.choice.calls();
    let is_offered = |tool: &&ToolSpec| can_call && own.levels(&tool.name) <= spec.limits.depth;
    let bytes = |tool: &ToolSpec| declared_bytes(&tool.name, &tool.description, &tool.input_schema);
    let declared: usize = spec.tools.iter().filter(is_offered).map(bytes).sum();
    let user = |content: &Content| content_tokens(content) + TOKENS_PER_MESSAGE;
    let retrieved = spec.retrieved.as_deref().map_or(0, |text| user(&text.into()));
    let time = spec.setting.local_time.as_ref().map_or(0, |time| tokens(&time.message()));
    let earlier: u64 = turns.iter().flat_map(|turn| &turn.messages).map(tokens).sum();
    let all =
        tokens_of_bytes(spec.system.len() + declared) + user(&spec.content) + retrieved + time + earlier;
    all <= spec.limits.history_tokens
}

/// An estimate: providers count exactly, and each model differently.
pub(super) fn tokens(message: &Message) -> u64 {
    let bytes = match message {
        Message::User { content } => return content_tokens(content) + TOKENS_PER_MESSAGE,
        Message::Tool { content, .. } => content.len(),
        Message::Assistant { content, tool_calls, raw } => {
            let calls: usize = tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
            let raw = raw.as_ref().map_or(0, |raw| raw.json.0.get().len());
            (content.len() + calls).max(raw)
        }
    };
    (bytes / BYTES_PER_TOKEN) as u64 + TOKENS_PER_MESSAGE
}

fn content_tokens(content: &Content) -> u64 {
    let of_part = |part: &ContentPart| match (part, part.data().and_then(|data| data.medium())) {
        (ContentPart::Text { text }, _) => text.len() / BYTES_PER_TOKEN,
        (_, Some(Medium::Image)) => TOKENS_PER_IMAGE,
        (_, medium) => {
            let bytes = part.data().map_or(0, |data| data.base64().len());
            let per_token = if medium == Some(Medium::Pdf) { PDF_BYTES_PER_TOKEN } else { BYTES_PER_TOKEN };
            bytes / per_token
        }
    };
    let tokens = match content {
        Content::Text(text) => text.len() / BYTES_PER_TOKEN,
        Content::Parts(parts) => parts.iter().map(of_part).sum(),
    };
    tokens as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Rc<Message> {
        Rc::new(Message::User { content: text.into() })
    }

    fn tool(text: &str) -> Rc<Message> {
        let (call_id, name) = ("c".to_owned(), "t".to_owned());
        Rc::new(Message::Tool { call_id, name, content: text.to_owned(), is_error: false })
    }

    // N-146
    #[test]
    fn pruning_drops_whole_turns_and_keeps_the_last_one() {
        let long = "x".repeat(400);
        let messages = [user(&long), tool(&long), user(&long), tool(&long), user("now"), tool(&long)];
        assert_eq!(prune(&messages, 0, 4, 1_000_000), messages);
        // Each long message is 108 tokens, the last turn 8 + 108.
        assert_eq!(prune(&messages, 0, 4, 116 + 216), messages[2..]);
        assert_eq!(prune(&messages, 0, 4, 116 + 215), messages[4..]);
        assert_eq!(
            prune(&messages, 0, 4, 0),
            messages[4..],
            "the last user message stays even beyond the limit"
        );
    }

    fn assistant(text: &str) -> Rc<Message> {
        Rc::new(Message::Assistant { content: text.to_owned(), tool_calls: Vec::new(), raw: None })
    }

    // N-146
    #[test]
    fn pruning_then_drops_the_oldest_rounds_of_the_level() {
        let long = "x".repeat(400);
        let round = || [assistant(""), tool(&long)];
        let own = [vec![user("go")], [round(), round(), round()].concat()].concat();
        let messages = [vec![user("before"), assistant("yes")], own].concat();
        // The instructions are 8 tokens, each round 8 + 108.
        let all = 8 + 3 * 116;
        assert_eq!(prune(&messages, 0, 2, all + 17), messages, "what came before has 9 + 8 tokens");
        assert_eq!(prune(&messages, 0, 2, all + 16), messages[2..]);
        assert_eq!(prune(&messages, 0, 2, all), messages[2..]);
        let without = |rounds: usize| [&messages[2..3], &messages[3 + 2 * rounds..]].concat();
        assert_eq!(prune(&messages, 0, 2, all - 1), without(1));
        assert_eq!(prune(&messages, 0, 2, all - 116), without(1));
        assert_eq!(prune(&messages, 0, 2, all - 117), without(2));
        assert_eq!(prune(&messages, 0, 2, 0), without(2), "the newest round stays even beyond the limit");
    }

    // Issue 19, item 3.
    #[test]
    fn a_summary_stays_longer_than_the_turns_after_it() {
        let long = "x".repeat(400);
        let messages = [user(&long), user(&long), assistant(&long), user("now")];
        // The summary is 108 tokens, the turn after it 216, the instructions 8.
        let pruned = |limit| prune(&messages, 1, 3, limit);
        assert_eq!(pruned(8 + 108 + 216), messages);
        let without_turn = [messages[0].clone(), messages[3].clone()];
        assert_eq!((pruned(8 + 108 + 215), pruned(8 + 108)), (without_turn.to_vec(), without_turn.to_vec()));
        assert_eq!(pruned(8 + 107), messages[3..]);
    }

    // Issue 19, 4: a turn may continue the one before it, which then loses its oldest rounds before the whole of it.
    #[test]
    fn the_turn_before_loses_its_oldest_rounds_first() {
        let long = "x".repeat(400);
        let round = || [assistant(""), tool(&long)];
        let before =
            [vec![user("old"), assistant("yes"), user("begin")], [round(), round()].concat()].concat();
        let messages = [before, vec![assistant("stopped"), user("found"), user("go")]].concat();
        // Each of the user's messages is 9 tokens or fewer, each round 116, the last words 9.
        let (begin, found, go, stopped) = (9, 9, 8, 9);
        let all = begin + 2 * 116 + stopped + found + go;
        let without = |rounds: usize| [&messages[2..3], &messages[3 + 2 * rounds..]].concat();
        assert_eq!(prune(&messages, 0, 9, all), messages[2..]);
        assert_eq!(prune(&messages, 0, 9, all - 1), without(1));
        assert_eq!(prune(&messages, 0, 9, all - 116), without(1));
        assert_eq!(prune(&messages, 0, 9, all - 117), without(2), "the last words tell what is left");
        assert_eq!(prune(&messages, 0, 9, found + go), messages[8..], "no round fits");
    }

    #[test]
    fn an_image_counts_as_providers_count_it() {
        let part = |kind: &str, media_type: &str| {
            let data = format!("data:{media_type};base64,{}", "A".repeat(400_000));
            serde_json::json!({"type": kind, "name": "n", "data": data})
        };
        let parts = serde_json::json!([{"type": "text", "text": "x".repeat(40)}, part("image", "image/png")]);
        let message = Message::User { content: serde_json::from_value(parts).unwrap() };
        assert_eq!(tokens(&message), 10 + 1_600 + 8);
        let files = serde_json::json!([part("file", "application/pdf"), part("file", "text/plain")]);
        let message = Message::User { content: serde_json::from_value(files).unwrap() };
        assert_eq!(tokens(&message), 20_000 + 100_000 + 8);
    }
}
