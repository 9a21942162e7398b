//! The drafts of a level whose answers hooks judge, before readers get them.
//!
//! The draft of an answer is the text of the reply that ends the level, behind those of replies before it that paused. It
//! stays among the level's messages, so that the model can write it again. A message that hooks have not let pass leaves
//! the level without its text. Nobody judges the text beside calls, so it never leaves the level.
//!
//! A root that gives JSON drafts too: its answer is the payload that satisfied the schema, and no other text of it leaves the
//! level. Its history has that answer, and not the calls that gave it.

use std::mem;
use std::rc::Rc;

use super::{Level, LevelEnd, State};
use crate::profiles::Role;
use wire::model::{Message, ToolCall};
use wire::protocol::HookPoint;

/// How often a level writes a blocked answer again.
const MAX_REWRITES: u32 = 2;

/// One reply of a draft.
#[derive(Debug)]
pub(in crate::turn) struct Draft {
    /// The key of its model call.
    pub(in crate::turn) at: String,
    pub(in crate::turn) text: String,
    message: Rc<Message>,
}

/// The drafts of a level.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    /// The replies of the draft that hooks have not judged.
    open: Vec<Draft>,
    /// The messages whose text never leaves the level: blocked drafts with the reasons, and texts beside calls.
    withheld: Vec<Rc<Message>>,
    /// The blocks since hooks last let a draft pass.
    blocks: u32,
}

impl Drafts {
    /// Whether a message is a part of the draft that hooks have not judged.
    fn is_open(&self, message: &Rc<Message>) -> bool {
        self.open.iter().any(|draft| Rc::ptr_eq(&draft.message, message))
    }

    fn withholds(&self, message: &Rc<Message>) -> bool {
        self.is_open(message) || self.withheld.iter().any(|withheld| Rc::ptr_eq(withheld, message))
    }

    /// A message of the level gave way to another form of itself.
    pub(super) fn replaced(&mut self, before: &Rc<Message>, after: &Rc<Message>) {
        let open = self.open.iter_mut().map(|draft| &mut draft.message);
        let own = open.chain(&mut self.withheld).find(|own| Rc::ptr_eq(own, before));
        own.into_iter().for_each(|own| *own = Rc::clone(after));
    }

    /// A message of the level never leaves it.
    pub(super) fn hold_back(&mut self, message: &Rc<Message>) {
        self.withheld.push(Rc::clone(message));
    }

    /// The draft gets no verdict any more.
    fn withhold(&mut self) {
        self.withheld.extend(self.open.drain(..).map(|draft| draft.message));
    }
}

impl Level {
    /// Whether the answers of the level are judged before readers get them: by hooks, also where each of them has quit, or by
    /// the schema of a root's answer.
    pub(in crate::turn) fn is_judged(&self) -> bool {
        self.shape.answer.is_some() || self.hooks().iter().any(|hook| hook.on == HookPoint::Answer)
    }

    /// Whether readers do not get the level's text as it comes. A summary has a form of its own, a draft waits for its verdict,
    /// and a model that judges for the operator may repeat the operator's instructions.
    pub(in crate::turn) fn is_silent(&self) -> bool {
        self.hooked.is_silent() || self.is_guard() || self.covers().is_some() || self.is_judged()
    }

    /// Whether the level judges for a hook of the operator.
    pub(in crate::turn) fn is_guard(&self) -> bool {
        self.models() == Some(Role::Guard)
    }

    /// The replies of the draft that hooks have not judged.
    pub(in crate::turn) fn draft(&self) -> &[Draft] {
        &self.drafts.open
    }

    /// The text of that draft.
    pub(crate) fn draft_text(&self) -> String {
        let texts = self.drafts.open.iter().map(|draft| draft.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// Notes the newest message as a draft. `is_answer`: hooks are going to judge it.
    pub(super) fn note_draft(&mut self, text: &str, is_answer: bool) {
        let (Some(message), Some(at)) = (self.messages.last().cloned(), self.last_step_key()) else { return };
        self.drafts.open.push(Draft { at, text: text.to_owned(), message });
        if !is_answer {
            self.drafts.withhold();
        }
    }

    /// Hooks let the draft pass: it is the level's answer.
    pub fn pass_draft(&mut self) {
        let State::Draft { text, finish } = &mut self.state else { return };
        let end = LevelEnd::Text { text: mem::take(text), finish: *finish };
        (self.drafts.open, self.drafts.blocks) = (Vec::new(), 0);
        self.state = State::Done(end);
        self.make_due();
    }

    /// A hook blocks the draft: the level writes it again after a remark, or ends.
    pub(in crate::turn) fn block_draft(&mut self, hook: &str, reason: &str, remark: String) {
        self.drafts.withhold();
        self.drafts.blocks += 1;
        if self.drafts.blocks > MAX_REWRITES {
            let (hook, reason) = (hook.to_owned(), reason.to_owned());
            self.state = State::Done(LevelEnd::Blocked { hook, reason });
            return;
        }
        self.digest = self.digest.with(&remark);
        let told = Rc::new(Message::User { content: remark.into() });
        self.drafts.withheld.push(Rc::clone(&told));
        self.messages.push(told);
        self.state = State::Model;
    }

    /// Whether a message has text that never leaves the level, or not yet.
    pub(super) fn withholds(&self, message: &Rc<Message>) -> bool {
        self.drafts.withholds(message)
    }

    /// All messages of the level but the draft that hooks have not judged, those of earlier turns included.
    pub(super) fn transcript(&self) -> impl DoubleEndedIterator<Item = &Rc<Message>> {
        self.messages.iter().filter(|message| !self.drafts.is_open(message))
    }

    /// The level's own messages, from its instructions on, as they may leave it.
    pub(crate) fn own_messages(&self) -> Vec<Message> {
        self.messages.iter().skip(self.own_from).filter_map(|message| self.leaving_form(message)).collect()
    }

    /// A message as it may leave the level. Of text beside calls the calls are left. The provider's own form of a reply has
    /// its reasoning, which nobody judges.
    pub(super) fn leaving_form(&self, message: &Rc<Message>) -> Option<Message> {
        let is_withheld = self.withholds(message);
        match message.as_ref() {
            Message::Tool { name, .. } if self.shape.is_answer(name) => None,
            Message::Assistant { content, tool_calls, .. } if self.is_judged() => {
                let content = if is_withheld { String::new() } else { content.clone() };
                let leaves = |call: &&ToolCall| !self.shape.is_answer(&call.name);
                let tool_calls: Vec<ToolCall> = tool_calls.iter().filter(leaves).cloned().collect();
                let has_calls = !tool_calls.is_empty();
                (has_calls || !is_withheld).then_some(Message::Assistant { content, tool_calls, raw: None })
            }
            other => (!is_withheld).then(|| other.clone()),
        }
    }
}
