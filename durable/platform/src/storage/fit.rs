//! Makes a message fit into its row, in the object and in D1. Pure.
//!
//! A row and a parameter may have 2 MB. Beside a message's content, tree and parts, the row has the turn's part of the
//! model's view (`history.rs`, nearly half of that limit). On their way to D1, tree and parts are strings within a string.

use serde::Serialize;

use engine::journal::CallRecord;
use wire::protocol::{ExecutionTree, MessagePart, PREVIEW_CHARS, Plan, StoredMessage};

use super::StoreError;
use super::rows::{json_bytes, json_char_bytes};

/// The most bytes of a content, as JSON. A person reads less, and a model sees the history instead.
pub const CONTENT_BYTES: usize = 400_000;
/// The most bytes of an execution tree, as JSON.
pub const TREE_BYTES: usize = 300_000;
/// The most bytes of a message's parts, as JSON. A statement for D1 takes twice as many, beside the content and twice the
/// tree (`bindings::rows::STATEMENT_BYTES`).
pub const PARTS_BYTES: usize = 350_000;
/// The most bytes of the model calls in a tree, as JSON: about 300 calls, and a turn makes 120 at most by default.
pub const MODEL_CALLS_BYTES: usize = 100_000;
/// The lengths of a shortened text in the parts, in bytes; tried in this order.
const SHORTER_TEXTS: [usize; 3] = [4_000, 400, 0];
/// More than the mark of a cut text and the member beside it.
const MARKED_BYTES: usize = 40;
/// The most bytes of the tool calls in a turn's telemetry, as JSON, and the longest name of a tool in it: a model may
/// invent names.
pub const CALLS_BYTES: usize = 500_000;
const TOOL_NAME_CHARS: usize = 100;
/// The lengths of a shortened preview, in characters; tried in this order.
const SHORTER_PREVIEWS: [usize; 3] = [120, 30, 0];

/// Shortens a message that is too long: the end of its content; the previews of its tree, then the last nodes; of its
/// parts the arguments and results, then the reasoning, then the text within calls, then the sources of calls, then the
/// last parts.
pub fn fit_message(mut message: StoredMessage) -> Result<StoredMessage, StoreError> {
    if json_bytes(&message.content) > CONTENT_BYTES {
        message.content = cut(&message.content, CONTENT_BYTES);
    }
    message.execution_tree = message.execution_tree.map(fit_tree).transpose()?;
    message.parts = fit_parts(message.parts)?;
    Ok(message)
}

/// The parts of a message as JSON; none where it has none, as in the messages of earlier versions.
pub fn parts_text(message: &StoredMessage) -> Result<Option<String>, StoreError> {
    let parts = Some(&message.parts).filter(|parts| !parts.is_empty());
    Ok(parts.map(serde_json::to_string).transpose()?)
}

/// A value as JSON with its members in the order of their names.
pub fn json_text(value: &Option<impl Serialize>) -> Result<Option<String>, StoreError> {
    Ok(value.as_ref().map(serde_json::to_value).transpose()?.map(|value| value.to_string()))
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
    let fitting = fitting(text, bytes.saturating_sub(json_bytes(&mark)));
    text.get(..fitting).unwrap_or_default().to_owned() + &mark
}

/// How many bytes of a text have at most so many bytes as JSON.
fn fitting(text: &str, mut bytes: usize) -> usize {
    for (at, char) in text.char_indices() {
        match bytes.checked_sub(json_char_bytes(char)) {
            Some(rest) => bytes = rest,
            None => return at,
        }
    }
    text.len()
}

fn fit_parts(mut parts: Vec<MessagePart>) -> Result<Vec<MessagePart>, StoreError> {
    let is_reasoning = |part: &MessagePart| matches!(part, MessagePart::Reasoning { .. });
    let is_within = |part: &MessagePart| part.parent_id().is_some();
    let details: [&dyn Fn(&MessagePart) -> bool; 2] = [&is_reasoning, &is_within];
    let fits = |parts: &[MessagePart]| serde_json::to_string(parts).map(|json| json.len() <= PARTS_BYTES);
    if !fits(&parts)? {
        parts.iter_mut().for_each(MessagePart::leave_details_out);
    }
    for is_detail in details {
        for bytes in SHORTER_TEXTS {
            if fits(&parts)? {
                return Ok(parts);
            }
            parts.iter_mut().filter(|part| is_detail(part)).for_each(|part| part.cut_after(bytes));
        }
    }
    if !fits(&parts)? {
        parts.iter_mut().for_each(MessagePart::leave_sources_out);
    }
    if fits(&parts)? {
        return Ok(parts);
    }
    // The brackets around the parts, and a text that is marked as cut.
    let mut left = PARTS_BYTES - 2 - MARKED_BYTES;
    let mut kept: Vec<MessagePart> = Vec::new();
    for mut part in parts {
        let bytes = serde_json::to_string(&part)?.len() + 1;
        if let Some(rest) = left.checked_sub(bytes) {
            left = rest;
            kept.push(part);
            continue;
        }
        // The text before a missing part says that something is missing.
        if let MessagePart::Text { text, .. } = &part
            && let Some(room) = left.checked_sub(bytes - json_bytes(text))
        {
            let kept_bytes = fitting(text, room);
            part.cut_after(kept_bytes);
            kept.push(part);
        } else if let Some(last) = kept.iter_mut().rfind(|part| matches!(part, MessagePart::Text { .. })) {
            last.mark_cut();
        }
        break;
    }
    Ok(kept)
}

fn fit_tree(mut tree: ExecutionTree) -> Result<ExecutionTree, StoreError> {
    let mut calls_bytes = 0;
    for (at, call) in tree.model_calls.iter().enumerate() {
        calls_bytes += serde_json::to_string(call)?.len() + 1;
        if calls_bytes > MODEL_CALLS_BYTES {
            tree.model_calls.truncate(at);
            break;
        }
    }
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
    bytes += serde_json::to_string(&tree.model_calls)?.len();
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

#[cfg(test)]
mod tests {
    use super::*;
    use wire::protocol::{Source, TreeModelCall, TreeNode};

    fn model_call(n: usize) -> TreeModelCall {
        TreeModelCall {
            id: format!("call_0123456789abcdef_{n:04}"),
            model: "a-model".to_owned(),
            finish_reason: "tool_calls".to_owned(),
            ..TreeModelCall::default()
        }
    }

    #[test]
    fn model_calls_are_kept_up_to_their_limit() {
        let stored = |calls: usize, nodes: usize| {
            let node = TreeNode { result_preview: Some("\u{1}".repeat(500)), ..TreeNode::default() };
            let model_calls = (0..calls).map(model_call).collect();
            let tree = ExecutionTree { nodes: vec![node; nodes], model_calls, ..ExecutionTree::default() };
            let tree = fit_tree(tree).unwrap();
            assert!(serde_json::to_string(&tree).unwrap().len() <= TREE_BYTES);
            tree.model_calls.len()
        };
        let most = MODEL_CALLS_BYTES / (serde_json::to_string(&model_call(0)).unwrap().len() + 1);
        assert!(most > 300, "{most}");
        assert_eq!((stored(most, 1), stored(most + 1, 1)), (most, most), "the last ones are left out");
        assert_eq!(stored(most, 10_000), most, "they are worth more than the nodes that do not fit");
    }

    // Issue 19, item 1.
    #[test]
    fn arguments_and_results_go_before_reasoning_does() {
        let parts = |detail: Option<&str>, bytes: usize| {
            let detail = detail.map(str::to_owned);
            let tool_call_id = "call".to_owned();
            let call = MessagePart::Call {
                tool_call_id,
                parent_id: None,
                args: detail.clone(),
                result: detail,
                sources: Vec::new(),
            };
            vec![call, MessagePart::Reasoning { text: "x".repeat(bytes), parent_id: None, cut: false }]
        };
        let room = PARTS_BYTES - serde_json::to_string(&parts(Some("y"), 0)).unwrap().len();
        assert_eq!(fit_parts(parts(Some("y"), room)).unwrap(), parts(Some("y"), room));
        assert_eq!(fit_parts(parts(Some("y"), room + 1)).unwrap(), parts(None, room + 1));
    }

    // Issue 19, item 1.
    #[test]
    fn sources_go_before_text_of_the_answer_does() {
        let parts = |sources: usize, bytes: usize| {
            let source = Source { title: "a.md".to_owned() };
            let (tool_call_id, sources) = ("call".to_owned(), vec![source; sources]);
            let text = MessagePart::Text { text: "x".repeat(bytes), parent_id: None, cut: false };
            let call = MessagePart::Call { tool_call_id, parent_id: None, args: None, result: None, sources };
            vec![call, text]
        };
        let room = PARTS_BYTES - serde_json::to_string(&parts(1, 0)).unwrap().len();
        assert_eq!(fit_parts(parts(1, room)).unwrap(), parts(1, room));
        assert_eq!(fit_parts(parts(1, room + 1)).unwrap(), parts(0, room + 1));
    }
}
