//! A short memory of which models could not answer, so that a chain does not begin with one that is known to be down.
//!
//! One for each thread's object, in memory alone: what it forgets costs a request. It never keeps a model from being
//! asked; it only puts the others before it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[cfg(test)]
mod tests;

/// How long a model rests after it failed, in milliseconds; twice as long each time it fails again, up to a limit.
const REST_MS: u64 = 30_000;
const LONGEST_REST_MS: u64 = 300_000;
/// The most models that are remembered: as many as a configuration may have.
const MODELS: usize = 64;

/// The memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Breaker(Rc<RefCell<BTreeMap<String, Circuit>>>);

#[derive(Debug, Default)]
struct Circuit {
    failures: u32,
    rests_until_ms: u64,
    /// Somebody is asking it for the first time after its rest: the others wait for what comes of it.
    probed: bool,
}

impl Breaker {
    /// Whether a model is to be asked in its turn: it did not fail, or its rest is over and nobody tries it out yet.
    pub fn is_ready(&self, model: &str, now_ms: u64) -> bool {
        let circuits = self.0.borrow();
        circuits.get(model).is_none_or(|circuit| circuit.rests_until_ms <= now_ms && !circuit.probed)
    }

    /// A model is asked now.
    pub fn ask(&self, model: &str) -> Asking {
        let mut circuits = self.0.borrow_mut();
        let probes = match circuits.get_mut(model) {
            Some(circuit) => !std::mem::replace(&mut circuit.probed, true),
            None => false,
        };
        Asking { breaker: self.clone(), model: model.to_owned(), probes }
    }
}

/// A model that is being asked. Dropped without a word it says nothing about the model.
#[derive(Debug)]
pub struct Asking {
    breaker: Breaker,
    model: String,
    /// Whether this is the one that tries a model out.
    probes: bool,
}

impl Asking {
    /// The model works: whatever it did before is forgotten.
    pub fn answered(mut self) {
        self.probes = false;
        self.breaker.0.borrow_mut().remove(&self.model);
    }

    /// The model cannot answer now. `asked_ms` is how long its provider wants to be left alone.
    pub fn failed(mut self, now_ms: u64, asked_ms: Option<u64>) {
        let mut circuits = self.breaker.0.borrow_mut();
        if circuits.len() >= MODELS && !circuits.contains_key(&self.model) {
            let oldest = circuits.iter().min_by_key(|(_, circuit)| circuit.rests_until_ms);
            if let Some(oldest) = oldest.map(|(model, _)| model.clone()) {
                circuits.remove(&oldest);
            }
        }
        let circuit = circuits.entry(self.model.clone()).or_default();
        // Calls that ran side by side fail for one reason: they count once.
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
