//! Requests of clients that were written for another service (`durable/dialects`), as a thread's object gets them.

use serde::{Deserialize, Serialize};

use super::Decision;

/// The form of a stream that is not our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Dialect {
    /// The UI message stream of the AI SDK.
    AiSdk,
    /// An answer of one of OpenAI's two APIs.
    OpenAi(OpenAi),
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

/// A text, because a type with so many members would be as much code as an encoder: `ai_sdk`, or `openai` with the
/// members of [`OpenAi`] as numbers, in their order; `after` is missing where there is none.
impl From<Dialect> for String {
    fn from(dialect: Dialect) -> String {
        let how = match dialect {
            Dialect::AiSdk => return "ai_sdk".to_owned(),
            Dialect::OpenAi(how) => how,
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
        openai(&told).map(Dialect::OpenAi).ok_or("this dialect is not known")
    }
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
    let form = match form {
        0 => AnswerForm::Stream,
        1 => AnswerForm::Whole,
        2 => AnswerForm::Now,
        _ => return None,
    };
    let after = match after {
        [] => None,
        [after] => Some(*after),
        _ => return None,
    };
    let segment = u32::try_from(*segment).ok()?;
    Some(OpenAi { api, form, usage: *usage == 1, background: *background == 1, segment, after })
}

impl Dialect {
    /// Its name, also in the ids of threads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::AiSdk => "ai-sdk",
            Dialect::OpenAi(_) => "openai",
        }
    }

    /// How the client gets its answer.
    pub const fn form(self) -> AnswerForm {
        match self {
            Dialect::AiSdk => AnswerForm::Stream,
            Dialect::OpenAi(OpenAi { form, .. }) => form,
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
    pub content: String,
    pub is_error: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(serde_json::to_value(dialect).unwrap(), told);
            assert_eq!(Dialect::try_from(told.to_owned()), Ok(dialect));
        }
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
        ] {
            assert!(Dialect::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
