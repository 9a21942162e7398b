//! The instructions that a client gives beside the conversation: a member of the body, and messages of the system.

use std::collections::BTreeMap;

use wire::protocol::{ApiError, ChatRequest, MAX_INSTRUCTIONS_BYTES};

/// The instructions of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The member that has instructions alone, and its text.
    member: Option<(&'static str, String)>,
    /// The member that has the conversation.
    conversation: &'static str,
    /// The texts in it, by the places of their messages.
    messages: BTreeMap<usize, String>,
    bytes: usize,
}

impl Instructions {
    /// Those of a member, so far.
    pub(crate) fn new(member: Option<(&'static str, String)>, conversation: &'static str) -> Self {
        let member = member.filter(|(_, text)| !text.trim().is_empty());
        Instructions { member, conversation, ..Instructions::default() }
    }

    /// Adds the text of a message. What is beyond the limit already gets no longer.
    pub(crate) fn add(&mut self, at: usize, text: String) {
        let is_new = !self.messages.contains_key(&at);
        if is_new && self.bytes <= MAX_INSTRUCTIONS_BYTES && !text.trim().is_empty() {
            self.bytes += text.len();
            self.messages.insert(at, text);
        }
    }

    /// Gives the instructions to a turn.
    pub fn give(self, request: &mut ChatRequest) -> Result<(), ApiError> {
        let (member, text) = self.member.unzip();
        let text = text.into_iter().chain(self.messages.into_values()).collect::<Vec<_>>().join("\n\n");
        if text.len() > MAX_INSTRUCTIONS_BYTES {
            let detail = format!("instructions have at most {MAX_INSTRUCTIONS_BYTES} bytes");
            return Err(ApiError::field(member.unwrap_or(self.conversation), detail));
        }
        request.instructions = Some(text).filter(|text| !text.is_empty());
        Ok(())
    }

    /// The names by which the service says that it ignores them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let messages = (!self.messages.is_empty()).then_some("system");
        self.member.iter().map(|(name, _)| *name).chain(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 44: at the limit, and just beyond it.
    #[test]
    fn instructions_have_a_limit_in_bytes() {
        let given = |member: Option<usize>, messages: &[usize]| {
            let member = member.map(|bytes| ("instructions", "m".repeat(bytes)));
            let mut instructions = Instructions::new(member, "input");
            for (at, bytes) in messages.iter().enumerate() {
                instructions.add(at, "s".repeat(*bytes));
            }
            let mut request = ChatRequest::default();
            let given = instructions.give(&mut request);
            given.map(|()| request.instructions.map(|text| text.len())).map_err(|error| error.field.clone())
        };
        assert_eq!(given(None, &[]), Ok(None));
        assert_eq!(given(Some(MAX_INSTRUCTIONS_BYTES), &[]), Ok(Some(MAX_INSTRUCTIONS_BYTES)));
        assert_eq!(given(Some(MAX_INSTRUCTIONS_BYTES + 1), &[]), Err(Some("instructions".to_owned())));
        assert_eq!(given(Some(9_998), &[10_000]), Ok(Some(20_000)), "with a blank line between two");
        assert_eq!(given(Some(9_999), &[10_000]), Err(Some("instructions".to_owned())));
        assert_eq!(given(None, &[10_000, 9_999, 5]), Err(Some("input".to_owned())));
        assert_eq!(given(None, &[30_000]), Err(Some("input".to_owned())));
    }

    #[test]
    fn they_stand_in_the_order_of_the_conversation() {
        let mut instructions = Instructions::new(Some(("system", "One.".to_owned())), "messages");
        instructions.add(7, "Three.".to_owned());
        instructions.add(0, "Two.".to_owned());
        instructions.add(3, " ".to_owned());
        assert_eq!(instructions.names().collect::<Vec<_>>(), ["system", "system"]);
        let mut request = ChatRequest::default();
        instructions.give(&mut request).unwrap();
        assert_eq!(request.instructions.as_deref(), Some("One.\n\nTwo.\n\nThree."));
    }
}
