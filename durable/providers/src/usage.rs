//! The parts of a provider's usage that all codecs read in the same way: the service tier, and the members that no codec
//! knows. Such a member may be a new kind of token that costs money, so its replies count it and the log names it once.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use wire::model::ServiceTier;

/// The most names that an isolate keeps, and the longest one. Providers are foreign and may send any.
const MAX_NAMES: usize = 50;
const MAX_USAGE_MEMBER: usize = 100;

/// The unknown members that this isolate has met, and those of them that the log does not have yet.
#[derive(Default)]
struct Unknown {
    met: BTreeSet<String>,
    new: Vec<String>,
}

thread_local!(static UNKNOWN: RefCell<Unknown> = RefCell::default());

/// The tier by the provider's word; the one that the request asked for where the provider does not tell.
pub(crate) fn service_tier(word: &str, asked: ServiceTier) -> ServiceTier {
    if word.is_empty() { asked } else { ServiceTier::of(word) }
}

/// The number of members that are more than zero and not `known`, also one level down (`outer.inner`). `*` at the end of
/// a known name stands for any characters.
pub(crate) fn unknown_members(wire: &str, usage: &RawValue, known: &[&str]) -> u64 {
    let Ok(members) = wire::json::from_str::<Map<String, Value>>(usage.get()) else { return 0 };
    let is_amount = |value: &Value| value.as_f64().is_some_and(|amount| amount > 0.0);
    let is_known = |name: &str| {
        known.iter().any(|known| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *known,
        })
    };
    let mut count = 0;
    for (name, value) in &members {
        let inner = value.as_object().into_iter().flatten();
        let within = inner.map(|(inner, value)| (format!("{name}.{inner}"), value));
        for (name, value) in within.chain([(name.clone(), value)]) {
            if is_amount(value) && !is_known(&name) {
                count += 1;
                UNKNOWN.with_borrow_mut(|unknown| unknown.meet(format!("{wire}: {name}")));
            }
        }
    }
    count
}

/// The unknown members that came for the first time since the last call, each with its wire.
pub fn new_unknown_members() -> Vec<String> {
    UNKNOWN.with_borrow_mut(|unknown| std::mem::take(&mut unknown.new))
}

impl Unknown {
    fn meet(&mut self, name: String) {
        let fits = name.len() <= MAX_USAGE_MEMBER
            && name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if fits && self.met.len() < MAX_NAMES && self.met.insert(name.clone()) {
            self.new.push(name);
        }
    }
}

#[cfg(test)]
mod tests;
