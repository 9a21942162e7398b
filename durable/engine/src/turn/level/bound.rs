//! The most tokens that a provider may count for a request. A bound, not an estimate: money is reserved by it.

use std::rc::Rc;

use super::Level;
use super::prune::declared_bytes;
use crate::profiles::{MostTokens, PricedModel};
use wire::model::{Message, ModelReply, ModelRequest, ToolDefinition};
use wire::protocol::{Content, ContentPart, CountedRequest, Medium};

/// The tokens that a provider adds around a message, a call and the declaration of a tool. OpenAI documents 3 and 4 of a
/// message; the rest is room for the forms of others.
const AROUND_PART: u64 = 16;
/// The tokens that a provider adds to a request, and to one with tools. Anthropic documents up to 804 for tools.
const AROUND_REQUEST: u64 = 64;
const AROUND_TOOLS: u64 = 1_024;
/// The least bound of a PDF: a page has up to 3 000 tokens of text with Anthropic, and is an image beside.
const LEAST_PER_PDF: u64 = 3_000;

/// The size of a part of a request, as every tokenizer sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    bytes: usize,
    images: u64,
    /// Tokens that no tokenizer changes.
    tokens: u64,
}

impl Size {
    fn of_text(bytes: usize) -> Self {
        Size { bytes, ..Size::default() }
    }

    fn and(self, other: Size) -> Self {
        let Size { bytes, images, tokens } = other;
        Size { bytes: self.bytes + bytes, images: self.images + images, tokens: self.tokens + tokens }
    }

    fn most_tokens(self, most: MostTokens) -> u64 {
        let text = (self.bytes as u64).saturating_mul(most.per_kilobyte.into()).div_ceil(1_000);
        let images = self.images.saturating_mul(most.per_image.into());
        text.saturating_add(images).saturating_add(self.tokens)
    }
}

/// The newest request of a level whose provider counted it: a later one that begins with it costs only its own part more.
#[derive(Debug)]
pub(in crate::turn) struct Counted {
    /// The model that answered.
    model: String,
    /// Its prompt and its tools; none of a request in the turn before.
    fixed: Option<(Rc<str>, Rc<[ToolDefinition]>)>,
    messages: Vec<Rc<Message>>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Counted {
    /// The request that this model answered, if its provider counted it.
    pub(in crate::turn) fn of(model: &str, request: ModelRequest, reply: &ModelReply) -> Option<Self> {
        let usage = reply.usage.filter(|usage| !usage.estimated && usage.input_tokens > 0)?;
        let ModelRequest { system, tools, messages, .. } = request;
        let (input_tokens, output_tokens) = (usage.input_tokens, usage.output_tokens);
        let fixed = Some((system, tools));
        Some(Counted { model: model.to_owned(), fixed, messages, input_tokens, output_tokens })
    }

    /// The last request of the turn before, whose reply is the newest one of `history`.
    fn before(last: &CountedRequest, history: &[Rc<Message>]) -> Option<Self> {
        let reply = history.iter().rposition(|message| matches!(&**message, Message::Assistant { .. }))?;
        let CountedRequest { model, input_tokens, output_tokens } = last.clone();
        let messages = history.iter().take(reply).map(Rc::clone).collect();
        Some(Counted { model, fixed: None, messages, input_tokens, output_tokens })
    }

    /// The most tokens of a request that begins with this one; none where it does not.
    fn with_more(&self, request: &ModelRequest, most: MostTokens) -> Option<u64> {
        let is_same = self.fixed.as_ref().is_none_or(|(system, tools)| {
            Rc::ptr_eq(system, &request.system) && Rc::ptr_eq(tools, &request.tools)
        });
        // Another turn has another prompt, and maybe other tools.
        let fixed = if self.fixed.is_none() { fixed_size(request) } else { Size::default() };
        let (before, more) = request.messages.split_at_checked(self.messages.len())?;
        if !is_same || !before.iter().zip(&self.messages).all(|(one, other)| Rc::ptr_eq(one, other)) {
            return None;
        }
        // The reply comes back as a message. Its thoughts are tokens that the provider has counted as output.
        let reply = more.first().and_then(|message| visible_size(message));
        let rest = if reply.is_some() { more.get(1..)? } else { more };
        let reply = reply.map_or(0, |size| size.most_tokens(most).max(self.output_tokens + AROUND_PART));
        let rest = rest.iter().fold(fixed, |all, message| all.and(size(message)));
        let known = self.input_tokens.saturating_add(AROUND_REQUEST);
        Some(known.saturating_add(reply).saturating_add(rest.most_tokens(most)))
    }
}

/// The most tokens that the provider of a model counts for a request. No model takes more than its context.
pub(in crate::turn) fn most_tokens(
    request: &ModelRequest,
    offer: &PricedModel,
    known: Option<&Counted>,
) -> u64 {
    let most = offer.most_tokens.unwrap_or_default();
    let known = known.filter(|known| known.model == offer.choice.model);
    let bound = known.and_then(|known| known.with_more(request, most));
    let bound = bound.unwrap_or_else(|| request_size(request).most_tokens(most));
    bound.min(offer.choice.capabilities.context_tokens.unwrap_or(u64::MAX))
}

impl Level {
    /// Notes the usage of the request that this model answered.
    pub(in crate::turn) fn note_usage(&mut self, model: &str, request: ModelRequest, reply: &ModelReply) {
        if let Some(counted) = Counted::of(model, request, reply) {
            self.counted = Some(Box::new(counted));
        }
    }

    /// Notes the last request of the turn before. `history`: how many of the level's messages are of earlier turns.
    pub(in crate::turn) fn begin_after(&mut self, last: &CountedRequest, history: usize) {
        let earlier = self.messages.get(..history).unwrap_or_default();
        self.counted = Counted::before(last, earlier).map(Box::new);
    }

    /// The newest request of the level whose provider counted it.
    pub(in crate::turn) fn counted(&self) -> Option<&Counted> {
        self.counted.as_deref()
    }
}

fn request_size(request: &ModelRequest) -> Size {
    request.messages.iter().fold(fixed_size(request), |all, message| all.and(size(message)))
}

/// The size of a request beside its messages.
fn fixed_size(request: &ModelRequest) -> Size {
    let schema = request.response_schema.as_ref().map_or(0, |schema| schema.0.get().len());
    let tool = |tool: &ToolDefinition| Size {
        tokens: AROUND_PART,
        ..Size::of_text(declared_bytes(&tool.name, &tool.description, &tool.input_schema))
    };
    let around = if request.tools.is_empty() { AROUND_REQUEST } else { AROUND_TOOLS };
    let fixed = Size { tokens: around, ..Size::of_text(request.system.len() + schema) };
    request.tools.iter().map(tool).fold(fixed, Size::and)
}

/// The text and the calls of a reply; none of another message.
fn visible_size(message: &Message) -> Option<Size> {
    let Message::Assistant { content, tool_calls, .. } = message else { return None };
    let call = |call: &wire::model::ToolCall| Size {
        tokens: AROUND_PART,
        ..Size::of_text(call.call_id.len() + call.name.len() + call.arguments.len())
    };
    let text = Size { tokens: AROUND_PART, ..Size::of_text(content.len()) };
    Some(tool_calls.iter().map(call).fold(text, Size::and))
}

fn size(message: &Message) -> Size {
    match message {
        Message::User { content: Content::Text(text) } => {
            Size { tokens: AROUND_PART, ..Size::of_text(text.len()) }
        }
        Message::User { content: Content::Parts(parts) } => {
            parts.iter().map(part_size).fold(Size { tokens: AROUND_PART, ..Size::default() }, Size::and)
        }
        Message::Tool { call_id, name, content, .. } => {
            Size { tokens: AROUND_PART, ..Size::of_text(call_id.len() + name.len() + content.len()) }
        }
        Message::Assistant { raw, .. } => {
            let visible = visible_size(message).unwrap_or_default();
            // What a codec sends back is the provider's own form, or the visible part.
            let raw = raw.as_ref().map_or(0, |raw| raw.json.0.get().len());
            Size { bytes: visible.bytes.max(raw), ..visible }
        }
    }
}

fn part_size(part: &ContentPart) -> Size {
    let around = Size { tokens: AROUND_PART, ..Size::default() };
    let medium = part.data().and_then(|data| data.medium());
    let bytes = part.data().map_or(0, |data| data.base64().len());
    let size = match (part, medium) {
        (ContentPart::Text { text }, _) => Size::of_text(text.len()),
        (_, Some(Medium::Image)) => Size { images: 1, ..Size::default() },
        // Each page counts as its text and as an image. A byte of base64 has less than a token of either in a usual file.
        (_, Some(Medium::Pdf)) => Size { images: 1, tokens: LEAST_PER_PDF.max(bytes as u64), bytes: 0 },
        (_, _) => Size::of_text(bytes),
    };
    around.and(size)
}

#[cfg(test)]
mod tests;
