//! The answers of levels whose hooks judge them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Shown, key};
use crate::journal::{Fact, ModelOutcome};
use crate::record::keys;
use wire::model::{Message, ModelReply};
use wire::protocol::{Event, HookPoint};

/// The answer in JSON that a reply of the root gives by a call.
fn given(case: &Case, reply: &ModelReply) -> Option<String> {
    let answer = case.setting.shape.as_ref()?.answer.as_ref()?;
    reply.tool_calls.iter().find(|call| call.name == answer.name).map(|call| call.arguments.clone())
}

/// The text of each reply that hooks had to judge, by the key of its model call.
pub(super) fn drafted(case: &Case) -> BTreeMap<String, String> {
    let entries = case.disk.entries.borrow();
    let drafts = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ModelEnded { outcome: ModelOutcome::Drafted(reply), .. } => {
            Some((entry.at.clone(), given(case, reply).unwrap_or_else(|| reply.text.clone())))
        }
        _ => None,
    });
    drafts.collect()
}

/// The model calls of the answers that passed, in order. An answer has the replies before it that paused.
fn passed(case: &Case) -> Vec<String> {
    let (mut open, mut passed) = (BTreeMap::<&str, Vec<&str>>::new(), Vec::new());
    let entries = case.disk.entries.borrow();
    for entry in entries.iter() {
        match &entry.fact {
            Fact::ModelEnded { outcome: ModelOutcome::Drafted(reply), .. } => {
                let replies = open.entry(keys::level(&entry.at)).or_default();
                replies.push(&entry.at);
                if !reply.tool_calls.is_empty() {
                    replies.clear();
                }
                replies.extend(given(case, reply).map(|_| entry.at.as_str()));
            }
            Fact::HookSaid(said) if said.point == HookPoint::Answer && said.blocks() => {
                open.remove(keys::level(keys::about_of(&entry.at).0));
            }
            Fact::AnswerPassed => {
                let replies = open.remove(keys::level(&entry.at)).unwrap_or_default();
                passed.extend(replies.into_iter().map(str::to_owned));
            }
            _ => {}
        }
    }
    passed
}

/// No reader of any run gets a text that hooks have not let pass, and nothing that the turn leaves has one.
pub(super) fn answers(case: &Case, shown: &Shown<'_>) {
    let (drafted, passed) = (drafted(case), passed(case));
    if drafted.is_empty() {
        return;
    }
    let mut seen = BTreeMap::<&str, String>::new();
    for event in case.seen.values() {
        let Event::Chunk { content, model_call_id, .. } = event else { continue };
        let at = key(model_call_id);
        assert!(!is_silent(case, at), "{at} judges an answer, and readers hear it\n{shown}");
        seen.entry(at).or_default().push_str(content);
    }
    for (at, text) in seen.iter().filter(|(at, _)| drafted.contains_key(**at)) {
        assert!(passed.iter().any(|passed| passed == at), "{at} did not pass\n{shown}");
        assert_eq!(*text, drafted[*at], "{shown}");
    }
    let texts: BTreeSet<&String> = passed.iter().map(|at| &drafted[at]).collect();
    let withheld = drafted.iter().filter(|(at, _)| !passed.contains(at)).map(|(_, text)| text);
    let withheld: Vec<&String> = withheld
        .filter(|text| !text.is_empty() && !texts.iter().any(|passed| passed.contains(*text)))
        .collect();
    let end = case.end();
    let rounds = end.agents.iter().flat_map(|row| row.rounds.iter().flatten());
    let left = end.history.iter().chain(rounds).filter_map(|message| match message {
        Message::Assistant { content, .. } => Some(content.clone()),
        _ => None,
    });
    let left: Vec<String> = left.chain([end.message.content.clone()]).collect();
    for text in withheld {
        assert!(!left.iter().any(|left| left.contains(text)), "{text:?} is left\n{left:#?}\n{shown}");
    }
    let root: Vec<&str> = passed
        .iter()
        .filter(|at| keys::level(at).is_empty())
        .map(|at| drafted[at].as_str())
        .filter(|text| !text.is_empty())
        .collect();
    if case.setting.hooks.iter().any(|hook| hook.on == HookPoint::Answer) {
        assert_eq!(end.message.content, root.join("\n\n"), "{shown}");
    }
}

/// Whether a model call judges an answer.
fn is_silent(case: &Case, at: &str) -> bool {
    let entries = case.disk.entries.borrow();
    entries.iter().any(|entry| {
        matches!(&entry.fact, Fact::HookAsked { point: HookPoint::Answer, .. })
            && at.starts_with(&format!("{}-hook-", entry.at))
    })
}
