//! Decides in which steps a chat request gets to its turn, and how an outcome changes them. Pure: it never awaits,
//! reads no clock and names no platform, so its tests run natively. `chat.rs` carries the steps out.
//!
//! Other requests run while a step awaits. After each of these steps the machine therefore looks at the thread again,
//! and makes its checks again, before it goes on.

use engine::profiles::Grant;
use uuid::Uuid;
use wire::protocol::{ApiError, ChatCommand, ChatRequest, ErrorCode, IfRunning, Owner};

use crate::storage::turn::TurnRow;

/// How a request meets a turn that has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// It is refused.
    #[default]
    Refuse,
    /// It stops that turn.
    Supersede,
    /// It goes into the queue.
    Queue,
    /// The object starts the first message of the queue: it stays there.
    Next,
}

/// A message with its user, its thread, and the manner in which it comes to its turn.
pub struct TurnRequest<'a> {
    pub owner: &'a Owner,
    pub thread_id: Uuid,
    pub chat: &'a ChatCommand,
    pub manner: Manner,
}

impl Manner {
    /// The manner that a client asks for.
    pub fn of(request: &ChatRequest) -> Self {
        match (request.if_running, request.request_seq) {
            (Some(IfRunning::Queue), _) => Manner::Queue,
            (Some(IfRunning::Supersede), _) | (None, Some(_)) => Manner::Supersede,
            (None, None) => Manner::Refuse,
        }
    }
}

/// The next step of a request. `C`: the collections that it names; `R`: the text that was looked up for it; `O`: the tools
/// that its user's MCP servers offer.
#[derive(Debug, PartialEq)]
pub enum Step<'a, C, R, O> {
    /// Read the thread, take up a lost turn, and look for the request's own turn; answered by [`Admission::looked`].
    Look,
    /// Look for a turn that has no end yet; answered by [`Admission::found`].
    LookForOpen,
    /// Check the model and the message to replace, before the request costs anything and before it stops a turn;
    /// answered by [`Admission::checked`].
    Check,
    /// Stop the open turn for the request with this `request_seq` (awaits); answered by [`Admission::superseded`].
    Supersede(Option<u64>),
    /// Put the message at the end of the queue; answered by [`Admission::queued`].
    Queue,
    /// Keep other requests of the thread from being admitted until this one has started (awaits): of requests that come
    /// together one is charged. Answered by [`Admission::locked`].
    Lock,
    /// Look up the collections that the request names (awaits), before it is charged: a missing collection refuses the
    /// request. Answered by [`Admission::asked`].
    LookUpCollections,
    /// Ask the quotas to admit the turn (awaits); answered by [`Admission::granted`].
    Admit,
    /// Search the memories and these collections (awaits). A provider is paid for that, so the turn is charged first.
    /// Answered by [`Admission::retrieved`].
    Retrieve(&'a C),
    /// Ask the MCP servers for their tools (awaits); answered by [`Admission::offered`].
    Offer,
    /// Start the turn, in one transaction that awaits nothing; answered by [`Admission::started`].
    Start { grant: Grant, retrieved: &'a R, offered: &'a O },
    /// Give back the grant of a turn that does not start (awaits), while no other request of the thread can be admitted,
    /// a retry of this one included. Answered by [`Admission::released`].
    Release,
    /// The request has this turn.
    Answer(&'a TurnRow),
    /// The message waits in the queue.
    AnswerQueued,
    /// The request is refused.
    Refuse(&'a ApiError),
}

/// The findings of [`Step::Look`].
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// The request's own turn: the request is a retry.
    pub turn: Option<TurnRow>,
    /// The highest `request_seq` of other requests of the thread, started or still waiting for the turn that they stop.
    pub highest_seq: Option<u64>,
    /// The message is in the queue.
    pub is_queued: bool,
    /// The message was taken out of the queue: the request is a repetition that came late.
    pub is_removed: bool,
    /// The queue has messages, and their turns start by themselves.
    pub queue_goes_on: bool,
}

/// The things that a request has so far. It gets them one after another, in this order.
#[derive(Debug)]
enum Gathered<C, R, O> {
    Nothing,
    Alone,
    Collections(C),
    Grant(Grant, C),
    Retrieved(Grant, R),
    Offered(Grant, R, O),
}

#[derive(Debug)]
enum State {
    Look,
    LookForOpen,
    Check(Checked),
    Supersede,
    Queue,
    Gather,
    /// The error with which the request is refused; none where it begins anew.
    Release(Option<ApiError>),
    Answer(TurnRow),
    AnswerQueued,
    Refuse(ApiError),
}

/// The step after the check of a request.
#[derive(Clone, Copy, Debug)]
enum Checked {
    Supersede,
    Queue,
    Gather,
}

/// A chat request on its way to its turn.
#[derive(Debug)]
pub struct Admission<C, R, O> {
    manner: Manner,
    request_seq: Option<u64>,
    /// The queue had messages at the last look, and their turns start by themselves.
    queue_goes_on: bool,
    gathered: Gathered<C, R, O>,
    state: State,
}

impl<C, R, O> Admission<C, R, O> {
    /// A request with this `request_seq`.
    pub fn new(manner: Manner, request_seq: Option<u64>) -> Self {
        Admission {
            manner,
            request_seq,
            queue_goes_on: false,
            gathered: Gathered::Nothing,
            state: State::Look,
        }
    }

    /// The next step. Asking twice gives the same answer.
    pub fn next(&self) -> Step<'_, C, R, O> {
        match &self.state {
            State::Look => Step::Look,
            State::LookForOpen => Step::LookForOpen,
            State::Check(_) => Step::Check,
            State::Supersede => Step::Supersede(self.request_seq),
            State::Queue => Step::Queue,
            State::Gather => match &self.gathered {
                Gathered::Nothing => Step::Lock,
                Gathered::Alone => Step::LookUpCollections,
                Gathered::Collections(_) => Step::Admit,
                Gathered::Grant(_, collections) => Step::Retrieve(collections),
                Gathered::Retrieved(..) => Step::Offer,
                Gathered::Offered(grant, retrieved, offered) => {
                    Step::Start { grant: *grant, retrieved, offered }
                }
            },
            State::Release(_) => Step::Release,
            State::Answer(turn) => Step::Answer(turn),
            State::AnswerQueued => Step::AnswerQueued,
            State::Refuse(error) => Step::Refuse(error),
        }
    }

    /// Takes the findings in the thread. A request that is older than another one is refused.
    pub fn looked(&mut self, looked: Looked) {
        if let Some(turn) = looked.turn {
            self.state = State::Answer(turn);
            return;
        }
        self.queue_goes_on = looked.queue_goes_on;
        match self.manner {
            Manner::Queue if looked.is_queued => return self.without_grant(State::AnswerQueued),
            Manner::Queue if looked.is_removed => {
                let detail = "this message was removed from the queue: send it with another turn_id";
                return self.failed(ApiError::new(ErrorCode::MessageRemoved, detail));
            }
            Manner::Next if !(looked.is_queued && looked.queue_goes_on) => {
                let detail = "the message is not the next one of the queue";
                return self.failed(ApiError::new(ErrorCode::QueuedMessageNotFound, detail));
            }
            _ => {}
        }
        match self.request_seq.zip(looked.highest_seq) {
            Some((request_seq, highest)) if request_seq <= highest => {
                let detail = format!("request_seq must be greater than {highest}");
                self.failed(ApiError::new(ErrorCode::StaleRequestSeq, detail));
            }
            _ => self.state = State::LookForOpen,
        }
    }

    /// Takes the id of the turn that has no end yet.
    pub fn found(&mut self, open: Option<&str>) {
        let then = match (self.manner, open) {
            (Manner::Refuse | Manner::Next, Some(turn_id)) => {
                let detail = format!("the turn {turn_id} is running");
                return self.failed(ApiError::new(ErrorCode::TurnInProgress, detail));
            }
            (Manner::Supersede, Some(_)) => Checked::Supersede,
            (Manner::Queue, Some(_)) => Checked::Queue,
            // The messages before this one come first.
            (Manner::Queue, None) if self.queue_goes_on => Checked::Queue,
            (_, None) => Checked::Gather,
        };
        if let Checked::Queue = then {
            return self.without_grant(State::Check(then));
        }
        self.state = State::Check(then);
        if self.is_granted() {
            self.checked();
        }
    }

    /// The request can start a turn.
    pub fn checked(&mut self) {
        if let State::Check(then) = self.state {
            self.state = match then {
                Checked::Supersede => State::Supersede,
                Checked::Queue => State::Queue,
                Checked::Gather => State::Gather,
            };
        }
    }

    /// The open turn was stopped.
    pub fn superseded(&mut self) {
        self.state = State::Look;
    }

    /// The message is in the queue.
    pub fn queued(&mut self) {
        self.state = State::AnswerQueued;
    }

    /// No other request of the thread is admitted meanwhile.
    pub fn locked(&mut self) {
        self.gather(|_| Gathered::Alone);
    }

    /// The collections that the request names are there.
    pub fn asked(&mut self, collections: C) {
        self.gather(|_| Gathered::Collections(collections));
    }

    /// The quotas let the turn have this.
    pub fn granted(&mut self, grant: Grant) {
        self.gather(|before| match before {
            Gathered::Collections(collections) => Gathered::Grant(grant, collections),
            before => before,
        });
    }

    /// This was looked up for the message.
    pub fn retrieved(&mut self, retrieved: R) {
        self.gather(|before| match before {
            Gathered::Grant(grant, _) => Gathered::Retrieved(grant, retrieved),
            before => before,
        });
    }

    /// The MCP servers offer this.
    pub fn offered(&mut self, offered: O) {
        self.gather(|before| match before {
            Gathered::Retrieved(grant, retrieved) => Gathered::Offered(grant, retrieved, offered),
            before => before,
        });
    }

    /// The turn has started.
    pub fn started(&mut self, turn: TurnRow) {
        self.state = State::Answer(turn);
    }

    /// A step was refused or has failed: so is the request.
    pub fn failed(&mut self, error: ApiError) {
        self.state = if self.is_granted() { State::Release(Some(error)) } else { State::Refuse(error) };
    }

    /// The grant was given back.
    pub fn released(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Look) {
            State::Release(Some(error)) => State::Refuse(error),
            State::Release(None) => {
                self.gathered = Gathered::Alone;
                State::Look
            }
            state => state,
        };
    }

    /// Goes into a state in which the request may hold no grant. A request that has one gives it back and begins anew.
    fn without_grant(&mut self, state: State) {
        self.state = if self.is_granted() { State::Release(None) } else { state };
    }

    /// A step that awaited has brought something: everything else may have changed meanwhile. The match arms `before` are
    /// outcomes of a step that was not the next one: they change nothing.
    fn gather(&mut self, with: impl FnOnce(Gathered<C, R, O>) -> Gathered<C, R, O>) {
        self.gathered = with(std::mem::replace(&mut self.gathered, Gathered::Nothing));
        self.state = State::Look;
    }

    fn is_granted(&self) -> bool {
        match self.gathered {
            Gathered::Nothing | Gathered::Alone | Gathered::Collections(_) => false,
            Gathered::Grant(..) | Gathered::Retrieved(..) | Gathered::Offered(..) => true,
        }
    }
}

#[cfg(test)]
mod tests;
