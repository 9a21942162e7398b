//! The model calls for titles. They belong to no turn.

use super::Ledger;

impl Ledger {
    /// Notes that the service asks for a title.
    pub fn title_asked(&self, marker: &str) {
        *self.lock().titles.entry(marker.to_owned()).or_default() += 1;
    }

    /// How often the service asked for a title.
    pub fn titles(&self, marker: &str) -> u32 {
        self.lock().titles.get(marker).copied().unwrap_or(0)
    }
}
