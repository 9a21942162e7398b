//! The body of the client's request. It has the whole chat, of which only the end counts: the newest user message, or the
//! answers in the newest message of the assistant. The rest is read for a new thread alone.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::given::{DEFAULT_MODEL, MAX_ANSWERS, Newest, Part, bounded, history, named, text};
use wire::protocol::{
    ApiError, BrowserContext, ChatContext, ChatRequest, ClientTool, Content, ContentPart, DataUrl, Decision,
    GivenAnswer, IfRunning, ModeProfile, Seq, read_body,
};

/// The longest id of a chat, in bytes: it stands in addresses.
pub const MAX_CHAT_ID: usize = 1_024;

/// The body of `POST /api/ai-sdk/chat`, as `DefaultChatTransport` sends it. The members after `messageId` are options of
/// the service, for the transport's own `body`.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChatBody<'a> {
    /// The client's own id of the chat: any text.
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_CHAT_ID)))]
    id: String,
    /// The chat. The newest message counts, and the service has the ones before it.
    #[serde(borrow)]
    #[cfg_attr(feature = "openapi", schemars(with = "Vec<UiMessage>", length(min = 1)))]
    messages: Newest<'a>,
    #[serde(default)]
    trigger: Trigger,
    /// The message to answer anew, or to replace.
    #[serde(default, rename = "messageId")]
    message_id: Option<String>,
    /// A role or the id of a model; `espalier` is the default.
    #[serde(default)]
    model: Option<String>,
    /// Tools that the client carries out. A name has letters, digits and other signs of ASCII.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = 32)))]
    tools: Option<Vec<ClientTool>>,
    #[serde(default)]
    chat_context: Option<ChatContext>,
    #[serde(default)]
    mode_profile: Option<ModeProfile>,
    #[serde(default)]
    browser_context: Option<BrowserContext>,
    #[serde(default)]
    memory_enabled: Option<bool>,
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<Vec<Uuid>>", length(max = 8)))]
    collections: Option<Vec<String>>,
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = 64), regex(pattern = "^[a-z0-9_-]+$")))]
    workspace: Option<String>,
    #[serde(default)]
    agents: Option<bool>,
}

/// What a client wants with its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Trigger {
    #[default]
    SubmitMessage,
    RegenerateMessage,
}

/// A message of the chat, for the API's description.
#[cfg(feature = "openapi")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "the schema alone is used")]
struct UiMessage {
    id: String,
    role: Author,
    parts: Vec<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    role: Author,
    #[serde(borrow)]
    parts: &'a RawValue,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Author {
    System,
    User,
    Assistant,
}

/// A request in our own terms.
#[derive(Debug)]
pub struct Sent {
    /// The client's id of the chat.
    pub chat_id: String,
    pub wants: Wants,
}

#[derive(Debug)]
pub enum Wants {
    /// A turn. `same` is the message as it came: a request with the same one is a repetition. A request for another version
    /// has none, because it may be meant twice. `follows` and `history` are as in the command.
    Turn {
        request: Box<ChatRequest>,
        same: Option<(String, String)>,
        follows: Option<Uuid>,
        history: Vec<String>,
    },
    /// To answer calls of a turn and read its rest: after the number up to which the client has read it, if that is known.
    Answers { answers: Vec<GivenAnswer>, read: Option<(String, Seq)> },
}

impl Sent {
    /// Reads and checks a body. The error names the first offending member.
    pub fn parse(body: &[u8]) -> Result<Sent, ApiError> {
        let body: ChatBody<'_> = read_body(body)?;
        if body.id.is_empty() || body.id.len() > MAX_CHAT_ID {
            return Err(ApiError::field("id", format!("an id has 1 to {MAX_CHAT_ID} bytes")));
        }
        let chat_id = body.id.clone();
        Ok(Sent { chat_id, wants: body.wants()? })
    }
}

impl ChatBody<'_> {
    fn wants(mut self) -> Result<Wants, ApiError> {
        let messages = std::mem::take(&mut self.messages);
        // The service has its own instructions.
        let is_said = |read: &Result<(usize, Message<'_>), ApiError>| !matches!(read, Ok((_, message)) if message.role == Author::System);
        let mut end = messages.back().map(message).filter(is_said);
        let Some((index, newest)) = end.next().transpose()? else {
            return Err(ApiError::field("messages", "expected at least one message of the user"));
        };
        let by_assistant = |read: &Result<(usize, Message<'_>), ApiError>| !matches!(read, Ok((_, message)) if message.role != Author::Assistant);
        let answer = end.clone().find(by_assistant).transpose()?.map(|(_, answer)| answer);
        let anew = self.trigger == Trigger::RegenerateMessage;
        let is_named = |message: &Message<'_>| self.message_id.as_deref() == Some(&*message.id);
        let answered = match (newest.role, &answer) {
            // An answer may be given when the user has gone on.
            (Author::User, Some(earlier)) => Some(earlier).filter(|earlier| !anew && is_named(earlier)),
            (Author::User, None) => None,
            _ => Some(&newest),
        };
        if let Some(answered) = answered {
            if anew {
                let detail = "the newest message of a request for another answer is the user's";
                return Err(ApiError::field("messages", detail));
            }
            return answers(answered, index);
        }
        let is_version = anew || is_named(&newest);
        let follows = if is_version { Some(place(answer.as_ref())?) } else { None };
        let same = (!is_version).then(|| (newest.id.clone().into_owned(), newest.parts.get().to_owned()));
        let said = |(_, message): (usize, Message<'_>)| (message.role == Author::User, words(&message));
        let history = history(end.map(|read| read.map(said)))?;
        let request = Box::new(self.request(content(&newest, index)?, index)?);
        Ok(Wants::Turn { request, same, follows, history })
    }

    fn request(self, content: Content, index: usize) -> Result<ChatRequest, ApiError> {
        let mut client_tools = self.tools;
        for (at, tool) in client_tools.iter_mut().flatten().enumerate() {
            tool.name = named(&tool.name).map_err(|why| ApiError::field(format!("tools[{at}].name"), why))?;
        }
        let request = ChatRequest {
            content,
            // The client closes its connection where a person wants to stop, or has gone on.
            if_running: Some(IfRunning::Supersede),
            chat_context: self.chat_context,
            mode_profile: self.mode_profile,
            browser_context: self.browser_context,
            model: self.model.filter(|model| model != DEFAULT_MODEL),
            memory_enabled: self.memory_enabled,
            collections: self.collections,
            client_tools,
            workspace: self.workspace,
            agents: self.agents,
            ..ChatRequest::default()
        };
        request.checked().map_err(|error| match error.field.as_deref() {
            Some(field) if field.starts_with("content") => {
                let place = field.trim_start_matches("content");
                ApiError { field: Some(format!("messages[{index}].parts{place}")), ..error }
            }
            _ => error,
        })
    }
}

/// The place of a version: behind the answer before its message.
fn place(answer: Option<&Message<'_>>) -> Result<Uuid, ApiError> {
    let Some(answer) = answer else { return Ok(Uuid::nil()) };
    Uuid::try_parse(&answer.id).map_err(|_| {
        let detail = "the answer before the message must have the id that the service gave it";
        ApiError::field("messages", detail)
    })
}

/// Reads a message of the list.
fn message((index, raw): (usize, &RawValue)) -> Result<(usize, Message<'_>), ApiError> {
    let refused = |error: ApiError| {
        let member = error.field.map_or_else(String::new, |field| format!(".{field}"));
        ApiError { field: Some(format!("messages[{index}]{member}")), ..error }
    };
    read_body(raw.get().as_bytes()).map(|message| (index, message)).map_err(refused)
}

/// The texts of an earlier message. Parts of another form have none.
fn words(message: &Message<'_>) -> String {
    let parts: Vec<Part> = wire::json::from_str(message.parts.get()).unwrap_or_default();
    let texts = parts.iter().filter(|part| text(part, "type") == Some("text"));
    texts.filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n\n")
}

/// The parts of a message.
fn parts(message: &Message<'_>, index: usize) -> Result<Vec<Part>, ApiError> {
    wire::json::from_str(message.parts.get()).map_err(|_| {
        ApiError::field(format!("messages[{index}].parts"), "expected an array of parts of the AI SDK")
    })
}

/// The content of a user's message: its texts and files.
fn content(message: &Message<'_>, index: usize) -> Result<Content, ApiError> {
    let mut content = Vec::new();
    for (at, part) in parts(message, index)?.iter().enumerate() {
        let refused = |member: &str, detail: &str| {
            ApiError::field(format!("messages[{index}].parts[{at}].{member}"), detail)
        };
        match text(part, "type") {
            Some("text") => {
                let text = text(part, "text").ok_or_else(|| refused("text", "expected a text"))?;
                content.push(ContentPart::Text { text: text.to_owned() });
            }
            Some("file") => {
                let url = text(part, "url").filter(|url| url.starts_with("data:"));
                let data =
                    DataUrl::from(url.ok_or_else(|| refused("url", "expected a data URL"))?.to_owned());
                let is_image = text(part, "mediaType").is_some_and(|kind| kind.starts_with("image"));
                let name = text(part, "filename").unwrap_or("file").to_owned();
                content.push(if is_image {
                    ContentPart::Image { data }
                } else {
                    ContentPart::File { name, data }
                });
            }
            Some(_) => {} // Data parts are the page's own.
            None => return Err(refused("type", "this member is required")),
        }
    }
    Ok(match content.as_slice() {
        [ContentPart::Text { text }] => Content::Text(text.clone()),
        _ => Content::Parts(content),
    })
}

/// The answers in a message of the assistant: decisions on calls, and results of the client's own tools. Those that were
/// given before are among them, because a client sends all parts again; the thread knows which calls still wait.
fn answers(message: &Message<'_>, index: usize) -> Result<Wants, ApiError> {
    let parts = parts(message, index)?;
    let answers = parts.iter().filter_map(|part| answer(part).transpose());
    let mut answers = answers
        .collect::<Result<Vec<_>, String>>()
        .map_err(|detail| ApiError::field(format!("messages[{index}].parts"), detail))?;
    if answers.is_empty() {
        let detail = "the newest message is the assistant's, and has no answer to a call";
        return Err(ApiError::field("messages", detail));
    }
    answers.drain(..answers.len().saturating_sub(MAX_ANSWERS));
    let metadata = message.metadata.and_then(|metadata| wire::json::from_str::<Part>(metadata.get()).ok());
    let read = metadata.and_then(|metadata| {
        Some((text(&metadata, "turnId")?.to_owned(), metadata.get("seq").and_then(Value::as_u64)?))
    });
    Ok(Wants::Answers { answers, read })
}

/// The answer of a tool's part.
fn answer(part: &Part) -> Result<Option<GivenAnswer>, String> {
    let kind = text(part, "type").unwrap_or_default();
    let is_tool = kind.starts_with("tool-") || kind == "dynamic-tool";
    let (Some(id), true) = (text(part, "toolCallId"), is_tool) else { return Ok(None) };
    let is_set = |name: &str| part.get(name).is_some_and(|value| *value == true);
    let by_client = !is_set("providerExecuted") && !is_set("preliminary");
    let (id, content, decision, is_error) = match text(part, "state") {
        Some("approval-responded") => {
            let approval = part.get("approval").and_then(Value::as_object);
            let given = approval
                .and_then(|approval| Some((text(approval, "id")?, approval.get("approved")?.as_bool()?)));
            let Some((id, approved)) = given else { return Ok(None) };
            (id, String::new(), Some(if approved { Decision::Approve } else { Decision::Deny }), false)
        }
        // A text goes to the model as it is, any other value as JSON.
        Some("output-available") if by_client => {
            let output = part.get("output").unwrap_or(&Value::Null);
            let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            (id, bounded(output)?, None, false)
        }
        Some("output-error") if by_client => {
            (id, bounded(text(part, "errorText").unwrap_or_default().to_owned())?, None, true)
        }
        _ => return Ok(None),
    };
    Ok(Some(GivenAnswer { id: id.to_owned(), decision, content, is_error }))
}
