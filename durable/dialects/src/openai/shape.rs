//! The shape that a request wants of the answer: JSON of a schema, and a call of one of its functions first.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::given::at;
use crate::names::named;
use crate::pieces::Members;
use wire::json::from_str;
use wire::model::RawValueEq;
use wire::protocol::{ApiError, ClientTool, OpenAiApi};

/// The form of an answer: `response_format`, or `text.format`.
#[derive(Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
    /// In Chat Completions.
    json_schema: Option<Schema>,
    /// In Responses.
    schema: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Schema {
    schema: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Text {
    format: Option<Box<RawValue>>,
}

/// The member of a form, and that of its schema.
pub fn names(api: OpenAiApi) -> (&'static str, &'static str) {
    match api {
        OpenAiApi::ChatCompletions => ("response_format", "response_format.json_schema.schema"),
        OpenAiApi::Responses => ("text.format", "text.format.schema"),
    }
}

/// The schema that the answer must satisfy, as the client wrote it; none for an answer in text.
pub fn schema(members: &Members<'_>, api: OpenAiApi) -> Result<Option<RawValueEq>, ApiError> {
    let (name, of_schema) = names(api);
    let refused = || ApiError::field(name, "expected an object with a `type`");
    let given = match api {
        OpenAiApi::ChatCompletions => members.pieces.get(name).map(|piece| piece.text().to_owned()),
        OpenAiApi::Responses => {
            let text = members.pieces.get("text").map(|piece| from_str::<Option<Text>>(piece.text()));
            let text = text.transpose().map_err(|_| ApiError::field("text", "expected an object"))?.flatten();
            text.and_then(|text| text.format).map(|format| format.get().to_owned())
        }
    };
    let Some(given) = given.filter(|given| given != "null") else { return Ok(None) };
    let Format { kind, json_schema, schema } = from_str(&given).map_err(|_| refused())?;
    let schema = match kind.as_str() {
        "text" => return Ok(None),
        "json_object" => RawValue::from_string(r#"{"type":"object"}"#.to_owned()).ok(),
        "json_schema" => json_schema.and_then(|of| of.schema).or(schema).filter(|raw| raw.get() != "null"),
        _ => return Err(ApiError::field(name, "the types are `text`, `json_object` and `json_schema`")),
    };
    schema
        .map(|schema| Some(RawValueEq(schema)))
        .ok_or_else(|| ApiError::field(of_schema, "expected a schema"))
}

/// The functions of which the model must call one first, by our names; none where it chooses.
pub fn must_call(
    choice: Option<&Value>,
    tools: &[ClientTool],
    api: OpenAiApi,
) -> Result<Option<Vec<String>>, ApiError> {
    const NAME: &str = "tool_choice";
    let expected =
        || ApiError::field(NAME, "expected `auto`, `none`, `required` or a function of the request");
    let name = match choice {
        None => return Ok(None),
        Some(Value::String(choice)) => match choice.as_str() {
            "auto" | "none" => return Ok(None),
            "required" if tools.is_empty() => {
                return Err(ApiError::field(NAME, "`required` needs a function in `tools`"));
            }
            "required" => return Ok(Some(tools.iter().map(|tool| tool.name.clone()).collect())),
            _ => return Err(expected()),
        },
        Some(choice) if *at(choice, "type") == "function" => match api {
            OpenAiApi::ChatCompletions => at(at(choice, "function"), "name"),
            OpenAiApi::Responses => at(choice, "name"),
        },
        Some(_) => return Err(expected()),
    };
    let ours = name.as_str().and_then(|name| named(name).ok()).map(|(ours, _)| ours);
    let ours = ours.filter(|ours| tools.iter().any(|tool| tool.name == *ours));
    ours.map(|ours| Some(vec![ours])).ok_or_else(expected)
}
