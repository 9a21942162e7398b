//! Compares the entries that a replay has written with those of the record. Times differ and do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use engine::journal::{Entry, Fact, TurnEnd, TurnStop};
use serde_json::Value;
use wire::model::ToolCall;
use wire::protocol::{BudgetReason, FinishReason, digest_in};

use crate::record::{End, Record};

/// The first thing that goes another way.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The key of the entry: its kind and its place in the turn (`model_started:0.1-2:0`), or `end`.
    pub at: String,
    /// The fact as the record has it and as the replay has it, in JSON; none where one of them has none.
    pub recorded: Option<String>,
    pub replayed: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |side: &Option<String>| side.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "differs at {}\n  recorded: {}\n  replayed: {}",
            self.at,
            told(&self.recorded),
            told(&self.replayed)
        )
    }
}

/// Whether a replay takes this from the record.
pub fn is_frozen(fact: &Fact) -> bool {
    matches!(fact, Fact::Started(_) | Fact::Toolset(_) | Fact::Opened(_))
}

/// Whether it is not compared: it is frozen, or depends on how soon an answer came.
pub fn is_left_out(fact: &Fact) -> bool {
    matches!(fact, Fact::Parked { .. } | Fact::Unparked { .. }) || is_frozen(fact)
}

/// The levels of a record in which a hook asked a model by words that the record lacks.
fn without_words(record: &Record) -> BTreeSet<&str> {
    let opened = record.entries.iter().filter_map(|entry| match &entry.fact {
        Fact::Opened(spec) => digest_in(&spec.system).map(|_| entry.at.as_str()),
        _ => None,
    });
    opened.collect()
}

/// The verdicts of hooks that a replay takes as the record has them, because it has digests in the place of their words.
pub fn given_verdicts(record: &Record) -> usize {
    without_words(record).len()
}

/// The first difference between a record and its replay.
pub fn first(record: &Record, replayed: &[Entry], end: Option<&TurnEnd>) -> Option<Difference> {
    let of_replay: BTreeMap<String, &Entry> = replayed.iter().map(|entry| (entry.key(), entry)).collect();
    let of_record: BTreeMap<String, &Entry> =
        record.entries.iter().map(|entry| (entry.key(), entry)).collect();
    let without_words = without_words(record);
    let is_given = |entry: &Entry| {
        let level = entry.at.trim_end_matches(|digit: char| digit.is_ascii_digit());
        without_words.contains(level)
    };
    let fact =
        |entry: &Entry| if is_given(entry) { told(&without_request(&entry.fact)) } else { told(&entry.fact) };
    for entry in record.entries.iter().filter(|entry| !is_left_out(&entry.fact)) {
        let key = entry.key();
        let (recorded, replayed) = (fact(entry), of_replay.get(&key).map(|entry| fact(entry)));
        if replayed.as_ref() != Some(&recorded) {
            return Some(Difference { at: key, recorded: Some(recorded), replayed });
        }
    }
    for entry in replayed.iter().filter(|entry| !is_left_out(&entry.fact)) {
        let key = entry.key();
        if !of_record.contains_key(&key) {
            return Some(Difference { at: key, recorded: None, replayed: Some(told(&entry.fact)) });
        }
    }
    let recorded = record.end.as_ref()?;
    let replayed = end.map(End::from);
    let same = replayed.as_ref().is_some_and(|replayed| is_same_end(record, recorded, replayed));
    let json = |end: &End| serde_json::to_string(end).unwrap_or_default();
    (!same).then(|| Difference {
        at: "end".to_owned(),
        recorded: Some(json(recorded)),
        replayed: replayed.as_ref().map(json),
    })
}

/// A fact of a model call without what follows from the words of its request.
fn without_request(fact: &Fact) -> Fact {
    let mut fact = fact.clone();
    match &mut fact {
        Fact::ModelStarted { digest, held, held_microusd, .. } => {
            (*digest, *held, *held_microusd) = (String::new(), Default::default(), None);
        }
        Fact::ModelEnded { digest, .. } => digest.clear(),
        _ => {}
    }
    fact
}

/// A fact without its times, and without marks that older records lack, in JSON.
fn told(fact: &Fact) -> String {
    let mut fact = fact.clone();
    match &mut fact {
        Fact::ModelEnded { duration_ms, first_byte_ms, outcome, .. } => {
            (*duration_ms, *first_byte_ms) = (0, None);
            if let Some(reply) = outcome.reply_mut() {
                reply.usage = reply.usage.filter(|usage| !usage.estimated && *usage != Default::default());
            }
        }
        // Records of before the estimates have none where the provider counted nothing.
        Fact::ModelRetried { error, .. } => error.usage = error.usage.filter(|usage| !usage.estimated),
        // The content says that a call was refused. Records of before the audit log have no mark beside it.
        Fact::ToolEnded(end) => (end.duration_ms, end.refused) = (0, false),
        Fact::Waiting { since, until, limit, .. } => {
            (*since, *until) = (0, 0);
            if let Some(limit) = limit.as_mut().filter(|limit| limit.reason == BudgetReason::WallClock) {
                limit.observed = 0;
            }
        }
        // A dump has rounds of earlier turns, which the record has nowhere else.
        Fact::Called { calls, .. } => calls.iter_mut().for_each(without_content),
        Fact::Answered { at_ms, .. } => *at_ms = 0,
        Fact::Plan(plan) => plan.created_at = 0,
        Fact::Stopped(TurnStop::Budget { reason: BudgetReason::WallClock, observed, .. }) => *observed = 0,
        _ => {}
    }
    serde_json::to_string(&fact).unwrap_or_default()
}

/// Takes the content out of a call that writes a file.
fn without_content(call: &mut ToolCall) {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(&call.arguments) else { return };
    if arguments.remove("content").is_some() {
        call.arguments = Value::Object(arguments).to_string();
    }
}

/// Whether two ends are the same. The text of a reply that was cut off stands in no entry, so the record has more of it.
fn is_same_end(record: &Record, recorded: &End, replayed: &End) -> bool {
    let ended = |at: &str| {
        let is_end = |entry: &&Entry| matches!(entry.fact, Fact::ModelEnded { .. }) && entry.at == at;
        record.entries.iter().any(|entry| is_end(&entry))
    };
    let is_open = |entry: &Entry| matches!(entry.fact, Fact::ModelStarted { .. }) && !ended(&entry.at);
    let was_cut = record.entries.iter().any(is_open);
    let same_text = match was_cut {
        _ if recorded.finish_reason == Some(FinishReason::Interrupted) => true,
        true => recorded.content.starts_with(&replayed.content),
        false => recorded.content == replayed.content,
    };
    let ((stop, usage), (replayed_stop, replayed_usage)) = (without_times(recorded), without_times(replayed));
    let is_estimated = |end: &End| end.usage.as_ref().is_some_and(|usage| usage.estimated);
    // Records of before the estimates have none.
    let same_usage = usage == replayed_usage || (is_estimated(replayed) && !is_estimated(recorded));
    same_text && recorded.finish_reason == replayed.finish_reason && stop == replayed_stop && same_usage
}

/// The note of a stop and the ledger. Costs are sums whose order depends on who was faster.
fn without_times(end: &End) -> (Value, Value) {
    let mut stop = end.stop.clone();
    if let Some(limit) = stop.as_mut().and_then(|stop| stop.budget.as_mut())
        && limit.reason == BudgetReason::WallClock
    {
        limit.observed = 0;
    }
    let stop = serde_json::to_value(stop).unwrap_or_default();
    let mut usage = serde_json::to_value(&end.usage).unwrap_or_default();
    round(&mut usage);
    (stop, usage)
}

/// Rounds each number to a billionth.
fn round(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().map(|number| (number * 1e9).round());
            *value = rounded.map_or(Value::Null, |number| format!("{number}").into());
        }
        _ => {}
    }
}
