//! The places of model calls within a turn.

use super::{Shape, WAVES, reply, talk};

/// The marker and the step of a model call of this turn. The call's id ends with its place: `STEP`, behind one
/// `STEP.CALL-` for each enclosing subtask. Below a plan's call, `plan-` stands for the level that makes the plan, and
/// `wWAVE.CALL-` for one of the plan's steps. `STEP.CALLhINDEX-hook-` stands for the level of a hook
/// that is asked about a call, and `dSPEAKER.0-` behind the call of a discussion for one of its speakers.
pub fn called(shape: Shape, number: u64, model_call_id: &str) -> Option<(String, usize)> {
    // The request of a session's turn names the step; the model call's place does not.
    if shape == Shape::Steps {
        return None;
    }
    let mut marker = format!("{}#{number}", shape.name());
    let mut place = model_call_id.splitn(3, '_').nth(2)?.split('-');
    let step = place.next_back()?.parse().ok()?;
    let mut talking = None;
    for subtask in place.filter(|subtask| !["plan", "hook"].contains(subtask)) {
        if let Some(call) = talking.take().filter(|_| subtask.starts_with('d')) {
            marker = format!("talks/{}#{number}", talk::speaker(call, subtask)?);
            continue;
        }
        let (step, call) = subtask.split_once('.')?;
        if let Some(wave) = step.strip_prefix('w') {
            let name = WAVES.get(wave.parse::<usize>().ok()?)?.get(call.parse::<usize>().ok()?)?;
            marker = format!("{}/{name}#{number}", shape.name());
            continue;
        }
        let call = call.split('h').next()?;
        let made = reply(&marker, step.parse().ok()?)?.calls.into_iter().nth(call.parse().ok()?)?;
        if ["task", "discuss"].contains(&made.name.as_str()) {
            talking = Some(subtask);
            continue;
        }
        let told =
            ["instructions", "objective", "key"].iter().find_map(|member| made.arguments[*member].as_str());
        let (_, rest) = told?.split_once("[[fake:")?;
        marker = rest.strip_suffix("]]")?.to_owned();
    }
    Some((marker, step))
}
