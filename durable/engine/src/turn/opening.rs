//! The first calls of a turn that the request asks to route or to plan (`mode_profile`): the service makes
//! them in the root's place, before the root's model is asked. Then the same loop follows.

use std::mem;
use std::rc::Rc;

use futures::FutureExt;
use serde_json::json;

use super::machine::{Level, LevelEnd};
use super::{Halt, Turn, dispatch, drive};
use crate::calls::{agent_create_plan, route_request};
use crate::journal::{Commit, Fact, ToolEnd};
use crate::toolbelt::ToolSpec;
use wire::model::ToolCall;
use wire::protocol::ModeProfile;

/// Runs the root to its end.
pub(super) async fn drive(turn: &Turn, root: &mut Level) -> Result<LevelEnd, Halt> {
    // A blank message is answered without any call, even where it asks for a mode.
    match turn.spec.setting.mode.filter(|_| !turn.spec.is_blank()) {
        None => {}
        Some(ModeProfile::Swarm) => swarm(turn, root).await?,
        Some(ModeProfile::AutoRoute) => {
            let task = turn.spec.content.text().into_owned();
            let routed = open(turn, root, route_request::spec(), json!({ "request": task })).await?;
            let models = turn.record.borrow().routed;
            root.ask_models_of(models, &turn.spec.chain_of(models).first.choice);
            match route_request::is_complex(&routed.content) {
                true => swarm(turn, root).await?,
                false => root.in_simple_loop(turn.spec.setting.simple_iterations),
            }
        }
    }
    drive::drive(turn, root).await
}

/// Makes a plan for the whole task and carries it out step by step; the root then reports the outcome,
/// without tools.
async fn swarm(turn: &Turn, root: &mut Level) -> Result<(), Halt> {
    let task = turn.spec.content.text();
    let objective = agent_create_plan::objective(&task);
    let arguments = json!({"objective": objective, "execution_mode": "auto_execute"});
    open(turn, root, agent_create_plan::spec(), arguments).await?;
    root.only_speak();
    Ok(())
}

/// Makes one call in the model's place, of a tool that the root need not have.
async fn open(
    turn: &Turn,
    root: &mut Level,
    spec: ToolSpec,
    arguments: serde_json::Value,
) -> Result<ToolEnd, Halt> {
    let at = root.wave_key();
    let call = ToolCall {
        call_id: format!("opening_{at}"),
        name: spec.name.clone(),
        arguments: arguments.to_string(),
    };
    let name = spec.name.clone();
    let with = root.belt.replacing(&name, Some(spec));
    let own = mem::replace(&mut root.belt, with);
    let calls = called(turn, root, vec![call])?;
    let mut ends = dispatch::round(turn, root, &calls).boxed_local().await?;
    root.belt = own;
    root.apply_tools(&ends);
    ends.pop().ok_or(Halt::Stopped)
}

/// Journals calls that the service makes in a model's place. Where an earlier run journaled such calls, those
/// are taken instead.
pub(super) fn called(turn: &Turn, level: &mut Level, calls: Vec<ToolCall>) -> Result<Rc<[ToolCall]>, Halt> {
    let at = level.wave_key();
    let journaled = turn.replay.called(&at).cloned();
    let is_new = journaled.is_none();
    let calls = journaled.unwrap_or(calls);
    if is_new {
        let fact = Fact::Called { place: level.place.clone(), calls: calls.clone() };
        turn.commit(Commit { entries: vec![turn.entry(&at, fact)], ..Commit::default() })?;
    }
    // A stopped turn returns above: a call that was not journaled was never made.
    level.call(&calls);
    Ok(calls.into())
}
