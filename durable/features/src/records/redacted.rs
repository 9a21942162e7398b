//! A record without the words of the operator's hooks, as everybody but an admin gets it. R2 has the record whole.
//!
//! Digests stand in the place of the words: in the hooks of entry 0, in the prompts of the levels in which these hooks ask
//! their models, and in what those models wrote beside their verdicts. All else stays, so the turn can be replayed.

use std::borrow::Cow;
use std::collections::BTreeSet;

use engine::hooks::asks_model;
use engine::journal::{Entry, Fact, ModelOutcome, TurnSpec};
use engine::profiles::Role;
use serde_json::Value;
use sha2::{Digest, Sha256};
use wire::protocol::{Hook, digest_in, digest_text, hex};

/// The beginning of the fact of entry 0, and of the opening of a level, in a line. No text within a string of JSON has these
/// bytes.
const STARTED: &str = r#","fact":{"started":"#;
const OPENED: &str = r#","fact":{"opened":"#;
/// The end of the path of a level in which a hook asks its model.
const OF_HOOK: &str = "-hook-";

/// Takes the words of the operator's hooks out of a record, while it arrives. It holds one line.
#[derive(Default)]
pub struct Redactor {
    /// The beginning of a line whose end has not arrived.
    begun: Vec<u8>,
    /// The words of hooks that may be the operator's, where entry 0 does not say which are.
    doubtful: Vec<String>,
    /// The levels in which such hooks ask their models.
    levels: BTreeSet<String>,
}

impl Redactor {
    /// The lines that are complete with these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.begun.extend(bytes);
            return Vec::new();
        };
        let (whole, begun) = bytes.split_at(end + 1);
        let mut lines = std::mem::replace(&mut self.begun, begun.to_vec());
        lines.extend(whole);
        self.lines(&lines)
    }

    /// The last line, if no line break ends it.
    pub fn finish(&mut self) -> Vec<u8> {
        let begun = std::mem::take(&mut self.begun);
        self.lines(&begun)
    }

    fn lines(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut told = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // A record is text; a line that is none has nothing that a reader could want.
            if let Ok(line) = std::str::from_utf8(line) {
                told.extend(self.line(line).as_bytes());
            }
        }
        told
    }

    fn line<'l>(&mut self, line: &'l str) -> Cow<'l, str> {
        let (is_start, is_opening) = (line.contains(STARTED), line.contains(OPENED));
        let level = level_of(line).filter(|level| level.ends_with(OF_HOOK));
        if !(is_start || level.is_some_and(|level| is_opening || self.levels.contains(level))) {
            return Cow::Borrowed(line);
        }
        // A line that this version cannot read may have any words: readers do not get it.
        let Ok(mut entry) = wire::json::from_str::<Entry>(line) else { return Cow::Borrowed("") };
        let is_changed = match &mut entry.fact {
            Fact::Started(spec) => self.start(spec),
            Fact::Opened(spec) => {
                let is_doubtful = self.doubtful.iter().any(|words| spec.system.contains(words.as_str()));
                if spec.models != Some(Role::Guard) && !is_doubtful {
                    return Cow::Borrowed(line);
                }
                self.levels.insert(entry.at.clone());
                spec.system = redacted_text(&spec.system);
                true
            }
            Fact::ModelEnded { outcome, .. } if level.is_some_and(|level| self.levels.contains(level)) => {
                match outcome {
                    ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply) => {
                        reply.raw = None;
                        reply.text = redacted_text(&reply.text);
                    }
                    ModelOutcome::Failed { said, .. } => *said = redacted_text(said),
                }
                true
            }
            Fact::Unknown(_) => return Cow::Borrowed(""),
            _ => false,
        };
        let end = if line.ends_with('\n') { "\n" } else { "" };
        match serde_json::to_string(&entry) {
            Ok(text) if is_changed => Cow::Owned(text + end),
            Ok(_) => Cow::Borrowed(line),
            Err(_) => Cow::Borrowed(""),
        }
    }

    /// Redacts the hooks of entry 0.
    fn start(&mut self, spec: &mut TurnSpec) -> bool {
        let guards = spec.setting.guards.as_ref().map(|guards| guards.hooks);
        // Former turns do not say whose their hooks are. A hook of a thread has the time at which it was put.
        let is_operators = |at: usize, hook: &Hook| match guards {
            Some(count) => at < count,
            None => hook.put_at.is_none(),
        };
        let mut is_changed = false;
        for (at, hook) in spec.setting.hooks.iter_mut().enumerate() {
            if !is_operators(at, hook) || !asks_model(hook) {
                continue;
            }
            if guards.is_none() {
                let options = hook.options.values().filter_map(Value::as_str).map(str::to_owned);
                let words = hook.instructions.clone().into_iter().chain(options);
                // A prompt has them as data.
                let words = words.filter(|words| digest_in(words).is_none());
                self.doubtful.extend(words.map(|words| words.replace('<', "\\u003c")));
            }
            hook.instructions = Some(digest_text(&hook.digest()));
            hook.options.clear();
            is_changed = true;
        }
        is_changed
    }
}

/// The level that a line belongs to: the path of an opening, or that of a step without its number.
fn level_of(line: &str) -> Option<&str> {
    let (at, _) = line.strip_prefix(r#"{"at":""#)?.split_once('"')?;
    Some(at.trim_end_matches(|digit: char| digit.is_ascii_digit()))
}

/// A digest in the place of a text, as long as the text where that is longer: the requests of a replay have their sizes.
fn redacted_text(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let digest = hex(&Sha256::digest(text)).chars().take(16).collect::<String>();
    if digest_in(text).is_some() {
        return text.to_owned();
    }
    let mut redacted = digest_text(&digest);
    redacted.extend(std::iter::repeat_n(' ', text.len().saturating_sub(redacted.len())));
    redacted
}

/// A whole record without the words of the operator's hooks.
pub fn redacted(record: &[u8]) -> Vec<u8> {
    let mut redactor = Redactor::default();
    let mut told = redactor.push(record);
    told.extend(redactor.finish());
    told
}

#[cfg(test)]
mod tests;
