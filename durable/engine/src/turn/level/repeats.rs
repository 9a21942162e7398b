//! The calls that the model of a level makes in a row. A level on a course counts them; the course says what follows.

use crate::record::keys::Digest;

/// An identical call is a repetition from this time in a row on (W-097).
const TIMES: u32 = 3;

/// The last call, how often it came in a row, and whether any call was repeated.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    last: Option<Digest>,
    times: u32,
    found: bool,
}

impl Repeats {
    /// Counts the next call. It is identical to the one before if name and arguments are, byte by byte.
    pub(crate) fn add(&mut self, name: &str, arguments: &str) {
        let call = Some(Digest::new().with(name).with(arguments));
        self.times = if self.last == call { self.times.saturating_add(1) } else { 1 };
        self.last = call;
        self.found |= self.times >= TIMES;
    }

    /// Starts the count again.
    pub(crate) fn begin_anew(&mut self) {
        self.last = None;
    }

    /// Whether any call was repeated so far.
    pub(crate) fn found(&self) -> bool {
        self.found
    }
}
