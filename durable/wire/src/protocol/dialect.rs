//! Requests of clients that were written for another service (`durable/dialects`), as a thread's object gets them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Decision;

/// The form of a stream that is not our own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Dialect {
    /// The UI message stream of the AI SDK.
    AiSdk,
    /// An answer of one of OpenAI's two APIs.
    OpenAi(OpenAi),
    /// The response to a request of MCP.
    Mcp(Box<McpReply>),
}

/// A response of the Model Context Protocol that a turn becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpReply {
    /// The id of the request, as JSON.
    pub id: String,
    /// The token of its notifications of progress, as JSON. Without one there are none.
    pub progress: Option<String>,
    pub gives: McpGives,
    pub form: AnswerForm,
    /// Whether the client speaks a revision without sessions: 2026-07-28.
    pub is_modern: bool,
    /// The signed state of the turn, for a client that can ask a person: then a turn that waits for one asks the client.
    pub state: Option<String>,
    /// The address of the service, for a client that cannot.
    pub origin: String,
    /// Whether the turn stops when the client closes the stream.
    pub stops: bool,
}

/// The result in a response of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpGives {
    /// The turn's answer.
    Answer,
    /// The task that the turn is, which has just begun.
    NewTask,
    /// The state of the task.
    Task,
    /// An acknowledgement.
    Nothing,
}

/// An answer in a form of OpenAI's. A turn that waits for the client is several answers: one up to each wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAi {
    pub api: OpenAiApi,
    pub form: AnswerForm,
    /// Whether the end of a stream of Chat Completions has the usage.
    pub usage: bool,
    /// Whether the client asked for an answer in the background. The answer says so again.
    pub background: bool,
    /// How many waits of the turn come before this answer.
    pub segment: u32,
    /// The client has the events of the stream up to this number.
    pub after: Option<u64>,
}

/// The two APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenAiApi {
    ChatCompletions,
    Responses,
}

/// How a client gets its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// As a stream of events.
    Stream,
    /// As JSON, once it is complete.
    Whole,
    /// As JSON, as far as the log has it now.
    Now,
}

/// A text, because a type with so many members would be as much code as an encoder: `ai_sdk`; `openai` with the members
/// of [`OpenAi`] as numbers, in their order, where `after` is missing if there is none; `mcp` with those of [`McpReply`],
/// numbers first, then a JSON array of its texts.
impl From<Dialect> for String {
    fn from(dialect: Dialect) -> String {
        let how = match dialect {
            Dialect::AiSdk => return "ai_sdk".to_owned(),
            Dialect::OpenAi(how) => how,
            Dialect::Mcp(how) => {
                let McpReply { id, progress, gives, form, is_modern, state, origin, stops } = *how;
                let (is_modern, stops) = (u8::from(is_modern), u8::from(stops));
                let texts = Value::from(vec![id.into(), Value::from(progress), state.into(), origin.into()]);
                return format!("mcp {} {} {is_modern} {stops} {texts}", gives as u8, form as u8);
            }
        };
        let OpenAi { api, form, usage, background, segment, after } = how;
        let (api, form, usage, background) = (api as u8, form as u8, u8::from(usage), u8::from(background));
        let told = format!("openai {api} {form} {usage} {background} {segment}");
        match after {
            Some(after) => format!("{told} {after}"),
            None => told,
        }
    }
}

impl TryFrom<String> for Dialect {
    type Error = &'static str;

    fn try_from(told: String) -> Result<Dialect, &'static str> {
        if told == "ai_sdk" {
            return Ok(Dialect::AiSdk);
        }
        let mcp = || mcp(&told).map(|how| Dialect::Mcp(Box::new(how)));
        openai(&told).map(Dialect::OpenAi).or_else(mcp).ok_or("this dialect is not known")
    }
}

fn mcp(told: &str) -> Option<McpReply> {
    let mut rest = told.strip_prefix("mcp ")?.splitn(5, ' ');
    let mut number = || rest.next()?.parse::<u64>().ok();
    let gives = match number()? {
        0 => McpGives::Answer,
        1 => McpGives::NewTask,
        2 => McpGives::Task,
        3 => McpGives::Nothing,
        _ => return None,
    };
    let (form, is_modern, stops) = (form(number()?)?, number()? == 1, number()? == 1);
    let Ok(Value::Array(texts)) = crate::json::from_str(rest.next()?) else { return None };
    let [id, progress, state, origin] = texts.as_slice() else { return None };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (progress, state) = (text(progress), text(state));
    Some(McpReply { id: text(id)?, progress, gives, form, is_modern, state, origin: text(origin)?, stops })
}

fn form(number: u64) -> Option<AnswerForm> {
    [AnswerForm::Stream, AnswerForm::Whole, AnswerForm::Now].into_iter().find(|form| *form as u64 == number)
}

fn openai(told: &str) -> Option<OpenAi> {
    let members = told.strip_prefix("openai ")?.split(' ').map(str::parse);
    let members: Vec<u64> = members.collect::<Result<_, _>>().ok()?;
    let (members, after) = members.split_at_checked(5)?;
    let [api, form, usage, background, segment] = members else { return None };
    let api = match api {
        0 => OpenAiApi::ChatCompletions,
        1 => OpenAiApi::Responses,
        _ => return None,
    };
    let form = self::form(*form)?;
    let after = match after {
        [] => None,
        [after] => Some(*after),
        _ => return None,
    };
    let segment = u32::try_from(*segment).ok()?;
    Some(OpenAi { api, form, usage: *usage == 1, background: *background == 1, segment, after })
}

impl Dialect {
    /// The name of [`Dialect::OpenAi`].
    pub const OPENAI: &'static str = "openai";

    /// Its name, also in the ids of threads.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Dialect::AiSdk => "ai-sdk",
            Dialect::OpenAi(_) => Dialect::OPENAI,
            Dialect::Mcp(_) => "mcp",
        }
    }

    /// How the client gets its answer.
    pub const fn form(&self) -> AnswerForm {
        match self {
            Dialect::AiSdk => AnswerForm::Stream,
            Dialect::OpenAi(OpenAi { form, .. }) => *form,
            Dialect::Mcp(how) => how.form,
        }
    }

    /// The same for a client whose answers were taken just now: it gets what comes after all waits so far.
    pub fn after_waits(self, waits: u32) -> Dialect {
        match self {
            Dialect::OpenAi(how) => Dialect::OpenAi(OpenAi { segment: how.segment.max(waits), ..how }),
            other => other,
        }
    }

    /// Whether the client can show a person the forms of tools.
    pub fn takes_forms(&self) -> bool {
        matches!(self, Dialect::Mcp(how) if how.state.is_some())
    }

    /// Whether a client that closes the stream of an answer stops the turn, also where the answer goes on after a wait.
    pub fn stops(&self) -> bool {
        match self {
            Dialect::AiSdk => false,
            // Such a stream cannot be read on.
            Dialect::OpenAi(OpenAi { api, form, .. }) => {
                (*api, *form) == (OpenAiApi::ChatCompletions, AnswerForm::Stream)
            }
            Dialect::Mcp(how) => how.stops,
        }
    }
}

/// An answer to a call that may wait for it: a person's decision, or the result of the client's own tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// The id of the question or of the call.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The result, or what a person filled into a form, as JSON.
    pub content: String,
    pub is_error: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 22
    #[test]
    fn a_closed_stream_of_a_completion_stops_its_turn() {
        for (told, stops) in [
            ("openai 0 0 0 0 0", true),
            ("openai 0 0 0 0 3", true),
            ("openai 0 1 0 0 3", false),
            ("openai 1 0 0 0 3", false),
            ("ai_sdk", false),
            (r#"mcp 0 0 1 1 ["1",null,null,""]"#, true),
            (r#"mcp 0 0 1 0 ["1",null,null,""]"#, false),
        ] {
            assert_eq!(Dialect::try_from(told.to_owned()).unwrap().stops(), stops, "{told}");
        }
    }

    // Issue 22
    #[test]
    fn a_dialect_is_a_text_that_only_its_own_form_is_read_from() {
        for (api, form, after, told) in [
            (OpenAiApi::ChatCompletions, AnswerForm::Stream, None, "openai 0 0 1 0 7"),
            (OpenAiApi::Responses, AnswerForm::Whole, Some(0), "openai 1 1 1 0 7 0"),
            (OpenAiApi::Responses, AnswerForm::Now, Some(u64::MAX), "openai 1 2 1 0 7 18446744073709551615"),
        ] {
            let how = OpenAi { api, form, usage: true, background: false, segment: 7, after };
            let dialect = Dialect::OpenAi(how);
            assert_eq!(serde_json::to_value(&dialect).unwrap(), told);
            assert_eq!(Dialect::try_from(told.to_owned()), Ok(dialect));
        }
        let reply = McpReply {
            id: r#""a b\"""#.to_owned(),
            progress: Some("7".to_owned()),
            gives: McpGives::Task,
            form: AnswerForm::Now,
            is_modern: true,
            state: None,
            origin: "https://x".to_owned(),
            stops: false,
        };
        let dialect = Dialect::Mcp(Box::new(reply));
        let told = r#"mcp 2 2 1 0 ["\"a b\\\"\"","7",null,"https://x"]"#;
        assert_eq!(String::from(dialect.clone()), told);
        assert_eq!(Dialect::try_from(told.to_owned()), Ok(dialect));
        assert_eq!(Dialect::try_from("ai_sdk".to_owned()), Ok(Dialect::AiSdk));
        for wrong in [
            "",
            "openai",
            "openai ",
            "openai 0 0 0 0",
            "openai 2 0 0 0 0",
            "openai 0 3 0 0 0",
            "openai 0 0 0 0 -1",
            "openai 0 0 0 0 4294967296",
            "openai 0 0 0 0 0 0 0",
            "mcp",
            "mcp 4 0 0 0 [\"1\",null,null,\"\"]",
            "mcp 0 3 0 0 [\"1\",null,null,\"\"]",
            "mcp 0 0 0 0 [null,null,null,\"\"]",
            "mcp 0 0 0 0 [\"1\",null,null]",
            "mcp 0 0 0 [\"1\",null,null,\"\"]",
        ] {
            assert!(Dialect::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
