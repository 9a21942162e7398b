//! The body of the client's request. It has the whole chat, of which only the end counts: the newest user message, or the
//! answers in the newest message of the assistant. The rest is read for a new thread alone.

use std::cell::RefCell;
use std::str::from_utf8;

use serde_json::Value;
use uuid::Uuid;

use super::parts::{answers, content};
use crate::given::{DEFAULT_MODEL, Earlier, MAX_IMPORTED, Part, Words, history, text, too_long, unanswered};
use crate::instructions::Instructions;
use crate::names::named;
use crate::pieces::{Back, Members, Newest, Piece, REQUIRED, not_json, within};
use crate::template::Hole::{Json, Text};
use crate::template::fill;
use wire::json::from_slice;
use wire::pace::Pace;
use wire::protocol::{ApiError, ChatRequest, Content, ErrorCode, GivenAnswer, IfRunning, Seq, read_body};

/// The longest id of a chat, in bytes: it stands in addresses.
pub const MAX_CHAT_ID: usize = 1_024;
/// The options of the service in a body, and their names in its own one.
const OPTIONS: [(&str, &str); 11] = [
    ("model", "model"),
    ("tools", "client_tools"),
    ("chat_context", "chat_context"),
    ("mode_profile", "mode_profile"),
    ("browser_context", "browser_context"),
    ("memory_enabled", "memory_enabled"),
    ("collections", "collections"),
    ("workspace", "workspace"),
    ("agents", "agents"),
    ("time_zone", "time_zone"),
    ("response_schema", "response_schema"),
];

/// The members of a body, and those that decide what is wanted.
struct Body<'a> {
    members: Members<'a>,
    pace: &'a Pace<'a>,
    /// Whether the newest message shall be answered anew.
    anew: bool,
    /// The message to answer anew, or to replace.
    message_id: Option<String>,
}

pub(super) struct Message<'a> {
    id: String,
    role: Author,
    pub(super) parts: Piece<'a>,
    pub(super) metadata: Option<Piece<'a>>,
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
    /// The instructions of a request for a turn.
    pub instructions: Instructions,
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
    pub async fn parse<'a>(body: &'a [u8], pace: &'a Pace<'a>) -> Result<Sent, ApiError> {
        let members = Members::divide(body, "messages", pace).await?;
        let chat_id = members.needed("id")?;
        if chat_id.is_empty() || chat_id.len() > MAX_CHAT_ID {
            return Err(ApiError::field("id", format!("an id has 1 to {MAX_CHAT_ID} bytes")));
        }
        let anew = match (members.text("trigger")?.as_deref(), members.pieces.get("trigger")) {
            (None, None) | (Some("submit-message"), _) => false,
            (Some("regenerate-message"), _) => true,
            _ => {
                return Err(ApiError::field("trigger", "expected `submit-message` or `regenerate-message`"));
            }
        };
        let message_id = members.text("messageId")?;
        let (wants, instructions) = Body { members, pace, anew, message_id }.wants().await?;
        Ok(Sent { chat_id, wants, instructions })
    }
}

impl Body<'_> {
    /// The instructions of `system`, and of the messages with which the chat begins. A long one is not read so far from its
    /// end.
    async fn instructions(&self, messages: &Newest<'_>) -> Result<Instructions, ApiError> {
        let member = self.members.text("system")?.map(|text| ("system", text));
        let mut instructions = Instructions::new(member, "messages");
        for (index, piece) in messages.beginning() {
            match message(piece, self.pace).await {
                Ok(message) if message.role == Author::System => {
                    instructions.add(index, words(&message, self.pace).await?);
                }
                Err(error) if error.code == ErrorCode::Overloaded => return Err(error),
                // A message that cannot be read is refused where it counts.
                Ok(_) | Err(_) => break,
            }
        }
        Ok(instructions)
    }

    async fn wants(&self) -> Result<(Wants, Instructions), ApiError> {
        let messages = self.members.list("messages", self.pace).await?;
        let instructions = RefCell::new(self.instructions(&messages).await?);
        let mut end = Said { messages: messages.back(), pace: self.pace, instructions: &instructions };
        let Some((index, newest)) = end.next().await? else {
            return Err(ApiError::field("messages", "expected at least one message of the user"));
        };
        let (between, answer) = end.clone().after_the_answer().await?;
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
            let answers = answers(answered, index, self.pace).await?;
            return Ok((answers, instructions.into_inner()));
        }
        let content = content(&newest, index, self.pace).await?;
        let is_version = anew || is_named(&newest);
        let follows = is_version.then(|| place(answer.as_ref()));
        let same = match is_version {
            true => None,
            false => {
                Some((newest.id.clone(), from_utf8(newest.parts.json).map_err(|_| not_json())?.to_owned()))
            }
        };
        let mut history = history(&mut end).await?;
        // An answer of ours may have no words. Then the question before it still has its turn.
        if follows.is_some_and(|answer| answer != Uuid::max()) {
            unanswered(&mut history);
            if !between.is_empty() {
                history.push(between.join("\n\n"));
            }
        }
        let request = Box::new(self.request(content, (index, newest.parts.units())).await?);
        Ok((Wants::Turn { request, same, follows, history }, instructions.into_inner()))
    }

    /// The request, whose options are read as those of the service's own route.
    async fn request(
        &self,
        content: Content,
        (index, units): (usize, usize),
    ) -> Result<ChatRequest, ApiError> {
        let mut options = Vec::new();
        for (name, ours) in OPTIONS {
            if let Some(option) = self.members.pieces.get(name) {
                let listed = match name {
                    "tools" => {
                        self.pace.before(option.units()).await?;
                        Some(listed(option)?)
                    }
                    _ => None,
                };
                options.push(if options.is_empty() { b'{' } else { b',' });
                let json = listed.as_deref().unwrap_or(option.json);
                fill("$:$", &[Text(ours), Json(json)], &mut options);
            }
        }
        options.extend_from_slice(if options.is_empty() { b"{}" } else { b"}" });
        self.pace.before(self.members.rest).await?;
        let read: Result<ChatRequest, ApiError> = read_body(&options);
        let mut request = read.map_err(|error| error.renamed("client_tools", "tools"))?;
        for (at, tool) in request.client_tools.iter_mut().flatten().enumerate() {
            let named = named(&tool.name).map_err(|why| ApiError::field(format!("tools[{at}].name"), why));
            let (ours, is_shortened) = named?;
            let theirs = std::mem::replace(&mut tool.name, ours);
            tool.client_name = is_shortened.then_some(theirs);
        }
        request.content = content;
        request.client_tools_at_once = request.client_tools.as_ref().map(|_| true);
        // The client closes its connection where a person wants to stop, or has gone on.
        request.if_running = Some(IfRunning::Supersede);
        request.model = request.model.filter(|model| model != DEFAULT_MODEL);
        // The check decodes the files.
        self.pace.before(units).await?;
        let parts = format!("messages[{index}].parts");
        request.checked().map_err(|error| error.renamed("content", &parts))
    }
}

/// The client's tools as a list. A body may have them as a map from names. A tool without a description has its name for
/// one.
fn listed(tools: &Piece<'_>) -> Result<Vec<u8>, ApiError> {
    let mut tools = match from_slice(tools.json).map_err(|_| not_json())? {
        Value::Object(tools) => {
            let tool = |(name, mut tool): (String, Value)| match &mut tool {
                Value::Object(members) => {
                    members.insert("name".to_owned(), Value::String(name));
                    Ok(tool)
                }
                _ => Err(ApiError::field(format!("tools.{name}"), "expected an object")),
            };
            Value::Array(tools.into_iter().map(tool).collect::<Result<_, _>>()?)
        }
        tools => tools,
    };
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        let is_described = tool.get("description").is_some_and(|text| !text.is_null());
        if let (false, Some(name @ Value::String(_))) = (is_described, tool.get("name").cloned()) {
            tool.insert("description".to_owned(), name);
        }
    }
    Ok(tools.to_string().into_bytes())
}

/// The place of a version: behind the answer before its message. An id that is none of ours belongs to an answer of the
/// history that the client brought: no turn has the largest id.
fn place(answer: Option<&Message<'_>>) -> Uuid {
    answer.map_or(Uuid::nil(), |answer| Uuid::try_parse(&answer.id).unwrap_or(Uuid::max()))
}

/// The messages that the user or the assistant said, from the end. Those of the system are instructions.
#[derive(Clone)]
struct Said<'l, 'a> {
    messages: Back<'l, 'a>,
    pace: &'l Pace<'l>,
    instructions: &'l RefCell<Instructions>,
}

impl<'a> Said<'_, 'a> {
    async fn next(&mut self) -> Result<Option<(usize, Message<'a>)>, ApiError> {
        for (index, piece) in self.messages.by_ref() {
            let read = message(piece, self.pace).await;
            let message = read.map_err(|error| within(&format!("messages[{index}]"), error))?;
            if message.role != Author::System {
                return Ok(Some((index, message)));
            }
            let text = words(&message, self.pace).await?;
            self.instructions.borrow_mut().add(index, text);
        }
        Ok(None)
    }

    /// The newest answer, and the texts of the user after it.
    async fn after_the_answer(mut self) -> Result<(Vec<String>, Option<Message<'a>>), ApiError> {
        let (mut between, mut chars) = (Vec::new(), 0);
        let answer = loop {
            match self.next().await? {
                // A thread refuses more characters than are imported.
                Some((_, message)) if message.role != Author::Assistant && chars > MAX_IMPORTED => {}
                Some((_, message)) if message.role != Author::Assistant => {
                    let words = words(&message, self.pace).await?;
                    chars += words.chars().count();
                    if !words.trim().is_empty() {
                        between.push(words);
                    }
                }
                answer => break answer.map(|(_, answer)| answer),
            }
        };
        between.reverse();
        Ok((between, answer))
    }
}

impl Earlier for Said<'_, '_> {
    async fn earlier(&mut self) -> Result<Option<(bool, String)>, ApiError> {
        let Some((_, message)) = self.next().await? else { return Ok(None) };
        Ok(Some((message.role == Author::User, words(&message, self.pace).await?)))
    }
}

/// Reads a message, all but its parts.
async fn message<'a>(piece: Piece<'a>, pace: &Pace<'_>) -> Result<Message<'a>, ApiError> {
    let members = Members::divide(piece.json, "parts", pace).await?;
    let role = match members.needed("role")?.as_str() {
        "system" => Author::System,
        "user" => Author::User,
        "assistant" => Author::Assistant,
        _ => return Err(ApiError::field("role", "expected `system`, `user` or `assistant`")),
    };
    let parts = *members.pieces.get("parts").ok_or_else(|| ApiError::field("parts", REQUIRED))?;
    let (id, metadata) = (members.needed("id")?, members.pieces.get("metadata").copied());
    Ok(Message { id, role, parts, metadata })
}

/// The texts of an earlier message. Parts of another form have none.
async fn words(message: &Message<'_>, pace: &Pace<'_>) -> Result<String, ApiError> {
    let mut words = Words::default();
    let parts = match Newest::divide(message.parts.json, pace).await {
        Ok(parts) => parts,
        Err(error) if error.code == ErrorCode::Overloaded => return Err(error),
        Err(_) => return Ok(words.0),
    };
    for (_, piece) in parts.iter() {
        if piece.is_too_much() {
            return Ok(too_long());
        }
        let part: Part = piece.read(pace).await?.unwrap_or_default();
        if text(&part, "type") == Some("text") {
            words.add(text(&part, "text"));
        }
        // A character has at most four bytes.
        if words.0.len() > 4 * MAX_IMPORTED {
            return Ok(too_long());
        }
    }
    Ok(words.0)
}
