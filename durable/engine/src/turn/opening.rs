//! How a turn begins that the request asks to route or to plan (`mode_profile`): calls that the service makes in the
//! root's place, before its model is asked at all. What comes then is the same loop.

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
    // A message that says nothing is answered without any call, whatever it asks for.
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

/// A plan for the whole task, carried out step by step; the root then says what came of it, without tools.
async fn swarm(turn: &Turn, root: &mut Level) -> Result<(), Halt> {
    let task = turn.spec.content.text();
    let objective = agent_create_plan::objective(&task);
    let arguments = json!({"objective": objective, "execution_mode": "auto_execute"});
    open(turn, root, agent_create_plan::spec(), arguments).await?;
    root.only_speak();
    Ok(())
}

/// One call in the model's place, of a tool that the root need not have.
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

/// Journals calls that no model made, unless an earlier run did: then they are those.
pub(super) fn called(turn: &Turn, level: &mut Level, calls: Vec<ToolCall>) -> Result<Rc<[ToolCall]>, Halt> {
    let at = level.wave_key();
    let journaled = turn.replay.called(&at).cloned();
    let is_new = journaled.is_none();
    let calls = journaled.unwrap_or(calls);
    if is_new {
        let fact = Fact::Called { place: level.place.clone(), calls: calls.clone() };
        turn.commit(Commit { entries: vec![turn.entry(&at, fact)], ..Commit::default() })?;
    }
    // A call that is not journaled, since the turn was stopped, was never made.
    level.call(&calls);
    Ok(calls.into())
}
