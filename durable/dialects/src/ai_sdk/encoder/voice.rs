//! Writes frames, but for those that the client has, and begins with `start`.

use crate::ai_sdk::frame::{self, Begun};
use crate::template::Hole;
use wire::protocol::Seq;

#[derive(Default)]
pub struct Voice {
    /// The client has the frames of all events up to this number.
    known: Seq,
    /// The number of the present event.
    pub seq: Seq,
    pub begun: Begun,
    has_begun: bool,
}

impl Voice {
    pub fn new(known: Seq) -> Self {
        Voice { known, ..Voice::default() }
    }

    /// Whether the client gets the present event.
    pub fn is_heard(&self) -> bool {
        self.seq > self.known
    }

    /// Writes a frame of the present event.
    pub fn tell(&mut self, out: &mut Vec<u8>, frame: &str, holes: &[Hole<'_>]) {
        if self.is_heard() {
            self.say(out, frame, holes);
        }
    }

    /// Writes a frame that belongs to no event.
    pub fn say(&mut self, out: &mut Vec<u8>, frame: &str, holes: &[Hole<'_>]) {
        self.start(out);
        frame::write(out, frame, holes);
    }

    /// Begins, if the client gets the present event.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_heard() {
            self.start(out);
        }
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            frame::write_start(out, &self.begun);
        }
    }
}
