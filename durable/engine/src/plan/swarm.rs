//! The first calls of a turn that the request asks to route or to plan (`mode_profile`): the service makes
//! them in the root's place, before the root's model is asked. Then the same loop follows.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::json;

use super::{create, router};
use crate::turn::composite::Mode;
use crate::turn::{Halt, Level, Turn, make_call};
use wire::protocol::{Event, ModeProfile};

/// The modes of a request.
pub(crate) struct Modes;

impl Mode for Modes {
    fn begin<'a>(&self, turn: &'a Turn, root: &'a mut Level) -> LocalBoxFuture<'a, Result<(), Halt>> {
        begin(turn, root).boxed_local()
    }

    fn ended(&self, _turn: &Turn, answer: &str, has_plan: bool) -> Option<(String, Event)> {
        let complete = || Event::SwarmComplete { result: answer.to_owned() };
        has_plan.then(|| ("swarm_complete".to_owned(), complete()))
    }
}

async fn begin(turn: &Turn, root: &mut Level) -> Result<(), Halt> {
    match turn.spec.setting.mode {
        None => Ok(()),
        Some(ModeProfile::Swarm) => swarm(turn, root).await,
        Some(ModeProfile::AutoRoute) => {
            let task = turn.spec.content.text().into_owned();
            let routed = make_call(turn, root, router::spec(), &json!({ "request": task })).await?;
            let models = turn.record.borrow().routed;
            root.ask_models_of(models, &turn.spec.chain_of(models).first.choice);
            match router::is_complex(&routed.content) {
                true => swarm(turn, root).await?,
                false => root.in_simple_loop(turn.spec.setting.simple_iterations),
            }
            Ok(())
        }
    }
}

/// Makes a plan for the whole task and carries it out step by step; the root then reports the outcome,
/// without tools.
async fn swarm(turn: &Turn, root: &mut Level) -> Result<(), Halt> {
    let task = turn.spec.content.text();
    let objective = create::objective(&task);
    let arguments = json!({"objective": objective, "execution_mode": "auto_execute"});
    make_call(turn, root, create::spec(), &arguments).await?;
    root.only_speak();
    Ok(())
}
