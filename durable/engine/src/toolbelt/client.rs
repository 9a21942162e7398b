//! `ui_*`: the tools that a client brings with its request and carries out itself.

use std::rc::Rc;

use super::spec::raw;
use crate::toolbelt::{OutputSchema, PermissionClass, RunsAt, ToolSpec};
use wire::model::RawValueEq;
use wire::protocol::{ApiError, ClientTool};

/// The prefix of client tools' names. It keeps a client from replacing one of our own tools.
pub const PREFIX: &str = "ui_";
/// The most tools, and the longest name, description and schema in bytes. Each model call and the turn's
/// first journal entry carry all of it.
const MAX_TOOLS: usize = 32;
const MAX_NAME: usize = 64;
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
        if rest.is_empty() || tool.name.len() > MAX_NAME || !rest.bytes().all(plain) {
            let rule = format!("a name is {PREFIX} and a-z, 0-9 or _, {MAX_NAME} characters at most");
            return refused(at("name"), rule);
        }
        if tools.iter().take(index).any(|other| other.name == tool.name) {
            return refused(at("name"), "another tool has this name".to_owned());
        }
        if tool.description.trim().is_empty() || tool.description.len() > MAX_DESCRIPTION {
            return refused(at("description"), format!("it must have 1 to {MAX_DESCRIPTION} bytes"));
        }
        let schema = schema(tool);
        let schema = schema.0.get();
        if schema.len() > MAX_SCHEMA {
            return refused(at("input_schema"), format!("it may have {MAX_SCHEMA} bytes at most"));
        }
        if let Err(problem) = OutputSchema::within_bounds(schema) {
            return refused(at("input_schema"), problem);
        }
        all += tool.name.len() + tool.description.len() + schema.len();
    }
    match all > MAX_ALL {
        true => refused("client_tools".to_owned(), format!("all of them may have {MAX_ALL} bytes at most")),
        false => Ok(()),
    }
}

/// The declaration of a client's tool. Its calls run one at a time, in the model's order, since they change
/// the document that is open there.
pub fn spec(tool: &ClientTool) -> ToolSpec {
    ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: Rc::new(schema(tool)),
        permission_class: Some(PermissionClass::EditorMutate),
        parallel_safe: false,
        exclusive_lock: None,
        read_only: false,
        idempotent: false,
        mcp_server: None,
        mcp_tool: None,
        // The limit on waiting for a client bounds the call.
        timeout_ms: None,
        runs_at: RunsAt::Client,
        serves: None,
        reads: None,
        ask: false,
    }
}

fn schema(tool: &ClientTool) -> RawValueEq {
    RawValueEq(raw(&serde_json::Value::Object(tool.input_schema.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hungry;

    #[test]
    fn a_schema_is_bounded_before_it_is_compiled() {
        let tool = |schema: serde_json::Value| ClientTool {
            name: "ui_paste".to_owned(),
            description: "Pastes.".to_owned(),
            input_schema: schema.as_object().unwrap().clone(),
        };
        assert!(
            check(&[tool(hungry(32))]).is_ok(),
            "so many pass: what they take is seen when one is called"
        );
        let refused = check(&[tool(hungry(40))]).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("client_tools[0].input_schema"));
        assert!(refused.detail.contains("more than 32 patterns"), "{}", refused.detail);
    }
}
