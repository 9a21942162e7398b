//! Content of a workspace or of a server that one of the engine's own calls needs or makes, such as the template of an agent.
//! The service reads or writes it by a call of its own, in a level that asks no model. So policy, hooks, a person, budget
//! and journal stand before it as before a call of a model, and a run that takes the turn up does not make it again.

use std::rc::Rc;

use futures::future::{Either, select};
use futures::pin_mut;
use serde_json::{Value, json};

use super::called::make_call;
use super::composite::Running;
use super::level::Level;
use super::{Halt, Turn};
use crate::journal::{LevelSpec, ToolEnd};
use crate::ports::ToolError;
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::toolbelt::{Reads, ToolSpec, Toolbelt};
use crate::versions::Versions;

/// The place of some content.
pub(crate) struct Source<'a> {
    /// Words for it, in the error that says why it was not read.
    pub(crate) what: String,
    pub(crate) reads: Reads,
    /// The MCP server that has it; none where the tool is ours.
    pub(crate) server: Option<&'a str>,
    /// The arguments of the call that reads it.
    pub(crate) arguments: Value,
}

/// Reads content for a call, with a tool of the level that made this call. The model reads an error.
pub(crate) async fn read(call: &Running<'_>, source: &Source<'_>) -> Result<Result<String, ToolError>, Halt> {
    let (spec, end) = match called(call, source).await? {
        Ok(called) => called,
        Err(refusal) => return Ok(Err(refusal)),
    };
    match call.turn.ports.tools.find(&spec) {
        Some(tool) => Ok(tool.content(&end.content)),
        None => Ok(Err(unread(source, "its tool is not available any more"))),
    }
}

/// The same of content that may be longer than a result. The call reads its beginning. Where that is not all, its tool then
/// gives the whole.
pub(crate) async fn read_whole(
    call: &Running<'_>,
    source: &Source<'_>,
) -> Result<Result<String, ToolError>, Halt> {
    let (spec, end) = match called(call, source).await? {
        Ok(called) => called,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (turn, arguments) = (call.turn, source.arguments.to_string());
    turn.alive()?;
    let Some(tool) = turn.ports.tools.find(&spec) else {
        return Ok(Err(unread(source, "its tool is not available any more")));
    };
    if let Ok(content) = tool.content(&end.content) {
        return Ok(Ok(content));
    }
    let whole = tool.whole(&arguments, turn.spec.policy.workspace_root.as_deref());
    let Some(timeout_ms) = spec.timeout_ms else { return Ok(whole.await) };
    let timeout = turn.ports.clock.sleep(timeout_ms);
    pin_mut!(timeout);
    match select(whole, timeout).await {
        Either::Left((content, _)) => Ok(content),
        Either::Right(((), _)) => Ok(Err(unread(source, &format!("timed out after {timeout_ms} ms")))),
    }
}

/// Makes the call that reads a source. Returns its tool and its end.
async fn called(
    call: &Running<'_>,
    source: &Source<'_>,
) -> Result<Result<(ToolSpec, ToolEnd), ToolError>, Halt> {
    let Some(spec) = reader(call.turn, &call.parent.belt, source) else {
        return Ok(Err(unread(source, "you have no tool that reads it")));
    };
    let mut level = level(call);
    let end = make_call(call.turn, &mut level, spec.clone(), &source.arguments).await?;
    match end.is_error {
        true => Ok(Err(unread(source, &end.content))),
        false => Ok(Ok((spec.clone(), end))),
    }
}

/// Writes a text file of the workspace for a call, with a tool of the level that made this call. The level's knowledge of
/// files holds for the write. Returns the result and the versions that it leaves. The model reads an error.
pub(crate) async fn write(
    call: &Running<'_>,
    path: &str,
    content: &str,
) -> Result<Result<(String, Versions), ToolError>, Halt> {
    let turn = call.turn;
    let writes = |spec: &&ToolSpec| turn.ports.tools.find(spec).is_some_and(|tool| tool.writes_files());
    let Some(spec) = call.parent.belt.iter().find(writes) else {
        return Ok(Err(ToolError("you have no tool that writes files".to_owned())));
    };
    let mut level = level(call);
    level.versions = Rc::clone(&call.parent.versions);
    let arguments = json!({ "path": path, "content": content });
    let end = make_call(turn, &mut level, spec.clone(), &arguments).await?;
    Ok(if end.is_error { Err(ToolError(end.content)) } else { Ok((end.content, end.versions)) })
}

/// The level of the one call that the service makes.
fn level(Running { turn, parent, key, .. }: &Running<'_>) -> Level {
    // The calls of a level are as many as its steps.
    let opening = Opening { spec: LevelSpec::unasked(1), shared: Toolbelt::new([]) };
    turn.open_unasked(parent, key, LevelPath::reading(key), opening)
}

fn unread(source: &Source<'_>, why: &str) -> ToolError {
    ToolError(format!("{} was not read: {why}", source.what))
}

/// The tool that reads a source. The tool itself says what it reads, because a declaration that former code froze does not.
fn reader<'a>(turn: &Turn, belt: &'a Toolbelt, source: &Source<'_>) -> Option<&'a ToolSpec> {
    belt.iter().find(|spec| {
        spec.mcp_server.as_deref() == source.server
            && turn.ports.tools.find(spec).is_some_and(|tool| tool.spec().reads == Some(source.reads))
    })
}
