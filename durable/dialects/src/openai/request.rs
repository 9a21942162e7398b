//! The bodies of `POST /v1/chat/completions` and `POST /v1/responses`. Both bring a conversation, of which the end counts: the
//! newest message of the user, or the answers behind it. The rest is read for a new thread alone, and skipped otherwise.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::conversation::Messages;
use super::messages::{Kind, answer, content, conversation, is_system, kind, role, text_of};
use super::shape;
use crate::given::{DEFAULT_MODEL, MAX_ANSWERS, Part, at, history, too_long};
use crate::ids::Place;
use crate::instructions::Instructions;
use crate::names::named;
use crate::pieces::{MAX_PIECE, Members, Newest, Piece, too_much};
use wire::model::RawValueEq;
use wire::pace::Pace;
use wire::protocol::{
    AnswerForm, ApiError, ChatRequest, ClientTool, Content, ErrorCode, GivenAnswer, IfRunning, OpenAi,
    OpenAiApi,
};

/// The most members that an answer names as ignored, and the longest name.
const MAX_IGNORED: (usize, usize) = (32, 64);
/// The longest name of a thread, in bytes.
const MAX_THREAD: usize = 1_024;

/// The members that have an effect, or are refused where they would have one.
const KNOWN: [&str; 18] = [
    "background",
    "input",
    "instructions",
    "logprobs",
    "messages",
    "metadata",
    "model",
    "n",
    PARALLEL,
    "previous_response_id",
    "response_format",
    "stream",
    "stream_options",
    "text",
    "time_zone",
    "tool_choice",
    "tools",
    "top_logprobs",
];

/// The members without an effect, with the value that says what the service does anyway.
const ANYWAY: [(&str, &str); 1] = [("store", "true")];

/// The member that says whether calls of one reply are asked at once.
const PARALLEL: &str = "parallel_tool_calls";

/// The members with few values that an agent can follow, as JSON, and why it takes no other.
const TAKEN: &[(&str, &[&str], &str)] = &[
    ("n", &["1"], "a turn has one answer"),
    ("logprobs", &["false"], "the service has no probabilities of tokens"),
    ("top_logprobs", &["0"], "the service has no probabilities of tokens"),
];

/// A request in our own terms.
#[derive(Debug)]
pub struct Sent {
    /// The client's name of the thread.
    pub thread: Option<Uuid>,
    pub wants: Wants,
    pub how: OpenAi,
    /// The instructions of a request for a turn.
    pub instructions: Instructions,
    /// The member that has the user's time zone.
    pub time_zone: &'static str,
    /// The members that the service ignores.
    pub ignored: Vec<String>,
}

/// Finds the thread that a request names: in its body, or elsewhere. None where it names none.
pub type ThreadOf<'a> = dyn Fn(Option<String>) -> Result<Option<Uuid>, ApiError> + 'a;

#[derive(Debug)]
pub enum Wants {
    /// A turn. `after`: the answer that it follows. `referred`: the answer to which its conversation refers in place of a text.
    /// `history` may end with a question without an answer.
    Turn { request: Box<ChatRequest>, after: Option<Place>, referred: Option<Place>, history: Vec<String> },
    /// To answer calls of an answer, and read the next one.
    Answers { answers: Vec<GivenAnswer>, place: Place },
}

/// The client's tools, and the shape that it wants of the answer.
struct Wish {
    tools: Vec<ClientTool>,
    must_call: Option<Vec<String>>,
    schema: Option<RawValueEq>,
}

/// The members of a body, not yet read.
struct Body<'a> {
    members: Members<'a>,
    pace: &'a Pace<'a>,
    api: OpenAiApi,
}

impl Body<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.members.get(name)
    }

    fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(ApiError::field(name, "expected true or false")),
        }
    }

    fn object(&self, name: &str) -> Result<Value, ApiError> {
        match self.get(name) {
            None => Ok(Value::Null),
            Some(object) if object.is_object() => Ok(object),
            Some(_) => Err(ApiError::field(name, "expected an object")),
        }
    }

    /// Refuses what an agent cannot do, and the client would miss.
    fn check(&self) -> Result<(), ApiError> {
        for (name, taken, detail) in TAKEN {
            let given = self.members.pieces.get(name).map_or("null", |piece| piece.text());
            if given != "null" && !taken.contains(&given) {
                return Err(ApiError::field(*name, *detail));
            }
        }
        Ok(())
    }

    /// The client's tools, and the shape of the answer that it wants.
    fn wish(&self) -> Result<Wish, ApiError> {
        let tools = self.tools()?;
        let must_call = shape::must_call(self.get("tool_choice").as_ref(), &tools, self.api)?;
        Ok(Wish { must_call, tools, schema: shape::schema(&self.members, self.api)? })
    }

    fn ignored(&self) -> Vec<String> {
        let (most, longest) = MAX_IGNORED;
        let is_plain = |name: &str| {
            name.len() <= longest && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let mut ignored = Vec::new();
        for (name, piece) in self.members.pieces.iter() {
            let given = piece.text();
            let counts = given == "null" || KNOWN.contains(&name) || ANYWAY.contains(&(name, given));
            if !counts && is_plain(name) && ignored.len() < most {
                ignored.push(name.to_owned());
            }
        }
        ignored
    }

    /// The member that has the user's time zone, and the zone. Clients that send no members of their own have metadata.
    fn time_zone(&self) -> Result<(&'static str, Option<String>), ApiError> {
        if let Some(zone) = self.members.text("time_zone")? {
            return Ok(("time_zone", Some(zone)));
        }
        const NAME: &str = "metadata.time_zone";
        match at(&self.object("metadata")?, "time_zone") {
            Value::Null => Ok((NAME, None)),
            Value::String(zone) => Ok((NAME, Some(zone.clone()))),
            _ => Err(ApiError::field(NAME, "expected a text")),
        }
    }

    /// The client's tools; none where it wants none of them called.
    fn tools(&self) -> Result<Vec<ClientTool>, ApiError> {
        let tools = match self.get("tools") {
            Some(Value::Array(tools)) if self.get("tool_choice").is_none_or(|choice| choice != "none") => {
                tools
            }
            None | Some(Value::Array(_)) => return Ok(Vec::new()),
            Some(_) => return Err(ApiError::field("tools", "expected an array")),
        };
        let mut read = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            let refused =
                |member: &str, detail: &str| ApiError::field(format!("tools[{index}].{member}"), detail);
            if *at(tool, "type") != "function" {
                return Err(refused("type", "the service has its own tools: a client brings functions"));
            }
            let function = match self.api {
                OpenAiApi::ChatCompletions => at(tool, "function"),
                OpenAiApi::Responses => tool,
            };
            let name = at(function, "name").as_str().unwrap_or_default();
            let description = at(function, "description").as_str().filter(|text| !text.trim().is_empty());
            let input_schema = match function.get("parameters") {
                Some(Value::Object(schema)) => schema.clone(),
                None | Some(Value::Null) => Map::from_iter([("type".to_owned(), json!("object"))]),
                Some(_) => return Err(refused("parameters", "expected a schema")),
            };
            let (ours, is_shortened) = named(name).map_err(|why| refused("name", why))?;
            read.push(ClientTool {
                name: ours,
                client_name: is_shortened.then(|| name.to_owned()),
                description: description.unwrap_or(name).to_owned(),
                input_schema,
            });
        }
        Ok(read)
    }

    /// The conversation, message by message, and the member that has it.
    async fn list(&self) -> Result<(&'static str, Newest<'_>, Option<String>), ApiError> {
        let name = conversation(self.api);
        let text = self.members.pieces.get(name).filter(|piece| piece.json.starts_with(b"\""));
        match (self.api, text) {
            (OpenAiApi::Responses, Some(text)) if text.is_too_much() => {
                Err(ApiError::field(name, too_much("a text")))
            }
            (OpenAiApi::Responses, Some(text)) => {
                self.pace.before(text.units()).await?;
                Ok((name, Newest::default(), self.members.text(name)?))
            }
            _ => Ok((name, self.members.list(name, self.pace).await?, None)),
        }
    }
}

impl Sent {
    /// Reads and checks a body. The error names the first offending member. `thread_of` gives the thread of a request, by the
    /// name in its body.
    pub async fn parse<'a>(
        body: &'a [u8],
        api: OpenAiApi,
        pace: &'a Pace<'a>,
        thread_of: &ThreadOf<'_>,
    ) -> Result<Sent, ApiError> {
        let body = Body { members: Members::divide(body, conversation(api), pace).await?, pace, api };
        pace.before(body.members.rest).await?;
        body.check()?;
        let thread = at(&body.object("metadata")?, "thread_id").as_str().map(str::to_owned);
        if thread.as_ref().is_some_and(|name| name.is_empty() || name.len() > MAX_THREAD) {
            let detail = format!("the name of a thread has 1 to {MAX_THREAD} bytes");
            return Err(ApiError::field("metadata.thread_id", detail));
        }
        let thread = thread_of(thread)?;
        let background = api == OpenAiApi::Responses && body.flag("background")?;
        let form = match (body.flag("stream")?, background) {
            (true, _) => AnswerForm::Stream,
            (false, true) => AnswerForm::Now,
            (false, false) => AnswerForm::Whole,
        };
        let usage = *at(&body.object("stream_options")?, "include_usage") == true;
        let mut how = OpenAi { api, form, usage, background, segment: 0, after: None };
        let ignored = body.ignored();
        let (wants, instructions) = body.wants(thread, body.wish()?).await?;
        if let Wants::Answers { place, .. } = &wants {
            how.segment = place.segment.saturating_add(1);
        }
        Ok(Sent { thread, wants, how, instructions, time_zone: body.time_zone()?.0, ignored })
    }
}

impl Body<'_> {
    /// The instructions of their member, and of the messages with which a conversation begins. A long one is not read so far
    /// from its end.
    async fn instructions(&self, name: &'static str, list: &Newest<'_>) -> Result<Instructions, ApiError> {
        let member = match self.api {
            OpenAiApi::ChatCompletions => None,
            OpenAiApi::Responses => self.members.text("instructions")?.map(|text| ("instructions", text)),
        };
        let mut instructions = Instructions::new(member, name);
        for (index, piece) in list.beginning() {
            if piece.is_too_much() {
                if role(piece, self.pace).await?.is_some_and(|role| is_system(&role)) {
                    instructions.add(index, too_long());
                }
                break;
            }
            let part: Part = piece.read(self.pace).await?.unwrap_or_default();
            if !matches!(kind(&part), Kind::System) {
                break;
            }
            instructions.add(index, text_of(&part));
        }
        Ok(instructions)
    }

    /// The wish at the end of the conversation, and the instructions beside it.
    async fn wants(&self, thread: Option<Uuid>, wish: Wish) -> Result<(Wants, Instructions), ApiError> {
        let (name, list, only) = self.list().await?;
        let instructions = self.instructions(name, &list).await?;
        if let Some(only) = only {
            let units = self.members.pieces.get(name).map_or(0, Piece::units);
            return Ok((
                self.turn(Content::Text(only), (name, units), wish, (None, Vec::new())).await?,
                instructions,
            ));
        }
        let mut messages = Messages::new(name, list.back(), self.pace, instructions, thread);
        let (mut answers, mut bytes, mut place) = (Vec::new(), 0, None::<Place>);
        let question = loop {
            let Some((at, piece, part)) = messages.next().await? else { break None };
            let refused = |detail: &str| ApiError::field(&at, detail);
            let Some(part) = part else {
                if answers.is_empty() {
                    return Err(refused(&too_much("a message")));
                }
                break None;
            };
            bytes += piece.json.len();
            match kind(&part) {
                Kind::System => {}
                Kind::Answer if answers.len() < MAX_ANSWERS && bytes <= MAX_PIECE => {
                    let (of, answer) = answer(&part).map_err(|why| refused(&why))?;
                    let of = of.ok_or_else(not_waiting)?;
                    let before = place.get_or_insert(of);
                    if (before.thread, before.turn) != (of.thread, of.turn) {
                        return Err(refused("the answers of a request belong to one turn"));
                    }
                    before.segment = before.segment.max(of.segment);
                    answers.push(answer);
                }
                Kind::User if answers.is_empty() => {
                    let content = content(&part, &at)?;
                    break Some((at, piece.units(), content));
                }
                _ if !answers.is_empty() => break None,
                _ => return Err(refused("the last message must be the user's, or answer a call")),
            }
        };
        if let Some(place) = place {
            answers.reverse();
            return Ok((Wants::Answers { answers, place }, messages.instructions));
        }
        let missing = || ApiError::field(name, "expected at least one message of the user");
        let (at, units, content) = question.ok_or_else(missing)?;
        let history = history(&mut messages).await?;
        let turn = self.turn(content, (&at, units), wish, (messages.referred, history)).await?;
        Ok((turn, messages.instructions))
    }

    /// A turn with this message, which has this place and takes so many units of work to read.
    async fn turn(
        &self,
        content: Content,
        (at, units): (&str, usize),
        Wish { tools, must_call, schema }: Wish,
        (referred, history): (Option<Place>, Vec<String>),
    ) -> Result<Wants, ApiError> {
        let (zone, time_zone) = self.time_zone()?;
        let at_once = self.get(PARALLEL).is_none() || self.flag(PARALLEL)?;
        let request = ChatRequest {
            content,
            if_running: Some(IfRunning::Supersede),
            model: self.members.text("model")?.filter(|model| model != DEFAULT_MODEL),
            client_tools_at_once: Some(at_once).filter(|_| !tools.is_empty()),
            client_tools: Some(tools),
            must_call,
            response_schema: schema,
            // A closed stream of Chat Completions cannot be read on.
            cancel_on_disconnect: Some(self.api == OpenAiApi::ChatCompletions),
            time_zone,
            ..ChatRequest::default()
        };
        let content = format!("{at}.content");
        // The check decodes the files.
        self.pace.before(units).await?;
        let (form, _) = shape::names(self.api);
        let renamed = |error: ApiError| {
            let error = error.renamed("content", &content).renamed("time_zone", zone);
            error.renamed("response_schema", form).renamed("must_call", "tool_choice")
        };
        let request = request.checked().map_err(renamed)?;
        let after = match self.api {
            OpenAiApi::ChatCompletions => None,
            OpenAiApi::Responses => self.members.text("previous_response_id")?,
        };
        let after = after.map(|id| super::response(&id).map(|(place, _)| place));
        Ok(Wants::Turn { request: Box::new(request), after: after.transpose()?, referred, history })
    }
}

fn not_waiting() -> ApiError {
    ApiError::new(ErrorCode::NotWaiting, "no call waits for this answer")
}

/// The refusal of an id of no answer.
pub fn no_response() -> ApiError {
    ApiError::new(ErrorCode::MessageNotFound, "there is no response with this id")
}
