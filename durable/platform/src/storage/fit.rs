//! Makes a message fit into its row, in the object and in D1. Pure.
//!
//! A row and a parameter may have 2 MB. Beside a message's content and tree, the row has the turn's part of the model's
//! view (`history.rs`, half of that limit). On its way to D1 the tree is a string within a string.

use engine::journal::CallRecord;
use wire::protocol::{ExecutionTree, PREVIEW_CHARS, Plan, StoredMessage};

use super::StoreError;
use super::rows::{json_bytes, json_char_bytes};

/// The most bytes of a content, as JSON. A person reads less, and a model sees the history instead.
pub const CONTENT_BYTES: usize = 400_000;
/// The most bytes of an execution tree, as JSON.
pub const TREE_BYTES: usize = 300_000;
/// The most bytes of the tool calls in a turn's telemetry, as JSON, and the longest name of a tool in it: a model may
/// invent names.
pub const CALLS_BYTES: usize = 500_000;
const TOOL_NAME_CHARS: usize = 100;
/// The lengths of a shortened preview, in characters; tried in this order.
const SHORTER_PREVIEWS: [usize; 3] = [120, 30, 0];

/// Shortens a message that is too long: the end of the content, then previews, then the last nodes of the tree.
pub fn fit_message(mut message: StoredMessage) -> Result<StoredMessage, StoreError> {
    if json_bytes(&message.content) > CONTENT_BYTES {
        message.content = cut(&message.content, CONTENT_BYTES);
    }
    message.execution_tree = message.execution_tree.map(fit_tree).transpose()?;
    Ok(message)
}

/// The telemetry of a turn. All model calls stay, since they cost money. As many tool calls stay as fit, since a model
/// may ask for any number of calls that are refused.
pub fn fit_calls(records: Vec<CallRecord>) -> Result<Vec<CallRecord>, StoreError> {
    let mut left = CALLS_BYTES;
    let mut kept = Vec::with_capacity(records.len());
    for mut record in records {
        if let CallRecord::Tool { tool_name, .. } = &mut record {
            shorten(tool_name, TOOL_NAME_CHARS);
            match left.checked_sub(serde_json::to_string(&record)?.len()) {
                Some(rest) => left = rest,
                None => continue,
            }
        }
        kept.push(record);
    }
    Ok(kept)
}

/// The beginning of a text that has at most so many bytes as JSON, with a mark for the missing rest.
pub fn cut(text: &str, bytes: usize) -> String {
    let mark = format!("\n\n[shortened: {} bytes in all]", text.len());
    let mut left = bytes.saturating_sub(json_bytes(&mark));
    let fits = |char: &char| {
        let rest = left.checked_sub(json_char_bytes(*char));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    text.chars().take_while(fits).chain(mark.chars()).collect()
}

fn fit_tree(mut tree: ExecutionTree) -> Result<ExecutionTree, StoreError> {
    for chars in [PREVIEW_CHARS].into_iter().chain(SHORTER_PREVIEWS) {
        for node in &mut tree.nodes {
            for text in
                [&mut node.title, &mut node.args_preview, &mut node.result_preview].into_iter().flatten()
            {
                shorten(text, chars);
            }
        }
        tree.plans.iter_mut().for_each(|plan| shorten_plan(plan, chars));
        if serde_json::to_string(&tree)?.len() <= TREE_BYTES {
            return Ok(tree);
        }
    }
    let mut bytes = serde_json::to_string(&tree.plans)?.len();
    if bytes > TREE_BYTES / 2 {
        tree.plans.clear();
        bytes = 0;
    }
    let mut kept = 0;
    for node in &tree.nodes {
        bytes += serde_json::to_string(node)?.len() + 1;
        if bytes > TREE_BYTES - 100 {
            break;
        }
        kept += 1;
    }
    let omitted = u32::try_from(tree.nodes.len() - kept).unwrap_or(u32::MAX);
    tree.nodes.truncate(kept);
    Ok(ExecutionTree { omitted: Some(omitted), ..tree })
}

/// The instructions of its steps are details, like previews; the texts that a person reads are cut only where they must
/// be.
fn shorten_plan(plan: &mut Plan, chars: usize) {
    plan.steps.iter_mut().for_each(|step| shorten(&mut step.instructions, chars));
    if chars < PREVIEW_CHARS {
        let notes = plan.review.as_mut().map(|review| &mut review.notes);
        let texts = [Some(&mut plan.objective), Some(&mut plan.reasoning), notes];
        texts.into_iter().flatten().for_each(|text| shorten(text, chars));
        plan.requested_outputs.clear();
        plan.priority_entities.clear();
    }
}

fn shorten(text: &mut String, chars: usize) {
    if let Some((at, _)) = text.char_indices().nth(chars) {
        text.truncate(at);
        text.push('…');
    }
}
