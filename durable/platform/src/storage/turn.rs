//! A turn as its row has it, and the reasons for which the alarm is set. Pure.

use super::Failing;
use wire::protocol::{Seq, ThreadState};

/// A row of `turns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    pub turn_id: String,
    pub status: TurnStatus,
    pub generation: u64,
    pub resumptions: u32,
    pub assistant_message_id: String,
    pub seq_first: Seq,
    /// The number of `done`; none while the turn runs.
    pub seq_last: Option<Seq>,
    /// Set while the turn cannot be rebuilt.
    pub failing: Option<Failing>,
}

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStatus {
    /// It runs, or ran when its run was lost.
    Running,
    /// It waits for an answer of a person or a client, and nothing runs.
    Parked,
    Done,
}

impl TurnStatus {
    /// The state that the column `status` names.
    pub fn from_column(status: &str) -> Self {
        match status {
            "running" => TurnStatus::Running,
            "parked" => TurnStatus::Parked,
            _ => TurnStatus::Done,
        }
    }

    /// The state of the thread in lists; none where the turn is over.
    pub fn thread_state(self) -> Option<ThreadState> {
        match self {
            TurnStatus::Running => Some(ThreadState::Running),
            TurnStatus::Parked => Some(ThreadState::Waiting),
            TurnStatus::Done => None,
        }
    }
}

/// The timers (`schedule.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A queued turn asks for its place again.
    Turn,
    /// A call of a parked turn may expire.
    Parked,
    /// A mark that is never due: the running turn is queued. Its time counts how often the turn was refused a place
    /// (`place.rs`).
    Queued,
    /// The turn of the next queued message starts once no turn is open. Without this row the queue is held, or empty.
    Messages,
    /// D1 has refused news, and is asked again.
    Outbox,
    /// R2 has refused a record, and is asked again.
    Records,
    /// The notice of a session's end is sent, or sent again.
    Notices,
    /// The thread is deleted: it stands in no list, or all data of its user was erased, where the time is [`ERASED`].
    Erase,
    /// A model is asked for the thread's title.
    Title,
}

/// The time of [`Reason::Erase`] in a thread whose user's data was erased.
pub const ERASED: u64 = 0;

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 9] = [
        Reason::Turn,
        Reason::Parked,
        Reason::Queued,
        Reason::Messages,
        Reason::Outbox,
        Reason::Records,
        Reason::Notices,
        Reason::Erase,
        Reason::Title,
    ];

    /// The timer with this name. Newer code may have one that this code does not know.
    pub fn named(name: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// Whether the timer goes with the turn.
    pub fn is_of_turn(self) -> bool {
        matches!(self, Reason::Turn | Reason::Parked | Reason::Queued)
    }

    /// The name of the timer's row.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Turn => "turn",
            Reason::Parked => "parked",
            Reason::Queued => "queued",
            Reason::Messages => "messages",
            Reason::Outbox => "outbox",
            Reason::Records => "records",
            Reason::Notices => "notices",
            Reason::Erase => "erase",
            Reason::Title => "title",
        }
    }
}
