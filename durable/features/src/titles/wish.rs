//! The row of a thread that wishes a title: written with the turn's end and gone with the title. Pure.

use serde::{Deserialize, Serialize};

use engine::budget::Amount;
use engine::journal::CallRecord;

/// The most calls for one title: one, and one more where the first failed or its run was lost.
pub const MAX_TRIES: u32 = 2;
/// The `operation_type` of the call.
const OPERATION: &str = "thread_title";
/// The outcome of a call that was cut off or lost, as the engine has it for those of turns.
pub const ABORTED: &str = "aborted";

/// A thread's wish for a title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The turn with the first answer.
    pub turn_id: String,
    /// The context of that turn.
    pub context_type: String,
    /// The title when the turn ended. Another one since then is a person's, or that of another version of the first
    /// message.
    pub before: String,
    /// Whether a person has named the thread since then.
    #[serde(default)]
    pub is_named: bool,
    /// The calls that have begun.
    #[serde(default)]
    pub tries: u32,
    /// The call that has begun and not ended.
    #[serde(default)]
    pub call: Option<Begun>,
}

/// A call that has begun: what is told of it, should it be lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The call's id, by which the quotas know its reservation.
    pub id: String,
    pub provider: String,
    pub model: String,
    /// The role whose models are asked.
    pub profile: String,
}

/// A call that has ended, as the index and the quotas hear of it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedCall {
    /// The call's id.
    pub id: String,
    pub context_type: String,
    pub record: CallRecord,
    /// The amounts that it used; none: all that was reserved.
    pub used: Option<Amount>,
}

/// The outcome of a call, for its row of telemetry. Tokens that nobody counted are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    pub outcome: String,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: Option<f64>,
    pub first_byte_ms: Option<u64>,
    pub duration_ms: u64,
    pub retries: u32,
    pub used: Option<Amount>,
}

impl Wish {
    /// The wish of a thread after this turn.
    pub fn new(turn_id: &str, context_type: &str, before: &str) -> Self {
        Wish {
            turn_id: turn_id.to_owned(),
            context_type: context_type.to_owned(),
            before: before.to_owned(),
            is_named: false,
            tries: 0,
            call: None,
        }
    }

    /// Whether a further call may be made for it.
    pub fn may_try(&self) -> bool {
        !self.is_named && self.tries < MAX_TRIES
    }

    /// The wish with a call that begins.
    pub fn begins(mut self, call: Begun) -> Self {
        self.tries = self.tries.saturating_add(1);
        self.call = Some(call);
        self
    }

    /// Takes the call that has begun out of the wish, as lost: nobody knows whether the provider answered, so all that
    /// was reserved is spent.
    pub fn lose(&mut self) -> Option<EndedCall> {
        let call = self.call.take()?;
        let spent = Spent {
            outcome: ABORTED.to_owned(),
            input_tokens: 0,
            cached_tokens: 0,
            output_tokens: 0,
            cost_usd: None,
            first_byte_ms: None,
            duration_ms: 0,
            retries: 0,
            used: None,
        };
        Some(call.ended(&self.context_type, spent))
    }
}

impl Begun {
    /// The end of the call.
    pub fn ended(self, context_type: &str, spent: Spent) -> EndedCall {
        let record = CallRecord::Model {
            id: "title".to_owned(),
            provider: self.provider,
            model: self.model,
            operation_type: OPERATION.to_owned(),
            profile: self.profile,
            input_tokens: spent.input_tokens,
            cached_tokens: spent.cached_tokens,
            output_tokens: spent.output_tokens,
            cost_usd: spent.cost_usd,
            first_byte_ms: spent.first_byte_ms,
            duration_ms: spent.duration_ms,
            retries: spent.retries,
            outcome: spent.outcome,
        };
        EndedCall { id: self.id, context_type: context_type.to_owned(), record, used: spent.used }
    }
}
