//! Converts results, resources and prompts of a server to text for the model. Other content becomes a short
//! description.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::McpError;
use engine::toolbelt::OutputSchema;
use wire::model::RawValueEq;
use wire::redact::redacted;

/// The most bytes of a result: below the engine's limit, so that the engine never cuts it again.
pub const MAX_TOLD_BYTES: usize = 45_000;
/// The beginning of the line above the content of a resource.
const HEAD: &str = "[resource ";
/// The end of that line where there is no content below.
const NO_TEXT: &str = " bytes that are no text";
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

/// A part of a result, the content of a resource, or a line of a list, depending on its members.
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
    /// Checks the structured content against the tool's schema of it. An error needs none.
    pub fn check(&self, schema: Rc<RawValueEq>) -> Result<(), McpError> {
        let Ok(schema) = OutputSchema::compile(schema) else { return Ok(()) };
        let checked = match self.structured_content.as_deref() {
            _ if self.is_error => Ok(()),
            Some(content) => schema.check(content.get()),
            None => Err("it is missing".to_owned()),
        };
        checked.map_err(|why| {
            let why = cut(redacted(&why), MAX_LINE);
            McpError::NotMcp(format!("its structured content is not what its outputSchema says: {why}"))
        })
    }

    /// All parts, and the structured content unless a text repeats it.
    pub fn as_text(&self) -> String {
        let mut parts: Vec<String> = self.content.iter().map(Item::part).collect();
        if let Some(structured) = self.structured_content.as_deref() {
            let value = |text: &str| wire::json::from_str::<Value>(text).ok();
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

    /// The content of a resource.
    fn contained(&self) -> String {
        let head = format!("{}, {}", line(self.uri.as_deref().unwrap_or_default()), self.mime());
        match &self.text {
            Some(text) => format!("{HEAD}{head}]\n{text}"),
            None => format!("{HEAD}{head}, {}{NO_TEXT}]", self.bytes()),
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

    /// One line for each item, and the cursor of the next page.
    pub fn as_text(&self) -> String {
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
    /// The text of a resource, from the form for the model; none where the resource is no text. Further parts of it keep their
    /// heads.
    pub fn text(told: &str) -> Option<&str> {
        let (head, text) = told.strip_prefix(HEAD)?.split_once("]\n")?;
        (!head.ends_with(NO_TEXT)).then_some(text)
    }

    pub fn as_text(&self) -> String {
        let parts: Vec<String> = self.contents.iter().map(Item::contained).collect();
        if parts.is_empty() { "(the resource is empty)".to_owned() } else { parts.join("\n") }
    }
}

impl Prompt {
    pub fn as_text(&self) -> String {
        let head = self.description.iter().map(|what| line(what));
        let messages = self
            .messages
            .iter()
            .map(|message| format!("[{}]\n{}", line(&message.role), message.content.part()));
        head.chain(messages).collect::<Vec<_>>().join("\n")
    }
}

/// Cuts a text to a limit in bytes, and adds the original size.
pub fn cut(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let (kept, _) = text.split_at(text.floor_char_boundary(limit));
    format!("{kept}\n[truncated: {} bytes in all]", text.len())
}

/// A foreign text on one line.
fn line(text: &str) -> String {
    let (kept, _) = text.split_at(text.floor_char_boundary(MAX_LINE));
    kept.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The decoded size of base64.
fn decoded_bytes(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}
