//! Remembers for a short time which models failed, so that a chain begins with a model that works.
//! Each thread's object has one, in memory alone. Losing it costs a request. The breaker only changes the order of a
//! chain: every model of the chain can still be asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[cfg(test)]
mod tests;

/// How long a model rests after a failure, in milliseconds. Each further failure doubles the time, up to the limit.
const REST_MS: u64 = 30_000;
const LONGEST_REST_MS: u64 = 300_000;
/// The most models to remember: as many as a configuration may have.
const MODELS: usize = 64;

/// The memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Breaker(Rc<RefCell<BTreeMap<String, Circuit>>>);

#[derive(Debug, Default)]
struct Circuit {
    failures: u32,
    rests_until_ms: u64,
    /// A call tries the model out after its rest. Other calls wait for the outcome.
    probed: bool,
}

impl Breaker {
    /// Whether the chain should ask the model in its place: it has not failed, or its rest is over and no call tries it
    /// out yet.
    pub fn is_ready(&self, model: &str, now_ms: u64) -> bool {
        let circuits = self.0.borrow();
        circuits.get(model).is_none_or(|circuit| circuit.rests_until_ms <= now_ms && !circuit.probed)
    }

    /// Records that a call asks a model now.
    pub fn ask(&self, model: &str) -> Asking {
        let mut circuits = self.0.borrow_mut();
        let probes = match circuits.get_mut(model) {
            Some(circuit) => !std::mem::replace(&mut circuit.probed, true),
            None => false,
        };
        Asking { breaker: self.clone(), model: model.to_owned(), probes }
    }
}

/// A call in progress. Dropping it without an outcome changes nothing for the model.
#[derive(Debug)]
pub struct Asking {
    breaker: Breaker,
    model: String,
    /// Whether this call tries the model out.
    probes: bool,
}

impl Asking {
    /// Records that the model works, and forgets its failures.
    pub fn answered(mut self) {
        self.probes = false;
        self.breaker.0.borrow_mut().remove(&self.model);
    }

    /// Records that the model failed. `asked_ms` is the wait that its provider asks for.
    pub fn failed(mut self, now_ms: u64, asked_ms: Option<u64>) {
        let mut circuits = self.breaker.0.borrow_mut();
        if circuits.len() >= MODELS && !circuits.contains_key(&self.model) {
            let oldest = circuits.iter().min_by_key(|(_, circuit)| circuit.rests_until_ms);
            if let Some(oldest) = oldest.map(|(model, _)| model.clone()) {
                circuits.remove(&oldest);
            }
        }
        let circuit = circuits.entry(self.model.clone()).or_default();
        // Parallel calls fail for the same reason, so they count once.
        if circuit.rests_until_ms <= now_ms {
            circuit.failures = circuit.failures.saturating_add(1);
        }
        let rest_ms = REST_MS.saturating_mul(1 << (circuit.failures.saturating_sub(1)).min(16));
        let rest_ms = rest_ms.max(asked_ms.unwrap_or(0)).min(LONGEST_REST_MS);
        circuit.rests_until_ms = circuit.rests_until_ms.max(now_ms.saturating_add(rest_ms));
        circuit.probed &= !std::mem::take(&mut self.probes);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if self.probes
            && let Some(circuit) = self.breaker.0.borrow_mut().get_mut(&self.model)
        {
            circuit.probed = false;
        }
    }
}
