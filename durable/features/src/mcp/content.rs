//! What a tool, a resource or a prompt of a server says, as text for the model. A result of this engine is text: what is
//! none is described.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The most bytes of a result: below the engine's own limit, so that it ends where it says.
pub const MAX_TOLD_BYTES: usize = 45_000;
/// The most bytes of a name, an address or a description in a list.
const MAX_LINE: usize = 500;

/// The result of `tools/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    #[serde(default)]
    content: Vec<Item>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    pub is_error: bool,
}

/// A part of a result, what a resource contains, or a line of a list: whichever members it has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    #[serde(alias = "blob")]
    data: Option<String>,
    resource: Option<Box<Item>>,
    #[serde(alias = "uriTemplate")]
    uri: Option<String>,
    #[serde(default)]
    name: String,
    description: Option<String>,
    mime_type: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    arguments: Vec<Argument>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    #[serde(default)]
    required: bool,
}

/// One page of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPage {
    #[serde(alias = "prompts", alias = "resourceTemplates")]
    resources: Vec<Item>,
    next_cursor: Option<String>,
}

/// The result of `resources/read`.
#[derive(Deserialize)]
pub struct Contents {
    contents: Vec<Item>,
}

/// The result of `prompts/get`.
#[derive(Deserialize)]
pub struct Prompt {
    description: Option<String>,
    messages: Vec<PromptMessage>,
}

#[derive(Deserialize)]
struct PromptMessage {
    role: String,
    content: Item,
}

impl ToolResult {
    /// All parts, and what is structured where no text says the same.
    pub fn told(&self) -> String {
        let mut parts: Vec<String> = self.content.iter().map(Item::part).collect();
        if let Some(structured) = self.structured_content.as_deref() {
            let value = |text: &str| serde_json::from_str::<Value>(text).ok();
            let structured_value = value(structured.get());
            let texts = self.content.iter().filter_map(|part| part.text.as_deref());
            if !texts.map(value).any(|text| text.is_some() && text == structured_value) {
                parts.push(structured.get().to_owned());
            }
        }
        if parts.is_empty() {
            return "(the result is empty)".to_owned();
        }
        parts.join("\n")
    }
}

impl Item {
    fn mime(&self) -> String {
        line(self.mime_type.as_deref().unwrap_or("unknown type"))
    }

    fn bytes(&self) -> usize {
        self.data.as_deref().map_or(0, decoded_bytes)
    }

    /// A part of a result.
    fn part(&self) -> String {
        match (self.kind.as_str(), &self.text, &self.resource) {
            ("text", Some(text), _) => text.clone(),
            ("image" | "audio", ..) => {
                format!("[{} that cannot be shown here: {}, {} bytes]", self.kind, self.mime(), self.bytes())
            }
            ("resource", _, Some(resource)) => resource.contained(),
            ("resource_link", ..) => format!("[resource] {}", self.listed()),
            _ => format!("[content of the type {} cannot be shown here]", line(&self.kind)),
        }
    }

    /// What a resource contains.
    fn contained(&self) -> String {
        let head = format!("{}, {}", line(self.uri.as_deref().unwrap_or_default()), self.mime());
        match &self.text {
            Some(text) => format!("[resource {head}]\n{text}"),
            None => format!("[resource {head}, {} bytes that are no text]", self.bytes()),
        }
    }

    /// A line of a list.
    fn listed(&self) -> String {
        let mut told = match self.uri.as_deref() {
            Some(uri) => format!("{} {}", line(uri), line(&self.name)),
            None => line(&self.name),
        };
        let argument = |argument: &Argument| {
            format!("{}{}", line(&argument.name), if argument.required { "" } else { "?" })
        };
        told.extend(self.mime_type.iter().map(|mime| format!(", {}", line(mime))));
        told.extend(self.size.map(|size| format!(", {size} bytes")));
        if !self.arguments.is_empty() {
            let arguments: Vec<String> = self.arguments.iter().map(argument).collect();
            told.extend([format!(" ({})", arguments.join(", "))]);
        }
        told.extend(self.description.iter().map(|what| format!(": {}", line(what))));
        told
    }
}

impl ListPage {
    pub fn has_some(&self) -> bool {
        !self.resources.is_empty()
    }

    /// One line for each; how to read on, where there is more.
    pub fn told(&self) -> String {
        let mut lines: Vec<String> = self.resources.iter().map(Item::listed).collect();
        if lines.is_empty() {
            lines.push("(there are none)".to_owned());
        }
        let more = |cursor: &String| format!("[there are more: call again with the cursor {cursor:?}]");
        lines.extend(self.next_cursor.as_ref().map(more));
        lines.join("\n")
    }
}

impl Contents {
    pub fn told(&self) -> String {
        let parts: Vec<String> = self.contents.iter().map(Item::contained).collect();
        if parts.is_empty() { "(the resource is empty)".to_owned() } else { parts.join("\n") }
    }
}

impl Prompt {
    pub fn told(&self) -> String {
        let head = self.description.iter().map(|what| line(what));
        let messages = self
            .messages
            .iter()
            .map(|message| format!("[{}]\n{}", line(&message.role), message.content.part()));
        head.chain(messages).collect::<Vec<_>>().join("\n")
    }
}

/// At most so many bytes, and how many there were.
pub fn cut(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let (kept, _) = text.split_at(text.floor_char_boundary(limit));
    format!("{kept}\n[truncated: {} bytes in all]", text.len())
}

/// A foreign word on one line.
fn line(text: &str) -> String {
    let (kept, _) = text.split_at(text.floor_char_boundary(MAX_LINE));
    kept.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// How many bytes base64 stands for.
fn decoded_bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}
