//! Step workflows: a root that follows a procedure, which it cannot leave and whose steps it cannot skip.
//!
//! The session says where the procedure stands. The model does the work and says that a step is complete; the service
//! checks that and goes on. `course` says how the root goes on after each round and each reply without calls. `complete` is
//! the call by which a model ends a step. The other calls are the service's own: `verify` has a model judge the work,
//! `review` asks a person, `planned` carries out a plan, `output` the calls of a structured reply. `ended` checks the notes
//! of a step, `prompt` has all words for models.
//!
//! No token stands here: the thread's storage makes and checks it where it writes the change of the session.
//!
//! docs/workflows.md says what it is. A root that works on a session follows a course (`turn/composite.rs`: `Course`).
//! `Level::next` asks for it (`Step::Steer`) before the first model call, after each round, and after each reply
//! without calls. The course says how the root goes on: the next step begins, the step has its end, the root reads a
//! reminder, or the root ends. `turn/level/staged.rs` has the level's part of it: the messages of a stage, the tools
//! of a stage, and what stays of it.
//!
//! Each decision is one journal entry (`steered`) under the key of the root's next step: the messages that the root
//! reads next, and the change of the session that comes with them. A step that ends by a call has its change in the
//! call's end (`ToolEnd::session`), so the end of the call and the next step are one entry. A run that takes the turn
//! up reads both, so an edited prompt changes only steps that begin later.
//!
//! When a step ends, its messages give way to a heading and its notes. So the requests of the tenth step are as long
//! as those of the second. The level keeps the rounds since its last model call beside its messages
//! (`Staged::rounds`), so hooks are asked about a batch that ended a step, and their comments stand behind the next
//! step's prompt. The calls of a root that follows a course run one by one in the model's order, and a step that began
//! within a reply cannot end with the same reply: the model has not seen it yet. For the same reason the calls after
//! the end of a step run only where the course says that the new step takes them (`Course::refusal`).
//!
//! Verifier, review, planned step and structured output are calls on the same loop (`verify_step`, `review_step`,
//! `planned_step`, `__step_output__`), and only the last one is a model's. `review_step` needs a person's permission,
//! so a review parks the turn like any call that waits. The service makes verdict and review beside the model, which
//! sees nothing of them.

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
