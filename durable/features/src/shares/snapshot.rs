//! Cuts a thread's messages down to what a snapshot shows. A part is in it because a line here puts it there; what nobody
//! has named (ids, usage, models, instructions, memories) is not. Pure.

use wire::protocol::{
    ApiError, Content, ContentPart, ErrorCode, ExecutionTree, MAX_SNAPSHOT_BYTES, MessagePart, Role,
    SharedConversation, SharedMessage, SharedPart, Shown, Snapshot, StoredMessage,
};
use wire::title::{label, shown_title, title_of, title_without_files, without_attached, words_of};

/// A snapshot in the making.
pub struct Cut {
    shown: Shown,
    conversation: SharedConversation,
    bytes: usize,
}

impl Cut {
    /// Begins a snapshot of a thread with this title.
    pub fn new(title: &str, shown: Shown, now: u64) -> Self {
        let title = if shown.files { shown_title(title) } else { title_without_files(title) };
        let bytes = title.len();
        Cut { shown, conversation: SharedConversation { title, shared_at: now, messages: Vec::new() }, bytes }
    }

    /// Adds a message. `sent`: a user's message in its original form.
    pub fn add(&mut self, message: &StoredMessage, sent: Option<&Content>) -> Result<(), ApiError> {
        let Cut { shown: Shown { files, .. }, conversation, .. } = self;
        // A thread that began with files alone has the name of the first one.
        let is_named_after_file =
            words_of(&message.content).is_empty() && title_of(&message.content) == conversation.title;
        if !*files && conversation.messages.is_empty() && is_named_after_file {
            conversation.title.clear();
        }
        let shared = shown(message, sent, self.shown);
        self.bytes += serde_json::to_string(&shared).map_err(unwritable)?.len() + 1;
        if self.bytes > MAX_SNAPSHOT_BYTES {
            return Err(too_large());
        }
        self.conversation.messages.push(shared);
        Ok(())
    }

    /// Ends the snapshot.
    pub fn end(self) -> Result<Snapshot, ApiError> {
        let content = serde_json::to_string(&self.conversation).map_err(unwritable)?;
        if content.len() > MAX_SNAPSHOT_BYTES {
            return Err(too_large());
        }
        let messages = u32::try_from(self.conversation.messages.len()).unwrap_or(u32::MAX);
        Ok(Snapshot { title: self.conversation.title, messages, content })
    }
}

fn too_large() -> ApiError {
    let detail = format!(
        "the snapshot has more than {MAX_SNAPSHOT_BYTES} bytes: share it without files, or up to an earlier message"
    );
    ApiError::new(ErrorCode::ShareTooLarge, detail)
}

fn unwritable(error: serde_json::Error) -> ApiError {
    ApiError::new(ErrorCode::Internal, error.to_string())
}

/// The parts of a message that a snapshot shows.
pub fn shown(message: &StoredMessage, sent: Option<&Content>, shown: Shown) -> SharedMessage {
    let parts = match (message.role, sent) {
        (Role::User, Some(content)) => of_question(content, shown),
        (Role::User, None) => of_question(&message.content.as_str().into(), shown),
        (Role::Assistant, _) => of_answer(message, shown),
    };
    SharedMessage { role: message.role, created_at: message.created_at, parts }
}

fn of_question(content: &Content, shown: Shown) -> Vec<SharedPart> {
    match content {
        Content::Text(text) if shown.files => of_text(text),
        // The history of a long turn has labels in place of its files, and a label names a file.
        Content::Text(text) => of_text(&without_labels(without_attached(text))),
        Content::Parts(parts) => parts.iter().flat_map(|part| of_sent(part, shown.files)).collect(),
    }
}

fn of_sent(part: &ContentPart, files: bool) -> Vec<SharedPart> {
    match part {
        ContentPart::Text { text } if files => of_text(text),
        ContentPart::Text { text } => of_text(without_attached(text)),
        ContentPart::Image { data } if files => vec![SharedPart::Image { data: data.clone() }],
        ContentPart::File { name, data } if files => {
            vec![SharedPart::File { name: name.clone(), data: data.clone() }]
        }
        ContentPart::Image { .. } | ContentPart::File { .. } => Vec::new(),
    }
}

fn of_text(text: &str) -> Vec<SharedPart> {
    match text.trim().is_empty() {
        true => Vec::new(),
        false => vec![SharedPart::Text { text: text.to_owned() }],
    }
}

/// The parts of the answer itself: what stands within a call belongs to its tool's data.
fn of_answer(message: &StoredMessage, shown: Shown) -> Vec<SharedPart> {
    let own = message.parts.iter().filter(|part| part.parent_id().is_none());
    let tree = message.execution_tree.as_ref();
    let parts = own.flat_map(|part| match part {
        MessagePart::Text { text, .. } => of_text(text),
        MessagePart::Reasoning { text, .. } if shown.reasoning => {
            vec![SharedPart::Reasoning { text: text.clone() }]
        }
        MessagePart::Call { tool_call_id, args, result, .. } if shown.tools => {
            of_call(tree, tool_call_id, args.as_deref(), result.as_deref())
        }
        MessagePart::Reasoning { .. } | MessagePart::Call { .. } | MessagePart::Summary { .. } => Vec::new(),
    });
    let mut parts: Vec<SharedPart> = parts.collect();
    // An answer whose only part is its text is stored without parts. The text of a turn that was interrupted also has the
    // results of its subtasks, which no part of the answer itself has.
    if message.parts.is_empty() {
        parts.extend(of_text(&message.content));
    }
    parts
}

/// A call as its node of the tree tells it. A node that the tree has left out tells nothing.
fn of_call(
    tree: Option<&ExecutionTree>,
    id: &str,
    args: Option<&str>,
    result: Option<&str>,
) -> Vec<SharedPart> {
    let node = tree.and_then(|tree| tree.nodes.iter().find(|node| node.id == id));
    let call = node.map(|node| SharedPart::Call {
        name: node.name.clone(),
        arguments: args.or(node.args_preview.as_deref()).map(str::to_owned),
        result: result.or(node.result_preview.as_deref()).map(str::to_owned),
        is_error: node.is_error.unwrap_or(false),
    });
    call.into_iter().collect()
}

/// A text without the labels that stand in place of images and files (`ContentPart::words`), each of which is a line. It
/// also takes such a line away that somebody wrote by hand, because the two cannot be told apart.
fn without_labels(text: &str) -> String {
    text.lines().filter(|line| label(line).is_none()).collect::<Vec<_>>().join("\n").trim().to_owned()
}
