//! The body of the client's request. It has the whole chat, of which only the end counts: the newest user message, or the
//! answers in the newest message of the assistant. The rest is read for a new thread alone.

use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::given::{
    Back, DEFAULT_MODEL, MAX_ANSWERS, Members, Newest, Part, Words, bounded, history, named, text, unanswered,
};
use crate::template::Hole::{Json, Text};
use crate::template::fill;
use wire::protocol::{
    ApiError, ChatRequest, Content, ContentPart, DataUrl, Decision, GivenAnswer, IfRunning, Seq, read_body,
};

/// The longest id of a chat, in bytes: it stands in addresses.
pub const MAX_CHAT_ID: usize = 1_024;
/// The options of the service in a body, and their names in its own one.
const OPTIONS: [(&str, &str); 9] = [
    ("model", "model"),
    ("tools", "client_tools"),
    ("chat_context", "chat_context"),
    ("mode_profile", "mode_profile"),
    ("browser_context", "browser_context"),
    ("memory_enabled", "memory_enabled"),
    ("collections", "collections"),
    ("workspace", "workspace"),
    ("agents", "agents"),
];

/// The members of a body, and those that decide what is wanted.
struct Body<'a> {
    members: Members<'a>,
    /// Whether the newest message shall be answered anew.
    anew: bool,
    /// The message to answer anew, or to replace.
    message_id: Option<String>,
}

struct Message<'a> {
    id: String,
    role: Author,
    parts: &'a RawValue,
    metadata: Option<&'a RawValue>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
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
        let members: Members<'_> = read_body(body)?;
        members.check("messages")?;
        let chat_id = members.needed("id")?;
        if chat_id.is_empty() || chat_id.len() > MAX_CHAT_ID {
            return Err(ApiError::field("id", format!("an id has 1 to {MAX_CHAT_ID} bytes")));
        }
        let anew = match (members.text("trigger")?.as_deref(), members.0.get("trigger")) {
            (None, None) | (Some("submit-message"), _) => false,
            (Some("regenerate-message"), _) => true,
            _ => {
                return Err(ApiError::field("trigger", "expected `submit-message` or `regenerate-message`"));
            }
        };
        let message_id = members.text("messageId")?;
        Ok(Sent { chat_id, wants: Body { members, anew, message_id }.wants()? })
    }
}

impl Body<'_> {
    fn wants(&self) -> Result<Wants, ApiError> {
        let messages: Newest<'_> = self.members.list("messages")?;
        let mut end = messages.back();
        let Some((index, newest)) = said(&mut end)? else {
            return Err(ApiError::field("messages", "expected at least one message of the user"));
        };
        let mut before = end.clone();
        let mut between = Vec::new();
        let answer = loop {
            match said(&mut before)? {
                Some((_, message)) if message.role != Author::Assistant => {
                    let words = words(&message);
                    if !words.trim().is_empty() {
                        between.push(words);
                    }
                }
                answer => break answer.map(|(_, answer)| answer),
            }
        };
        let anew = self.anew;
        let is_named = |message: &Message<'_>| self.message_id.as_ref() == Some(&message.id);
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
        let follows = is_version.then(|| place(answer.as_ref()));
        let same = (!is_version).then(|| (newest.id.clone(), newest.parts.get().to_owned()));
        let mut earlier =
            || Ok(said(&mut end)?.map(|(_, message)| (message.role == Author::User, words(&message))));
        let mut history = history(&mut earlier)?;
        // An answer of ours may have no words. Then the question before it still has its turn.
        if follows.is_some_and(|answer| answer != Uuid::max()) {
            unanswered(&mut history);
            between.reverse();
            if !between.is_empty() {
                history.push(between.join("\n\n"));
            }
        }
        let request = Box::new(self.request(content(&newest, index)?, index)?);
        Ok(Wants::Turn { request, same, follows, history })
    }

    /// The request, whose options are read as those of the service's own route.
    fn request(&self, content: Content, index: usize) -> Result<ChatRequest, ApiError> {
        let mut options = Vec::new();
        for (name, ours) in OPTIONS {
            if let Some(option) = self.members.0.get(name) {
                options.push(if options.is_empty() { b'{' } else { b',' });
                fill("$:$", &[Text(ours), Json(option.get().as_bytes())], &mut options);
            }
        }
        options.extend_from_slice(if options.is_empty() { b"{}" } else { b"}" });
        let read: Result<ChatRequest, ApiError> = read_body(&options);
        let mut request = read.map_err(|error| error.renamed("client_tools", "tools"))?;
        for (at, tool) in request.client_tools.iter_mut().flatten().enumerate() {
            tool.name = named(&tool.name).map_err(|why| ApiError::field(format!("tools[{at}].name"), why))?;
        }
        request.content = content;
        // The client closes its connection where a person wants to stop, or has gone on.
        request.if_running = Some(IfRunning::Supersede);
        request.model = request.model.filter(|model| model != DEFAULT_MODEL);
        let parts = format!("messages[{index}].parts");
        request.checked().map_err(|error| error.renamed("content", &parts))
    }
}

/// The place of a version: behind the answer before its message. An id that is none of ours belongs to an answer of the
/// history that the client brought: no turn has the largest id.
fn place(answer: Option<&Message<'_>>) -> Uuid {
    answer.map_or(Uuid::nil(), |answer| Uuid::try_parse(&answer.id).unwrap_or(Uuid::max()))
}

/// The next message that the user or the assistant said. The service has its own instructions.
fn said<'a>(messages: &mut Back<'_, 'a>) -> Result<Option<(usize, Message<'a>)>, ApiError> {
    for next in messages {
        let (index, message) = message(next)?;
        if message.role != Author::System {
            return Ok(Some((index, message)));
        }
    }
    Ok(None)
}

/// Reads a message of the list.
fn message<'a>((index, raw): (usize, &'a RawValue)) -> Result<(usize, Message<'a>), ApiError> {
    let refused = |error: ApiError| {
        let member = error.field.as_ref().map_or_else(String::new, |field| format!(".{field}"));
        error.about(format!("messages[{index}]{member}"))
    };
    let read = |raw: &'a RawValue| {
        let members: Members<'_> = read_body(raw.get().as_bytes())?;
        members.check("")?;
        let role = match members.needed("role")?.as_str() {
            "system" => Author::System,
            "user" => Author::User,
            "assistant" => Author::Assistant,
            _ => return Err(ApiError::field("role", "expected `system`, `user` or `assistant`")),
        };
        let missing = || ApiError::field("parts", "this member is required");
        let parts = *members.0.get("parts").ok_or_else(missing)?;
        let (id, metadata) = (members.needed("id")?, members.0.get("metadata"));
        Ok(Message { id, role, parts, metadata: metadata.copied() })
    };
    read(raw).map(|message| (index, message)).map_err(refused)
}

/// The texts of an earlier message. Parts of another form have none.
fn words(message: &Message<'_>) -> String {
    let parts: Vec<Part> = wire::json::from_str(message.parts.get()).unwrap_or_default();
    let mut words = Words::default();
    for part in parts.iter().filter(|part| text(part, "type") == Some("text")) {
        words.add(text(part, "text"));
    }
    words.0
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
    let mut answers = Vec::new();
    for part in &parts {
        let read = answer(part);
        answers.extend(read.map_err(|why| ApiError::field(format!("messages[{index}].parts"), why))?);
    }
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
