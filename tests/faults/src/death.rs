//! The deaths of runs, and the repetitions that they excuse.

use tokio::time::Instant;

/// The ways to lose a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Death {
    /// SIGKILL of the runtime.
    Kill,
    /// `ctx.abort()` of one object.
    Abort,
    /// A panic, which takes all objects of the isolate with it.
    Panic,
}

/// A run that was lost.
#[derive(Clone)]
pub struct Lost {
    pub at: Instant,
    pub until: Instant,
    /// The life that ended with it; none for a death inside the runtime.
    pub life: Option<u32>,
    /// The thread of the object that died alone: the death concerns the turn that is there, and one that replaces it
    /// before the strike.
    pub thread: Option<String>,
    /// The levels whose model call was under way, and how many of these were made again; none where that is not known.
    pub under_way: Option<u32>,
    pub repeated: u32,
}

impl Lost {
    /// Whether a death excuses that a call which began at `at` in one life is made again `now` in another.
    pub fn excuses(&self, thread: Option<&str>, at: Instant, life: u32, next: u32, now: Instant) -> bool {
        match self.life {
            Some(ended) => life <= ended && ended < next,
            None => {
                let concerned = self.thread.as_deref().is_none_or(|only| Some(only) == thread);
                concerned && at < self.until && self.at < now
            }
        }
    }
}
