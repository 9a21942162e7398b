//! The course of a session: how the root goes on after each round, and after each reply without calls. Each decision is
//! journaled with the messages that it puts before the next model call, so a run that takes the turn up goes on the same
//! way.

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::ended::{advanced, changed, ended};
use super::review::Decided;
use super::verify::Verdict;
use super::{complete, output, planned, prompt, review, verify};
use crate::journal::{Commit, Fact, REPEATED_CALL, Session, SessionChange, Steered, StepEnd};
use crate::turn::composite::Course;
use crate::turn::{Halt, Level, Staged, Turn};
use wire::model::{ToolCall, ToolChoice};
use wire::protocol::{Event, OutputMode, SessionStatus, StepType, Stuck, WorkflowStep};

/// How often a verifier may send the work of a step back before a person looks at it.
const MAX_RETRIES: u32 = 3;
/// The model calls after the last step: one, and one more for a provider that pauses.
const LAST_CALLS: u32 = 2;

/// The course of a turn that works on a session.
pub(crate) struct Steps;

impl Course for Steps {
    fn steer<'a>(&'a self, turn: &'a Turn, level: &'a mut Level) -> LocalBoxFuture<'a, Result<(), Halt>> {
        steer(turn, level).boxed_local()
    }

    fn refusal(&self, session: &Session, tool: &str) -> Option<&'static str> {
        let Some(step) = session.current() else { return Some(prompt::OVER) };
        let is_free = step.kind == StepType::Agent
            && step.output_mode == OutputMode::ToolUse
            && step.verifier.is_none()
            && names(step, tool);
        (!is_free).then_some(prompt::NOT_BEGUN)
    }

    fn event_of(&self, session: &Session, change: &SessionChange) -> Event {
        let (of, step) = (session.definition.steps.len(), session.step + usize::from(change.ended.is_some()));
        Event::WorkflowUpdate {
            session_id: session.session_id.clone(),
            workflow_id: session.workflow_id.clone(),
            status: change.status,
            step_id: session.definition.steps.get(step).map(|step| step.id.clone()),
            index: step,
            of,
            reason: change.reason.clone(),
        }
    }

    fn left(&self, session: &Session) -> Option<SessionChange> {
        let is_at_work = matches!(session.status, SessionStatus::Running | SessionStatus::NeedsHumanReview);
        is_at_work.then(|| changed(session, SessionStatus::Waiting, None))
    }
}

/// The next move on the course.
enum Move {
    /// The step at which the session stands begins, with the change that brought the session there.
    Begin(Option<SessionChange>),
    /// The step has its end. `change`: none where the end of a call has journaled it. `keeps_round`: calls came after it.
    End { ended: StepEnd, change: Option<SessionChange>, keeps_round: bool },
    /// The root goes on, or ends as it is.
    Go(Steered),
    /// The root ends here, with the change that says why.
    Stop(SessionChange),
}

impl Move {
    fn go() -> Self {
        Move::Go(Steered::default())
    }

    /// Goes on with a message and the change that comes with it.
    fn with_text(text: impl Into<String>, change: Option<SessionChange>) -> Self {
        Move::Go(Steered { texts: vec![text.into()], change })
    }

    /// Where the root goes on, it reads this first.
    fn after(mut self, text: String) -> Self {
        if let Move::Go(steered) = &mut self {
            steered.texts.insert(0, text);
        }
        self
    }
}

async fn steer(turn: &Turn, level: &mut Level) -> Result<(), Halt> {
    let mut next = first(turn, level).await?;
    loop {
        next = match next {
            Move::Begin(change) => match begin(turn, level, change).await? {
                Some(next) => next,
                None => return Ok(()),
            },
            Move::End { ended, change, keeps_round } => {
                let Some(staged) = level.staged_mut() else { return Ok(()) };
                let index = staged.session.step;
                // The end of a call has applied its change already.
                let index = if change.is_some() { index } else { index.saturating_sub(1) };
                let heading = prompt::heading(&staged.session, index);
                level.end_stage(heading, &ended.notes.notes, keeps_round);
                Move::Begin(change)
            }
            Move::Go(steered) => return note(turn, level, steered).map(drop),
            Move::Stop(change) => {
                let went_on = note(turn, level, Steered { texts: Vec::new(), change: Some(change) })?;
                if !went_on {
                    level.end_here();
                }
                return Ok(());
            }
        };
    }
}

/// The first move: by the round or the reply that has just come.
async fn first(turn: &Turn, level: &mut Level) -> Result<Move, Halt> {
    let Some(staged) = level.staged() else { return Ok(Move::go()) };
    let session = &staged.session;
    if !staged.has_begun() {
        return Ok(Move::Begin(Some(changed(session, SessionStatus::Running, None))));
    }
    if level.has_spoken() {
        return Ok(spoken(turn, level));
    }
    count_calls(level);
    if let Some((SessionChange { ended: Some(ended), .. }, keeps_round)) = level.take_change() {
        return Ok(Move::End { ended, change: None, keeps_round });
    }
    let proposed = proposed(level);
    worked(turn, level, proposed).await
}

/// After a reply without calls.
fn spoken(turn: &Turn, level: &mut Level) -> Move {
    let is_late = is_late(turn, level);
    let Some(staged) = level.staged_mut() else { return Move::go() };
    let session = &staged.session;
    if session.status.is_over() {
        return Move::go();
    }
    let stuck = |status| changed(session, status, Some("no_advance"));
    let next = match (staged.is_nudged, session.definition.stuck) {
        (false, _) => Move::with_text(prompt::NUDGE, no_progress(staged, is_late)),
        (true, Stuck::Abort) => Move::Stop(stuck(SessionStatus::Stuck)),
        (true, Stuck::NotifyOnly) => {
            let change = (!staged.has_told_of_answers).then(|| stuck(SessionStatus::Running));
            staged.has_told_of_answers = true;
            Move::with_text(prompt::NUDGE, change.or_else(|| no_progress(staged, is_late)))
        }
    };
    staged.is_nudged = true;
    next
}

/// After a round that ended no step.
async fn worked(turn: &Turn, level: &mut Level, proposed: Option<StepEnd>) -> Result<Move, Halt> {
    let Some(step) = level.staged().and_then(|staged| staged.session.current()).cloned() else {
        return Ok(Move::go());
    };
    if step.verifier.is_some() {
        let verdict = verify::ask(turn, level, &step, proposed.as_ref()).await?;
        return judged(turn, level, &step, proposed, verdict).await;
    }
    Ok(unfinished(turn, level))
}

/// The step goes on.
fn unfinished(turn: &Turn, level: &mut Level) -> Move {
    let is_late = is_late(turn, level);
    let Some(staged) = level.staged_mut() else { return Move::go() };
    Move::Go(Steered { texts: Vec::new(), change: no_progress(staged, is_late) })
}

/// Whether the step has used 80 % of its model calls.
fn is_late(turn: &Turn, level: &Level) -> bool {
    level.stage_calls().saturating_mul(5) >= turn.spec.limits.iterations.saturating_mul(4)
}

/// The change that tells readers, once, that the step has used most of its model calls.
fn no_progress(staged: &mut Staged, is_late: bool) -> Option<SessionChange> {
    let tells = is_late && !staged.has_told_of_calls;
    staged.has_told_of_calls |= tells;
    tells.then(|| changed(&staged.session, SessionStatus::Running, Some("no_progress")))
}

/// Counts the calls of the newest round, and those of an object in place of the object. The count starts again after a call
/// that ends a step, or that proposes its end to a verifier.
fn count_calls(level: &mut Level) {
    let of_round = |(call, _, is_error): (&ToolCall, &str, bool)| {
        let is_object = call.name == output::NAME;
        let within = if is_object { output::calls(&call.arguments) } else { Vec::new() };
        let itself = within.is_empty().then(|| (call.name.clone(), call.arguments.clone()));
        let ends = call.name == complete::NAME || (is_object && output::proposed(&call.arguments).is_some());
        (within.into_iter().chain(itself).collect::<Vec<_>>(), ends && !is_error)
    };
    let round: Vec<_> = level.newest_round().into_iter().map(of_round).collect();
    let Some(staged) = level.staged_mut() else { return };
    for (calls, ends) in round {
        calls.iter().for_each(|(name, arguments)| staged.repeats.add(name, arguments));
        if ends {
            staged.repeats.begin_anew();
        }
    }
}

/// The change that tells readers, once in the session, that the model repeats a call. It changes nothing else.
fn repeated_call(staged: &Staged) -> Option<SessionChange> {
    let session = &staged.session;
    let is_at_work = session.status == SessionStatus::Running;
    let tells = staged.repeats.found() && !session.repeated_call && is_at_work;
    tells.then(|| changed(session, SessionStatus::Running, Some(REPEATED_CALL)))
}

/// The end of the step that the newest round proposes.
fn proposed(level: &Level) -> Option<StepEnd> {
    let session = &level.staged()?.session;
    let made = level.newest_round().into_iter().rev().filter(|(.., is_error)| !is_error);
    let mut written = made.filter_map(|(call, ..)| match call.name.as_str() {
        complete::NAME => complete::written(&call.arguments),
        output::NAME => output::proposed(&call.arguments),
        _ => None,
    });
    ended(session, written.next()?).ok()
}

/// After the verdict of a verifier. A verifier that fails lets nothing pass.
async fn judged(
    turn: &Turn,
    level: &mut Level,
    step: &WorkflowStep,
    proposed: Option<StepEnd>,
    verdict: Verdict,
) -> Result<Move, Halt> {
    let is_late = is_late(turn, level);
    let Some(staged) = level.staged_mut() else { return Ok(Move::go()) };
    let reason = match verdict {
        Verdict::Pass if proposed.is_none() => return Ok(unfinished(turn, level)),
        Verdict::Pass => return Ok(passed(level, proposed, None)),
        Verdict::Retry { instruction } if staged.retries < MAX_RETRIES => {
            staged.retries += 1;
            // A place has one change. The model reads that its work was sent back either way.
            let change = no_progress(staged, is_late).or_else(|| repeated_call(staged));
            let retry = || changed(&staged.session, SessionStatus::Running, Some("retry"));
            return Ok(Move::with_text(prompt::retry(&instruction), Some(change.unwrap_or_else(retry))));
        }
        Verdict::Retry { .. } => "retries_used_up",
        Verdict::Escalate => "escalated",
        Verdict::Failed => "verifier_failed",
    };
    let change = changed(&staged.session, SessionStatus::NeedsHumanReview, Some(reason));
    note(turn, level, Steered { texts: Vec::new(), change: Some(change) })?;
    let decided = review::ask(turn, level, review::of_work(step, proposed.as_ref(), reason)).await?;
    let Some(staged) = level.staged_mut() else { return Ok(Move::go()) };
    let runs = |reason| changed(&staged.session, SessionStatus::Running, Some(reason));
    Ok(match decided {
        Decided::Allowed => {
            let change = runs("allowed");
            passed(level, proposed, Some(change))
        }
        Decided::Denied => {
            let change = runs("denied");
            staged.retries = 0;
            Move::with_text(prompt::DENIED, Some(change))
        }
        // No decision is open any more: the next message goes on.
        Decided::Unanswered => {
            // A former version took a blocked review for a denial, and its journal may go on from here.
            staged.retries = 0;
            Move::Stop(changed(&staged.session, SessionStatus::Waiting, Some("unanswered")))
        }
    })
}

/// The work of the step is good so far. With its notes the step ends.
fn passed(level: &Level, proposed: Option<StepEnd>, otherwise: Option<SessionChange>) -> Move {
    match (proposed, level.staged()) {
        (Some(ended), Some(staged)) => {
            let change = advanced(&staged.session, ended.clone());
            Move::End { ended, change: Some(change), keeps_round: false }
        }
        _ => Move::Go(Steered { texts: Vec::new(), change: otherwise }),
    }
}

/// Begins the step at which the session stands. Returns the next move where the step has its outcome already.
async fn begin(turn: &Turn, level: &mut Level, change: Option<SessionChange>) -> Result<Option<Move>, Halt> {
    let Some(staged) = level.staged_mut() else { return Ok(None) };
    let mut session = staged.session.clone();
    change.iter().for_each(|change| session.apply(change));
    let all = staged.all.clone();
    let Some(step) = session.current().cloned() else {
        level.begin_stage(all, ToolChoice::None, LAST_CALLS);
        note(turn, level, Steered { texts: vec![prompt::COMPLETE.to_owned()], change })?;
        return Ok(None);
    };
    let calls = turn.spec.limits.iterations;
    let mut texts = Vec::new();
    let mut change = change;
    if step.kind == StepType::Planned {
        level.begin_stage(of_step(&all, &step, &[complete::NAME]), ToolChoice::Auto, calls);
        note(turn, level, Steered { texts: Vec::new(), change: change.take() })?;
        match planned::carry_out(turn, level, &step).await? {
            planned::Came::Ended(ended) => {
                return Ok(Some(Move::End { ended, change: None, keeps_round: false }));
            }
            planned::Came::Proposed(ended, results) => {
                if let Some(staged) = level.staged_mut() {
                    staged.planned = Some(results);
                }
                let next = worked(turn, level, Some(ended)).await?;
                return Ok(Some(next.after(prompt::step(&session, &step))));
            }
            planned::Came::Denied => return Ok(Some(waits(level, &session, "plan_denied"))),
            planned::Came::Unanswered => return Ok(Some(waits(level, &session, "unanswered"))),
            planned::Came::Unnoted(told) => texts.push(told),
            planned::Came::Failed(why) => texts.push(prompt::without_plan(&why)),
        }
    }
    match step.output_mode {
        OutputMode::ToolUse => {
            level.begin_stage(of_step(&all, &step, &[complete::NAME]), ToolChoice::Auto, calls)
        }
        OutputMode::StructuredOutput => {
            level.begin_stage(output::belt(&of_step(&all, &step, &[])), ToolChoice::Required, calls);
        }
    }
    texts.insert(0, prompt::step(&session, &step));
    note(turn, level, Steered { texts, change })?;
    Ok(None)
}

/// The root ends here, and the session waits for the next message.
fn waits(level: &Level, otherwise: &Session, why: &str) -> Move {
    let session = level.staged().map_or(otherwise, |staged| &staged.session);
    Move::Stop(changed(session, SessionStatus::Waiting, Some(why)))
}

/// The tools of a step: those that it names, and the calls that it needs beside them.
pub(super) fn of_step(
    all: &crate::toolbelt::Toolbelt,
    step: &WorkflowStep,
    beside: &[&str],
) -> crate::toolbelt::Toolbelt {
    all.without(|name| match name == complete::NAME {
        true => !beside.contains(&name),
        false => !names(step, name),
    })
}

/// Whether a step has a tool, where the turn has it.
fn names(step: &WorkflowStep, name: &str) -> bool {
    step.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == name))
}

/// Journals how the root goes on, unless an earlier run did, and goes on so. A place without a change of its own tells of a
/// repeated call, where readers do not know of one yet. Returns whether it has a message by which to go on, or went on in an
/// earlier run: code of another version may have gone on where this one ends the turn.
fn note(turn: &Turn, level: &mut Level, steered: Steered) -> Result<bool, Halt> {
    let at = level.wave_key();
    let known = turn.replay.steered(&at).cloned();
    // A run that went on from here without a word had nothing to say, whatever this version would say.
    let has_begun = turn.replay.has_begun(&at);
    let known = known.or_else(|| has_begun.then(Steered::default));
    let is_new = known.is_none();
    let mut steered = known.unwrap_or(steered);
    if is_new && steered.change.is_none() {
        steered.change = level.staged().and_then(repeated_call);
    }
    if is_new && steered != Steered::default() {
        let events = steered.change.iter().filter_map(|change| turn.told_of_session(change)).collect();
        let entries = vec![turn.entry(&at, Fact::Steered(Box::new(steered.clone())))];
        turn.commit(Commit { entries, events, ..Commit::default() })?;
    }
    if let (Some(change), Some(staged)) = (&steered.change, level.staged_mut()) {
        staged.session.apply(change);
    }
    level.steer(&steered.texts);
    Ok(has_begun || !steered.texts.is_empty())
}
