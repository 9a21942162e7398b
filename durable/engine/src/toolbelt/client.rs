//! `ui_*`: the tools that a client brings with its request and carries out itself.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::foreign;
use super::spec::raw;
use crate::toolbelt::{PermissionClass, RunsAt, ToolSpec};
use wire::model::RawValueEq;
use wire::protocol::{ApiError, ClientTool};
use wire::tool_names::MAX_TOOL_NAME;

/// The prefix of client tools' names. It keeps a client from replacing one of our own tools.
pub const PREFIX: &str = "ui_";
/// The most tools, and the longest name, description and schema in bytes. Each model call and the turn's
/// first journal entry carry all of it. OpenAI takes as many tools, and names of that length.
const MAX_TOOLS: usize = 128;
const MAX_DESCRIPTION: usize = 2_000;
const MAX_SCHEMA: usize = 16 << 10;
const MAX_ALL: usize = 128 << 10;

/// Checks a client's tools. The error names the member of the request.
pub fn check(tools: &[ClientTool]) -> Result<(), ApiError> {
    let refused = |at: String, why: String| Err(ApiError::field(at, why));
    if tools.len() > MAX_TOOLS {
        return refused("client_tools".to_owned(), format!("there may be {MAX_TOOLS} tools at most"));
    }
    let mut all = 0;
    for (index, tool) in tools.iter().enumerate() {
        let at = |member: &str| format!("client_tools[{index}].{member}");
        let rest = tool.name.strip_prefix(PREFIX).unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if rest.is_empty() || tool.name.len() > MAX_TOOL_NAME || !rest.bytes().all(plain) {
            let rule = format!("a name is {PREFIX} and a-z, 0-9 or _, {MAX_TOOL_NAME} characters at most");
            return refused(at("name"), rule);
        }
        let printed = |name: &str| name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if tool
            .client_name
            .as_deref()
            .is_some_and(|name| !(1..=MAX_TOOL_NAME).contains(&name.len()) || !printed(name))
        {
            return refused(
                at("client_name"),
                format!("it has 1 to {MAX_TOOL_NAME} letters, digits and signs of ASCII"),
            );
        }
        if tools.iter().take(index).any(|other| other.name == tool.name) {
            return refused(at("name"), "another tool has this name".to_owned());
        }
        if tool.description.trim().is_empty() || tool.description.len() > MAX_DESCRIPTION {
            return refused(at("description"), format!("it must have 1 to {MAX_DESCRIPTION} bytes"));
        }
        let bytes = Value::Object(tool.input_schema.clone()).to_string().len();
        if bytes > MAX_SCHEMA {
            return refused(at("input_schema"), format!("it may have {MAX_SCHEMA} bytes at most"));
        }
        if let Err(problem) = foreign::normalised(&tool.input_schema) {
            return refused(at("input_schema"), problem);
        }
        all += tool.name.len() + tool.description.len() + bytes;
    }
    match all > MAX_ALL {
        true => refused("client_tools".to_owned(), format!("all of them may have {MAX_ALL} bytes at most")),
        false => Ok(()),
    }
}

/// The declaration of a client's tool. Its calls of one reply are asked one at a time, in the model's order, where they change
/// the document that is open there; else `at_once`.
pub fn spec(tool: &ClientTool, at_once: bool) -> ToolSpec {
    let given: &Map<String, Value> = &tool.input_schema;
    // `check` has taken the schema before.
    let normal = foreign::normalised(given).unwrap_or_else(|_| Value::Object(given.clone()));
    let spec = ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: Rc::new(RawValueEq(raw(&Value::Null))),
        given_schema: None,
        permission_class: Some(PermissionClass::EditorMutate),
        parallel_safe: at_once,
        exclusive_lock: None,
        read_only: false,
        idempotent: false,
        mcp_server: None,
        mcp_tool: None,
        client_name: tool.client_name.clone(),
        // The limit on waiting for a client bounds the call.
        timeout_ms: None,
        costs: false,
        runs_at: RunsAt::Client,
        serves: None,
        reads: None,
        ask: false,
    };
    spec.with_schema(given, &normal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::hungry;

    fn tool(name: &str, schema: Value) -> ClientTool {
        let Value::Object(input_schema) = schema else { unreachable!() };
        ClientTool {
            name: name.to_owned(),
            client_name: None,
            description: "Pastes.".to_owned(),
            input_schema,
        }
    }

    fn values(count: usize) -> Value {
        json!({"type": "object", "properties": {
            "a": {"enum": (0..count / 2).collect::<Vec<_>>()},
            "b": {"enum": (count / 2..count).collect::<Vec<_>>()},
        }})
    }

    // Issue 44: the limits of OpenAI, and the member beyond each.
    #[test]
    fn the_limits_are_those_of_openai() {
        let any = || json!({"type": "object"});
        let many = |count: usize| (0..count).map(|at| tool(&format!("ui_t{at}"), any())).collect::<Vec<_>>();
        let long = |length: usize| vec![tool(&format!("ui_{}", "x".repeat(length - 3)), any())];
        let with = |schema: Value| vec![tool("ui_paste", schema)];
        for taken in [many(128), long(64), with(values(1_000)), with(hungry(40))] {
            assert_eq!(check(&taken).err(), None);
        }
        let named = |name: String| vec![ClientTool { client_name: Some(name), ..tool("ui_paste", any()) }];
        assert_eq!(check(&named("x".repeat(64))).err(), None);
        for (refused, member, detail) in [
            (named("x".repeat(65)), "client_tools[0].client_name", "1 to 64 letters"),
            (named(String::new()), "client_tools[0].client_name", "1 to 64 letters"),
            (named("\u{fc}".to_owned()), "client_tools[0].client_name", "signs of ASCII"),
            (many(129), "client_tools", "there may be 128 tools at most"),
            (long(65), "client_tools[0].name", "64 characters at most"),
            (with(values(1_001)), "client_tools[0].input_schema", "more than 1000 enum values"),
            (with(json!({"type": "string"})), "client_tools[0].input_schema", "\"type\": \"object\""),
        ] {
            let error = check(&refused).unwrap_err();
            assert_eq!(error.field.as_deref(), Some(member));
            assert!(error.detail.contains(detail), "{}", error.detail);
        }
    }
}
