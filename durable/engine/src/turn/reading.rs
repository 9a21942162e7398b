//! Content of a workspace or of a server that one of the engine's own calls needs, such as the template of an agent. The
//! service reads it by a call of its own, in a level that asks no model. So policy, hooks, a person, budget and journal
//! stand before it as before a call of a model, and a run that takes the turn up does not read it again.

use serde_json::Value;

use super::called::make_call;
use super::composite::Running;
use super::{Halt, Turn};
use crate::journal::LevelSpec;
use crate::ports::ToolError;
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::toolbelt::{Reads, ToolSpec, Toolbelt};

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
pub(crate) async fn read(
    Running { turn, parent, key, .. }: &Running<'_>,
    source: &Source<'_>,
) -> Result<Result<String, ToolError>, Halt> {
    let unread = |why: &str| Ok(Err(ToolError(format!("{} was not read: {why}", source.what))));
    let Some(spec) = reader(turn, &parent.belt, source) else {
        return unread("you have no tool that reads it");
    };
    // The calls of a level are as many as its steps.
    let opening = Opening { spec: LevelSpec::unasked(1), shared: Toolbelt::new([]) };
    let mut level = turn.open_unasked(parent, key, LevelPath::reading(key), opening);
    let end = make_call(turn, &mut level, spec.clone(), &source.arguments).await?;
    match turn.ports.tools.find(spec) {
        _ if end.is_error => unread(&end.content),
        Some(tool) => Ok(tool.content(&end.content)),
        None => unread("its tool is not available any more"),
    }
}

/// The tool that reads a source. The tool itself says what it reads, because a declaration that former code froze does not.
fn reader<'a>(turn: &Turn, belt: &'a Toolbelt, source: &Source<'_>) -> Option<&'a ToolSpec> {
    belt.iter().find(|spec| {
        spec.mcp_server.as_deref() == source.server
            && turn.ports.tools.find(spec).is_some_and(|tool| tool.spec().reads == Some(source.reads))
    })
}
