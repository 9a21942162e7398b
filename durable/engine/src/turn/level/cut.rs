//! The messages that a level leaves out of its requests.
//!
//! A level whose messages are beyond the limit cuts them once, so far that the rest fits for several rounds. Until the
//! next cut its requests only grow: each begins with the request before it. So the provider reads that part from its
//! cache, and reasoning in it that the provider binds to everything before stays valid. A cut, and messages or tools that
//! give way to others, end both: from there on, requests have no reasoning of the messages before.
//!
//! Turns that former code began prune each request anew.
//!
//! After a cut, messages of before it go without such reasoning: `RawMessage::is_cut_off` says so, and each codec
//! knows what its API takes then. What the service says within a turn (remarks of hooks, reminders) stands behind what
//! was sent. A summary made in mid-turn and a new stage of a workflow replace messages or tools, and count as cuts. A
//! run that takes the turn up makes the cuts of the journal, without an estimate of its own. A turn of before cuts
//! (`TurnSpec::estimates`) prunes each request anew.

use std::ops::Range;
use std::rc::Rc;

use super::prune::{fixed_tokens, kept_places, messages_tokens, prune};
use super::{Level, Shortening};
use crate::journal::Cut;
use wire::model::{Message, ModelRequest};

/// A cut leaves three fifths of the limit: the rounds after it have two fifths, and the model still sees the most of its
/// work.
const LEAVES: u64 = 3;
const OF: u64 = 5;

/// The cuts of a level.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// The turn's rules for estimates; 0: each request is pruned anew.
    rules: u32,
    /// The places of the messages that requests leave out, in order.
    left_out: Vec<Range<usize>>,
    /// The cut before the next model call.
    before_call: Option<Cut>,
    /// Whether the level has asked its model.
    has_asked: bool,
    /// Whether messages or tools of its last request have given way to others.
    has_replaced: bool,
}

impl Cuts {
    pub(super) fn new(rules: u32) -> Self {
        Cuts { rules, ..Cuts::default() }
    }

    /// Messages or tools gave way to others: what is left out is decided anew.
    pub(super) fn replaced(&mut self) {
        self.left_out.clear();
        self.has_replaced = self.has_asked;
    }
}

impl Level {
    /// The messages of the next request.
    pub(super) fn sent(&self) -> Vec<Rc<Message>> {
        match self.cuts.rules {
            0 => prune(&self.messages, self.earlier.summaries(), self.stage_from(), self.message_tokens),
            _ => self.without(&self.cuts.left_out),
        }
    }

    fn without(&self, left_out: &[Range<usize>]) -> Vec<Rc<Message>> {
        let is_sent = |place: &usize| !left_out.iter().any(|places| places.contains(place));
        let messages = self.messages.iter().enumerate().filter(|(place, _)| is_sent(place));
        messages.map(|(_, message)| Rc::clone(message)).collect()
    }

    /// The place of the turn's first message in the next request; none in a turn of former code.
    pub(super) fn turn_from(&self) -> Option<usize> {
        let before = |places: &Range<usize>| places.end.min(self.own_from).saturating_sub(places.start);
        let left_out: usize = self.cuts.left_out.iter().map(before).sum();
        (self.cuts.rules > 0).then(|| self.own_from.saturating_sub(left_out))
    }

    /// The cut that the next request needs; none where it begins with the request before it. `thresholds`: the lengths of
    /// prompts, in tokens, beyond which each token costs more.
    pub(in crate::turn) fn due_cut(&self, thresholds: &[u64]) -> Option<Cut> {
        if self.cuts.rules == 0 {
            return None;
        }
        let fits = messages_tokens(&self.sent()) <= self.message_tokens;
        let left_out = if fits { self.cuts.left_out.clone() } else { self.places_to_leave_out(thresholds) };
        let is_due = self.cuts.has_replaced || left_out != self.cuts.left_out;
        is_due.then_some(Cut { messages: self.messages.len(), left_out })
    }

    fn places_to_leave_out(&self, thresholds: &[u64]) -> Vec<Range<usize>> {
        let left = self.tokens_after_cut(thresholds);
        let kept = kept_places(&self.messages, self.earlier.summaries(), self.stage_from(), left);
        let mut from = 0;
        let mut left_out = Vec::new();
        for places in kept {
            left_out.extend(Some(from..places.start).filter(|gap| !gap.is_empty()));
            from = from.max(places.end);
        }
        left_out
    }

    /// The tokens of messages that a cut leaves. Where the model's price rises within the upper half of the limit, the cut
    /// aims below that threshold: then most of the requests that follow cost the lower price.
    ///
    /// The first request of a level leaves out a multiple of what a cut frees. So a thread that is longer than the limit
    /// loses the same messages in several turns, and their requests begin alike.
    fn tokens_after_cut(&self, thresholds: &[u64]) -> u64 {
        let limit = self.message_tokens;
        let fixed = fixed_tokens(&self.system, &self.tools);
        let thresholds = thresholds.iter().map(|tokens| tokens.saturating_sub(fixed));
        let cheap = thresholds.filter(|tokens| *tokens < limit && *tokens >= limit / 2).min();
        let aim = cheap.unwrap_or(limit).saturating_mul(LEAVES) / OF;
        if self.cuts.has_asked {
            return aim;
        }
        let all = messages_tokens(&self.messages);
        let freed = (limit - aim).max(1);
        all.saturating_sub(all.saturating_sub(limit).div_ceil(freed).saturating_mul(freed))
    }

    /// The tokens that the level's messages may grow after a cut; 0 in a turn of former code, which makes none.
    pub(super) fn room_after_cut(&self) -> u64 {
        match self.cuts.rules {
            0 => 0,
            _ => self.message_tokens / OF * (OF - LEAVES),
        }
    }

    /// Leaves messages out from here on. Reasoning of the messages so far is invalid.
    pub(in crate::turn) fn apply_cut(&mut self, cut: Cut) {
        for message in &mut self.messages {
            if !matches!(&**message, Message::Assistant { raw: Some(raw), .. } if !raw.is_cut_off) {
                continue;
            }
            let before = Rc::clone(message);
            if let Message::Assistant { raw: Some(raw), .. } = Rc::make_mut(message) {
                raw.is_cut_off = true;
            }
            self.drafts.replaced(&before, message);
        }
        self.cuts.left_out.clone_from(&cut.left_out);
        self.cuts.has_replaced = false;
        self.cuts.before_call = Some(cut);
    }

    /// The cut that was made before the next model call.
    pub(in crate::turn) fn cut_before_call(&self) -> Option<&Cut> {
        self.cuts.before_call.as_ref()
    }

    /// The request of the next model call, had the level made this cut.
    pub(in crate::turn) fn request_after(&self, cut: &Cut) -> ModelRequest {
        ModelRequest { messages: self.without(&cut.left_out), ..self.request() }
    }

    /// A model call has its outcome.
    pub(super) fn heard_cut(&mut self) {
        (self.cuts.has_asked, self.cuts.before_call) = (true, None);
        if self.shortening == Shortening::Again {
            // With cuts, a level may be shortened again.
            self.shortening = if self.cuts.rules == 0 { Shortening::Done } else { Shortening::No };
        }
    }

    /// Lowers the token limit of the messages, so that the next request has half of the tokens of the last one. Returns
    /// whether that makes it shorter.
    pub(super) fn shorten(&mut self) -> bool {
        if self.shortening != Shortening::No {
            return false;
        }
        let before = self.sent();
        let sent = messages_tokens(&before);
        self.message_tokens = if self.cuts.rules == 0 { sent / 2 } else { sent / 2 * OF / LEAVES };
        self.shortening = Shortening::Again;
        self.digest = self.digest.with("shortened");
        let after = self.due_cut(&[]).map_or_else(|| self.sent(), |cut| self.without(&cut.left_out));
        after.len() < before.len()
    }
}
