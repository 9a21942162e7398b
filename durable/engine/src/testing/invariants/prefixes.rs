//! The beginnings of a level's requests.

use std::collections::BTreeMap;

use super::{Case, Shown};
use crate::journal::{Cut, Fact};
use crate::record::keys;
use wire::model::{Message, ModelRequest, RawMessage};

/// The cuts of a turn, by the keys of their model calls.
pub fn cuts(case: &Case) -> BTreeMap<String, Cut> {
    let entries = case.disk.entries.borrow();
    let cut = |fact: &Fact| match fact {
        Fact::ModelStarted { cut, .. } => cut.clone(),
        _ => None,
    };
    entries.iter().filter_map(|entry| Some((entry.at.clone(), cut(&entry.fact)?))).collect()
}

/// The message in its provider's form.
pub fn raw_of(message: &Message) -> Option<&RawMessage> {
    match message {
        Message::Assistant { raw, .. } => raw.as_ref(),
        Message::User { .. } | Message::Tool { .. } => None,
    }
}

/// In each level each request begins with the one before it, unless the journal has a cut. After a cut no request has
/// reasoning of the messages before it. All runs of the turn count.
pub(super) fn prefixes(case: &Case, shown: &Shown<'_>) {
    let is_former = case.disk.entries.borrow().iter().any(|entry| match &entry.fact {
        Fact::Started(spec) => spec.estimates == 0,
        _ => false,
    });
    if is_former {
        return;
    }
    let cuts = cuts(case);
    let (requests, asked_at) = (case.model.requests.borrow(), case.model.asked_at.borrow());
    let mut levels: BTreeMap<&str, Vec<(&str, &ModelRequest)>> = BTreeMap::new();
    for (at, request) in asked_at.iter().zip(requests.iter()) {
        levels.entry(keys::level(at)).or_default().push((at, request));
    }
    for asked in levels.values() {
        let (mut before, mut cut_at): (Option<(&str, &ModelRequest)>, usize) = (None, 0);
        for (at, request) in asked.iter().copied() {
            // A call whose run was lost is made again as it was.
            let is_again = before.is_some_and(|(before, _)| before == at);
            let is_cut = cuts.contains_key(at) && !is_again;
            let begins_alike = before.is_none_or(|(_, before)| {
                (&request.system, &request.tools) == (&before.system, &before.tools)
                    && request.messages.starts_with(&before.messages)
            });
            assert!(is_cut || begins_alike, "{at} begins otherwise: {before:#?}\n{request:#?}\n{shown}");
            if is_cut {
                cut_at = request.messages.len();
            }
            let mut older = request.messages.iter().take(cut_at).filter_map(|message| raw_of(message));
            assert!(older.all(|raw| raw.is_cut_off), "{at} has older reasoning: {request:#?}\n{shown}");
            before = Some((at, request));
        }
    }
}
