//! `remember`, `recall`, `forget`: the memories of a user across threads. A turn has the tools only if its request asks
//! for them (N-156).

use std::num::NonZeroU32;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use crate::knowledge::{Memories, Remembered};
use crate::marks;
use engine::declared;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;
use wire::protocol::Memory;

/// The longest memory in characters, and the most memories of a user: few enough for a person to review.
pub const MAX_MEMORY_CHARS: usize = 1_000;
pub const MAX_MEMORIES: u32 = 500;
/// The most memories of one call, and their bytes: far below the limit of a result (N-175).
const MAX_RECALLED: u32 = 20;
const MAX_TOLD_BYTES: usize = 12_000;

#[derive(Clone, Copy)]
enum Operation {
    Remember,
    Recall,
    Forget,
}

/// The tools, by their names in `tools.json`.
const OPERATIONS: [(&str, Operation); 3] =
    [("remember", Operation::Remember), ("recall", Operation::Recall), ("forget", Operation::Forget)];

struct MemoryTool {
    spec: ToolSpec,
    operation: Operation,
    memories: Rc<dyn Memories>,
}

#[derive(Deserialize)]
struct RememberArguments {
    content: String,
}

#[derive(Deserialize)]
struct RecallArguments {
    query: Option<String>,
    limit: Option<NonZeroU32>,
}

#[derive(Deserialize)]
struct ForgetArguments {
    id: String,
}

/// The tools, over these memories. Idempotent: the operation names the memory, and forgetting a missing one changes nothing.
/// Their lock has `remember` and `forget` run in the model's order.
pub fn tools(memories: &Rc<dyn Memories>) -> impl Iterator<Item = Rc<dyn Tool>> {
    let tool = |(name, operation)| -> Rc<dyn Tool> {
        let spec = declared(name);
        Rc::new(MemoryTool { spec, operation, memories: Rc::clone(memories) })
    };
    OPERATIONS.into_iter().map(tool)
}

/// The declarations of the tools.
pub(crate) fn specs() -> impl Iterator<Item = ToolSpec> {
    OPERATIONS.into_iter().map(|(name, _)| declared(name))
}

fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}

impl Tool for MemoryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (memories, operation) = (Rc::clone(&self.memories), self.operation);
        let (spec, json) = (self.spec.clone(), json.to_owned());
        async move {
            match operation {
                Operation::Remember => remember(&*memories, arguments::read(&spec, &json)?, &context).await,
                Operation::Recall => recall(&*memories, arguments::read(&spec, &json)?).await,
                Operation::Forget => forget(&*memories, arguments::read(&spec, &json)?).await,
            }
        }
        .boxed_local()
    }
}

async fn remember(
    memories: &dyn Memories,
    RememberArguments { content }: RememberArguments,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let content = plain(&content);
    if content.is_empty() {
        return Err(ToolError("content is blank: write the memory".to_owned()));
    }
    let chars = content.chars().count();
    if chars > MAX_MEMORY_CHARS {
        let limit = MAX_MEMORY_CHARS;
        return Err(ToolError(format!("content has {chars} characters, the limit is {limit}: shorten it")));
    }
    match memories.remember(&content, &context.operation_id, context.clock.now_ms()).await? {
        Remembered::Stored(id) => Ok(format!("remembered as {id}")),
        Remembered::Known(id) => Ok(format!("this was remembered before, as {id}")),
        Remembered::Full => Err(ToolError(format!(
            "the memory is full ({MAX_MEMORIES} memories): recall the memories and forget unneeded ones"
        ))),
    }
}

async fn recall(
    memories: &dyn Memories,
    RecallArguments { query, limit }: RecallArguments,
) -> Result<String, ToolError> {
    let query = query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    let limit = limit.map_or(MAX_RECALLED, NonZeroU32::get).min(MAX_RECALLED);
    let found = memories.recall(query, limit).await?;
    match (found.is_empty(), query) {
        (false, _) => Ok(memory_list(&found)),
        (true, None) => Ok("nothing is remembered yet".to_owned()),
        (true, Some(_)) => Ok("no memory has these words; try others, or recall without a query".to_owned()),
    }
}

/// The memories that fit, as data, with their ids.
fn memory_list(found: &[Memory]) -> String {
    let head = "Memories of this user from earlier conversations.";
    super::result_list(head, found.iter().map(marks::memory), MAX_TOLD_BYTES)
}

async fn forget(
    memories: &dyn Memories,
    ForgetArguments { id }: ForgetArguments,
) -> Result<String, ToolError> {
    match memories.forget(&id).await? {
        true => Ok("forgotten".to_owned()),
        false => Err(ToolError(
            "there is no memory with this id; it may be forgotten already. recall tells the ids".to_owned(),
        )),
    }
}

/// Removes invisible characters: SQLite ends texts at a NUL.
fn plain(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

#[cfg(test)]
pub mod in_memory;
#[cfg(test)]
mod tests;
