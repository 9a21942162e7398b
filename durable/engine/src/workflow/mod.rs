//! Step workflows: a root that follows a procedure, which it cannot leave and whose steps it cannot skip.
//!
//! The session says where the procedure stands. The model does the work and says that a step is complete; the service
//! checks that and goes on. `course` says how the root goes on after each round and each reply without calls. `complete` is
//! the call by which a model ends a step. The other calls are the service's own: `verify` has a model judge the work,
//! `review` asks a person, `planned` carries out a plan, `output` the calls of a structured reply. `ended` checks the notes
//! of a step, `prompt` has all words for models.
//!
//! No token stands here: the thread's storage makes and checks it where it writes the change of the session.

mod actions;
pub mod complete;
mod course;
mod ended;
mod output;
mod planned;
pub mod prompt;
mod review;
#[cfg(test)]
pub(crate) mod tests;
mod verify;

pub(crate) use self::course::Steps;
pub(crate) use self::output::CALL as OUTPUT_CALL;
pub(crate) use self::planned::CALL as PLANNED_CALL;
pub(crate) use self::review::CALL as REVIEW_CALL;
pub(crate) use self::verify::CALL as VERIFY_CALL;

use crate::toolbelt::ToolSpec;

/// The declaration of a call of this folder. The steps of a procedure end one after the other.
fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}
